/*
 * Jobs submitted one by one between two decisions, in random worlds: the first
 * half of the jobs is decided on together, the rest comes later.
 */
#include "t.h"
#include "np_placement.h"
#include "random_toy.h"

static struct world world;
static struct np_outcome outcome[W_MAX_JOBS];

/* A pending job nobody minds, whose candidates are all nodes. */
static void stand_in(struct world *w, size_t i)
{
	struct w_job *j = &w->job[i];

	memset(j, 0, sizeof(*j));
	j->in = (struct np_job){
		.id = 99,
		.profile = NP_PROFILE_UNKNOWN,
		.tasks = 1,
		.nodes_min = 1,
		.state = NP_JOB_WAITING,
	};
	for (uint32_t k = 0; k < w->n_nodes; k++)
		np_bits_set(j->candidates, k);
}

/* Submit job i: the set of the job before, less what is not in its own. */
static void submit(struct world *w, struct np_placement *p, size_t i,
		   uint32_t set)
{
	struct np_job j = w->job[i].in;
	uint64_t minus[W_WORDS] = { 0 };
	struct np_err err;

	for (uint32_t node = 0; node < w->n_nodes; node++)
		if (!np_bits_test(w->job[i].candidates, node))
			np_bits_set(minus, node);
	j.candidates = set;
	if (np_placement_submit(p, &j, minus, w->now_sec, &outcome[i], &err))
		T_ROW(err.text, 0);
}

static size_t last_running(const struct world *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_jobs; i++)
		if (w->job[i].in.state == NP_JOB_RUNNING)
			n = i + 1;
	return n;
}

/* Returns how many of the jobs were there at the decision. */
static size_t play(struct world *w, uint64_t number)
{
	struct np_placement *p;
	size_t all, from;
	uint32_t set; /* nodes of the last job that was there */

	rw_make(w, number, number % 2);
	all = w->n_jobs;
	from = last_running(w) + (all - last_running(w)) / 3;
	stand_in(w, from++);
	w->n_jobs = from;
	p = w_decide(w);
	set = w_candidates(w, from - 1);
	for (size_t i = 0; i < from; i++)
		outcome[i] = *np_outcome_of(p, i);
	for (w->n_jobs = from; w->n_jobs < all; w->n_jobs++)
		submit(w, p, w->n_jobs, set);
	/* The sets of leaves are the placement's. */
	for (size_t i = 0; i < w->n_jobs; i++) {
		static uint64_t leaves[W_MAX_JOBS];

		if (outcome[i].action != NP_ACT_RESTRICT)
			continue;
		leaves[i] = outcome[i].leaves[0];
		outcome[i].leaves = &leaves[i];
	}
	np_placement_free(p);
	return from;
}

static bool open_to(const struct world *w, size_t job, uint32_t leaf)
{
	return rw_bound(w, job, &outcome[job]) &&
	       o_open(w, job, &outcome[job]) >> leaf & 1;
}

/* Nothing that job a must avoid is where it may go. */
static bool apart(const struct world *w, size_t a, unsigned *pairs)
{
	for (uint32_t leaf = 0; leaf < w->n_leaves; leaf++) {
		if (!open_to(w, a, leaf))
			continue;
		if (o_avoids(w, a, -1, leaf))
			return false;
		for (size_t b = 0; b < a; b++) {
			if (!open_to(w, b, leaf))
				continue;
			++*pairs;
			if (o_avoids(w, a, (long)b, leaf))
				return false;
		}
	}
	return true;
}

T_TEST("jobs submitted one by one stay apart and have enough nodes")
{
	unsigned pairs = 0, restricted = 0;

	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		size_t from = play(&world, k);

		for (size_t a = from; a < world.n_jobs; a++) {
			const struct np_outcome *v = &outcome[a];

			if (!rw_bound(&world, a, v) || v->action == NP_ACT_HOLD)
				continue;
			restricted += v->action == NP_ACT_RESTRICT;
			if (!apart(&world, a, &pairs))
				T_ROW(rw_row("conflicting jobs may meet", k),
				      0);
			if (o_nodes(&world, a, o_open(&world, a, v), false) <
			    world.job[a].in.nodes_min)
				T_ROW(rw_row("too few nodes", k), 0);
		}
	}
	T_CHECK(pairs > 3000 && restricted > 500);
}

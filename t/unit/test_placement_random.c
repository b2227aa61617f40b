/*
 * What holds for every cluster: thousands of small random ones, the same each
 * time, held against oracle.h.
 */
#include "oracle.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLDS 3000

static struct world world, other;

static uint32_t pick(uint64_t *seed, const uint32_t *of, uint32_t n)
{
	return of[w_random(seed, n)];
}

static void make_apps(struct world *w, uint64_t *seed)
{
	static const double slow[] = { 0, 0, 0, .04, .06, .08, .3, -.1 };

	w->n_apps = 2 + w_random(seed, 6);
	for (size_t i = 0; i < w->n_apps; i++) {
		snprintf(w->app_name[i], 8, "A%u", (unsigned)i % 100);
		w->app_trusted[i] = w_random(seed, 4) != 0;
		w->app_owner[i] = w_random(seed, 3);
	}
	for (int k = 0; k < NP_N_CONTACTS; k++)
		for (size_t a = 0; a < w->n_apps; a++)
			for (size_t b = 0; b < w->n_apps; b++)
				w->slow[k][a][b] =
					slow[w_random(seed, 8)];
}

static void make_leaves(struct world *w, uint64_t *seed)
{
	w->n_leaves = 1 + w_random(seed, 9);
	for (size_t i = 0; i < w->n_leaves; i++) {
		snprintf(w->leaf_name[i], 8, "l%u", (unsigned)i % 100);
		w->n_nodes += 1 + w_random(seed, 6);
		w->leaf_first[i + 1] = (uint32_t)w->n_nodes;
	}
	w->n_nodes += w_random(seed, 4) ? 0 : w_random(seed, 4);
	for (size_t i = 0; i < w->n_nodes; i++)
		w->away[i] = !w_random(seed, 12);
}

static void make_running(struct world *w, uint64_t *seed, struct w_job *j,
			 uint8_t *use)
{
	uint32_t want = 1 + w_random(seed, 4);
	uint32_t at = w_random(seed, (uint32_t)w->n_nodes);
	bool shares = j->in.flags & NP_JOB_SHARES_NODES;

	j->in.state = NP_JOB_RUNNING;
	j->in.start_sec = 980 + w_random(seed, 20);
	for (size_t i = 0; i < w->n_nodes && j->in.n_nodes < want; i++) {
		uint32_t node = (at + (uint32_t)i) % (uint32_t)w->n_nodes;

		if (w->away[node] || (shares ? use[node] == 2 : use[node]))
			continue;
		use[node] = shares ? 1 : 2;
		j->node[j->in.n_nodes++] = node;
	}
}

static void make_pending(struct world *w, uint64_t *seed, struct w_job *j)
{
	static const uint32_t flags[] = {
		0, 0, 0, 0, 0, 0, 0, NP_JOB_SPANS, NP_JOB_NODELIST,
		NP_JOB_RESERVATION, NP_JOB_HETEROGENEOUS,
	};

	j->in.flags |= pick(seed, flags, NP_ARRAY_SIZE(flags));
	j->in.state = w_random(seed, 6) ? NP_JOB_READY : NP_JOB_WAITING;
	j->in.nodes_min = 1 + w_random(seed, w_random(seed, 4) ? 4 : 12);
	j->in.tasks = w_random(seed, 6) ? 1 : 1 + w_random(seed, 40);
	j->in.switches = w_random(seed, 6) ? 0 : 1 + w_random(seed, 2);
	j->in.priority = w_random(seed, 4);
	j->in.partition = (uint16_t)w_random(seed, 2);
	j->in.eligible_sec = w_random(seed, 8) ? 0 :
			     1000 + (int64_t)w_random(seed, 100);
	j->in.held_sec = w_random(seed, 10) ? w_random(seed, 3000) : 4000;
	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (j->in.partition == 0 || i % 7)
			np_bits_set(j->candidates, i);
	if (!w_random(seed, 5))
		for (uint32_t i = 0; i < w->n_nodes; i++)
			if (!w_random(seed, 3))
				np_bits_clear(j->candidates, i);
	j->in.prior = (enum np_prior)w_random(seed, 4);
	j->in.prior_until_sec = 990 + w_random(seed, 100);
	j->prior[0] = w_random(seed, 1u << w->n_leaves);
}

static void make_world(struct world *w, uint64_t number, bool modes)
{
	uint64_t seed = number * 7919 + 1;
	uint8_t use[W_MAX_NODES] = { 0 };
	size_t running, n;

	w_init(w);
	make_apps(w, &seed);
	make_leaves(w, &seed);
	if (!w_random(&seed, 8))
		w->policy.unknown_as = (int32_t)
			w_random(&seed, (uint32_t)w->n_apps);
	running = w_random(&seed, 10);
	n = running + 1 + w_random(&seed, 14);
	for (size_t i = 0; i < n; i++) {
		struct w_job *j = &w->job[i];

		memset(j, 0, sizeof(*j));
		j->in.id = (uint32_t)(100 + i);
		j->in.owner = w_random(&seed, 3);
		j->in.mode = modes ? (enum np_mode)w_random(&seed, 4) :
			     NP_MODE_ENFORCE;
		j->in.submit_sec = 900 + w_random(&seed, 90);
		j->in.profile = w_random(&seed, 10) ? (int32_t)w_random(&seed,
				(uint32_t)w->n_apps) : NP_PROFILE_UNKNOWN;
		j->in.flags = w_random(&seed, 3) ? 0 : NP_JOB_SHARES_NODES;
		if (i < running)
			make_running(w, &seed, j, use);
		else
			make_pending(w, &seed, j);
	}
	w->n_jobs = n;
}

/* Placed by us, and bound by the promises. */
static bool bound(const struct world *w, size_t job,
		  const struct np_verdict *v)
{
	return o_ours(w, job) && w->job[job].in.mode == NP_MODE_ENFORCE &&
	       v->action != NP_ACT_NONE &&
	       v->cause.why != NP_WHY_HELD_LONG_ENOUGH;
}

/* The leaves open to each bound job and to each task given its own. */
struct set {
	size_t job;
	uint64_t open;
	uint32_t tasks; /* that share it */
};

static size_t gather(const struct world *w, const struct np_placement *p,
		     struct set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_jobs; i++) {
		const struct np_verdict *v = np_placement_at(p, i);

		if (!bound(w, i, v))
			continue;
		set[n++] = (struct set){
			i, o_open(w, i, v), w->job[i].in.tasks - v->tasks
		};
		for (uint32_t k = 0; k < v->tasks; k++) {
			const uint64_t *l = np_placement_task(p, i, k);

			set[n++] = (struct set){
				i, o_reach(w, i) & (l ? *l : ~UINT64_C(0)), 1
			};
		}
	}
	return n;
}

static const char *row(const char *what, uint64_t number)
{
	static char name[96];

	snprintf(name, sizeof(name), "world %llu: %s",
		 (unsigned long long)number, what);
	return name;
}

static bool apart(const struct world *w, const struct set *set, size_t n)
{
	for (uint32_t leaf = 0; leaf < w->n_leaves; leaf++)
		for (size_t i = 0; i < n; i++) {
			if (!(set[i].open >> leaf & 1))
				continue;
			if (o_avoids(w, set[i].job, -1, leaf) ||
			    (set[i].tasks > 1 && o_conflict(w, set[i].job,
							    set[i].job, leaf)))
				return false;
			for (size_t k = i + 1; k < n; k++)
				if (set[k].open >> leaf & 1 &&
				    o_conflict(w, set[i].job, set[k].job,
					       leaf))
					return false;
		}
	return true;
}

static bool feasible(const struct world *w, const struct np_placement *p,
		     const struct set *set, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (np_placement_at(p, set[i].job)->action != NP_ACT_DEFER &&
		    o_nodes(w, set[i].job, set[i].open, false) <
		    w->job[set[i].job].in.nodes_min)
			return false;
	return true;
}

static void test_conflicting_jobs_are_apart(void)
{
	struct set set[W_MAX_JOBS * 4];
	unsigned sets = 0, confined = 0, deferred = 0, tasks = 0;

	for (uint64_t k = 0; k < WORLDS; k++) {
		struct np_placement *p;
		size_t n;

		make_world(&world, k, k % 2);
		p = w_decide(&world);
		n = gather(&world, p, set);
		sets += (unsigned)n;
		if (!apart(&world, set, n))
			T_ROW(row("conflicting jobs may meet", k), 0);
		if (!feasible(&world, p, set, n))
			T_ROW(row("too few nodes", k), 0);
		for (size_t i = 0; i < world.n_jobs; i++) {
			const struct np_verdict *v = np_placement_at(p, i);

			confined += v->action == NP_ACT_CONFINE;
			deferred += v->action == NP_ACT_DEFER;
			tasks += v->tasks;
		}
		np_placement_free(p);
	}
	/* Otherwise this shows nothing. */
	T_CHECK(sets > 5000 && confined > 1000 && deferred > 500 &&
		tasks > 100);
}

/* A job that conflicts with nobody, on any leaf. */
static bool harmless(const struct world *w, size_t a)
{
	for (uint32_t leaf = 0; leaf < w->n_leaves; leaf++) {
		if (o_avoids(w, a, -1, leaf) ||
		    (w->job[a].in.tasks > 1 && o_conflict(w, a, a, leaf)))
			return false;
		for (size_t b = 0; b < w->n_jobs; b++)
			if (b != a && w->job[b].in.state != NP_JOB_RUNNING &&
			    o_conflict(w, a, b, leaf))
				return false;
	}
	return true;
}

static void test_harmless_jobs_go_anywhere(void)
{
	unsigned seen = 0;

	for (uint64_t k = 0; k < WORLDS; k++) {
		struct np_placement *p;

		make_world(&world, k, true);
		p = w_decide(&world);
		for (size_t i = 0; i < world.n_jobs; i++) {
			const struct np_verdict *v = np_placement_at(p, i);

			if (!o_ours(&world, i) || !harmless(&world, i) ||
			    v->action == NP_ACT_NONE)
				continue;
			seen++;
			if (v->action != NP_ACT_ANYWHERE)
				T_ROW(row("harmless job constrained", k), 0);
		}
		np_placement_free(p);
	}
	T_CHECK(seen > 500);
}

static bool same_verdicts(const struct world *a, const struct np_placement *p,
			  const struct world *b, const struct np_placement *q)
{
	for (size_t i = 0; i < a->n_jobs; i++) {
		size_t k = w_find(b, a->job[i].in.id);
		const struct np_verdict *v = np_placement_at(p, i);
		const struct np_verdict *u = np_placement_at(q, k);

		if (v->action != u->action || v->tasks != u->tasks ||
		    v->until_sec != u->until_sec ||
		    v->held_sec != u->held_sec ||
		    o_open(a, i, v) != o_open(b, k, u))
			return false;
	}
	return true;
}

static void test_the_answer_depends_on_the_question_alone(void)
{
	for (uint64_t k = 0; k < WORLDS; k++) {
		struct np_placement *p, *q;
		uint64_t seed = k;

		make_world(&world, k, true);
		p = w_decide(&world);
		other = world;
		for (uint32_t i = (uint32_t)other.n_jobs; i > 1; i--) {
			uint32_t to = w_random(&seed, i);
			struct w_job t = other.job[to];

			other.job[to] = other.job[i - 1];
			other.job[i - 1] = t;
		}
		q = w_decide(&other);
		if (!same_verdicts(&world, p, &other, q))
			T_ROW(row("order of the jobs matters", k), 0);
		np_placement_free(p);
		np_placement_free(q);
	}
}

/* Split off the tasks that got leaves of their own. */
static void split(struct world *w, size_t job, const struct np_placement *p)
{
	const struct np_verdict *v = np_placement_at(p, job);

	for (uint32_t k = 0; k < v->tasks; k++) {
		const uint64_t *l = np_placement_task(p, job, k);
		struct w_job *to = &w->job[w->n_jobs++];

		*to = w->job[job];
		to->in.id = (uint32_t)(10000 + w->n_jobs);
		to->in.tasks = 1;
		to->in.array = w->job[job].in.id;
		to->in.task = k;
		to->in.prior = l ? NP_PRIOR_LEAVES : NP_PRIOR_ANYWHERE;
		to->prior[0] = l ? *l : 0;
		to->in.held_sec = v->held_sec;
	}
	w->job[job].in.array = w->job[job].in.id;
	w->job[job].in.task = v->tasks;
	w->job[job].in.tasks -= v->tasks;
}

static void test_an_answer_applied_is_given_again(void)
{
	unsigned changed = 0, moved = 0;

	for (uint64_t k = 0; k < WORLDS; k++) {
		struct np_placement *p;
		bool more = false;
		size_t n;

		make_world(&world, k, k % 2);
		p = w_decide(&world);
		n = world.n_jobs;
		for (size_t i = 0; i < n; i++) {
			changed += np_placement_at(p, i)->changed;
			/* The next decision splits off the next tasks. */
			more |= np_placement_at(p, i)->tasks ==
				NP_PLACEMENT_MAX_TASKS;
			w_apply(&world, i, np_placement_at(p, i));
			if (n + 33 * world.n_jobs < 33 * W_MAX_JOBS)
				split(&world, i, p);
		}
		np_placement_free(p);
		world.last_sec = world.now_sec;
		p = w_decide(&world);
		for (size_t i = 0; i < world.n_jobs; i++)
			/* Advice is worked out for jobs as they are: when
			   those move, it may change. */
			moved += np_placement_at(p, i)->changed &&
				 (k % 2 == 0 ||
				  world.job[i].in.mode != NP_MODE_ADVISE);
		if (moved && !more) {
			T_ROW(row("a second decision changes the first", k),
			      0);
		}
		moved = 0;
		np_placement_free(p);
	}
	T_CHECK(changed > 5000);
}

static bool before(const struct np_job *a, const struct np_job *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->submit_sec != b->submit_sec)
		return a->submit_sec < b->submit_sec;
	return a->id < b->id;
}

static bool ready(const struct world *w, size_t i)
{
	return w->job[i].in.state == NP_JOB_READY &&
	       w->job[i].in.eligible_sec <= w->now_sec;
}

/* Nodes that jobs before this one might take on its leaves. */
static unsigned taken_before(const struct world *w,
			     const struct np_placement *p, size_t job,
			     uint64_t open)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->n_jobs; i++) {
		const struct np_verdict *v = np_placement_at(p, i);

		if (i != job && ready(w, i) && v->action != NP_ACT_DEFER &&
		    before(&w->job[i].in, &w->job[job].in) &&
		    (v->applied ? o_open(w, i, v) : o_reach(w, i)) & open)
			n += w->job[i].in.nodes_min * w->job[i].in.tasks;
	}
	return n;
}

static void test_prefer_never_delays(void)
{
	unsigned confined = 0;

	for (uint64_t k = 0; k < WORLDS; k++) {
		struct np_placement *p;

		make_world(&world, k, true);
		for (size_t i = 0; i < world.n_jobs; i++) {
			if (k % 3 && world.job[i].in.mode == NP_MODE_ENFORCE)
				world.job[i].in.mode = NP_MODE_PREFER;
			world.job[i].in.held_sec /= 1000;
		}
		p = w_decide(&world);
		for (size_t i = 0; i < world.n_jobs; i++) {
			const struct np_verdict *v = np_placement_at(p, i);
			uint64_t open = o_open(&world, i, v);

			if (world.job[i].in.mode != NP_MODE_PREFER)
				continue;
			if (v->action == NP_ACT_DEFER)
				T_ROW(row("prefer defers", k), 0);
			if (v->action != NP_ACT_CONFINE)
				continue;
			confined++;
			if (!ready(&world, i) ||
			    o_nodes(&world, i, open, true) <
			    taken_before(&world, p, i, open) +
			    world.job[i].in.nodes_min *
			    world.job[i].in.tasks)
				T_ROW(row("prefer may delay", k), 0);
		}
		np_placement_free(p);
	}
	T_CHECK(confined > 300);
}

static void test_advice_is_what_enforce_would_do(void)
{
	for (uint64_t k = 0; k < WORLDS; k++) {
		struct np_placement *p, *q;

		make_world(&world, k, false);
		other = world;
		for (size_t i = 0; i < other.n_jobs; i++)
			other.job[i].in.mode = NP_MODE_ADVISE;
		p = w_decide(&world);
		q = w_decide(&other);
		if (!same_verdicts(&world, p, &other, q))
			T_ROW(row("advice differs", k), 0);
		for (size_t i = 0; i < other.n_jobs; i++)
			if (np_placement_at(q, i)->applied)
				T_ROW(row("advice applied", k), 0);
		np_placement_free(p);
		np_placement_free(q);
	}
}

/* Submit the pending jobs from "from" on, one by one, to a decision on the
   others; each goes into the world with what it was told. */
static void submit(struct world *w, struct np_placement *p, size_t from,
		   struct np_verdict *v)
{
	uint32_t set = 0;
	struct np_err err;

	for (size_t i = 0; i < from; i++)
		if (w->job[i].in.state != NP_JOB_RUNNING)
			set = np_snapshot_job_at(np_placement_snapshot(p),
						 i)->candidates;
	for (size_t i = from; i < w->n_jobs; i++) {
		struct np_job j = w->job[i].in;
		uint64_t minus[W_WORDS] = { 0 };

		/* The set of some job before, less what is not in its own. */
		for (uint32_t node = 0; node < w->n_nodes; node++)
			if (!np_bits_test(w->job[i].candidates, node))
				np_bits_set(minus, node);
		j.candidates = set;
		if (np_placement_one(p, &j, minus, w->now_sec, &v[i], &err))
			T_ROW(err.text, 0);
	}
}

static bool all_nodes(const struct world *w, const struct w_job *j)
{
	return np_bits_count(j->candidates, W_WORDS) == w->n_nodes;
}

static void test_submitted_jobs_stay_apart(void)
{
	static struct np_verdict v[W_MAX_JOBS];
	unsigned pairs = 0, confined = 0;

	for (uint64_t k = 0; k < WORLDS; k++) {
		struct np_placement *p;
		size_t all, from;

		make_world(&world, k, k % 2);
		all = world.n_jobs;
		from = all / 2;
		/* One whose candidates are all nodes: the set to start from. */
		world.job[from].in = (struct np_job){
			.id = 99, .profile = NP_PROFILE_UNKNOWN, .tasks = 1,
			.nodes_min = 1, .state = NP_JOB_WAITING,
		};
		memset(world.job[from].candidates, 0,
		       sizeof(world.job[from].candidates));
		for (uint32_t i = 0; i < world.n_nodes; i++)
			np_bits_set(world.job[from].candidates, i);
		world.n_jobs = ++from;
		T_CHECK(all_nodes(&world, &world.job[from - 1]));
		p = w_decide(&world);
		for (size_t i = 0; i < from; i++)
			v[i] = *np_placement_at(p, i);
		world.n_jobs = all > from ? all : from;
		while (world.n_jobs > from &&
		       world.job[world.n_jobs - 1].in.state == NP_JOB_RUNNING)
			world.n_jobs--;
		for (size_t i = from; i < world.n_jobs; i++)
			if (world.job[i].in.state == NP_JOB_RUNNING)
				world.n_jobs = from; /* leave this world out */
		submit(&world, p, from, v);
		for (size_t a = from; a < world.n_jobs; a++) {
			uint64_t open = o_open(&world, a, &v[a]);

			if (!bound(&world, a, &v[a]) ||
			    v[a].action == NP_ACT_DEFER)
				continue;
			confined += v[a].action == NP_ACT_CONFINE;
			if (o_nodes(&world, a, open, false) <
			    world.job[a].in.nodes_min)
				T_ROW(row("submitted: too few nodes", k), 0);
			for (uint32_t leaf = 0; leaf < world.n_leaves; leaf++) {
				if (!(open >> leaf & 1))
					continue;
				if (o_avoids(&world, a, -1, leaf))
					T_ROW(row("submitted onto a running "
						  "one", k), 0);
				for (size_t b = 0; b < a; b++) {
					if (!bound(&world, b, &v[b]) ||
					    !(o_open(&world, b, &v[b]) >> leaf
					      & 1))
						continue;
					pairs++;
					if (o_avoids(&world, a, (long)b, leaf))
						T_ROW(row("submitted onto a "
							  "pending one", k),
						      0);
				}
			}
		}
		np_placement_free(p);
	}
	T_CHECK(pairs > 1000 && confined > 300);
}

static const struct t_case cases[] = {
	{ "jobs that conflict never have a leaf in common, and all enough "
	  "nodes", test_conflicting_jobs_are_apart },
	{ "jobs that conflict with nobody may go anywhere",
	  test_harmless_jobs_go_anywhere },
	{ "the answer does not depend on the order of the question",
	  test_the_answer_depends_on_the_question_alone },
	{ "an answer that was applied is given again",
	  test_an_answer_applied_is_given_again },
	{ "prefer never delays a job", test_prefer_never_delays },
	{ "advise is enforce, not applied",
	  test_advice_is_what_enforce_would_do },
	{ "jobs submitted one by one stay apart, too",
	  test_submitted_jobs_stay_apart },
	{ NULL, NULL },
};
T_SUITE(placement_random, cases)

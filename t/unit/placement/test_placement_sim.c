/*
 * Placement over time, under a scheduler that packs leaves as Slurm does: jobs
 * in order of priority, each on the tightest leaf that holds it, else on the
 * emptiest ones; jobs behind the first that has to wait start only if that one
 * is not delayed (backfill). Submissions go through np_placement_submit(),
 * decisions come every 10 s, the scheduler runs every 5 s and after each
 * submission, so it is often faster than the decision.
 */
#include "t.h"
#include "np_placement.h"
#include "oracle.h"

#define TICK_SEC 5
#define DECIDE_SEC 10
#define MAX_HOLD_SEC 300
#define LONGEST_SEC 20000

struct lifetime { /* of a job, by id */
	int64_t submit_sec, start_sec, run_sec;
	int64_t held_sec; /* could have started but for us */
	bool harmless, constrained;
};

struct sim {
	struct world w; /* what is running or pending now; job 0 stands for
			   the partition */
	struct w_job todo[256]; /* to be submitted, in order of time */
	size_t n_todo, next;
	struct lifetime lifetime[4096];
	uint32_t last_id;
	struct np_placement *p;
	int64_t decided_sec, begun_sec;
	bool policy;
	unsigned met; /* jobs that started on a leaf of one to be avoided */
	unsigned started;
};

static struct sim sim;

static void note_meeting(struct sim *s, size_t i, const uint32_t *node,
			 size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (o_avoids(&s->w, i, -1, w_leaf_of(&s->w, node[k]))) {
			s->met++;
			break;
		}
}

static void start_job(struct sim *s, size_t i, const uint32_t *node, size_t n)
{
	struct world *w = &s->w;
	struct w_job *j = &w->job[i];

	if (j->in.tasks > 1) { /* one task becomes a job of its own */
		size_t to = w->n_jobs++;

		w->job[to] = *j;
		j->in.tasks--;
		w->job[to].in.tasks = 1;
		w->job[to].in.id = ++s->last_id;
		s->lifetime[s->last_id] = s->lifetime[j->in.id];
		j->in.array = j->in.id;
		w->job[to].in.array = j->in.id;
		w->job[to].in.task = j->in.task++;
		j = &w->job[to];
		i = to;
	}
	note_meeting(s, i, node, n);
	j->in.state = NP_JOB_RUNNING;
	j->in.start_sec = w->now_sec;
	memcpy(j->node, node, n * sizeof(*node));
	j->in.n_nodes = n;
	s->lifetime[j->in.id].start_sec = w->now_sec;
	s->started++;
}

/* Free nodes that a job may take, by leaf; returns how many. */
static unsigned free_nodes(const struct sim *s, size_t i, bool constrained,
			   uint32_t on[][W_MAX_NODES], unsigned *n)
{
	const struct world *w = &s->w;
	const struct w_job *j = &w->job[i];
	static bool used[W_MAX_NODES];
	unsigned sum = 0;

	memset(used, 0, sizeof(used));
	memset(n, 0, w->n_leaves * sizeof(*n));
	for (size_t k = 0; k < w->n_jobs; k++)
		for (size_t m = 0; m < w->job[k].in.n_nodes; m++)
			used[w->job[k].node[m]] = true;
	if (constrained && j->in.prior == NP_PRIOR_HELD &&
	    j->in.prior_until_sec > w->now_sec)
		return 0;
	for (uint32_t node = 0; node < w->n_nodes; node++) {
		uint32_t leaf = w_leaf_of(w, node);

		if (used[node] || w->unavailable[node] ||
		    !np_bits_test(j->candidates, node) ||
		    (constrained && j->in.prior == NP_PRIOR_RESTRICTED &&
		     !(j->prior[0] >> leaf & 1)))
			continue;
		on[leaf][n[leaf]++] = node;
		sum++;
	}
	return sum;
}

/* The tightest leaf, else the emptiest ones first. */
static bool try_start(struct sim *s, size_t i)
{
	static uint32_t on[W_MAX_LEAVES][W_MAX_NODES];
	unsigned n[W_MAX_LEAVES], got = 0;
	uint32_t node[W_MAX_NODES], need = s->w.job[i].in.nodes_min;

	if (free_nodes(s, i, s->policy, on, n) < need)
		return false;
	while (got < need) {
		size_t best = 0;

		for (size_t l = 1; l < s->w.n_leaves; l++)
			if (n[l] >= need - got ?
				    n[best] < need - got || n[l] < n[best] :
				    n[l] > n[best])
				best = l;
		while (n[best] && got < need)
			node[got++] = on[best][--n[best]];
	}
	start_job(s, i, node, need);
	return true;
}

/* When a job that waits will have its nodes, as things stand. */
static int64_t shadow(const struct sim *s, size_t i)
{
	static uint32_t on[W_MAX_LEAVES][W_MAX_NODES];
	const struct world *w = &s->w;
	unsigned n[W_MAX_LEAVES], have = free_nodes(s, i, s->policy, on, n);
	bool counted[W_MAX_JOBS] = { 0 };

	while (have < w->job[i].in.nodes_min) {
		size_t next = W_MAX_JOBS;

		for (size_t k = 0; k < w->n_jobs; k++)
			if (w->job[k].in.state == NP_JOB_RUNNING &&
			    !counted[k] &&
			    (next == W_MAX_JOBS ||
			     w->job[k].in.start_sec +
					     s->lifetime[w->job[k].in.id]
						     .run_sec <
				     w->job[next].in.start_sec +
					     s->lifetime[w->job[next].in.id]
						     .run_sec))
				next = k;
		if (next == W_MAX_JOBS)
			return INT64_MAX;
		counted[next] = true;
		for (size_t m = 0; m < w->job[next].in.n_nodes; m++) {
			uint32_t leaf = w_leaf_of(w, w->job[next].node[m]);

			have += !s->policy ||
				w->job[i].in.prior != NP_PRIOR_RESTRICTED ||
				w->job[i].prior[0] >> leaf & 1;
		}
		if (have >= w->job[i].in.nodes_min)
			return w->job[next].in.start_sec +
			       s->lifetime[w->job[next].in.id].run_sec;
	}
	return w->now_sec;
}

static int by_rank(const void *a, const void *b)
{
	const struct np_job *x = &sim.w.job[*(const size_t *)a].in;
	const struct np_job *y = &sim.w.job[*(const size_t *)b].in;
	uint32_t i = x->array ? x->array : x->id;
	uint32_t k = y->array ? y->array : y->id;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (i != k)
		return i < k ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

static void schedule(struct sim *s)
{
	static size_t order[W_MAX_JOBS];
	int64_t reserved = INT64_MAX;
	bool blocked = false;
	size_t n = 0;

	for (size_t i = 1; i < s->w.n_jobs; i++)
		if (s->w.job[i].in.state == NP_JOB_READY)
			order[n++] = i;
	qsort(order, n, sizeof(*order), by_rank);
	for (size_t k = 0; k < n; k++) {
		struct w_job *j = &s->w.job[order[k]];
		bool waits = s->policy && j->in.prior == NP_PRIOR_HELD &&
			     j->in.prior_until_sec > s->w.now_sec;

		if (waits) /* begin time: not looked at */
			continue;
		if (blocked &&
		    s->w.now_sec + s->lifetime[j->in.id].run_sec > reserved)
			continue;
		while (s->w.job[order[k]].in.state == NP_JOB_READY &&
		       try_start(s, order[k]))
			;
		if (s->w.job[order[k]].in.state == NP_JOB_READY && !blocked) {
			blocked = true;
			reserved = shadow(s, order[k]);
		}
	}
}

static void finish(struct sim *s)
{
	struct world *w = &s->w;

	for (size_t i = w->n_jobs - 1; i > 0; i--)
		if (w->job[i].in.state == NP_JOB_RUNNING &&
		    w->job[i].in.start_sec +
				    s->lifetime[w->job[i].in.id].run_sec <=
			    w->now_sec)
			w->job[i] = w->job[--w->n_jobs];
}

static void note_constraint(struct sim *s, size_t i)
{
	enum np_prior prior = s->w.job[i].in.prior;

	s->lifetime[s->w.job[i].in.id].constrained |=
		prior == NP_PRIOR_RESTRICTED || prior == NP_PRIOR_HELD;
}

/* Tasks that got leaves of their own become jobs of their own. */
static void split(struct sim *s, size_t i)
{
	struct world *w = &s->w;
	uint32_t tasks = np_outcome_of(s->p, i)->tasks;

	for (uint32_t k = 0; k < tasks; k++) {
		const uint64_t *l = np_outcome_of(s->p, i)->task_leaves[k];
		struct w_job *to = &w->job[w->n_jobs++];

		*to = w->job[i];
		to->in.id = ++s->last_id;
		s->lifetime[s->last_id] = s->lifetime[w->job[i].in.id];
		to->in.array = w->job[i].in.array = w->job[i].in.id;
		to->in.task = w->job[i].in.task++;
		to->in.tasks = 1;
		to->in.prior = l ? NP_PRIOR_RESTRICTED : NP_PRIOR_UNRESTRICTED;
		to->prior[0] = l ? *l : 0;
	}
	w->job[i].in.tasks -= tasks;
}

static void decide(struct sim *s)
{
	size_t n = s->w.n_jobs;

	s->w.last_sec = s->decided_sec;
	s->decided_sec = s->w.now_sec;
	np_placement_free(s->p);
	s->p = w_decide(&s->w);
	for (size_t i = 1; i < n; i++) {
		if (s->w.job[i].in.state == NP_JOB_RUNNING)
			continue;
		w_apply(&s->w, i, np_outcome_of(s->p, i));
		split(s, i);
		note_constraint(s, i);
	}
}

static void submit(struct sim *s)
{
	struct w_job *j = &s->w.job[s->w.n_jobs];
	struct np_outcome v;
	struct np_err err;

	*j = s->todo[s->next++];
	s->w.n_jobs++;
	if (!s->policy)
		return;
	j->in.candidates = w_candidates(&s->w, 0);
	if (np_placement_submit(s->p, &j->in, NULL, s->w.now_sec, &v, &err))
		T_ROW(err.text, 0);
	w_apply(&s->w, s->w.n_jobs - 1, &v);
	note_constraint(s, s->w.n_jobs - 1);
}

/* Jobs that would have room now, were it not for us. */
static void count_held(struct sim *s)
{
	static uint32_t on[W_MAX_LEAVES][W_MAX_NODES];
	unsigned n[W_MAX_LEAVES];

	for (size_t i = 1; s->policy && i < s->w.n_jobs; i++) {
		const struct np_job *j = &s->w.job[i].in;

		if (j->state == NP_JOB_READY &&
		    (j->prior == NP_PRIOR_RESTRICTED ||
		     j->prior == NP_PRIOR_HELD) &&
		    free_nodes(s, i, false, on, n) >= j->nodes_min)
			s->lifetime[j->id].held_sec += TICK_SEC;
	}
}

/* Returns when the last job ended; 0 if that never came. */
static int64_t run(struct sim *s)
{
	s->begun_sec = s->w.now_sec;
	s->decided_sec = s->w.now_sec;
	if (s->policy)
		decide(s);
	for (; s->w.now_sec < s->begun_sec + LONGEST_SEC;
	     s->w.now_sec += TICK_SEC) {
		finish(s);
		while (s->next < s->n_todo &&
		       s->todo[s->next].in.submit_sec <= s->w.now_sec) {
			submit(s);
			if (s->next % 3)
				schedule(s);
		}
		if (s->policy && !(s->w.now_sec % DECIDE_SEC))
			decide(s);
		schedule(s);
		count_held(s);
		if (s->next == s->n_todo && s->w.n_jobs == 1)
			break;
	}
	np_placement_free(s->p);
	s->p = NULL;
	return s->w.n_jobs == 1 ? s->w.now_sec : 0;
}

static bool any_conflict(const struct world *w, int32_t app)
{
	for (size_t i = 0; i < w->n_apps; i++)
		if (w->slow[NP_CONTACT_LEAF][app][i] > w->policy.max_slowdown ||
		    w->slow[NP_CONTACT_LEAF][i][app] > w->policy.max_slowdown)
			return true;
	return false;
}

static void make(struct sim *s, uint64_t number, bool policy,
		 unsigned conflicts_in_ten, double max_hold_sec)
{
	uint64_t seed = number * 104729 + 3;
	struct world *w = &s->w;
	struct w_job *j = &w->job[0];
	int64_t at = 1000;

	memset(s, 0, sizeof(*s));
	w_init(w);
	s->policy = policy;
	w->policy.max_hold_sec = max_hold_sec;
	w->n_leaves = 2 + w_random(&seed, 5);
	for (size_t i = 0; i < w->n_leaves; i++) {
		w->n_nodes += 3 + w_random(&seed, 4);
		w->leaf_first[i + 1] = (uint32_t)w->n_nodes;
		snprintf(w->leaf_name[i], 8, "l%u", (unsigned)i % 100);
	}
	w->n_apps = 5;
	for (size_t a = 0; a < 5; a++) {
		snprintf(w->app_name[a], 8, "A%u", (unsigned)a % 100);
		w->app_trusted[a] = true;
		for (size_t b = 0; b < 5; b++)
			w->slow[NP_CONTACT_LEAF][a][b] =
				w_random(&seed, 10) < conflicts_in_ten ? .3 : 0;
	}
	for (uint32_t i = 0; i < w->n_nodes; i++)
		np_bits_set(j->candidates, i);
	j->in = (struct np_job){
		.id = 1,
		.state = NP_JOB_WAITING,
		.tasks = 1,
		.nodes_min = 1,
		.profile = NP_PROFILE_UNKNOWN,
		.partition = 9,
	};
	w->n_jobs = 1;
	s->n_todo = 60;
	s->last_id = 1;
	for (size_t i = 0; i < s->n_todo; i++) {
		struct w_job *t = &s->todo[i];

		at += w_random(&seed, 30) * w_random(&seed, 2);
		*t = *j;
		t->in = (struct np_job){
			.id = ++s->last_id,
			.state = NP_JOB_READY,
			.mode = NP_MODE_ENFORCE,
			.submit_sec = at,
			.tasks = w_random(&seed, 8) ? 1 :
						      1 + w_random(&seed, 6),
			.nodes_min =
				1 + w_random(&seed,
					     w_random(&seed, 5) ?
						     3 :
						     (uint32_t)w->n_nodes / 2),
			.priority = w_random(&seed, 3),
			.profile = (int32_t)w_random(&seed, 5),
		};
		s->lifetime[s->last_id] = (struct lifetime){
			.submit_sec = at,
			.start_sec = 0,
			.run_sec = 20 + w_random(&seed, 400),
			.harmless = !any_conflict(w, t->in.profile),
		};
	}
}

static const char *row(const char *what, uint64_t number)
{
	static char name[96];

	snprintf(name, sizeof(name), "run %llu: %s", (unsigned long long)number,
		 what);
	return name;
}

#define RUNS 60

T_TEST("jobs in conflict never meet on a leaf; without placement they do")
{
	unsigned without = 0, started = 0;

	for (uint64_t k = 0; k < RUNS; k++) {
		make(&sim, k, false, 2, 0);
		T_ROW(row("without: all end", k), run(&sim) > 0);
		without += sim.met;
		make(&sim, k, true, 2, 1e6);
		T_ROW(row("with: all end", k), run(&sim) > 0);
		T_ROW(row("jobs in conflict met", k), !sim.met);
		started += sim.started;
	}
	T_CHECK(without > started / 20); /* or it shows nothing */
}

T_TEST("nobody is held back for longer than allowed, and all jobs end")
{
	int64_t longest = 0;

	for (uint64_t k = 0; k < RUNS; k++) {
		make(&sim, k, true, 5, MAX_HOLD_SEC);
		T_ROW(row("all end", k), run(&sim) > 0);
		for (uint32_t id = 2; id <= sim.last_id; id++)
			if (sim.lifetime[id].held_sec > longest)
				longest = sim.lifetime[id].held_sec;
	}
	T_CHECK(longest > MAX_HOLD_SEC / 2);
	/* The clock is read at decisions. */
	T_CHECK(longest <= MAX_HOLD_SEC + 2 * DECIDE_SEC);
}

T_TEST("jobs that harm nobody start when they would have, and are let be")
{
	static struct lifetime before[4096];
	unsigned harmless = 0;

	for (uint64_t k = 0; k < RUNS; k++) {
		make(&sim, k, false, 0, 0);
		run(&sim);
		memcpy(before, sim.lifetime, sizeof(before));
		make(&sim, k, true, 0, MAX_HOLD_SEC);
		run(&sim);
		for (uint32_t id = 2; id <= sim.last_id; id++)
			if (sim.lifetime[id].start_sec != before[id].start_sec)
				T_ROW(row("starts at another time", k), 0);
		make(&sim, k, true, 1, MAX_HOLD_SEC);
		run(&sim);
		for (uint32_t id = 2; id <= sim.last_id; id++) {
			harmless += sim.lifetime[id].harmless;
			if (sim.lifetime[id].harmless &&
			    sim.lifetime[id].constrained)
				T_ROW(row("harmless job constrained", k), 0);
		}
	}
	T_CHECK(harmless > 500);
}

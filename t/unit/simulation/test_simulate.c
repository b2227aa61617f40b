/* The simulator, compared with a scheduler that works second by second. */
#include "np_simulate.h"

#include "t.h"
#include "alloc.h"
#include "brute.h"
#include "np_bits.h"

#define QUEUES 1000
#define APPS 3

/* A cluster and a queue of its own for each number. */
struct queue {
	struct np_leaves *leaves;
	uint64_t part[2];
	const uint64_t *partition[2];
	uint64_t below[3];
	struct np_sim_switch above[3];
	struct np_sim_cluster cluster;
	struct np_sim_scheduler scheduler;
	struct np_sim_job job[B_MAX_JOBS];
	struct np_slowdowns *slowdowns;
	struct np_sim_policy policy;
	struct np_sim_input input;
	struct np_sim_outcome outcome[B_MAX_JOBS];
	struct np_sim_counts counts;
	/* Where each job started. */
	uint32_t node[B_MAX_JOBS][B_MAX_NODES];
	size_t n_nodes[B_MAX_JOBS];
};

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(seed >> 33) % n;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

static void make_leaves(struct queue *q)
{
	static const char *const name[] = { "a", "b", "c", "d" };
	uint32_t node[B_MAX_NODES], of[4] = { 0 }, at[4], n = 0;
	struct np_leaf leaf[4];
	size_t n_leaves = 1 + below(4);
	struct np_err err;

	for (size_t i = 0; i < n_leaves; i++) {
		of[i] = 1 + below(6);
		at[i] = n;
		n += of[i];
	}
	/* Node numbers of a leaf are not side by side. */
	for (uint32_t i = 0; i < n; i++)
		node[i] = i;
	for (uint32_t i = n; one_in(2) && i-- > 1;) {
		uint32_t k = below(i + 1), was = node[i];

		node[i] = node[k];
		node[k] = was;
	}
	for (size_t i = 0; i < n_leaves; i++)
		leaf[i] = (struct np_leaf){ name[i], node + at[i], of[i] };
	n += one_in(3) ? below(3) : 0; /* nodes without a leaf */
	T_CHECK(!np_leaves_new(n, leaf, n_leaves, &q->leaves, &err));
}

static void make_partitions(struct queue *q)
{
	size_t n = q->leaves->n_nodes;

	for (size_t i = 0; i < 2; i++) {
		q->part[i] = (UINT64_C(1) << n) - 1;
		for (size_t k = 0; i && k < n; k++)
			if (one_in(3))
				np_bits_clear(&q->part[i], k);
		q->partition[i] = &q->part[i];
	}
	q->cluster = (struct np_sim_cluster){
		.leaves = q->leaves,
		.cpus = one_in(2) ? 1 : 4,
		.partition = q->partition,
		.n_partitions = 1 + below(2),
	};
}

/* Up to two switches above the leaves, and one above these or not. */
static void make_switches(struct queue *q)
{
	size_t n = one_in(2) ? 0 : 1 + below(3), leaves = q->leaves->n;
	uint64_t all = (UINT64_C(1) << leaves) - 1;

	q->below[0] = all & ((UINT64_C(1) << (1 + below(3))) - 1);
	q->below[1] = all & ~q->below[0];
	q->below[2] = all;
	for (size_t i = 0; i < n; i++)
		q->above[i] =
			(struct np_sim_switch){ i < 2 ? 1 : 2, &q->below[i] };
	q->cluster.above = q->above;
	q->cluster.n_above = n;
}

static void make_slowdowns(struct queue *q, uint32_t most_load)
{
	struct np_slowdowns *t = np_slowdowns_new(APPS);

	for (uint32_t i = 0; i < APPS; i++)
		t->profile[i] = (struct np_slowdowns_profile){
			.trusted = true,
			.complete = true,
			.aggressor = true,
		};
	for (uint32_t a = 0; a < APPS; a++)
		for (uint32_t b = 0; b < APPS; b++) {
			uint16_t load = (uint16_t)below(most_load + 1);

			/* More contacts never make it better. */
			for (uint32_t touch = 0; touch < NP_N_TOUCH; touch++) {
				load = (uint16_t)(load +
						  (touch ? below(most_load / 4 +
								 1) :
							   0));
				t->suffered[(a * APPS + b) * NP_N_TOUCH + touch] =
					load;
				t->caused[(b * APPS + a) * NP_N_TOUCH + touch] =
					load;
				if (load > t->most[a])
					t->most[a] = load;
			}
		}
	q->slowdowns = t;
}

static void make_jobs(struct queue *q)
{
	uint32_t n = 5 + below(40), cpus = q->cluster.cpus, gap = below(60);
	uint32_t nodes = (uint32_t)q->leaves->n_nodes;
	int64_t at = below(200);

	for (uint32_t i = 0; i < n; i++) {
		struct np_sim_job *j = &q->job[i];

		at += below(gap + 1) * below(2);
		*j = (struct np_sim_job){
			.submit_sec = at,
			.run_sec = 1 + below(300),
			.nodes = 1 + below(one_in(5) ? nodes + 1 : 4),
			.cpus = cpus > 1 && one_in(2) ? 1 + below(cpus) : 0,
			.priority = one_in(2) ? below(4) : 0,
			.after = i && one_in(6) ? below(i) : NP_SIM_NO_JOB,
			.think_sec = one_in(2) ? below(50) : 0,
			.user = below(B_MAX_USERS),
			.profile = one_in(4) ? NP_PROFILE_UNKNOWN :
					       (int32_t)below(APPS),
			.partition = (uint16_t)below(
				(uint32_t)q->cluster.n_partitions),
		};
		j->limit_sec = one_in(4) ? j->run_sec :
					   j->run_sec + below(1 + below(400));
		if (one_in(10))
			j->cancel_sec = at + below(300);
	}
	q->input.n = n;
}

static void note_start(void *arg, uint32_t job,
		       const struct np_sim_outcome *outcome,
		       const uint32_t *node, size_t n)
{
	struct queue *q = arg;

	(void)outcome;
	memcpy(q->node[job], node, n * sizeof(*node));
	q->n_nodes[job] = n;
}

static void release(struct queue *q)
{
	np_slowdowns_unref(q->slowdowns);
	np_leaves_unref(q->leaves);
	memset(q, 0, sizeof(*q));
}

static void make(struct queue *q, uint64_t number, uint32_t most_load)
{
	release(q);
	seed = number * 7919 + 17;
	below(2);
	make_leaves(q);
	make_partitions(q);
	make_switches(q);
	make_slowdowns(q, most_load);
	q->scheduler = (struct np_sim_scheduler){
		.queue_depth = one_in(3) ? 1 + below(4) : 100,
		.bf_interval_sec = one_in(8) ? 0 : 1 + below(40),
		.bf_window_sec = one_in(3) ? below(300) : 600,
		.bf_resolution_sec = one_in(2) ? 1 : 1 + below(60),
		.bf_max_job_test = one_in(3) ? 1 + below(6) : 500,
		.completing_sec = one_in(3) ? below(5) : 0,
		.fair_period_sec = one_in(3) ? 1 + below(60) : 0,
		.fair_half_life_sec = one_in(2) ? 1 + below(500) : 0,
	};
	make_jobs(q);
	q->input.cluster = &q->cluster;
	q->input.job = q->job;
	q->input.scheduler = &q->scheduler;
	q->input.slowdowns = q->slowdowns;
	q->input.started = note_start;
	q->input.arg = q;
	q->policy.interval_sec = 2;
	q->policy.mode = NP_MODE_ENFORCE;
	np_policy_init(&q->policy.policy);
}

static int play(struct queue *q)
{
	struct np_err err = NP_ERR_INIT;
	int rc = np_simulate(&q->input, q->outcome, &q->counts, &err);

	if (rc)
		T_ROW(err.text, rc == -ENOMEM);
	return rc;
}

static struct queue one, other;

static void tear_down(void)
{
	release(&one);
	release(&other);
}

static int by_number(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static bool alike(const struct queue *q, size_t i, struct b_outcome *b)
{
	const struct np_sim_outcome *f = &q->outcome[i];

	qsort(b->node, b->n_nodes, sizeof(*b->node), by_number);
	return f->how == b->how && f->start_sec == b->start_sec &&
	       f->end_sec == b->end_sec && q->n_nodes[i] == b->n_nodes &&
	       !memcmp(q->node[i], b->node, b->n_nodes * sizeof(*b->node));
}

T_FIXTURE(NULL, tear_down);

T_TEST("every start and end is as a scheduler has it second by second")
{
	static struct b_outcome outcome[B_MAX_JOBS];
	size_t started = 0, backfilled = 0, slowed = 0, limits = 0;

	for (uint64_t k = 0; k < QUEUES; k++) {
		make(&one, k, 5000);
		if (play(&one))
			T_ROW("played", 0);
		b_play(&one.input, outcome);
		for (size_t i = 0; i < one.input.n; i++) {
			T_ROW(t_text("queue %llu, job %zu: %d "
				     "from %lld to %lld, expected %d from %lld to "
				     "%lld",
				     (unsigned long long)k, i,
				     one.outcome[i].how,
				     (long long)one.outcome[i].start_sec,
				     (long long)one.outcome[i].end_sec,
				     outcome[i].how,
				     (long long)outcome[i].start_sec,
				     (long long)outcome[i].end_sec),
			      alike(&one, i, &outcome[i]));
			started += outcome[i].start_sec >= 0;
			backfilled += outcome[i].how == NP_SIM_BACKFILL;
			slowed += one.outcome[i].slowed;
			limits += one.outcome[i].over_limit;
		}
	}
	/* Or it shows little. */
	T_CHECK(started > 10 * QUEUES && backfilled > QUEUES / 2);
	T_CHECK(slowed > QUEUES && limits > QUEUES / 2);
}

T_TEST("a policy without conflicts changes no start")
{
	static const enum np_mode mode[] = { NP_MODE_ADVISE, NP_MODE_PREFER,
					     NP_MODE_ENFORCE };
	size_t decisions = 0;

	for (uint64_t k = 0; k < QUEUES; k++) {
		make(&one, k, 20); /* of which no leaf has room for 10 % */
		play(&one);
		make(&other, k, 20);
		other.policy.mode = mode[k % NP_ARRAY_SIZE(mode)];
		other.input.policy = &other.policy;
		play(&other);
		T_ROW("a job differs",
		      !memcmp(one.outcome, other.outcome, sizeof(one.outcome)));
		T_ROW("nodes differ",
		      !memcmp(one.node, other.node, sizeof(one.node)));
		decisions += other.counts.decisions;
	}
	T_CHECK(decisions > 10 * QUEUES);
}

/* Jobs slow each other, and placement, which knows of none of that, is idle. */
T_TEST("placement acts only on what it knows")
{
	size_t slowed = 0;

	for (uint64_t k = 0; k < 300; k++) {
		struct np_slowdowns *slowdowns;

		make(&one, k, 3000);
		play(&one);
		make(&other, k, 3000);
		slowdowns = other.slowdowns;
		make_slowdowns(&other, 0);
		other.input.known = other.slowdowns;
		other.input.policy = &other.policy;
		play(&other);
		T_ROW("a job differs",
		      !memcmp(one.outcome, other.outcome, sizeof(one.outcome)));
		for (size_t i = 0; i < one.input.n; i++)
			slowed += other.outcome[i].slowed;
		np_slowdowns_unref(slowdowns);
	}
	T_CHECK(slowed > 300);
}

/* Do two jobs on one leaf slow each other beyond the limit? */
static size_t meetings(const struct queue *q)
{
	uint32_t limit = np_slowdowns_limit(q->policy.policy.max_slowdown);
	size_t met = 0;

	for (size_t i = 0; i < q->input.n; i++)
		for (size_t k = 0; k < q->input.n; k++) {
			const struct np_sim_outcome *a = &q->outcome[i];
			const struct np_sim_outcome *b = &q->outcome[k];
			bool together = false;

			if (i == k || a->start_sec < 0 || b->start_sec < 0 ||
			    q->job[i].profile < 0 || q->job[k].profile < 0 ||
			    a->start_sec >= b->end_sec ||
			    b->start_sec >= a->end_sec)
				continue;
			for (size_t x = 0; x < q->n_nodes[i]; x++)
				for (size_t y = 0; y < q->n_nodes[k]; y++) {
					uint32_t l =
						q->leaves->leaf[q->node[i][x]];

					together |=
						l != NP_NO_LEAF &&
						l == q->leaves->leaf[q->node[k]
									    [y]];
				}
			met += together &&
			       np_slowdowns_pair(q->slowdowns,
						 (uint32_t)q->job[i].profile, 0,
						 (uint32_t)q->job[k].profile,
						 0) > limit;
		}
	return met;
}

T_TEST("enforce keeps apart what meets without")
{
	size_t with = 0, without = 0, held = 0;

	for (uint64_t k = 0; k < 300; k++) {
		make(&one, k, 3000);
		play(&one);
		without += meetings(&one);
		one.input.policy = &one.policy;
		one.policy.policy.max_hold_sec = 1e6;
		play(&one);
		with += meetings(&one);
		for (size_t i = 0; i < one.input.n; i++) {
			held += one.outcome[i].was_held ||
				one.outcome[i].was_restricted;
			T_ROW("a job never ends", one.outcome[i].end_sec >= 0);
		}
	}
	T_CHECK(without > 300 && held > 300);
	/* Jobs may start while a decision is up to two seconds old. */
	T_CHECK(with < without / 50);
}

T_TEST("no job is held longer than allowed")
{
	uint32_t longest = 0;
	size_t released = 0;

	for (uint64_t k = 0; k < 300; k++) {
		make(&one, k, 9000);
		one.input.policy = &one.policy;
		one.policy.policy.max_hold_sec = 100;
		play(&one);
		for (size_t i = 0; i < one.input.n; i++) {
			if (one.outcome[i].held_sec > longest)
				longest = one.outcome[i].held_sec;
			released += one.outcome[i].released;
		}
	}
	T_CHECK(longest >= 100 && longest <= 100 + 10 + 2);
	T_CHECK(released > 10);
}

static bool stop(void *arg, size_t ended)
{
	(void)arg, (void)ended;
	return false;
}

T_TEST("it stops on request")
{
	static struct np_sim_job job[20000];
	static struct np_sim_outcome outcome[20000];

	make(&one, 3, 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(job); i++) {
		job[i] = one.job[0];
		job[i].submit_sec = (int64_t)i;
		job[i].after = NP_SIM_NO_JOB;
	}
	one.input.job = job;
	one.input.n = NP_ARRAY_SIZE(job);
	one.input.started = NULL;
	one.input.go_on = stop;
	T_CHECK(!np_simulate(&one.input, outcome, &one.counts, NULL));
	T_CHECK(one.counts.stopped);
	T_CHECK(one.counts.ended < NP_ARRAY_SIZE(job));
	T_CHECK(outcome[NP_ARRAY_SIZE(job) - 1].end_sec == -1);
}

/* clang-format off */
static const struct {
	const char *name, *says;
	struct np_sim_job job;
	uint32_t resolution;
} refusals[] = {
	{ "a submission before time 0", "submitted at -1",
	  { .submit_sec = -1, .run_sec = 1, .limit_sec = 1, .nodes = 1 }, 1 },
	{ "a job that takes no time", "for 0 s",
	  { .run_sec = 0, .limit_sec = 1, .nodes = 1 }, 1 },
	{ "a job without nodes", "0 nodes",
	  { .run_sec = 1, .limit_sec = 1 }, 1 },
	{ "no time limit", "limit 0 s", { .run_sec = 1, .nodes = 1 }, 1 },
	{ "more CPUs than a node has", "99 CPUs",
	  { .run_sec = 1, .limit_sec = 1, .nodes = 1, .cpus = 99 }, 1 },
	{ "it waits for itself", "waits for job 0",
	  { .run_sec = 1, .limit_sec = 1, .nodes = 1, .after = 0 }, 1 },
	{ "no such partition", "partition 7",
	  { .run_sec = 1, .limit_sec = 1, .nodes = 1, .after = NP_SIM_NO_JOB,
	    .partition = 7 }, 1 },
	{ "no such profile", "no profile 12",
	  { .run_sec = 1, .limit_sec = 1, .nodes = 1, .after = NP_SIM_NO_JOB,
	    .profile = 12 }, 1 },
	{ "no resolution", "bf_resolution",
	  { .run_sec = 1, .limit_sec = 1, .nodes = 1,
	    .after = NP_SIM_NO_JOB }, 0 },
};
/* clang-format on */

T_TEST("what cannot be is refused")
{
	T_EACH(r, refusals) {
		struct np_err err = NP_ERR_INIT;

		make(&one, 1, 0);
		one.job[0] = r->job;
		if (!strstr(r->says, "waits"))
			one.job[0].after = NP_SIM_NO_JOB;
		one.scheduler.bf_resolution_sec = r->resolution;
		one.input.n = 1;
		T_ROW(r->name, np_simulate(&one.input, one.outcome, &one.counts,
					   &err) == -EINVAL &&
				       strstr(err.text, r->says));
	}
}

T_TEST("without memory it says so")
{
	long nth = 0;
	bool failed = true;
	int refused = 0;

	make(&one, 11, 9000);
	one.input.policy = &one.policy;
	for (; failed && nth < 100000; nth += 1 + nth / 20) {
		int rc;

		t_alloc_fail(nth);
		rc = np_simulate(&one.input, one.outcome, &one.counts, NULL);
		failed = t_alloc_failed();
		T_CHECK(!rc || (failed && rc == -ENOMEM));
		refused += rc != 0;
	}
	T_CHECK(refused > 20);
}

T_TEST("equal shares are as without shares")
{
	struct np_sim_assoc flat[B_MAX_USERS];
	size_t fair = 0;

	for (size_t i = 0; i < B_MAX_USERS; i++)
		flat[i] = (struct np_sim_assoc){ NP_SIM_NO_PARENT, 7 };
	for (uint64_t k = 0; k < QUEUES; k++) {
		make(&one, k, 5000);
		play(&one);
		make(&other, k, 5000);
		other.input.assoc = flat;
		other.input.n_assocs = B_MAX_USERS;
		play(&other);
		T_ROW("a job differs",
		      !memcmp(one.outcome, other.outcome, sizeof(one.outcome)));
		fair += one.scheduler.fair_period_sec > 0;
	}
	T_CHECK(fair > QUEUES / 5);
}

/*
 * Account A with a1 and a2, account B with b. Each job takes the cluster for
 * 100 s; all are submitted at once, in this order.
 */
enum { A, B, A1, A2, B1, N_SHARES };
static const uint32_t parents[N_SHARES] = {
	[A] = NP_SIM_NO_PARENT,
	[B] = NP_SIM_NO_PARENT,
	[A1] = A,
	[A2] = A,
	[B1] = B,
};
static const uint32_t submitted[] = { A1, A1, A1, A2, B1, B1 };

static const struct {
	const char *name;
	uint32_t shares[N_SHARES];
	uint32_t want[NP_ARRAY_SIZE(submitted)]; /* start / 100 s */
} trees[] = {
	/* At 400 s both accounts are equal, so that b comes before a1. */
	{ "accounts, then users, have their shares",
	  { 3, 1, 1, 1, 1 },
	  { 0, 3, 5, 2, 1, 4 } },
	{ "users with Fairshare=parent are equal",
	  { 3, 1, NP_SIM_SHARES_OF_PARENT, NP_SIM_SHARES_OF_PARENT, 1 },
	  { 0, 2, 3, 4, 1, 5 } },
	{ "a user without shares comes last in the account",
	  { 3, 1, 0, 1, 1 },
	  { 2, 3, 5, 0, 1, 4 } },
};

static void use_shares(struct queue *q, struct np_sim_assoc *tree,
		       const uint32_t *shares)
{
	make(q, 1, 0);
	q->part[0] = (UINT64_C(1) << q->leaves->n_nodes) - 1;
	q->scheduler = (struct np_sim_scheduler){
		.queue_depth = 100,
		.bf_resolution_sec = 1,
		.fair_period_sec = 10,
	};
	q->input.slowdowns = NULL;
	q->input.n = NP_ARRAY_SIZE(submitted);
	for (size_t i = 0; i < q->input.n; i++)
		q->job[i] = (struct np_sim_job){
			.run_sec = 100,
			.limit_sec = 100,
			.user = submitted[i],
			.nodes = (uint32_t)q->leaves->n_nodes,
			.after = NP_SIM_NO_JOB,
			.profile = NP_PROFILE_UNKNOWN,
		};
	for (size_t i = 0; i < N_SHARES; i++)
		tree[i] = (struct np_sim_assoc){ parents[i], shares[i] };
	q->input.assoc = tree;
	q->input.n_assocs = N_SHARES;
}

T_TEST("jobs start by the shares of accounts and users")
{
	struct np_sim_assoc tree[N_SHARES];

	T_EACH(r, trees) {
		use_shares(&one, tree, r->shares);
		play(&one);
		for (size_t i = 0; i < one.input.n; i++)
			T_ROW(r->name,
			      one.outcome[i].start_sec == 100 * r->want[i]);
	}
}

T_TEST("impossible trees of shares are refused")
{
	static struct np_sim_assoc tree[N_SHARES];
	struct np_err err = NP_ERR_INIT;

	use_shares(&one, tree, trees[0].shares);
	one.input.n_assocs = B1;
	T_CHECK(np_simulate(&one.input, one.outcome, &one.counts, &err) ==
			-EINVAL &&
		strstr(err.text, "job 4: user 4 of 4"));
	one.input.n_assocs = N_SHARES;
	tree[A2].parent = A2;
	T_CHECK(np_simulate(&one.input, one.outcome, &one.counts, &err) ==
			-EINVAL &&
		strstr(err.text, "share 3: parent 3"));
}

#include "brute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_SEC 200000

struct brute {
	const struct np_sim_input *input;
	struct b_outcome *outcome;
	int64_t now, left[B_MAX_JOBS]; /* work, in parts of a second */
	int64_t eligible[B_MAX_JOBS];  /* -1: not yet */
	bool is_new[B_MAX_JOBS];
	int horizon; /* seconds that a plan has */
	bool news;   /* since the last backfill pass */
	int64_t passed_sec;
	uint64_t used[B_MAX_USERS];   /* CPU-seconds so far, decayed */
	uint64_t shared[B_MAX_USERS]; /* the same when it last counted */
};

static bool runs(const struct brute *b, size_t i)
{
	return b->outcome[i].start_sec >= 0 && b->outcome[i].end_sec < 0;
}

/* It has its nodes, also for a while after its end. */
static bool holds(const struct brute *b, size_t i)
{
	return b->outcome[i].start_sec >= 0 &&
	       (b->outcome[i].end_sec < 0 ||
		b->now < b->outcome[i].end_sec +
				 b->input->scheduler->completing_sec);
}

static bool waits(const struct brute *b, size_t i)
{
	return b->eligible[i] >= 0 && b->outcome[i].how == NP_SIM_PENDING;
}

static uint32_t cpus_of(const struct brute *b, size_t i)
{
	uint32_t cpus = b->input->job[i].cpus;

	return cpus ? cpus : b->input->cluster->cpus;
}

static uint32_t free_on(const struct brute *b, uint32_t node)
{
	uint32_t cpus = b->input->cluster->cpus;

	for (size_t i = 0; i < b->input->n; i++)
		for (size_t k = 0; holds(b, i) && k < b->outcome[i].n_nodes;
		     k++)
			if (b->outcome[i].node[k] == node)
				cpus -= cpus_of(b, i);
	return cpus;
}

/* Does job i come before job k? */
static bool precedes(const struct brute *b, size_t i, size_t k)
{
	const struct np_sim_job *j = b->input->job;

	if (b->shared[j[i].user] != b->shared[j[k].user])
		return b->shared[j[i].user] < b->shared[j[k].user];
	return j[i].priority != j[k].priority ? j[i].priority > j[k].priority :
						i < k;
}

/* The jobs that wait, in order; returns how many. */
static size_t waiting(const struct brute *b, size_t *job)
{
	size_t n = 0;

	for (size_t i = 0; i < b->input->n; i++) {
		size_t at = n;

		if (!waits(b, i))
			continue;
		for (; at && precedes(b, i, job[at - 1]); at--)
			job[at] = job[at - 1];
		job[at] = i;
		n++;
	}
	return n;
}

/* Is a node below a switch? Switches 0 to l->n - 1 are the leaves, the next
   one has the nodes without a leaf, then come those above, then the cluster. */
static bool is_under(const struct brute *b, size_t w, uint32_t node)
{
	const struct np_sim_cluster *c = b->input->cluster;
	const struct np_leaves *l = c->leaves;
	uint32_t leaf = l->leaf[node];

	if (w <= l->n)
		return leaf == (w == l->n ? NP_NO_LEAF : (uint32_t)w);
	if (w > l->n + c->n_above)
		return true;
	return leaf != NP_NO_LEAF &&
	       c->above[w - l->n - 1].leaves[0] >> leaf & 1;
}

static uint32_t level_of(const struct brute *b, size_t w)
{
	const struct np_sim_cluster *c = b->input->cluster;
	size_t n = c->leaves->n;

	return w <= n		   ? 0 :
	       w <= n + c->n_above ? c->above[w - n - 1].level :
				     UINT32_MAX;
}

/* The nodes of good[] below both a switch and top. */
static uint32_t count(const struct brute *b, const bool *good, size_t w,
		      size_t top)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < b->input->cluster->leaves->n_nodes; k++)
		n += good[k] && is_under(b, w, k) && is_under(b, top, k);
	return n;
}

/* Move at most n nodes below a switch from good[] to out. */
static uint32_t move(const struct brute *b, bool *good, size_t w, size_t top,
		     uint32_t n, uint32_t *out)
{
	uint32_t got = 0;

	for (uint32_t k = 0; k < b->input->cluster->leaves->n_nodes; k++)
		if (got < n && good[k] && is_under(b, w, k) &&
		    is_under(b, top, k)) {
			good[k] = false;
			out[got++] = k;
		}
	return got;
}

/*
 * Takes a job's nodes out of all[]; returns whether there are enough. One step
 * for each part that is used up: the lowest and tightest switch with enough
 * becomes the top; if it is not a leaf, what has most below it is next.
 */
static bool take(struct brute *b, size_t i, const bool *all, uint32_t *out)
{
	size_t root = b->input->cluster->leaves->n + 1 +
		      b->input->cluster->n_above,
	       top = root;
	uint32_t need = b->input->job[i].nodes, got = 0;
	bool good[B_MAX_NODES];

	memcpy(good, all, sizeof(good));
	if (count(b, good, root, root) < need)
		return false;
	while (got < need) {
		size_t best = top, most = top;
		uint32_t has, least = 0, fullest = 0;

		for (size_t w = 0; w < root; w++) {
			has = count(b, good, w, top);
			if (level_of(b, w) >= level_of(b, top) ||
			    has < need - got)
				continue;
			if (best == top || level_of(b, w) < level_of(b, best) ||
			    (level_of(b, w) == level_of(b, best) &&
			     has < least)) {
				best = w;
				least = has;
			}
		}
		top = best;
		if (!level_of(b, top)) {
			got += move(b, good, top, root, need - got, out + got);
			continue;
		}
		for (size_t k = 0; k < root; k++) {
			/* From switches to leaves. */
			size_t first = b->input->cluster->leaves->n + 1;
			size_t w = (first + k) % root;

			has = count(b, good, w, top);
			if (level_of(b, w) >= level_of(b, top) ||
			    has <= fullest)
				continue;
			most = w;
			fullest = has;
		}
		got += move(b, good, most, top, need - got, out + got);
	}
	return true;
}

static void begin(struct brute *b, size_t i, int how, const uint32_t *node)
{
	struct b_outcome *f = &b->outcome[i];

	f->how = how;
	f->start_sec = b->now;
	f->n_nodes = b->input->job[i].nodes;
	memcpy(f->node, node, f->n_nodes * sizeof(*node));
	b->left[i] = (int64_t)b->input->job[i].run_sec << 20;
	b->news = true;
}

static void main_pass(struct brute *b)
{
	const struct np_sim_cluster *c = b->input->cluster;
	bool closed[B_MAX_NODES] = { false }, good[B_MAX_NODES];
	bool failed[NP_SIM_MAX_PARTITIONS] = { false };
	uint32_t node[B_MAX_NODES];
	size_t job[B_MAX_JOBS], n = waiting(b, job);

	for (size_t at = 0; at < n; at++) {
		size_t i = job[at];
		const struct np_sim_job *j = &b->input->job[i];

		if (at == b->input->scheduler->queue_depth)
			return;
		if (failed[j->partition])
			continue;
		for (uint32_t k = 0; k < c->leaves->n_nodes; k++)
			good[k] = c->partition[j->partition][0] >> k & 1 &&
				  !closed[k] && free_on(b, k) >= cpus_of(b, i);
		if (take(b, i, good, node)) {
			begin(b, i, NP_SIM_MAIN, node);
			continue;
		}
		failed[j->partition] = true;
		for (uint32_t k = 0; k < c->leaves->n_nodes; k++)
			closed[k] |= c->partition[j->partition][0] >> k & 1;
	}
}

/* CPUs that are free on a node in each second from now on. */
static int16_t plan[B_MAX_PLAN][B_MAX_NODES];

static void make_plan(const struct brute *b)
{
	for (uint32_t k = 0; k < b->input->cluster->leaves->n_nodes; k++)
		for (int t = 0; t < b->horizon; t++)
			plan[t][k] = (int16_t)b->input->cluster->cpus;
	for (size_t i = 0; i < b->input->n; i++) {
		int64_t until =
			b->outcome[i].start_sec + b->input->job[i].limit_sec;

		if (until <= b->now)
			until = b->now + 1;
		for (size_t k = 0; holds(b, i) && k < b->outcome[i].n_nodes;
		     k++)
			for (int t = 0; t < b->horizon && b->now + t < until;
			     t++)
				plan[t][b->outcome[i].node[k]] =
					(int16_t)(plan[t][b->outcome[i].node[k]] -
						  (int)cpus_of(b, i));
	}
}

static int64_t floor_to(int64_t sec, int64_t step)
{
	while (sec % step)
		sec--;
	return sec;
}

static void backfill_one(struct brute *b, size_t i)
{
	const struct np_sim_scheduler *s = b->input->scheduler;
	const struct np_sim_job *j = &b->input->job[i];
	size_t n = b->input->cluster->leaves->n_nodes;
	static uint32_t lasts[B_MAX_PLAN + 1][B_MAX_NODES];
	uint32_t cpus = cpus_of(b, i), node[B_MAX_NODES];
	bool good[B_MAX_NODES];
	int64_t from, to, step;
	int at = 0, end = (int)(s->bf_window_sec + j->limit_sec);

	for (size_t k = 0; k < n; k++)
		lasts[end][k] = B_MAX_PLAN;
	for (int t = end - 1; t >= 0; t--)
		for (size_t k = 0; k < n; k++)
			lasts[t][k] = plan[t][k] >= (int)cpus ?
					      lasts[t + 1][k] + 1 :
					      0;
	for (;; at++) {
		if (at > (int)s->bf_window_sec)
			return;
		for (size_t k = 0; k < n; k++)
			good[k] =
				b->input->cluster->partition[j->partition][0] >>
						k &
					1 &&
				lasts[at][k] >= j->limit_sec;
		if (take(b, i, good, node))
			break;
	}
	step = at ? s->bf_resolution_sec : 1;
	from = floor_to(b->now + at, step);
	to = floor_to(b->now + at + j->limit_sec + step - 1, step);
	for (int64_t t = from > b->now ? from : b->now; t < to; t++)
		for (uint32_t k = 0; t - b->now < b->horizon && k < j->nodes;
		     k++)
			plan[t - b->now][node[k]] =
				(int16_t)(plan[t - b->now][node[k]] -
					  (int)cpus);
	if (!at)
		begin(b, i, NP_SIM_BACKFILL, node);
}

static void backfill_pass(struct brute *b)
{
	size_t job[B_MAX_JOBS], n = waiting(b, job);

	b->news = false;
	make_plan(b);
	for (size_t at = 0; at < n; at++) {
		if (at == b->input->scheduler->bf_max_job_test)
			return;
		backfill_one(b, job[at]);
	}
}

static void finish(struct brute *b, size_t i)
{
	b->outcome[i].end_sec = b->now;
	b->news |= !b->input->scheduler->completing_sec;
}

/* The load of a job on one leaf, from all the others there. */
static uint32_t load_on(const struct brute *b, size_t i, uint32_t leaf)
{
	const struct np_leaves *l = b->input->cluster->leaves;
	uint32_t load = 0;

	for (size_t k = 0; k < b->input->n; k++) {
		unsigned touch[2] = { 0, 0 };
		bool on[2] = { false, false };
		const size_t who[2] = { i, k };

		if (k == i || !runs(b, k) || b->input->job[k].profile < 0)
			continue;
		for (int w = 0; w < 2; w++) {
			const struct b_outcome *f = &b->outcome[who[w]];

			for (size_t m = 0; m < f->n_nodes; m++) {
				uint32_t of = l->leaf[f->node[m]];

				on[w] |= of == leaf;
				for (size_t o = 0; o < f->n_nodes; o++)
					if (of != l->leaf[f->node[o]] &&
					    of != NP_NO_LEAF &&
					    l->leaf[f->node[o]] != NP_NO_LEAF)
						touch[w] |= NP_TOUCH_UPLINK;
			}
			if (b->input->job[who[w]].cpus &&
			    b->input->job[who[w]].cpus <
				    b->input->cluster->cpus)
				touch[w] |= NP_TOUCH_NODE;
		}
		if (on[0] && on[1])
			load += np_slowdowns_pair(
				b->input->slowdowns,
				(uint32_t)b->input->job[i].profile, touch[0],
				(uint32_t)b->input->job[k].profile, touch[1]);
	}
	return load;
}

static void work_one_second(struct brute *b, size_t i)
{
	const struct np_leaves *l = b->input->cluster->leaves;
	const struct b_outcome *f = &b->outcome[i];
	uint32_t worst = 0;
	double speed;

	for (uint32_t leaf = 0; b->input->slowdowns &&
				b->input->job[i].profile >= 0 && leaf < l->n;
	     leaf++) {
		uint32_t load = load_on(b, i, leaf);

		for (size_t k = 0; k < f->n_nodes; k++)
			if (l->leaf[f->node[k]] == leaf && load > worst)
				worst = load;
	}
	speed = rint(1048576 * exp(-(double)worst / 10000));
	b->left[i] -= speed < 1 ? 1 : (int64_t)speed;
}

static void end_jobs(struct brute *b)
{
	uint32_t completing_sec = b->input->scheduler->completing_sec;
	bool ends[B_MAX_JOBS] = { false };

	for (size_t i = 0; completing_sec && i < b->input->n; i++)
		b->news |= b->outcome[i].start_sec >= 0 &&
			   b->now == b->outcome[i].end_sec + completing_sec;

	for (size_t i = 0; i < b->input->n; i++) {
		const struct np_sim_job *j = &b->input->job[i];

		ends[i] = runs(b, i) &&
			  (b->left[i] <= 0 ||
			   b->now >= b->outcome[i].start_sec + j->limit_sec ||
			   (j->cancel_sec && b->now >= j->cancel_sec));
	}
	for (size_t i = 0; i < b->input->n; i++)
		if (ends[i])
			finish(b, i);
}

/* How many nodes its partition has. */
static uint32_t nodes_of(const struct brute *b, size_t i)
{
	return (uint32_t)__builtin_popcountll(
		b->input->cluster->partition[b->input->job[i].partition][0]);
}

static void arrive(struct brute *b)
{
	for (size_t i = 0; i < b->input->n; i++) {
		const struct np_sim_job *j = &b->input->job[i];
		const struct b_outcome *a = j->after == NP_SIM_NO_JOB ?
						    NULL :
						    &b->outcome[j->after];

		if (b->outcome[i].how == NP_SIM_PENDING && j->cancel_sec &&
		    j->cancel_sec <= b->now && j->submit_sec <= b->now &&
		    nodes_of(b, i) >= j->nodes) {
			b->outcome[i].how = NP_SIM_CANCELLED;
			b->outcome[i].end_sec = b->now;
			b->news |= b->eligible[i] >= 0;
		}
		if (b->outcome[i].how != NP_SIM_PENDING ||
		    b->eligible[i] >= 0 || j->submit_sec > b->now)
			continue;
		if (nodes_of(b, i) < j->nodes) {
			b->outcome[i].how = NP_SIM_TOO_LARGE;
			b->outcome[i].end_sec = b->now;
			continue;
		}
		if (a && (a->end_sec < 0 || a->end_sec + j->think_sec > b->now))
			continue;
		b->eligible[i] = b->now;
		b->news = true;
	}
}

/* At the end of each period all usage decays; then it decides the order. */
static void share(struct brute *b)
{
	const struct np_sim_scheduler *s = b->input->scheduler;
	uint64_t was[B_MAX_USERS];
	size_t job[B_MAX_JOBS], n;
	double decay = s->fair_half_life_sec ?
			       exp2(-(double)s->fair_period_sec /
				    s->fair_half_life_sec) :
			       1;

	if (!s->fair_period_sec || b->now % s->fair_period_sec)
		return;
	memcpy(was, b->shared, sizeof(was));
	for (size_t u = 0; u < B_MAX_USERS; u++) {
		/* Usage of a test is below 2^31. */
		b->used[u] = b->used[u] * (uint64_t)(decay * 4294967296.0) /
			     4294967296;
		b->shared[u] = b->used[u];
	}
	/* Backfill looks at a new order again. */
	n = waiting(b, job);
	for (size_t before = 0; before < n; before++)
		for (size_t after = before + 1; after < n; after++) {
			size_t i = job[before], k = job[after];
			uint64_t x = was[b->input->job[i].user];
			uint64_t y = was[b->input->job[k].user];

			b->news |=
				x > y ||
				(x == y && i > k &&
				 b->input->job[i].priority ==
					 b->input->job[k].priority) ||
				(x == y && b->input->job[i].priority <
						   b->input->job[k].priority);
		}
}

static bool all_over(const struct brute *b)
{
	for (size_t i = 0; i < b->input->n; i++)
		if (b->outcome[i].end_sec < 0)
			return false;
	return true;
}

static bool any_waits(const struct brute *b)
{
	for (size_t i = 0; i < b->input->n; i++)
		if (waits(b, i))
			return true;
	return false;
}

void b_play(const struct np_sim_input *input, struct b_outcome *outcome)
{
	struct brute b = { .input = input,
			   .outcome = outcome,
			   .passed_sec = -1 };
	uint32_t step = input->scheduler->bf_interval_sec;

	for (size_t i = 0; i < input->n; i++) {
		if (b.horizon < (int)input->job[i].limit_sec)
			b.horizon = (int)input->job[i].limit_sec;
		outcome[i] =
			(struct b_outcome){ .start_sec = -1, .end_sec = -1 };
		b.eligible[i] = -1;
	}
	b.horizon += (int)input->scheduler->bf_window_sec + 1;
	b.now = input->job[0].submit_sec;
	for (int t = 0; t < LONGEST_SEC && !all_over(&b); t++, b.now++) {
		end_jobs(&b);
		arrive(&b);
		share(&b);
		main_pass(&b);
		if (step && !(b.now % step) && b.news && any_waits(&b))
			backfill_pass(&b);
		for (size_t i = 0; i < input->n; i++)
			if (runs(&b, i)) {
				work_one_second(&b, i);
				b.used[input->job[i].user] +=
					cpus_of(&b, i) * input->job[i].nodes;
			}
	}
}

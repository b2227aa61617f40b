/*
 * How the simulation is made fast enough for years of a large cluster:
 *
 * - It goes from event to event. Ends, eligible jobs and cancellations are in
 *   heaps by time; the time of the next decision and of the next backfill pass
 *   follow from what has changed.
 * - Only jobs that slow others or are slowed by others, i.e. that are not
 *   inert, are entered on their leaves. When one starts or ends, the loads of
 *   the other jobs there are adjusted and not recomputed. Loads and progress
 *   are integers, so that what was added can be subtracted without error.
 * - Nodes are bitmaps by position (struct np_leaves), in which the nodes of a
 *   leaf are adjacent.
 * - The backfill pass stops when no job that follows may start, which it finds
 *   out from the plan so far, and reuses what it found for a job that needed no
 *   more (np_sim.found).
 *
 * All functions return 0 or -ENOMEM unless they say otherwise; after an error
 * the simulation is over and only free_simulation() is called.
 */
#include "np_simulate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"

#define GO_ON_EVENTS 4096 /* seconds with events between two calls of go_on() */
#define RETRY_JOBS 4 /* jobs after which backfill asks again who may start */
#define NP_SIM_FOUND 32 /* results of the backfill plan that are reused */
#define NP_SIM_SPEED 1048576 /* progress per second of a job that runs alone */

/* The load that a running job suffers on one of its leaves. */
struct np_sim_leaf_load {
	uint32_t leaf;
	uint32_t load;
};

struct np_running {
	uint32_t *pos; /* positions of its nodes, ascending */
	uint32_t n_nodes;
	uint16_t cpus;	 /* on each */
	unsigned touch;	 /* NP_TOUCH_... */
	bool completing; /* it has ended but still holds its nodes */
	int64_t expected_sec; /* its end according to its time limit */
	int64_t charged_sec;  /* until when its user was charged */
	/* Work left at since_sec; it then decreases by speed per second. */
	int64_t left, since_sec;
	uint32_t speed, load; /* load: the worst of all its leaves */
	/* Its leaves; none if it slows no job and is slowed by none. */
	struct np_sim_leaf_load *leaves;
	size_t n_leaves;
};

/* The decision of placement that a pending job contains. */
struct np_sim_hold {
	enum np_prior prior;
	int64_t until_sec;
	double held_sec;
	uint64_t *leaves; /* leaves open to it */
	uint64_t *nodes;  /* nodes on these and on no leaf, by position */
};

/* A heap of events by time; of equal times, by job. */
struct np_sim_heap {
	struct np_sim_event {
		int64_t sec;
		uint32_t job;
	} *at;
	size_t n, capacity;
	uint32_t *position; /* of each job in the heap; NULL: not needed */
};

/* Running jobs on a leaf that slow others or are slowed by others. */
struct np_sim_leaf_jobs {
	struct np_sim_leaf_job {
		uint32_t job;
		uint32_t index; /* of this leaf in np_running.leaves */
	} *at;
	size_t n, capacity;
};

/*
 * ---- The plan of one backfill pass: when which nodes are expected free ----
 *
 * Time from now on is divided into slots, in each of which the same nodes are
 * free. A slot begins where a running job is expected to end, or where a
 * reservation begins or ends; the last one is open-ended. Nodes are positions
 * of struct np_leaves.
 */
struct slot {
	int64_t from_sec;
	uint32_t idle_nodes;
	bool shrinks;	/* a reservation begins: some nodes that the slot before
			   it has are missing */
	uint64_t *idle;	/* bitmap of nodes that are entirely free */
	uint16_t *cpus;	/* free on each node; NULL: nodes are not shared */
};

/* What is looked for in the plan: enough nodes for a job, for long enough. */
struct demand {
	const uint64_t *candidates; /* bitmap of the nodes that it may use */
	uint32_t nodes;
	uint16_t cpus; /* on each node; all of them: the node must be idle */
	uint32_t sec;
};

struct plan {
	size_t n_nodes, words;
	uint16_t node_cpus; /* of each node */
	bool shared;	    /* nodes may be shared */
	struct slot *slot;
	size_t n, capacity; /* slots in use; slots with memory */
	uint64_t *mask;	 /* nodes that plan_find() found; scratch */
	uint64_t *saved; /* scratch */
	/* Scratch: some nodes, by the words of a bitmap. */
	struct part {
		uint64_t bits;
		uint32_t word, n; /* n: number of bits */
	} *part;
};

struct np_sim {
	const struct np_sim_input *input;
	const struct np_sim_job *job;
	const struct np_leaves *leaves;
	struct np_sim_outcome *outcome;
	struct np_sim_counts *counts;
	int64_t now;
	bool shared; /* some jobs share nodes */

	/* Nodes, by position. */
	size_t words; /* of a bitmap of nodes */
	uint64_t *idle; /* bitmap of nodes without any job */
	uint16_t *cpus; /* free on each; NULL: nodes are not shared */
	uint64_t free_cpus; /* on all nodes together */
	uint64_t *partition[NP_SIM_MAX_PARTITIONS];
	uint32_t partition_size[NP_SIM_MAX_PARTITIONS];
	uint32_t partition_idle[NP_SIM_MAX_PARTITIONS];
	uint64_t *in_partitions; /* of each node: a bit per partition */
	uint64_t *mask, *blocked; /* scratch: bitmaps of nodes */
	uint32_t *leaf_at; /* leaf of each; leaves->n: none */

	/* Scratch of choose_nodes(). Nodes without a leaf count as a leaf. */
	uint32_t *leaf_nodes; /* per leaf: its nodes that can be chosen */
	uint32_t *leaf_list; /* the leaves that have any, n_leaf_list of them */
	size_t n_leaf_list;
	uint32_t *leaf_order; /* leaves of a switch, most nodes first */
	uint32_t *leaf_first; /* per number of nodes: the first leaf with it */
	size_t leaf_most;     /* nodes of the largest leaf */
	uint32_t *chosen;     /* positions or nodes of one job */
	uint32_t n_chosen;

	/* Jobs. */
	size_t submitted; /* this many, in their order, were submitted */
	uint32_t *queue;  /* pending and eligible jobs, by precedence */
	size_t n_queue, queue_capacity;
	struct np_running **running; /* per job; NULL: not running */
	uint32_t *expected;	     /* running jobs, by expected_sec */
	size_t n_expected, expected_capacity;
	struct np_sim_heap ends, eligible, cancels;
	/* Lists of the jobs that depend on each job. */
	uint32_t *followers, *next_follower;
	struct np_sim_leaf_jobs *leaf_jobs;	     /* per leaf */
	struct plan plan;
	/* The last jobs of this backfill pass that cannot start now, and when
	   they can. */
	struct np_sim_found {
		const struct np_sim_job *job;
		int64_t sec;
	} found[NP_SIM_FOUND];
	size_t n_found;
	/* Fair share, per user; NULL: none. */
	struct usage {
		uint64_t cpu_sec; /* decayed */
		uint32_t rank;	  /* users with less come first */
	} *usage;
	uint32_t *by_usage; /* users, in the order of their ranks */
	struct branch {	    /* per entry of the tree of shares; NULL: none */
		uint32_t depth;
		double part;  /* its shares, of those of all its siblings */
		double level; /* of siblings, the highest comes first */
		uint64_t cpu_sec; /* usage of all users below it */
	} *branch;
	size_t n_users;
	uint64_t decay; /* in each period, in units of 2^-32 */

	bool main_again; /* another main pass may start further jobs */
	int64_t backfilled_sec; /* last pass, or before the first job */
	bool backfill_changed;	/* anything changed since then */

	/* NULL: no placement. */
	struct np_sim_placing *placing;
	struct np_sim_hold **hold; /* per job; NULL: no decision written */
};

/* Whether, by this table, a job neither slows others nor is slowed by them. */
static bool is_inert(const struct np_sim *s, const struct np_slowdowns *t,
		     uint32_t job)
{
	int32_t profile = s->job[job].profile;

	return !t || profile < 0 || t->profile[profile].inert;
}

/* The table that placement decides with. */
static struct np_slowdowns *known_slowdowns(const struct np_sim *s)
{
	return s->input->known ? s->input->known : s->input->slowdowns;
}

static void schedule_end(struct np_sim *s, uint32_t job);

/* ---- How running jobs slow each other ---- */

/* Progress per second under a load. */
static uint32_t speed_of(uint32_t load)
{
	double speed = rint(NP_SIM_SPEED * exp(-(double)load / NP_SLOWDOWNS_UNIT));

	return speed < 1 ? 1 : (uint32_t)speed;
}

/* Change the worst load of a running job from now on. */
static void set_load(struct np_sim *s, uint32_t job, uint32_t load)
{
	struct np_running *r = s->running[job];

	if (load == r->load)
		return;
	r->left -= r->speed * (s->now - r->since_sec);
	r->since_sec = s->now;
	r->load = load;
	r->speed = speed_of(load);
	s->outcome[job].slowed |= load > 0;
	schedule_end(s, job);
}

/* The largest load of a job on any of its leaves. */
static uint32_t worst_load(const struct np_running *r)
{
	uint32_t worst = 0;

	for (size_t i = 0; i < r->n_leaves; i++)
		if (r->leaves[i].load > worst)
			worst = r->leaves[i].load;
	return np_slowdowns_clamp(worst);
}

/* Add or remove the load of a neighbour on the leaf index of a job. */
static void change_load(struct np_sim *s, uint32_t job, uint32_t index,
			uint32_t load, bool added)
{
	struct np_running *r = s->running[job];

	if (!load)
		return;
	if (added)
		r->leaves[index].load += load;
	else
		r->leaves[index].load -= load;
	set_load(s, job, worst_load(r));
}

/* Load of a running job because of another one on the same leaf. */
static uint32_t pair_load(const struct np_sim *s, uint32_t victim, uint32_t co)
{
	return np_slowdowns_pair(s->input->slowdowns,
				 (uint32_t)s->job[victim].profile,
				 s->running[victim]->touch,
				 (uint32_t)s->job[co].profile,
				 s->running[co]->touch);
}

/* Number of leaves that a job runs on. */
static size_t count_leaves(const struct np_sim *s, const struct np_running *r)
{
	uint32_t last = NP_NO_LEAF;
	size_t n = 0;

	/* Positions are in order of leaves. */
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		uint32_t leaf = s->leaves->leaf[s->leaves->node[r->pos[i]]];

		n += leaf != NP_NO_LEAF && leaf != last;
		last = leaf;
	}
	return n;
}

/* List the leaves that a running job is on. 0 or -ENOMEM. */
static int make_leaf_loads(struct np_sim *s, struct np_running *r)
{
	r->leaves = calloc(count_leaves(s, r) + 1, sizeof(*r->leaves));
	if (!r->leaves)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		uint32_t leaf = s->leaves->leaf[s->leaves->node[r->pos[i]]];

		if (leaf == NP_NO_LEAF || (r->n_leaves &&
		    r->leaves[r->n_leaves - 1].leaf == leaf))
			continue;
		r->leaves[r->n_leaves++].leaf = leaf;
	}
	if (r->n_leaves > 1)
		r->touch |= NP_TOUCH_UPLINK;
	return 0;
}

/* A job starts on its leaves: adjust the speed of all jobs there. */
static int enter_leaves(struct np_sim *s, uint32_t job)
{
	struct np_running *r = s->running[job];

	if (s->input->rigid || is_inert(s, s->input->slowdowns, job))
		return 0;
	if (make_leaf_loads(s, r))
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_leaves; i++) {
		struct np_sim_leaf_jobs *t = &s->leaf_jobs[r->leaves[i].leaf];

		if (np_array_room(&t->at, &t->capacity, t->n + 1,
				  sizeof(*t->at)))
			return -ENOMEM;
		for (size_t k = 0; k < t->n; k++) {
			uint32_t other = t->at[k].job;

			change_load(s, other, t->at[k].index,
				    pair_load(s, other, job), true);
			r->leaves[i].load += pair_load(s, job, other);
		}
		t->at[t->n++] = (struct np_sim_leaf_job){ job, i };
	}
	set_load(s, job, worst_load(r));
	return 0;
}

/* A job ends: adjust the speed of the jobs on its leaves. */
static void leave_leaves(struct np_sim *s, uint32_t job)
{
	const struct np_running *r = s->running[job];

	for (size_t i = 0; i < r->n_leaves; i++) {
		struct np_sim_leaf_jobs *t = &s->leaf_jobs[r->leaves[i].leaf];
		size_t k = 0;

		while (t->at[k].job != job)
			k++;
		t->at[k] = t->at[--t->n];
		for (k = 0; k < t->n; k++)
			change_load(s, t->at[k].job, t->at[k].index,
				    pair_load(s, t->at[k].job, job), false);
	}
}

/*
 * ---- Placement within the simulation ----
 *
 * Makes snapshots for np_placement_decide() and applies its outcomes to pending
 * jobs. No decision is made while no pending job slows others or is slowed by
 * them, as it would restrict nothing.
 */
struct np_sim_placing {
	const struct np_sim_policy *policy;
	struct np_placement *placement; /* the last decision, or NULL */
	uint32_t handle[NP_SIM_MAX_PARTITIONS]; /* nodes of each partition, as
						   sets of its snapshot */
	int64_t last_sec;  /* of the last decision */
	bool changed;	   /* jobs changed since the last decision */
	bool restricts;	   /* it restricts or holds at least one job */
	size_t n_relevant; /* pending jobs that are not inert */
};

/* Set up placement. */
static int placing_new(struct np_sim *s)
{
	struct np_sim_placing *g = calloc(1, sizeof(*g));

	s->hold = calloc(s->input->n + 1, sizeof(*s->hold));
	s->placing = g;
	if (!g || !s->hold)
		return -ENOMEM;
	g->policy = s->input->policy;
	return 0;
}

static void placing_free(struct np_sim *s)
{
	for (size_t i = 0; s->hold && i < s->input->n; i++)
		free(s->hold[i]);
	free(s->hold);
	if (s->placing)
		np_placement_free(s->placing->placement);
	free(s->placing);
}

/* A job was submitted, started, ended, or left the queue. */
static void placing_changed(struct np_sim *s)
{
	if (s->placing)
		s->placing->changed = true;
}

/* A job enters or leaves the queue. */
static void placing_queue_change(struct np_sim *s, uint32_t job, bool enters)
{
	if (!s->placing)
		return;
	if (!is_inert(s, known_slowdowns(s), job))
		s->placing->n_relevant += enters ? 1 : (size_t)-1;
	if (!enters) {
		free(s->hold[job]);
		s->hold[job] = NULL;
	}
}

/*
 * Seconds after which a decision that restricts jobs is renewed, even if
 * nothing changed: holds end and hold times add up.
 */
static int64_t renew_sec(const struct np_sim_policy *p)
{
	int64_t sec = (int64_t)(p->policy.hold_step_sec / 2);

	if (p->mode == NP_MODE_PREFER && sec > NP_PLACEMENT_PATIENCE_SEC / 2)
		sec = NP_PLACEMENT_PATIENCE_SEC / 2;
	if (sec > p->policy.max_hold_sec / 10)
		sec = (int64_t)(p->policy.max_hold_sec / 10);
	return sec > p->interval_sec ? sec : p->interval_sec;
}

/* Time of the next decision; INT64_MAX: none is due. */
static int64_t placing_due(const struct np_sim *s)
{
	const struct np_sim_placing *g = s->placing;

	if (!g || !g->n_relevant)
		return INT64_MAX;
	if (!g->placement)
		return s->now;
	if (g->changed)
		return g->last_sec + g->policy->interval_sec;
	return g->restricts ? g->last_sec + renew_sec(g->policy) : INT64_MAX;
}

/* A job in the form of the snapshot. */
static struct np_job job_for_snapshot(const struct np_sim *s, uint32_t job)
{
	const struct np_sim_job *from = &s->job[job];
	const struct np_sim_hold *h = s->hold[job];
	struct np_job j = {
		.id = job + 1, .owner = from->user, .state = NP_JOB_READY,
		.mode = s->placing->policy->mode, .partition = from->partition,
		.flags = from->cpus ? NP_JOB_SHARES_NODES : 0,
		.profile = from->profile, .tasks = 1,
		.nodes_min = from->nodes, .priority = s->usage ?
			UINT32_MAX - s->usage[from->user].rank : from->priority,
		.submit_sec = from->submit_sec,
		.candidates = s->placing->handle[from->partition],
	};

	if (h) {
		j.prior = h->prior;
		j.prior_leaves = h->leaves;
		j.prior_until_sec = h->until_sec;
		j.held_sec = h->held_sec;
	}
	return j;
}

/* State of the node at a position. */
static enum np_node_state node_state(const struct np_sim *s, size_t pos)
{
	if (np_bits_test(s->idle, pos))
		return NP_NODE_IDLE;
	return s->cpus && s->cpus[pos] ? NP_NODE_MIXED : NP_NODE_FULL;
}

/* Add the running jobs to a snapshot, by expected end. */
static int add_running(const struct np_sim *s, struct np_snapshot *snapshot,
		       struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < s->n_expected; i++) {
		const struct np_running *r = s->running[s->expected[i]];
		struct np_job j = job_for_snapshot(s, s->expected[i]);

		for (uint32_t k = 0; k < r->n_nodes; k++)
			s->chosen[k] = s->leaves->node[r->pos[k]];
		j.state = NP_JOB_RUNNING;
		j.start_sec = s->outcome[s->expected[i]].start_sec;
		j.node = s->chosen;
		j.n_nodes = r->n_nodes;
		rc = np_snapshot_job(snapshot, &j, err);
	}
	return rc;
}

/* Fill in and seal a snapshot: nodes, running jobs, then the queue. */
static int fill_snapshot(struct np_sim *s, struct np_snapshot *snapshot,
			 struct np_err *err)
{
	const struct np_sim_cluster *c = s->input->cluster;
	int rc = 0;

	for (size_t i = 0; !rc && i < s->leaves->n_nodes; i++)
		rc = np_snapshot_node(snapshot, s->leaves->node[i],
				      node_state(s, i), err);
	for (size_t i = 0; !rc && i < c->n_partitions; i++)
		rc = np_snapshot_nodes(snapshot, c->partition[i],
				       &s->placing->handle[i], err);
	if (!rc)
		rc = add_running(s, snapshot, err);
	for (size_t i = 0; !rc && i < s->n_queue; i++) {
		struct np_job j = job_for_snapshot(s, s->queue[i]);

		rc = np_snapshot_job(snapshot, &j, err);
	}
	np_snapshot_seal(snapshot);
	return rc;
}

/* Restrict a job to leaves and to the nodes without a leaf. */
static void open_leaves(const struct np_sim *s, struct np_sim_hold *h,
			const uint64_t *leaves)
{
	const struct np_leaves *l = s->leaves;

	memcpy(h->leaves, leaves, l->words * sizeof(*leaves));
	memset(h->nodes, 0, s->words * sizeof(*h->nodes));
	NP_BITS_EACH(i, leaves, l->words)
		for (uint32_t p = l->first[i]; p < l->first[i + 1]; p++)
			np_bits_set(h->nodes, p);
	for (size_t p = l->first[l->n]; p < l->n_nodes; p++)
		np_bits_set(h->nodes, p);
}

/* The decision of a job, allocated if needed. NULL: out of memory. */
static struct np_sim_hold *hold_of(struct np_sim *s, uint32_t job)
{
	size_t words = s->leaves->words + s->words;
	struct np_sim_hold *h = s->hold[job];

	if (h)
		return h;
	h = calloc(1, sizeof(*h) + words * sizeof(uint64_t));
	if (!h)
		return NULL;
	h->leaves = (uint64_t *)(h + 1);
	h->nodes = h->leaves + s->leaves->words;
	s->hold[job] = h;
	return h;
}

/* Apply an outcome to a job. In mode advise it is only counted. */
static int apply_outcome(struct np_sim *s, uint32_t job,
			 const struct np_outcome *v)
{
	static const enum np_prior prior[] = {
		[NP_ACT_NONE] = NP_PRIOR_NONE,
		[NP_ACT_UNRESTRICTED] = NP_PRIOR_UNRESTRICTED,
		[NP_ACT_RESTRICT] = NP_PRIOR_RESTRICTED,
		[NP_ACT_HOLD] = NP_PRIOR_HELD,
	};
	struct np_sim_outcome *f = &s->outcome[job];
	struct np_sim_hold *h;

	f->was_restricted |= v->action == NP_ACT_RESTRICT;
	f->was_held |= v->action == NP_ACT_HOLD;
	if (s->placing->policy->mode == NP_MODE_ADVISE)
		return 0;
	if (v->action < NP_ACT_RESTRICT && v->held_sec <= 0 && !s->hold[job])
		return 0;
	h = hold_of(s, job);
	if (!h)
		return -ENOMEM;
	f->released |= v->cause.why == NP_WHY_HOLD_EXPIRED;
	f->held_sec = (uint32_t)(v->held_sec + .5);
	h->prior = prior[v->action];
	h->held_sec = v->held_sec;
	h->until_sec = v->until_sec;
	if (v->action == NP_ACT_RESTRICT)
		open_leaves(s, h, v->leaves);
	s->placing->restricts |= v->action >= NP_ACT_RESTRICT;
	s->backfill_changed |= v->changed;
	return 0;
}

/* Make a decision from an empty snapshot, and apply it to the queue. */
static int decide_from(struct np_sim *s, struct np_snapshot *snapshot,
		       struct np_err *err)
{
	struct np_sim_placing *g = s->placing;
	struct np_placement *placement;
	int rc = fill_snapshot(s, snapshot, err);

	if (!rc)
		rc = np_placement_decide(snapshot, known_slowdowns(s),
					 &g->policy->policy, &placement, err);
	if (rc)
		return rc;
	np_placement_free(g->placement);
	g->placement = placement;
	g->last_sec = s->now;
	g->changed = false;
	g->restricts = false;
	s->counts->decisions++;
	for (size_t i = 0; !rc && i < s->n_queue; i++)
		rc = apply_outcome(s, s->queue[i],
				   np_outcome_of(placement,
						 s->n_expected + i));
	return rc;
}

/* Make a decision if one is due now. Returns 0 or -errno with err. */
static int placing_decide(struct np_sim *s, struct np_err *err)
{
	struct np_snapshot *snapshot;
	int rc;

	if (placing_due(s) > s->now)
		return 0;
	rc = np_snapshot_new((struct np_leaves *)s->leaves, s->now,
			     s->placing->last_sec, &snapshot, err);
	if (rc)
		return rc;
	rc = decide_from(s, snapshot, err);
	np_snapshot_unref(snapshot);
	return rc;
}

/* Decide about a job that has just become eligible. */
static int placing_submit(struct np_sim *s, uint32_t job, struct np_err *err)
{
	struct np_sim_placing *g = s->placing;
	struct np_outcome v;
	struct np_job j;
	int rc;

	/* A decision that is due now includes the job. */
	if (!g || is_inert(s, known_slowdowns(s), job) ||
	    placing_due(s) <= s->now)
		return 0;
	j = job_for_snapshot(s, job);
	rc = np_placement_submit(g->placement, &j, NULL, s->now, &v, err);
	if (!rc)
		rc = apply_outcome(s, job, &v);
	return rc;
}

/* ---- Events ---- */

/* Whether one event comes before another. */
static bool before(struct np_sim_event a, struct np_sim_event b)
{
	return a.sec != b.sec ? a.sec < b.sec : a.job < b.job;
}

/* Store an event at an index of the heap. */
static void heap_put(struct np_sim_heap *h, size_t i, struct np_sim_event e)
{
	h->at[i] = e;
	if (h->position)
		h->position[e.job] = (uint32_t)i;
}

/* Move e from index i, whose content is lost, to where it belongs. */
static void sift(struct np_sim_heap *h, size_t i, struct np_sim_event e)
{
	size_t child;

	for (; i && before(e, h->at[(i - 1) / 2]); i = (i - 1) / 2)
		heap_put(h, i, h->at[(i - 1) / 2]);
	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n && before(h->at[child + 1], h->at[child]))
			child++;
		if (!before(h->at[child], e))
			break;
		heap_put(h, i, h->at[child]);
		i = child;
	}
	heap_put(h, i, e);
}

/* Add an event. */
static int heap_add(struct np_sim_heap *h, int64_t sec, uint32_t job)
{
	if (np_array_room(&h->at, &h->capacity, h->n + 1, sizeof(*h->at)))
		return -ENOMEM;
	h->n++;
	sift(h, h->n - 1, (struct np_sim_event){ sec, job });
	return 0;
}

/* Time of the first event; INT64_MAX: there is none. */
static int64_t heap_first(const struct np_sim_heap *h)
{
	return h->n ? h->at[0].sec : INT64_MAX;
}

/* Remove the first event and return its job. */
static uint32_t heap_take(struct np_sim_heap *h)
{
	uint32_t job = h->at[0].job;

	if (--h->n)
		sift(h, 0, h->at[h->n]);
	return job;
}

/* ---- Nodes ---- */

/* Whether a job leaves CPUs of its nodes to others. */
static bool shares_nodes(const struct np_sim *s, const struct np_sim_job *j)
{
	return j->cpus && j->cpus < s->input->cluster->cpus;
}

/* CPUs that a job takes on each of its nodes. */
static uint16_t cpus_of(const struct np_sim *s, const struct np_sim_job *j)
{
	return (uint16_t)(shares_nodes(s, j) ? j->cpus :
					       s->input->cluster->cpus);
}

/* A node becomes idle, or is no longer idle. */
static void count_idle(struct np_sim *s, uint32_t pos, bool idle)
{
	for (uint64_t in = s->in_partitions[pos]; in; in &= in - 1)
		s->partition_idle[__builtin_ctzll(in)] += idle ? 1u : -1u;
	if (idle)
		np_bits_set(s->idle, pos);
	else
		np_bits_clear(s->idle, pos);
}

/* Take the nodes of a job that starts. */
static void allocate(struct np_sim *s, const struct np_running *r)
{
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		uint32_t pos = r->pos[i];

		if (s->cpus)
			s->cpus[pos] = (uint16_t)(s->cpus[pos] - r->cpus);
		if (np_bits_test(s->idle, pos))
			count_idle(s, pos, false);
	}
	s->free_cpus -= (uint64_t)r->n_nodes * r->cpus;
}

/* Give back the nodes of a job that ended. */
static void deallocate(struct np_sim *s, const struct np_running *r)
{
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		uint32_t pos = r->pos[i];

		if (s->cpus)
			s->cpus[pos] = (uint16_t)(s->cpus[pos] + r->cpus);
		if (!s->cpus || s->cpus[pos] == s->input->cluster->cpus)
			count_idle(s, pos, true);
	}
	s->free_cpus += (uint64_t)r->n_nodes * r->cpus;
}

/* End of the positions of leaf i; i == l->n: of the nodes without a leaf. */
static uint32_t leaf_end(const struct np_leaves *l, size_t i)
{
	return i < l->n ? l->first[i + 1] : (uint32_t)l->n_nodes;
}

/*
 * Count the nodes of mask[] on each leaf, into s->leaf_nodes, and list the
 * leaves that have any in s->leaf_list. Mostly few nodes are free, so this
 * looks only at leaves that have some.
 */
static void count_leaf_nodes(struct np_sim *s, const uint64_t *mask)
{
	for (size_t i = 0; i < s->n_leaf_list; i++)
		s->leaf_nodes[s->leaf_list[i]] = 0;
	s->n_leaf_list = 0;
	for (size_t k = 0; k < s->words; k++) {
		uint64_t word = mask[k];

		while (word) {
			uint32_t leaf = s->leaf_at[np_bits_lowest(k, word)];
			size_t end = leaf_end(s->leaves, leaf) -
				     k * NP_BITS_WORD;
			uint64_t later = end < NP_BITS_WORD ?
				~UINT64_C(0) << end : 0;

			if (!s->leaf_nodes[leaf])
				s->leaf_list[s->n_leaf_list++] = leaf;
			s->leaf_nodes[leaf] += np_bits_popcount(word & ~later);
			word &= later;
		}
	}
}

/* Whether a leaf is below a switch; NULL: the whole cluster. */
static bool is_below(const struct np_sim *s, uint32_t leaf,
		     const struct np_sim_switch *top)
{
	return !top || (leaf < s->leaves->n && np_bits_test(top->leaves, leaf));
}

/*
 * The leaf below a switch with the fewest nodes of those that have n;
 * NP_NO_LEAF: none has as many.
 */
static uint32_t tightest_leaf(const struct np_sim *s,
			      const struct np_sim_switch *top, uint32_t n)
{
	uint32_t best = NP_NO_LEAF, least = UINT32_MAX;

	for (size_t i = 0; i < s->n_leaf_list && least > n; i++) {
		uint32_t leaf = s->leaf_list[i], has = s->leaf_nodes[leaf];

		if (has < n || has >= least || !is_below(s, leaf, top))
			continue;
		best = leaf;
		least = has;
	}
	return best;
}

/* Nodes counted on the leaves below a switch. */
static uint32_t count_below(const struct np_sim *s,
			    const struct np_sim_switch *w)
{
	uint32_t n = 0;

	NP_BITS_EACH(leaf, w->leaves, s->leaves->words)
		n += s->leaf_nodes[leaf];
	return n;
}

/* Whether a switch is a part of another one; NULL: of the whole cluster. */
static bool is_part(const struct np_sim *s, const struct np_sim_switch *w,
		    const struct np_sim_switch *top)
{
	return !top || (w->level < top->level &&
			np_bits_subset(w->leaves, top->leaves,
				       s->leaves->words));
}

/*
 * The lowest switch within top that has n nodes, of those the one with the
 * fewest; top: no part of it has as many.
 */
static const struct np_sim_switch *lowest_switch(const struct np_sim *s,
	const struct np_sim_switch *top, uint32_t n)
{
	const struct np_sim_cluster *c = s->input->cluster;
	const struct np_sim_switch *best = top;
	uint32_t least = 0;

	for (size_t i = 0; i < c->n_switches; i++) {
		const struct np_sim_switch *w = &c->above[i];
		uint32_t has;

		if (!is_part(s, w, top) ||
		    (best != top && best->level < w->level))
			continue;
		has = count_below(s, w);
		if (has < n || (best != top && best->level == w->level &&
				least <= has))
			continue;
		best = w;
		least = has;
	}
	return best;
}

/* The part of a switch with the most nodes; NULL: none has any. */
static const struct np_sim_switch *fullest_part(const struct np_sim *s,
	const struct np_sim_switch *top, uint32_t *most)
{
	const struct np_sim_cluster *c = s->input->cluster;
	const struct np_sim_switch *best = NULL;

	*most = 0;
	for (size_t i = 0; i < c->n_switches; i++) {
		uint32_t has = is_part(s, &c->above[i], top) ?
			count_below(s, &c->above[i]) : 0;

		if (has <= *most)
			continue;
		best = &c->above[i];
		*most = has;
	}
	return best;
}

/*
 * Sort the leaves below a switch by their nodes, most first and equal ones in
 * their own order, into s->leaf_order (a counting sort). Returns their number.
 */
static size_t sort_leaves(struct np_sim *s, const struct np_sim_switch *top)
{
	uint32_t *first = s->leaf_first, n_before = 0, n_listed;
	const size_t most = s->leaf_most;

	memset(first, 0, (most + 1) * sizeof(*first));
	for (size_t i = 0; i < s->n_leaf_list; i++)
		if (is_below(s, s->leaf_list[i], top))
			first[s->leaf_nodes[s->leaf_list[i]]]++;
	for (size_t k = most + 1; k--;) {
		uint32_t has = first[k];

		first[k] = n_before;
		n_before += has;
	}
	n_listed = first[0];
	for (size_t i = 0; i < s->n_leaf_list; i++) {
		uint32_t leaf = s->leaf_list[i];

		if (s->leaf_nodes[leaf] && is_below(s, leaf, top))
			s->leaf_order[first[s->leaf_nodes[leaf]]++] = leaf;
	}
	return n_listed;
}

/* Append n of a leaf's nodes in mask[] to s->chosen. */
static void take_nodes(struct np_sim *s, const uint64_t *mask, uint32_t leaf,
		       uint32_t n)
{
	size_t p = np_bits_next(mask, s->words, s->leaves->first[leaf]);

	s->leaf_nodes[leaf] -= n;
	for (; n; n--, p = np_bits_next(mask, s->words, p + 1))
		s->chosen[s->n_chosen++] = (uint32_t)p;
}

/*
 * Append n nodes of mask[] below a switch: of the leaves with the most nodes,
 * until one has enough for the rest.
 */
static void take_leaves(struct np_sim *s, const uint64_t *mask,
			const struct np_sim_switch *top, uint32_t n)
{
	size_t i, best, end = sort_leaves(s, top);
	const uint32_t *order = s->leaf_order;

	for (i = 0; s->leaf_nodes[order[i]] < n; i++) {
		n -= s->leaf_nodes[order[i]];
		take_nodes(s, mask, order[i], s->leaf_nodes[order[i]]);
	}
	for (best = i; i < end && s->leaf_nodes[order[i]] >= n; i++)
		if (s->leaf_nodes[order[i]] < s->leaf_nodes[order[best]])
			best = i;
	take_nodes(s, mask, order[best], n);
}

/*
 * Append all nodes of mask[] that are below part, or on a leaf directly below
 * top that has more than its most nodes.
 */
static void take_fullest(struct np_sim *s, const uint64_t *mask,
			 const struct np_sim_switch *top,
			 const struct np_sim_switch *part, uint32_t most)
{
	uint32_t single = NP_NO_LEAF;

	for (size_t i = 0; i < s->n_leaf_list; i++) {
		uint32_t leaf = s->leaf_list[i];

		if (s->leaf_nodes[leaf] > most && is_below(s, leaf, top)) {
			single = leaf;
			most = s->leaf_nodes[leaf];
		}
	}
	if (single != NP_NO_LEAF) {
		take_nodes(s, mask, single, most);
		return;
	}
	for (size_t i = 0; i < s->n_leaf_list; i++)
		if (is_below(s, s->leaf_list[i], part))
			take_nodes(s, mask, s->leaf_list[i],
				   s->leaf_nodes[s->leaf_list[i]]);
}

/*
 * Choose n nodes of mask[], which has as many, into s->chosen: below the lowest
 * switch that has enough, of those at one level the one with the fewest. If
 * that is no leaf, its part with the most nodes is used up first, until one
 * part has enough for the rest.
 */
static void choose_nodes(struct np_sim *s, const uint64_t *mask, uint32_t n)
{
	const struct np_sim_switch *top = NULL, *part;
	uint32_t leaf, most;

	count_leaf_nodes(s, mask);
	s->n_chosen = 0;
	while ((leaf = tightest_leaf(s, top, n - s->n_chosen)) == NP_NO_LEAF) {
		top = lowest_switch(s, top, n - s->n_chosen);
		part = fullest_part(s, top, &most);
		if (!part) {
			take_leaves(s, mask, top, n - s->n_chosen);
			return;
		}
		take_fullest(s, mask, top, part, most);
	}
	take_nodes(s, mask, leaf, n - s->n_chosen);
}

/* ---- The queue ---- */

/* Whether job a comes before job b in the queue. */
static bool has_precedence(const struct np_sim *s, uint32_t a, uint32_t b)
{
	const struct np_sim_job *x = &s->job[a], *y = &s->job[b];

	if (s->usage && s->usage[x->user].rank != s->usage[y->user].rank)
		return s->usage[x->user].rank < s->usage[y->user].rank;
	if (x->priority != y->priority)
		return x->priority > y->priority;
	return x->submit_sec != y->submit_sec ?
		x->submit_sec < y->submit_sec : a < b;
}

typedef bool first_f(const struct np_sim *s, uint32_t a, uint32_t b);

/* Index of a job in at[n], which is sorted by first(), or where it belongs. */
static size_t position_of(const struct np_sim *s, const uint32_t *at, size_t n,
			  uint32_t job, first_f *first)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (first(s, at[middle], job))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t queue_position(const struct np_sim *s, uint32_t job)
{
	return position_of(s, s->queue, s->n_queue, job, has_precedence);
}

/* Something happened that placement and backfill must consider. */
static void note_change(struct np_sim *s)
{
	s->backfill_changed = true;
	placing_changed(s);
}

/* A job becomes eligible. */
static int enqueue(struct np_sim *s, uint32_t job, struct np_err *err)
{
	size_t at = queue_position(s, job);

	if (np_array_room(&s->queue, &s->queue_capacity, s->n_queue + 1,
			  sizeof(*s->queue)))
		return -ENOMEM;
	memmove(s->queue + at + 1, s->queue + at,
		(s->n_queue++ - at) * sizeof(*s->queue));
	s->queue[at] = job;
	s->outcome[job].eligible_sec = s->now;
	placing_queue_change(s, job, true);
	note_change(s);
	return placing_submit(s, job, err);
}

/* Remove jobs that have started from the queue. */
static void sweep_queue(struct np_sim *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_queue; i++)
		if (s->outcome[s->queue[i]].how == NP_SIM_PENDING)
			s->queue[n++] = s->queue[i];
	s->n_queue = n;
}

/* ---- Fair share ---- */

/* Charge a running job to its user, up to now. */
static void charge_user(struct np_sim *s, uint32_t job)
{
	struct np_running *r = s->running[job];

	if (!s->usage)
		return;
	s->usage[s->job[job].user].cpu_sec += (uint64_t)r->n_nodes * r->cpus *
		(uint64_t)(s->now - r->charged_sec);
	r->charged_sec = s->now;
}

/*
 * The level of an entry whose parent, if any, has one: its part of the shares
 * of its siblings, divided by its part of their usage. all_cpu_sec: usage of
 * all users.
 */
static double level_of(const struct np_sim *s, size_t i, uint64_t all_cpu_sec)
{
	const struct np_sim_assoc *assoc = &s->input->assoc[i];
	const struct branch *parent = assoc->parent == NP_SIM_NO_PARENT ?
				      NULL : &s->branch[assoc->parent];
	uint64_t of_siblings = parent ? parent->cpu_sec : all_cpu_sec;

	if (assoc->shares == NP_SIM_SHARES_OF_PARENT)
		return parent ? parent->level : 1;
	if (!assoc->shares)
		return 0;
	if (!s->branch[i].cpu_sec)
		return INFINITY;
	return s->branch[i].part * (double)of_siblings /
	       (double)s->branch[i].cpu_sec;
}

/* Add up the usage below each entry, then compute the levels from it. */
static void update_levels(struct np_sim *s)
{
	uint64_t all_cpu_sec = 0;

	for (size_t i = 0; i < s->n_users; i++)
		s->branch[i].cpu_sec = s->usage[i].cpu_sec;
	/* Parents come before their children in the list. */
	for (size_t i = s->n_users; i-- > 0;) {
		uint32_t parent = s->input->assoc[i].parent;

		if (parent == NP_SIM_NO_PARENT)
			all_cpu_sec += s->branch[i].cpu_sec;
		else
			s->branch[parent].cpu_sec += s->branch[i].cpu_sec;
	}
	for (size_t i = 0; i < s->n_users; i++)
		s->branch[i].level = level_of(s, i, all_cpu_sec);
}

/* The levels from the root to an entry. */
static void levels_from_root(const struct np_sim *s, uint32_t i,
			     double level[NP_SIM_MAX_DEPTH])
{
	for (; i != NP_SIM_NO_PARENT; i = s->input->assoc[i].parent)
		level[s->branch[i].depth] = s->branch[i].level;
}

/* Fair Tree: the first difference on the way from the root decides. */
static int compare_levels(const struct np_sim *s, uint32_t a, uint32_t b)
{
	double x[NP_SIM_MAX_DEPTH], y[NP_SIM_MAX_DEPTH];
	uint32_t n = s->branch[a].depth, m = s->branch[b].depth;

	levels_from_root(s, a, x);
	levels_from_root(s, b, y);
	for (uint32_t i = 0; i <= n && i <= m; i++)
		if (x[i] != y[i])
			return x[i] > y[i] ? -1 : 1;
	return n < m ? -1 : n > m;
}

/* Order of two users: by usage, the least first; or by the tree of shares. */
static int compare_usage(const void *a, const void *b, void *arg)
{
	const struct np_sim *s = arg;
	uint64_t x = s->usage[*(const uint32_t *)a].cpu_sec;
	uint64_t y = s->usage[*(const uint32_t *)b].cpu_sec;

	if (s->branch)
		return compare_levels(s, *(const uint32_t *)a,
				      *(const uint32_t *)b);
	return x < y ? -1 : x > y;
}

static int compare_precedence(const void *a, const void *b, void *arg)
{
	return has_precedence(arg, *(const uint32_t *)a,
			      *(const uint32_t *)b) ? -1 : 1;
}

/* Put the queue in order if it is not. */
static void sort_queue(struct np_sim *s)
{
	for (size_t i = 1; i < s->n_queue; i++)
		if (has_precedence(s, s->queue[i], s->queue[i - 1])) {
			qsort_r(s->queue, s->n_queue, sizeof(*s->queue),
				compare_precedence, s);
			note_change(s);
			return;
		}
}

/* The end of the current period of fair share; INT64_MAX: there is none. */
static int64_t fair_share_due(const struct np_sim *s)
{
	int64_t period = s->input->scheduler->fair_period_sec;

	return s->usage ? (s->now / period + 1) * period : INT64_MAX;
}

/* If it is time, bring usage and ranks of all users up to date. */
static void update_fair_share(struct np_sim *s)
{
	if (!s->usage || s->now % s->input->scheduler->fair_period_sec)
		return;
	for (size_t i = 0; i < s->n_expected; i++)
		if (!s->running[s->expected[i]]->completing)
			charge_user(s, s->expected[i]);
	for (size_t i = 0; i < s->n_users; i++) {
		uint64_t *sec = &s->usage[i].cpu_sec;

		*sec = (*sec >> 32) * s->decay +
		       ((*sec & UINT32_MAX) * s->decay >> 32);
	}
	if (s->branch)
		update_levels(s);
	qsort_r(s->by_usage, s->n_users, sizeof(*s->by_usage), compare_usage,
		s);
	for (size_t i = 0; i < s->n_users; i++) {
		bool same = i && !compare_usage(&s->by_usage[i - 1],
						&s->by_usage[i], s);

		s->usage[s->by_usage[i]].rank = same ?
			s->usage[s->by_usage[i - 1]].rank : (uint32_t)i;
	}
	sort_queue(s);
}

/* Whether placement holds a pending job. */
static bool is_held(const struct np_sim *s, uint32_t job)
{
	const struct np_sim_hold *h = s->hold ? s->hold[job] : NULL;

	return h && h->prior == NP_PRIOR_HELD && h->until_sec > s->now;
}

/* Set s->mask to the nodes that a job may use, busy or not. */
static void find_candidates(struct np_sim *s, uint32_t job)
{
	const struct np_sim_hold *h = s->hold ? s->hold[job] : NULL;
	const uint64_t *p = s->partition[s->job[job].partition];

	memcpy(s->mask, p, s->words * sizeof(*p));
	if (h && h->prior == NP_PRIOR_RESTRICTED)
		for (size_t k = 0; k < s->words; k++)
			s->mask[k] &= h->nodes[k];
}

/* ---- Start and end of jobs ---- */

/* Set when a running job will end, at its present speed. */
static void schedule_end(struct np_sim *s, uint32_t job)
{
	const struct np_running *r = s->running[job];
	int64_t cancel_sec = s->job[job].cancel_sec, sec = s->now;

	if (r->left > 0)
		sec = r->since_sec + (r->left + r->speed - 1) / r->speed;
	s->outcome[job].limit = sec > r->expected_sec;
	if (s->outcome[job].limit)
		sec = r->expected_sec;
	if (cancel_sec && sec > cancel_sec)
		sec = cancel_sec > s->now ? cancel_sec : s->now;
	s->outcome[job].end_sec = sec;
	sift(&s->ends, s->ends.position[job],
	     (struct np_sim_event){ sec, job });
}

/* Whether job a is expected to end before job b. */
static bool expected_first(const struct np_sim *s, uint32_t a, uint32_t b)
{
	int64_t x = s->running[a]->expected_sec;
	int64_t y = s->running[b]->expected_sec;

	return x != y ? x < y : a < b;
}

static size_t expected_position(const struct np_sim *s, uint32_t job)
{
	return position_of(s, s->expected, s->n_expected, job, expected_first);
}

/* Add a job to the running ones, by expected end. 0 or -ENOMEM. */
static int add_expected(struct np_sim *s, uint32_t job)
{
	size_t at = expected_position(s, job);

	if (np_array_room(&s->expected, &s->expected_capacity,
			  s->n_expected + 1, sizeof(*s->expected)))
		return -ENOMEM;
	memmove(s->expected + at + 1, s->expected + at,
		(s->n_expected++ - at) * sizeof(*s->expected));
	s->expected[at] = job;
	return 0;
}

/* A running job on the nodes in s->chosen. NULL: out of memory. */
static struct np_running *make_running(const struct np_sim *s, uint32_t job)
{
	const struct np_sim_job *j = &s->job[job];
	struct np_running *r = calloc(1, sizeof(*r) +
				      j->nodes * sizeof(*r->pos));

	if (!r)
		return NULL;
	*r = (struct np_running){
		.pos = (uint32_t *)(r + 1), .n_nodes = j->nodes,
		.cpus = cpus_of(s, j),
		.touch = shares_nodes(s, j) ? NP_TOUCH_NODE : 0,
		.expected_sec = s->now + j->limit_sec,
		.left = (int64_t)j->run_sec * NP_SIM_SPEED,
		.since_sec = s->now, .charged_sec = s->now,
		.speed = NP_SIM_SPEED,
	};
	memcpy(r->pos, s->chosen, j->nodes * sizeof(*r->pos));
	qsort(r->pos, r->n_nodes, sizeof(*r->pos), np_order_u32);
	return r;
}

/* Call the caller's start callback. */
static void report_start(struct np_sim *s, uint32_t job)
{
	const struct np_running *r = s->running[job];

	if (!s->input->started)
		return;
	for (uint32_t i = 0; i < r->n_nodes; i++)
		s->chosen[i] = s->leaves->node[r->pos[i]];
	qsort(s->chosen, r->n_nodes, sizeof(*s->chosen), np_order_u32);
	s->input->started(s->input->arg, job, &s->outcome[job], s->chosen,
			  r->n_nodes);
}

/* Start a job on the nodes in s->chosen. It stays in the queue until swept. */
static int start_job(struct np_sim *s, uint32_t job, enum np_sim_how how)
{
	struct np_running *r = make_running(s, job);

	if (!r)
		return -ENOMEM;
	s->running[job] = r;
	s->outcome[job].how = (uint8_t)how;
	s->outcome[job].start_sec = s->now;
	s->outcome[job].leaves = (uint16_t)count_leaves(s, r);
	allocate(s, r);
	if (heap_add(&s->ends, INT64_MAX, job) || add_expected(s, job))
		return -ENOMEM;
	schedule_end(s, job);
	if (enter_leaves(s, job))
		return -ENOMEM;
	placing_queue_change(s, job, false);
	note_change(s);
	report_start(s, job);
	if (how == NP_SIM_MAIN)
		s->counts->main_starts++;
	else
		s->counts->backfill_starts++;
	return 0;
}

/* A job has ended or will never run: release the jobs that depend on it. */
static int release_followers(struct np_sim *s, uint32_t job)
{
	for (uint32_t f = s->followers[job]; f != NP_SIM_NO_JOB;
	     f = s->next_follower[f]) {
		int64_t sec = s->now + s->job[f].think_sec;

		if (f >= s->submitted)
			continue; /* handled when it is submitted */
		if (heap_add(&s->eligible, sec, f))
			return -ENOMEM;
	}
	return 0;
}

static void release_running(struct np_sim *s, uint32_t job)
{
	free(s->running[job]->leaves);
	free(s->running[job]);
	s->running[job] = NULL;
}

/* A job that has ended gives up its nodes. */
static void free_nodes(struct np_sim *s, uint32_t job)
{
	size_t at = expected_position(s, job);

	memmove(s->expected + at, s->expected + at + 1,
		(--s->n_expected - at) * sizeof(*s->expected));
	deallocate(s, s->running[job]);
	release_running(s, job);
	note_change(s);
}

/* Handle an end: of a job, or of the time that its nodes complete. */
static int end_job(struct np_sim *s, uint32_t job)
{
	uint32_t completing_sec = s->input->scheduler->completing_sec;
	int rc;

	if (s->running[job]->completing) {
		free_nodes(s, job);
		return 0;
	}
	charge_user(s, job);
	leave_leaves(s, job);
	s->counts->ended++;
	s->counts->last_sec = s->now;
	rc = release_followers(s, job);
	if (!completing_sec) {
		free_nodes(s, job);
		return rc;
	}
	s->running[job]->completing = true;
	return rc ? rc : heap_add(&s->ends, s->now + completing_sec, job);
}

/* Handle all ends that are due. */
static int end_jobs(struct np_sim *s)
{
	int rc = 0;

	while (!rc && heap_first(&s->ends) <= s->now)
		rc = end_job(s, heap_take(&s->ends));
	return rc;
}

/* ---- Submissions and cancellations ---- */

/* A pending job will never start. */
static int drop_job(struct np_sim *s, uint32_t job, enum np_sim_how how)
{
	struct np_sim_outcome *f = &s->outcome[job];

	f->how = (uint8_t)how;
	f->end_sec = s->now;
	s->counts->ended++;
	if (f->eligible_sec >= 0) {
		size_t at = queue_position(s, job);

		memmove(s->queue + at, s->queue + at + 1,
			(--s->n_queue - at) * sizeof(*s->queue));
		placing_queue_change(s, job, false);
		note_change(s);
	}
	return release_followers(s, job);
}

/* Cancel the pending jobs whose time has come. */
static int cancel_jobs(struct np_sim *s)
{
	int rc = 0;

	while (!rc && heap_first(&s->cancels) <= s->now) {
		uint32_t job = heap_take(&s->cancels);

		if (s->outcome[job].how == NP_SIM_PENDING)
			rc = drop_job(s, job, NP_SIM_CANCELLED);
	}
	return rc;
}

/* Whether a job has ended or will never run. */
static bool is_over(const struct np_sim *s, uint32_t job)
{
	const struct np_sim_outcome *f = &s->outcome[job];

	return f->how >= NP_SIM_TOO_LARGE ||
	       (f->how != NP_SIM_PENDING &&
		(!s->running[job] || s->running[job]->completing));
}

/*
 * When a job becomes eligible, given the job it depends on; INT64_MAX: later.
 */
static int64_t eligible_sec(const struct np_sim *s, uint32_t job)
{
	const struct np_sim_job *j = &s->job[job];

	if (j->after == NP_SIM_NO_JOB)
		return s->now;
	if (!is_over(s, j->after))
		return INT64_MAX;
	return s->outcome[j->after].end_sec + j->think_sec;
}

/* A job is submitted: it may be dropped, eligible at once, or later. */
static int submit_job(struct np_sim *s, uint32_t job, struct np_err *err)
{
	const struct np_sim_job *j = &s->job[job];
	int64_t sec = eligible_sec(s, job);

	if (j->nodes > s->partition_size[j->partition])
		return drop_job(s, job, NP_SIM_TOO_LARGE);
	if (j->cancel_sec && j->cancel_sec <= s->now)
		return drop_job(s, job, NP_SIM_CANCELLED);
	if (j->cancel_sec && heap_add(&s->cancels, j->cancel_sec, job))
		return -ENOMEM;
	if (sec <= s->now)
		return enqueue(s, job, err);
	return sec == INT64_MAX ? 0 : heap_add(&s->eligible, sec, job);
}

/* Handle all submissions that are due, then jobs that become eligible. */
static int submit_jobs(struct np_sim *s, struct np_err *err)
{
	int rc = 0;

	while (!rc && s->submitted < s->input->n &&
	       s->job[s->submitted].submit_sec <= s->now) {
		uint32_t job = (uint32_t)s->submitted++;

		rc = submit_job(s, job, err);
	}
	while (!rc && heap_first(&s->eligible) <= s->now) {
		uint32_t job = heap_take(&s->eligible);

		if (s->outcome[job].how == NP_SIM_PENDING)
			rc = enqueue(s, job, err);
	}
	return rc;
}

/* ---- The main scheduling pass ---- */

/* Quick test: true if certainly too few nodes are free for a job now. */
static bool too_few_free(const struct np_sim *s, const struct np_sim_job *j)
{
	return shares_nodes(s, j) ?
		       s->free_cpus < (uint64_t)j->nodes * j->cpus :
		       s->partition_idle[j->partition] < j->nodes;
}

/* Keep only those nodes in mask[] that have enough free CPUs for a job. */
static void keep_free(const struct np_sim *s, const struct np_sim_job *j,
		      uint64_t *mask)
{
	if (!shares_nodes(s, j)) {
		for (size_t k = 0; k < s->words; k++)
			mask[k] &= s->idle[k];
		return;
	}
	NP_BITS_EACH(i, mask, s->words)
		if (s->cpus[i] < j->cpus)
			np_bits_clear(mask, i);
}

/* Start a job if possible. Returns 1 if it has started, 0 if not, or -errno. */
static int try_main(struct np_sim *s, uint32_t job, bool blocked)
{
	const struct np_sim_job *j = &s->job[job];

	if (too_few_free(s, j))
		return 0;
	find_candidates(s, job);
	for (size_t k = 0; blocked && k < s->words; k++)
		s->mask[k] &= ~s->blocked[k];
	keep_free(s, j, s->mask);
	if (np_bits_count(s->mask, s->words) < j->nodes)
		return 0;
	choose_nodes(s, s->mask, j->nodes);
	return start_job(s, job, NP_SIM_MAIN) ? -ENOMEM : 1;
}

/* Keep later jobs off the nodes of a partition; first: of no other one yet. */
static void block_partition(struct np_sim *s, uint16_t partition, bool first)
{
	size_t bytes = s->words * sizeof(*s->blocked);

	if (first)
		memcpy(s->blocked, s->partition[partition], bytes);
	else
		np_bits_or(s->blocked, s->partition[partition], s->words);
}

/* One pass over the queue, up to queue_depth jobs. */
static int main_pass(struct np_sim *s)
{
	uint64_t failed = 0; /* bitmap of partitions that are blocked */
	uint32_t tested = 0;
	size_t started = 0;
	int rc = 0;

	s->main_again = false;
	for (size_t i = 0; i < s->n_queue; i++) {
		uint32_t job = s->queue[i];
		uint16_t p = s->job[job].partition;

		if (is_held(s, job))
			continue;
		if (tested++ >= s->input->scheduler->queue_depth) {
			s->main_again = started > 0;
			break;
		}
		if (failed >> p & 1)
			continue;
		rc = try_main(s, job, failed);
		if (rc < 0)
			break;
		started += (size_t)rc;
		if (rc)
			continue;
		block_partition(s, p, !failed);
		failed |= UINT64_C(1) << p;
		if (s->input->cluster->n_partitions == 1)
			break;
	}
	if (started)
		sweep_queue(s);
	return rc < 0 ? rc : 0;
}

/* ---- The plan of a backfill pass ---- */

/* Returns 0 or -ENOMEM; plan_free() in either case. */
static int plan_init(struct plan *a, size_t n_nodes,
		     uint32_t node_cpus, bool shared)
{
	*a = (struct plan){
		.n_nodes = n_nodes, .words = np_bits_words(n_nodes),
		.node_cpus = (uint16_t)node_cpus, .shared = shared,
	};
	a->mask = calloc(2 * a->words + 1, sizeof(*a->mask));
	a->part = malloc((a->words + 1) * sizeof(*a->part));
	if (!a->mask || !a->part)
		return -ENOMEM;
	a->saved = a->mask + a->words;
	return 0;
}

static void plan_free(struct plan *a)
{
	for (size_t i = 0; i < a->capacity; i++) {
		free(a->slot[i].idle);
		free(a->slot[i].cpus);
	}
	free(a->slot);
	free(a->mask);
	free(a->part);
}

/* Make sure that there is a slot with memory after those in use. */
static int add_slot(struct plan *a)
{
	struct slot s = { .from_sec = 0 };

	if (a->n < a->capacity)
		return 0;
	if (np_array_grow(&a->slot, a->capacity, sizeof(s)))
		return -ENOMEM;
	s.idle = malloc(a->words * sizeof(*s.idle));
	s.cpus = a->shared ? malloc(a->n_nodes * sizeof(*s.cpus)) : NULL;
	if (!s.idle || (a->shared && !s.cpus)) {
		free(s.idle);
		free(s.cpus);
		return -ENOMEM;
	}
	a->slot[a->capacity++] = s;
	return 0;
}

/* Set a slot to a time and what is free from then on. */
static void fill_slot(const struct plan *a, struct slot *s, int64_t from_sec,
		      const uint64_t *idle, const uint16_t *cpus,
		      uint32_t idle_nodes)
{
	s->from_sec = from_sec;
	s->idle_nodes = idle_nodes;
	s->shrinks = false;
	memcpy(s->idle, idle, a->words * sizeof(*idle));
	if (a->shared)
		memcpy(s->cpus, cpus, a->n_nodes * sizeof(*cpus));
}

/*
 * Begin a plan with one slot; cpus: NULL if nodes are not shared. 0 or -ENOMEM.
 */
static int plan_begin(struct plan *a, int64_t now_sec,
		      const uint64_t *idle, const uint16_t *cpus)
{
	a->n = 0;
	if (add_slot(a))
		return -ENOMEM;
	fill_slot(a, &a->slot[a->n++], now_sec, idle, cpus,
		  (uint32_t)np_bits_count(idle, a->words));
	return 0;
}

/* Divide slot i at a time within it; i + 1 is the second part. */
static int split_slot(struct plan *a, size_t i, int64_t at_sec)
{
	struct slot s;

	if (add_slot(a))
		return -ENOMEM;
	s = a->slot[a->n];
	memmove(a->slot + i + 2, a->slot + i + 1,
		(a->n - i - 1) * sizeof(s));
	a->n++;
	fill_slot(a, &s, at_sec, a->slot[i].idle, a->slot[i].cpus,
		  a->slot[i].idle_nodes);
	a->slot[i + 1] = s;
	return 0;
}

/* Index of the slot that contains a time. */
static size_t slot_at(const struct plan *a, int64_t sec)
{
	size_t low = 0, high = a->n;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (a->slot[middle].from_sec <= sec)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Nodes become free in one slot. */
static void release_nodes(const struct plan *a, struct slot *s,
			  const uint32_t *pos, size_t n, uint16_t cpus)
{
	for (size_t i = 0; i < n; i++) {
		if (a->shared) {
			s->cpus[pos[i]] = (uint16_t)(s->cpus[pos[i]] + cpus);
			if (s->cpus[pos[i]] < a->node_cpus)
				continue;
		}
		np_bits_set(s->idle, pos[i]);
		s->idle_nodes++;
	}
}

/*
 * Reserve shared nodes in one slot. Reservations are rounded to bf_resolution,
 * so some of the nodes may be in use by jobs that have not ended in that slot.
 */
static void reserve_nodes(struct slot *s, const uint32_t *pos, size_t n,
			  uint16_t cpus)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t *left = &s->cpus[pos[i]];

		*left = (uint16_t)(*left > cpus ? *left - cpus : 0);
		s->idle_nodes -= np_bits_test(s->idle, pos[i]);
		np_bits_clear(s->idle, pos[i]);
	}
}

/*
 * Nodes become free at a time that is not before the last slot. 0 or -ENOMEM.
 */
static int plan_release(struct plan *a, int64_t at_sec,
			const uint32_t *pos, size_t n, uint16_t cpus)
{
	if (a->slot[a->n - 1].from_sec < at_sec &&
	    split_slot(a, a->n - 1, at_sec))
		return -ENOMEM;
	release_nodes(a, &a->slot[a->n - 1], pos, n, cpus);
	return 0;
}

/* Collect nodes in a->part, by the words of a bitmap. Returns how many. */
static size_t make_parts(struct plan *a, const uint32_t *pos, size_t n)
{
	size_t low = a->words, high = 0, n_parts = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = pos[i] / NP_BITS_WORD;

		low = k < low ? k : low;
		high = k > high ? k : high;
	}
	for (size_t k = low; k <= high; k++)
		a->mask[k] = 0;
	for (size_t i = 0; i < n; i++)
		np_bits_set(a->mask, pos[i]);
	for (size_t k = low; k <= high; k++)
		if (a->mask[k])
			a->part[n_parts++] = (struct part){
				.bits = a->mask[k], .word = (uint32_t)k,
				.n = np_bits_popcount(a->mask[k]),
			};
	return n_parts;
}

/*
 * Reserve whole nodes in the slots first to end - 1. As a plan has many slots,
 * this is done by words.
 */
static void reserve_whole(struct plan *a, size_t first, size_t end,
			  const uint32_t *pos, size_t n)
{
	size_t n_parts = make_parts(a, pos, n);

	for (; first < end; first++) {
		struct slot *s = &a->slot[first];

		for (size_t i = 0; i < n_parts; i++) {
			const struct part *p = &a->part[i];
			uint64_t idle = s->idle[p->word] & p->bits;

			/* Mostly all of them are idle. */
			s->idle_nodes -= idle == p->bits ? p->n :
					 np_bits_popcount(idle);
			s->idle[p->word] &= ~p->bits;
		}
	}
}

/* Reserve nodes from from_sec to to_sec. 0 or -ENOMEM. */
static int plan_reserve(struct plan *a, int64_t from_sec,
			int64_t to_sec, const uint32_t *pos, size_t n,
			uint16_t cpus)
{
	size_t first = slot_at(a, from_sec), end;

	if (a->slot[first].from_sec < from_sec) {
		if (split_slot(a, first, from_sec))
			return -ENOMEM;
		first++;
	}
	a->slot[first].shrinks = true;
	end = slot_at(a, to_sec);
	if (a->slot[end].from_sec < to_sec) {
		if (split_slot(a, end, to_sec))
			return -ENOMEM;
		end++;
	}
	if (!a->shared)
		reserve_whole(a, first, end, pos, n);
	for (; a->shared && first < end; first++)
		reserve_nodes(&a->slot[first], pos, n, cpus);
	return 0;
}

/* Whether a job needs nodes that are entirely free. */
static bool needs_idle(const struct plan *a, const struct demand *d)
{
	return !a->shared || d->cpus == a->node_cpus;
}

/* Keep only those nodes in mask[] that have enough free CPUs in a slot. */
static void keep_free_in_slot(const struct plan *a, const struct slot *s,
			      const struct demand *d, uint64_t *mask)
{
	if (needs_idle(a, d)) {
		for (size_t k = 0; k < a->words; k++)
			mask[k] &= s->idle[k];
		return;
	}
	NP_BITS_EACH(i, mask, a->words)
		if (s->cpus[i] < d->cpus)
			np_bits_clear(mask, i);
}

/*
 * Quick test: index of the first slot from i to end_sec in which certainly too
 * few nodes are free; a->n: none. Nodes that are shared are not counted.
 */
static size_t first_obstacle(const struct plan *a, size_t i, int64_t end_sec,
			     const struct demand *d)
{
	for (; i < a->n && a->slot[i].from_sec < end_sec; i++)
		if (needs_idle(a, d) && a->slot[i].idle_nodes < d->nodes)
			return i;
	return a->n;
}

/* Whether a->mask has enough nodes; most jobs need few of them. */
static bool mask_is_enough(const struct plan *a, const struct demand *d)
{
	size_t n = 0;

	for (size_t k = 0; k < a->words && n < d->nodes; k++)
		if (a->mask[k]) /* mostly few nodes are free */
			n += np_bits_popcount(a->mask[k]);
	return n >= d->nodes;
}

/*
 * Set a->mask to the candidates that are free from slot i to end_sec. Returns
 * the slot with which they become too few; a->n: they are enough. Unless a
 * reservation begins in it, a slot has all free nodes of the one before, and
 * need not be checked.
 */
static size_t mask_window(struct plan *a, size_t i, int64_t end_sec,
			  const struct demand *d)
{
	size_t first = i;

	memcpy(a->mask, d->candidates, a->words * sizeof(*a->mask));
	for (; i < a->n && a->slot[i].from_sec < end_sec; i++) {
		if (i > first && !a->slot[i].shrinks)
			continue;
		keep_free_in_slot(a, &a->slot[i], d, a->mask);
		if (!mask_is_enough(a, d))
			return i;
	}
	return a->n;
}

/*
 * Set a->mask to those nodes of a->saved that are free in slot i. Returns
 * whether they are enough.
 */
static bool is_enough_with(struct plan *a, size_t i, const struct demand *d)
{
	memcpy(a->mask, a->saved, a->words * sizeof(*a->mask));
	keep_free_in_slot(a, &a->slot[i], d, a->mask);
	return mask_is_enough(a, d);
}

/*
 * Index of the first slot from which on enough nodes are free until slot last,
 * where too few were. Every window that begins earlier contains slots that
 * together have too few.
 */
static size_t next_window(struct plan *a, size_t last, const struct demand *d)
{
	size_t good = last + 1, bad;

	memcpy(a->saved, d->candidates, a->words * sizeof(*a->mask));
	do {
		/* From slot bad to good - 1, free nodes only increase. */
		for (bad = good - 1; bad && !a->slot[bad].shrinks;)
			bad--;
		if (!is_enough_with(a, bad, d))
			break;
		memcpy(a->saved, a->mask, a->words * sizeof(*a->mask));
		good = bad;
	} while (good);
	while (good - bad > 1) {
		size_t middle = (bad + good) / 2;

		if (is_enough_with(a, middle, d))
			good = middle;
		else
			bad = middle;
	}
	return good;
}

/*
 * Find the earliest time, from from_sec to last_sec, at which a demand can be
 * met. a->mask is then all nodes that meet it. -1: there is none.
 */
static int64_t plan_find(struct plan *a, const struct demand *d,
			 int64_t from_sec, int64_t last_sec)
{
	size_t i = slot_at(a, from_sec);

	while (i < a->n) {
		int64_t start_sec = a->slot[i].from_sec > from_sec ?
			a->slot[i].from_sec : from_sec;
		size_t bad;

		if (start_sec > last_sec)
			return -1;
		bad = first_obstacle(a, i, start_sec + d->sec, d);
		if (bad < a->n) {
			i = bad + 1;
			continue;
		}
		bad = mask_window(a, i, start_sec + d->sec, d);
		if (bad == a->n)
			return start_sec;
		i = next_window(a, bad, d);
	}
	return -1;
}

/* ---- The backfill pass ---- */

/*
 * Index after the last job that may start now. Jobs after it need no plan, as
 * nothing depends on their reservations.
 */
static size_t last_candidate(const struct np_sim *s)
{
	uint32_t tested = 0;
	size_t last = 0;

	for (size_t i = 0; i < s->n_queue; i++) {
		if (is_held(s, s->queue[i]))
			continue;
		if (tested++ >= s->input->scheduler->bf_max_job_test)
			break;
		if (!too_few_free(s, &s->job[s->queue[i]]))
			last = i + 1;
	}
	return last;
}

/* Begin the plan with the expected ends of the running jobs. */
static int make_plan(struct np_sim *s)
{
	int64_t end_sec = s->now + s->input->scheduler->bf_window_sec;
	int rc = plan_begin(&s->plan, s->now, s->idle, s->cpus);

	for (size_t i = 0; !rc && i < s->n_expected; i++) {
		const struct np_running *r = s->running[s->expected[i]];

		if (r->expected_sec > end_sec)
			break;
		rc = plan_release(&s->plan,
				  r->expected_sec > s->now ?
				  r->expected_sec : s->now + 1,
				  r->pos, r->n_nodes, r->cpus);
	}
	return rc;
}

/* The last multiple of step that is not after sec. */
static int64_t round_down(int64_t sec, int64_t step)
{
	int64_t rest = sec % step;

	return sec - (rest < 0 ? rest + step : rest);
}

/* Reserve the nodes in s->chosen for a job, rounded to step seconds. */
static int reserve_for(struct np_sim *s, const struct np_sim_job *j,
		       int64_t start_sec, int64_t step)
{
	int64_t from = round_down(start_sec, step);
	int64_t to = round_down(start_sec + j->limit_sec + step - 1, step);

	return plan_reserve(&s->plan, from > s->now ? from : s->now,
			    to, s->chosen, j->nodes, cpus_of(s, j));
}

/*
 * Earliest time worth trying for a job. If another job of this pass needed no
 * more than this one, of the same nodes, this one cannot start earlier: in the
 * course of a pass, nodes are only reserved.
 */
static int64_t earliest_sec(const struct np_sim *s, const struct np_sim_job *j)
{
	const size_t n = s->n_found < NP_SIM_FOUND ? s->n_found : NP_SIM_FOUND;
	int64_t sec = s->now;

	for (size_t i = 0; i < n; i++) {
		const struct np_sim_job *o = s->found[i].job;

		if (o->partition == j->partition && o->nodes <= j->nodes &&
		    cpus_of(s, o) <= cpus_of(s, j) &&
		    o->limit_sec <= j->limit_sec && s->found[i].sec > sec)
			sec = s->found[i].sec;
	}
	return sec;
}

/* What a job needs. The candidates are in s->mask, see find_candidates(). */
static struct demand demand_of(const struct np_sim *s,
			       const struct np_sim_job *j)
{
	return (struct demand){
		.candidates = s->mask, .nodes = j->nodes,
		.cpus = cpus_of(s, j), .sec = j->limit_sec,
	};
}

/* When a job can start; INT64_MAX: not within the window. */
static int64_t find_start(struct np_sim *s, uint32_t job)
{
	int64_t end_sec = s->now + s->input->scheduler->bf_window_sec, at;
	const struct np_sim_job *j = &s->job[job];
	struct demand d = demand_of(s, j);

	at = earliest_sec(s, j);
	if (at > end_sec)
		return INT64_MAX;
	find_candidates(s, job);
	at = plan_find(&s->plan, &d, at, end_sec);
	if (at < 0)
		at = INT64_MAX;
	if (at > s->now && !(s->hold && s->hold[job]))
		s->found[s->n_found++ % NP_SIM_FOUND] =
			(struct np_sim_found){ j, at };
	return at;
}

/* Start a job, or reserve nodes for it. */
static int backfill(struct np_sim *s, uint32_t job, size_t *started)
{
	const struct np_sim_scheduler *c = s->input->scheduler;
	const struct np_sim_job *j = &s->job[job];
	int64_t at = find_start(s, job);
	int rc;

	if (at == INT64_MAX)
		return 0;
	choose_nodes(s, s->plan.mask, j->nodes);
	rc = reserve_for(s, j, at, at == s->now ? 1 : c->bf_resolution_sec);
	if (rc || at > s->now)
		return rc;
	++*started;
	return start_job(s, job, NP_SIM_BACKFILL);
}

/* Whether a job could start now, if nothing else were reserved. */
static bool may_start(struct np_sim *s, uint32_t job)
{
	const struct np_sim_job *j = &s->job[job];
	const struct demand d = demand_of(s, j);
	int64_t end_sec = s->now + j->limit_sec;
	struct plan *a = &s->plan;

	if (is_held(s, job) || too_few_free(s, j) ||
	    earliest_sec(s, j) > s->now ||
	    first_obstacle(a, 0, end_sec, &d) < a->n)
		return false;
	find_candidates(s, job);
	return mask_window(a, 0, end_sec, &d) == a->n;
}

/* Index of the first job from i on that may start in this pass; last: none. */
static size_t next_startable(struct np_sim *s, size_t i, size_t last)
{
	while (i < last && !may_start(s, s->queue[i]))
		i++;
	return i;
}

/*
 * One pass over the queue, as far as any job may still start. In the course
 * of a pass nodes are only reserved, so a job that could not start once need
 * not be tried again.
 */
static int backfill_pass(struct np_sim *s)
{
	size_t last = last_candidate(s), started = 0, next = 0;
	int rc;

	s->backfill_changed = false;
	if (!last)
		return 0;
	rc = make_plan(s);
	s->n_found = 0;
	for (size_t i = 0; !rc && i < last; i++) {
		if (i > next || i % RETRY_JOBS == 0)
			next = next_startable(s, i > next ? i : next, last);
		if (next == last)
			break;
		if (!is_held(s, s->queue[i]))
			rc = backfill(s, s->queue[i], &started);
	}
	if (started) {
		sweep_queue(s);
		s->main_again = true;
	}
	return rc;
}

/* Time of the next backfill pass; INT64_MAX: none, as nothing has changed. */
static int64_t backfill_due(const struct np_sim *s)
{
	int64_t step = s->input->scheduler->bf_interval_sec, sec;

	if (!step || !s->backfill_changed || !s->n_queue)
		return INT64_MAX;
	sec = round_down(s->now + step - 1, step);
	return sec > s->backfilled_sec ? sec : s->backfilled_sec + step;
}

/* Make a backfill pass if one is due now. */
static int backfill_if_due(struct np_sim *s)
{
	if (backfill_due(s) > s->now)
		return 0;
	s->backfilled_sec = s->now;
	return backfill_pass(s);
}

/* ---- The simulation ---- */

/* The next second in which something happens; INT64_MAX: never. */
static int64_t next_event(const struct np_sim *s)
{
	const int64_t sec[] = {
		s->submitted < s->input->n ? s->job[s->submitted].submit_sec :
					   INT64_MAX,
		heap_first(&s->ends), heap_first(&s->eligible),
		heap_first(&s->cancels), backfill_due(s),
		placing_due(s),
	};
	int64_t next = INT64_MAX;

	if (s->main_again)
		return s->now + 1;
	for (size_t i = 0; i < NP_ARRAY_SIZE(sec); i++)
		if (sec[i] < next)
			next = sec[i];
	if (next != INT64_MAX && fair_share_due(s) < next)
		next = fair_share_due(s);
	return next > s->now || next == INT64_MAX ? next : s->now + 1;
}

/* Everything that happens in one second, in the order of np_simulate.h. */
static int simulate_second(struct np_sim *s, struct np_err *err)
{
	int rc = end_jobs(s);

	if (!rc)
		rc = cancel_jobs(s);
	if (!rc)
		rc = submit_jobs(s, err);
	if (!rc)
		update_fair_share(s);
	if (!rc)
		rc = placing_decide(s, err);
	if (!rc)
		rc = main_pass(s);
	if (!rc)
		rc = backfill_if_due(s);
	return rc;
}

/* Go from event to event until all jobs have ended. */
static int simulate_all(struct np_sim *s, struct np_err *err)
{
	const struct np_sim_input *input = s->input;
	unsigned events = 0;
	int rc = 0;

	if (input->n)
		s->now = input->job[0].submit_sec;
	s->counts->first_sec = s->counts->last_sec = s->now;
	s->backfilled_sec = s->now - 1;
	while (!rc && s->now != INT64_MAX && s->counts->ended < input->n) {
		rc = simulate_second(s, err);
		if (input->go_on && ++events % GO_ON_EVENTS == 0 &&
		    !input->go_on(input->arg, s->counts->ended)) {
			s->counts->stopped = true;
			break;
		}
		s->now = next_event(s);
	}
	return rc;
}

/* Check a job of the input. 0 or -EINVAL with err. */
static int check_job(const struct np_sim_input *input, size_t i,
		     struct np_err *err)
{
	const struct np_sim_job *j = &input->job[i];

	if (j->submit_sec < 0 || j->submit_sec > NP_SIM_MAX_SEC ||
	    (i && j->submit_sec < input->job[i - 1].submit_sec))
		return np_errf(err, -EINVAL, "job %zu: submitted at %lld s; "
			       "expected 0 or more, in order", i,
			       (long long)j->submit_sec);
	if (!j->run_sec || !j->limit_sec || !j->nodes ||
	    j->limit_sec > NP_SIM_MAX_LIMIT_SEC ||
	    j->run_sec > NP_SIM_MAX_LIMIT_SEC)
		return np_errf(err, -EINVAL, "job %zu: %u nodes for %u s, limit"
			       " %u s; expected 1 to %u each", i, j->nodes,
			       j->run_sec, j->limit_sec, NP_SIM_MAX_LIMIT_SEC);
	if (j->cpus > input->cluster->cpus)
		return np_errf(err, -EINVAL, "job %zu: %u CPUs of a node that "
			       "has %u", i, j->cpus, input->cluster->cpus);
	if (input->scheduler->fair_period_sec && j->user >= NP_SIM_MAX_JOBS)
		return np_errf(err, -EINVAL, "job %zu: user %u; with fair share "
			       "expected less than %d", i, j->user,
			       NP_SIM_MAX_JOBS);
	if (input->assoc && j->user >= input->n_assocs)
		return np_errf(err, -EINVAL, "job %zu: user %u of %zu in the "
			       "tree of shares", i, j->user, input->n_assocs);
	if (j->after != NP_SIM_NO_JOB && j->after >= i)
		return np_errf(err, -EINVAL, "job %zu: it waits for job %u, "
			       "which is not an earlier one", i, j->after);
	if (j->partition >= input->cluster->n_partitions)
		return np_errf(err, -EINVAL, "job %zu: partition %u of %zu", i,
			       j->partition, input->cluster->n_partitions);
	if (j->profile < NP_PROFILE_UNKNOWN ||
	    (input->slowdowns && j->profile >= (int64_t)input->slowdowns->n))
		return np_errf(err, -EINVAL, "job %zu: no profile %d", i,
			       j->profile);
	return 0;
}

/* Check the tree of shares. 0 or -EINVAL with err. */
static int check_shares(const struct np_sim_input *input, struct np_err *err)
{
	for (size_t i = 0; input->assoc && i < input->n_assocs; i++) {
		uint32_t at = input->assoc[i].parent, depth = 1;

		for (; at < i && depth < NP_SIM_MAX_DEPTH; depth++)
			at = input->assoc[at].parent;
		if (at != NP_SIM_NO_PARENT)
			return np_errf(err, -EINVAL, "share %zu: parent %u is "
				       "not an earlier one, or has more than %d "
				       "levels above it", i,
				       input->assoc[i].parent,
				       NP_SIM_MAX_DEPTH);
	}
	return 0;
}

/* Check the input. 0 or -EINVAL with err. */
static int check_input(const struct np_sim_input *input, struct np_err *err)
{
	const struct np_sim_cluster *c = input->cluster;
	int rc = 0;

	if (!c->n_partitions || c->n_partitions > NP_SIM_MAX_PARTITIONS ||
	    !c->cpus || c->cpus > NP_SIM_MAX_CPUS || !c->leaves->n_nodes)
		return np_errf(err, -EINVAL, "cluster: %zu partitions, %u CPUs "
			       "a node, %zu nodes; expected 1 to %d, 1 to %d, "
			       "and 1 or more", c->n_partitions, c->cpus,
			       c->leaves->n_nodes, NP_SIM_MAX_PARTITIONS,
			       NP_SIM_MAX_CPUS);
	if (!input->scheduler->bf_resolution_sec)
		return np_errf(err, -EINVAL, "bf_resolution 0 s; expected 1 or "
			       "more");
	if (input->policy && !input->policy->interval_sec)
		return np_errf(err, -EINVAL, "PlacementInterval 0 s; expected "
			       "1 or more");
	if (input->n > NP_SIM_MAX_JOBS)
		return np_errf(err, -EINVAL, "%zu jobs; expected at most %d",
			       input->n, NP_SIM_MAX_JOBS);
	if (input->known &&
	    (!input->slowdowns || input->known->n != input->slowdowns->n))
		return np_errf(err, -EINVAL, "placement knows %zu profiles of "
			       "%zu", input->known->n,
			       input->slowdowns ? input->slowdowns->n : 0);
	rc = check_shares(input, err);
	for (size_t i = 0; !rc && i < input->n; i++)
		rc = check_job(input, i, err);
	return rc;
}

/* Convert the partitions to bitmaps by position, and count their nodes. */
static void make_partitions(struct np_sim *s)
{
	const struct np_sim_cluster *c = s->input->cluster;

	for (size_t i = 0; i < c->n_partitions; i++) {
		for (size_t node = 0; node < s->leaves->n_nodes; node++) {
			uint32_t pos = s->leaves->place[node];

			if (!np_bits_test(c->partition[i], node))
				continue;
			np_bits_set(s->partition[i], pos);
			s->in_partitions[pos] |= UINT64_C(1) << i;
			s->partition_size[i]++;
		}
		s->partition_idle[i] = s->partition_size[i];
	}
}

/* Allocate what is per node and per leaf; all nodes are idle at first. */
static int make_nodes(struct np_sim *s)
{
	const struct np_sim_cluster *c = s->input->cluster;
	size_t n = s->leaves->n_nodes;
	uint64_t *sets;

	s->words = np_bits_words(n);
	sets = calloc((3 + c->n_partitions) * s->words, sizeof(*sets));
	s->idle = sets;
	s->in_partitions = calloc(n, sizeof(*s->in_partitions));
	s->leaf_most = s->leaves->largest;
	if (n - s->leaves->first[s->leaves->n] > s->leaf_most)
		s->leaf_most = n - s->leaves->first[s->leaves->n];
	s->leaf_at = calloc(n, sizeof(*s->leaf_at));
	s->leaf_nodes = calloc(s->leaves->n + 1, sizeof(*s->leaf_nodes));
	s->leaf_list = calloc(s->leaves->n + 1, sizeof(*s->leaf_list));
	s->leaf_order = calloc(s->leaves->n + 1, sizeof(*s->leaf_order));
	s->leaf_first = calloc(s->leaf_most + 1, sizeof(*s->leaf_first));
	s->chosen = calloc(n, sizeof(*s->chosen));
	s->leaf_jobs = calloc(s->leaves->n + 1, sizeof(*s->leaf_jobs));
	s->cpus = s->shared ? calloc(n, sizeof(*s->cpus)) : NULL;
	if (!sets || !s->in_partitions || !s->leaf_nodes || !s->chosen ||
	    !s->leaf_at || !s->leaf_list || !s->leaf_order || !s->leaf_first ||
	    !s->leaf_jobs || (s->shared && !s->cpus))
		return -ENOMEM;
	s->mask = sets + s->words;
	s->blocked = s->mask + s->words;
	for (size_t i = 0; i < c->n_partitions; i++)
		s->partition[i] = s->blocked + (i + 1) * s->words;
	for (size_t i = 0; i < n; i++) {
		uint32_t leaf = s->leaves->leaf[s->leaves->node[i]];

		s->leaf_at[i] = leaf == NP_NO_LEAF ? (uint32_t)s->leaves->n :
						     leaf;
		np_bits_set(s->idle, i);
		if (s->shared)
			s->cpus[i] = (uint16_t)c->cpus;
	}
	s->free_cpus = (uint64_t)n * c->cpus;
	make_partitions(s);
	return plan_init(&s->plan, n, c->cpus, s->shared);
}

/* Allocate what is per job, and list the jobs that depend on each other. */
static int make_jobs(struct np_sim *s)
{
	size_t n = s->input->n;

	s->running = calloc(n + 1, sizeof(*s->running));
	s->ends.position = calloc(n + 1, sizeof(*s->ends.position));
	s->followers = malloc((n + 1) * sizeof(*s->followers));
	s->next_follower = malloc((n + 1) * sizeof(*s->next_follower));
	if (!s->running || !s->ends.position || !s->followers ||
	    !s->next_follower)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		s->followers[i] = NP_SIM_NO_JOB;
	for (uint32_t i = (uint32_t)n; i--;) {
		uint32_t after = s->job[i].after;

		s->outcome[i] = (struct np_sim_outcome){
			.eligible_sec = -1, .start_sec = -1, .end_sec = -1,
		};
		if (after == NP_SIM_NO_JOB)
			continue;
		s->next_follower[i] = s->followers[after];
		s->followers[after] = i;
	}
	return 0;
}

/* The tree of shares: depths, and the part that each has of its siblings'. */
static int make_branches(struct np_sim *s)
{
	const struct np_sim_assoc *assoc = s->input->assoc;
	double *sum = calloc(s->n_users + 1, sizeof(*sum));

	s->branch = calloc(s->n_users + 1, sizeof(*s->branch));
	if (!sum || !s->branch) {
		free(sum);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->n_users; i++) {
		bool below = assoc[i].parent != NP_SIM_NO_PARENT;

		if (below)
			s->branch[i].depth = s->branch[assoc[i].parent].depth +
					     1;
		if (assoc[i].shares != NP_SIM_SHARES_OF_PARENT)
			sum[below ? assoc[i].parent : s->n_users] +=
				assoc[i].shares;
	}
	for (size_t i = 0; i < s->n_users; i++)
		s->branch[i].part = assoc[i].shares /
			sum[assoc[i].parent != NP_SIM_NO_PARENT ?
			    assoc[i].parent : s->n_users];
	free(sum);
	return 0;
}

/* Allocate what is per user. */
static int make_usage(struct np_sim *s)
{
	uint32_t half_life = s->input->scheduler->fair_half_life_sec;
	uint32_t period = s->input->scheduler->fair_period_sec;

	if (!period)
		return 0;
	s->n_users = s->input->assoc ? s->input->n_assocs : 0;
	for (size_t i = 0; i < s->input->n; i++)
		if (s->n_users <= s->job[i].user)
			s->n_users = (size_t)s->job[i].user + 1;
	s->usage = calloc(s->n_users + 1, sizeof(*s->usage));
	s->by_usage = calloc(s->n_users + 1, sizeof(*s->by_usage));
	if (!s->usage || !s->by_usage)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_users; i++)
		s->by_usage[i] = i;
	s->decay = UINT64_C(1) << 32;
	if (half_life)
		s->decay = (uint64_t)(0x1p32 * exp2(-(double)period /
						    half_life));
	return s->input->assoc ? make_branches(s) : 0;
}

/* Free everything; called after errors as well. */
static void free_simulation(struct np_sim *s)
{
	placing_free(s);
	plan_free(&s->plan);
	for (size_t i = 0; s->running && i < s->input->n; i++)
		if (s->running[i])
			release_running(s, (uint32_t)i);
	for (size_t i = 0; s->leaf_jobs && i < s->leaves->n; i++)
		free(s->leaf_jobs[i].at);
	free(s->leaf_jobs);
	free(s->running);
	free(s->usage);
	free(s->by_usage);
	free(s->branch);
	free(s->followers);
	free(s->next_follower);
	free(s->ends.at);
	free(s->ends.position);
	free(s->eligible.at);
	free(s->cancels.at);
	free(s->expected);
	free(s->queue);
	free(s->idle);
	free(s->in_partitions);
	free(s->leaf_at);
	free(s->leaf_nodes);
	free(s->leaf_list);
	free(s->leaf_order);
	free(s->leaf_first);
	free(s->chosen);
	free(s->cpus);
}

int np_simulate(const struct np_sim_input *input,
		struct np_sim_outcome *outcome, struct np_sim_counts *counts,
		struct np_err *err)
{
	struct np_sim s = {
		.input = input, .job = input->job,
		.leaves = input->cluster->leaves, .outcome = outcome,
		.counts = counts,
	};
	int rc = check_input(input, err);

	if (rc)
		return rc;
	*counts = (struct np_sim_counts){ .ended = 0 };
	for (size_t i = 0; i < input->n; i++)
		s.shared |= shares_nodes(&s, &input->job[i]);
	rc = make_nodes(&s);
	if (!rc)
		rc = make_jobs(&s);
	if (!rc)
		rc = make_usage(&s);
	if (!rc && input->policy && input->policy->mode != NP_MODE_OFF &&
	    input->slowdowns)
		rc = placing_new(&s);
	if (!rc)
		rc = simulate_all(&s, err);
	/* Expected ends of jobs that are still running do not count. */
	for (size_t i = 0; s.running && i < input->n; i++)
		if (s.running[i] && !s.running[i]->completing)
			outcome[i].end_sec = -1;
	free_simulation(&s);
	return rc == -ENOMEM ? np_errf(err, rc, "simulation: out of memory") :
			       rc;
}

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
 *   more (sim.recent).
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
#define RETRY_JOBS 4  /* jobs after which backfill asks again who may start */
#define MAX_RECENT 32 /* results of a backfill pass that are reused */
#define FULL_SPEED 1048576 /* progress per second of a job that runs alone */

/* The load that a running job suffers on one of its leaves. */
struct leaf_load {
	uint32_t leaf;
	uint32_t load;
};

struct running {
	uint32_t *pos; /* positions of its nodes, ascending */
	uint32_t n_nodes;
	uint16_t cpus;	      /* on each */
	unsigned touch;	      /* NP_TOUCH_... */
	bool completing;      /* it has ended but still holds its nodes */
	int64_t expected_sec; /* its end according to its time limit */
	int64_t charged_sec;  /* until when its user was charged */
	/* Work left at since_sec; it then decreases by speed per second. */
	int64_t left, since_sec;
	uint32_t speed, load; /* load: the worst of all its leaves */
	/* Its leaves; none if it slows no job and is slowed by none. */
	struct leaf_load *leaves;
	size_t n_leaves;
};

/* Placement's decision for a pending job. */
struct hold {
	enum np_prior prior;
	int64_t until_sec;
	double held_sec;
	uint64_t *leaves; /* leaves open to it */
	uint64_t *nodes;  /* nodes on these and on no leaf, by position */
};

/* A heap of events by time; of equal times, by job. */
struct heap {
	struct event {
		int64_t sec;
		uint32_t job;
	} * at;
	size_t n, capacity;
	uint32_t *position; /* of each job in the heap; NULL: not needed */
};

/* Running jobs on a leaf that slow others or are slowed by others. */
struct leaf_jobs {
	struct leaf_job {
		uint32_t job;
		uint32_t index; /* of this leaf in running.leaves */
	} * at;
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
	uint64_t *idle; /* bitmap of nodes that are entirely free */
	uint16_t *cpus; /* free on each node; NULL: nodes are not shared */
};

struct sim;

/* Jobs in an order. */
struct job_list {
	uint32_t *at;
	size_t n, capacity;
	bool (*before)(const struct sim *sim, uint32_t a, uint32_t b);
};

struct sim {
	const struct np_sim_input *input;
	const struct np_sim_job *job;
	const struct np_leaves *leaves;
	struct np_slowdowns *known; /* what placement decides with */
	struct np_sim_outcome *outcome;
	struct np_sim_counts *counts;
	int64_t now;
	bool shared; /* some jobs share nodes */

	/* Nodes, by position. */
	size_t words;	    /* of a bitmap of nodes */
	uint64_t *idle;	    /* bitmap of nodes without any job */
	uint16_t *cpus;	    /* free on each; NULL: nodes are not shared */
	uint64_t free_cpus; /* on all nodes together */
	uint64_t *partition[NP_SIM_MAX_PARTITIONS];
	uint32_t partition_size[NP_SIM_MAX_PARTITIONS];
	uint32_t partition_idle[NP_SIM_MAX_PARTITIONS];
	uint64_t *in_partitions;  /* of each node: a bit per partition */
	uint64_t *mask, *blocked; /* scratch: bitmaps of nodes */
	uint32_t *leaf_at;	  /* leaf of each; leaves->n: none */

	/* Scratch of select_nodes(). Nodes without a leaf count as a leaf. */
	uint32_t *leaf_nodes; /* per leaf: its nodes that can be chosen */
	uint32_t *leaf_list; /* the leaves that have any, n_leaf_list of them */
	size_t n_leaf_list;
	uint32_t *chosen; /* positions or nodes of one job */
	uint32_t n_chosen;

	/* Jobs. */
	size_t submitted;      /* this many, in their order, were submitted */
	struct job_list queue; /* pending and eligible, by precedence */
	struct job_list expected; /* running, by expected_sec */
	struct running **running; /* per job; NULL: not running */
	struct heap ends, eligible, cancels;
	/* Lists of the jobs that depend on each job. */
	uint32_t *followers, *next_follower;
	struct leaf_jobs *leaf_jobs; /* per leaf */
	/* The plan of this backfill pass. */
	struct slot *slot;
	size_t n_slots, slot_room; /* slots in use; slots with memory */
	uint64_t *found;	   /* nodes that plan_find() found; scratch */
	uint64_t *saved;	   /* scratch */
	/* Scratch: some nodes, by the words of a bitmap. */
	struct part {
		uint64_t bits;
		uint32_t word, n; /* n: number of bits */
	} * part;
	/* The latest jobs that this backfill pass found unable to start now,
	   and when they can. */
	struct start_time {
		const struct np_sim_job *job;
		int64_t sec;
	} recent[MAX_RECENT];
	size_t n_recent;
	/* Fair share, per user; NULL: none. */
	struct usage {
		uint64_t cpu_sec; /* decayed */
		uint32_t rank;	  /* users with less come first */
	} * usage;
	uint32_t *by_usage; /* users, in the order of their ranks */
	struct branch {	    /* per entry of the tree of shares; NULL: none */
		uint32_t depth;
		double part;	  /* its shares, of those of all its siblings */
		double level;	  /* of siblings, the highest comes first */
		uint64_t cpu_sec; /* usage of all users below it */
	} * branch;
	size_t n_users;
	uint64_t decay; /* in each period, in units of 2^-32 */

	bool main_again;	/* another main pass may start further jobs */
	int64_t backfilled_sec; /* last pass, or before the first job */
	bool backfill_changed;	/* anything changed since then */

	/* Per job; NULL: no decision written. NULL: no placement. */
	struct hold **hold;
	struct {
		struct np_placement *placement; /* last decision, or NULL */
		/* Nodes of each partition, as sets of its snapshot. */
		uint32_t handle[NP_SIM_MAX_PARTITIONS];
		int64_t last_sec;  /* of the last decision */
		bool changed;	   /* jobs changed since the last decision */
		bool restricts;	   /* it restricts or holds at least one job */
		size_t n_relevant; /* pending jobs that are not inert */
	} placing;
};

/* Whether, by this table, a job neither slows others nor is slowed by them. */
static bool is_inert(const struct sim *sim, const struct np_slowdowns *table,
		     uint32_t job)
{
	int32_t profile = sim->job[job].profile;

	return !table || profile < 0 || table->profile[profile].inert;
}

/* Rank of a job's user by fair share; 0 without fair share. */
static uint32_t rank_of(const struct sim *sim, const struct np_sim_job *spec)
{
	return sim->usage ? sim->usage[spec->user].rank : 0;
}

static void schedule_end(struct sim *sim, uint32_t job);

/* ---- How running jobs slow each other ---- */

/* Progress per second under a load. */
static uint32_t speed_of(uint32_t load)
{
	double factor = exp(-(double)load / NP_SLOWDOWNS_UNIT);

	return (uint32_t)fmax(1, rint(FULL_SPEED * factor));
}

/* Change the worst load of a running job from now on. */
static void set_load(struct sim *sim, uint32_t job, uint32_t load)
{
	struct running *run = sim->running[job];

	if (load == run->load)
		return;
	run->left -= run->speed * (sim->now - run->since_sec);
	run->since_sec = sim->now;
	run->load = load;
	run->speed = speed_of(load);
	sim->outcome[job].slowed |= load > 0;
	schedule_end(sim, job);
}

/* The largest load of a job on any of its leaves. */
static uint32_t worst_load(const struct running *run)
{
	uint32_t worst = 0;

	for (size_t i = 0; i < run->n_leaves; i++)
		if (run->leaves[i].load > worst)
			worst = run->leaves[i].load;
	return np_slowdowns_clamp(worst);
}

/* Add or remove the load of another job on the leaf index of a running job. */
static void change_load(struct sim *sim, uint32_t job, uint32_t index,
			uint32_t load, bool added)
{
	struct running *run = sim->running[job];

	if (!load)
		return;
	if (added)
		run->leaves[index].load += load;
	else
		run->leaves[index].load -= load;
	set_load(sim, job, worst_load(run));
}

/* Load of a running job because of another one on the same leaf. */
static uint32_t pair_load(const struct sim *sim, uint32_t victim, uint32_t co)
{
	return np_slowdowns_pair(sim->input->slowdowns,
				 (uint32_t)sim->job[victim].profile,
				 sim->running[victim]->touch,
				 (uint32_t)sim->job[co].profile,
				 sim->running[co]->touch);
}

/* List the leaves that a running job is on. 0 or -ENOMEM. */
static int make_leaf_loads(struct sim *sim, struct running *run)
{
	run->leaves = calloc(run->n_nodes, sizeof(*run->leaves));
	if (!run->leaves)
		return -ENOMEM;
	/* Positions are in order of leaves. */
	for (uint32_t i = 0; i < run->n_nodes; i++) {
		uint32_t leaf = sim->leaf_at[run->pos[i]];

		if (leaf == sim->leaves->n ||
		    (run->n_leaves &&
		     run->leaves[run->n_leaves - 1].leaf == leaf))
			continue;
		run->leaves[run->n_leaves++].leaf = leaf;
	}
	if (run->n_leaves > 1)
		run->touch |= NP_TOUCH_UPLINK;
	return 0;
}

/* A job starts on its leaves: adjust the speed of all jobs there. */
static int enter_leaves(struct sim *sim, uint32_t job)
{
	struct running *run = sim->running[job];

	if (sim->input->rigid || is_inert(sim, sim->input->slowdowns, job))
		return 0;
	if (make_leaf_loads(sim, run))
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_leaves; i++) {
		struct leaf_jobs *jobs = &sim->leaf_jobs[run->leaves[i].leaf];

		if (np_array_reserve(&jobs->at, &jobs->capacity, jobs->n + 1,
				     sizeof(*jobs->at)))
			return -ENOMEM;
		for (size_t k = 0; k < jobs->n; k++) {
			uint32_t other = jobs->at[k].job;

			change_load(sim, other, jobs->at[k].index,
				    pair_load(sim, other, job), true);
			run->leaves[i].load += pair_load(sim, job, other);
		}
		jobs->at[jobs->n++] = (struct leaf_job){ job, i };
	}
	set_load(sim, job, worst_load(run));
	return 0;
}

/* A job ends: adjust the speed of the jobs on its leaves. */
static void leave_leaves(struct sim *sim, uint32_t job)
{
	const struct running *run = sim->running[job];

	for (size_t i = 0; i < run->n_leaves; i++) {
		struct leaf_jobs *jobs = &sim->leaf_jobs[run->leaves[i].leaf];
		size_t k = 0;

		while (jobs->at[k].job != job)
			k++;
		jobs->at[k] = jobs->at[--jobs->n];
		for (k = 0; k < jobs->n; k++)
			change_load(sim, jobs->at[k].job, jobs->at[k].index,
				    pair_load(sim, jobs->at[k].job, job),
				    false);
	}
}

/*
 * ---- Placement within the simulation ----
 *
 * Makes snapshots for np_placement_decide() and applies its outcomes to pending
 * jobs. No decision is made while no pending job slows others or is slowed by
 * them, as it would restrict nothing.
 */

/* Set up placement. */
static int placing_init(struct sim *sim)
{
	sim->hold = calloc(sim->input->n + 1, sizeof(*sim->hold));
	return sim->hold ? 0 : -ENOMEM;
}

static void placing_free(struct sim *sim)
{
	for (size_t i = 0; sim->hold && i < sim->input->n; i++)
		free(sim->hold[i]);
	free(sim->hold);
	np_placement_free(sim->placing.placement);
}

/* A job enters or leaves the queue. */
static void mark_queue_changed(struct sim *sim, uint32_t job, bool enters)
{
	if (!sim->hold)
		return;
	if (!is_inert(sim, sim->known, job))
		sim->placing.n_relevant += enters ? 1 : (size_t)-1;
	if (!enters) {
		free(sim->hold[job]);
		sim->hold[job] = NULL;
	}
}

/*
 * Seconds after which a decision that restricts jobs is renewed, even if
 * nothing changed: holds end and hold times add up.
 */
static int64_t renewal_sec(const struct np_sim_policy *policy)
{
	int64_t sec = (int64_t)(policy->policy.hold_step_sec / 2);

	if (policy->mode == NP_MODE_PREFER &&
	    sec > NP_PLACEMENT_PATIENCE_SEC / 2)
		sec = NP_PLACEMENT_PATIENCE_SEC / 2;
	if (sec > policy->policy.max_hold_sec / 10)
		sec = (int64_t)(policy->policy.max_hold_sec / 10);
	return sec > policy->interval_sec ? sec : policy->interval_sec;
}

/* Time of the next decision; INT64_MAX: none is due. */
static int64_t decision_due(const struct sim *sim)
{
	const struct np_sim_policy *policy = sim->input->policy;

	if (!sim->placing.n_relevant)
		return INT64_MAX;
	if (!sim->placing.placement)
		return sim->now;
	if (sim->placing.changed)
		return sim->placing.last_sec + policy->interval_sec;
	return !sim->placing.restricts ?
		       INT64_MAX :
		       sim->placing.last_sec + renewal_sec(policy);
}

/* The entry of a job in the snapshot, with the decision that it has so far. */
static struct np_job job_for_snapshot(const struct sim *sim, uint32_t job)
{
	const struct np_sim_job *spec = &sim->job[job];
	const struct hold *hold = sim->hold[job];
	struct np_job entry = {
		.id = job + 1,
		.owner = spec->user,
		.state = NP_JOB_READY,
		.mode = sim->input->policy->mode,
		.tasks = 1,
		.flags = spec->cpus ? NP_JOB_SHARES_NODES : 0,
		.profile = spec->profile,
		.nodes_min = spec->nodes,
		.priority = sim->usage ? UINT32_MAX - rank_of(sim, spec) :
					 spec->priority,
		.submit_sec = spec->submit_sec,
		.partition = spec->partition,
		.candidates = sim->placing.handle[spec->partition],
	};

	if (hold) {
		entry.prior = hold->prior;
		entry.prior_leaves = hold->leaves;
		entry.prior_until_sec = hold->until_sec;
		entry.held_sec = hold->held_sec;
	}
	return entry;
}

/* State of the node at a position. */
static enum np_node_state node_state(const struct sim *sim, size_t pos)
{
	if (np_bits_test(sim->idle, pos))
		return NP_NODE_IDLE;
	return sim->cpus && sim->cpus[pos] ? NP_NODE_MIXED : NP_NODE_FULL;
}

/* Add the running jobs to a snapshot, by expected end. */
static int add_running(const struct sim *sim, struct np_snapshot *snapshot,
		       struct np_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < sim->expected.n; i++) {
		uint32_t job = sim->expected.at[i];
		const struct running *run = sim->running[job];
		struct np_job entry = job_for_snapshot(sim, job);

		for (uint32_t k = 0; k < run->n_nodes; k++)
			sim->chosen[k] = sim->leaves->node[run->pos[k]];
		entry.state = NP_JOB_RUNNING;
		entry.start_sec = sim->outcome[job].start_sec;
		entry.node = sim->chosen;
		entry.n_nodes = run->n_nodes;
		rc = np_snapshot_job(snapshot, &entry, err);
	}
	return rc;
}

/* Fill in and seal a snapshot: nodes, running jobs, then the queue. */
static int fill_snapshot(struct sim *sim, struct np_snapshot *snapshot,
			 struct np_err *err)
{
	const struct np_sim_cluster *cluster = sim->input->cluster;
	int rc = 0;

	for (size_t i = 0; !rc && i < sim->leaves->n_nodes; i++)
		rc = np_snapshot_node(snapshot, sim->leaves->node[i],
				      node_state(sim, i), err);
	for (size_t i = 0; !rc && i < cluster->n_partitions; i++)
		rc = np_snapshot_nodes(snapshot, cluster->partition[i],
				       &sim->placing.handle[i], err);
	if (!rc)
		rc = add_running(sim, snapshot, err);
	for (size_t i = 0; !rc && i < sim->queue.n; i++) {
		struct np_job entry = job_for_snapshot(sim, sim->queue.at[i]);

		rc = np_snapshot_job(snapshot, &entry, err);
	}
	np_snapshot_seal(snapshot);
	return rc;
}

/* Restrict a job to leaves and to the nodes without a leaf. */
static void open_leaves(const struct sim *sim, struct hold *hold,
			const uint64_t *allowed)
{
	const struct np_leaves *leaves = sim->leaves;

	memcpy(hold->leaves, allowed, leaves->words * sizeof(*allowed));
	memset(hold->nodes, 0, sim->words * sizeof(*hold->nodes));
	NP_BITS_EACH(i, allowed, leaves->words)
		for (uint32_t pos = leaves->first[i];
		     pos < leaves->first[i + 1]; pos++)
			np_bits_set(hold->nodes, pos);
	for (size_t i = leaves->first[leaves->n]; i < leaves->n_nodes; i++)
		np_bits_set(hold->nodes, i);
}

/* The decision of a job, allocated if needed. NULL: out of memory. */
static struct hold *hold_of(struct sim *sim, uint32_t job)
{
	size_t words = sim->leaves->words + sim->words;
	struct hold *hold = sim->hold[job];

	if (hold)
		return hold;
	hold = calloc(1, sizeof(*hold) + words * sizeof(uint64_t));
	if (!hold)
		return NULL;
	hold->leaves = (uint64_t *)(hold + 1);
	hold->nodes = hold->leaves + sim->leaves->words;
	sim->hold[job] = hold;
	return hold;
}

/* Apply an outcome to a job. In mode advise it is only counted. */
static int apply_outcome(struct sim *sim, uint32_t job,
			 const struct np_outcome *decision)
{
	static const enum np_prior prior[] = {
		[NP_ACT_NONE] = NP_PRIOR_NONE,
		[NP_ACT_UNRESTRICTED] = NP_PRIOR_UNRESTRICTED,
		[NP_ACT_RESTRICT] = NP_PRIOR_RESTRICTED,
		[NP_ACT_HOLD] = NP_PRIOR_HELD,
	};
	struct np_sim_outcome *outcome = &sim->outcome[job];
	struct hold *hold;

	outcome->was_restricted |= decision->action == NP_ACT_RESTRICT;
	outcome->was_held |= decision->action == NP_ACT_HOLD;
	if (sim->input->policy->mode == NP_MODE_ADVISE)
		return 0;
	if (decision->action < NP_ACT_RESTRICT && decision->held_sec <= 0 &&
	    !sim->hold[job])
		return 0;
	hold = hold_of(sim, job);
	if (!hold)
		return -ENOMEM;
	outcome->released |= decision->cause.why == NP_WHY_HOLD_EXPIRED;
	outcome->held_sec = (uint32_t)(decision->held_sec + .5);
	hold->prior = prior[decision->action];
	hold->held_sec = decision->held_sec;
	hold->until_sec = decision->until_sec;
	if (decision->action == NP_ACT_RESTRICT)
		open_leaves(sim, hold, decision->leaves);
	sim->placing.restricts |= decision->action >= NP_ACT_RESTRICT;
	sim->backfill_changed |= decision->changed;
	return 0;
}

/* Make a decision from an empty snapshot, and apply it to the queue. */
static int decide_from(struct sim *sim, struct np_snapshot *snapshot,
		       struct np_err *err)
{
	struct np_placement *placement;
	int rc = fill_snapshot(sim, snapshot, err);

	if (!rc)
		rc = np_placement_decide(snapshot, sim->known,
					 &sim->input->policy->policy,
					 &placement, err);
	if (rc)
		return rc;
	np_placement_free(sim->placing.placement);
	sim->placing.placement = placement;
	sim->placing.last_sec = sim->now;
	sim->placing.changed = false;
	sim->placing.restricts = false;
	sim->counts->decisions++;
	for (size_t i = 0; !rc && i < sim->queue.n; i++)
		rc = apply_outcome(sim, sim->queue.at[i],
				   np_outcome_of(placement,
						 sim->expected.n + i));
	return rc;
}

/* Make a decision if one is due now. Returns 0 or -errno with err. */
static int decide_if_due(struct sim *sim, struct np_err *err)
{
	struct np_snapshot *snapshot;
	int rc;

	if (decision_due(sim) > sim->now)
		return 0;
	rc = np_snapshot_new((struct np_leaves *)sim->leaves, sim->now,
			     sim->placing.last_sec, &snapshot, err);
	if (rc)
		return rc;
	rc = decide_from(sim, snapshot, err);
	np_snapshot_unref(snapshot);
	return rc;
}

/* Decide about a job that has just become eligible. */
static int decide_submission(struct sim *sim, uint32_t job, struct np_err *err)
{
	struct np_outcome decision;
	struct np_job entry;
	int rc;

	/* A decision that is due now includes the job. */
	if (!sim->hold || is_inert(sim, sim->known, job) ||
	    decision_due(sim) <= sim->now)
		return 0;
	entry = job_for_snapshot(sim, job);
	rc = np_placement_submit(sim->placing.placement, &entry, NULL, sim->now,
				 &decision, err);
	if (!rc)
		rc = apply_outcome(sim, job, &decision);
	return rc;
}

/* ---- Events ---- */

/* Whether one event comes before another. */
static bool is_earlier(struct event a, struct event b)
{
	return a.sec != b.sec ? a.sec < b.sec : a.job < b.job;
}

/* Store an event at an index of the heap. */
static void heap_set(struct heap *heap, size_t i, struct event event)
{
	heap->at[i] = event;
	if (heap->position)
		heap->position[event.job] = (uint32_t)i;
}

/* Move an event from index i, whose content is lost, to its place. */
static void heap_sift(struct heap *heap, size_t i, struct event event)
{
	size_t child;

	for (; i && is_earlier(event, heap->at[(i - 1) / 2]); i = (i - 1) / 2)
		heap_set(heap, i, heap->at[(i - 1) / 2]);
	while ((child = 2 * i + 1) < heap->n) {
		if (child + 1 < heap->n &&
		    is_earlier(heap->at[child + 1], heap->at[child]))
			child++;
		if (!is_earlier(heap->at[child], event))
			break;
		heap_set(heap, i, heap->at[child]);
		i = child;
	}
	heap_set(heap, i, event);
}

/* Add an event. */
static int heap_add(struct heap *heap, int64_t sec, uint32_t job)
{
	if (np_array_reserve(&heap->at, &heap->capacity, heap->n + 1,
			     sizeof(*heap->at)))
		return -ENOMEM;
	heap->n++;
	heap_sift(heap, heap->n - 1, (struct event){ sec, job });
	return 0;
}

/* Time of the first event; INT64_MAX: there is none. */
static int64_t heap_first(const struct heap *heap)
{
	return heap->n ? heap->at[0].sec : INT64_MAX;
}

/* Remove the first event and return its job. */
static uint32_t heap_take(struct heap *heap)
{
	uint32_t job = heap->at[0].job;

	if (--heap->n)
		heap_sift(heap, 0, heap->at[heap->n]);
	return job;
}

/* ---- Nodes ---- */

/* Whether a job leaves CPUs of its nodes to others. */
static bool shares_nodes(const struct sim *sim, const struct np_sim_job *spec)
{
	return spec->cpus && spec->cpus < sim->input->cluster->cpus;
}

/* CPUs that a job takes on each of its nodes. */
static uint16_t cpus_of(const struct sim *sim, const struct np_sim_job *spec)
{
	return (uint16_t)(shares_nodes(sim, spec) ? spec->cpus :
						    sim->input->cluster->cpus);
}

/* A node becomes idle, or is no longer idle. */
static void count_idle(struct sim *sim, uint32_t pos, bool idle)
{
	for (uint64_t in = sim->in_partitions[pos]; in; in &= in - 1)
		sim->partition_idle[np_bits_lowest(0, in)] += idle ? 1u : -1u;
	if (idle)
		np_bits_set(sim->idle, pos);
	else
		np_bits_clear(sim->idle, pos);
}

/* Take the nodes of a job that starts. */
static void allocate(struct sim *sim, const struct running *run)
{
	for (uint32_t i = 0; i < run->n_nodes; i++) {
		uint32_t pos = run->pos[i];

		if (sim->cpus)
			sim->cpus[pos] = (uint16_t)(sim->cpus[pos] - run->cpus);
		if (np_bits_test(sim->idle, pos))
			count_idle(sim, pos, false);
	}
	sim->free_cpus -= (uint64_t)run->n_nodes * run->cpus;
}

/* Give back the nodes of a job that ended. */
static void deallocate(struct sim *sim, const struct running *run)
{
	for (uint32_t i = 0; i < run->n_nodes; i++) {
		uint32_t pos = run->pos[i];

		if (sim->cpus)
			sim->cpus[pos] = (uint16_t)(sim->cpus[pos] + run->cpus);
		if (!sim->cpus || sim->cpus[pos] == sim->input->cluster->cpus)
			count_idle(sim, pos, true);
	}
	sim->free_cpus += (uint64_t)run->n_nodes * run->cpus;
}

/* End of the positions of leaf i; i == l->n: of the nodes without a leaf. */
static uint32_t leaf_end(const struct np_leaves *leaves, size_t i)
{
	return i < leaves->n ? leaves->first[i + 1] : (uint32_t)leaves->n_nodes;
}

/*
 * Count the nodes of mask[] on each leaf, into sim->leaf_nodes, and list the
 * leaves that have any in sim->leaf_list. Mostly few nodes are free, so this
 * looks only at leaves that have some.
 */
static void count_leaf_nodes(struct sim *sim, const uint64_t *mask)
{
	for (size_t i = 0; i < sim->n_leaf_list; i++)
		sim->leaf_nodes[sim->leaf_list[i]] = 0;
	sim->n_leaf_list = 0;
	for (size_t k = 0; k < sim->words; k++) {
		uint64_t word = mask[k];

		while (word) {
			uint32_t leaf = sim->leaf_at[np_bits_lowest(k, word)];
			size_t end =
				leaf_end(sim->leaves, leaf) - k * NP_BITS_WORD;
			uint64_t later =
				end < NP_BITS_WORD ? ~UINT64_C(0) << end : 0;

			if (!sim->leaf_nodes[leaf])
				sim->leaf_list[sim->n_leaf_list++] = leaf;
			sim->leaf_nodes[leaf] +=
				np_bits_popcount(word & ~later);
			word &= later;
		}
	}
}

/* Whether a leaf is below a switch; NULL: the whole cluster. */
static bool is_below(const struct sim *sim, uint32_t leaf,
		     const struct np_sim_switch *top)
{
	return !top ||
	       (leaf < sim->leaves->n && np_bits_test(top->leaves, leaf));
}

/*
 * The leaf below a switch with the fewest nodes of those that have n;
 * NP_NO_LEAF: none has as many.
 */
static uint32_t tightest_leaf(const struct sim *sim,
			      const struct np_sim_switch *top, uint32_t n)
{
	uint32_t best = NP_NO_LEAF, least = UINT32_MAX;

	for (size_t i = 0; i < sim->n_leaf_list && least > n; i++) {
		uint32_t leaf = sim->leaf_list[i], has = sim->leaf_nodes[leaf];

		if (has < n || has >= least || !is_below(sim, leaf, top))
			continue;
		best = leaf;
		least = has;
	}
	return best;
}

/* Nodes counted on the leaves below a switch. */
static uint32_t count_below(const struct sim *sim,
			    const struct np_sim_switch *sw)
{
	uint32_t n = 0;

	NP_BITS_EACH(leaf, sw->leaves, sim->leaves->words)
		n += sim->leaf_nodes[leaf];
	return n;
}

/* Whether a switch is a part of another one; NULL: of the whole cluster. */
static bool is_part(const struct sim *sim, const struct np_sim_switch *sw,
		    const struct np_sim_switch *top)
{
	return !top ||
	       (sw->level < top->level &&
		np_bits_subset(sw->leaves, top->leaves, sim->leaves->words));
}

/*
 * The lowest switch within top that has n nodes, of those the one with the
 * fewest; top: no part of it has as many.
 */
static const struct np_sim_switch *
lowest_switch(const struct sim *sim, const struct np_sim_switch *top,
	      uint32_t n)
{
	const struct np_sim_cluster *cluster = sim->input->cluster;
	const struct np_sim_switch *best = top;
	uint32_t least = 0;

	for (size_t i = 0; i < cluster->n_above; i++) {
		const struct np_sim_switch *sw = &cluster->above[i];
		uint32_t has;

		if (!is_part(sim, sw, top) ||
		    (best != top && best->level < sw->level))
			continue;
		has = count_below(sim, sw);
		if (has < n ||
		    (best != top && best->level == sw->level && least <= has))
			continue;
		best = sw;
		least = has;
	}
	return best;
}

/* The part of a switch with the most nodes; NULL: none has any. */
static const struct np_sim_switch *fullest_part(const struct sim *sim,
						const struct np_sim_switch *top,
						uint32_t *most)
{
	const struct np_sim_cluster *cluster = sim->input->cluster;
	const struct np_sim_switch *best = NULL;

	*most = 0;
	for (size_t i = 0; i < cluster->n_above; i++) {
		uint32_t has = is_part(sim, &cluster->above[i], top) ?
				       count_below(sim, &cluster->above[i]) :
				       0;

		if (has <= *most)
			continue;
		best = &cluster->above[i];
		*most = has;
	}
	return best;
}

/* Append n of a leaf's nodes in mask[] to sim->chosen. */
static void take_nodes(struct sim *sim, const uint64_t *mask, uint32_t leaf,
		       uint32_t n)
{
	size_t pos = np_bits_next(mask, sim->words, sim->leaves->first[leaf]);

	sim->leaf_nodes[leaf] -= n;
	for (; n; n--, pos = np_bits_next(mask, sim->words, pos + 1))
		sim->chosen[sim->n_chosen++] = (uint32_t)pos;
}

/*
 * Append n nodes of mask[] on leaves below a switch: all leaves with the most
 * nodes, then those with the next smaller number, until one has enough for the
 * rest.
 */
static void take_leaves(struct sim *sim, const uint64_t *mask,
			const struct np_sim_switch *top, uint32_t n)
{
	const uint32_t *list = sim->leaf_list;
	uint32_t leaf;

	while ((leaf = tightest_leaf(sim, top, n)) == NP_NO_LEAF) {
		uint32_t most = 0;

		for (size_t i = 0; i < sim->n_leaf_list; i++)
			if (sim->leaf_nodes[list[i]] > most &&
			    is_below(sim, list[i], top))
				most = sim->leaf_nodes[list[i]];
		for (size_t i = 0; i < sim->n_leaf_list && most < n; i++)
			if (sim->leaf_nodes[list[i]] == most &&
			    is_below(sim, list[i], top)) {
				take_nodes(sim, mask, list[i], most);
				n -= most;
			}
	}
	take_nodes(sim, mask, leaf, n);
}

/*
 * Append all nodes of mask[] that are below part, or on a leaf directly below
 * top that has more than its most nodes.
 */
static void take_fullest(struct sim *sim, const uint64_t *mask,
			 const struct np_sim_switch *top,
			 const struct np_sim_switch *part, uint32_t most)
{
	uint32_t single = NP_NO_LEAF;

	for (size_t i = 0; i < sim->n_leaf_list; i++) {
		uint32_t leaf = sim->leaf_list[i];

		if (sim->leaf_nodes[leaf] > most && is_below(sim, leaf, top)) {
			single = leaf;
			most = sim->leaf_nodes[leaf];
		}
	}
	if (single != NP_NO_LEAF) {
		take_nodes(sim, mask, single, most);
		return;
	}
	for (size_t i = 0; i < sim->n_leaf_list; i++)
		if (is_below(sim, sim->leaf_list[i], part))
			take_nodes(sim, mask, sim->leaf_list[i],
				   sim->leaf_nodes[sim->leaf_list[i]]);
}

/*
 * Choose n nodes of mask[], which has as many, into sim->chosen: below the
 * lowest switch that has enough; of several at one level, the one with the
 * fewest. If that is no leaf, its part with the most nodes is used up first,
 * until one part has enough for the rest.
 */
static void select_nodes(struct sim *sim, const uint64_t *mask, uint32_t n)
{
	const struct np_sim_switch *top = NULL, *part;
	uint32_t leaf, most;

	count_leaf_nodes(sim, mask);
	sim->n_chosen = 0;
	while ((leaf = tightest_leaf(sim, top, n - sim->n_chosen)) ==
	       NP_NO_LEAF) {
		top = lowest_switch(sim, top, n - sim->n_chosen);
		part = fullest_part(sim, top, &most);
		if (!part) {
			take_leaves(sim, mask, top, n - sim->n_chosen);
			return;
		}
		take_fullest(sim, mask, top, part, most);
	}
	take_nodes(sim, mask, leaf, n - sim->n_chosen);
}

/* ---- The queue ---- */

/* Whether job a comes before job b in the queue. */
static bool has_precedence(const struct sim *sim, uint32_t a, uint32_t b)
{
	const struct np_sim_job *x = &sim->job[a], *y = &sim->job[b];

	if (rank_of(sim, x) != rank_of(sim, y))
		return rank_of(sim, x) < rank_of(sim, y);
	if (x->priority != y->priority)
		return x->priority > y->priority;
	return x->submit_sec != y->submit_sec ? x->submit_sec < y->submit_sec :
						a < b;
}

/* Index of a job in a list, or where it belongs. */
static size_t find_job(const struct sim *sim, const struct job_list *list,
		       uint32_t job)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list->before(sim, list->at[middle], job))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Add a job to a list. */
static int list_add(const struct sim *sim, struct job_list *list, uint32_t job)
{
	size_t i = find_job(sim, list, job);

	if (np_array_reserve(&list->at, &list->capacity, list->n + 1,
			     sizeof(*list->at)))
		return -ENOMEM;
	memmove(list->at + i + 1, list->at + i,
		(list->n++ - i) * sizeof(*list->at));
	list->at[i] = job;
	return 0;
}

/* Remove a job that is in a list. */
static void list_remove(const struct sim *sim, struct job_list *list,
			uint32_t job)
{
	size_t i = find_job(sim, list, job);

	memmove(list->at + i, list->at + i + 1,
		(--list->n - i) * sizeof(*list->at));
}

/* Something happened that placement and backfill must consider. */
static void mark_changed(struct sim *sim)
{
	sim->backfill_changed = true;
	sim->placing.changed = true;
}

/* A job becomes eligible. */
static int enqueue(struct sim *sim, uint32_t job, struct np_err *err)
{
	if (list_add(sim, &sim->queue, job))
		return -ENOMEM;
	sim->outcome[job].eligible_sec = sim->now;
	mark_queue_changed(sim, job, true);
	mark_changed(sim);
	return decide_submission(sim, job, err);
}

/* Remove jobs that have started from the queue. */
static void remove_started(struct sim *sim)
{
	size_t n = 0;

	for (size_t i = 0; i < sim->queue.n; i++)
		if (sim->outcome[sim->queue.at[i]].how == NP_SIM_PENDING)
			sim->queue.at[n++] = sim->queue.at[i];
	sim->queue.n = n;
}

/* ---- Fair share ---- */

/* Charge a running job to its user, up to now. */
static void charge_user(struct sim *sim, uint32_t job)
{
	struct running *run = sim->running[job];

	if (!sim->usage)
		return;
	sim->usage[sim->job[job].user].cpu_sec +=
		(uint64_t)run->n_nodes * run->cpus *
		(uint64_t)(sim->now - run->charged_sec);
	run->charged_sec = sim->now;
}

/*
 * The level of an entry whose parent, if any, has one: its part of the shares
 * of its siblings, divided by its part of their usage. all_cpu_sec: usage of
 * all users.
 */
static double level_of(const struct sim *sim, size_t i, uint64_t all_cpu_sec)
{
	const struct np_sim_assoc *assoc = &sim->input->assoc[i];
	const struct branch *parent = assoc->parent == NP_SIM_NO_PARENT ?
					      NULL :
					      &sim->branch[assoc->parent];
	uint64_t of_siblings = parent ? parent->cpu_sec : all_cpu_sec;

	if (assoc->shares == NP_SIM_SHARES_OF_PARENT)
		return parent ? parent->level : 1;
	if (!assoc->shares)
		return 0;
	if (!sim->branch[i].cpu_sec)
		return INFINITY;
	return sim->branch[i].part * (double)of_siblings /
	       (double)sim->branch[i].cpu_sec;
}

/* Add up the usage below each entry, then compute the levels from it. */
static void update_levels(struct sim *sim)
{
	uint64_t all_cpu_sec = 0;

	for (size_t i = 0; i < sim->n_users; i++)
		sim->branch[i].cpu_sec = sim->usage[i].cpu_sec;
	/* Parents come before their children in the list. */
	for (size_t i = sim->n_users; i-- > 0;) {
		uint32_t parent = sim->input->assoc[i].parent;

		if (parent == NP_SIM_NO_PARENT)
			all_cpu_sec += sim->branch[i].cpu_sec;
		else
			sim->branch[parent].cpu_sec += sim->branch[i].cpu_sec;
	}
	for (size_t i = 0; i < sim->n_users; i++)
		sim->branch[i].level = level_of(sim, i, all_cpu_sec);
}

/* The levels from the root to an entry. */
static void levels_from_root(const struct sim *sim, uint32_t i,
			     double level[NP_SIM_MAX_DEPTH])
{
	for (; i != NP_SIM_NO_PARENT; i = sim->input->assoc[i].parent)
		level[sim->branch[i].depth] = sim->branch[i].level;
}

/* Fair Tree: the first difference on the way from the root decides. */
static int compare_levels(const struct sim *sim, uint32_t a, uint32_t b)
{
	double levels[NP_SIM_MAX_DEPTH], other_levels[NP_SIM_MAX_DEPTH];
	uint32_t n = sim->branch[a].depth, m = sim->branch[b].depth;

	levels_from_root(sim, a, levels);
	levels_from_root(sim, b, other_levels);
	for (uint32_t i = 0; i <= n && i <= m; i++)
		if (levels[i] != other_levels[i])
			return levels[i] > other_levels[i] ? -1 : 1;
	return n < m ? -1 : n > m;
}

/* Order of two users: by usage, the least first; or by the tree of shares. */
static int compare_usage(const void *a, const void *b, void *arg)
{
	const struct sim *sim = arg;
	uint64_t x = sim->usage[*(const uint32_t *)a].cpu_sec;
	uint64_t y = sim->usage[*(const uint32_t *)b].cpu_sec;

	if (sim->branch)
		return compare_levels(sim, *(const uint32_t *)a,
				      *(const uint32_t *)b);
	return x < y ? -1 : x > y;
}

static int compare_precedence(const void *a, const void *b, void *arg)
{
	return has_precedence(arg, *(const uint32_t *)a, *(const uint32_t *)b) ?
		     -1 :
		     1;
}

/* Put the queue in order if it is not. */
static void sort_queue(struct sim *sim)
{
	uint32_t *job = sim->queue.at;

	for (size_t i = 1; i < sim->queue.n; i++)
		if (has_precedence(sim, job[i], job[i - 1])) {
			qsort_r(job, sim->queue.n, sizeof(*job),
				compare_precedence, sim);
			mark_changed(sim);
			return;
		}
}

/* The end of the current period of fair share; INT64_MAX: there is none. */
static int64_t fair_share_due(const struct sim *sim)
{
	int64_t period = sim->input->scheduler->fair_period_sec;

	return sim->usage ? (sim->now / period + 1) * period : INT64_MAX;
}

/* If it is time, bring usage and ranks of all users up to date. */
static void update_fair_share(struct sim *sim)
{
	if (!sim->usage || sim->now % sim->input->scheduler->fair_period_sec)
		return;
	for (size_t i = 0; i < sim->expected.n; i++)
		if (!sim->running[sim->expected.at[i]]->completing)
			charge_user(sim, sim->expected.at[i]);
	for (size_t i = 0; i < sim->n_users; i++) {
		uint64_t *sec = &sim->usage[i].cpu_sec;

		*sec = (*sec >> 32) * sim->decay +
		       ((*sec & UINT32_MAX) * sim->decay >> 32);
	}
	if (sim->branch)
		update_levels(sim);
	qsort_r(sim->by_usage, sim->n_users, sizeof(*sim->by_usage),
		compare_usage, sim);
	for (size_t i = 0; i < sim->n_users; i++) {
		bool same = i && !compare_usage(&sim->by_usage[i - 1],
						&sim->by_usage[i], sim);

		sim->usage[sim->by_usage[i]].rank =
			same ? sim->usage[sim->by_usage[i - 1]].rank :
			       (uint32_t)i;
	}
	sort_queue(sim);
}

/* Whether placement holds a pending job. */
static bool is_held(const struct sim *sim, uint32_t job)
{
	const struct hold *hold = sim->hold ? sim->hold[job] : NULL;

	return hold && hold->prior == NP_PRIOR_HELD &&
	       hold->until_sec > sim->now;
}

/* Set sim->mask to the nodes that a job may use, busy or not. */
static void find_candidates(struct sim *sim, uint32_t job)
{
	const struct hold *hold = sim->hold ? sim->hold[job] : NULL;
	const uint64_t *nodes = sim->partition[sim->job[job].partition];

	memcpy(sim->mask, nodes, sim->words * sizeof(*nodes));
	if (hold && hold->prior == NP_PRIOR_RESTRICTED)
		for (size_t k = 0; k < sim->words; k++)
			sim->mask[k] &= hold->nodes[k];
}

/* ---- Start and end of jobs ---- */

/* Set when a running job will end, at its present speed. */
static void schedule_end(struct sim *sim, uint32_t job)
{
	const struct running *run = sim->running[job];
	int64_t cancel_sec = sim->job[job].cancel_sec, sec = sim->now;

	if (run->left > 0)
		sec = run->since_sec + 1 + (run->left - 1) / run->speed;
	sim->outcome[job].over_limit = sec > run->expected_sec;
	if (sim->outcome[job].over_limit)
		sec = run->expected_sec;
	if (cancel_sec && sec > cancel_sec)
		sec = cancel_sec > sim->now ? cancel_sec : sim->now;
	sim->outcome[job].end_sec = sec;
	heap_sift(&sim->ends, sim->ends.position[job],
		  (struct event){ sec, job });
}

/* Whether job a is expected to end before job b. */
static bool expected_first(const struct sim *sim, uint32_t a, uint32_t b)
{
	int64_t x = sim->running[a]->expected_sec;
	int64_t y = sim->running[b]->expected_sec;

	return x != y ? x < y : a < b;
}

/* A running job on the nodes in sim->chosen. NULL: out of memory. */
static struct running *make_running(const struct sim *sim, uint32_t job)
{
	const struct np_sim_job *spec = &sim->job[job];
	struct running *run =
		calloc(1, sizeof(*run) + spec->nodes * sizeof(*run->pos));

	if (!run)
		return NULL;
	*run = (struct running){
		.pos = (uint32_t *)(run + 1),
		.n_nodes = spec->nodes,
		.cpus = cpus_of(sim, spec),
		.touch = shares_nodes(sim, spec) ? NP_TOUCH_NODE : 0,
		.expected_sec = sim->now + spec->limit_sec,
		.left = (int64_t)spec->run_sec * FULL_SPEED,
		.since_sec = sim->now,
		.charged_sec = sim->now,
		.speed = FULL_SPEED,
	};
	memcpy(run->pos, sim->chosen, spec->nodes * sizeof(*run->pos));
	qsort(run->pos, run->n_nodes, sizeof(*run->pos), np_order_u32);
	return run;
}

/* Call the caller's start callback. */
static void report_start(struct sim *sim, uint32_t job)
{
	const struct running *run = sim->running[job];

	if (!sim->input->started)
		return;
	for (uint32_t i = 0; i < run->n_nodes; i++)
		sim->chosen[i] = sim->leaves->node[run->pos[i]];
	qsort(sim->chosen, run->n_nodes, sizeof(*sim->chosen), np_order_u32);
	sim->input->started(sim->input->arg, job, &sim->outcome[job],
			    sim->chosen, run->n_nodes);
}

/*
 * Start a job on the nodes in sim->chosen. It stays in the queue until
 * remove_started() is called.
 */
static int start_job(struct sim *sim, uint32_t job, enum np_sim_how how)
{
	struct running *run = make_running(sim, job);

	if (!run)
		return -ENOMEM;
	sim->running[job] = run;
	sim->outcome[job].how = (uint8_t)how;
	sim->outcome[job].start_sec = sim->now;
	allocate(sim, run);
	if (heap_add(&sim->ends, INT64_MAX, job) ||
	    list_add(sim, &sim->expected, job))
		return -ENOMEM;
	schedule_end(sim, job);
	if (enter_leaves(sim, job))
		return -ENOMEM;
	mark_queue_changed(sim, job, false);
	mark_changed(sim);
	report_start(sim, job);
	sim->counts->backfill_starts += how == NP_SIM_BACKFILL;
	return 0;
}

/* A job has ended or will never run: release the jobs that depend on it. */
static int release_followers(struct sim *sim, uint32_t job)
{
	for (uint32_t follower = sim->followers[job]; follower != NP_SIM_NO_JOB;
	     follower = sim->next_follower[follower]) {
		int64_t sec = sim->now + sim->job[follower].think_sec;

		if (follower >= sim->submitted)
			continue; /* handled when it is submitted */
		if (heap_add(&sim->eligible, sec, follower))
			return -ENOMEM;
	}
	return 0;
}

static void release_running(struct sim *sim, uint32_t job)
{
	free(sim->running[job]->leaves);
	free(sim->running[job]);
	sim->running[job] = NULL;
}

/* A job that has ended gives up its nodes. */
static void free_nodes(struct sim *sim, uint32_t job)
{
	list_remove(sim, &sim->expected, job);
	deallocate(sim, sim->running[job]);
	release_running(sim, job);
	mark_changed(sim);
}

/* Handle an end: of a job, or of the time in which its nodes complete. */
static int end_job(struct sim *sim, uint32_t job)
{
	uint32_t completing_sec = sim->input->scheduler->completing_sec;
	int rc;

	if (sim->running[job]->completing) {
		free_nodes(sim, job);
		return 0;
	}
	charge_user(sim, job);
	leave_leaves(sim, job);
	sim->counts->ended++;
	sim->counts->last_sec = sim->now;
	rc = release_followers(sim, job);
	if (!completing_sec) {
		free_nodes(sim, job);
		return rc;
	}
	sim->running[job]->completing = true;
	return rc ? rc : heap_add(&sim->ends, sim->now + completing_sec, job);
}

/* Handle all ends that are due. */
static int end_jobs(struct sim *sim)
{
	int rc = 0;

	while (!rc && heap_first(&sim->ends) <= sim->now)
		rc = end_job(sim, heap_take(&sim->ends));
	return rc;
}

/* ---- Submissions and cancellations ---- */

/* A pending job will never start. */
static int drop_job(struct sim *sim, uint32_t job, enum np_sim_how how)
{
	struct np_sim_outcome *outcome = &sim->outcome[job];

	outcome->how = (uint8_t)how;
	outcome->end_sec = sim->now;
	sim->counts->ended++;
	if (outcome->eligible_sec >= 0) {
		list_remove(sim, &sim->queue, job);
		mark_queue_changed(sim, job, false);
		mark_changed(sim);
	}
	return release_followers(sim, job);
}

/* Cancel the pending jobs whose time has come. */
static int cancel_jobs(struct sim *sim)
{
	int rc = 0;

	while (!rc && heap_first(&sim->cancels) <= sim->now) {
		uint32_t job = heap_take(&sim->cancels);

		if (sim->outcome[job].how == NP_SIM_PENDING)
			rc = drop_job(sim, job, NP_SIM_CANCELLED);
	}
	return rc;
}

/* Whether a job has ended or will never run. */
static bool is_over(const struct sim *sim, uint32_t job)
{
	const struct np_sim_outcome *outcome = &sim->outcome[job];

	return outcome->how >= NP_SIM_TOO_LARGE ||
	       (outcome->how != NP_SIM_PENDING &&
		(!sim->running[job] || sim->running[job]->completing));
}

/*
 * When a job becomes eligible, given the job it depends on; INT64_MAX: later.
 */
static int64_t eligible_sec(const struct sim *sim, uint32_t job)
{
	const struct np_sim_job *spec = &sim->job[job];

	if (spec->after == NP_SIM_NO_JOB)
		return sim->now;
	if (!is_over(sim, spec->after))
		return INT64_MAX;
	return sim->outcome[spec->after].end_sec + spec->think_sec;
}

/* A job is submitted: it may be dropped, eligible at once, or later. */
static int submit_job(struct sim *sim, uint32_t job, struct np_err *err)
{
	const struct np_sim_job *spec = &sim->job[job];
	int64_t sec = eligible_sec(sim, job);

	if (spec->nodes > sim->partition_size[spec->partition])
		return drop_job(sim, job, NP_SIM_TOO_LARGE);
	if (spec->cancel_sec && spec->cancel_sec <= sim->now)
		return drop_job(sim, job, NP_SIM_CANCELLED);
	if (spec->cancel_sec && heap_add(&sim->cancels, spec->cancel_sec, job))
		return -ENOMEM;
	if (sec <= sim->now)
		return enqueue(sim, job, err);
	return sec == INT64_MAX ? 0 : heap_add(&sim->eligible, sec, job);
}

/* Handle all submissions that are due, then jobs that become eligible. */
static int submit_jobs(struct sim *sim, struct np_err *err)
{
	int rc = 0;

	while (!rc && sim->submitted < sim->input->n &&
	       sim->job[sim->submitted].submit_sec <= sim->now)
		rc = submit_job(sim, (uint32_t)sim->submitted++, err);
	while (!rc && heap_first(&sim->eligible) <= sim->now) {
		uint32_t job = heap_take(&sim->eligible);

		if (sim->outcome[job].how == NP_SIM_PENDING)
			rc = enqueue(sim, job, err);
	}
	return rc;
}

/* ---- The main scheduling pass ---- */

/* Quick test: true if certainly too few nodes are free for a job now. */
static bool too_few_free(const struct sim *sim, const struct np_sim_job *spec)
{
	return shares_nodes(sim, spec) ?
		       sim->free_cpus < (uint64_t)spec->nodes * spec->cpus :
		       sim->partition_idle[spec->partition] < spec->nodes;
}

/*
 * Keep only those nodes in mask[] that have enough free CPUs for a job. idle,
 * cpus: what is free, now or in a slot of the plan.
 */
static void mask_free_nodes(const struct sim *sim,
			    const struct np_sim_job *spec, const uint64_t *idle,
			    const uint16_t *cpus, uint64_t *mask)
{
	if (!shares_nodes(sim, spec)) {
		for (size_t k = 0; k < sim->words; k++)
			mask[k] &= idle[k];
		return;
	}
	NP_BITS_EACH(i, mask, sim->words)
		if (cpus[i] < spec->cpus)
			np_bits_clear(mask, i);
}

/* Start a job if possible. Returns 1 if it has started, 0 if not, or -errno. */
static int try_start(struct sim *sim, uint32_t job, bool blocked)
{
	const struct np_sim_job *spec = &sim->job[job];

	if (too_few_free(sim, spec))
		return 0;
	find_candidates(sim, job);
	for (size_t k = 0; blocked && k < sim->words; k++)
		sim->mask[k] &= ~sim->blocked[k];
	mask_free_nodes(sim, spec, sim->idle, sim->cpus, sim->mask);
	if (np_bits_count(sim->mask, sim->words) < spec->nodes)
		return 0;
	select_nodes(sim, sim->mask, spec->nodes);
	return start_job(sim, job, NP_SIM_MAIN) ? -ENOMEM : 1;
}

/* Keep later jobs off the nodes of a partition; first: no other is blocked. */
static void block_partition(struct sim *sim, uint16_t partition, bool first)
{
	size_t bytes = sim->words * sizeof(*sim->blocked);

	if (first)
		memcpy(sim->blocked, sim->partition[partition], bytes);
	else
		np_bits_or(sim->blocked, sim->partition[partition], sim->words);
}

/* One pass over the queue, up to queue_depth jobs. */
static int main_pass(struct sim *sim)
{
	uint64_t failed = 0; /* bitmap of partitions that are blocked */
	uint32_t tested = 0;
	size_t started = 0;
	int rc = 0;

	sim->main_again = false;
	for (size_t i = 0; i < sim->queue.n; i++) {
		uint32_t job = sim->queue.at[i];
		uint16_t partition = sim->job[job].partition;

		if (is_held(sim, job))
			continue;
		if (tested++ >= sim->input->scheduler->queue_depth) {
			sim->main_again = started > 0;
			break;
		}
		if (failed >> partition & 1)
			continue;
		rc = try_start(sim, job, failed);
		if (rc < 0)
			break;
		started += (size_t)rc;
		if (rc)
			continue;
		block_partition(sim, partition, !failed);
		failed |= UINT64_C(1) << partition;
		if (sim->input->cluster->n_partitions == 1)
			break;
	}
	if (started)
		remove_started(sim);
	return rc < 0 ? rc : 0;
}

/* ---- The plan of a backfill pass ---- */

/* Make sure that there is a slot with memory after those in use. */
static int add_slot(struct sim *sim)
{
	struct slot slot = { .from_sec = 0 };

	if (sim->n_slots < sim->slot_room)
		return 0;
	if (np_array_grow(&sim->slot, sim->slot_room, sizeof(slot)))
		return -ENOMEM;
	slot.idle = malloc(sim->words * sizeof(*slot.idle));
	slot.cpus = sim->shared ?
			    malloc(sim->leaves->n_nodes * sizeof(*slot.cpus)) :
			    NULL;
	if (!slot.idle || (sim->shared && !slot.cpus)) {
		free(slot.idle);
		free(slot.cpus);
		return -ENOMEM;
	}
	sim->slot[sim->slot_room++] = slot;
	return 0;
}

/* Set a slot to a time and what is free from then on. */
static void fill_slot(const struct sim *sim, struct slot *slot,
		      int64_t from_sec, const uint64_t *idle,
		      const uint16_t *cpus, uint32_t idle_nodes)
{
	slot->from_sec = from_sec;
	slot->idle_nodes = idle_nodes;
	slot->shrinks = false;
	memcpy(slot->idle, idle, sim->words * sizeof(*idle));
	if (sim->shared)
		memcpy(slot->cpus, cpus, sim->leaves->n_nodes * sizeof(*cpus));
}

/* Begin a plan with one slot: what is free now. 0 or -ENOMEM. */
static int plan_begin(struct sim *sim)
{
	sim->n_slots = 0;
	if (add_slot(sim))
		return -ENOMEM;
	fill_slot(sim, &sim->slot[sim->n_slots++], sim->now, sim->idle,
		  sim->cpus, (uint32_t)np_bits_count(sim->idle, sim->words));
	return 0;
}

/* Divide slot i at a time within it; i + 1 is the second part. */
static int split_slot(struct sim *sim, size_t i, int64_t at_sec)
{
	struct slot slot;

	if (add_slot(sim))
		return -ENOMEM;
	slot = sim->slot[sim->n_slots];
	memmove(sim->slot + i + 2, sim->slot + i + 1,
		(sim->n_slots - i - 1) * sizeof(slot));
	sim->n_slots++;
	fill_slot(sim, &slot, at_sec, sim->slot[i].idle, sim->slot[i].cpus,
		  sim->slot[i].idle_nodes);
	sim->slot[i + 1] = slot;
	return 0;
}

/* Index of the slot that contains a time. */
static size_t slot_at(const struct sim *sim, int64_t sec)
{
	size_t low = 0, high = sim->n_slots;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (sim->slot[middle].from_sec <= sec)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Nodes become free in one slot. */
static void release_nodes(const struct sim *sim, struct slot *slot,
			  const struct running *run)
{
	for (size_t i = 0; i < run->n_nodes; i++) {
		if (sim->shared) {
			uint16_t *left = &slot->cpus[run->pos[i]];

			*left = (uint16_t)(*left + run->cpus);
			if (*left < sim->input->cluster->cpus)
				continue;
		}
		np_bits_set(slot->idle, run->pos[i]);
		slot->idle_nodes++;
	}
}

/*
 * Reserve the nodes in sim->chosen in one slot, where nodes are shared.
 * Reservations are rounded to bf_resolution, so some of the nodes may be in use
 * by jobs that have not ended in that slot.
 */
static void reserve_nodes(const struct sim *sim, struct slot *slot,
			  uint16_t cpus)
{
	for (size_t i = 0; i < sim->n_chosen; i++) {
		uint32_t pos = sim->chosen[i];
		uint16_t *left = &slot->cpus[pos];

		*left = (uint16_t)(*left > cpus ? *left - cpus : 0);
		slot->idle_nodes -= np_bits_test(slot->idle, pos);
		np_bits_clear(slot->idle, pos);
	}
}

/*
 * Nodes become free at a time that is not before the last slot. 0 or -ENOMEM.
 */
static int plan_release(struct sim *sim, int64_t at_sec,
			const struct running *run)
{
	if (sim->slot[sim->n_slots - 1].from_sec < at_sec &&
	    split_slot(sim, sim->n_slots - 1, at_sec))
		return -ENOMEM;
	release_nodes(sim, &sim->slot[sim->n_slots - 1], run);
	return 0;
}

/* Collect sim->chosen in sim->part, by the words of a bitmap; how many. */
static size_t make_parts(struct sim *sim)
{
	size_t low = sim->words, high = 0, n_parts = 0;

	for (size_t i = 0; i < sim->n_chosen; i++) {
		size_t k = sim->chosen[i] / NP_BITS_WORD;

		low = k < low ? k : low;
		high = k > high ? k : high;
	}
	for (size_t k = low; k <= high; k++)
		sim->found[k] = 0;
	for (size_t i = 0; i < sim->n_chosen; i++)
		np_bits_set(sim->found, sim->chosen[i]);
	for (size_t k = low; k <= high; k++)
		if (sim->found[k])
			sim->part[n_parts++] = (struct part){
				.bits = sim->found[k],
				.word = (uint32_t)k,
				.n = np_bits_popcount(sim->found[k]),
			};
	return n_parts;
}

/*
 * Reserve all of the nodes in sim->chosen in the slots first to end - 1. As a
 * plan has many slots, this is done by words.
 */
static void reserve_whole(struct sim *sim, size_t first, size_t end)
{
	size_t n_parts = make_parts(sim);

	for (; first < end; first++) {
		struct slot *slot = &sim->slot[first];

		for (size_t i = 0; i < n_parts; i++) {
			const struct part *part = &sim->part[i];
			uint64_t idle = slot->idle[part->word] & part->bits;

			/* Usually all of them are idle. */
			slot->idle_nodes -= idle == part->bits ?
						    part->n :
						    np_bits_popcount(idle);
			slot->idle[part->word] &= ~part->bits;
		}
	}
}

/* Reserve the nodes in sim->chosen from from_sec to to_sec. 0 or -ENOMEM. */
static int plan_reserve(struct sim *sim, int64_t from_sec, int64_t to_sec,
			uint16_t cpus)
{
	size_t first = slot_at(sim, from_sec), end;

	if (sim->slot[first].from_sec < from_sec) {
		if (split_slot(sim, first, from_sec))
			return -ENOMEM;
		first++;
	}
	sim->slot[first].shrinks = true;
	end = slot_at(sim, to_sec);
	if (sim->slot[end].from_sec < to_sec) {
		if (split_slot(sim, end, to_sec))
			return -ENOMEM;
		end++;
	}
	if (!sim->shared)
		reserve_whole(sim, first, end);
	for (; sim->shared && first < end; first++)
		reserve_nodes(sim, &sim->slot[first], cpus);
	return 0;
}

/*
 * Quick test: index of the first slot from i to end_sec in which certainly too
 * few nodes are free; sim->n_slots: none. Nodes that are shared are not
 * counted.
 */
static size_t first_obstacle(const struct sim *sim, size_t i, int64_t end_sec,
			     const struct np_sim_job *spec)
{
	if (shares_nodes(sim, spec))
		return sim->n_slots;
	for (; i < sim->n_slots && sim->slot[i].from_sec < end_sec; i++)
		if (sim->slot[i].idle_nodes < spec->nodes)
			return i;
	return sim->n_slots;
}

/* Whether sim->found has enough nodes; most jobs need few of them. */
static bool mask_has_enough(const struct sim *sim,
			    const struct np_sim_job *spec)
{
	size_t n = 0;

	for (size_t k = 0; k < sim->words && n < spec->nodes; k++)
		if (sim->found[k]) /* mostly few nodes are free */
			n += np_bits_popcount(sim->found[k]);
	return n >= spec->nodes;
}

/*
 * Set sim->found to the candidates, which are in sim->mask (find_candidates()),
 * that are free from slot i to end_sec. Returns the slot with which they become
 * too few; sim->n_slots: they are enough. Unless a reservation begins in it, a
 * slot has all free nodes of the one before, and need not be checked.
 */
static size_t mask_window(struct sim *sim, size_t i, int64_t end_sec,
			  const struct np_sim_job *spec)
{
	size_t first = i;

	memcpy(sim->found, sim->mask, sim->words * sizeof(*sim->found));
	for (; i < sim->n_slots && sim->slot[i].from_sec < end_sec; i++) {
		if (i > first && !sim->slot[i].shrinks)
			continue;
		mask_free_nodes(sim, spec, sim->slot[i].idle, sim->slot[i].cpus,
				sim->found);
		if (!mask_has_enough(sim, spec))
			return i;
	}
	return sim->n_slots;
}

/*
 * Set sim->found to those nodes of sim->saved that are free in slot i. Returns
 * whether they are enough.
 */
static bool has_enough_in_slot(struct sim *sim, size_t i,
			       const struct np_sim_job *spec)
{
	memcpy(sim->found, sim->saved, sim->words * sizeof(*sim->found));
	mask_free_nodes(sim, spec, sim->slot[i].idle, sim->slot[i].cpus,
			sim->found);
	return mask_has_enough(sim, spec);
}

/*
 * A window that reached slot last had too few nodes. Returns the first slot
 * from which enough nodes are free up to slot last, or last + 1: a window that
 * begins earlier contains slots that together have too few.
 */
static size_t next_window(struct sim *sim, size_t last,
			  const struct np_sim_job *spec)
{
	size_t good = last + 1, bad, bytes = sim->words * sizeof(*sim->found);

	memcpy(sim->saved, sim->mask, bytes);
	do {
		/* From slot bad to good - 1, free nodes only increase. */
		for (bad = good - 1; bad && !sim->slot[bad].shrinks;)
			bad--;
		if (!has_enough_in_slot(sim, bad, spec))
			break;
		memcpy(sim->saved, sim->found, bytes);
		good = bad;
	} while (good);
	while (good - bad > 1) {
		size_t middle = (bad + good) / 2;

		if (has_enough_in_slot(sim, middle, spec))
			good = middle;
		else
			bad = middle;
	}
	return good;
}

/*
 * Find the earliest time, from from_sec to last_sec, at which enough of the
 * candidates are free for a job. sim->found is then all of these. -1: there is
 * none.
 */
static int64_t plan_find(struct sim *sim, const struct np_sim_job *spec,
			 int64_t from_sec, int64_t last_sec)
{
	size_t i = slot_at(sim, from_sec);

	while (i < sim->n_slots) {
		int64_t start_sec = sim->slot[i].from_sec > from_sec ?
					    sim->slot[i].from_sec :
					    from_sec;
		size_t bad;

		if (start_sec > last_sec)
			return -1;
		bad = first_obstacle(sim, i, start_sec + spec->limit_sec, spec);
		if (bad < sim->n_slots) {
			i = bad + 1;
			continue;
		}
		bad = mask_window(sim, i, start_sec + spec->limit_sec, spec);
		if (bad == sim->n_slots)
			return start_sec;
		i = next_window(sim, bad, spec);
	}
	return -1;
}

/* ---- The backfill pass ---- */

/*
 * Index after the last job that may start now. Jobs after it need no plan, as
 * nothing depends on their reservations.
 */
static size_t last_candidate(const struct sim *sim)
{
	uint32_t tested = 0;
	size_t last = 0;

	for (size_t i = 0; i < sim->queue.n; i++) {
		if (is_held(sim, sim->queue.at[i]))
			continue;
		if (tested++ >= sim->input->scheduler->bf_max_job_test)
			break;
		if (!too_few_free(sim, &sim->job[sim->queue.at[i]]))
			last = i + 1;
	}
	return last;
}

/* Begin the plan with the expected ends of the running jobs. */
static int make_plan(struct sim *sim)
{
	int64_t end_sec = sim->now + sim->input->scheduler->bf_window_sec;
	int rc = plan_begin(sim);

	for (size_t i = 0; !rc && i < sim->expected.n; i++) {
		const struct running *run = sim->running[sim->expected.at[i]];
		int64_t sec = run->expected_sec;

		if (sec > end_sec)
			break;
		rc = plan_release(sim, sec > sim->now ? sec : sim->now + 1,
				  run);
	}
	return rc;
}

/* The last multiple of step that is not after sec. */
static int64_t round_down(int64_t sec, int64_t step)
{
	int64_t rest = sec % step;

	return sec - (rest < 0 ? rest + step : rest);
}

/* Reserve the nodes in sim->chosen for a job, rounded to step seconds. */
static int reserve_chosen(struct sim *sim, const struct np_sim_job *spec,
			  int64_t start_sec, int64_t step)
{
	int64_t from = round_down(start_sec, step);
	int64_t to = round_down(start_sec + spec->limit_sec + step - 1, step);

	return plan_reserve(sim, from > sim->now ? from : sim->now, to,
			    cpus_of(sim, spec));
}

/*
 * Earliest time worth trying for a job. If another job of this pass needed no
 * more than this one, of the same nodes, this one cannot start earlier, as a
 * pass only reserves nodes.
 */
static int64_t earliest_sec(const struct sim *sim,
			    const struct np_sim_job *spec)
{
	int64_t sec = sim->now;

	for (size_t i = 0; i < MAX_RECENT && i < sim->n_recent; i++) {
		const struct np_sim_job *other = sim->recent[i].job;

		if (other->partition == spec->partition &&
		    other->nodes <= spec->nodes &&
		    cpus_of(sim, other) <= cpus_of(sim, spec) &&
		    other->limit_sec <= spec->limit_sec &&
		    sim->recent[i].sec > sec)
			sec = sim->recent[i].sec;
	}
	return sec;
}

/* When a job can start; INT64_MAX: not within the window. */
static int64_t find_start(struct sim *sim, uint32_t job)
{
	int64_t end_sec = sim->now + sim->input->scheduler->bf_window_sec, at;
	const struct np_sim_job *spec = &sim->job[job];

	at = earliest_sec(sim, spec);
	if (at > end_sec)
		return INT64_MAX;
	find_candidates(sim, job);
	at = plan_find(sim, spec, at, end_sec);
	if (at < 0)
		at = INT64_MAX;
	if (at > sim->now && !(sim->hold && sim->hold[job]))
		sim->recent[sim->n_recent++ % MAX_RECENT] =
			(struct start_time){ spec, at };
	return at;
}

/* Start a job, or reserve nodes for it. */
static int backfill(struct sim *sim, uint32_t job, size_t *started)
{
	const struct np_sim_job *spec = &sim->job[job];
	int64_t at = find_start(sim, job);
	int rc;

	if (at == INT64_MAX)
		return 0;
	select_nodes(sim, sim->found, spec->nodes);
	rc = reserve_chosen(
		sim, spec, at,
		at == sim->now ? 1 : sim->input->scheduler->bf_resolution_sec);
	if (rc || at > sim->now)
		return rc;
	++*started;
	return start_job(sim, job, NP_SIM_BACKFILL);
}

/* Whether a job could start now, if nothing else were reserved. */
static bool may_start(struct sim *sim, uint32_t job)
{
	const struct np_sim_job *spec = &sim->job[job];
	int64_t end_sec = sim->now + spec->limit_sec;

	if (is_held(sim, job) || too_few_free(sim, spec) ||
	    earliest_sec(sim, spec) > sim->now ||
	    first_obstacle(sim, 0, end_sec, spec) < sim->n_slots)
		return false;
	find_candidates(sim, job);
	return mask_window(sim, 0, end_sec, spec) == sim->n_slots;
}

/* Index of the first job from i on that may start in this pass; last: none. */
static size_t next_startable(struct sim *sim, size_t i, size_t last)
{
	while (i < last && !may_start(sim, sim->queue.at[i]))
		i++;
	return i;
}

/*
 * One pass over the queue, as far as any job may still start. A pass only
 * reserves nodes, so a job that could not start once is not tried again.
 */
static int backfill_pass(struct sim *sim)
{
	size_t last = last_candidate(sim), started = 0, next = 0;
	int rc;

	sim->backfill_changed = false;
	if (!last)
		return 0;
	rc = make_plan(sim);
	sim->n_recent = 0;
	for (size_t i = 0; !rc && i < last; i++) {
		if (i > next || i % RETRY_JOBS == 0)
			next = next_startable(sim, i > next ? i : next, last);
		if (next == last)
			break;
		if (!is_held(sim, sim->queue.at[i]))
			rc = backfill(sim, sim->queue.at[i], &started);
	}
	if (started) {
		remove_started(sim);
		sim->main_again = true;
	}
	return rc;
}

/* Time of the next backfill pass; INT64_MAX: none, as nothing has changed. */
static int64_t backfill_due(const struct sim *sim)
{
	int64_t step = sim->input->scheduler->bf_interval_sec, sec;

	if (!step || !sim->backfill_changed || !sim->queue.n)
		return INT64_MAX;
	sec = round_down(sim->now + step - 1, step);
	return sec > sim->backfilled_sec ? sec : sim->backfilled_sec + step;
}

/* Make a backfill pass if one is due now. */
static int backfill_if_due(struct sim *sim)
{
	if (backfill_due(sim) > sim->now)
		return 0;
	sim->backfilled_sec = sim->now;
	return backfill_pass(sim);
}

/* ---- The simulation ---- */

/* The next second in which something happens; INT64_MAX: never. */
static int64_t next_event(const struct sim *sim)
{
	const int64_t sec[] = {
		sim->submitted == sim->input->n ?
			INT64_MAX :
			sim->job[sim->submitted].submit_sec,
		heap_first(&sim->ends),
		heap_first(&sim->eligible),
		heap_first(&sim->cancels),
		backfill_due(sim),
		decision_due(sim),
	};
	int64_t next = INT64_MAX;

	if (sim->main_again)
		return sim->now + 1;
	for (size_t i = 0; i < NP_ARRAY_SIZE(sec); i++)
		if (sec[i] < next)
			next = sec[i];
	if (next != INT64_MAX && fair_share_due(sim) < next)
		next = fair_share_due(sim);
	return next > sim->now || next == INT64_MAX ? next : sim->now + 1;
}

/* Everything that happens in one second, in the order of np_simulate.h. */
static int simulate_second(struct sim *sim, struct np_err *err)
{
	int rc = end_jobs(sim);

	if (!rc)
		rc = cancel_jobs(sim);
	if (!rc)
		rc = submit_jobs(sim, err);
	if (rc)
		return rc;
	update_fair_share(sim);
	rc = decide_if_due(sim, err);
	if (!rc)
		rc = main_pass(sim);
	return rc ? rc : backfill_if_due(sim);
}

/* Go from event to event until all jobs have ended. */
static int simulate_all(struct sim *sim, struct np_err *err)
{
	const struct np_sim_input *input = sim->input;
	unsigned events = 0;
	int rc = 0;

	if (input->n)
		sim->now = input->job[0].submit_sec;
	sim->counts->first_sec = sim->counts->last_sec = sim->now;
	sim->backfilled_sec = sim->now - 1;
	while (!rc && sim->now != INT64_MAX && sim->counts->ended < input->n) {
		rc = simulate_second(sim, err);
		if (input->go_on && ++events % GO_ON_EVENTS == 0 &&
		    !input->go_on(input->arg, sim->counts->ended)) {
			sim->counts->stopped = true;
			break;
		}
		sim->now = next_event(sim);
	}
	return rc;
}

/* Check a job of the input. 0 or -EINVAL with err. */
static int check_job(const struct np_sim_input *input, size_t i,
		     struct np_err *err)
{
	const struct np_sim_job *spec = &input->job[i];

	if (spec->submit_sec < 0 || spec->submit_sec > NP_SIM_MAX_SEC ||
	    (i && spec->submit_sec < input->job[i - 1].submit_sec))
		return np_errf(err, -EINVAL,
			       "job %zu: submitted at %lld s; expected 0 or "
			       "more, in order",
			       i, (long long)spec->submit_sec);
	if (!spec->run_sec || !spec->limit_sec || !spec->nodes ||
	    spec->limit_sec > NP_SIM_MAX_LIMIT_SEC ||
	    spec->run_sec > NP_SIM_MAX_LIMIT_SEC)
		return np_errf(err, -EINVAL,
			       "job %zu: %u nodes for %u s, limit"
			       " %u s; expected 1 to %u each",
			       i, spec->nodes, spec->run_sec, spec->limit_sec,
			       NP_SIM_MAX_LIMIT_SEC);
	if (spec->cpus > input->cluster->cpus)
		return np_errf(err, -EINVAL,
			       "job %zu: %u CPUs of a node that has %u", i,
			       spec->cpus, input->cluster->cpus);
	if (input->scheduler->fair_period_sec && spec->user >= NP_SIM_MAX_JOBS)
		return np_errf(err, -EINVAL,
			       "job %zu: user %u; with fair share"
			       " expected less than %d",
			       i, spec->user, NP_SIM_MAX_JOBS);
	if (input->assoc && spec->user >= input->n_assocs)
		return np_errf(err, -EINVAL,
			       "job %zu: user %u of %zu in the tree of shares",
			       i, spec->user, input->n_assocs);
	if (spec->after != NP_SIM_NO_JOB && spec->after >= i)
		return np_errf(err, -EINVAL,
			       "job %zu: it waits for job %u, which is not an "
			       "earlier one",
			       i, spec->after);
	if (spec->partition >= input->cluster->n_partitions)
		return np_errf(err, -EINVAL, "job %zu: partition %u of %zu", i,
			       spec->partition, input->cluster->n_partitions);
	if (spec->profile < NP_PROFILE_UNKNOWN ||
	    (input->slowdowns && spec->profile >= (int64_t)input->slowdowns->n))
		return np_errf(err, -EINVAL, "job %zu: no profile %d", i,
			       spec->profile);
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
			return np_errf(err, -EINVAL,
				       "share %zu: parent %u is not an earlier "
				       "one, or has more than %d"
				       " levels above it",
				       i, input->assoc[i].parent,
				       NP_SIM_MAX_DEPTH);
	}
	return 0;
}

/* Check the input. 0 or -EINVAL with err. */
static int check_input(const struct np_sim_input *input, struct np_err *err)
{
	const struct np_sim_cluster *cluster = input->cluster;
	int rc = 0;

	if (!cluster->n_partitions ||
	    cluster->n_partitions > NP_SIM_MAX_PARTITIONS || !cluster->cpus ||
	    cluster->cpus > NP_SIM_MAX_CPUS || !cluster->leaves->n_nodes)
		return np_errf(
			err, -EINVAL,
			"cluster: %zu partitions, %u CPUs a node, %zu nodes; "
			"expected 1 to %d, 1 to %d, and 1 or more",
			cluster->n_partitions, cluster->cpus,
			cluster->leaves->n_nodes, NP_SIM_MAX_PARTITIONS,
			NP_SIM_MAX_CPUS);
	if (!input->scheduler->bf_resolution_sec)
		return np_errf(err, -EINVAL,
			       "bf_resolution 0 s; expected 1 or more");
	if (input->policy && !input->policy->interval_sec)
		return np_errf(err, -EINVAL,
			       "PlacementInterval 0 s; expected 1 or more");
	if (input->n > NP_SIM_MAX_JOBS)
		return np_errf(err, -EINVAL, "%zu jobs; expected at most %d",
			       input->n, NP_SIM_MAX_JOBS);
	if (input->known &&
	    (!input->slowdowns || input->known->n != input->slowdowns->n))
		return np_errf(err, -EINVAL,
			       "placement knows %zu profiles of %zu",
			       input->known->n,
			       input->slowdowns ? input->slowdowns->n : 0);
	rc = check_shares(input, err);
	for (size_t i = 0; !rc && i < input->n; i++)
		rc = check_job(input, i, err);
	return rc;
}

/* Convert the partitions to bitmaps by position, and count their nodes. */
static void make_partitions(struct sim *sim)
{
	const struct np_sim_cluster *cluster = sim->input->cluster;

	for (size_t i = 0; i < cluster->n_partitions; i++) {
		for (size_t node = 0; node < sim->leaves->n_nodes; node++) {
			uint32_t pos = sim->leaves->place[node];

			if (!np_bits_test(cluster->partition[i], node))
				continue;
			np_bits_set(sim->partition[i], pos);
			sim->in_partitions[pos] |= UINT64_C(1) << i;
			sim->partition_size[i]++;
		}
		sim->partition_idle[i] = sim->partition_size[i];
	}
}

/* Allocate what is per node and per leaf; all nodes are idle at first. */
static int make_nodes(struct sim *sim)
{
	const struct np_sim_cluster *cluster = sim->input->cluster;
	const struct np_leaves *leaves = sim->leaves;
	size_t n = leaves->n_nodes;
	uint64_t *sets;

	sim->words = np_bits_words(n);
	sets = calloc((5 + cluster->n_partitions) * sim->words, sizeof(*sets));
	sim->idle = sets;
	sim->in_partitions = calloc(n, sizeof(*sim->in_partitions));
	sim->leaf_at = calloc(n, sizeof(uint32_t));
	sim->leaf_nodes = calloc(leaves->n + 1, sizeof(uint32_t));
	sim->leaf_list = calloc(leaves->n + 1, sizeof(uint32_t));
	sim->chosen = calloc(n, sizeof(*sim->chosen));
	sim->leaf_jobs = calloc(leaves->n + 1, sizeof(*sim->leaf_jobs));
	sim->cpus = sim->shared ? calloc(n, sizeof(*sim->cpus)) : NULL;
	sim->part = calloc(sim->words, sizeof(*sim->part));
	if (!sets || !sim->in_partitions || !sim->leaf_nodes || !sim->chosen ||
	    !sim->leaf_at || !sim->leaf_list || !sim->leaf_jobs || !sim->part ||
	    (sim->shared && !sim->cpus))
		return -ENOMEM;
	sim->mask = sets + sim->words;
	sim->blocked = sim->mask + sim->words;
	sim->found = sim->blocked + sim->words;
	sim->saved = sim->found + sim->words;
	for (size_t i = 0; i < cluster->n_partitions; i++)
		sim->partition[i] = sim->saved + (i + 1) * sim->words;
	for (size_t i = 0; i < n; i++) {
		uint32_t leaf = leaves->leaf[leaves->node[i]];

		sim->leaf_at[i] = leaf == NP_NO_LEAF ? (uint32_t)leaves->n :
						       leaf;
		np_bits_set(sim->idle, i);
		if (sim->shared)
			sim->cpus[i] = (uint16_t)cluster->cpus;
	}
	sim->free_cpus = (uint64_t)n * cluster->cpus;
	make_partitions(sim);
	return 0;
}

/* Allocate what is per job, and list the jobs that depend on each other. */
static int make_jobs(struct sim *sim)
{
	size_t n = sim->input->n;

	sim->running = calloc(n + 1, sizeof(*sim->running));
	sim->ends.position = calloc(n + 1, sizeof(*sim->ends.position));
	sim->followers = malloc((n + 1) * sizeof(*sim->followers));
	sim->next_follower = malloc((n + 1) * sizeof(*sim->next_follower));
	if (!sim->running || !sim->ends.position || !sim->followers ||
	    !sim->next_follower)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sim->followers[i] = NP_SIM_NO_JOB;
	for (uint32_t i = (uint32_t)n; i--;) {
		uint32_t after = sim->job[i].after;

		sim->outcome[i] = (struct np_sim_outcome){
			.eligible_sec = -1,
			.start_sec = -1,
			.end_sec = -1,
		};
		if (after == NP_SIM_NO_JOB)
			continue;
		sim->next_follower[i] = sim->followers[after];
		sim->followers[after] = i;
	}
	return 0;
}

/* The tree of shares: depths, and the part that each has of its siblings'. */
static int make_branches(struct sim *sim)
{
	const struct np_sim_assoc *assoc = sim->input->assoc;
	double *sum = calloc(sim->n_users + 1, sizeof(*sum));

	sim->branch = calloc(sim->n_users + 1, sizeof(*sim->branch));
	if (!sum || !sim->branch) {
		free(sum);
		return -ENOMEM;
	}
	for (size_t i = 0; i < sim->n_users; i++) {
		bool below = assoc[i].parent != NP_SIM_NO_PARENT;

		if (below)
			sim->branch[i].depth =
				sim->branch[assoc[i].parent].depth + 1;
		if (assoc[i].shares != NP_SIM_SHARES_OF_PARENT)
			sum[below ? assoc[i].parent : sim->n_users] +=
				assoc[i].shares;
	}
	for (size_t i = 0; i < sim->n_users; i++)
		sim->branch[i].part = assoc[i].shares /
				      sum[assoc[i].parent != NP_SIM_NO_PARENT ?
						  assoc[i].parent :
						  sim->n_users];
	free(sum);
	return 0;
}

/* Allocate what is per user. */
static int make_usage(struct sim *sim)
{
	uint32_t half_life = sim->input->scheduler->fair_half_life_sec;
	uint32_t period = sim->input->scheduler->fair_period_sec;

	if (!period)
		return 0;
	sim->n_users = sim->input->assoc ? sim->input->n_assocs : 0;
	for (size_t i = 0; i < sim->input->n; i++)
		if (sim->n_users <= sim->job[i].user)
			sim->n_users = (size_t)sim->job[i].user + 1;
	sim->usage = calloc(sim->n_users + 1, sizeof(*sim->usage));
	sim->by_usage = calloc(sim->n_users + 1, sizeof(*sim->by_usage));
	if (!sim->usage || !sim->by_usage)
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->n_users; i++)
		sim->by_usage[i] = i;
	sim->decay = UINT64_C(1) << 32;
	if (half_life)
		sim->decay =
			(uint64_t)(0x1p32 * exp2(-(double)period / half_life));
	return sim->input->assoc ? make_branches(sim) : 0;
}

/* Free everything; called after errors as well. */
static void free_simulation(struct sim *sim)
{
	void *const arrays[] = {
		sim->leaf_jobs,	    sim->running,    sim->usage,
		sim->by_usage,	    sim->branch,     sim->followers,
		sim->next_follower, sim->ends.at,    sim->ends.position,
		sim->eligible.at,   sim->cancels.at, sim->expected.at,
		sim->queue.at,	    sim->idle,	     sim->in_partitions,
		sim->leaf_at,	    sim->leaf_nodes, sim->leaf_list,
		sim->chosen,	    sim->cpus,	     sim->slot,
		sim->part,
	};

	placing_free(sim);
	for (size_t i = 0; i < sim->slot_room; i++) {
		free(sim->slot[i].idle);
		free(sim->slot[i].cpus);
	}
	for (size_t i = 0; sim->running && i < sim->input->n; i++)
		if (sim->running[i])
			release_running(sim, (uint32_t)i);
	for (size_t i = 0; sim->leaf_jobs && i < sim->leaves->n; i++)
		free(sim->leaf_jobs[i].at);
	for (size_t i = 0; i < NP_ARRAY_SIZE(arrays); i++)
		free(arrays[i]);
}

int np_simulate(const struct np_sim_input *input,
		struct np_sim_outcome *outcome, struct np_sim_counts *counts,
		struct np_err *err)
{
	struct sim sim = {
		.input = input,
		.job = input->job,
		.leaves = input->cluster->leaves,
		.outcome = outcome,
		.known = input->known ? input->known : input->slowdowns,
		.counts = counts,
		.queue.before = has_precedence,
		.expected.before = expected_first,
	};
	int rc = check_input(input, err);

	if (rc)
		return rc;
	*counts = (struct np_sim_counts){ .ended = 0 };
	for (size_t i = 0; i < input->n; i++)
		sim.shared |= shares_nodes(&sim, &input->job[i]);
	rc = make_nodes(&sim) || make_jobs(&sim) || make_usage(&sim) ? -ENOMEM :
								       0;
	if (!rc && input->policy && input->policy->mode != NP_MODE_OFF &&
	    input->slowdowns)
		rc = placing_init(&sim);
	if (!rc)
		rc = simulate_all(&sim, err);
	/* Expected ends of jobs that are still running do not count. */
	for (size_t i = 0; sim.running && i < input->n; i++)
		if (sim.running[i] && !sim.running[i]->completing)
			outcome[i].end_sec = -1;
	free_simulation(&sim);
	return rc == -ENOMEM ? np_errf(err, rc, "simulation: out of memory") :
			       rc;
}

/*
 * Simulation: replays a queue of jobs through Slurm's scheduling rules, with or
 * without netprof's placement decisions.
 *
 * A pure function: no clock, no file, no output. Time is in whole seconds. In
 * every second in which something happens, in this order:
 *
 *   1. Jobs end, because their work is done or their time limit is reached.
 *      Their nodes become free completing_sec later. Plans expect them at the
 *      time limit, or in the next second if that has passed.
 *   2. Jobs that their user cancels leave the queue. Then jobs are submitted,
 *      or become eligible because the job they depend on has ended.
 *      With fair share, at every multiple of fair_period_sec, the usage of each
 *      user is brought up to date: CPU-seconds of the jobs so far, which decay.
 *      From then on, jobs of users with less usage come first or, with a tree
 *      of shares, those of users with more of their share left.
 *   3. Placement decides: np_placement_decide(), or np_placement_submit() for a
 *      job submitted between two decisions.
 *   4. The main scheduling pass: jobs by fair share, priority, submission and
 *      number. A job that cannot start keeps the jobs behind it off the nodes
 *      of its partition. Another main pass follows in the next second if this
 *      one ended at queue_depth, or if backfill started jobs, as it may reach
 *      other jobs.
 *   5. The backfill pass, at every multiple of bf_interval if anything has
 *      changed since the last one. Each job gets the earliest time at which
 *      enough nodes are expected to be free for all of its time limit, and
 *      starts if that is now; otherwise the nodes are reserved for it.
 *
 * Nodes are chosen as topology/tree does: below the lowest switch that has
 * enough free nodes; of several at one level, the one with the fewest. If that
 * is not a leaf, its part with the most free nodes is used up first, until one
 * part has enough for the rest. On a leaf, nodes are taken in order. Where no
 * switch has enough, the whole cluster counts as one.
 *
 * A running job makes progress at the rate 1 / (1 + slowdown). The slowdown is
 * the one predicted (np_conflict.h) for the worst of its leaves, from the jobs
 * that are on that leaf at the moment.
 */
#ifndef NP_SIMULATE_H
#define NP_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_placement.h"

#define NP_SIM_NO_JOB UINT32_MAX
#define NP_SIM_MAX_PARTITIONS 64
#define NP_SIM_MAX_CPUS 4096 /* of a node */
#define NP_SIM_MAX_JOBS 4000000
#define NP_SIM_MAX_SEC (INT64_C(1) << 40)
#define NP_SIM_MAX_LIMIT_SEC (1u << 30)

/* A switch above leaf switches. */
struct np_sim_switch {
	uint32_t level; /* 1 or more; larger than that of the switches below */
	const uint64_t *leaves; /* bitmap of all leaves below it */
};

/* All partitions have the same scheduling rules. */
struct np_sim_cluster {
	struct np_leaves *leaves;
	uint32_t cpus; /* of each node; 1: nodes are never shared */
	const uint64_t *const *partition; /* bitmap of the nodes of each */
	size_t n_partitions;		  /* at least 1 */
	const struct np_sim_switch *above;
	size_t n_above; /* 0: only leaves are known */
};

/* A job; other jobs are referred to by index. */
struct np_sim_job {
	int64_t submit_sec; /* not decreasing */
	int64_t cancel_sec; /* when its user cancels it; 0: never */
	uint32_t run_sec;   /* without other jobs, at least 1 */
	uint32_t limit_sec; /* time limit, at least 1 */
	uint32_t nodes;	    /* at least 1 */
	uint32_t cpus;	    /* on each node; 0: the whole node */
	uint32_t priority;  /* larger first */
	uint32_t after;	    /* earlier job that must end first, or
			       NP_SIM_NO_JOB */
	uint32_t think_sec; /* from the end of that job until it is eligible */
	uint32_t user;	    /* with a tree of shares, an index into it */
	int32_t profile;    /* handle of the table, or NP_PROFILE_UNKNOWN */
	uint16_t partition;
};

/*
 * A user or account in the tree of shares, ranked as Slurm's Fair Tree does.
 * Among siblings, the one whose part of their shares is largest relative to its
 * part of their usage comes first, with everything below it. The children of
 * equal siblings are compared as if they had one parent.
 */
#define NP_SIM_NO_PARENT UINT32_MAX
#define NP_SIM_SHARES_OF_PARENT UINT32_MAX /* Fairshare=parent */
#define NP_SIM_MAX_DEPTH 32

struct np_sim_assoc {
	uint32_t parent; /* earlier in the list, or NP_SIM_NO_PARENT */
	uint32_t shares; /* raw shares, or NP_SIM_SHARES_OF_PARENT */
};

/* Parameters of slurm.conf(5). */
struct np_sim_scheduler {
	uint32_t queue_depth;	  /* default_queue_depth, of the main pass */
	uint32_t bf_interval_sec; /* 0: no backfill */
	uint32_t bf_window_sec;
	uint32_t bf_resolution_sec; /* at least 1 */
	uint32_t bf_max_job_test;
	/* How long nodes stay in state COMPLETING after a job. */
	uint32_t completing_sec;
	uint32_t fair_period_sec;    /* PriorityCalcPeriod; 0: no fair share */
	uint32_t fair_half_life_sec; /* PriorityDecayHalfLife; 0: no decay */
};

/* Slurm's defaults, without fair share. */
static inline void np_sim_scheduler_init(struct np_sim_scheduler *scheduler)
{
	*scheduler = (struct np_sim_scheduler){
		.queue_depth = 100,
		.bf_interval_sec = 30,
		.bf_window_sec = 86400,
		.bf_resolution_sec = 60,
		.bf_max_job_test = 500,
	};
}

struct np_sim_policy {
	enum np_mode mode;
	uint32_t interval_sec; /* between two decisions, at least 1 */
	struct np_policy policy;
};

enum np_sim_how {
	NP_SIM_PENDING,	  /* it has not started */
	NP_SIM_MAIN,	  /* started by the main pass */
	NP_SIM_BACKFILL,  /* started by backfill */
	NP_SIM_TOO_LARGE, /* its partition has too few nodes */
	NP_SIM_CANCELLED, /* while it was pending */
};

/* What became of a job. */
struct np_sim_outcome {
	int64_t eligible_sec, start_sec, end_sec; /* -1: never */
	uint32_t held_sec;	 /* how long placement has held it back */
	uint8_t how;		 /* enum np_sim_how */
	bool was_restricted : 1; /* placement restricted it to leaves once */
	bool was_held : 1;	 /* placement held it once */
	bool released : 1;	 /* placement released it at MaxDefer */
	bool over_limit : 1;	 /* it was slowed beyond its time limit */
	bool slowed : 1; /* a job that slows it ran on one of its leaves */
};

/* Called at every start; node: indices of the job's nodes, ascending. */
typedef void np_sim_start_f(void *arg, uint32_t job,
			    const struct np_sim_outcome *outcome,
			    const uint32_t *node, size_t n);

struct np_sim_input {
	const struct np_sim_cluster *cluster;
	const struct np_sim_job *job;
	size_t n; /* jobs */
	const struct np_sim_scheduler *scheduler;
	/* The tree of shares, for fair share; NULL: all users are equal. */
	const struct np_sim_assoc *assoc;
	size_t n_assocs;
	struct np_slowdowns *slowdowns; /* NULL: no job slows another */
	/*
	 * The same table as placement knows it: without uncertain predictions,
	 * on which it does not act. NULL: all of slowdowns.
	 */
	struct np_slowdowns *known;
	const struct np_sim_policy *policy; /* NULL: no placement */
	bool rigid; /* run times are as given, whatever else runs */
	np_sim_start_f *started; /* may be NULL */
	/*
	 * Called from time to time with the number of jobs that have ended; if
	 * it returns false, the simulation stops. May be NULL.
	 */
	bool (*go_on)(void *arg, size_t ended);
	void *arg;
};

struct np_sim_counts {
	size_t decisions;	       /* calls of placement */
	size_t ended, backfill_starts; /* jobs */
	int64_t first_sec, last_sec;   /* first submission, last event */
	bool stopped;		       /* by go_on() */
};

/*
 * Simulate. outcome[input->n] is filled in. Returns 0, -EINVAL with err (an
 * impossible setting, or job, named by its index) or -ENOMEM.
 */
int np_simulate(const struct np_sim_input *input,
		struct np_sim_outcome *outcome, struct np_sim_counts *counts,
		struct np_err *err);

#endif

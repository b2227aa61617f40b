/*
 * Results of simulations: a summary of one, and the difference that a placement
 * policy makes to the same queue.
 */
#ifndef NP_SIM_RESULT_H
#define NP_SIM_RESULT_H

#include "np_simulate.h"

#define NP_SIM_LONG_HOLD_SEC 600 /* held longer than this is a long hold */
#define NP_SIM_SHORT_SEC 10 /* shorter run times count as this in slowdowns */
#define NP_SIM_WEEK_SEC (7 * 86400)
#define NP_SIM_MAX_UNITS 65536 /* weeks of all seeds */

struct np_sim_summary {
	size_t jobs, started, ended, cancelled, too_large;
	double wait_mean_sec, wait_median_sec, wait_p95_sec;
	double slowdown_mean; /* (wait + run time) / run time alone, bounded */
	double used_node_sec, lost_node_sec; /* lost: to interference */
	double utilisation; /* of all nodes, first submission to last end */
	double makespan_sec;
	/* Numbers of jobs: held by placement, held long, released as MaxDefer
	   was reached, restricted to leaves, slowed beyond their time limit,
	   and slowed at all. */
	size_t held, held_long, let_go, confined, limits, slowed;
	double held_longest_sec;
	size_t decisions, main_starts, backfill_starts;
};

/* Returns 0 or -ENOMEM. */
int np_sim_summarise(const struct np_sim_input *ask,
		     const struct np_sim_outcome *fate,
		     const struct np_sim_counts *counts,
		     struct np_sim_summary *out);

/*
 * Sums over the jobs submitted in one week with one seed that ended both
 * without and with the policy.
 */
struct np_sim_unit {
	double used, lost_without, lost_with; /* node-seconds */
	double wait_without, wait_with;	      /* seconds */
	double jobs;
};

struct np_sim_units {
	struct np_sim_unit *at;
	size_t n;
};

/* Append the weeks of one seed. Returns 0 or -ENOMEM. */
int np_sim_compare(const struct np_sim_input *ask,
		   const struct np_sim_outcome *without,
		   const struct np_sim_outcome *with, struct np_sim_units *units);

/* A ratio with its 95 % interval, which is NaN for a single week. */
struct np_sim_share {
	double value, low, high;
};

struct np_sim_gain {
	struct np_sim_share recovered; /* node-seconds no longer lost, over
					  those used without the policy */
	struct np_sim_share delay;     /* change of the wait, over that without
					  the policy */
	double wait_change_sec;	       /* per job, mean */
};

/*
 * Intervals are from a bootstrap over weeks and seeds. Returns 0 or -ENOMEM.
 */
int np_sim_gain(const struct np_sim_units *units, struct np_sim_gain *out);

#endif

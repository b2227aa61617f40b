/*
 * What jobs cost each other over some days, from accounting alone, in
 * node-hours: which applications slow which others on shared leaf switches, on
 * which leaf switches, and on which nodes jobs are slower than elsewhere.
 *
 * Runs of one class are comparable (np_acct_comparable()). Their run times are
 * fitted to the share of time for which each neighbour was near
 * (np_blame_costs()). An application is a user's job name. Pure.
 */
#ifndef NP_JOB_COST_H
#define NP_JOB_COST_H

#include "np_acct.h"
#include "np_blame.h"

#define NP_JOB_COST_MIN_RUNS 5	      /* of a class */
#define NP_JOB_COST_LEAST_NEAR 4      /* of these runs, near a neighbour */
#define NP_JOB_COST_MOST_RUNS 200     /* of a class, the newest */
#define NP_JOB_COST_MOST_CLASSES 3000 /* those with most node-hours */
#define NP_JOB_COST_CHANCE 0.1	      /* share of the listed pairs, at most */
#define NP_JOB_COST_NEIGHBOURS 8 /* of a class, those near it for longest */

/*
 * What runs of one application lost because of another one. The first member of
 * this and the next two is what np_order_desc() sorts by.
 */
struct np_job_cost_pair {
	struct np_blame_range node_hours;
	uint32_t user, name, by_user, by_name; /* texts of np_acct */
	uint32_t runs; /* of the first, near the second */
};

struct np_job_cost_leaf {
	struct np_blame_range node_hours; /* lost by all pairs there */
	uint32_t leaf;
};

/* Intervals of nodes are of 95 %, all others of 90 %. */
struct np_job_cost_node {
	/* Lost, with the nodes that waited for it. */
	struct np_blame_range node_hours;
	uint32_t node, runs;
	struct np_blame_range excess_time; /* of jobs there; 0.1 is 10 % */
};

struct np_job_cost {
	struct np_job_cost_pair *pair; /* the costliest first */
	size_t n_pairs;
	struct np_job_cost_leaf *leaf;
	size_t n_leaves;
	struct np_job_cost_node *node;
	size_t n_nodes;
	size_t n_jobs, n_compared; /* that started; whose times were compared */
	size_t n_groups;	   /* of comparable runs */
	size_t n_examined;	   /* pairs that met in enough runs */
	size_t n_dropped_meetings; /* of two jobs, to limit the memory */
	double node_hours;	   /* of all jobs */
};

/*
 * Because there are many pairs and nodes, one is listed only if a wide
 * confidence interval of its cost is above 0. Of the pairs that are listed, at
 * most NP_JOB_COST_CHANCE are expected to be chance: the slowed runs must also
 * have taken longer than others of their class by the test of np_ranks.h, whose
 * limit follows from the number of pairs (Benjamini, Hochberg 1995). Returns 0
 * or -ENOMEM; free with np_job_cost_free().
 */
int np_job_cost_make(const struct np_acct *h, struct np_job_cost *out);
void np_job_cost_free(struct np_job_cost *t);

#endif

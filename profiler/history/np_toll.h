/*
 * What jobs cost each other over some days, from accounting alone: which
 * applications slow which others on shared leaf switches, on which leaf
 * switches, and on which nodes jobs are slower than elsewhere.  In node-hours.
 *
 * Runs of one class are alike (np_acct_job_same()); their run times are fitted
 * to how much of the time which neighbours were beside them (np_blame_costs()).
 * An application is a user's job name.  Pure.
 */
#ifndef NP_TOLL_H
#define NP_TOLL_H

#include "np_acct.h"
#include "np_blame.h"

#define NP_TOLL_LEAST_RUNS 5 /* of a class */
#define NP_TOLL_LEAST_BESIDE 4 /* of these, beside a neighbour that counts */
#define NP_TOLL_MOST_RUNS 200 /* of a class, the newest */
#define NP_TOLL_MOST_CLASSES 3000 /* those with most node-hours */
#define NP_TOLL_NEIGHBOURS 8 /* of a class, those with most time beside it */

/* What runs of one application lost beside another one. */
struct np_toll_pair {
	uint32_t user, name, by_user, by_name; /* texts of np_acct */
	uint32_t runs;			       /* of the one, beside the other */
	struct np_blame_range node_hours;
};

struct np_toll_leaf {
	uint32_t leaf;
	double node_hours; /* of all pairs there */
};

struct np_toll_node {
	uint32_t node, runs;
	struct np_blame_range slower; /* than the same runs elsewhere, 0.1: 10 % */
	double node_hours;	      /* of its own and the nodes that waited */
};

struct np_toll {
	struct np_toll_pair *pair; /* the costliest first */
	size_t n_pairs;
	struct np_toll_leaf *leaf;
	size_t n_leaves;
	struct np_toll_node *node;
	size_t n_nodes;
	size_t n_jobs, n_used;	/* that started; whose run times were compared */
	size_t n_classes;
	double node_hours;	/* of all jobs */
};

/*
 * Pairs and nodes are kept where a wide interval is above 0, as there are many of
 * them.  0 or -ENOMEM.  np_toll_free().
 */
int np_toll_make(const struct np_acct *h, struct np_toll *out);
void np_toll_free(struct np_toll *t);

#endif

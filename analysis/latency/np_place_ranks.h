/*
 * Placement of ranks on nodes: searches for a placement with a shorter run
 * time.
 *
 * The run can only become shorter if a message on the critical path passes
 * fewer switches. Therefore a descent moves a rank at one end of such a message
 * closer to the other end, in exchange with another rank or to a free place, as
 * long as that shortens the run. When no such change helps, the search restarts
 * from the best placement with some random changes, until all trials are used.
 * The best placement found is the result. (This is a quadratic assignment
 * problem, which is NP-hard.)
 */
#ifndef NP_PLACE_RANKS_H
#define NP_PLACE_RANKS_H

#include "np_tolerance.h"

struct np_place_result {
	double before_ns, after_ns; /* run time */
	size_t trials;		    /* simulations of changed placements */
	size_t swaps; /* exchanges and moves that led to the result */
	size_t restarts;
	/* The first descent ended because no single change helped any more. */
	bool converged;
};

/*
 * Search with at most max_trials trials, each of which takes as long as
 * np_tolerance_simulate(). node: by rank, the initial placement, used instead
 * of opt->placed.node; on success it is replaced by the best one. per_node:
 * ranks that a node may have. Returns 0 or an error of np_tolerance_new(), with
 * err.
 */
int np_place_ranks(const struct np_graph *graph,
		   const struct np_tolerance_opt *opt, uint32_t *node,
		   uint32_t per_node, size_t max_trials,
		   struct np_place_result *out, struct np_err *err);

#endif

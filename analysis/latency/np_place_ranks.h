/*
 * Which rank on which node: a search for a placement with a shorter run time.
 *
 * The run becomes shorter only if a message on its critical path does.  So a
 * rank at one end of such a message goes nearer to the other end, to a node
 * with room or in exchange with another rank, as long as that makes the longest
 * path shorter; each trial is a whole computation of it.  When nothing of that
 * is of use any more, some ranks change places at random and the search begins
 * anew, until all trials are used; the best placement stays.  (The problem is a
 * quadratic assignment, and hard.)
 */
#ifndef NP_PLACE_RANKS_H
#define NP_PLACE_RANKS_H

#include "np_tolerance.h"

struct np_place_result {
	double before_ns, after_ns;
	size_t trials, swaps; /* swaps: changes that led to the best */
	size_t restarts;
	bool ended; /* no single change makes it shorter */
};

/*
 * opt->placed has the nodes of node[], which change in place; a node has room
 * for per_node ranks.  At most so many trials, each as long as
 * np_tolerance_simulate().  Returns 0 or what np_tolerance_new() returns;
 * node[] is then the best so far.
 */
int np_place_ranks(const struct np_graph *g,
		   const struct np_tolerance_opt *opt, uint32_t *node,
		   uint32_t per_node, size_t max_trials,
		   struct np_place_result *out, struct np_err *err);

#endif

/*
 * Placement of ranks on nodes: searches for a placement with a shorter run
 * time.
 *
 * The run time can only fall if a message on the critical path becomes shorter.
 * Therefore the search moves a rank at one end of such a message closer to the
 * other end, to a node with room or in exchange with another rank, for as long
 * as that shortens the longest path. Each trial computes the whole path. When
 * no such move helps, some ranks are exchanged at random and the search starts
 * again, until all trials are used; the best placement is returned. (The
 * problem is a quadratic assignment problem, which is NP-hard.)
 */
#ifndef NP_PLACE_RANKS_H
#define NP_PLACE_RANKS_H

#include "np_tolerance.h"

struct np_place_result {
	double before_ns, after_ns;
	/* swaps: number of changes that led to the best placement */
	size_t trials, swaps;
	size_t restarts;
	bool ended; /* no single change shortens the run */
};

/*
 * opt->placed refers to node[], which is changed in place; a node has room for
 * per_node ranks. Makes at most max_trials trials, each of which takes as long
 * as np_tolerance_simulate(). Returns 0, or an error of np_tolerance_new();
 * node[] then holds the best placement so far.
 */
int np_place_ranks(const struct np_graph *g,
		   const struct np_tolerance_opt *opt, uint32_t *node,
		   uint32_t per_node, size_t max_trials,
		   struct np_place_result *out, struct np_err *err);

#endif

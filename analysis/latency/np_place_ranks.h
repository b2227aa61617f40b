/*
 * Which rank on which node: a search for a placement with a shorter run time.
 *
 * Two ranks change places as long as that makes the longest path shorter; each
 * trial is a whole computation of it.  What is found is at least as good as
 * what it began with, and no exchange of two ranks makes it better if it ended
 * before its trials did.  (The problem is a quadratic assignment, and hard.)
 */
#ifndef NP_PLACE_RANKS_H
#define NP_PLACE_RANKS_H

#include "np_tolerance.h"

struct np_place_result {
	double before_ns, after_ns;
	size_t trials, swaps;
	bool ended; /* no exchange of two ranks makes it shorter */
};

/*
 * opt->placed has the nodes of node[], which change in place.  At most so many
 * trials, each as long as np_tolerance_new().  Returns 0 or what that returns;
 * node[] is then the best so far.
 */
int np_place_ranks(const struct np_graph *g,
		   const struct np_tolerance_opt *opt, uint32_t *node,
		   size_t max_trials, struct np_place_result *out,
		   struct np_err *err);

#endif

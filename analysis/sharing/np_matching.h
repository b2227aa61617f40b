/*
 * Counts the maximal matchings of a bipartite multigraph: the state sets of the
 * Myrinet model. Sources form one side, destinations the other, and
 * communications are edges. A matching is maximal if no edge can be added to
 * it.
 *
 * Sources are processed one after the other. A state records for each open
 * destination (one that has both an earlier and a later source) whether it is
 * free, used, or must still be used: the last if a source that could have used
 * it uses nothing. Sums over states in both directions give the number of
 * matchings, and of those that contain a given edge. Counting is #P-hard. The
 * number of states is at most 3^(maximum of open destinations), which is tiny
 * for trees and paths.
 */
#ifndef NP_MATCHING_H
#define NP_MATCHING_H

#include "np_ports.h"

/* Maximum number of states in memory, at 16 to about 100 bytes each. */
#define NP_MATCHING_MAX_STATES ((size_t)1 << 22)

/*
 * share[i]: share of the maximal matchings that contain edge i (> 0). *ln_sets
 * (may be NULL): logarithm of their number. The graph need not be connected.
 * Returns 0; -E2BIG, with err naming the size of a component that needs more
 * than max_states in every order tried; or -ENOMEM with err.
 */
int np_matching_all(const struct np_ports *p, size_t max_states, double *share,
		    double *ln_sets, struct np_err *err);

#endif

/*
 * Maximal matchings of a bipartite multigraph, counted: the state sets of the
 * Myrinet model.  Vertices of the one side are sources, of the other one
 * destinations, edges are communications; a matching is maximal if no edge can
 * be added to it.
 *
 * Sources are taken one by one.  A state says of each destination that is
 * still open (it has a source before and one to come): free, used, or not used
 * although a source that could have used it uses nothing, so that it must be
 * used yet.  Sums over states forward and backward give the number of
 * matchings and of those with a given edge.  Counting is #P-hard; the number
 * of states is at most 3^(most open destinations), tiny for trees and paths.
 */
#ifndef NP_MATCHING_H
#define NP_MATCHING_H

#include "np_ports.h"

/* States kept at once, in 16 to some 100 bytes each. */
#define NP_MATCHING_MAX_STATES ((size_t)1 << 22)

/*
 * Of any graph, by connected parts: share[i], the share of maximal matchings
 * that edge i is in (> 0), and *ln_sets (may be NULL), the logarithm of their
 * number.  Returns 0; -E2BIG with err naming the size of a part that has more
 * than max_states in every order that was tried; -ENOMEM with err.
 */
int np_matching_all(const struct np_ports *p, size_t max_states, double *share,
		    double *ln_sets, struct np_err *err);

#endif

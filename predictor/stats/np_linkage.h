/*
 * Groups of things that are near each other, by the distances of all pairs: which
 * nodes share a leaf switch, by their latencies.
 */
#ifndef NP_LINKAGE_H
#define NP_LINKAGE_H

#include <stddef.h>
#include <stdint.h>

#define NP_LINKAGE_MAX 1024

struct np_linkage {
	size_t n_groups;
	double within, between; /* medians of distances; NaN: there are none */
};

/*
 * dist[i * n + j] is that of i and j, above 0 and the same both ways; NaN: not
 * known.  The distance to its nearest is taken off each first, half of it at each
 * end, as some are slower than others; one that is far from all is alone.  Then groups are joined by their mean distance, until the next
 * ones are further apart by a tenth of a distance, and by more than all that was
 * joined before.  group[i] gets 0, 1, ... in the order of first members.
 * Without such a gap all is one group.
 * Returns 0, -EINVAL (n is 0 or above NP_LINKAGE_MAX, or a thing has no distance)
 * or -ENOMEM.
 */
int np_linkage(const double *dist, size_t n, uint32_t *group,
	       struct np_linkage *out);

#endif

/*
 * Groups of things that are close to each other, by their pairwise distances:
 * which nodes share a leaf switch, by their latencies.
 */
#ifndef NP_LINKAGE_H
#define NP_LINKAGE_H

#include <stddef.h>
#include <stdint.h>

#define NP_LINKAGE_MAX 1024

struct np_linkage {
	size_t n_groups;
	double within, between; /* median distances; NaN: there are none */
};

/*
 * Group n things. dist[i * n + j]: the distance of i and j, above 0 and
 * symmetric; NaN: not known.
 *
 * Distances are taken as logarithms, since noise multiplies them, and are
 * reduced by the share of either end, because some things are slower than
 * others. One that is more than twice the third quartile of all counts as twice
 * that. A grouping is judged by its description length: what is left of the
 * distances after a mean within and one between groups, and which thing is in
 * which group. Average linkage gives the first grouping; things are moved and
 * groups are merged while that shortens the description. The result is kept if
 * it is shorter than that of one group, and if distances between groups are at
 * least a tenth longer. At last, a thing that is further from its group than
 * all others are, by a gap, forms a group of its own. group[i] is set to 0, 1,
 * ... in the order of first members.
 *
 * Returns 0, -EINVAL (n is 0 or above NP_LINKAGE_MAX, or a thing has no known
 * distance) or -ENOMEM.
 */
int np_linkage(const double *dist, size_t n, uint32_t *group,
	       struct np_linkage *out);

#endif

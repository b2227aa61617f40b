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
 * Some things are slower than others, so each distance is first reduced by half
 * the distance of either end to its nearest neighbour. A thing that is far from
 * all others therefore forms a group of its own. Groups are then joined by
 * their mean distance, until the next ones are further apart by more than a
 * tenth of a typical distance, and by more than the range of all joins before.
 * Without such a gap everything is one group. group[i] is set to 0, 1, ... in
 * the order of first members.
 *
 * Returns 0, -EINVAL (n is 0 or above NP_LINKAGE_MAX, or a thing has no known
 * distance) or -ENOMEM.
 */
int np_linkage(const double *dist, size_t n, uint32_t *group,
	       struct np_linkage *out);

#endif

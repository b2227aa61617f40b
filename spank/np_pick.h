/*
 * Which of the nodes that are ready measure a leaf, and who with whom.  A leaf
 * is one shared server, and a few pairs say how busy it is.
 */
#ifndef NP_PICK_H
#define NP_PICK_H

#include <stddef.h>
#include <stdint.h>

#define NP_PICK_MOST 3 /* in a group */

struct np_pick_group {
	size_t n; /* 2; or 3, each of which asks the next */
	size_t node[NP_PICK_MOST]; /* as numbered by the caller */
};

/*
 * leaf[i]: switch of ready node i ("" where there is no topology), or NULL: it
 * is not to be picked.  Of each leaf at most max_pairs pairs of nodes, other
 * ones with another seed; three nodes of a leaf make one group.  out: room for
 * n / 2.  Returns the number of groups; 0 also if there is no memory.
 */
size_t np_pick(const char *const leaf[], size_t n, uint32_t max_pairs,
	       uint64_t seed, struct np_pick_group *out);

#endif

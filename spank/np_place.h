/*
 * Which nodes of a step can be measured, and are, and where its interference
 * level runs: pure functions of the leaves of nodes.
 */
#ifndef NP_PLACE_H
#define NP_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_fabric.h"

struct np_place_node {
	const char *name, *leaf; /* leaf "": no topology, one leaf for all */
	bool in_step;	/* the measured step runs here */
	bool busy;	/* another step of the job runs here */
	bool probe;	/* out: a probe would have a partner here */
	bool level;	/* out: the interference level runs here */
	size_t index;	/* out: where it stood */
};

/*
 * A probe can run on every node of the step that shares its leaf with another
 * one.  The level runs on idle nodes of the allocation under such leaves,
 * where there are two or more on one, so that only the switch is shared;
 * otherwise on the step's nodes themselves.  Where that were more than
 * max_level, it runs on pairs of nodes of a leaf, evenly over all of them.
 * node[] is left ordered by leaf, and by index within one.  *scope: NP_SCOPE_NODE or NP_SCOPE_LEAF.
 * Returns the number of nodes for probes; 0 with why set if there is no pair.
 */
size_t np_place(struct np_place_node *node, size_t n, size_t max_level,
		enum np_scope *scope, struct np_err *why);

/* The end of the leaf that begins at node[first], in that order. */
size_t np_place_leaf_end(const struct np_place_node *node, size_t n,
			 size_t first);

/*
 * Which of the nodes that are ready measure a leaf, and who with whom.  A leaf
 * is one shared server, and a few pairs say how busy it is.
 */

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

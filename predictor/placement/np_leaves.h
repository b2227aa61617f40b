/*
 * Which node hangs on which leaf switch.
 *
 * Nodes are the caller's indices 0 .. n-1 and leaves are numbered as given.
 * A node is on one leaf or on none: a job may always use nodes without a
 * leaf, as nothing is known to be shared there.  Immutable; shared between
 * snapshots by counting references, from any thread.
 *
 * A leaf's nodes are side by side in one order of all nodes, their places: what
 * a set of nodes has on each leaf is then counted in one sweep over its words.
 */
#ifndef NP_LEAVES_H
#define NP_LEAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_LEAVES_MAX 16384
#define NP_LEAVES_MAX_NODES 1000000
#define NP_LEAF_MAX_NODES 65535
#define NP_NO_LEAF UINT32_MAX

struct np_leaves {
	int refs;
	size_t n, n_nodes;
	size_t words, node_words; /* of a bitmap of leaves, and of nodes */
	size_t largest;	 /* nodes of the largest leaf */
	uint32_t *first; /* n + 1: places of leaf i are first[i] .. [i+1]-1;
			    nodes without a leaf follow from first[n] */
	uint32_t *node;	 /* place -> node, on each leaf ascending */
	uint32_t *place; /* node -> place */
	bool in_order;	 /* every node is its own place, as most often */
	uint32_t *leaf;	 /* node -> leaf or NP_NO_LEAF */
	char **name;
};

struct np_leaf {
	const char *name;     /* not empty; for people */
	const uint32_t *node; /* n_nodes indices, in any order */
	size_t n_nodes;
};

/*
 * Build from n leaves over n_nodes nodes; all arrays are borrowed for the
 * call.  *out: release with np_leaves_unref().  Returns 0, -EINVAL with err (a
 * node out of range or on two leaves, a leaf without name, nodes, or with too
 * many; no nodes at all), -E2BIG (too many leaves or nodes) or -ENOMEM.
 */
int np_leaves_new(size_t n_nodes, const struct np_leaf *leaf, size_t n,
		  struct np_leaves **out, struct np_err *err);
struct np_leaves *np_leaves_ref(struct np_leaves *l);
void np_leaves_unref(struct np_leaves *l); /* NULL is allowed */

/*
 * From allowed leaves to the nodes to exclude: every node on a leaf that is
 * not in allowed[].  nodes[] is overwritten.
 */
void np_leaves_excluded(const struct np_leaves *l, const uint64_t *allowed,
			uint64_t *nodes);

/* And back: the leaves none of whose nodes is in nodes[]. */
void np_leaves_allowed(const struct np_leaves *l, const uint64_t *nodes,
		       uint64_t *allowed);

#endif

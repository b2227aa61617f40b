/*
 * Which node hangs on which leaf switch.
 *
 * Nodes are the caller's indices 0 .. n-1 and leaves are numbered as given.
 * A node is on one leaf or on none: a job may always use nodes without a
 * leaf, as nothing is known to be shared there.  Immutable; shared between
 * snapshots by counting references, from any thread.
 */
#ifndef NP_LEAVES_H
#define NP_LEAVES_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_LEAVES_MAX 16384
#define NP_LEAVES_MAX_NODES 1000000
#define NP_LEAF_MAX_NODES 65535
#define NP_NO_LEAF UINT32_MAX

struct np_leaves;

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

size_t np_leaves_n(const struct np_leaves *l);
size_t np_leaves_n_nodes(const struct np_leaves *l);

/* Words of a bitmap of leaves, and of a bitmap of nodes. */
size_t np_leaves_words(const struct np_leaves *l);
size_t np_leaves_node_words(const struct np_leaves *l);

const char *np_leaves_name(const struct np_leaves *l, size_t leaf);

/* The leaf of a node, or NP_NO_LEAF. */
uint32_t np_leaves_of(const struct np_leaves *l, size_t node);

/* The nodes of a leaf, ascending. */
const uint32_t *np_leaves_nodes(const struct np_leaves *l, size_t leaf,
				size_t *n_nodes);

/*
 * From allowed leaves to the nodes to exclude: every node on a leaf that is
 * not in allowed[] (np_leaves_words() words).  nodes[]: np_leaves_node_words()
 * words, overwritten.
 */
void np_leaves_excluded(const struct np_leaves *l, const uint64_t *allowed,
			uint64_t *nodes);

/* And back: the leaves none of whose nodes is in nodes[]. */
void np_leaves_allowed(const struct np_leaves *l, const uint64_t *nodes,
		       uint64_t *allowed);

#endif

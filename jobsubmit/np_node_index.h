/*
 * The node index: host lists from and to bitmaps of nodes.
 *
 * Nodes are indexed by the prefix and number of their names. A list such as
 * "n[0-3,8-15]" is then written and read range by range instead of name by
 * name, so a list of nearly all nodes takes no longer than a list of a few. An
 * index is immutable once made.
 */
#ifndef NP_NODE_INDEX_H
#define NP_NODE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_node_index;

/*
 * Make an index of n nodes. name[i] is the name of node i, or "" if there is no
 * such node; of several nodes with one name, the first has it. The names are
 * borrowed as long as *out exists. Returns 0 or -ENOMEM.
 */
int np_node_index_new(char *const *name, size_t n, struct np_node_index **out);
void np_node_index_free(struct np_node_index *index); /* NULL is allowed */

/*
 * Write a bitmap of nodes as a host list, which is malloc'ed. Returns NULL when
 * out of memory.
 */
char *np_node_index_format(const struct np_node_index *index,
			   const uint64_t *nodes);

/*
 * Set the bits of the nodes in an item of a host list, of len bytes, such as
 * "n[0-3,7]"; names of unknown nodes are ignored. Only items with one pair of
 * brackets, at their end, can be read. The cost depends not on the number of
 * names but on that of spans, i.e. sequences of nodes whose numbers and indices
 * are consecutive. At most *spans_left spans are allowed, and *spans_left is
 * reduced by those used. Returns 0; -ENOENT: the item cannot be read, and
 * nothing is set; -E2BIG: more than *spans_left spans.
 */
int np_node_index_parse(const struct np_node_index *index, const char *item,
			size_t len, uint64_t *nodes, size_t *spans_left);

/*
 * Whether there is a node with this name. If so, its bit is set in nodes, unless
 * that is NULL.
 */
bool np_node_index_find(const struct np_node_index *index, const char *name,
			uint64_t *nodes);

#endif

/* What a graph is made of, for the files np_graph*.c and np_event*.c. */
#ifndef NP_GRAPH_IMPL_H
#define NP_GRAPH_IMPL_H

#include "np_graph.h"
#include "np_numbers.h"

#define NP_GRAPH_NONE UINT32_MAX
#define NP_GRAPH_LARGE_TAG (1u << 31) /* the first that has a number */

/* 24 bytes, as there are up to 2^30 of them. */
struct np_graph_node {
	uint32_t size; /* ns or bytes; of a big one its place in big[] */
	uint32_t peer; /* rank; of a matched message the operation it meets */
	uint32_t tag;
	uint32_t line;
	uint32_t first; /* of its dependencies; they end where the next begin */
	unsigned kind : 2, big : 1, any_peer : 1, cpu : 8, nic : 8,
		context : 12;
};

/* Operations [first, the next part's first), in the order they were added. */
struct np_graph_part {
	uint32_t rank, first;
	char *file; /* NULL: the graph's */
};

struct np_graph {
	char *name;
	uint32_t n_ranks;
	uint32_t *part_of; /* of a rank: its part + 1; 0: none */
	struct np_graph_part *part;
	size_t n_parts, max_parts;
	struct np_graph_node *node;
	size_t n_nodes, max_nodes, n_messages, n_any;
	uint64_t *big;
	size_t n_big, max_big;
	uint32_t *dep; /* node << 1 | kind */
	size_t n_deps, max_deps;
	uint64_t *pending; /* of the present rank: x << 32 | y << 1 | kind */
	size_t n_pending, max_pending;
	uint64_t total_ns, total_bytes;
	struct np_numbers tags; /* of 64 bits, from NP_GRAPH_LARGE_TAG on */
	bool matched;
};

/* Ns or bytes. */
static inline uint64_t np_graph_size(const struct np_graph *g, uint32_t node)
{
	const struct np_graph_node *n = &g->node[node];

	return n->big ? g->big[n->size] : n->size;
}

/* The part that holds a node. */
const struct np_graph_part *np_graph_part_of(const struct np_graph *g,
					     uint32_t node);

/* The first node behind part p. */
static inline uint32_t np_graph_part_end(const struct np_graph *g, size_t p)
{
	return p + 1 < g->n_parts ? g->part[p + 1].first :
				    (uint32_t)g->n_nodes;
}

/* Where the dependencies of a node end. */
static inline uint32_t np_graph_deps_end(const struct np_graph *g,
					 uint32_t node)
{
	return node + 1 < g->n_nodes ? g->node[node + 1].first :
				       (uint32_t)g->n_deps;
}

#endif

/*
 * Internal representation of a graph, for np_graph.c and what traverses graphs.
 */
#ifndef NP_GRAPH_IMPL_H
#define NP_GRAPH_IMPL_H

#include "np_array.h"
#include "np_graph.h"

#define NP_GRAPH_NONE UINT32_MAX
/* first tag that stands for a number in tags */
#define NP_GRAPH_LARGE_TAG (1u << 31)

/*
 * Kept at 16 bytes: a graph may have 2^30 of them, and what goes through all of
 * them takes as long as reading them from memory.
 */
struct np_graph_node {
	uint32_t size; /* ns or bytes; if big is set, an index into big[] */
	/* rank; once matched, the node of the matching operation */
	uint32_t peer;
	/* first dependency; they end where those of the next node begin */
	uint32_t first;
	unsigned kind : 2, big : 1, any_peer : 1, nic : 8;
	unsigned where : 16; /* see np_graph_cpu(), np_graph_context() */
	/* by how many nodes, 2: or more; and whether by any */
	unsigned required : 2, irequired : 1;
};

/* What of a node only matching and messages to the user need. */
struct np_graph_label {
	uint32_t tag, line;
};

/*
 * The operations of one rank: nodes from first to the first of the next part.
 */
struct np_graph_part {
	uint32_t rank, first;
	char *file; /* NULL: that of the graph */
};

struct np_graph {
	char *name;
	uint32_t n_ranks;
	/* by rank: index of its part + 1; 0: no operations */
	uint32_t *part_of;
	struct np_graph_part *part;
	size_t n_parts, max_parts;
	struct np_graph_node *node;
	struct np_graph_label *label; /* by node */
	size_t n_nodes, max_nodes, max_labels, n_messages, n_any;
	uint64_t *big;
	size_t n_big, max_big;
	uint32_t *dep; /* node << 1 | kind */
	size_t n_deps, max_deps;
	uint64_t *pending; /* of the current rank: x << 32 | y << 1 | kind */
	size_t n_pending, max_pending;
	uint64_t total_ns, total_bytes;
	/* 64-bit tags, numbered from NP_GRAPH_LARGE_TAG on */
	struct np_index tags;
	bool matched;
	bool has_cpus, has_contexts; /* not both */
};

/* Size of a node in ns or bytes. */
static inline uint64_t np_graph_size(const struct np_graph *g, uint32_t node)
{
	const struct np_graph_node *n = &g->node[node];

	return n->big ? g->big[n->size] : n->size;
}

/* Processors are known of graphs in GOAL, contexts of those of traces. */
static inline uint16_t np_graph_cpu(const struct np_graph *g, uint32_t node)
{
	return g->has_cpus ? (uint16_t)g->node[node].where : 0;
}

static inline uint32_t np_graph_context(const struct np_graph *g, uint32_t node)
{
	return g->has_contexts ? g->node[node].where : 0;
}

/* The part that contains a node. */
static inline const struct np_graph_part *
np_graph_part_of(const struct np_graph *g, uint32_t node)
{
	size_t low = 0, high = g->n_parts;

	/*
	 * Binary search for the last part that begins at or before node. A
	 * node does not hold its rank, which would cost 4 bytes each.
	 */
	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (g->part[mid].first <= node)
			low = mid;
		else
			high = mid;
	}
	return &g->part[low];
}

/* The node after the last one of part p. */
static inline uint32_t np_graph_part_end(const struct np_graph *g, size_t p)
{
	return p + 1 < g->n_parts ? g->part[p + 1].first : (uint32_t)g->n_nodes;
}

/*
 * Index after the last dependency of a node. A finished graph has one more node
 * than operations, so that this needs no comparison.
 */
static inline uint32_t np_graph_deps_end(const struct np_graph *g,
					 uint32_t node)
{
	return g->node[node + 1].first;
}

#endif

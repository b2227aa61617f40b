/*
 * A graph reduced to what can lie on a longest path, for np_contract.c,
 * np_pass.c and np_tolerance.c.
 *
 * Each vertex v has a time: the maximum over its edges of (time of vertex from)
 * + a + b x, where x is the variable parameter. Vertex 0 has no edges and time
 * 0; the last vertex is the end of the program. Every edge leads from a lower
 * number to a higher one.
 */
#ifndef NP_COMPACT_H
#define NP_COMPACT_H

#include <stddef.h>
#include <stdint.h>

#include "np_tolerance.h"

struct np_edge {
	double a;
	uint32_t from;
	int32_t b; /* never negative; signed, because converting a */
		   /* signed number to double saves a tenth of a pass */
};

struct np_compact {
	struct np_edge *edge;
	uint32_t *first; /* first edge of each vertex; n + 1 entries */
	size_t n, max_n, max_edges;
	/* Only in a link of a chain: */
	uint32_t *in;  /* vertices whose times are given; 0: not needed */
	uint32_t *out; /* vertices whose times the next link is given */
	size_t n_state;
	size_t n_given; /* after ordering these are vertices 1 .. n_given */
};

#define NP_CHAIN_MAX 3

/*
 * Compact graphs in sequence: the output of one is the input of the next. In a
 * chain of three, the middle one is one lap of a loop and stands for all equal
 * laps.
 */
struct np_chain {
	struct np_compact link[NP_CHAIN_MAX];
	size_t n; /* 1 or 3 */
	uint32_t times;
};

static inline size_t np_compact_edges(const struct np_compact *c)
{
	return c->first[c->n];
}

/*
 * Removes edges without changing longest paths: of two edges between the same
 * vertices, one that is at most as long as the other for all x >= 0. Returns
 * how many remain.
 */
size_t np_edge_thin(struct np_edge *e, size_t n);

/*
 * Allocates a large array on large pages where possible, which saves address
 * translations. Free with free(). Returns NULL if memory is short.
 */
void *np_compact_alloc(size_t n, size_t size);

/*
 * Initialises c with room for n vertices. Returns 0 or -ENOMEM. Exported for
 * benchmarks.
 */
int np_compact_reserve(struct np_compact *c, size_t n, size_t edges);

/* Appends a vertex with these edges. Returns 0, -ERANGE or -ENOMEM. */
int np_compact_add(struct np_compact *c, const struct np_edge *e, size_t n);

/* Allocates in and out, filled with 0. Returns 0 or -ENOMEM. */
int np_compact_state(struct np_compact *c, size_t n);

void np_compact_free(struct np_compact *c); /* exported for benchmarks */
void np_chain_free(struct np_chain *c);

/*
 * np_contract() (np_contract.c) turns a graph into a chain: everything in one
 * link, or for a loop three links, for what precedes it, one lap, and what
 * follows it. np_contract_order() (np_compact.c) removes vertices that only one
 * edge leaves and sorts the rest for fast passes. Errors as np_tolerance_new().
 */
int np_contract(const struct np_graph *g, const struct np_tolerance_opt *opt,
		struct np_chain *out, struct np_err *err);
int np_contract_order(struct np_compact *c);

#endif

/*
 * A graph reduced to what can lie on a longest path, for np_tolerance.c.
 *
 * Each vertex v has a time: the maximum over its edges of (time of vertex from)
 * + a + b x, where x is the variable parameter. Vertex 0 has no edges and time
 * 0; the last vertex is the end of the program. Every edge leads from a lower
 * number to a higher one.
 */
#ifndef NP_CONTRACT_H
#define NP_CONTRACT_H

#include <stddef.h>
#include <stdint.h>

#include "np_graph_impl.h"
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
 * chain of three, the middle one is one slice of a loop and stands for all
 * equal slices.
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
 * Allocates a large array on large pages where possible, which saves address
 * translations. Free with free(). Returns NULL if memory is short.
 */
void *np_compact_alloc(size_t n, size_t size);

/*
 * Initialises c with room for n vertices. Returns 0 or -ENOMEM. Exported for
 * benchmarks.
 */
int np_compact_reserve(struct np_compact *c, size_t n, size_t edges);

void np_chain_free(struct np_chain *c);

/*
 * np_contract() turns a graph into a chain: everything in one link, or for a
 * loop three links, for what precedes it, one slice, and what follows it.
 * np_contract_order() removes vertices that only one edge leaves and sorts the
 * rest for fast passes. Errors as np_tolerance_new().
 */
int np_contract(const struct np_graph *g, const struct np_tolerance_opt *opt,
		struct np_chain *out, struct np_err *err);
int np_contract_order(struct np_compact *c);

/*
 * ---- The main loop ----
 *
 * For np_contract.c and unit tests. Finds the main loop of a program:
 * iterations that are equal except for their time.
 *
 * In each part of a graph that belongs to the loop, an operation and the one a
 * period later have the same kind, size, tag, processor and adapter; their
 * dependencies are a period apart; and the operations that they are matched
 * with are a period of the other rank apart.
 */

/* Loop of one part of the graph. */
struct np_iterations_part {
	uint32_t first;	 /* node at which the first iteration begins */
	uint32_t period; /* nodes in an iteration; 0: not in the loop */
	uint32_t base;	 /* nodes in an iteration of all earlier parts */
};

struct np_iterations {
	struct np_iterations_part *part; /* NULL: no loop */
	uint32_t times;		   /* number of iterations */
	uint32_t ops;		   /* operations in an iteration of all parts */
};

/*
 * Finds the loop that makes up at least half of a finished graph; out->part is
 * NULL if there is none. Free with np_iterations_free(). Returns 0 or -ENOMEM.
 */
int np_iterations_find(const struct np_graph *g, struct np_iterations *out);
void np_iterations_free(struct np_iterations *l);

#endif

/*
 * A graph of which only what can be on a longest path is left, for
 * np_contract.c, np_pass.c and np_tolerance.c.
 *
 * Vertex v is a time: the latest of its edges' time of vertex from + a + b x,
 * where x is the parameter that is let go.  Vertex 0 has none, as it is 0;
 * the last one is the end of the program.  All from are below v.
 */
#ifndef NP_COMPACT_H
#define NP_COMPACT_H

#include <stddef.h>
#include <stdint.h>

#include "np_tolerance.h"

struct np_edge {
	double a;
	uint32_t from;
	int32_t b; /* not below 0; signed, as to make that a double is less */
		   /* work, which is a tenth of a pass */
};

struct np_compact {
	struct np_edge *edge;
	uint32_t *first; /* of a vertex's edges; n + 1 of them */
	size_t n, max_n, max_edges;
	/* Of a link of a chain: */
	uint32_t *in;  /* vertices whose times are given; 0: nobody asks */
	uint32_t *out; /* those whose times are the next one's */
	size_t n_state;
	size_t n_given; /* in order these are vertices 1 .. n_given */
};

#define NP_CHAIN_MAX 3

/*
 * Graphs one after the other: what goes out of one is what comes into the
 * next.  Of three the one in the middle stands for so many that are equal.
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
 * The same longest paths with fewer edges: of those between two vertices that
 * one beats for all x >= 0, the other is left out.  Returns how many are left.
 */
size_t np_edge_thin(struct np_edge *e, size_t n);

/*
 * Room that is fetched or stored from one end to the other, so that a
 * processor has to look up fewer pages.  Free with free(); NULL: no memory.
 */
void *np_compact_room(size_t n, size_t size);

/* An empty one for so many.  Returns 0 or -ENOMEM. */
int np_compact_reserve(struct np_compact *c, size_t n, size_t edges);

/* A further vertex with these edges.  Returns 0, -ERANGE or -ENOMEM. */
int np_compact_add(struct np_compact *c, const struct np_edge *e, size_t n);

/* Room for in and out, which are 0.  Returns 0 or -ENOMEM. */
int np_compact_state(struct np_compact *c, size_t n);

void np_compact_free(struct np_compact *c);
void np_chain_free(struct np_chain *c);

/*
 * np_contract.c: all of a graph, vertices in any order of time; of a loop
 * what is before it, one lap, and what is behind it.
 * np_contract_order() (np_compact.c): without vertices that only one edge
 * leaves, and in an order that a processor likes.  Errors as
 * np_tolerance_new().
 */
int np_contract(const struct np_graph *g, const struct np_tolerance_opt *opt,
		struct np_chain *out, struct np_err *err);
int np_contract_order(struct np_compact *c);

#endif

/* Internals of np_tolerance.c, for its unit tests and benchmarks. */
#ifndef NP_TOLERANCE_IMPL_H
#define NP_TOLERANCE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_graph_impl.h"
#include "np_tolerance.h"

/*
 * ---- Compact graphs: a graph reduced to what can lie on a longest path ----
 *
 * Each vertex v has a time: the maximum over its edges of (time of vertex from)
 * + a + b x, where x is the variable parameter. Vertex 0 has no edges and time
 * 0; the last vertex is the end of the program. Every edge leads from a lower
 * number to a higher one.
 */

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
 * Gives c, which has no vertices, room for n and their edges, unless it has that
 * already. Returns 0 or -ENOMEM. Exported for benchmarks.
 */
int np_compact_reserve(struct np_compact *c, size_t n, size_t edges);

void np_chain_free(struct np_chain *c);

/*
 * ---- The main loop ----
 *
 * For unit tests, too. Finds the main loop of a program:
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
	uint32_t times;			 /* number of iterations */
	uint32_t ops; /* operations in an iteration of all parts */
};

/*
 * Finds the loop that makes up at least half of a finished graph; out->part is
 * NULL if there is none. Free with np_iterations_free(). Returns 0 or -ENOMEM.
 */
int np_iterations_find(const struct np_graph *g, struct np_iterations *out);
void np_iterations_free(struct np_iterations *l);

/*
 * ---- A pass over a chain of compact graphs ----
 *
 * The length of its longest path at one x, or at several. The slice that stands
 * for many equal ones is passed repeatedly only until its further course is
 * certain.
 */

#define NP_PASS_TIMES 4 /* values of x that one pass serves */

/*
 * Time of a vertex and the slope of that time. For x without bound the slope
 * comes first, because it decides.
 */
typedef double np_pair __attribute__((vector_size(16), may_alias));

/* What a pass computes. */
struct np_pass {
	enum { NP_STEEPEST, NP_FLATTEST, NP_ASYMPTOTE } which;
	double x;
	/* among paths whose times differ by less, the slope decides */
	double tol;
};

struct np_point {
	double t, s;
};

/* Memory for passes over one particular chain. */
struct np_workspace {
	np_pair *at, *later; /* by vertex; and the same some slices later */
	np_pair *state[5];   /* values passed from link to link */
	uint64_t *reached;   /* one bit for each vertex; 0 between passes */
};

struct np_workspace *np_workspace_new(const struct np_chain *c);
void np_workspace_free(struct np_workspace *r); /* NULL is allowed */

/*
 * Passes once over the chain. With NP_ASYMPTOTE: the steepest path for x without
 * bound, and of several such paths the one that is longest at x = 0, whatever
 * the order of vertices and edges. x and tol are ignored.
 */
struct np_point np_pass(const struct np_chain *c, const struct np_pass *p,
			struct np_workspace *room);

/* Only times, for NP_PASS_TIMES values of x. */
void np_pass_times(const struct np_chain *c, const double *x,
		   struct np_workspace *room, double *out);

/*
 * The NP_PASS_TIMES times of all vertices of a graph without a loop, two pairs
 * for each. np_pass_times() uses it where registers hold no more than two
 * numbers.
 */
void np_pass_pairs(const struct np_compact *c, const double *x, np_pair *t);

/* ---- Tolerance ---- */

#define NP_TOLERANCE_THREADS 8

struct np_tolerance {
	struct np_chain c;
	/* one for each thread so far */
	struct np_workspace *room[NP_TOLERANCE_THREADS];
	unsigned threads;    /* as in np_tolerance_opt */
	struct np_point far; /* T approaches far.t + far.s x from above */
	double at_0;
};

/* T at x and its slope to the left or right. */
struct np_point np_tolerance_side(struct np_tolerance *t, double x, bool right);

/* Times that differ by less than this are treated as equal. */
double np_tolerance_tie(const struct np_tolerance *t, double x);

#endif

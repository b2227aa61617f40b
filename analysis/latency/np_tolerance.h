/*
 * How long a program runs as a function of one parameter of the network:
 * T(x), the longest path through its graph.  T is convex, increasing and made
 * of straight pieces; its slope at x is the number of messages (of bytes if x
 * is G, of overheads if x is o) on the critical path.
 *
 * Source: S. Shen et al., LLAMP: Assessing Network Latency Tolerance of HPC
 * Applications with Linear Programming, SC 2024 (arXiv 2404.14193).  There
 * T is found by a solver of linear programs, here by passes over the graph;
 * both are exact (doc/validation/methods.md).
 *
 * Times are ns; x has the unit of the parameter.
 */
#ifndef NP_TOLERANCE_H
#define NP_TOLERANCE_H

#include <stddef.h>
#include <stdint.h>

#include "np_detours.h"
#include "np_err.h"
#include "np_graph.h"
#include "np_loggps.h"
#include "np_response.h"
#include "np_topology.h"

#define NP_CYCLE_OPS 32

/* Operations that wait for each other in a circle, each for the next. */
struct np_cycle {
	size_t n; /* of all; the first NP_CYCLE_OPS, for np_graph_say(): */
	uint32_t node[NP_CYCLE_OPS];
};

struct np_tolerance_opt {
	struct np_loggps net;
	enum np_loggps_param x; /* the one that is let go */
	/* If x is L: that of messages between these ranks alone; or NULL. */
	const struct np_pair *pair;
	struct np_placed placed;
	/*
	 * What there is one of for all: turns are taken as in a simulation in
	 * the order of time (np_order.c), at the value that net has for x,
	 * and stay the same for all x.
	 */
	bool one_cpu;  /* each processor does one operation at a time, takes */
		       /* messages in as they arrive, and sends of an adapter */
		       /* are g + G * bytes apart */
	bool one_link; /* messages to an adapter are g + G * bytes apart */
	bool overlap;  /* a processor takes a message in o, not o + G * bytes */
	/*
	 * Equal iterations are kept once if neither of these is asked for;
	 * here each by itself.  Only time and memory differ.
	 */
	bool unfold;
	/*
	 * That go through the graph at once, each for other values of x; the
	 * answers are the same.  0: one for each processor that this process
	 * may use, if the graph is large enough; at most 8.
	 */
	unsigned threads;
	struct np_cycle *cycle;	      /* filled at -EDEADLK; or NULL */
};

struct np_tolerance;

/*
 * g: finished; not needed afterwards.  *out: free with np_tolerance_free().
 * Returns 0, -EINVAL (a parameter is negative or not finite), -EDEADLK (the
 * program never ends: operations wait for each other), -ERANGE (more than
 * 2^32 edges), -ENOMEM.
 */
int np_tolerance_new(const struct np_graph *g,
		     const struct np_tolerance_opt *opt,
		     struct np_tolerance **out, struct np_err *err);
void np_tolerance_free(struct np_tolerance *t); /* NULL is allowed */

struct np_runtime {
	double ns;
	double left, right; /* slopes: of the pieces that meet at x */
};

/*
 * At x >= 0.  Left and right differ where critical paths of several slopes
 * are equally long (to 2^-45).  At x = 0, left of which there is nothing,
 * left is one of the slopes up to right.
 */
void np_tolerance_at(struct np_tolerance *t, double x, struct np_runtime *out);

/* T alone, at each of x[n]: faster than one after the other. */
void np_tolerance_times(struct np_tolerance *t, const double *x, size_t n,
			double *ns);

/* The largest x with T(x) <= (1 + share) T(x0), share >= 0; or INFINITY. */
double np_tolerance_limit(struct np_tolerance *t, double x0, double share);

/*
 * The run time with the turns that were asked for and detours of processors,
 * by a simulation.  Errors as np_tolerance_new().
 */
int np_tolerance_simulate(const struct np_graph *g,
			  const struct np_tolerance_opt *opt,
			  const struct np_detours *detours, double *ns,
			  struct np_err *err);

/* Messages of a pair of ranks on the critical path. */
struct np_pair {
	uint32_t from, to;
	uint64_t messages, bytes;
};

/*
 * The pairs on the critical path just right of the value that net has for x,
 * those with most messages first: how much longer the run is for each ns of
 * latency more between them.  *out: n of them, to be freed by the caller.
 * Errors as np_tolerance_new().
 */
int np_tolerance_pairs(const struct np_graph *g,
		       const struct np_tolerance_opt *opt,
		       struct np_pair **out, size_t *n, struct np_err *err);

struct np_critical {
	double x, slope; /* where the slope changes, and right of it */
};

/*
 * All x between low >= 0 and high from where on another path is critical, in
 * order.  Pieces that are shorter than T can be computed are left out (2^-45
 * of T).  *out: n of them, to be freed by the caller.  Returns 0 or -ENOMEM.
 */
int np_tolerance_critical(struct np_tolerance *t, double low, double high,
			  struct np_critical **out, size_t *n,
			  struct np_err *err);

/*
 * What is left of a graph, for those who want to know; and of how many laps of
 * a loop one stands for all, or 0.
 */
struct np_tolerance_size {
	size_t vertices, edges, laps;
};
struct np_tolerance_size np_tolerance_size(const struct np_tolerance *t);

#define NP_RESPONSE_MAX_OPS ((size_t)1 << 23) /* of a graph */

/*
 * g: finished, not needed afterwards; net: the network as it is.  A graph of a
 * million operations takes some seconds.
 * Returns 0, -E2BIG (more than NP_RESPONSE_MAX_OPS), -EINVAL (the program takes
 * no time), or what np_tolerance_new() does, with err.
 */
int np_response_make(const struct np_graph *g, const struct np_loggps *net,
		     struct np_response *out, struct np_err *err);

#endif

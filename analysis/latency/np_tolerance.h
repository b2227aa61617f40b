/*
 * The run time of a program as a function of one network parameter: T(x) is the
 * longest path through its execution graph. T is convex, increasing and
 * piecewise linear. Its slope at x is the number of messages on the critical
 * path (of bytes if x is G, of overheads if x is o).
 *
 * Source: S. Shen et al., LLAMP: Assessing Network Latency Tolerance of HPC
 * Applications with Linear Programming, SC 2024 (arXiv 2404.14193). There T
 * comes from a linear programming solver, here from passes over the graph; both
 * are exact (doc/validation/methods.md).
 *
 * Times are in ns; x has the unit of its parameter.
 */
#ifndef NP_TOLERANCE_H
#define NP_TOLERANCE_H

#include <stddef.h>
#include <stdint.h>

#include "np_detours.h"
#include "np_err.h"
#include "np_graph.h"
#include "np_loggps.h"
#include "np_topology.h"

#define NP_CYCLE_OPS 4

/* Operations that wait for each other in a cycle, each for the next. */
struct np_cycle {
	size_t n; /* all of them; the first NP_CYCLE_OPS are in node[] */
	uint32_t node[NP_CYCLE_OPS];
};

struct np_tolerance_opt {
	struct np_loggps net;
	enum np_loggps_param x; /* the variable parameter */
	/*
	 * If x is L: vary only the latency of messages from pair->from to
	 * pair->to; NULL: of all messages. Borrowed.
	 */
	const struct np_pair *pair;
	struct np_placed placed;
	/*
	 * Exclusive resources. The order in which operations use them comes
	 * from a simulation at the value of x in net, and stays the same for
	 * all x.
	 *
	 * one_cpu: a processor executes one operation at a time and takes
	 * messages in as they arrive; sends of an adapter are g + G * bytes
	 * apart. one_link: messages to an adapter are g + G * bytes apart.
	 */
	bool one_cpu, one_link;
	/*
	 * With one_cpu: taking a message in occupies the processor for o and
	 * its copy at O per byte, instead of o + G * bytes.
	 */
	bool overlap;
	/*
	 * Without exclusive resources, equal iterations are stored once. If
	 * unfold is set, each is stored by itself. This affects only time and
	 * memory.
	 */
	bool unfold;
	/*
	 * Number of threads, each of which handles other values of x; the
	 * results are the same. 0: one for each processor that this process may
	 * use, if the graph is large and is stored as a whole; otherwise one.
	 * At most 8.
	 */
	unsigned threads;
	struct np_cycle *cycle; /* filled if the result is -EDEADLK; or NULL */
};

struct np_tolerance;

/*
 * g: finished; not needed afterwards. *out: free with np_tolerance_free().
 * Returns 0, or with err -EINVAL (a parameter is out of range, or O is above
 * G), -EDEADLK (the program cannot end: operations wait for each other),
 * -ERANGE (more than 2^32 edges) or -ENOMEM.
 */
int np_tolerance_new(const struct np_graph *g,
		     const struct np_tolerance_opt *opt,
		     struct np_tolerance **out, struct np_err *err);
void np_tolerance_free(struct np_tolerance *t); /* NULL is allowed */

struct np_runtime {
	double ns;
	double left, right; /* slopes of the two linear pieces that meet at x */
};

/*
 * Evaluates T at x >= 0. left and right differ where critical paths of
 * different slopes are equally long (to 2^-45). At x = 0, which has no left
 * side, left is one of the slopes up to right.
 */
void np_tolerance_at(struct np_tolerance *t, double x, struct np_runtime *out);

/* Evaluates only T, at x[0..n-1]; faster than one by one. ns: array of n. */
void np_tolerance_times(struct np_tolerance *t, const double *x, size_t n,
			double *ns);

/*
 * The largest x with T(x) <= (1 + share) T(x0), for share >= 0; INFINITY if
 * there is no limit.
 */
double np_tolerance_limit(struct np_tolerance *t, double x0, double share);

/*
 * Simulates the run with the exclusive resources that opt names and with
 * detours of the processors; *ns: the run time. Errors as np_tolerance_new().
 */
int np_tolerance_simulate(const struct np_graph *g,
			  const struct np_tolerance_opt *opt,
			  const struct np_detours *detours, double *ns,
			  struct np_err *err);

/* Messages from one rank to another on the critical path. */
struct np_pair {
	uint32_t from, to;
	uint64_t messages, bytes;
};

/*
 * The pairs of ranks on the critical path directly to the right of the value of
 * x in net, those with the most messages first. A pair's number of messages is
 * the increase in run time per ns of additional latency between the two ranks.
 * *out: n pairs; free with free(). Errors as np_tolerance_new().
 */
int np_tolerance_pairs(const struct np_graph *g,
		       const struct np_tolerance_opt *opt, struct np_pair **out,
		       size_t *n, struct np_err *err);

struct np_critical {
	/* where the slope changes, and the slope to its right */
	double x, slope;
};

/*
 * All x between low >= 0 and high at which the critical path changes, in
 * ascending order. Pieces shorter than the accuracy of T (2^-45 of T) are
 * omitted. *out: n of them; free with free(). Returns 0 or -ENOMEM.
 */
int np_tolerance_critical(struct np_tolerance *t, double low, double high,
			  struct np_critical **out, size_t *n,
			  struct np_err *err);

/*
 * For tests: size of the compact graph. slices: number of equal slices of which
 * it contains one, or 0.
 */
struct np_tolerance_size {
	size_t vertices, edges, slices;
};
struct np_tolerance_size np_tolerance_size(const struct np_tolerance *t);

#define NP_RESPONSE_MAX_OPS ((size_t)1 << 23) /* of operations of a graph */

/*
 * The run time at each added latency and gap of np_loggps.h, relative to the
 * unloaded network. g: finished, not needed afterwards; net: the unloaded
 * network. Takes some seconds for a graph of a million operations. Returns 0,
 * -E2BIG (more than NP_RESPONSE_MAX_OPS operations), -EINVAL (the program takes
 * no time), or an error of np_tolerance_new(), with err.
 */
int np_response_make(const struct np_graph *g, const struct np_loggps *net,
		     struct np_response *out, struct np_err *err);

#endif

/*
 * How a program's run time responds to a slower network: its execution graph
 * asked once, for many latencies and some bandwidths, so that whoever predicts
 * needs the graph no more.
 *
 * T(L, G) of np_tolerance.h is the longest of paths that are linear in both, so
 * convex in both; between the points of the table it is taken as linear, which
 * is too long by little and never too short, and beyond them, too.
 */
#ifndef NP_RESPONSE_H
#define NP_RESPONSE_H

#include "np_err.h"
#include "np_graph.h"
#include "np_loggps.h"

#define NP_RESPONSE_MAX_OPS ((size_t)1 << 23) /* of a graph */
#define NP_RESPONSE_GAPS 8
#define NP_RESPONSE_LATENCIES 52

struct np_response {
	/* Run time over that of the network as it is: 1 or more. */
	double times[NP_RESPONSE_GAPS][NP_RESPONSE_LATENCIES];
};

/*
 * g: finished, not needed afterwards; net: the network as it is.  A graph of a
 * million operations takes some seconds.
 * Returns 0, -E2BIG (more than NP_RESPONSE_MAX_OPS), -EINVAL (the program takes
 * no time), or what np_tolerance_new() does, with err.
 */
int np_response_make(const struct np_graph *g, const struct np_loggps *net,
		     struct np_response *out, struct np_err *err);

/*
 * Run time over that of the network as it is, where each message takes
 * added_sec >= 0 longer, and each byte gap_times >= 1 as long.
 */
double np_response_at(const struct np_response *r, double added_sec,
		      double gap_times);

/* For np_response*.c: where the points of the table are. */
extern const double np_response_gap[NP_RESPONSE_GAPS];
double np_response_added_sec(size_t i);

#endif

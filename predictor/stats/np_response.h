/*
 * How a program's run time responds to a slower network, for many latencies and
 * some bandwidths: what the analysis of a trace leaves (np_traced.h), so that
 * whoever predicts needs no trace.
 *
 * T(L, G), the run time from an execution graph, is the longest of paths that are linear in both, so
 * convex in both; between the points of the table it is taken as linear, which
 * is too long by little and never too short, and beyond them, too.
 */
#ifndef NP_RESPONSE_H
#define NP_RESPONSE_H

#include <stddef.h>

#define NP_RESPONSE_GAPS 8
#define NP_RESPONSE_LATENCIES 52

struct np_response {
	/* Run time over that of the network as it is: 1 or more. */
	double times[NP_RESPONSE_GAPS][NP_RESPONSE_LATENCIES];
};

/*
 * Run time over that of the network as it is, where each message takes
 * added_sec >= 0 longer, and each byte gap_times >= 1 as long.
 */
double np_response_at(const struct np_response *r, double added_sec,
		      double gap_times);

/* Where the points of the table are. */
extern const double np_response_gap[NP_RESPONSE_GAPS];
double np_response_added_sec(size_t i);

#endif

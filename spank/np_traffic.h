/*
 * What counters of a step's nodes have counted in the last minute, as their
 * probes report it, by the time of our clock: bytes of network devices, or
 * calls.  Pure.
 */
#ifndef NP_TRAFFIC_H
#define NP_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#include "np_invite.h"

#define NP_TRAFFIC_BIN_SEC 0.05
#define NP_TRAFFIC_BINS 2048
#define NP_TRAFFIC_LATE_SEC 5.0 /* what comes later has lost some before it */

struct np_traffic {
	double bin[NP_TRAFFIC_BINS];
	double sec[NP_TRAFFIC_BINS]; /* that nodes have told of, added up */
	int64_t last;		     /* newest bin there is, since 0 s */
	double to_sec[NP_INVITE_MAX_NODES]; /* told by each node; 0: nothing */
};

/*
 * A node counted n in elapsed_sec, heard at now_sec > 0, which rises.  Its
 * pieces of time follow each other without a gap, however late each is heard.
 */
void np_traffic_add(struct np_traffic *t, size_t node, double now_sec,
		    double elapsed_sec, double n);

/*
 * The count a second of all nodes, from_sec to to_sec, in whole bins.  What a
 * node has not told yet, as its reports are late, is taken to be like the rest;
 * NaN: less than half is told.
 */
double np_traffic_rate(const struct np_traffic *t, double from_sec,
		       double to_sec);

#endif

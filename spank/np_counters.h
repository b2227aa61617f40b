/*
 * What the byte counters of the network devices of a step's nodes say beside
 * what the probes measure: the traffic of the run record, and the latencies
 * of moments in which these nodes moved next to no bytes.  Such latencies are
 * those of the idle network, and cost nothing.  Pure: the caller reads the
 * reports and the clock.
 */
#ifndef NP_COUNTERS_H
#define NP_COUNTERS_H

#include "np_record.h"
#include "np_report.h"

/* A moment is quiet in which a node moves less than this, bytes a second. */
#define NP_COUNTERS_QUIET 16e3

struct np_counters;

/* r (borrowed) gets the traffic.  NULL: out of memory. */
struct np_counters *np_counters_new(struct np_record *r);
void np_counters_free(struct np_counters *c); /* NULL is allowed */

/*
 * One report of a probe, heard at now_sec of a monotonic clock.  Latencies and
 * bytes are to be handed in only if no interference level ran beside them.
 */
void np_counters_report(struct np_counters *c, const struct np_report *rep,
			double now_sec);

/*
 * The quiet latencies so far, as a record of the idle network on r's fabric,
 * which the caller frees.  NULL: fewer than NP_COUNTERS_LEAST, or no memory.
 */
#define NP_COUNTERS_LEAST 10
struct np_record *np_counters_idle(const struct np_counters *c);

#endif

/*
 * The profile of an application: what a page says of its runs.
 * Derived on reading, so that a better model improves old runs; no I/O.
 *
 * Which runs count, and what they say, is np_evidence.h's.  A processor that
 * sleeps longer wakes up later, so the idle reference is one of the same probe
 * period, where there is one.
 */
#ifndef NP_PROFILE_H
#define NP_PROFILE_H

#include <stdbool.h>

#include "np_evidence.h"
#include "np_verdict.h"

/*
 * Records of the idle network that netprof keeps without being asked, as runs
 * of the application NP_IDLE_APP with a source (np_record.h): which of them
 * are worth keeping, and what a calibration gives.  Pure.
 *
 * Idle runs that somebody made count before them (np_evidence.h), and where
 * there are some, no more of these are kept.
 */

#define NP_IDLE_ENOUGH 300    /* probes; then no more are kept */
#define NP_IDLE_DAYS 30.0     /* older ones do not count for that */

/*
 * Does r, one more record of the idle network at date now, tell anything that
 * the idle runs which there are do not?  Also false without memory.
 */
bool np_idle_is_wanted(const struct np_runs *idle, const struct np_record *r,
		       double now);

/*
 * The idle network as a calibration has measured it until date end, for
 * published idle runs; free it with np_record_free().  NULL: it has no
 * histogram of it, or no memory.
 */
struct np_record *np_idle_of_calibration(const struct np_calibration *c,
					 double end);

/*
 * What the probes cost, over the runs whose latencies are used.  elapsed_sec
 * 0: none of them says.
 */
struct np_probe_cost {
	double elapsed_sec;   /* of all processes together */
	double cpu_share;     /* of one core, mean per process */
	double cpu_share_max; /* of the worst process */
	uint64_t rss_bytes_max;
	uint64_t messages;
};

struct np_profile {
	const struct np_runs *runs; /* borrowed */
	struct np_evidence ev;	    /* without a calibration */
	struct np_sample idle; /* n_runs 0: none of this fabric is known */
	bool is_idle;	       /* this is the idle reference itself */
	struct np_phases phases;
	struct np_verdict verdict;
	struct np_probe_cost cost;
};

/*
 * runs (borrowed for the life of the profile), and the n_idle candidates for
 * the idle reference in the order of preference (NULLs are passed over); now:
 * the date.  Returns 0 or -ENOMEM.  Free with np_profile_free().
 */
int np_profile_make(const struct np_runs *runs,
		    const struct np_runs *const *idle, size_t n_idle,
		    double now, struct np_profile *out);
void np_profile_free(struct np_profile *p);

#endif

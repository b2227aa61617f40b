/*
 * Records of the idle network that netprof keeps without being asked, as runs
 * of the application NP_IDLE_APP with a source (np_record.h): which of them
 * are worth keeping, and what a calibration gives.  Pure.
 *
 * Idle runs that somebody made count before them (np_evidence.h), and where
 * there are some, no more of these are kept.
 */
#ifndef NP_IDLE_H
#define NP_IDLE_H

#include <stdbool.h>

#include "np_evidence.h"

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

#endif

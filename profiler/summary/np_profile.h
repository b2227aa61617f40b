/*
 * The profile of an application: what netprof show says about its runs. It is
 * a run summary that is compared with the idle network. No I/O.
 *
 * np_run_summary.h decides which runs count and what they say. A processor
 * that sleeps longer between probes takes longer to wake up, so the idle
 * reference has the same probe period, if possible.
 */
#ifndef NP_PROFILE_H
#define NP_PROFILE_H

#include <stdbool.h>

#include "np_run_summary.h"

/*
 * ---- records of the idle network that netprof makes by itself ----
 *
 * They are runs of the application NP_IDLE_APP with a source (np_record.h).
 * Idle runs that somebody started are preferred to them (np_run_summary.h), and
 * if there are any, no more of these are kept. Pure functions.
 */

#define NP_IDLE_ENOUGH 300 /* probes; then no more are recorded */
#define NP_IDLE_DAYS 30.0  /* older ones do not count for that */

/*
 * Is record, a further record of the idle network at date now, worth keeping in
 * addition to the existing idle runs? Also false if out of memory.
 */
bool np_idle_is_wanted(const struct np_runs *idle,
		       const struct np_record *record, double now);

/*
 * The idle network as a calibration measured it until date end, to be published
 * as an idle run; free it with np_record_free(). NULL: the calibration has no
 * histogram of it, or out of memory.
 */
struct np_record *
np_idle_of_calibration(const struct np_calibration *calibration, double end);

/* ---- profiles ---- */

/*
 * Summarise runs, and compare them with the idle network. idle: n_idle
 * candidates for the idle reference in order of preference, some may be NULL;
 * calibration: of the runs' cluster, for the order of the levels, and, if it is
 * of the runs' fabric, for what the links carry; NULL: there is none; now: the
 * date. The runs are borrowed for the life of the profile. Returns 0 or
 * -ENOMEM. Free with np_run_summary_free().
 */
int np_profile_make(const struct np_runs *runs,
		    const struct np_runs *const *idle, size_t n_idle,
		    const struct np_calibration *calibration, double now,
		    struct np_run_summary *out);

#endif

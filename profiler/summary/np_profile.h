/*
 * The profile of an application: what netprof show says about its runs.
 * Derived on reading, so that a better model improves old runs.  No I/O.
 *
 * np_run_summary.h decides which runs count and what they say.  A processor
 * that sleeps longer between probes takes longer to wake up, so the idle
 * reference has the same probe period, if possible.
 */
#ifndef NP_PROFILE_H
#define NP_PROFILE_H

#include <stdbool.h>

#include "np_run_summary.h"
#include "np_verdict.h"

/*
 * ---- records of the idle network that netprof makes by itself ----
 *
 * They are runs of the application NP_IDLE_APP with a source (np_record.h).
 * Idle runs that somebody started are preferred to them (np_run_summary.h), and
 * if there are any, no more of these are kept.  Pure functions.
 */

#define NP_IDLE_ENOUGH 300 /* probes; then no more are recorded */
#define NP_IDLE_DAYS 30.0  /* older ones do not count for that */

/*
 * Is record, a further record of the idle network at date now, worth keeping in
 * addition to the existing idle runs?  Also false if out of memory.
 */
bool np_idle_is_wanted(const struct np_runs *idle,
		       const struct np_record *record, double now);

/*
 * The idle network as a calibration measured it until date end, to be published
 * as an idle run; free it with np_record_free().  NULL: the calibration has no
 * histogram of it, or out of memory.
 */
struct np_record *
np_idle_of_calibration(const struct np_calibration *calibration, double end);

/* ---- profiles ---- */

/*
 * Cost of the probes, over the runs whose latencies are used.  elapsed_sec is 0
 * if no run has it.
 */
struct np_probe_cost {
	double elapsed_sec;   /* of all processes together */
	double cpu_share;     /* of one core, mean over the processes */
	double cpu_share_max; /* of the worst process */
	uint64_t rss_bytes_max;
	uint64_t messages;
};

struct np_profile {
	const struct np_runs *runs; /* borrowed */
	struct np_run_summary summary; /* without a calibration */
	struct np_sample idle; /* reference; n_runs 0: none of this fabric */
	bool is_idle;	       /* this is the idle reference itself */
	/* The load level whose nodes send most, as calibrated; "": not known.
	 * sent: by a node, bytes/s in one direction. */
	char strongest[NP_LEVEL_NAME];
	double sent;
	struct np_phases phases;
	struct np_verdict verdict;
	struct np_probe_cost cost;
};

/*
 * Make the profile of runs, which are borrowed for its life.  idle: n_idle
 * candidates for the idle reference in order of preference, some may be NULL;
 * calibration: of the runs' fabric, for what the links carry; one of another
 * fabric is ignored; NULL: there is none; now: the date.  Returns 0 or -ENOMEM.
 * Free with np_profile_free().
 */
int np_profile_make(const struct np_runs *runs,
		    const struct np_runs *const *idle, size_t n_idle,
		    const struct np_calibration *calibration, double now,
		    struct np_profile *out);
void np_profile_free(struct np_profile *profile);

#endif

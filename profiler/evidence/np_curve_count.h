/*
 * What the runs of an application have given to its degradation curve so far,
 * for np_need_next().  No I/O.
 */
#ifndef NP_CURVE_COUNT_H
#define NP_CURVE_COUNT_H

#include "np_fabric_store.h"
#include "np_need.h"
#include "np_store.h"

/* A run that says "running" and was last saved longer ago has died. */
#define NP_CURVE_RUNNING_SEC 60.0

/* The levels of a curve; names are borrowed. */
struct np_curve_levels {
	const char **name;
	struct np_need_level *level;
	size_t n;
};

/*
 * Those of a calibration, which press as the mean over all victims of
 * log(1 + slowdown) says; or, with NULL, the named levels of np_level.h, in
 * their order.  Returns 0 or -ENOMEM; free with np_curve_levels_free().
 */
int np_curve_levels_make(const struct np_calibration *c,
			 struct np_curve_levels *out);
void np_curve_levels_free(struct np_curve_levels *l);

/*
 * Fill run_sec of every level, and *alone, from runs of this fingerprint:
 * those that ended well without neighbours, and, counted but without a time,
 * those that are under way at `now` (a date).  scope: only levels that ran
 * there ("leaf", "node"); NULL: anywhere.
 */
void np_curve_count(const struct np_runs *runs, const char *fingerprint,
		    const char *scope, double now, struct np_curve_levels *l,
		    struct np_mean *alone);

/*
 * The fingerprint of the workload whose curve is furthest: most levels, then
 * most runs, then newest.  NULL: there is no run that counts.  Borrowed.
 */
const char *np_curve_workload(const struct np_runs *runs);

#endif

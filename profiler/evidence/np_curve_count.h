/*
 * What the runs of an application have given to its degradation curve so far,
 * for np_need_next().  No I/O.
 */
#ifndef NP_CURVE_COUNT_H
#define NP_CURVE_COUNT_H

#include "np_evidence.h"
#include "np_need.h"

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
 * Fill run_sec of every level, and *alone, from the evidence of these runs;
 * those of its workload that are under way count, but have no time yet.
 * scope: only levels that run there ("leaf", "node"); NULL: anywhere.
 */
void np_curve_count(const struct np_evidence *e, const struct np_runs *runs,
		    const char *scope, struct np_curve_levels *l,
		    struct np_mean *alone);

#endif

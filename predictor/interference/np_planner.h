/*
 * Measurement planner: which run does a sensitivity curve need next? Pure.
 *
 * Two runs alone come first, because every slowdown is relative to them. Then
 * each level is run once: the one with the greatest impact, the one with the
 * least, and then always the one in the largest gap between those done. The
 * remaining runs alone follow, and finally repetitions of the runs whose mean
 * has the largest relative error.
 */
#ifndef NP_PLANNER_H
#define NP_PLANNER_H

#include <stddef.h>

#include "np_moments.h"

#define NP_PLANNER_ALONE (-1L)	  /* a run without a level */
#define NP_PLANNER_COMPLETE (-2L) /* no further run is needed */

#define NP_PLANNER_RUNS 2	/* default number of runs under each level */
#define NP_PLANNER_RUNS_ALONE 3 /* default number of runs alone */

struct np_planner_level {
	/*
	 * Impact of the level on any increasing scale; equal distances on it
	 * are covered evenly. NaN if unknown: such levels come last.
	 */
	double impact;
	struct np_mean run_sec; /* run times under it; n includes planned runs */
};

/*
 * Select the next run. alone holds the run times without load; want is the
 * number of runs under each level, want_alone that of runs alone. Returns the
 * index of a level, NP_PLANNER_ALONE or NP_PLANNER_COMPLETE.
 */
long np_planner_next(const struct np_planner_level *level, size_t n_levels,
		     const struct np_mean *alone, unsigned want,
		     unsigned want_alone);

#endif

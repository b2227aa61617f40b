/*
 * Which run does a degradation curve need most?  Pure.
 *
 * First two runs alone, as every slowdown rests on them; then every level
 * once: the one that presses hardest, the mildest, and then always the one in
 * the largest gap of pressure; then alone up to its number; then again where
 * the mean is known worst.
 */
#ifndef NP_NEED_H
#define NP_NEED_H

#include <stddef.h>

#include "np_mean.h"

#define NP_NEED_ALONE (-1L)    /* a run without a level */
#define NP_NEED_COMPLETE (-2L) /* nothing any more */

#define NP_NEED_RUNS 2 /* beside each level, */
#define NP_NEED_RUNS_ALONE 3 /* and alone: unless told otherwise */

struct np_need_level {
	/*
	 * How hard it presses, on any rising scale, evenly spaced where it is
	 * to be covered evenly; NaN: not known, served last.
	 */
	double pressure;
	struct np_mean run_sec; /* run times beside it; planned ones count in n */
};

/*
 * alone: run times without a level.  want: runs beside each level (at least
 * one); want_alone likewise.  Returns the index of a level, NP_NEED_ALONE or
 * NP_NEED_COMPLETE.
 */
long np_need_next(const struct np_need_level *level, size_t n_levels,
		  const struct np_mean *alone, unsigned want,
		  unsigned want_alone);

#endif

/*
 * A number measured n times: a slowdown (T_with - T_alone) / T_alone, a
 * coupling.  Zero-initialised is "not measured".
 */
#ifndef NP_MEAN_H
#define NP_MEAN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "np_moments.h"

struct np_mean {
	uint32_t n;  /* 0: not measured, and the rest means nothing */
	double mean;
	double sd;   /* of one measurement; NaN: not known, as with n == 1 */
};

static inline struct np_mean np_mean_of(const struct np_moments *m)
{
	return (struct np_mean){
		.n = (uint32_t)m->n, .mean = m->mean,
		.sd = m->n > 1 ? np_moments_sd(m) : NAN,
	};
}

static inline bool np_mean_known(const struct np_mean *m)
{
	return m->n > 0;
}

/*
 * A slowdown that can be used: not measured at all, or finite and above -1
 * (a program that takes no time at all), with an sd that is unknown or >= 0.
 */
static inline bool np_slowdown_valid(const struct np_mean *m)
{
	return !m->n || (isfinite(m->mean) && m->mean > -1 &&
			 (isnan(m->sd) || (isfinite(m->sd) && m->sd >= 0)));
}

#endif

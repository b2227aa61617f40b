/* What was measured, in order: np_loggps_fit.c and np_loggps_step.c alone. */
#ifndef NP_LOGGPS_IMPL_H
#define NP_LOGGPS_IMPL_H

#include "np_loggps_fit.h"

/* Half round trips: sec[block * n_sizes + size]. */
struct np_loggps_trips {
	size_t n_blocks, n_sizes;
	uint32_t bytes[NP_LOGGPS_MAX_SIZES]; /* ascending */
	double *sec;
	double *scratch; /* n_blocks */
};

/* np_loggps_median() with another confidence. */
struct np_loggps_value np_loggps_median_at(double *x, size_t n,
					   double confidence);

/* The median over blocks of one size. */
double np_loggps_trip(const struct np_loggps_trips *t, size_t size);

/*
 * The first size of the rendezvous protocol, 0 if there is none; step is what
 * it costs.
 */
size_t np_loggps_find_step(const struct np_loggps_trips *t,
			   struct np_loggps_value *step);

#endif

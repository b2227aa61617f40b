/* Time that never goes back, for intervals. */
#ifndef NP_MONO_H
#define NP_MONO_H

#include <time.h>

static inline double np_mono_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif

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

/* For pthread_cond_clockwait() on that clock: so long from now. */
static inline struct timespec np_mono_after(double sec)
{
	double at = np_mono_sec() + sec;
	time_t whole = (time_t)at;

	return (struct timespec){ whole, (long)(1e9 * (at - (double)whole)) };
}

#endif

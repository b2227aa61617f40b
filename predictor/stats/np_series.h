/*
 * Latency over time: consecutive windows of equal width with count, mean,
 * standard deviation and maximum, so that phases of a program can be seen.
 *
 * The number of windows is bounded: when a run outgrows NP_SERIES_MAX, windows
 * merge in pairs and their width doubles.  A window may be empty (n == 0).
 */
#ifndef NP_SERIES_H
#define NP_SERIES_H

#include <stddef.h>

#include "np_moments.h"

#define NP_SERIES_MAX 2048

struct np_series {
	double width_sec;
	size_t n; /* windows in use: 0 .. n-1, the last one may still grow */
	struct np_moments w[NP_SERIES_MAX]; /* latency, seconds */
};

/* Empty, with windows of width_sec (> 0) seconds. */
void np_series_init(struct np_series *s, double width_sec);

/*
 * Merge moments measured around time at_sec (seconds since the start of the
 * run) into the window that covers it.  Late and out-of-order times are fine.
 * Returns 0, or -EINVAL if at_sec is negative, not finite or beyond 10 years.
 */
int np_series_add(struct np_series *s, double at_sec,
		  const struct np_moments *m);

#endif

/*
 * Count, mean, variance and range of a stream of values, in one pass and
 * mergeable (Chan, Golub, LeVeque 1979).  Zero-initialised is empty.
 * The unit is that of the values: seconds wherever the field says so.
 */
#ifndef NP_MOMENTS_H
#define NP_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

struct np_moments {
	uint64_t n;
	double mean;
	double m2; /* sum of squared deviations from the mean */
	double min, max; /* undefined while n == 0 */
};

void np_moments_add(struct np_moments *m, double x);
void np_moments_merge(struct np_moments *m, const struct np_moments *other);

/* Unbiased variance and its root; 0 while n < 2. */
double np_moments_var(const struct np_moments *m);
double np_moments_sd(const struct np_moments *m);

/*
 * Half the width of the 95 % interval of the mean, by Student's t; INFINITY
 * while n < 2.
 */
double np_moments_half(const struct np_moments *m);

/* True if the values can have come from np_moments_add(): for checking input. */
int np_moments_valid(const struct np_moments *m);

/*
 * Latency over time: consecutive windows of equal width with count, mean,
 * standard deviation and maximum, so that phases of a program can be seen.
 *
 * The number of windows is bounded: when a run outgrows NP_SERIES_MAX, windows
 * merge in pairs and their width doubles.  A window may be empty (n == 0).
 */

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

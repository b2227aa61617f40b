/*
 * Count, mean, variance and range of a stream of values, in one pass and
 * mergeable (Chan, Golub, LeVeque 1979).  Zero-initialised is empty.
 * The unit is that of the values: seconds wherever the field says so.
 */
#ifndef NP_MOMENTS_H
#define NP_MOMENTS_H

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

#endif

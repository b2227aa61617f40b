/*
 * Where an axis is marked, and how the marks read.
 *
 * Marks of a linear axis are whole multiples of 1, 2 or 5 times a power of
 * ten; those of a logarithmic one are such numbers themselves, or powers of
 * ten alone where these are many.
 */
#ifndef NP_TICKS_H
#define NP_TICKS_H

#include <stdbool.h>
#include <stddef.h>

#define NP_TICKS_MAX 16
#define NP_TICKS_LABEL 24

struct np_ticks {
	size_t n;
	double at[NP_TICKS_MAX]; /* rising, within the range */
	char label[NP_TICKS_MAX][NP_TICKS_LABEL]; /* "20", "1.5", "100 ns" */
};

/*
 * lo < hi, finite; most: 2 .. NP_TICKS_MAX.  seconds: labels have the unit
 * that suits each, "20 \302\265s", else they are plain numbers.
 */
void np_ticks_linear(double lo, double hi, size_t most, struct np_ticks *out);
/* 0 < lo < hi; linear ones where the range is too narrow for two marks. */
void np_ticks_log(double lo, double hi, size_t most, bool seconds,
		  struct np_ticks *out);

#endif

/*
 * Numbers >= 0 with an exponent of their own, as normalising constants go far
 * beyond what a double holds: value = m 2^e, m of 0.5 .. 1, or 0 with e = 0.
 */
#ifndef NP_SCALED_H
#define NP_SCALED_H

#include <math.h>
#include <stdint.h>
#include <string.h>

struct np_scaled {
	double m;
	int64_t e;
};

/* 2^e, 0 for what is too small to matter; e <= 0. */
static inline double np_scaled_down(int64_t e)
{
	uint64_t bits = e < -1000 ? 0 : (uint64_t)(1023 + e) << 52;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* m >= 0 and finite, not denormal. */
static inline struct np_scaled np_scaled_make(double m, int64_t e)
{
	int shift;

	if (!(m > 0))
		return (struct np_scaled){ 0, 0 };
	m = frexp(m, &shift);
	return (struct np_scaled){ m, e + shift };
}

/* A sum in the making: m may be anything that a double holds. */
static inline void np_scaled_add(struct np_scaled *sum, double m, int64_t e)
{
	if (m == 0)
		return;
	if (sum->m == 0) {
		*sum = (struct np_scaled){ m, e };
	} else if (e > sum->e) {
		sum->m = sum->m * np_scaled_down(sum->e - e) + m;
		sum->e = e;
	} else {
		sum->m += m * np_scaled_down(e - sum->e);
	}
}

static inline double np_scaled_ratio(struct np_scaled a, struct np_scaled b)
{
	int64_t e = a.e - b.e;

	return ldexp(a.m / b.m, e > 5000 ? 5000 : e < -5000 ? -5000 : (int)e);
}

#endif

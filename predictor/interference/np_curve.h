/*
 * A degradation curve p(rho): a victim's slowdown over the utilisation of the
 * fabric, from the levels it was run beside.
 *
 * LINE is the least-squares line, cut at 0, as [C] has it.  ISOTONIC is the
 * non-decreasing function nearest to the points (pool adjacent violators), and
 * INTERP goes through them; both join their points by straight lines.
 * Points at NP_CURVE_FIT_MAX and above are not fitted, as utilisation cannot
 * tell "full" from "very slow" there, but they count as measured range.
 */
#ifndef NP_CURVE_H
#define NP_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

enum np_curve_shape {
	NP_CURVE_LINE,
	NP_CURVE_ISOTONIC,

};

#define NP_CURVE_FIT_MAX 0.97

/* A fitted curve of up to n points is this many doubles, of no concern here. */
#define NP_CURVE_DIM(n) (5 + 2 * (n))

/*
 * rho[n] in 0 .. 1, slow[n]: the points in any order; equal rho are averaged.
 * Returns 0 and fills curve, NP_CURVE_DIM(n) doubles; -EDOM with err: fewer
 * than two distinct rho below NP_CURVE_FIT_MAX, so that there is no curve.
 */
int np_curve_fit(enum np_curve_shape shape, const double *rho,
		 const double *slow, size_t n, double *curve,
		 struct np_err *err);

/*
 * The slowdown at rho.  Beyond the measured range the value at its end is
 * taken, and *outside (may be NULL) is set to true, never to false.
 */
double np_curve_at(const double *curve, double rho, bool *outside);

#endif

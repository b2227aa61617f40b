/*
 * How busy is the switch that a probe crosses?  Utilisation from latency by
 * inverting the Pollaczek-Khinchine formula of the M/G/1 queue, as Casas and
 * Bronevetsky do in their active measurement of switch utilisation:
 *
 *	W = 1/mu + lambda E[S^2] / (2 (1 - rho)),  E[S^2] = Var S + 1/mu^2
 *
 * solved for rho = lambda/mu, with x = mu W and c2 = mu^2 Var S:
 *
 *	rho = 2 (x-1) / (2 (x-1) + 1 + c2) for x > 1, else 0
 *
 * W is the whole time in the system, waiting and service.  The formula takes
 * arrivals to be Poisson; real programs send in bursts, so the result is an
 * index that grows with the load, not the share of time that a link is busy.
 * Times are seconds, rates per second.
 */
#ifndef NP_QUEUE_H
#define NP_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"
#include "np_moments.h"

/* What the probe meets on an idle switch. */
struct np_service {
	double mu_per_sec;
	double var_sec2; /* Var S */
};

/*
 * Service of an idle switch from the latencies of an idle run: 1/mu is their
 * mean, so that the idle switch has utilisation 0 (the source takes their
 * minimum).  All latencies equal is fine (variance 0).
 * Returns 0 or -EINVAL: no samples, or moments that no latencies can have
 * (zero or negative, not finite, negative variance).
 */
int np_queue_service(const struct np_moments *idle, struct np_service *out,
		     struct np_err *err);

/*
 * The utilisation, 0 <= rho < 1 up to rounding, at which the mean latency is
 * w_sec.  Returns 0 or -EINVAL: w_sec or the service not positive and finite,
 * or a negative variance.
 */
int np_queue_rho(const struct np_service *s, double w_sec, double *rho,
		 struct np_err *err);

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

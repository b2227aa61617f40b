/*
 * Utilisation of a switch from the latency of probes, by inverting the
 * Pollaczek-Khinchine formula of the M/G/1 queue, as Casas and Bronevetsky do in
 * their active measurement of switch utilisation:
 *
 *	W = 1/mu + lambda E[S^2] / (2 (1 - rho)),  E[S^2] = Var S + 1/mu^2
 *
 * solved for rho = lambda/mu, with x = mu W and c2 = mu^2 Var S:
 *
 *	rho = 2 (x-1) / (2 (x-1) + 1 + c2) for x > 1, else 0
 *
 * W is the time in the system, waiting and service. The formula assumes Poisson
 * arrivals. Real programs send in bursts, so the result is an index that grows
 * with the load, not the share of time for which a link is busy. Times are in
 * seconds, rates per second.
 */
#ifndef NP_QUEUE_H
#define NP_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"
#include "np_moments.h"

/* Service of a probe by an idle switch. */
struct np_service {
	double mu_per_sec;
	double var_sec2; /* Var S */
};

/*
 * Service of an idle switch from idle latencies. 1/mu is their mean, so that an
 * idle switch has utilisation 0; the source uses their minimum. The variance
 * may be 0. Returns 0, or -EINVAL: no samples, or moments that
 * latencies cannot have (zero or negative, not finite, negative variance).
 */
int np_queue_service(const struct np_moments *idle, struct np_service *out);

/*
 * Set *utilisation to the rho that gives the mean latency w_sec; 0 or more, and
 * below 1 except for rounding. Returns 0, or -EINVAL with err: w_sec or the
 * service rate is not positive and finite, or the variance is negative.
 */
int np_queue_utilisation(const struct np_service *s, double w_sec,
			 double *utilisation, struct np_err *err);

/*
 * The slowdown of a victim as a function of the fabric's utilisation, fitted to
 * its runs under load levels.
 *
 * NP_CURVE_LINE is the least-squares line, with negative values cut to 0, as in
 * the source. NP_CURVE_ISOTONIC is the non-decreasing function nearest to the
 * points (pool adjacent violators), interpolated linearly. Points at
 * NP_CURVE_FIT_MAX and above extend the measured range but are not fitted,
 * because this utilisation does not distinguish degrees of saturation.
 */

enum np_curve_shape {
	NP_CURVE_LINE,
	NP_CURVE_ISOTONIC,
};

#define NP_CURVE_FIT_MAX 0.97

/* Number of doubles in a fitted curve of up to n points; opaque. */
#define NP_CURVE_DIM(n) (5 + 2 * (n))

/*
 * Fit a curve to n points in any order: utilisation[i], 0 to 1, and slow[i], a
 * slowdown. Points with equal utilisation are averaged. Returns 0 and fills
 * curve, which has NP_CURVE_DIM(n) doubles, or -EDOM with err if fewer than two
 * distinct utilisations are below NP_CURVE_FIT_MAX.
 */
int np_curve_fit(enum np_curve_shape shape, const double *utilisation,
		 const double *slow, size_t n, double *curve,
		 struct np_err *err);

/*
 * The slowdown at a utilisation. Outside the measured range this is the value
 * at its nearer end, and *outside, unless NULL, is set to true; it is never set
 * to false.
 */
double np_curve_at(const double *curve, double utilisation, bool *outside);

#endif

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

#endif

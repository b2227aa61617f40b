/*
 * How the four components of np_four.h depend on the number of processes P,
 * fitted to several runs of the same program and problem (strong scaling):
 *
 *	mean size of a message		c P^e, a line in logarithms
 *	messages, active time (total)	b0 + b1 P + b2 P^2
 *	compute time (total)		linear between the runs, as caches make
 *					it irregular; constant beyond them
 *
 * Fits minimise relative errors, because wall-clock times are compared that
 * way.
 */
#ifndef NP_SCALING_H
#define NP_SCALING_H

#include <stddef.h>
#include <stdint.h>

#include "np_four.h"

#define NP_SCALING_MAX_RUNS 1024

enum np_scaling_flag {
	NP_SCALING_BEYOND = 1,	  /* more or fewer processes than in any run */
	NP_SCALING_NEGATIVE = 2,  /* a fit is negative there; 0 is used */
	NP_SCALING_NO_INTERVAL = 4, /* as few runs as a fit has coefficients */
};

struct np_scaling;

/*
 * Fits n runs and their components, as np_four() computed them for this link;
 * all are borrowed for the call. Several runs may have the same number of
 * processes. Returns 0 (free with np_scaling_free()), or with err -EINVAL (more
 * than NP_SCALING_MAX_RUNS), -EDOM (fewer than 3 different numbers of
 * processes) or -ENOMEM.
 */
int np_scaling_fit(const struct np_run *run, const struct np_four *four,
		   size_t n, const struct np_link *link,
		   struct np_scaling **out, struct np_err *err);
void np_scaling_free(struct np_scaling *s); /* NULL is allowed */

struct np_scaled_run {
	struct np_four four;
	/*
	 * 90 % interval of the wall-clock time, from the residuals of the fits
	 * and of interpolated compute times, which are assumed to be
	 * independent. NaN with NP_SCALING_NO_INTERVAL.
	 */
	double low_sec, high_sec;
	unsigned flags; /* enum np_scaling_flag */
};

/*
 * Predicts a run with this number of processes, on processors of this speed
 * relative to those of the runs. Returns 0, -EINVAL (invalid number) or
 * -ENOMEM.
 */
int np_scaling_at(const struct np_scaling *s, double processes, double speed,
		  struct np_scaled_run *out, struct np_err *err);

/* Predictions without a model, from n > 0 runs. */
enum np_scaling_baseline {
	/* time of the run with the nearest P, in logarithms */
	NP_BASELINE_NEAREST,
	NP_BASELINE_IDEAL,   /* that run, with P times the time constant */
	/* s + p / P, fitted to relative errors, s and p >= 0 */
	NP_BASELINE_AMDAHL,
};
double np_scaling_baseline(enum np_scaling_baseline which,
			   const struct np_run *run, size_t n,
			   double processes);

#endif

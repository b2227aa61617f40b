/*
 * What the mixture models share: a co-runner described by weights over the
 * idle fabric and its levels, x[0] and x[1 + level], that sum to 1, and a
 * victim that answers with its speed or its slowdown at each.
 */
#ifndef NP_WEIGHTS_H
#define NP_WEIGHTS_H

#include "np_model.h"

/* How the victim's answers to the parts of a mixture are averaged. */
enum np_average {
	NP_AVERAGE_HARMONIC,   /* speeds: 1/(1+d) = sum w_i / (1 + d_i) */
	NP_AVERAGE_ARITHMETIC, /* slowdowns */
	NP_AVERAGE_LOG,	       /* logarithms of 1 + d */
};

/*
 * Solve the fit for the columns v->col (and idle) of normal equations gram,
 * (n_levels + 1) square, and h (n_levels + 1).
 * x, n_levels + 1: the weights, 0 elsewhere; with warm also the guess.
 * Uses the first (n_levels + 1)^2 + 2 (n_levels + 1) doubles of v->work.
 * Returns 0, or -errno with v->err.
 */
int np_weights_solve(struct np_data *v, const double *gram, const double *h,
		     double *x, bool warm);

/* The same, and scale the weights to sum 1. */
int np_weights_fit(struct np_data *v, const double *gram, const double *h,
		   double *x, bool warm);

/* Copy the victim's curve, as the average wants it, into y[n_levels]. */
void np_weights_curve(const struct np_data *v, enum np_average how, double *y);

/* log(1 + slowdown) of the mixture x of answers y. */
double np_weights_join(const struct np_data *v, enum np_average how,
		       const double *x, const double *y);

#endif

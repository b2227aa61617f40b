/* The steps of each model, for the table in np_model.c alone. */
#ifndef NP_MODEL_IMPL_H
#define NP_MODEL_IMPL_H

#include "np_model.h"

typedef int np_describe_f(struct np_data *, double *);
typedef int np_join_f(struct np_data *, const double *, const double *,
		      double *);

/*
 * np_weights.c: what the mixture models share.  A co-runner is described by
 * weights over the idle fabric and its levels, x[0] and x[1 + level], that sum
 * to 1, and a victim answers with its speed or its slowdown at each.
 */

/* How the victim's answers to the parts of a mixture are averaged. */
enum np_average {
	NP_AVERAGE_HARMONIC,   /* speeds: 1/(1+d) = sum w_i / (1 + d_i) */
	NP_AVERAGE_ARITHMETIC, /* slowdowns */
	NP_AVERAGE_LOG,	       /* logarithms of 1 + d */
};

/*
 * Solve the fit for the columns v->col (and idle) of normal equations gram,
 * (n_levels + 1) square, and h (n_levels + 1).
 * x, n_levels + 1: the weights, 0 elsewhere; if v->warm also the guess.
 * Uses the first (n_levels + 1)^2 + 2 (n_levels + 1) doubles of v->work.
 * Returns 0, or -errno with v->err.
 */
int np_weights_solve(struct np_data *v, const double *gram, const double *h,
		     double *x);

/* The same, and scale the weights to sum 1. */
int np_weights_fit(struct np_data *v, const double *gram, const double *h,
		   double *x);

/* Copy the victim's curve, as the average wants it, into y[n_levels]. */
void np_weights_curve(const struct np_data *v, enum np_average how, double *y);

/* log(1 + slowdown) of the mixture x of answers y. */
double np_weights_join(const struct np_data *v, enum np_average how,
		       const double *x, const double *y);

/* np_model_lookup.c: variant is one of these */
enum np_lookup {
	NP_LOOKUP_AVERAGE,
	NP_LOOKUP_OVERLAP,
	NP_LOOKUP_PDF,
};
np_describe_f np_lookup_describe, np_lookup_respond;
np_join_f np_lookup_join;

/* np_model_queue.c */
np_describe_f np_queue_describe, np_queue_respond;
np_join_f np_queue_join;

/* np_model_mixture.c: variant is enum np_average */
#define NP_MIXTURE_SUM 10.0  /* weight of "the weights sum to 1" */
#define NP_MIXTURE_RIDGE 1e-3
double np_mixture_bin_weight(const struct np_bins *bins, size_t bin);
/*
 * Add the products of the distributions of the idle fabric and then of levels,
 * n in all, with w, which has a number for each bin.
 */
void np_mixture_products(const struct np_data_fabric *f, const double *w,
			 size_t n, double *to);
np_describe_f np_mixture_describe, np_mixture_respond;
np_join_f np_mixture_join;

/* np_model_cross.c: variant is enum np_average */
#define NP_CROSS_SUM 3.0
np_describe_f np_cross_describe, np_open_describe;

/* np_model_victim.c */
np_describe_f np_victim_describe, np_victim_respond;
np_join_f np_victim_join;
np_describe_f np_twosided_describe, np_twosided_respond;
np_join_f np_twosided_join;

/* np_model_tolerance.c: variant is one of these */
enum { NP_TOLERANCE_MEASURED, NP_TOLERANCE_FELT };
#define NP_TOLERANCE_QUANTILES 32
np_describe_f np_tolerance_describe, np_tolerance_respond;
np_join_f np_tolerance_join;

/* np_model_mutual.c */
#define NP_MUTUAL_PER_LEVEL 4
#define NP_MUTUAL_FIXED 1
np_describe_f np_mutual_describe, np_mutual_respond;
np_join_f np_mutual_join, np_mutual_join_both;

/* np_model_ensemble.c: v->ensemble holds two sets of member weights */
#define NP_ENSEMBLE_MEMBERS 4
#define NP_ENSEMBLE_PER_LEVEL 4
#define NP_ENSEMBLE_FIXED 2
np_describe_f np_ensemble_describe, np_ensemble_respond;
np_join_f np_ensemble_join;

#endif

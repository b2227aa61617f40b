/*
 * Accuracy of predictions: predicted compared with measured slowdowns. Errors
 * are differences in percentage points, as Casas and Bronevetsky give them
 * (doc/validation/methods.md).
 */
#ifndef NP_ACCURACY_H
#define NP_ACCURACY_H

#include <stddef.h>

#define NP_ACCURACY_NEAR 10.0 /* points: an accurate prediction */
#define NP_ACCURACY_FAR 20.0  /* points: a badly wrong prediction */
#define NP_ACCURACY_HARM 0.10 /* slowdown from which a pair is harmful */

/* One pair. All are fractions; low and high are NaN without an interval. */
struct np_scored {
	double predicted, low, high;
	double measured;
};

/* Shares are fractions, and NaN if their denominator is 0. */
struct np_score {
	size_t n; /* pairs with a prediction and a measurement */
	double mean_points, median_points, max_points; /* absolute errors */
	double bias_points; /* mean of predicted - measured */
	double within_near, beyond_far;
	size_t n_harm, n_predicted_harm; /* pairs that are harmful */
	double recall, precision;	 /* of the classification as harmful */
	size_t n_intervals;
	double coverage;     /* share of intervals with the measured value */
	double width_points; /* median width of the intervals */
};

/*
 * Score n pairs, except those whose prediction or measurement is NaN. Returns 0
 * or -ENOMEM.
 */
int np_accuracy_score(const struct np_scored *scored, size_t n,
		      struct np_score *out);

/*
 * Score the best constant, as a baseline, over the pairs that
 * np_accuracy_score() counts: the constant with the least mean absolute error,
 * which is the median of their measured slowdowns. *constant is NaN if there
 * are none. Returns 0 or -ENOMEM.
 */
int np_accuracy_score_constant(const struct np_scored *scored, size_t n,
			       double *constant, struct np_score *out);

#endif

/*
 * How good are predictions?  Scores of predicted against measured slowdowns.
 * Errors are differences in percentage points, as in the source.
 */
#ifndef NP_ACCURACY_H
#define NP_ACCURACY_H

#include <stddef.h>

#define NP_ACCURACY_NEAR 10.0 /* points: close enough */
#define NP_ACCURACY_FAR 20.0  /* points: badly wrong */
#define NP_ACCURACY_HARM 0.10 /* a slowdown that matters */

/* Fractions.  An interval that was not given has NaN ends. */
struct np_scored {
	double predicted, low, high;
	double measured;
};

/* Shares are fractions, NaN where nothing can be counted. */
struct np_score {
	size_t n; /* pairs with a prediction and a measurement */
	double mean_points, median_points, max_points; /* absolute errors */
	double bias_points;  /* mean of predicted - measured */
	double within_near, beyond_far;
	size_t n_harm, n_called; /* measured, and predicted, harmful */
	double recall, precision; /* of pairs that are harmful */
	size_t n_intervals;
	double coverage;     /* intervals that hold the measured value */
	double width_points; /* median width of the intervals */
};

/*
 * Score s[n]; those with a NaN prediction or measurement are left out.
 * Returns 0 or -ENOMEM.
 */
int np_accuracy_score(const struct np_scored *s, size_t n,
		      struct np_score *out);

/*
 * The constant with the least mean absolute error, which knows the answers:
 * the median of the measured, NaN without any.  Returns 0 or -ENOMEM.
 */
int np_accuracy_best_constant(const struct np_scored *s, size_t n,
			      double *out);

#endif

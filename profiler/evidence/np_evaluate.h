/*
 * A model against measured pairs: what it predicts for every case of a set,
 * from what was measured alone and beside levels, never from the pairs.
 */
#ifndef NP_EVALUATE_H
#define NP_EVALUATE_H

#include "np_accuracy.h"
#include "np_measured.h"
#include "np_predict.h"

/*
 * Predict s->row[i] into out[i], all n_rows of them; rc[i] is 0 or what
 * np_predict() returned, in which case the slowdown is NaN.  why gets the
 * first reason of a prediction that failed, and stays empty without.
 * Returns 0, or -EINVAL or -ENOMEM with err.
 */
int np_evaluate(const struct np_measured_set *s, const struct np_model *m,
		const struct np_predict_opt *opt, struct np_prediction *out,
		int *rc, struct np_err *why, struct np_err *err);

/* Prediction and measurement side by side, for np_accuracy_score(). */
struct np_scored np_evaluate_scored(const struct np_prediction *p,
				    const struct np_measured_case *c);

#endif

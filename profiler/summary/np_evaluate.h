/*
 * Tests a model against measured pairs: predicts every case of a set from what
 * was measured alone and under load levels, never from the pairs themselves.
 */
#ifndef NP_EVALUATE_H
#define NP_EVALUATE_H

#include "np_accuracy.h"
#include "np_measured.h"
#include "np_predict.h"

/*
 * Predict s->row[i] into out[i], for all n_rows cases. rc[i] is 0, or the
 * failure of np_predict(), and then the slowdown is NaN. why: the reason of
 * the first failure, or "". Returns 0, or -EINVAL or -ENOMEM with err.
 */
int np_evaluate(const struct np_measured_set *s, const struct np_model *m,
		const struct np_predict_opt *opt, struct np_prediction *out,
		int *rc, struct np_err *why, struct np_err *err);

/* Prediction and measurement side by side, for np_accuracy_score(). */
struct np_scored np_evaluate_scored(const struct np_prediction *p,
				    const struct np_measured_case *c);

#endif

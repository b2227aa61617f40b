#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_predict_impl.h"

/* Answer every pair whose rc is -ENODATA; those without answer keep it. */
static int matrix_pass(struct np_predictor *p, struct np_ready *ready,
		       size_t n, enum np_scope scope, bool fell_back,
		       struct np_prediction *out, int *rc)
{
	size_t left = 0;

	for (size_t c = 0; c < n; c++) {
		for (size_t v = 0; v < n; v++) {
			size_t at = v * n + c;

			if (rc[at] != -ENODATA)
				continue;
			rc[at] = np_ready_pair(p, &ready[v], &ready[c], 1,
					       scope, &out[at], NULL);
			if (!rc[at] && fell_back)
				out[at].flags |= NP_PRED_FELL_BACK;
			if (rc[at] == -ENOMEM)
				return -ENOMEM;
			left += rc[at] == -ENODATA;
		}
		np_side_free(&ready[c].x); /* not asked for again */
	}
	return left ? -ENODATA : 0;
}

static int matrix(struct np_predictor *p, const struct np_program *const *app,
		  size_t n, enum np_scope scope, bool fell_back,
		  struct np_prediction *out, int *rc, struct np_err *err)
{
	struct np_ready *ready = calloc(n, sizeof(*ready));
	struct np_predictor *other = NULL;
	int ret = ready ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < n; i++)
		ret = np_ready_make(p, app[i], &ready[i], err);
	if (!ret)
		ret = matrix_pass(p, ready, n, scope, fell_back, out, rc);
	for (size_t i = 0; ready && i < n; i++)
		np_ready_free(&ready[i]);
	free(ready);
	if (ret == -ENOMEM)
		return np_errf(err, ret, "no memory for a matrix of %zu "
			       "programs", n);
	if (ret != -ENODATA)
		return ret;
	ret = np_predictor_fallback(p, &other, err);
	if (ret || !other)
		return ret;
	return matrix(other, app, n, scope, true, out, rc, err);
}

int np_predict_matrix(struct np_predictor *p,
		      const struct np_program *const *app, size_t n, enum np_scope scope,
		      struct np_prediction *out, int *rc, struct np_err *err)
{
	for (size_t i = 0; i < n * n; i++) {
		out[i] = (struct np_prediction){
			.slowdown = NAN, .low = NAN, .high = NAN,
		};
		rc[i] = -ENODATA;
	}
	return n ? matrix(p, app, n, scope, false, out, rc, err) : 0;
}

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_predict_impl.h"

/*
 * Co-runners asked about together: few enough that their sides stay in the
 * cache, while the victims' sides, which do not fit, pass by.
 */
#define BLOCK 8

/* One pair, if it is still without an answer. */
static int cell(struct np_predictor *p, struct np_ready *victim,
		struct np_ready *co, enum np_scope scope, bool fell_back,
		struct np_prediction *out, int *rc)
{
	if (*rc != -ENODATA)
		return 0;
	*rc = np_ready_pair(p, victim, co, 1, scope, out, NULL);
	if (!*rc && fell_back)
		out->flags |= NP_PRED_FELL_BACK;
	return *rc == -ENOMEM || *rc == -ENODATA ? *rc : 0;
}

/* Answer every pair whose rc is -ENODATA; those without answer keep it. */
static int matrix_pass(struct np_predictor *p, struct np_ready *ready,
		       size_t n, enum np_scope scope, bool fell_back,
		       struct np_prediction *out, int *rc)
{
	int worst = 0;

	for (size_t from = 0; from < n; from += BLOCK) {
		size_t to = from + BLOCK < n ? from + BLOCK : n;

		for (size_t at = 0; at < n * (to - from); at++) {
			size_t v = at / (to - from);
			size_t c = from + at % (to - from);
			int got = cell(p, &ready[v], &ready[c], scope,
				       fell_back, &out[v * n + c],
				       &rc[v * n + c]);

			if (got == -ENOMEM)
				return got;
			if (got)
				worst = got;
		}
		for (size_t c = from; c < to; c++)
			np_half_free(&ready[c].x); /* not asked for again */
	}
	return worst;
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

static int play_all(struct np_predictor *p, const struct np_program *const *app,
		    size_t n, enum np_scope scope, struct np_prediction *out,
		    int *rc, struct np_err *err)
{
	for (size_t i = 0; i < n * n; i++) {
		rc[i] = np_play(p, app[i / n], &app[i % n], 1, scope, &out[i],
				err);
		if (rc[i] == -ENOMEM)
			return rc[i];
	}
	return 0;
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
	if (p->m->needs & NP_NEED_PLAY)
		return play_all(p, app, n, scope, out, rc, err);
	return n ? matrix(p, app, n, scope, false, out, rc, err) : 0;
}

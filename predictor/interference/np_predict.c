#include "np_predict.h"

#include <errno.h>
#include <stdlib.h>

#include "np_predict_impl.h"

/* Nobody beside it: no slowdown, and nothing uncertain about that. */
static void alone(const struct np_predictor *p, struct np_prediction *out)
{
	*out = (struct np_prediction){ .model = p->m, .coupling = 1 };
}

/* All co-runners as one program that is ready. */
static int make_sum(struct np_predictor *p, struct np_ready *one, size_t n_co,
		    struct np_program *app, struct np_ready *sum,
		    struct np_err *err)
{
	const struct np_draw_program *draw[n_co];
	int rc;

	*app = *one[0].app;
	for (size_t i = 0; i < n_co; i++) {
		rc = np_ready_draw(p, &one[i], err);
		if (rc)
			return rc;
		draw[i] = &one[i].draw;
		if (one[i].app->latency.all.n < app->latency.all.n)
			*app = *one[i].app;
	}
	*sum = (struct np_ready){ .app = app };
	return np_draw_sum(draw, n_co, &p->fabric, &sum->draw, err);
}

/* Of several co-runners, the one that least is known about. */
static size_t least_known(const struct np_ready *one, size_t n_co,
			  const struct np_prediction *out)
{
	uint64_t least = UINT64_MAX;
	size_t at = 0;

	for (size_t c = 0; c < n_co; c++) {
		const struct np_program *a = one[c].app;
		uint64_t n = out->more == NP_MORE_LATENCY ? a->latency.all.n :
				     a->pressure[out->more_level].n;

		if (n < least) {
			least = n;
			at = c;
		}
	}
	return at;
}

static int predict_ready(struct np_predictor *p, struct np_ready *a,
			 struct np_ready *co, size_t n_co, enum np_scope scope,
			 struct np_prediction *out, struct np_err *err)
{
	struct np_ready sum = { 0 };
	struct np_program app;
	int rc = 0;

	if (n_co > 1)
		rc = make_sum(p, co, n_co, &app, &sum, err);
	if (!rc)
		rc = np_ready_pair(p, a, n_co > 1 ? &sum : co, n_co, scope,
				   out, err);
	if (!rc && p->opt.replicates)
		np_advise(p, a, n_co > 1 ? &sum : co, n_co, scope, out);
	if (!rc && (out->more == NP_MORE_LATENCY ||
		    out->more == NP_MORE_PRESSURE))
		out->more_co = least_known(co, n_co, out);
	np_ready_free(&sum);
	return rc;
}

static int check_all(const struct np_predictor *p,
		     const struct np_program *victim,
		     const struct np_program *const *co, size_t n_co,
		     struct np_err *err)
{
	int rc = np_program_check(victim, p->f, err);

	for (size_t i = 0; !rc && i < n_co; i++)
		rc = np_program_check(co[i], p->f, err);
	return rc;
}

/* Without fallback. */
static int predict_one(struct np_predictor *p, const struct np_program *victim,
		       const struct np_program *const *co, size_t n_co,
		       enum np_scope scope, struct np_prediction *out,
		       struct np_err *err)
{
	struct np_ready a = { 0 }, *ready = calloc(n_co, sizeof(*ready));
	int rc;

	if (!ready)
		return np_errf(err, -ENOMEM, "no memory for %zu co-runners",
			       n_co);
	rc = check_all(p, victim, co, n_co, err);
	if (!rc)
		rc = np_ready_make(p, victim, &a, err);
	for (size_t i = 0; !rc && i < n_co; i++)
		rc = np_ready_make(p, co[i], &ready[i], err);
	if (!rc)
		rc = predict_ready(p, &a, ready, n_co, scope, out, err);
	for (size_t i = 0; i < n_co; i++)
		np_ready_free(&ready[i]);
	np_ready_free(&a);
	free(ready);
	return rc;
}

/* What the fallback's answer says about what is missing for a better one. */
static void say_fell_back(const struct np_predictor *p,
			  const struct np_program *victim,
			  const struct np_program *const *co, size_t n_co,
			  struct np_prediction *out)
{
	out->flags |= NP_PRED_FELL_BACK;
	if (!(p->fabric.has & NP_NEED_BESIDE)) {
		out->more = NP_MORE_CALIBRATION;
		return;
	}
	for (size_t c = 0; c < n_co; c++)
		for (size_t i = 0; i < p->n; i++) {
			if (co[c]->pressure && co[c]->pressure[i].n)
				continue;
			out->more = NP_MORE_PRESSURE;
			out->more_co = c;
			out->more_level = i;
			return;
		}
	for (size_t i = 0; p->m->needs & NP_NEED_OWN_PRESSURE && i < p->n; i++)
		if (!victim->pressure || !victim->pressure[i].n) {
			out->more = NP_MORE_CURVE; /* a run gives both */
			out->more_level = i;
			return;
		}
	/* Runs beside levels without one alone make no curve. */
	if (p->m->needs & NP_NEED_CO_CURVE) {
		out->more = NP_MORE_LATENCY;
		out->more_co = 0;
		for (size_t c = 0; c < n_co; c++)
			if (!co[c]->curve)
				out->more_co = c;
	}
}

int np_predict(struct np_predictor *p, const struct np_program *victim,
	       const struct np_program *const *co, size_t n_co,
	       enum np_scope scope, struct np_prediction *out,
	       struct np_err *err)
{
	struct np_predictor *other;
	struct np_prediction got;
	int rc, rc2;

	if (!n_co) {
		alone(p, out);
		return 0;
	}
	rc = predict_one(p, victim, co, n_co, scope, &got, err);
	if (rc == -ENODATA) {
		rc2 = np_predictor_fallback(p, &other, err);
		if (rc2)
			return rc2;
		if (other) {
			rc = np_predict(other, victim, co, n_co, scope, &got,
					err);
			if (!rc)
				say_fell_back(p, victim, co, n_co, &got);
		}
	}
	if (!rc)
		*out = got;
	return rc;
}

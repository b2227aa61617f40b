#include "np_predict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_predict_impl.h"
#include "np_rng.h"

/* Below this speed an answer says "stands still", not how still. */
#define SPEED_MIN 1e-3

static void ready_free(struct np_ready *r)
{
	np_draw_program_free(&r->draw);
	np_side_free(&r->x);
	np_side_free(&r->y);
}

static int make_ready(struct np_predictor *p, const struct np_program *a,
		      struct np_ready *r, struct np_err *err)
{
	int rc = np_program_check(a, p->f, err);

	*r = (struct np_ready){ .app = a };
	return rc ? rc : np_draw_program(a, p->f, &p->draw, &r->draw, err);
}

/* A side for these levels, from memory if they are the same as before. */
static int co_side(struct np_predictor *p, struct np_ready *co, size_t n_co,
		   const struct np_use *use, struct np_err *err)
{
	if (co->x.ready && np_use_equal(&co->x.use, use))
		return 0;
	return np_side_co(p, &co->draw, n_co, use, &co->x, err);
}

static int victim_side(struct np_predictor *p, struct np_ready *a,
		       const struct np_use *use, struct np_err *err)
{
	if (a->y.ready && np_use_equal(&a->y.use, use))
		return 0;
	return np_side_victim(p, &a->draw, use, &a->y, err);
}

/* The effect of the scope on log(1 + slowdown). */
static double couple(double log_slow, double k, unsigned *flags)
{
	double speed = 1 - k + k * exp(-log_slow);

	if (!(speed > SPEED_MIN)) {
		speed = SPEED_MIN;
		*flags |= NP_PRED_CLAMPED;
	}
	return -log(speed);
}

static void couple_all(struct np_predictor *p, enum np_scope scope,
		       double *log_slow, struct np_prediction *out)
{
	const struct np_mean *k = &p->f->coupling[scope];
	double sd = isfinite(k->sd) && k->n ? k->sd / sqrt(k->n) : 0;
	struct np_rng *rng;

	out->coupling = np_mean_known(k) ? k->mean : 1;
	if (!np_mean_known(k)) {
		out->flags |= NP_PRED_NO_COUPLING;
		return;
	}
	rng = sd > 0 ? np_rng_new(p->opt.seed, "coupling") : NULL;
	for (size_t r = 0; r < p->fabric.n; r++) {
		unsigned ignored = 0, *flags = r ? &ignored : &out->flags;
		double kr = k->mean;

		if (r && rng)
			kr = fmax(0, kr + sd * np_rng_normal(rng));
		log_slow[r] = couple(log_slow[r], kr, flags);
	}
	np_rng_free(rng);
}

int np_ready_join(struct np_predictor *p, const struct np_ready *a, size_t s,
		  const struct np_ready *co, size_t r, size_t n_co,
		  double *log_slow, unsigned *flags)
{
	struct np_view v;
	int rc;

	np_view_init(p, &co->x.use, r, &v);
	v.victim = &a->draw.view[s];
	v.co = &co->draw.view[r];
	v.n_co = n_co;
	v.flags = *flags;
	rc = p->m->join(p->m, &v, co->x.z + r * p->dim, a->y.z + s * p->dim,
			log_slow);
	*flags = v.flags;
	return rc;
}

static void describe_use(const struct np_predictor *p, const struct np_ready *a,
			 const struct np_ready *co, struct np_prediction *out)
{
	const struct np_use *use = &co->x.use;

	out->model = p->m;
	out->used = p->m->needs;
	out->n_curve = use->n_col;
	out->n_pressure = use->n_row;
	out->n_left_out = co->x.n_miss + a->y.n_miss;
	if (p->m->needs & NP_NEED_LATENCY)
		out->n_probes = co->app->latency.all.n;
	if ((p->m->needs & NP_NEED_CURVE && use->n_col < p->n) ||
	    (p->m->needs & NP_NEED_PRESSURE && use->n_row < p->n))
		out->flags |= NP_PRED_PARTIAL;
}

/* A model that looks at nothing has nothing to be uncertain about. */
static bool with_interval(const struct np_predictor *p)
{
	return p->opt.replicates && p->m->needs;
}

/* The answer from two sides that are ready. */
static int answer(struct np_predictor *p, const struct np_ready *a,
		  const struct np_ready *co, size_t n_co, enum np_scope scope,
		  struct np_prediction *out, struct np_err *err)
{
	double *z = p->sample;
	int rc = 0;

	*out = (struct np_prediction){ .low = NAN, .high = NAN };
	out->flags = co->x.flags | a->y.flags | a->draw.flags |
		     co->draw.flags | p->fabric.flags;
	for (size_t r = 0; !rc && r < p->fabric.n; r++) {
		unsigned ignored = out->flags;

		rc = np_ready_join(p, a, r, co, r, n_co, &z[r],
				   r ? &ignored : &out->flags);
	}
	if (rc || !isfinite(z[0]))
		return np_errf(err, rc ? rc : -EDOM, "%s beside %s: model %s "
			       "has no answer", a->app->name, co->app->name,
			       p->m->name);
	describe_use(p, a, co, out);
	if (with_interval(p))
		np_interval_widen(&co->x, &a->y, z, p->fabric.n,
				  &out->flags);
	couple_all(p, scope, z, out);
	out->slowdown = expm1(z[0]);
	if (with_interval(p))
		np_interval(z, p->fabric.n, &out->low, &out->high);
	else
		out->flags |= NP_PRED_NO_INTERVAL;
	return 0;
}

/* The pair from programs that are ready; -ENODATA as np_use_choose() says. */
static int pair(struct np_predictor *p, struct np_ready *a,
		struct np_ready *co, size_t n_co, enum np_scope scope,
		struct np_prediction *out, struct np_err *err)
{
	struct np_use use;
	int rc = np_use_choose(p, a->app, &a->draw, co->app, &co->draw, n_co,
			       &use, err);

	if (!rc)
		rc = co_side(p, co, n_co, &use, err);
	if (!rc)
		rc = victim_side(p, a, &use, err);
	return rc ? rc : answer(p, a, co, n_co, scope, out, err);
}

/* The predictor that answers where this one's data is missing, or NULL. */
static int fallback_of(struct np_predictor *p, struct np_predictor **out,
		       struct np_err *err)
{
	const struct np_model *m;

	*out = NULL;
	if (!p->m->fallback || p->opt.strict)
		return 0;
	m = np_model_find(p->m->fallback, err);
	if (!p->fallback) {
		int rc = np_predictor_new(p->f, m, &p->opt, &p->fallback, err);

		if (rc)
			return rc;
	}
	*out = p->fallback;
	return 0;
}

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

	*app = *one[0].app;
	for (size_t i = 0; i < n_co; i++) {
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
		rc = pair(p, a, n_co > 1 ? &sum : co, n_co, scope, out, err);
	if (!rc && p->opt.replicates)
		np_advise(p, a, n_co > 1 ? &sum : co, n_co, scope, out);
	if (!rc && (out->more == NP_MORE_LATENCY ||
		    out->more == NP_MORE_PRESSURE))
		out->more_co = least_known(co, n_co, out);
	ready_free(&sum);
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
	rc = make_ready(p, victim, &a, err);
	for (size_t i = 0; !rc && i < n_co; i++)
		rc = make_ready(p, co[i], &ready[i], err);
	if (!rc)
		rc = predict_ready(p, &a, ready, n_co, scope, out, err);
	for (size_t i = 0; i < n_co; i++)
		ready_free(&ready[i]);
	ready_free(&a);
	free(ready);
	return rc;
}

/* What the fallback's answer says about what is missing for a better one. */
static void say_fell_back(const struct np_predictor *p,
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
		rc2 = fallback_of(p, &other, err);
		if (rc2)
			return rc2;
		if (other) {
			rc = np_predict(other, victim, co, n_co, scope, &got,
					err);
			say_fell_back(p, co, n_co, &got);
		}
	}
	if (!rc)
		*out = got;
	return rc;
}

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
			rc[at] = pair(p, &ready[v], &ready[c], 1, scope,
				      &out[at], NULL);
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
		ret = make_ready(p, app[i], &ready[i], err);
	if (!ret)
		ret = matrix_pass(p, ready, n, scope, fell_back, out, rc);
	for (size_t i = 0; ready && i < n; i++)
		ready_free(&ready[i]);
	free(ready);
	if (ret == -ENOMEM)
		return np_errf(err, ret, "no memory for a matrix of %zu "
			       "programs", n);
	if (ret != -ENODATA)
		return ret;
	ret = fallback_of(p, &other, err);
	if (ret || !other)
		return ret;
	return matrix(other, app, n, scope, true, out, rc, err);
}

int np_predict_matrix(struct np_predictor *p, const struct np_program *const *app,
		      size_t n, enum np_scope scope,
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

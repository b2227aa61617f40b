/* Programs made ready for questions, and one question answered from them. */
#include <errno.h>
#include <math.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "np_predict_impl.h"
#include "np_rng.h"

/* Below this speed an answer says "stands still", not how still. */
#define SPEED_MIN 1e-3

void np_ready_free(struct np_ready *r)
{
	np_draw_program_free(&r->draw);
	np_half_free(r, NP_CO);
	np_half_free(r, NP_VICTIM);
}

int np_ready_make(struct np_predictor *p, const struct np_program *a,
		  struct np_ready *r, struct np_err *err)
{
	r->app = a;
	return np_draw_known(a, p->f, &r->draw, err);
}

int np_ready_draw(struct np_predictor *p, struct np_ready *r,
		  struct np_err *err)
{
	return r->draw.view ? 0 : np_draw_views(r->app, p->f, &p->draw,
						&r->draw, err);
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

/* Replicate s of the victim beside replicate r of the co-runner. */
static void question(const struct np_predictor *p, const struct np_ready *a,
		     size_t s, const struct np_ready *co, size_t r, size_t n_co,
		     struct np_data *v)
{
	np_basis_data(p, &co->half[NP_CO].use, r, v);
	v->victim = &a->draw.view[s];
	v->co = &co->draw.view[r];
	v->n_co = n_co;
}

/* Of slowdowns; NaN: there are none. */
struct range {
	double low, high;
};

/*
 * What the answer would be if a part of the levels had not been measured, for
 * each: an answer that rests on one of them is as wrong as that may be.
 */
static void leave_levels_out(struct np_predictor *p, const struct np_ready *a,
			     const struct np_ready *co, size_t n_co,
			     enum np_scope scope, struct range *out)
{
	const struct np_half *x = &co->half[NP_CO], *y = &a->half[NP_VICTIM];
	const struct np_mean *k = &p->f->coupling[scope];
	double kappa = np_mean_known(k) ? k->mean : 1;

	for (size_t i = 0; i < NP_LESS_PARTS; i++) {
		unsigned ignored = 0;
		struct np_data v;
		double z;

		if (!x->has_less[i] || !y->has_less[i])
			continue;
		question(p, a, 0, co, 0, n_co, &v);
		if (p->m->join(&v, x->less + i * p->dim, y->less + i * p->dim,
			       &z) || !isfinite(z))
			continue;
		z = expm1(couple(z, kappa, &ignored));
		out->low = fmin(out->low, z); /* a number beside NaN */
		out->high = fmax(out->high, z);
	}
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
	struct np_data v;
	int rc;

	question(p, a, s, co, r, n_co, &v);
	v.flags = *flags;
	rc = p->m->join(&v, co->half[NP_CO].z + r * p->dim,
			a->half[NP_VICTIM].z + s * p->dim, log_slow);
	*flags = v.flags;
	return rc;
}

static void describe_use(const struct np_predictor *p, const struct np_ready *a,
			 const struct np_ready *co, struct np_prediction *out)
{
	const struct np_basis *use = &co->half[NP_CO].use;

	out->model = p->m;
	out->used = p->m->needs;
	out->n_curve = use->col.n;
	out->n_pressure = use->row.n;
	out->n_left_out = co->half[NP_CO].n_miss + a->half[NP_VICTIM].n_miss;
	if (p->m->needs & NP_NEED_LATENCY)
		out->n_probes = co->app->latency.all.n;
	if ((p->m->needs & NP_NEED_CURVE && use->col.n < p->n) ||
	    (p->m->needs & NP_NEED_PRESSURE && use->row.n < p->n))
		out->flags |= NP_PRED_PARTIAL;
}

/* A model that looks at nothing has nothing to be uncertain about. */
static bool with_interval(const struct np_predictor *p)
{
	return p->opt.replicates && p->m->needs;
}

static double scale_of(double log_slow)
{
	return NP_MISS_FLOOR + fabs(log_slow);
}

/* Misses of predictions of the same kind, scaled. */
static size_t collect(const struct np_half *s, bool beyond, double *to)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_miss; i++)
		if (beyond || !s->miss[i].beyond)
			to[n++] = s->miss[i].error /
				  scale_of(s->miss[i].log_slow);
	return n;
}

/* Add the model's own error to the replicates of n views, the point first. */
static void widen(const struct np_half *x, const struct np_half *y,
		  double *log_slow, size_t n, unsigned *flags)
{
	double miss[2 * NP_FABRIC_MAX_LEVELS], scale = scale_of(log_slow[0]);
	bool beyond = *flags & NP_PRED_BEYOND;
	size_t n_miss = collect(x, beyond, miss);

	n_miss += collect(y, beyond, miss + n_miss);
	if (!n_miss) {
		*flags |= NP_PRED_NOISE_ONLY;
		return;
	}
	for (size_t r = 1; r < n; r++) {
		/* The golden ratio spreads the misses over replicates. */
		double u = fmod((double)r * 0.6180339887498949, 1);

		log_slow[r] += scale * miss[(size_t)(u * (double)n_miss)];
	}
}

/* Sorts the replicates. */
static void interval(double *log_slow, size_t n, double *low, double *high)
{
	const double tail = (1 - NP_PREDICT_COVERAGE) / 2;
	double point = log_slow[0], *z = log_slow + 1;

	gsl_sort(z, 1, n - 1);
	*low = expm1(fmin(point, gsl_stats_quantile_from_sorted_data(
					 z, 1, n - 1, tail)));
	*high = expm1(fmax(point, gsl_stats_quantile_from_sorted_data(
					  z, 1, n - 1, 1 - tail)));
}

static unsigned flags_of(const struct np_predictor *p, const struct np_ready *a,
			 const struct np_ready *co)
{
	return co->half[NP_CO].flags | a->half[NP_VICTIM].flags |
	       a->draw.flags | co->draw.flags | p->fabric.flags;
}

/*
 * Does the co-runner slow a level more than every level does?  Then the answer
 * lies outside of all that was measured.
 */
static bool is_past_levels(const struct np_predictor *p,
			   const struct np_ready *co)
{
	const struct np_levels *row = &co->half[NP_CO].use.row;
	const double *pressure = co->draw.view[0].log_pressure;

	for (size_t i = 0; i < row->n; i++) {
		const double *beside = p->fabric.view[0].log_beside +
				       row->at[i] * p->n;

		if (pressure[row->at[i]] > gsl_stats_max(beside, 1, p->n) +
					   NP_PREDICT_DOUBT_PAST)
			return true;
	}
	return false;
}

/*
 * What the answer itself shows to be wrong with it.  *less: as answered with
 * a part of the levels left out.
 */
static unsigned doubts(struct np_predictor *p, const struct np_ready *a,
		       const struct np_ready *co, size_t n_co,
		       enum np_scope scope, double log_slow, struct range *less)
{
	unsigned flags = 0;

	*less = (struct range){ NAN, NAN };
	if (!np_model_is_of_levels(p->m))
		return 0;
	leave_levels_out(p, a, co, n_co, scope, less);
	if (less->high - less->low > NP_PREDICT_DOUBT_POINTS &&
	    fmax(log1p(less->high) - log_slow, log_slow - log1p(less->low)) >
		    NP_PREDICT_DOUBT_SHARE * scale_of(log_slow))
		flags |= NP_PRED_ONE_LEVEL;
	if (n_co == 1 && is_past_levels(p, co))
		flags |= NP_PRED_PAST_LEVELS;
	return flags;
}

/* The answer from what the model said of each view, or its rc. */
static int answer(struct np_predictor *p, const struct np_ready *a,
		  const struct np_ready *co, size_t n_co, enum np_scope scope,
		  int rc, double *z, struct np_prediction *out,
		  struct np_err *err)
{
	struct range less;

	if (rc || !isfinite(z[0]))
		return np_errf(err, rc ? rc : -EDOM, "%s beside %s: model %s "
			       "has no answer", a->app->name, co->app->name,
			       p->m->name);
	describe_use(p, a, co, out);
	if (with_interval(p))
		widen(&co->half[NP_CO], &a->half[NP_VICTIM], z, p->fabric.n,
		      &out->flags);
	couple_all(p, scope, z, out);
	out->flags |= doubts(p, a, co, n_co, scope, z[0], &less);
	out->slowdown = expm1(z[0]);
	if (!with_interval(p)) {
		out->flags |= NP_PRED_NO_INTERVAL;
		return 0;
	}
	interval(z, p->fabric.n, &out->low, &out->high);
	out->low = fmin(out->low, less.low); /* a number beside NaN */
	out->high = fmax(out->high, less.high);
	return 0;
}

/* Both sides of a question. */
static int make_sides(struct np_predictor *p, struct np_ready *a,
		      struct np_ready *co, size_t n_co, struct np_err *err)
{
	struct np_basis use;
	int rc = np_basis_choose(p, a, co, n_co, &use, err);

	if (!rc)
		rc = np_ready_draw(p, a, err);
	if (!rc)
		rc = np_ready_draw(p, co, err);
	if (!rc)
		rc = np_half_make(p, co, NP_CO, n_co, &use, err);
	return rc ? rc : np_half_make(p, a, NP_VICTIM, 1, &use, err);
}

int np_ready_pair(struct np_predictor *p, struct np_ready *a,
		  struct np_ready *co, size_t n_co, enum np_scope scope,
		  struct np_prediction *out, struct np_err *err)
{
	int rc = make_sides(p, a, co, n_co, err);
	double *z = p->sample;

	if (rc)
		return rc;
	*out = (struct np_prediction){ .low = NAN, .high = NAN };
	out->flags = flags_of(p, a, co);
	for (size_t r = 0; !rc && r < p->fabric.n; r++) {
		unsigned ignored = out->flags;

		rc = np_ready_join(p, a, r, co, r, n_co, &z[r],
				   r ? &ignored : &out->flags);
	}
	return answer(p, a, co, n_co, scope, rc, z, out, err);
}

bool np_ready_both(struct np_predictor *p, struct np_ready *a,
		   struct np_ready *b, enum np_scope scope,
		   struct np_prediction *const out[2], int rc[2])
{
	const struct np_half *x = &b->half[NP_CO], *y = &a->half[NP_VICTIM];
	const struct np_basis *back = &a->half[NP_CO].use;
	double *z = p->sample, *z_back = z + p->fabric.n;
	int joined = 0;

	if (!p->m->join_both || make_sides(p, a, b, 1, NULL) ||
	    make_sides(p, b, a, 1, NULL) ||
	    !np_levels_equal(&x->use.row, &back->col) ||
	    !np_levels_equal(&x->use.col, &back->row))
		return false;
	for (size_t r = 0; !joined && r < p->fabric.n; r++) {
		double both[2];
		struct np_data v;

		question(p, a, r, b, r, 1, &v);
		joined = p->m->join_both(&v, x->z + r * p->dim,
					 y->z + r * p->dim, both);
		z[r] = both[0];
		z_back[r] = both[1];
	}
	*out[0] = *out[1] =
		(struct np_prediction){ .low = NAN, .high = NAN };
	out[0]->flags = flags_of(p, a, b);
	out[1]->flags = flags_of(p, b, a);
	rc[0] = answer(p, a, b, 1, scope, joined, z, out[0], NULL);
	rc[1] = answer(p, b, a, 1, scope, joined, z_back, out[1], NULL);
	return true;
}

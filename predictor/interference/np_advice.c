/*
 * Which measurement would narrow the interval most?  The variance of the
 * answer is taken apart by redrawing one half at a time.
 */
#include <math.h>

#include <gsl/gsl_statistics.h>

#include "np_predict_impl.h"

/* One question, answered and now taken apart. */
struct task {
	struct np_predictor *p;
	const struct np_ready *a, *co;
	size_t n_co, n; /* co-runners; replicates */
	double *z;	/* n answers */
};

/* Answers while only one half is redrawn; their variance. */
static double redraw(struct task *t, bool victim)
{
	unsigned ignored = 0;

	for (size_t r = 0; r < t->n; r++)
		if (np_ready_join(t->p, t->a, victim ? r + 1 : 0, t->co,
				  victim ? 0 : r + 1, t->n_co, &t->z[r],
				  &ignored))
			return 0;
	return gsl_stats_variance(t->z, 1, t->n);
}

static const double *input(const struct task *t, size_t r, bool victim)
{
	return victim ? t->a->draw.view[r + 1].log_curve :
			t->co->draw.view[r + 1].log_pressure;
}

/* Variance of the answers in t->z that goes along with level i's number. */
static double explained(const struct task *t, bool victim, size_t i,
			double *work)
{
	double var;

	for (size_t r = 0; r < t->n; r++)
		work[r] = input(t, r, victim)[i];
	var = gsl_stats_variance(work, 1, t->n);
	if (!(var > 0))
		return 0;
	var = gsl_stats_covariance(work, 1, t->z, 1, t->n) / sqrt(var);
	return var * var;
}

/* The level whose number moves the answer most; *sum: what all explain. */
static size_t strongest(const struct task *t, bool victim, double *sum)
{
	const struct np_basis *use = &t->co->half[NP_CO].use;
	const struct np_levels *list = victim ? &use->col : &use->row;
	size_t at = 0;
	double top = -1, *work = t->z + t->n, e;

	*sum = 0;
	for (size_t i = 0; i < list->n; i++) {
		e = explained(t, victim, list->at[i], work);
		*sum += e;
		if (e > top) {
			top = e;
			at = list->at[i];
		}
	}
	return at;
}

/* Variance of what the model misses when levels are left out. */
static double missed(const struct np_half *x, const struct np_half *y)
{
	double sum = 0;
	size_t n = x->n_miss + y->n_miss;

	for (size_t i = 0; i < x->n_miss; i++)
		sum += x->miss[i].error * x->miss[i].error;
	for (size_t i = 0; i < y->n_miss; i++)
		sum += y->miss[i].error * y->miss[i].error;
	return n ? sum / (double)n : 0;
}

/* How far level i is from the co-runners, on the model's own scale. */
static double distance(const struct task *t, size_t i)
{
	const struct np_data_fabric *f = &t->p->fabric.view[0];
	const struct np_data_program *co = &t->co->draw.view[0];
	const struct np_basis *use = &t->co->half[NP_CO].use;
	double sum = 0;

	if (!(t->p->m->needs & NP_NEED_PRESSURE))
		return fabs(f->level[i].mean - co->latency.mean);
	for (size_t r = 0; r < use->row.n; r++)
		sum += f->fit_beside[use->row.at[r] * f->n_levels + i] -
		       co->fit_pressure[use->row.at[r]];
	return fabs(sum);
}

/* The level most like the co-runners, among all or those of the curve. */
static size_t nearest(const struct task *t, bool of_curve)
{
	const struct np_basis *use = &t->co->half[NP_CO].use;
	size_t n = of_curve ? use->col.n : t->p->n, at = 0;
	double best = INFINITY;

	for (size_t c = 0; c < n; c++) {
		size_t i = of_curve ? use->col.at[c] : c;
		double d = distance(t, i);

		if (d < best) {
			best = d;
			at = i;
		}
	}
	return at;
}

static double coupling_var(const struct np_predictor *p, enum np_scope scope,
			   double log_slow)
{
	const struct np_mean *k = &p->f->coupling[scope];
	double loss = 1 - exp(-log_slow);

	/* One that was never measured has its own flag. */
	return k->n && isfinite(k->sd) ? loss * loss * k->sd * k->sd / k->n : 0;
}

static void advise_curve(struct task *t, struct np_prediction *out)
{
	double sum;

	out->more = NP_MORE_CURVE;
	redraw(t, true);
	out->more_level = strongest(t, true, &sum);
}

static void advise_co(struct task *t, double var, struct np_prediction *out)
{
	double sum;
	size_t level;

	redraw(t, false);
	if (t->p->m->needs & NP_NEED_LATENCY) {
		out->more = NP_MORE_LATENCY;
		return;
	}
	level = strongest(t, false, &sum);
	out->more = sum < var / 2 ? NP_MORE_CALIBRATION : NP_MORE_PRESSURE;
	out->more_level = level;
}

void np_advise(struct np_predictor *p, const struct np_ready *a,
	       const struct np_ready *co, size_t n_co, enum np_scope scope,
	       struct np_prediction *out)
{
	struct task t = { p, a, co, n_co, p->opt.replicates, p->sample };
	double curve, press, model, k;
	size_t like;

	if (!(p->m->needs & NP_NEED_CURVE))
		return;
	like = nearest(&t, false);
	curve = redraw(&t, true);
	press = redraw(&t, false);
	model = missed(&co->half[NP_CO], &a->half[NP_VICTIM]);
	k = coupling_var(p, scope, log1p(out->slowdown));
	if (!a->draw.has_curve[like]) {
		out->more = NP_MORE_CURVE;
		out->more_level = like;
	} else if (k > fmax(curve, fmax(press, model))) {
		out->more = NP_MORE_COUPLING;
	} else if (model > fmax(curve, press)) {
		out->more = NP_MORE_LEVELS;
		out->more_level = nearest(&t, true);
	} else if (curve >= press) {
		advise_curve(&t, out);
	} else {
		advise_co(&t, press, out);
	}
}

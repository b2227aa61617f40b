/*
 * The look-up models of [C]: the co-runner slows the victim as much as the
 * level whose latencies resemble its own the most.  x[0] is that level.
 */
#include "np_model_impl.h"

#include <math.h>
#include <string.h>

/* Scores nearer than this, relatively, are ties. */
#define TIE 1e-12

static double overlap(const struct np_data_latency *a,
		      const struct np_data_latency *b)
{
	return fmax(0, fmin(a->mean + a->sd, b->mean + b->sd) -
			       fmax(a->mean - a->sd, b->mean - b->sd));
}

/* Sum over bins of the product of the masses. */
static double product(const double *a, const double *b, size_t n)
{
	double sum = a[0] * b[0];

	for (size_t i = 1; i < n; i++)
		sum += (a[i] - a[i - 1]) * (b[i] - b[i - 1]);
	return sum;
}

/* How much level j resembles the co-runner: more is better. */
static double score(enum np_lookup how, const struct np_data *v, size_t j)
{
	const struct np_data_latency *co = &v->co->latency;
	const struct np_data_latency *l = &v->fabric->level[j];

	switch (how) {
	case NP_LOOKUP_OVERLAP:
		return overlap(co, l);
	case NP_LOOKUP_PDF:
		return product(co->cdf, l->cdf, v->fabric->bins->n);
	default:
		return -fabs(co->mean - l->mean);
	}
}

static double mean_gap(const struct np_data *v, size_t j)
{
	return fabs(v->co->latency.mean - v->fabric->level[j].mean);
}

/* Ties go to the nearer mean, then to the earlier level. */
static size_t best(enum np_lookup how, const struct np_data *v, double *top)
{
	size_t at = v->col->at[0];

	*top = score(how, v, at);
	for (size_t i = 1; i < v->col->n; i++) {
		size_t j = v->col->at[i];
		double s = score(how, v, j), tie = TIE * fabs(*top);

		if (s < *top - tie ||
		    (s <= *top + tie && mean_gap(v, j) >=
			     mean_gap(v, at) * (1 - TIE)))
			continue;
		*top = s;
		at = j;
	}
	return at;
}

static bool outside(const struct np_data *v)
{
	double lo = INFINITY, hi = 0;

	for (size_t i = 0; i < v->col->n; i++) {
		lo = fmin(lo, v->fabric->level[v->col->at[i]].mean);
		hi = fmax(hi, v->fabric->level[v->col->at[i]].mean);
	}
	return v->co->latency.mean > hi || v->co->latency.mean < lo;
}

int np_lookup_describe(struct np_data *v, double *x)
{
	double top;

	x[0] = (double)best((enum np_lookup)v->model->variant, v, &top);
	/* Nothing in common with any level: only the means are left. */
	if (top == 0 && v->model->variant != NP_LOOKUP_AVERAGE) {
		x[0] = (double)best(NP_LOOKUP_AVERAGE, v, &top);
		v->flags |= NP_PRED_NO_OVERLAP;
	}
	if (outside(v))
		v->flags |= NP_PRED_BEYOND;
	return 0;
}

int np_lookup_respond(struct np_data *v, double *y)
{
	for (size_t i = 0; i < v->col->n; i++)
		y[v->col->at[i]] = v->victim->log_curve[v->col->at[i]];
	return 0;
}

int np_lookup_join(struct np_data *v, const double *x, const double *y,
		   double *log_slow)
{
	(void)v;
	*log_slow = y[(size_t)x[0]];
	return 0;
}

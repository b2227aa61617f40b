#include "np_phase.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#define MAX_ROUNDS 30
#define LEAST_SD 0.01 /* of x: latencies are not measured better than 1 % */

struct points {
	size_t n;
	double width_sec;
	double noise; /* variance of x expected from the samples */
	double x[NP_SERIES_MAX];
};

struct model {
	double mean[2]; /* of x: quiet, busy */
	double var;
	double p_switch;
	double loglik;
};

/* Moments of width windows, starting at window i. */
static struct np_moments window_at(const struct np_series *series, size_t i,
				   size_t width)
{
	struct np_moments moments = { 0 };

	for (size_t k = i; k < i + width && k < series->n; k++)
		np_moments_merge(&moments, &series->w[k]);
	return moments;
}

static bool usable(const struct np_moments *moments)
{
	return moments->n >= NP_PHASE_PROBES && moments->mean > 0 &&
	       isfinite(moments->mean);
}

/* The smallest width whose windows mostly hold enough samples. */
static size_t width_of(const struct np_series *series)
{
	for (size_t width = 1; width < series->n; width *= 2) {
		size_t some = 0, enough = 0;

		for (size_t i = 0; i < series->n; i += width) {
			struct np_moments m = window_at(series, i, width);

			some += m.n > 0;
			enough += usable(&m);
		}
		if (enough >= 0.8 * (double)some)
			return width;
	}
	return series->n ? series->n : 1;
}

static void collect(const struct np_series *series, struct points *points)
{
	size_t width = width_of(series);

	memset(points, 0, sizeof(*points));
	points->width_sec = series->width_sec * (double)width;
	for (size_t i = 0; i < series->n; i += width) {
		struct np_moments m = window_at(series, i, width);

		if (!usable(&m))
			continue;
		points->noise +=
			np_moments_var(&m) / ((double)m.n * m.mean * m.mean);
		points->x[points->n++] = log(m.mean);
	}
	if (points->n)
		points->noise = fmax(points->noise / (double)points->n,
				     LEAST_SD * LEAST_SD);
}

static double log_normal(double x, double mean, double var)
{
	return -0.5 * (log(2 * M_PI * var) + (x - mean) * (x - mean) / var);
}

static double loglik_steady(const struct points *points)
{
	struct np_moments all = { 0 };
	double var, sum = 0;

	for (size_t i = 0; i < points->n; i++)
		np_moments_add(&all, points->x[i]);
	var = fmax(all.m2 / (double)all.n, points->noise);
	for (size_t i = 0; i < points->n; i++)
		sum += log_normal(points->x[i], all.mean, var);
	return sum;
}

/* The threshold with least variance within both parts (Otsu's method). */
static double first_cut(const struct points *points)
{
	double sorted[NP_SERIES_MAX], total = 0, low = 0, best = -1, cut = 0;

	memcpy(sorted, points->x, points->n * sizeof(*sorted));
	gsl_sort(sorted, 1, points->n);
	for (size_t i = 0; i < points->n; i++)
		total += sorted[i];
	for (size_t i = 0; i + 1 < points->n; i++) {
		double n0 = (double)(i + 1), n1 = (double)(points->n - i - 1),
		       d;

		low += sorted[i];
		d = (total - low) / n1 - low / n0;
		if (n0 * n1 * d * d > best) {
			best = n0 * n1 * d * d;
			cut = (sorted[i] + sorted[i + 1]) / 2;
		}
	}
	return cut;
}

/* Means, variance and switching of a path. False if one state is empty. */
static bool estimate(const struct points *points, const unsigned char *state,
		     struct model *model)
{
	struct np_moments part[2] = { { 0 } };
	size_t switches = 0;

	for (size_t i = 0; i < points->n; i++) {
		np_moments_add(&part[state[i]], points->x[i]);
		switches += i && state[i] != state[i - 1];
	}
	if (!part[0].n || !part[1].n)
		return false;
	model->mean[0] = part[0].mean;
	model->mean[1] = part[1].mean;
	model->var = fmax((part[0].m2 + part[1].m2) / (double)points->n,
			  points->noise);
	model->p_switch = ((double)switches + 1) / ((double)points->n + 1);
	return true;
}

/* The most likely sequence of states, and its likelihood. */
static void viterbi(const struct points *points, struct model *model,
		    unsigned char *state)
{
	static const double half = -0.69314718055994531; /* log 1/2 */
	unsigned char from[NP_SERIES_MAX][2];
	double stay = log(1 - model->p_switch), change = log(model->p_switch);
	double best[2];

	for (int k = 0; k < 2; k++)
		best[k] = half +
			  log_normal(points->x[0], model->mean[k], model->var);
	for (size_t i = 1; i < points->n; i++) {
		double next[2];

		for (int k = 0; k < 2; k++) {
			double same = best[k] + stay;
			double other = best[!k] + change;

			from[i][k] = (unsigned char)(other > same ? !k : k);
			next[k] = fmax(same, other) + log_normal(points->x[i],
								 model->mean[k],
								 model->var);
		}
		memcpy(best, next, sizeof(best));
	}
	state[points->n - 1] = best[1] > best[0];
	model->loglik = fmax(best[0], best[1]);
	for (size_t i = points->n - 1; i; i--)
		state[i - 1] = from[i][state[i]];
}

/* Returns false if only one state remains. */
static bool fit(const struct points *points, struct model *model,
		unsigned char *state)
{
	unsigned char before[NP_SERIES_MAX];
	double cut = first_cut(points);

	for (size_t i = 0; i < points->n; i++)
		state[i] = points->x[i] > cut;
	for (int round = 0; round < MAX_ROUNDS; round++) {
		if (!estimate(points, state, model))
			return false;
		memcpy(before, state, points->n);
		viterbi(points, model, state);
		if (!memcmp(before, state, points->n))
			return true;
	}
	return estimate(points, state, model);
}

static void describe(const struct points *points, const struct model *model,
		     const unsigned char *state, struct np_phases *out,
		     size_t *n_quiet)
{
	size_t busy = 0;

	*n_quiet = 0;
	out->n_busy = 0;
	for (size_t i = 0; i < points->n; i++) {
		bool starts = !i || state[i] != state[i - 1];

		busy += state[i];
		out->n_busy += starts && state[i];
		*n_quiet += starts && !state[i];
	}
	out->busy_share = (double)busy / (double)points->n;
	out->quiet_sec = exp(model->mean[0]);
	out->busy_sec = exp(model->mean[1]);
	out->busy_period_sec = out->n_busy ? (double)busy * points->width_sec /
						     (double)out->n_busy :
					     0;
}

static bool in_phases(const struct points *points, const struct model *model,
		      const struct np_phases *found, size_t n_quiet)
{
	double n = (double)points->n, busy = found->busy_share * n;
	double gain = model->loglik - loglik_steady(points);

	return gain > 1.5 * log(n) &&
	       model->mean[1] - model->mean[0] >= log(NP_PHASE_RATIO) &&
	       model->mean[1] - model->mean[0] >=
		       NP_PHASE_APART * sqrt(model->var) &&
	       busy >= NP_PHASE_DWELL * (double)found->n_busy &&
	       n - busy >= NP_PHASE_DWELL * (double)n_quiet &&
	       1 - found->busy_share >= NP_PHASE_QUIET;
}

void np_phase_find(const struct np_series *series, struct np_phases *out)
{
	unsigned char state[NP_SERIES_MAX];
	struct np_phases found = { 0 };
	struct points points;
	struct model model;
	size_t n_quiet;

	collect(series, &points);
	*out = (struct np_phases){
		.kind = NP_PHASE_UNKNOWN,
		.n_windows = points.n,
		.window_sec = points.width_sec,
	};
	if (points.n < NP_PHASE_WINDOWS)
		return;
	out->kind = NP_PHASE_STEADY;
	if (!fit(&points, &model, state))
		return;
	describe(&points, &model, state, &found, &n_quiet);
	if (!in_phases(&points, &model, &found, n_quiet))
		return;
	found.kind = NP_PHASE_PHASES;
	found.n_windows = points.n;
	found.window_sec = points.width_sec;
	*out = found;
}

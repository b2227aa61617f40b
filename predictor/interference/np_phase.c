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
static struct np_moments window_at(const struct np_series *s, size_t i,
				   size_t width)
{
	struct np_moments m = { 0 };

	for (size_t k = i; k < i + width && k < s->n; k++)
		np_moments_merge(&m, &s->w[k]);
	return m;
}

static bool usable(const struct np_moments *m)
{
	return m->n >= NP_PHASE_PROBES && m->mean > 0 && isfinite(m->mean);
}

/* The smallest width whose windows mostly hold enough samples. */
static size_t width_of(const struct np_series *s)
{
	for (size_t width = 1; width < s->n; width *= 2) {
		size_t some = 0, enough = 0;

		for (size_t i = 0; i < s->n; i += width) {
			struct np_moments m = window_at(s, i, width);

			some += m.n > 0;
			enough += usable(&m);
		}
		if (enough >= 0.8 * (double)some)
			return width;
	}
	return s->n ? s->n : 1;
}

static void collect(const struct np_series *s, struct points *p)
{
	size_t width = width_of(s);

	memset(p, 0, sizeof(*p));
	p->width_sec = s->width_sec * (double)width;
	for (size_t i = 0; i < s->n; i += width) {
		struct np_moments m = window_at(s, i, width);

		if (!usable(&m))
			continue;
		p->noise += np_moments_var(&m) /
			    ((double)m.n * m.mean * m.mean);
		p->x[p->n++] = log(m.mean);
	}
	if (p->n)
		p->noise = fmax(p->noise / (double)p->n, LEAST_SD * LEAST_SD);
}

static double log_normal(double x, double mean, double var)
{
	return -0.5 * (log(2 * M_PI * var) + (x - mean) * (x - mean) / var);
}

static double loglik_steady(const struct points *p)
{
	struct np_moments all = { 0 };
	double var, sum = 0;

	for (size_t i = 0; i < p->n; i++)
		np_moments_add(&all, p->x[i]);
	var = fmax(all.m2 / (double)all.n, p->noise);
	for (size_t i = 0; i < p->n; i++)
		sum += log_normal(p->x[i], all.mean, var);
	return sum;
}

/* The threshold with least variance within both parts (Otsu's method). */
static double first_cut(const struct points *p)
{
	double sorted[NP_SERIES_MAX], total = 0, low = 0, best = -1, cut = 0;

	memcpy(sorted, p->x, p->n * sizeof(*sorted));
	gsl_sort(sorted, 1, p->n);
	for (size_t i = 0; i < p->n; i++)
		total += sorted[i];
	for (size_t i = 0; i + 1 < p->n; i++) {
		double n0 = (double)(i + 1), n1 = (double)(p->n - i - 1), d;

		low += sorted[i];
		d = (total - low) / n1 - low / n0;
		if (n0 * n1 * d * d > best) {
			best = n0 * n1 * d * d;
			cut = (sorted[i] + sorted[i + 1]) / 2;
		}
	}
	return cut;
}

/* Means, variance and switching of a path.  False if one state is empty. */
static bool estimate(const struct points *p, const unsigned char *state,
		     struct model *m)
{
	struct np_moments part[2] = { { 0 } };
	size_t switches = 0;

	for (size_t i = 0; i < p->n; i++) {
		np_moments_add(&part[state[i]], p->x[i]);
		switches += i && state[i] != state[i - 1];
	}
	if (!part[0].n || !part[1].n)
		return false;
	m->mean[0] = part[0].mean;
	m->mean[1] = part[1].mean;
	m->var = fmax((part[0].m2 + part[1].m2) / (double)p->n, p->noise);
	m->p_switch = ((double)switches + 1) / ((double)p->n + 1);
	return true;
}

/* The most likely sequence of states, and its likelihood. */
static void viterbi(const struct points *p, struct model *m,
		    unsigned char *state)
{
	static const double half = -0.69314718055994531; /* log 1/2 */
	unsigned char from[NP_SERIES_MAX][2];
	double stay = log(1 - m->p_switch), change = log(m->p_switch);
	double best[2];

	for (int k = 0; k < 2; k++)
		best[k] = half + log_normal(p->x[0], m->mean[k], m->var);
	for (size_t i = 1; i < p->n; i++) {
		double next[2];

		for (int k = 0; k < 2; k++) {
			double same = best[k] + stay;
			double other = best[!k] + change;

			from[i][k] = (unsigned char)(other > same ? !k : k);
			next[k] = fmax(same, other) +
				  log_normal(p->x[i], m->mean[k], m->var);
		}
		memcpy(best, next, sizeof(best));
	}
	state[p->n - 1] = best[1] > best[0];
	m->loglik = fmax(best[0], best[1]);
	for (size_t i = p->n - 1; i; i--)
		state[i - 1] = from[i][state[i]];
}

/* Returns false if only one state remains. */
static bool fit(const struct points *p, struct model *m, unsigned char *state)
{
	unsigned char before[NP_SERIES_MAX];
	double cut = first_cut(p);

	for (size_t i = 0; i < p->n; i++)
		state[i] = p->x[i] > cut;
	for (int round = 0; round < MAX_ROUNDS; round++) {
		if (!estimate(p, state, m))
			return false;
		memcpy(before, state, p->n);
		viterbi(p, m, state);
		if (!memcmp(before, state, p->n))
			return true;
	}
	return estimate(p, state, m);
}

static void describe(const struct points *p, const struct model *m,
		     const unsigned char *state, struct np_phases *out,
		     size_t *n_quiet)
{
	size_t busy = 0;

	*n_quiet = 0;
	out->n_busy = 0;
	for (size_t i = 0; i < p->n; i++) {
		bool starts = !i || state[i] != state[i - 1];

		busy += state[i];
		out->n_busy += starts && state[i];
		*n_quiet += starts && !state[i];
	}
	out->busy_share = (double)busy / (double)p->n;
	out->quiet_sec = exp(m->mean[0]);
	out->busy_sec = exp(m->mean[1]);
	out->busy_period_sec = out->n_busy ? (double)busy * p->width_sec /
					     (double)out->n_busy : 0;
}

static bool in_phases(const struct points *p, const struct model *m,
		      const struct np_phases *found, size_t n_quiet)
{
	double n = (double)p->n, busy = found->busy_share * n;
	double gain = m->loglik - loglik_steady(p);

	return gain > 1.5 * log(n) &&
	       m->mean[1] - m->mean[0] >= log(NP_PHASE_RATIO) &&
	       m->mean[1] - m->mean[0] >= NP_PHASE_APART * sqrt(m->var) &&
	       busy >= NP_PHASE_DWELL * (double)found->n_busy &&
	       n - busy >= NP_PHASE_DWELL * (double)n_quiet &&
	       1 - found->busy_share >= NP_PHASE_QUIET;
}

void np_phase_find(const struct np_series *s, struct np_phases *out)
{
	unsigned char state[NP_SERIES_MAX];
	struct np_phases found = { 0 };
	struct points p;
	struct model m;
	size_t n_quiet;

	collect(s, &p);
	*out = (struct np_phases){
		.kind = NP_PHASE_UNKNOWN, .n_windows = p.n,
		.window_sec = p.width_sec,
	};
	if (p.n < NP_PHASE_WINDOWS)
		return;
	out->kind = NP_PHASE_STEADY;
	if (!fit(&p, &m, state))
		return;
	describe(&p, &m, state, &found, &n_quiet);
	if (!in_phases(&p, &m, &found, n_quiet))
		return;
	found.kind = NP_PHASE_PHASES;
	found.n_windows = p.n;
	found.window_sec = p.width_sec;
	*out = found;
}

#include "np_moments.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "np_array.h"

void np_moments_add(struct np_moments *m, double x)
{
	const struct np_moments one = {
		.n = 1, .mean = x, .min = x, .max = x,
	};

	np_moments_merge(m, &one);
}

void np_moments_merge(struct np_moments *m, const struct np_moments *other)
{
	double n, delta;

	if (!other->n)
		return;
	if (!m->n) {
		*m = *other;
		return;
	}
	n = (double)m->n + (double)other->n;
	delta = other->mean - m->mean;
	m->m2 += other->m2 + delta * delta * m->n * (other->n / n);
	m->mean += delta * (other->n / n);
	m->n += other->n;
	m->min = fmin(m->min, other->min);
	m->max = fmax(m->max, other->max);
}

double np_moments_var(const struct np_moments *m)
{
	return m->n < 2 ? 0.0 : m->m2 / (double)(m->n - 1);
}

double np_moments_sd(const struct np_moments *m)
{
	return sqrt(np_moments_var(m));
}

double np_moments_half_width(const struct np_moments *m)
{
	if (m->n < 2)
		return INFINITY;
	return gsl_cdf_tdist_Pinv(0.975, (double)m->n - 1) *
	       np_moments_sd(m) / sqrt((double)m->n);
}

int np_moments_valid(const struct np_moments *m)
{
	if (!m->n)
		return 1;
	return isfinite(m->mean) && isfinite(m->m2) && m->m2 >= 0 &&
	       isfinite(m->min) && isfinite(m->max) && m->min <= m->max &&
	       m->mean >= m->min - 1e-9 * fabs(m->min) &&
	       m->mean <= m->max + 1e-9 * fabs(m->max);
}

#define TEN_YEARS_SEC (10 * 366 * 86400.0)

void np_series_init(struct np_series *s, double width_sec)
{
	memset(s, 0, sizeof(*s));
	s->width_sec = width_sec;
}

static void merge_pairs(struct np_series *s)
{
	size_t half = (s->n + 1) / 2;

	for (size_t i = 0; i < half; i++) {
		struct np_moments both = s->w[2 * i];

		if (2 * i + 1 < s->n)
			np_moments_merge(&both, &s->w[2 * i + 1]);
		s->w[i] = both;
	}
	memset(&s->w[half], 0, (s->n - half) * sizeof(s->w[0]));
	s->n = half;
	s->width_sec *= 2;
}

int np_series_add(struct np_series *s, double at_sec,
		  const struct np_moments *m)
{
	size_t i;

	if (!(at_sec >= 0 && at_sec < TEN_YEARS_SEC))
		return -EINVAL;
	while (at_sec >= s->width_sec * NP_SERIES_MAX)
		merge_pairs(s);
	i = (size_t)(at_sec / s->width_sec);
	if (i >= NP_SERIES_MAX) /* the division was rounded up */
		i = NP_SERIES_MAX - 1;
	if (i >= s->n)
		s->n = i + 1;
	np_moments_merge(&s->w[i], m);
	return 0;
}

/* ---- quantiles ---- */

double np_quantile(double *v, size_t n, double q)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), np_order_double);
	return v[(size_t)(q * (double)(n - 1) + 0.5)];
}

/* ---- noise of a measured slowdown ---- */

double np_noise_freedom(const struct np_mean *m, double *square)
{
	double rel;

	if (m->n < 2 || !isfinite(m->sd))
		return 0;
	rel = m->sd / (1 + m->mean);
	*square = rel * rel;
	return m->n - 1.0;
}

double np_noise_pooled(const struct np_mean *m, size_t n)
{
	double sum = NP_NOISE_DEFAULT * NP_NOISE_DEFAULT, df = 1, square = 0;

	for (size_t i = 0; i < n; i++) {
		double f = np_noise_freedom(&m[i], &square);

		sum += f * square;
		df += f;
	}
	return sqrt(sum / df);
}

double np_noise_of_mean(const struct np_mean *m, double pooled)
{
	double square = 0, f = np_noise_freedom(m, &square);
	double var = (f * square + NP_NOISE_PRIOR * pooled * pooled) /
		     (f + NP_NOISE_PRIOR);

	return sqrt(var / m->n);
}

void np_noise_interval(const struct np_mean *m, double pooled, double *low,
		       double *high)
{
	double square, df = NP_NOISE_PRIOR + np_noise_freedom(m, &square);
	double half = gsl_cdf_tdist_Pinv(0.975, df) *
		      np_noise_of_mean(m, pooled);

	*low = expm1(log1p(m->mean) - half);
	*high = expm1(log1p(m->mean) + half);
}

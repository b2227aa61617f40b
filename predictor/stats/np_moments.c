#include "np_moments.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

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

double np_moments_half(const struct np_moments *m)
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

static void halve(struct np_series *s)
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
		halve(s);
	i = (size_t)(at_sec / s->width_sec);
	if (i >= NP_SERIES_MAX) /* the division rounded up */
		i = NP_SERIES_MAX - 1;
	if (i >= s->n)
		s->n = i + 1;
	np_moments_merge(&s->w[i], m);
	return 0;
}

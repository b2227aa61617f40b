#include "np_moments.h"

#include <math.h>

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

#include "np_noise.h"

#include <gsl/gsl_cdf.h>

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

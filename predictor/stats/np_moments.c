#include "np_moments.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "np_array.h"

void np_moments_add(struct np_moments *moments, double x)
{
	const struct np_moments one = { 1, x, 0, x, x };

	np_moments_merge(moments, &one);
}

void np_moments_merge(struct np_moments *moments,
		      const struct np_moments *other)
{
	double n, delta;

	if (!other->n)
		return;
	if (!moments->n) {
		*moments = *other;
		return;
	}
	n = (double)moments->n + (double)other->n;
	delta = other->mean - moments->mean;
	moments->m2 += other->m2 + delta * delta * moments->n * (other->n / n);
	moments->mean += delta * (other->n / n);
	moments->n += other->n;
	moments->min = fmin(moments->min, other->min);
	moments->max = fmax(moments->max, other->max);
}

double np_moments_var(const struct np_moments *moments)
{
	return moments->n < 2 ? 0.0 : moments->m2 / (double)(moments->n - 1);
}

double np_moments_sd(const struct np_moments *moments)
{
	return sqrt(np_moments_var(moments));
}

double np_moments_half_width(const struct np_moments *moments)
{
	if (moments->n < 2)
		return INFINITY;
	return gsl_cdf_tdist_Pinv(0.975, (double)moments->n - 1) *
	       np_moments_sd(moments) / sqrt((double)moments->n);
}

double np_moments_errors(const struct np_moments *moments, double probability)
{
	if (moments->n < 2)
		return INFINITY;
	return gsl_cdf_tdist_Qinv(probability, (double)moments->n - 1);
}

int np_moments_valid(const struct np_moments *moments)
{
	if (!moments->n)
		return 1;
	return isfinite(moments->mean) && isfinite(moments->m2) &&
	       moments->m2 >= 0 && isfinite(moments->min) &&
	       isfinite(moments->max) && moments->min <= moments->max &&
	       moments->mean >= moments->min - 1e-9 * fabs(moments->min) &&
	       moments->mean <= moments->max + 1e-9 * fabs(moments->max);
}

#define TEN_YEARS_SEC (10 * 366 * 86400.0)

void np_series_init(struct np_series *series, double width_sec)
{
	memset(series, 0, sizeof(*series));
	series->width_sec = width_sec;
}

static void merge_pairs(struct np_series *series)
{
	size_t half = (series->n + 1) / 2;

	for (size_t i = 0; i < half; i++) {
		struct np_moments both = series->w[2 * i];

		if (2 * i + 1 < series->n)
			np_moments_merge(&both, &series->w[2 * i + 1]);
		series->w[i] = both;
	}
	memset(&series->w[half], 0, (series->n - half) * sizeof(series->w[0]));
	series->n = half;
	series->width_sec *= 2;
}

int np_series_add(struct np_series *series, double at_sec,
		  const struct np_moments *moments)
{
	size_t i;

	if (!(at_sec >= 0 && at_sec < TEN_YEARS_SEC))
		return -EINVAL;
	while (at_sec >= series->width_sec * NP_SERIES_MAX)
		merge_pairs(series);
	i = (size_t)(at_sec / series->width_sec);
	if (i >= NP_SERIES_MAX) /* the division was rounded up */
		i = NP_SERIES_MAX - 1;
	if (i >= series->n)
		series->n = i + 1;
	np_moments_merge(&series->w[i], moments);
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

double np_median(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), np_order_double);
	return (v[n / 2] + v[(n - 1) / 2]) / 2;
}

/* ---- noise of a measured slowdown ---- */

double np_noise_freedom(const struct np_mean *mean, double *square)
{
	double rel;

	if (mean->n < 2 || !isfinite(mean->sd))
		return 0;
	rel = mean->sd / (1 + mean->mean);
	*square = rel * rel;
	return mean->n - 1.0;
}

double np_noise_pooled(const struct np_mean *mean, size_t n)
{
	double sum = NP_NOISE_DEFAULT * NP_NOISE_DEFAULT, df = 1, square = 0;

	for (size_t i = 0; i < n; i++) {
		double f = np_noise_freedom(&mean[i], &square);

		sum += f * square;
		df += f;
	}
	return sqrt(sum / df);
}

double np_noise_of_mean(const struct np_mean *mean, double pooled)
{
	double square = 0, f = np_noise_freedom(mean, &square);
	double var = (f * square + NP_NOISE_PRIOR * pooled * pooled) /
		     (f + NP_NOISE_PRIOR);

	return sqrt(var / mean->n);
}

void np_noise_interval_of(const struct np_mean *mean, double pooled,
			  double probability, double *low, double *high)
{
	double square, df = NP_NOISE_PRIOR + np_noise_freedom(mean, &square);
	double half = gsl_cdf_tdist_Pinv((1 + probability) / 2, df) *
		      np_noise_of_mean(mean, pooled);

	*low = expm1(log1p(mean->mean) - half);
	*high = expm1(log1p(mean->mean) + half);
}

void np_noise_interval(const struct np_mean *mean, double pooled, double *low,
		       double *high)
{
	np_noise_interval_of(mean, pooled, 0.95, low, high);
}

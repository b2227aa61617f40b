#include <math.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "np_predict_impl.h"

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

void np_interval_widen(const struct np_half *x, const struct np_half *y,
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

void np_interval(double *log_slow, size_t n, double *low, double *high)
{
	const double tail = (1 - NP_PREDICT_COVERAGE) / 2;
	double point = log_slow[0], *z = log_slow + 1;

	gsl_sort(z, 1, n - 1);
	*low = expm1(fmin(point, gsl_stats_quantile_from_sorted_data(
					 z, 1, n - 1, tail)));
	*high = expm1(fmax(point, gsl_stats_quantile_from_sorted_data(
					  z, 1, n - 1, 1 - tail)));
}

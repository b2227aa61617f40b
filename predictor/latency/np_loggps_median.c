/* Medians over blocks. */
#include "np_loggps_impl.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

struct np_loggps_value np_loggps_median_at(double *x, size_t n,
					   double confidence)
{
	const double tail = (1 - confidence) / 2;
	size_t k = 0;

	gsl_sort(x, 1, n);
	while (k + 1 <= n / 2 &&
	       gsl_cdf_binomial_P((unsigned)k, 0.5, (unsigned)n) <= tail)
		k++;
	k = k ? k - 1 : 0;
	return (struct np_loggps_value){
		gsl_stats_median_from_sorted_data(x, 1, n), x[k], x[n - 1 - k],
	};
}

struct np_loggps_value np_loggps_median(double *x, size_t n)
{
	return np_loggps_median_at(x, n, NP_LOGGPS_CONFIDENCE);
}

double np_loggps_trip(const struct np_loggps_trips *t, size_t size)
{
	for (size_t b = 0; b < t->n_blocks; b++)
		t->scratch[b] = t->sec[b * t->n_sizes + size];
	gsl_sort(t->scratch, 1, t->n_blocks);
	return gsl_stats_median_from_sorted_data(t->scratch, 1, t->n_blocks);
}

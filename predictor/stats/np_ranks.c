#include "np_ranks.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

#include "np_array.h"

#define EXACT 16 /* values in the smaller group, at most */

/* Ranks from 1 to n, doubled, so that those of equal values are whole. */
static void find_ranks(const double *v, size_t n, uint32_t *rank)
{
	for (size_t i = 0; i < n; i++) {
		rank[i] = 1;
		for (size_t k = 0; k < n; k++)
			rank[i] += 2 * (v[k] < v[i]) + (v[k] == v[i]);
	}
}

/*
 * The share of all choices of k ranks whose sum is at least limit, or at most
 * limit. The ranks become sorted. Sets of j ranks are counted by their sum, one
 * more rank at a time.
 */
static int count_sums(uint32_t *rank, size_t n, size_t k, uint64_t limit,
		      bool at_least, double *share)
{
	size_t width = k * 2 * n + 1;
	double *sets = calloc((k + 1) * width, sizeof(*sets));
	double all = 0, some = 0;

	if (!sets)
		return -ENOMEM;
	qsort(rank, n, sizeof(*rank), np_order_u32);
	sets[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i < k ? i + 1 : k; j > 0; j--) {
			const double *from = sets + (j - 1) * width;
			double *to = sets + j * width + rank[i];

			/* No rank before this one is larger. */
			for (size_t s = 0; s <= (j - 1) * rank[i]; s++)
				to[s] += from[s];
		}
	for (size_t s = 0; s < width; s++) {
		all += sets[k * width + s];
		if (at_least ? s >= limit : s <= limit)
			some += sets[k * width + s];
	}
	free(sets);
	*share = some / all;
	return 0;
}

/* The same of k marked ones with this sum, by the normal distribution. */
static double approximate(const uint32_t *rank, size_t n, size_t k,
			  uint64_t sum)
{
	double mean = (double)n + 1, square = 0, sd, above;

	for (size_t i = 0; i < n; i++)
		square += (rank[i] - mean) * (rank[i] - mean);
	sd = sqrt((double)k * (double)(n - k) / (double)n / (double)(n - 1) *
		  square);
	/* Half a rank less, as sums are whole numbers. */
	above = (double)sum - (double)k * mean - 1;
	return sd > 0 ? gsl_cdf_ugaussian_Q(above / sd) : 1;
}

int np_ranks_test(const double *v, const bool *marked, size_t n, double *p)
{
	uint32_t *rank = malloc((n + 1) * sizeof(*rank));
	uint64_t sum = 0, all = n * (n + 1);
	size_t k = 0;
	int rc = 0;

	if (!rank)
		return -ENOMEM;
	find_ranks(v, n, rank);
	for (size_t i = 0; i < n; i++)
		if (marked[i]) {
			sum += rank[i];
			k++;
		}
	if (!k || k == n)
		*p = 1;
	else if (k <= EXACT && k <= n - k)
		rc = count_sums(rank, n, k, sum, true, p);
	else if (n - k <= EXACT)
		rc = count_sums(rank, n, n - k, all - sum, false, p);
	else
		*p = approximate(rank, n, k, sum);
	free(rank);
	return rc;
}

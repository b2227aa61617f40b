#include "np_ranks.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

#include "np_array.h"

#define MAX_EXACT 16 /* values in the smaller group, for an exact test */

/* Compute ranks from 1 to n, doubled, so that those of ties are integers. */
static void compute_ranks(const double *value, size_t n, uint32_t *rank)
{
	for (size_t i = 0; i < n; i++) {
		rank[i] = 1;
		for (size_t k = 0; k < n; k++)
			rank[i] += 2 * (value[k] < value[i]) +
				   (value[k] == value[i]);
	}
}

/*
 * Compute the share of all choices of k ranks whose sum is at least limit, or
 * at most limit. Sorts the ranks. sets[size * width + sum] counts the choices
 * of `size` ranks with that sum, among the ranks considered so far.
 */
static int count_sums(uint32_t *rank, size_t n, size_t k, uint64_t limit,
		      bool at_least, double *share)
{
	size_t width = k * 2 * n + 1;
	double *sets = calloc((k + 1) * width, sizeof(*sets));
	double n_sets = 0, n_beyond = 0;

	if (!sets)
		return -ENOMEM;
	qsort(rank, n, sizeof(*rank), np_order_u32);
	sets[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t size = i < k ? i + 1 : k; size > 0; size--) {
			const double *from = sets + (size - 1) * width;
			double *to = sets + size * width + rank[i];

			/* No rank before this one is larger. */
			for (size_t s = 0; s <= (size - 1) * rank[i]; s++)
				to[s] += from[s];
		}
	for (size_t s = 0; s < width; s++) {
		n_sets += sets[k * width + s];
		if (at_least ? s >= limit : s <= limit)
			n_beyond += sets[k * width + s];
	}
	free(sets);
	*share = n_beyond / n_sets;
	return 0;
}

/*
 * Approximate the share of choices of k ranks whose sum is at least `sum`, by
 * the normal distribution.
 */
static double approximate_share(const uint32_t *rank, size_t n, size_t k,
				uint64_t sum)
{
	double mean = (double)n + 1, square = 0, sd, above;

	for (size_t i = 0; i < n; i++)
		square += (rank[i] - mean) * (rank[i] - mean);
	sd = sqrt((double)k * (double)(n - k) / (double)n / (double)(n - 1) *
		  square);
	/*
	 * Continuity correction: half a rank, which is 1 as ranks are doubled.
	 */
	above = (double)sum - (double)k * mean - 1;
	return sd > 0 ? gsl_cdf_ugaussian_Q(above / sd) : 1;
}

int np_ranks_test(const double *value, const bool *marked, size_t n, double *p)
{
	uint32_t *rank = malloc((n + 1) * sizeof(*rank));
	uint64_t sum = 0, total = n * (n + 1);
	size_t n_marked = 0;
	int rc = 0;

	if (!rank)
		return -ENOMEM;
	compute_ranks(value, n, rank);
	for (size_t i = 0; i < n; i++)
		if (marked[i]) {
			sum += rank[i];
			n_marked++;
		}
	if (!n_marked || n_marked == n)
		*p = 1;
	else if (n_marked <= MAX_EXACT && n_marked <= n - n_marked)
		rc = count_sums(rank, n, n_marked, sum, true, p);
	else if (n - n_marked <= MAX_EXACT)
		rc = count_sums(rank, n, n - n_marked, total - sum, false, p);
	else
		*p = approximate_share(rank, n, n_marked, sum);
	free(rank);
	return rc;
}

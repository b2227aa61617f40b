#include "np_latency.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static double own_edge[NP_HIST_BINS + 1];
static const struct np_bins own = { NP_HIST_BINS, own_edge };

/* Filled before main(), so that threads only ever read it. */
__attribute__((constructor)) static void fill_own_edges(void)
{
	for (size_t i = 0; i <= NP_HIST_BINS; i++)
		own_edge[i] = np_hist_edge(i);
}

const struct np_bins *np_bins_own(void)
{
	return &own;
}

int np_bins_check(const struct np_bins *bins, struct np_err *err)
{
	if (!bins->n || bins->n > NP_BINS_MAX)
		return np_errf(err, -EINVAL, "%zu bins, expected 1 to %d",
			       bins->n, NP_BINS_MAX);
	if (!(bins->edge[0] >= 0))
		return np_errf(err, -EINVAL, "first bin edge is %g, expected "
			       ">= 0", bins->edge[0]);
	for (size_t i = 0; i < bins->n; i++) {
		double lo = bins->edge[i], hi = bins->edge[i + 1];

		if (!(hi > lo) || !isfinite(lo))
			return np_errf(err, -EINVAL, "bin edge %zu is %g after "
				       "%g, expected rising and finite before "
				       "the last", i + 1, hi, lo);
	}
	return 0;
}

bool np_bins_equal(const struct np_bins *a, const struct np_bins *b)
{
	return a == b ||
	       (a && b && a->n == b->n &&
		!memcmp(a->edge, b->edge, (a->n + 1) * sizeof(*a->edge)));
}

double np_bins_middle(const struct np_bins *bins, size_t bin)
{
	double lo = bins->edge[bin], hi = bins->edge[bin + 1];

	if (!isfinite(hi))
		return lo;
	return lo > 0 ? sqrt(lo * hi) : 0.5 * hi;
}

static int count_check(const double *count, size_t n, const char *what,
		       struct np_err *err)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!(count[i] >= 0) || !isfinite(count[i]))
			return np_errf(err, -EINVAL, "%s: bin %zu holds %g "
				       "latencies, expected a number >= 0",
				       what, i, count[i]);
		any |= count[i] > 0;
	}
	if (!any)
		return np_errf(err, -EINVAL, "%s: histogram without a latency",
			       what);
	return 0;
}

int np_latency_check(const struct np_latency *l, const struct np_bins *bins,
		     const char *what, struct np_err *err)
{
	if (!l->all.n)
		return 0;
	if (!(l->all.min > 0) || !isfinite(l->all.mean))
		return np_errf(err, -EINVAL, "%s: latency from %g, mean %g, "
			       "expected positive and finite", what,
			       l->all.min, l->all.mean);
	if (!np_moments_valid(&l->all))
		return np_errf(err, -EINVAL, "%s: mean %g, sum of squares %g, "
			       "range %g to %g contradict each other", what,
			       l->all.mean, l->all.m2, l->all.min, l->all.max);
	if (!l->count)
		return 0;
	if (!bins)
		return np_errf(err, -EINVAL, "%s: a histogram without bins",
			       what);
	return count_check(l->count, bins->n, what, err);
}

void np_latency_range(const double *count, size_t n_bins, size_t *from,
		      size_t *to)
{
	size_t a = 0, b = n_bins;

	while (a < b && count[a] == 0)
		a++;
	while (b > a && count[b - 1] == 0)
		b--;
	*from = a;
	*to = b;
}

void np_latency_cdf(const double *count, size_t n_bins, double *cdf)
{
	double total = 0, below = 0;
	size_t from, to, i = 0;

	np_latency_range(count, n_bins, &from, &to);
	for (size_t b = from; b < to; b++)
		total += count[b];
	for (; i < from; i++)
		cdf[i] = 0;
	for (; i < to; i++) {
		below += count[i];
		cdf[i] = below / total;
	}
	for (; i < n_bins; i++)
		cdf[i] = 1;
	cdf[n_bins - 1] = 1;
}

static double mass(const double *cdf, size_t bin)
{
	return bin ? cdf[bin] - cdf[bin - 1] : cdf[0];
}

void np_latency_add(const struct np_bins *bins, const double *cdf_a,
		    const double *cdf_b, double shift, double *cdf_out)
{
	size_t n = bins->n;

	memset(cdf_out, 0, n * sizeof(*cdf_out));
	for (size_t i = 0; i < n; i++) {
		double a = mass(cdf_a, i);
		double base = np_bins_middle(bins, i) - shift;
		size_t to = 0;

		if (!(a > 0))
			continue;
		for (size_t j = 0; j < n; j++) {
			double at = base + np_bins_middle(bins, j);

			while (to + 1 < n && bins->edge[to + 1] <= at)
				to++;
			cdf_out[to] += a * mass(cdf_b, j);
		}
	}
	for (size_t i = 1; i < n; i++)
		cdf_out[i] += cdf_out[i - 1];
	cdf_out[n - 1] = 1;
}

#include "np_latency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- our histogram ---- */

struct np_hist {
	uint64_t count[NP_HIST_BINS];
};

double np_hist_edge(size_t bin)
{
	if (bin == 0)
		return 0.0;
	if (bin >= NP_HIST_BINS)
		return INFINITY;
	return NP_HIST_FIRST_EDGE_SEC *
	       pow(10.0, (double)(bin - 1) / NP_HIST_PER_DECADE);
}

struct np_hist *np_hist_new(void)
{
	return calloc(1, sizeof(struct np_hist));
}

void np_hist_free(struct np_hist *h)
{
	free(h);
}

size_t np_hist_bin_of(double sec)
{
	double pos;
	size_t bin;

	if (!(sec >= NP_HIST_FIRST_EDGE_SEC))
		return 0;
	pos = log10(sec / NP_HIST_FIRST_EDGE_SEC) * NP_HIST_PER_DECADE;
	if (pos > NP_HIST_BINS - 2)
		pos = NP_HIST_BINS - 2;
	/* Rounding of the logarithm may pick the bin next to an edge. */
	bin = (size_t)pos + 1;
	if (sec < np_hist_edge(bin))
		bin--;
	else if (bin < NP_HIST_BINS - 1 && sec >= np_hist_edge(bin + 1))
		bin++;
	return bin;
}

int np_hist_add_bin(struct np_hist *h, size_t bin, uint64_t n)
{
	if (bin >= NP_HIST_BINS)
		return -EINVAL;
	h->count[bin] += n;
	return 0;
}

void np_hist_merge(struct np_hist *h, const struct np_hist *other)
{
	for (size_t i = 0; i < NP_HIST_BINS; i++)
		h->count[i] += other->count[i];
}

uint64_t np_hist_count(const struct np_hist *h, size_t bin)
{
	return bin < NP_HIST_BINS ? h->count[bin] : 0;
}

uint64_t np_hist_total(const struct np_hist *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < NP_HIST_BINS; i++)
		sum += h->count[i];
	return sum;
}

/* The point at fraction f of a bin, on a logarithmic axis if it has one. */
static double inside_bin(size_t bin, double f)
{
	double lo = np_hist_edge(bin), hi = np_hist_edge(bin + 1);

	if (bin == 0)
		return f * hi;
	if (bin == NP_HIST_BINS - 1)
		return lo;
	return lo * pow(hi / lo, f);
}

double np_hist_quantile(const struct np_hist *h, double q)
{
	double total = (double)np_hist_total(h), below = 0;
	double want = fmin(fmax(q, 0), 1) * total;
	size_t last = 0;

	if (total <= 0)
		return 0.0;
	for (size_t i = 0; i < NP_HIST_BINS; i++) {
		double n = (double)h->count[i];

		if (n <= 0)
			continue;
		if (below + n >= want)
			return inside_bin(i, (want - below) / n);
		below += n;
		last = i;
	}
	return inside_bin(last, 1.0);
}

/* ---- bins and distributions ---- */

static double own_edge[NP_HIST_BINS + 1];
static const struct np_bins own = { NP_HIST_BINS, own_edge };

/* Filled before main(), so that threads only read it. */
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
		return np_errf(err, -EINVAL,
			       "first bin edge is %g, expected >= 0",
			       bins->edge[0]);
	for (size_t i = 0; i < bins->n; i++) {
		double lo = bins->edge[i], hi = bins->edge[i + 1];

		if (!(hi > lo) || !isfinite(lo))
			return np_errf(err, -EINVAL,
				       "bin edge %zu is %g after %g, expected "
				       "ascending and finite before the last",
				       i + 1, hi, lo);
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

struct np_moments np_hist_robust(const struct np_hist *h,
				 const struct np_moments *all)
{
	struct np_moments rest = { 0 };
	uint64_t left;

	if (!h || all->n < 2 || np_hist_total(h) != all->n)
		return *all;
	left = all->n - (all->n < 200 ? 1 : all->n / 100);
	for (size_t b = 0; left > 0; b++) {
		double sec = np_bins_middle(np_bins_own(), b);
		struct np_moments bin = {
			.n = np_hist_count(h, b),
			.mean = sec,
			.min = sec,
			.max = sec,
		};

		if (bin.n > left)
			bin.n = left;
		np_moments_merge(&rest, &bin);
		left -= bin.n;
	}
	return (double)rest.n * rest.mean < (double)all->n * all->mean / 2 ?
		       rest :
		       *all;
}

static int count_check(const double *count, size_t n, const char *what,
		       struct np_err *err)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!(count[i] >= 0) || !isfinite(count[i]))
			return np_errf(err, -EINVAL,
				       "%s: bin %zu holds %g latencies, "
				       "expected a number >= 0",
				       what, i, count[i]);
		any |= count[i] > 0;
	}
	if (!any)
		return np_errf(err, -EINVAL, "%s: histogram without samples",
			       what);
	return 0;
}

int np_latency_check(const struct np_latency *l, const struct np_bins *bins,
		     const char *what, struct np_err *err)
{
	if (!l->all.n)
		return 0;
	if (!(l->all.min > 0) || !isfinite(l->all.mean))
		return np_errf(err, -EINVAL,
			       "%s: latency from %g, mean %g, expected "
			       "positive and finite",
			       what, l->all.min, l->all.mean);
	if (!np_moments_valid(&l->all))
		return np_errf(err, -EINVAL,
			       "%s: mean %g, sum of squares %g, range %g to %g "
			       "are inconsistent",
			       what, l->all.mean, l->all.m2, l->all.min,
			       l->all.max);
	if (!l->count)
		return 0;
	if (!bins)
		return np_errf(err, -EINVAL, "%s: a histogram without bins",
			       what);
	return count_check(l->count, bins->n, what, err);
}

/*
 * The range of bins, from *from to *to - 1, outside of which all counts are 0,
 * as most are.
 */
static void range_of(const double *count, size_t n_bins, size_t *from,
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

	range_of(count, n_bins, &from, &to);
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

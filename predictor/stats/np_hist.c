#include "np_hist.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

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
	/* The logarithm may land a hair on the wrong side of an edge. */
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

/* Point at fraction f of a bin, on the logarithmic axis where it has one. */
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

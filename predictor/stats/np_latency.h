/*
 * Distribution of probe latencies (half a round trip): moments, and a
 * histogram where there is one.
 *
 * The unit of time is whatever the measurement used (seconds in our own
 * records); only distributions that share their bins are ever compared, and
 * every model depends on ratios of times alone.
 */
#ifndef NP_LATENCY_H
#define NP_LATENCY_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"
#include "np_hist.h"
#include "np_moments.h"

#define NP_BINS_MAX 1024

/* Bin b holds [edge[b], edge[b + 1]).  The last edge may be infinite. */
struct np_bins {
	size_t n;
	const double *edge; /* n + 1, rising, edge[0] >= 0 */
};

/* The bins of np_hist.h, in seconds. */
const struct np_bins *np_bins_own(void);

/*
 * Returns 0, or -EINVAL with err: no bins or too many, edges not rising,
 * negative or NaN, infinite before the last.
 */
int np_bins_check(const struct np_bins *bins, struct np_err *err);
bool np_bins_equal(const struct np_bins *a, const struct np_bins *b);

/* The time that stands for a bin: its logarithmic middle where it has one. */
double np_bins_middle(const struct np_bins *bins, size_t bin);

/* all.n == 0: not measured.  count == NULL: moments only. */
struct np_latency {
	struct np_moments all;
	const double *count; /* one per bin; borrowed */
};

/*
 * Returns 0, or -EINVAL with err naming what and the value: a latency that is
 * not positive and finite, moments that contradict each other, a negative
 * count, a histogram without a sample.  bins may be NULL if count is.
 */
int np_latency_check(const struct np_latency *l, const struct np_bins *bins,
		     const char *what, struct np_err *err);

/* All that is not 0 is in the bins from .. to - 1: most others are empty. */
void np_latency_range(const double *count, size_t n_bins, size_t *from,
		      size_t *to);

/* Cumulative distribution at the upper edge of each bin; cdf[n - 1] is 1. */
void np_latency_cdf(const double *count, size_t n_bins, double *cdf);

/*
 * Distribution of a + b - shift, cut below at the first edge, where a and b
 * are independent: how two co-runners delay a probe together, with shift the
 * latency of the idle fabric.  cdf_out must be neither input.
 */
void np_latency_add(const struct np_bins *bins, const double *cdf_a,
		    const double *cdf_b, double shift, double *cdf_out);

#endif

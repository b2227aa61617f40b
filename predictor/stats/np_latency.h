/*
 * Distributions of latencies: the histogram of our own measurements, and
 * distributions in any bins with the operations that the models need.
 */
#ifndef NP_LATENCY_H
#define NP_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_moments.h"

/* ---- our histogram ---- */

/*
 * All histograms have the same logarithmic bins, so that distributions measured
 * months apart can be compared bin by bin: 25 bins per decade (each 9.6 %
 * wide) from 100 ns to 1 s, one bin below and one above. Latencies are in
 * seconds.
 */

#define NP_HIST_PER_DECADE 25
#define NP_HIST_DECADES 7
#define NP_HIST_FIRST_EDGE_SEC 1e-7
/* bin 0: [0, 100 ns); last bin: [1 s, infinity) */
#define NP_HIST_BINS (NP_HIST_PER_DECADE * NP_HIST_DECADES + 2)

struct np_hist;

/* An empty histogram; NULL: out of memory. Free with np_hist_free(). */
struct np_hist *np_hist_new(void);
void np_hist_free(struct np_hist *h); /* NULL is allowed */

/* Index of the bin that holds sec (>= 0 and not NaN). */
size_t np_hist_bin_of(double sec);

/*
 * Lower edge of a bin in seconds: 0 for bin 0, INFINITY for NP_HIST_BINS.
 */
double np_hist_edge(size_t bin);

/* Add n to the count of a bin. Returns 0, or -EINVAL: no such bin. */
int np_hist_add_bin(struct np_hist *h, size_t bin, uint64_t n);

void np_hist_merge(struct np_hist *h, const struct np_hist *other);

uint64_t np_hist_count(const struct np_hist *h, size_t bin);
uint64_t np_hist_total(const struct np_hist *h);

/*
 * The latency in seconds below which the fraction q (0 to 1) of the samples
 * lies, interpolated geometrically inside its bin. 0 for an empty histogram;
 * for the last bin its lower edge.
 */
double np_hist_quantile(const struct np_hist *h, double q);

/*
 * The moments of latencies, robust against a few that met a busy processor or a
 * lost packet: *all, or, if the slowest hundredth of them (at least one) took
 * longer than all others together, those of the others, from the bins of h,
 * their histogram. h may be NULL: *all.
 */
struct np_moments np_hist_robust(const struct np_hist *h,
				 const struct np_moments *all);

/* ---- bins and distributions ---- */

/*
 * Distribution of probe latencies (half a round trip): moments, and a histogram
 * if there is one.
 *
 * The unit of time is that of the measurement (seconds in our own records).
 * Only distributions with the same bins are ever compared, and every model
 * depends on ratios of times alone.
 */

#define NP_BINS_MAX 1024

/* Bin b holds [edge[b], edge[b + 1]). The last edge may be infinite. */
struct np_bins {
	size_t n;
	const double *edge; /* n + 1, ascending, edge[0] >= 0 */
};

/* The bins of our histogram, in seconds. */
const struct np_bins *np_bins_own(void);

/*
 * Returns 0, or -EINVAL with err: no bins or too many, or edges that do not
 * ascend, are negative or NaN, or infinite before the last.
 */
int np_bins_check(const struct np_bins *bins, struct np_err *err);
bool np_bins_equal(const struct np_bins *a, const struct np_bins *b);

/*
 * The time that represents a bin: its geometric middle if it has one. Exported
 * for the unit tests.
 */
double np_bins_middle(const struct np_bins *bins, size_t bin);

/* all.n == 0: not measured. count == NULL: moments only. */
struct np_latency {
	struct np_moments all;
	const double *count; /* one per bin; borrowed */
};

/*
 * Returns 0, or -EINVAL with err, which names `what` and the value: a latency
 * that is not positive and finite, inconsistent moments, a negative count, a
 * histogram without samples. bins may be NULL if count is.
 */
int np_latency_check(const struct np_latency *l, const struct np_bins *bins,
		     const char *what, struct np_err *err);

/* Cumulative distribution at the upper edge of each bin; cdf[n - 1] is 1. */
void np_latency_cdf(const double *count, size_t n_bins, double *cdf);

/*
 * Distribution of a + b - shift, cut off below the first edge, for independent
 * a and b: how two co-runners together delay a probe, with shift the latency of
 * the idle fabric. cdf_out must not be one of the inputs.
 */
void np_latency_add(const struct np_bins *bins, const double *cdf_a,
		    const double *cdf_b, double shift, double *cdf_out);

#endif

/*
 * Log-spaced latency histogram.
 *
 * All histograms share one set of edges, so that distributions measured
 * months apart can be compared bin by bin: 25 bins per decade (each 9.6 %
 * wide) from 100 ns to 1 s, one bin below and one above.
 * Latencies are seconds.
 */
#ifndef NP_HIST_H
#define NP_HIST_H

#include <stddef.h>
#include <stdint.h>

#define NP_HIST_PER_DECADE 25
#define NP_HIST_DECADES 7
#define NP_HIST_FIRST_EDGE_SEC 1e-7
/* bin 0: [0, 100 ns); last bin: [1 s, infinity) */
#define NP_HIST_BINS (NP_HIST_PER_DECADE * NP_HIST_DECADES + 2)

struct np_hist;

/* Empty histogram; NULL when memory is short.  Free with np_hist_free(). */
struct np_hist *np_hist_new(void);
void np_hist_free(struct np_hist *h); /* NULL is allowed */

/* The bin that holds sec (>= 0 and not NaN), 0 .. NP_HIST_BINS - 1. */
size_t np_hist_bin_of(double sec);

/*
 * Lower edge of a bin in seconds: 0 for bin 0.  np_hist_edge(NP_HIST_BINS)
 * is infinity.
 */
double np_hist_edge(size_t bin);

/* Add n to one bin.  Returns 0, or -EINVAL if there is no such bin. */
int np_hist_add_bin(struct np_hist *h, size_t bin, uint64_t n);

void np_hist_merge(struct np_hist *h, const struct np_hist *other);

uint64_t np_hist_count(const struct np_hist *h, size_t bin);
uint64_t np_hist_total(const struct np_hist *h);

/*
 * The latency below which the fraction q (0 .. 1) of the samples lies, in
 * seconds, interpolated geometrically inside its bin.  0 for an empty
 * histogram; samples of the last bin are reported as its lower edge.
 */
double np_hist_quantile(const struct np_hist *h, double q);

#endif

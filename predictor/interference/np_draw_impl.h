/* Shared by the np_draw_*.c files alone. */
#ifndef NP_DRAW_IMPL_H
#define NP_DRAW_IMPL_H

#include "np_draw.h"
#include "np_rng.h"

/* log(1 + slowdown), not below what NP_DRAW_LEAST gives. */
double np_draw_log(double slowdown);

/*
 * One latency set: as measured if r is NULL, else redrawn.  cdf: room for
 * n_bins, or NULL if no histogram is wanted; counts: scratch of n_bins.
 */
void np_draw_latency(const struct np_latency *l, size_t n_bins,
		     struct np_rng *r, double *cdf, double *counts,
		     struct np_data_latency *out);

/* Mean latencies in order, at most NP_WINDOWS_MAX of them; the new length. */
size_t np_draw_squeeze(double *mean, size_t n);

#endif

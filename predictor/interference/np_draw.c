#include "np_draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


double np_draw_log(double slowdown)
{
	return log1p(fmax(slowdown, NP_DRAW_LEAST));
}

static void draw_cdf(const double *count, size_t n_bins, struct np_rng *r,
		     double *cdf, double *counts)
{
	double sum = 0;
	size_t from, to;

	np_latency_range(count, n_bins, &from, &to);
	memset(counts, 0, n_bins * sizeof(*counts));
	for (size_t b = from; r && b < to; b++) {
		counts[b] = np_rng_count(r, count[b]);
		sum += counts[b];
	}
	/* A few samples may all be drawn away: then nothing was learned. */
	np_latency_cdf(sum > 0 ? counts : count, n_bins, cdf);
}

void np_draw_latency(const struct np_latency *l, size_t n_bins,
		     struct np_rng *r, double *cdf, double *counts,
		     struct np_data_latency *out)
{
	double sd = np_moments_sd(&l->all), n = (double)l->all.n;

	*out = (struct np_data_latency){ l->all.mean, sd, NULL };
	if (!l->all.n)
		return;
	if (r) {
		out->mean = fmax(l->all.min,
				 l->all.mean + sd / sqrt(n) * np_rng_normal(r));
		out->sd = fabs(sd * (1 + np_rng_normal(r) / sqrt(2 * n)));
	}
	if (!cdf || !l->count)
		return;
	draw_cdf(l->count, n_bins, r, cdf, counts);
	out->cdf = cdf;
}

void np_draw_fabric_free(struct np_draw_fabric *d)
{
	free(d->view);
	free(d->has_beside);
	free(d->level);
	free(d->store);
	*d = (struct np_draw_fabric){ 0 };
}

void np_draw_program_free(struct np_draw_program *d)
{
	free(d->view);
	free(d->has_curve);
	free(d->store);
	*d = (struct np_draw_program){ 0 };
}

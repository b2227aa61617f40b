/*
 * The co-runner as that mixture of levels and idle time whose latency
 * distribution is its own (own derivation, doc/methods.md): a program with
 * phases or bursts is, for a victim that lives through them, one steady level
 * after the other.
 *
 *	min over w >= 0 of  sum_b g_b (sum_i w_i F_i(b) - F_B(b))^2
 *			    + (10 (sum w - 1))^2 + (1e-3)^2 |w|^2
 *
 * F: cumulative distributions; g_b = log(e[b+1] / e[b]), so that every octave
 * of latency counts alike.
 */
#include "np_model_impl.h"

#include <math.h>

#include "np_weights.h"

double np_mixture_bin_weight(const struct np_bins *bins, size_t bin)
{
	double lo = bins->edge[bin], hi = bins->edge[bin + 1];

	/* All distributions are 1 at the end of the last bin. */
	if (bin + 1 == bins->n)
		return 0;
	return lo > 0 ? log(hi / lo) : log(2);
}

/* h = F' G F_B, plus the equation for the sum. */
static void right_side(const struct np_data *v, double *h)
{
	const struct np_bins *bins = v->fabric->bins;
	double weighted[NP_BINS_MAX];

	for (size_t b = 0; b < bins->n; b++)
		weighted[b] = np_mixture_bin_weight(bins, b) *
			      v->co->latency.cdf[b];
	for (size_t i = 0; i <= v->fabric->n_levels; i++) {
		const double *f = i ? v->fabric->level[i - 1].cdf :
				      v->fabric->idle.cdf;
		double sum = NP_MIXTURE_SUM * NP_MIXTURE_SUM;

		for (size_t b = 0; f && b < bins->n; b++)
			sum += f[b] * weighted[b];
		h[i] = sum;
	}
}

int np_mixture_describe(const struct np_model *m, struct np_data *v, double *x,
			bool warm)
{
	size_t n = v->fabric->n_levels;
	double *h = v->work + NP_MODEL_WORK(n) - (n + 1); /* out of the way */
	double top = 0;

	(void)m;
	right_side(v, h);
	for (size_t i = 0; i < v->n_col; i++)
		top = fmax(top, v->fabric->level[v->col[i]].mean);
	if (v->co->latency.mean > top)
		v->flags |= NP_PRED_BEYOND;
	return np_weights_fit(v, v->fabric->gram_mixture, h, x, warm);
}

int np_mixture_respond(const struct np_model *m, struct np_data *v, double *y,
		       bool warm)
{
	(void)warm;
	np_weights_curve(v, (enum np_average)m->variant, y);
	return 0;
}

int np_mixture_join(const struct np_model *m, struct np_data *v,
		    const double *x, const double *y, double *log_slow)
{
	*log_slow = np_weights_join(v, (enum np_average)m->variant, x, y);
	return 0;
}

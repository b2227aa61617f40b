/*
 * The co-runner as that mixture of levels and idle time whose latency
 * distribution is its own (own derivation, doc/validation/methods.md): a program with
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
#include <string.h>

double np_mixture_bin_weight(const struct np_bins *bins, size_t bin)
{
	double lo = bins->edge[bin], hi = bins->edge[bin + 1];

	/* All distributions are 1 at the end of the last bin. */
	if (bin + 1 == bins->n)
		return 0;
	return lo > 0 ? log(hi / lo) : log(2);
}

/* One that has no distribution adds nothing. */
static const double nothing[NP_BINS_MAX];

static const double *cdf_of(const struct np_data_fabric *f, size_t i)
{
	const double *cdf = i ? f->level[i - 1].cdf : f->idle.cdf;

	return cdf ? cdf : nothing;
}

/* Four sums at once: each waits for its own last step, not for the others. */
static void four_products(const double *const f[4], const double *w,
			  size_t from, size_t n_bins, double *to)
{
	double sum[4] = { to[0], to[1], to[2], to[3] };

	for (size_t b = from; b < n_bins; b++)
		for (size_t k = 0; k < 4; k++)
			sum[k] += f[k][b] * w[b];
	memcpy(to, sum, sizeof(sum));
}

void np_mixture_products(const struct np_data_fabric *f, const double *w,
			 size_t n, double *to)
{
	size_t from = 0, i = 0;

	while (from < f->bins->n && w[from] == 0)
		from++;
	for (; i < n; i += 4) {
		const double *cdf[4];
		double sum[4] = { 0 };
		size_t few = n - i < 4 ? n - i : 4;

		for (size_t k = 0; k < 4; k++)
			cdf[k] = k < few ? cdf_of(f, i + k) : nothing;
		memcpy(sum, to + i, few * sizeof(*sum));
		four_products(cdf, w, from, f->bins->n, sum);
		memcpy(to + i, sum, few * sizeof(*sum));
	}
}

/* h = F' G F_B, plus the equation for the sum. */
static void right_side(const struct np_data *v, double *h)
{
	const struct np_data_fabric *f = v->fabric;
	double weighted[NP_BINS_MAX];

	for (size_t b = 0; b < f->bins->n; b++)
		weighted[b] = f->bin_weight[b] * v->co->latency.cdf[b];
	for (size_t i = 0; i <= f->n_levels; i++)
		h[i] = NP_MIXTURE_SUM * NP_MIXTURE_SUM;
	np_mixture_products(f, weighted, f->n_levels + 1, h);
}

int np_mixture_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	double *h = v->work + NP_MODEL_WORK(n) - (n + 1); /* out of the way */
	double top = 0;

	right_side(v, h);
	for (size_t i = 0; i < v->col->n; i++)
		top = fmax(top, v->fabric->level[v->col->at[i]].mean);
	if (v->co->latency.mean > top)
		v->flags |= NP_PRED_BEYOND;
	return np_weights_fit(v, v->fabric->gram_mixture, h, x);
}

int np_mixture_respond(struct np_data *v, double *y)
{
	np_weights_curve(v, (enum np_average)v->model->variant, y);
	return 0;
}

int np_mixture_join(struct np_data *v, const double *x, const double *y,
		    double *log_slow)
{
	*log_slow = np_weights_join(v, (enum np_average)v->model->variant, x,
				    y);
	return 0;
}

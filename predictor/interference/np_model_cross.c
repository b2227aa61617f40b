/*
 * Cross-calibrated mixture (own derivation, doc/validation/methods.md): the co-runner as
 * that mixture of levels and idle time which slows the levels as it does.
 * The levels are working victims that were there anyway, in its calibration.
 *
 *	min over w >= 0 of
 *	sum_i (log(1 + CA[i,b]) - sum_j w_j log(1 + CC[i,j]))^2
 *	+ (3 (sum w - 1))^2
 *
 * The victim's side and the averages are those of the other mixture.
 *
 * open: the sum of the weights is drawn to 1, but not bound to it, so that a
 * co-runner may press like more than the strongest level; several of them add
 * alike.  With s, the mean square of a column of log(1 + CC), the last term is
 *	0.3 s (sum w - 1)^2 + 0.1 s |w|^2 without idle
 * and logarithms are averaged.  Both factors are those with the least error
 * when levels are left out (doc/validation/methods.md).
 */
#include "np_model_impl.h"

#include <string.h>

#include "np_lanes.h"

#define OPEN_SUM 0.3
#define OPEN_RIDGE 0.1

/* h over the rows in use; h[0] is the idle fabric, which slows nothing. */
static void right_side(const struct np_data *v, double sum, double *h)
{
	size_t n = v->fabric->n_levels;

	for (size_t j = 0; j <= n; j++)
		h[j] = sum;
	np_lanes_add_rows(h + 1, v->co->fit_pressure, v->fabric->fit_beside, n,
			  v->row->at, v->row->n);
}

/* Add level i's row to the normal equations, or with sign -1 take it out. */
static void add_row(const struct np_data *v, size_t i, double sign,
		    double *gram)
{
	size_t n = v->fabric->n_levels;
	const double *beside = v->fabric->fit_beside + i * n;

	for (size_t j = 0; j < n; j++)
		np_lanes_add(gram + (j + 1) * (n + 1) + 1, sign * beside[j],
			     beside, n);
}

/*
 * The normal equations of the rows in use: the fabric's less those that are
 * not, or where these are the most, which would cancel, from the start.
 */
static const double *gram_of_rows(const struct np_data *v, double *gram)
{
	size_t n = v->fabric->n_levels, next = 0;

	if (v->row->n == n)
		return v->fabric->gram_cross;
	if (v->row->n < n / 2) {
		for (size_t i = 0; i < (n + 1) * (n + 1); i++)
			gram[i] = NP_CROSS_SUM * NP_CROSS_SUM;
		for (size_t r = 0; r < v->row->n; r++)
			add_row(v, v->row->at[r], 1, gram);
		return gram;
	}
	memcpy(gram, v->fabric->gram_cross, (n + 1) * (n + 1) * sizeof(*gram));
	for (size_t i = 0; i < n; i++) {
		if (next < v->row->n && v->row->at[next] == i)
			next++;
		else
			add_row(v, i, -1, gram);
	}
	return gram;
}

/*
 * Does it press, over all rows, more than any level does?  The last levels, in
 * most calibrations the strongest, come first.
 */
static bool beyond(const struct np_data *v)
{
	size_t n = v->fabric->n_levels;
	double own = 0;

	for (size_t r = 0; r < v->row->n; r++)
		own += v->co->fit_pressure[v->row->at[r]];
	for (size_t c = v->col->n; c-- > 0;) {
		const double *column = v->fabric->fit_beside + v->col->at[c];
		double sum = 0;

		for (size_t r = 0; r < v->row->n; r++)
			sum += column[v->row->at[r] * n];
		if (own <= sum)
			return false;
	}
	return own > 0;
}

int np_cross_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	double *h = v->work + NP_MODEL_WORK(n) - (n + 1);
	double *gram = h - (n + 1) * (n + 1);

	right_side(v, NP_CROSS_SUM * NP_CROSS_SUM, h);
	if (beyond(v))
		v->flags |= NP_PRED_BEYOND;
	return np_weights_fit(v, gram_of_rows(v, gram), h, x);
}

/* Put the open model's terms in place of the other's; returns the sum's. */
static double open_gram(const struct np_data *v, const double *from,
			double *gram)
{
	const double was = NP_CROSS_SUM * NP_CROSS_SUM;
	size_t n1 = v->fabric->n_levels + 1;
	double square = 0;

	for (size_t c = 0; c < v->col->n; c++) {
		size_t i = v->col->at[c] + 1;

		square += (from[i * n1 + i] - was) / (double)v->col->n;
	}
	for (size_t i = 0; i < n1 * n1; i++)
		gram[i] = from[i] - was + OPEN_SUM * square;
	for (size_t i = 1; i < n1; i++)
		gram[i * n1 + i] += OPEN_RIDGE * square;
	return OPEN_SUM * square;
}

int np_open_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	double *h = v->work + NP_MODEL_WORK(n) - (n + 1);
	double *gram = h - (n + 1) * (n + 1);

	if (beyond(v))
		v->flags |= NP_PRED_BEYOND;
	right_side(v, open_gram(v, gram_of_rows(v, gram), gram), h);
	return np_weights_solve(v, gram, h, x);
}

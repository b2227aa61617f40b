/*
 * The victim's side of the factorisation (own derivation, doc/validation/methods.md).
 *
 * victim: the victim as a non-negative sum of levels, which suffers as they
 * do: v >= 0 with log(1 + AC[a,j]) = sum_i v_i log(1 + CC[i,j]) for all j, so
 *	log(1 + d) = sum_i v_i log(1 + CA[i,b])
 *
 * twosided: both sides.  What the mixture of the cross model does not explain
 * of the co-runner's pressure is read through the victim's sum:
 *	log(1 + d) = cross(a, b) + sum_i v_i (log(1 + CA[i,b]) - fit_i(b))
 * (the idea of augmented synthetic controls: either side mends the other).
 */
#include "np_model_impl.h"

#include <math.h>
#include <string.h>

#include "np_lanes.h"
#include "np_nnls.h"

/* Shrinks v a little, as rows of levels resemble each other. */
#define RIDGE 0.1

int np_victim_describe(struct np_data *v, double *x)
{
	memset(x, 0, v->fabric->n_levels * sizeof(*x));
	for (size_t r = 0; r < v->row->n; r++)
		x[v->row->at[r]] = v->co->fit_pressure[v->row->at[r]];
	return 0;
}

/* Add level j's column to the normal equations, or with -1 take it out. */
static void add_column(const struct np_data *v, size_t j, double sign,
		       double *gram)
{
	size_t n = v->fabric->n_levels, k = v->row->n;
	double column[k];

	for (size_t r = 0; r < k; r++)
		column[r] = v->fabric->fit_beside[v->row->at[r] * n + j];
	for (size_t r = 0; r < k; r++)
		np_lanes_add(gram + r * k, sign * column[r], column, k);
}

/*
 * n_row square: the fabric's, in gram less what is not in use, or from the
 * start.
 */
static const double *gram_of_columns(const struct np_data *v, double *gram)
{
	size_t n = v->fabric->n_levels, k = v->row->n, next = 0;
	bool few = v->col->n < n / 2;

	if (k == n && v->col->n == n)
		return v->fabric->gram_victim;
	for (size_t r = 0; r < k; r++) {
		const double *from = v->fabric->gram_victim + v->row->at[r] * n;

		if (k == n && !few)
			memcpy(gram + r * n, from, n * sizeof(*from));
		for (size_t s = 0; (k < n || few) && s < k; s++)
			gram[r * k + s] = few ? 0 : from[v->row->at[s]];
	}
	for (size_t j = 0; j < n; j++) {
		bool used = next < v->col->n && v->col->at[next] == j;

		next += used;
		if (used == few)
			add_column(v, j, few ? 1 : -1, gram);
	}
	return gram;
}

/* h = CC log(1 + AC), over the rows and columns in use. */
static void right_side(const struct np_data *v, double *h)
{
	size_t n = v->fabric->n_levels;
	double curve[n];

	np_weights_curve(v, NP_AVERAGE_LOG, curve);
	for (size_t r = 0; r < v->row->n; r++)
		h[r] = np_lanes_dot(v->fabric->fit_beside + v->row->at[r] * n,
				    curve, n);
}

static int respond(struct np_data *v, double ridge, double *y)
{
	size_t k = v->row->n;
	double *h = v->work + k * k, *z = h + k;
	const double *gram = gram_of_columns(v, v->work);
	int rc;

	right_side(v, h);
	for (size_t r = 0; r < k; r++)
		z[r] = v->warm ? y[v->row->at[r]] : 0;
	rc = np_nnls_solve(v->nnls, gram, k, ridge * ridge, h, k, z,
			   v->warm, v->err);
	memset(y, 0, v->fabric->n_levels * sizeof(*y));
	for (size_t r = 0; r < k; r++)
		y[v->row->at[r]] = z[r];
	return rc;
}

int np_victim_respond(struct np_data *v, double *y)
{
	return respond(v, 0, y);
}

int np_victim_join(struct np_data *v, const double *x, const double *y,
		   double *log_slow)
{
	*log_slow = np_lanes_dot(x, y, v->fabric->n_levels);
	return 0;
}

/* x: weights as in cross (n + 1), then what they leave unexplained (n). */
int np_twosided_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels, used[n + 1], n_used = 0;
	double *left = x + n + 1;
	int rc = np_cross_describe(v, x);

	memset(left, 0, n * sizeof(*left));
	for (size_t j = 0; !rc && j < n; j++)
		if (x[1 + j] > 0) /* few are */
			used[n_used++] = j;
	for (size_t r = 0; !rc && r < v->row->n; r++) {
		size_t i = v->row->at[r];
		const double *beside = v->fabric->fit_beside + i * n;
		double sum = 0;

		for (size_t u = 0; u < n_used; u++)
			sum += x[1 + used[u]] * beside[used[u]];
		left[i] = v->co->fit_pressure[i] - sum;
	}
	return rc;
}

/* y: the curve (n), then the victim as a sum of levels (n). */
int np_twosided_respond(struct np_data *v, double *y)
{
	size_t n = v->fabric->n_levels;

	np_weights_curve(v, NP_AVERAGE_LOG, y);
	return respond(v, RIDGE, y + n);
}

/* The logarithms' average and what it leaves, which lie side by side. */
int np_twosided_join(struct np_data *v, const double *x, const double *y,
		     double *log_slow)
{
	*log_slow = np_lanes_dot(x + 1, y, 2 * v->fabric->n_levels);
	return 0;
}

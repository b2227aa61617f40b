/*
 * The victim's side of the factorisation (own derivation, doc/methods.md).
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

#include "np_nnls.h"
#include "np_weights.h"

/* Shrinks v a little, as rows of levels resemble each other. */
#define RIDGE 0.1

int np_victim_describe(const struct np_model *m, struct np_view *v, double *x,
		       bool warm)
{
	(void)m, (void)warm;
	memset(x, 0, v->fabric->n_levels * sizeof(*x));
	for (size_t r = 0; r < v->n_row; r++)
		x[v->row[r]] = v->co->log_pressure[v->row[r]];
	return 0;
}

/* Normal equations over the rows in use; gram is n_row square. */
static void equations(const struct np_view *v, double ridge, double *gram,
		      double *h)
{
	size_t n = v->fabric->n_levels;

	for (size_t r = 0; r < v->n_row; r++) {
		const double *a = v->fabric->log_beside + v->row[r] * n;

		h[r] = 0;
		for (size_t c = 0; c < v->n_col; c++)
			h[r] += a[v->col[c]] *
				v->victim->log_curve[v->col[c]];
		for (size_t s = 0; s <= r; s++) {
			const double *b = v->fabric->log_beside +
					  v->row[s] * n;
			double sum = r == s ? ridge * ridge : 0;

			for (size_t c = 0; c < v->n_col; c++)
				sum += a[v->col[c]] * b[v->col[c]];
			gram[r * v->n_row + s] = sum;
			gram[s * v->n_row + r] = sum;
		}
	}
}

static int respond(struct np_view *v, double ridge, double *y, bool warm)
{
	size_t k = v->n_row;
	double *gram = v->work, *h = gram + k * k, *z = h + k;
	int rc;

	equations(v, ridge, gram, h);
	for (size_t r = 0; r < k; r++)
		z[r] = warm ? y[v->row[r]] : 0;
	rc = np_nnls_solve(v->nnls, gram, k, h, k, z, warm, v->err);
	memset(y, 0, v->fabric->n_levels * sizeof(*y));
	for (size_t r = 0; r < k; r++)
		y[v->row[r]] = z[r];
	return rc;
}

int np_victim_respond(const struct np_model *m, struct np_view *v, double *y,
		      bool warm)
{
	(void)m;
	return respond(v, 0, y, warm);
}

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

int np_victim_join(const struct np_model *m, struct np_view *v,
		   const double *x, const double *y, double *log_slow)
{
	(void)m;
	*log_slow = dot(x, y, v->fabric->n_levels);
	return 0;
}

/* x: weights as in cross (n + 1), then what they leave unexplained (n). */
int np_twosided_describe(const struct np_model *m, struct np_view *v,
			 double *x, bool warm)
{
	size_t n = v->fabric->n_levels;
	double *left = x + n + 1;
	int rc = np_cross_describe(m, v, x, warm);

	memset(left, 0, n * sizeof(*left));
	for (size_t r = 0; !rc && r < v->n_row; r++) {
		size_t i = v->row[r];

		left[i] = v->co->log_pressure[i] -
			  dot(x + 1, v->fabric->log_beside + i * n, n);
	}
	return rc;
}

/* y: the curve (n), then the victim as a sum of levels (n). */
int np_twosided_respond(const struct np_model *m, struct np_view *v,
			double *y, bool warm)
{
	size_t n = v->fabric->n_levels;

	np_weights_curve(v, (enum np_average)m->variant, y);
	return respond(v, RIDGE, y + n, warm);
}

int np_twosided_join(const struct np_model *m, struct np_view *v,
		     const double *x, const double *y, double *log_slow)
{
	size_t n = v->fabric->n_levels;

	*log_slow = np_weights_join(v, (enum np_average)m->variant, x, y) +
		    dot(x + n + 1, y + n, n);
	return 0;
}

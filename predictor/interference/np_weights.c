#include "np_model_impl.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "np_lanes.h"
#include "np_nnls.h"

/* Gather the columns in use into work; they are few, and then contiguous. */
static int solve_some(struct np_data *v, const double *gram, const double *h,
		      double *x)
{
	size_t stride = v->fabric->n_levels + 1, n = v->col->n + 1;
	double *g = v->work, *hh = g + n * n, *xx = hh + n;
	int rc;

	for (size_t i = 0; i < n; i++) {
		size_t from = i ? v->col->at[i - 1] + 1 : 0;

		for (size_t j = 0; j < n; j++)
			g[i * n + j] = gram[from * stride +
					    (j ? v->col->at[j - 1] + 1 : 0)];
		hh[i] = h[from];
		xx[i] = v->warm ? x[from] : 0;
	}
	rc = np_nnls_solve(v->nnls, g, n, 0, hh, n, xx, v->warm, v->err);
	memset(x, 0, stride * sizeof(*x));
	for (size_t i = 0; i < n; i++)
		x[i ? v->col->at[i - 1] + 1 : 0] = xx[i];
	return rc;
}

int np_weights_solve(struct np_data *v, const double *gram, const double *h,
		     double *x)
{
	size_t n = v->fabric->n_levels + 1;

	if (v->col->n + 1 == n)
		return np_nnls_solve(v->nnls, gram, n, 0, h, n, x, v->warm,
				     v->err);
	return solve_some(v, gram, h, x);
}

int np_weights_fit(struct np_data *v, const double *gram, const double *h,
		   double *x)
{
	size_t n = v->fabric->n_levels + 1;
	double sum = 0;
	int rc = np_weights_solve(v, gram, h, x);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	if (!(sum > 0))
		return np_errf(v->err, -EDOM, "the mixture fit gave no weight "
			       "to any level, nor to the idle fabric");
	for (size_t i = 0; i < n; i++)
		x[i] /= sum;
	return 0;
}

void np_weights_curve(const struct np_data *v, enum np_average how, double *y)
{
	size_t n = v->fabric->n_levels;

	memset(y, 0, n * sizeof(*y));
	for (size_t i = 0; i < v->col->n; i++) {
		size_t j = v->col->at[i];

		if (how == NP_AVERAGE_HARMONIC)
			y[j] = exp(-v->victim->log_curve[j]);
		else if (how == NP_AVERAGE_ARITHMETIC)
			y[j] = 1 / exp(-v->victim->log_curve[j]) - 1;
		else
			y[j] = v->victim->fit_curve[j];
	}
}

double np_weights_join(const struct np_data *v, enum np_average how,
		       const double *x, const double *y)
{
	double sum = np_lanes_dot(x + 1, y, v->fabric->n_levels);

	if (how == NP_AVERAGE_HARMONIC)
		return -log(x[0] + sum);
	return how == NP_AVERAGE_ARITHMETIC ? log1p(sum) : sum;
}

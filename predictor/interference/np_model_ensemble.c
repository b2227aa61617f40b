/*
 * The members' answers, averaged as logarithms with weights that the levels
 * choose: one set for co-runners within what the levels cover, another for
 * those beyond, where the members differ most.  Each level beside each other
 * is predicted as if both were programs; the weights are the non-negative
 * ones, summing to 1, under which the members together come nearest.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_model_impl.h"
#include "np_nnls.h"
#include "np_predict_impl.h"

#define K NP_ENSEMBLE_MEMBERS
#define SUM 100.0     /* weight of "the weights sum to 1" */
#define RIDGE 0.3     /* pull towards equal weights, where levels are few */

/*
 * x: weights as in twosided (n + 1), unexplained pressure (n), pressure (n),
 * weights as in open (n + 1)
 */
int np_ensemble_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	int rc = np_twosided_describe(v, x);

	if (!rc)
		rc = np_victim_describe(v, x + 2 * n + 1);
	return rc ? rc : np_open_describe(v, x + 3 * n + 1);
}

/* y: log curve (n), victim shrunk (n), speeds (n), victim (n) */
int np_ensemble_respond(struct np_data *v, double *y)
{
	size_t n = v->fabric->n_levels;
	int rc = np_twosided_respond(v, y);

	if (rc)
		return rc;
	np_weights_curve(v, NP_AVERAGE_HARMONIC, y + 2 * n);
	return np_victim_respond(v, y + 3 * n);
}

/* log(1 + slowdown) as each member has it. */
static void members(struct np_data *v, const double *x, const double *y,
		    double out[K])
{
	size_t n = v->fabric->n_levels;

	out[0] = np_weights_join(v, NP_AVERAGE_HARMONIC, x, y + 2 * n);
	out[1] = np_weights_join(v, NP_AVERAGE_LOG, x + 3 * n + 1, y);
	np_victim_join(v, x + 2 * n + 1, y + 3 * n, &out[2]);
	np_twosided_join(v, x, y, &out[3]);
}

int np_ensemble_join(struct np_data *v, const double *x, const double *y,
		     double *log_slow)
{
	const double *weight = v->ensemble;
	double member[K], sum = 0;

	if (v->flags & NP_PRED_BEYOND)
		weight += K;
	members(v, x, y, member);
	for (size_t i = 0; i < K; i++)
		sum += weight[i] * member[i];
	*log_slow = sum;
	return 0;
}

/* Normal equations of one set of weights. */
struct stack {
	double gram[K * K], h[K];
};

static void start(struct stack *s)
{
	for (size_t i = 0; i < K; i++) {
		for (size_t j = 0; j < K; j++)
			s->gram[i * K + j] = SUM * SUM +
					     (i == j ? RIDGE * RIDGE : 0);
		s->h[i] = SUM * SUM + RIDGE * RIDGE / K;
	}
}

static void add(struct stack *s, const double member[K], double measured)
{
	double scale = 1 / (NP_MISS_FLOOR + fabs(measured));

	scale *= scale;
	for (size_t i = 0; i < K; i++) {
		for (size_t j = 0; j < K; j++)
			s->gram[i * K + j] += scale * member[i] * member[j];
		s->h[i] += scale * member[i] * measured;
	}
}

/* Level i beside level k, with neither in its own role among the levels. */
static void one_pair(struct np_predictor *p, const struct np_basis *all,
		     size_t i, size_t k, struct stack stack[2])
{
	double x[p->dim], y[p->dim], member[K];
	struct np_basis use = *all;
	struct np_data v;

	np_levels_drop(&use.row, i);
	np_levels_drop(&use.col, k);
	np_basis_data(p, &use, 0, &v);
	v.victim = &p->level[i];
	v.co = &p->level[k];
	memset(x, 0, sizeof(x));
	memset(y, 0, sizeof(y));
	if (p->m->describe(&v, x) || p->m->respond(&v, y))
		return;
	members(&v, x, y, member);
	add(&stack[v.flags & NP_PRED_BEYOND ? 1 : 0], member,
	    p->level[i].log_curve[k]);
}

static int solve(struct np_predictor *p, const struct stack *s, double *w,
		 struct np_err *err)
{
	double sum = 0;
	int rc = np_nnls_solve(p->nnls, s->gram, K, 0, s->h, K, w, false,
			       err);

	for (size_t i = 0; i < K; i++)
		sum += w[i];
	for (size_t i = 0; i < K; i++)
		w[i] /= sum;
	return rc;
}

int np_ensemble_weigh(struct np_predictor *p, struct np_err *err)
{
	struct stack stack[2];
	struct np_basis all = { 0 };
	int rc;

	if (p->m->describe != np_ensemble_describe)
		return 0;
	p->ensemble = malloc(2 * K * sizeof(double));
	if (!p->ensemble)
		return np_errf(err, -ENOMEM, "no memory for the ensemble");
	np_basis_levels(p, &all);
	start(&stack[0]);
	start(&stack[1]);
	for (size_t i = 0; i < all.row.n && all.col.n > 2; i++)
		for (size_t k = 0; k < all.col.n; k++)
			one_pair(p, &all, all.row.at[i], all.col.at[k], stack);
	rc = solve(p, &stack[0], p->ensemble, err);
	return rc ? rc : solve(p, &stack[1], p->ensemble + K, err);
}

/*
 * The queue model of [C]: the co-runner's utilisation of the switch, by the
 * Pollaczek-Khinchine formula from the mean latency beside it, read on the
 * victim's curve over the utilisation of the levels.
 *
 * Mutual (own derivation): each slows the other's traffic as well,
 *	d_A = p_A(rho_B / (1 + d_B)), d_B = p_B(rho_A / (1 + d_A)).
 *
 * x and y alike: [0] the program's own rho, [HEAD ...] its curve.
 *
 * Windows (own derivation), for a co-runner with phases: a utilisation for each
 * window of its run, the curve read at each, and speeds averaged,
 *	1/(1 + d_A) = mean over t of 1/(1 + p_A(rho_t)).
 *
 * x: [0] the number of windows, then their utilisations.
 */
#include "np_model_impl.h"

#include <math.h>

#include "np_curve.h"
#include "np_queue.h"

#define HEAD 8
#define DAMPING 0.5
#define STEPS 200
#define CLOSE 1e-9

_Static_assert(HEAD + NP_CURVE_DIM(0) <= NP_QUEUE_FIXED, "room for a curve");

/* Utilisation at a mean latency; -EINVAL with v->err if there is none. */
static int rho_of(const struct np_data *v, double mean, double *rho)
{
	const struct np_data_fabric *f = v->fabric;
	bool from_min = v->model->variant & NP_QUEUE_MIN;
	struct np_service s = {
		.mu_per_sec = 1 / (from_min ? f->idle_min : f->idle.mean),
		.var_sec2 = f->idle.sd * f->idle.sd,
	};

	return np_queue_rho(&s, mean, rho, v->err);
}

/* One program's curve from the levels in list. */
static int fit(struct np_data *v, const struct np_data_program *a,
	       const struct np_levels *list, double *curve)
{
	double rho[list->n + 1], slow[list->n + 1];
	int rc = 0;

	for (size_t i = 0; !rc && i < list->n; i++) {
		slow[i] = 1 / exp(-a->log_curve[list->at[i]]) - 1;
		rc = rho_of(v, v->fabric->level[list->at[i]].mean, &rho[i]);
	}
	return rc ? rc : np_curve_fit(v->model->variant & NP_QUEUE_SHAPE, rho,
				      slow, list->n, curve, v->err);
}

int np_queue_describe(struct np_data *v, double *x)
{
	int rc = rho_of(v, v->co->latency.mean, &x[0]);

	if (rc || !(v->model->variant & NP_QUEUE_MUTUAL))
		return rc;
	if (v->n_co > 1) { /* the fixed point is one of two programs */
		v->flags |= NP_PRED_NOT_MUTUAL;
		return 0;
	}
	return fit(v, v->co, v->co_col, x + HEAD);
}

int np_queue_respond(struct np_data *v, double *y)
{
	int rc = 0;

	y[0] = 0;
	if (v->model->variant & NP_QUEUE_MUTUAL)
		rc = rho_of(v, v->victim->latency.mean, &y[0]);
	return rc ? rc : fit(v, v->victim, v->col, y + HEAD);
}

/* The slowdown at rho of a victim prepared by np_queue_respond(). */
static double slowdown_at(const double *y, double rho, bool *outside)
{
	return np_curve_at(y + HEAD, rho, outside);
}

/* Both slowdowns from each other, damped, until they stand still. */
static double mutual(struct np_data *v, const double *x, const double *y)
{
	double a = 0, b = 0;

	for (int i = 0; i < STEPS; i++) {
		double da = slowdown_at(y, x[0] / (1 + b), NULL) - a;
		double db = slowdown_at(x, y[0] / (1 + a), NULL) - b;

		a += DAMPING * da;
		b += DAMPING * db;
		if (fabs(da) + fabs(db) < CLOSE)
			return a;
	}
	v->flags |= NP_PRED_NO_CONVERGENCE;
	return a;
}

int np_queue_join(struct np_data *v, const double *x, const double *y,
		  double *log_slow)
{
	bool outside = false;
	double d = slowdown_at(y, x[0], &outside);

	if (outside)
		v->flags |= NP_PRED_BEYOND;
	if (v->model->variant & NP_QUEUE_MUTUAL && v->n_co == 1)
		d = mutual(v, x, y);
	*log_slow = log1p(d);
	return 0;
}

int np_windows_describe(struct np_data *v, double *x)
{
	size_t n = v->co->n_windows;
	int rc = 0;

	x[0] = (double)n;
	for (size_t t = 0; !rc && t < n; t++)
		rc = rho_of(v, v->co->window[t], &x[1 + t]);
	return rc;
}

int np_windows_join(struct np_data *v, const double *x, const double *y,
		    double *log_slow)
{
	size_t n = (size_t)x[0];
	bool outside = false;
	double speed = 0;

	for (size_t t = 0; t < n; t++)
		speed += 1 / (1 + slowdown_at(y, x[1 + t], &outside));
	if (outside)
		v->flags |= NP_PRED_BEYOND;
	*log_slow = -log(speed / (double)n);
	return 0;
}

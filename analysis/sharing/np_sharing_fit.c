/*
 * Nelder-Mead searches over those parameters that the measurements depend on.
 * Values out of range are penalised, because the simplex has no bounds.
 */
#include "np_sharing_fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>

#define STEPS 2000	 /* of a full search, at most */
#define COARSE_STEPS 150 /* of a search that only compares starting points */
#define RESTARTS 4	 /* restarts of the search from its result */
#define STARTS 48	 /* starting points, if none gives an exact fit */
#define EXACT 1e-16	 /* mean of squared relative errors */
#define CLOSE 1e-10	 /* size of the simplex at which a full search ends */
#define COARSE 1e-4	 /* and a coarse one */
#define LARGEST_GAMMA 0.999 /* parameters below 1 */

/* A fit in progress. Functions do nothing after an error (rc). */
struct search {
	const struct np_sharing_model *model;
	const struct np_scheme *s;
	size_t n_cases, n;	       /* n: measured communications */
	double *end_sec;	       /* results for one case */
	struct np_sharing_param param; /* current values */
	/* parameters to fit */
	const struct np_sharing_member *free[NP_SHARING_FIT_MAX];
	size_t n_free;
	struct np_err *err;
	int rc;
};

/* Sum of f(modelled / measured - 1) over measured communications. */
static double errors(struct search *w, double (*f)(double))
{
	double sum = 0;

	for (size_t k = 0; !w->rc && k < w->n_cases; k++) {
		const struct np_scheme *s = &w->s[k];

		w->rc = np_sharing_dynamic(w->model, &w->param, s->c,
					   s->start_sec, s->alone, s->n,
					   s->n_nodes, w->end_sec, w->err);
		for (size_t i = 0; !w->rc && i < s->n; i++)
			if (!isnan(s->took_sec[i]))
				sum += f((w->end_sec[i] - s->start_sec[i]) /
						 s->took_sec[i] -
					 1);
	}
	return sum;
}

static double square(double x)
{
	return x * x;
}

/* Limits a value to the range of its parameter; adds the excess to *beyond. */
static double clamp(const struct np_sharing_member *m, double v, double *beyond)
{
	double in = m->below_one ? fmin(fmax(v, 0), LARGEST_GAMMA) :
				   fmax(v, 1e-3);

	*beyond += square(v - in);
	return in;
}

/* Sum of squared errors, plus a penalty for values out of range. */
static double objective(const gsl_vector *x, void *arg)
{
	struct search *w = arg;
	double beyond = 0, sum;

	for (size_t i = 0; i < w->n_free; i++)
		*np_sharing_value(&w->param, w->free[i]) =
			clamp(w->free[i], gsl_vector_get(x, i), &beyond);
	sum = errors(w, square);
	return w->rc || !isfinite(sum) ? GSL_POSINF :
					 sum + 10 * (double)w->n * beyond;
}

/* Whether some measured communication depends on a parameter. */
static bool matters(struct search *w, const struct np_sharing_member *m)
{
	double *v = np_sharing_value(&w->param, m), old = *v, here, up, down;

	here = errors(w, square);
	*v = old + m->step;
	up = errors(w, square);
	*v = m->below_one ? fmax(old - m->step, 0) : old / 2;
	down = errors(w, square);
	*v = old;
	return fabs(up - here) > 1e-12 || fabs(down - here) > 1e-12;
}

/*
 * Runs one search. Returns the sum of squares; w->param holds the parameters.
 */
static double descend(struct search *w, gsl_multimin_fminimizer *g,
		      double scale, int steps, double close)
{
	gsl_multimin_function f = { objective, w->n_free, w };
	gsl_vector *x = gsl_vector_alloc(w->n_free);
	gsl_vector *step = gsl_vector_alloc(w->n_free);
	int rc = x && step ? 0 : -ENOMEM;
	double least = INFINITY;

	for (size_t i = 0; !rc && i < w->n_free; i++) {
		gsl_vector_set(x, i, *np_sharing_value(&w->param, w->free[i]));
		gsl_vector_set(step, i, w->free[i]->step * scale);
	}
	if (!rc && gsl_multimin_fminimizer_set(g, &f, x, step))
		rc = -EDOM;
	for (int i = 0; !rc && !w->rc && i < steps; i++)
		if (gsl_multimin_fminimizer_iterate(g) ||
		    gsl_multimin_fminimizer_size(g) < close)
			break;
	if (!rc)
		least = objective(g->x, w);
	else if (!w->rc)
		w->rc = np_errf(w->err, rc,
				"cannot start the search for parameters");
	gsl_vector_free(x);
	gsl_vector_free(step);
	return least;
}

/* Restarts from the result while that helps: a simplex may collapse too early. */
static double descend_repeatedly(struct search *w, gsl_multimin_fminimizer *g)
{
	double least = INFINITY, before;
	int i = 0;

	do {
		before = least;
		least = descend(w, g, i % 2 ? -1 : 1, STEPS, CLOSE);
	} while (!w->rc && ++i < RESTARTS && least < before * (1 - CLOSE));
	return least;
}

/* Element k of the van der Corput sequence: evenly spread over 0 .. 1. */
static double van_der_corput(int k, int base)
{
	double part = 0, unit = 1.0 / base;

	for (; k; k /= base, unit /= base)
		part += unit * (k % base);
	return part;
}

/* A starting point: 0.5 to 3 times the default, or the whole range [0, 1). */
static void set_start(struct search *w, int k)
{
	static const int base[NP_SHARING_FIT_MAX] = { 2, 3, 5 };
	struct np_sharing_param usual = NP_SHARING_DEFAULTS;

	for (size_t i = 0; i < w->n_free; i++) {
		double part = van_der_corput(k, base[i]);

		*np_sharing_value(&w->param, w->free[i]) =
			w->free[i]->below_one ?
				LARGEST_GAMMA * part :
				*np_sharing_value(&usual, w->free[i]) *
					(0.5 + 2.5 * part);
	}
}

/*
 * The objective is piecewise, with a local minimum in each piece. Therefore a
 * few steps are made from many starting points, and a full search follows where
 * these steps alone lead below the least minimum found so far.
 */
static void search(struct search *w)
{
	struct np_sharing_param best;
	gsl_multimin_fminimizer *g;
	double least = INFINITY;

	if (!w->n_free)
		return;
	gsl_set_error_handler_off();
	g = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2,
					  w->n_free);
	if (!g) {
		w->rc = np_errf(w->err, -ENOMEM, "out of memory");
		return;
	}
	for (int k = 0; !w->rc && k < STARTS && least > EXACT * (double)w->n;
	     k++) {
		double sum = INFINITY;

		if (k) {
			set_start(w, k);
			sum = descend(w, g, 1, COARSE_STEPS, COARSE);
		}
		if (!k || sum < least)
			sum = descend_repeatedly(w, g);
		if (!w->rc && sum < least) {
			least = sum;
			best = w->param;
		}
	}
	if (!w->rc && isfinite(least))
		w->param = best;
	gsl_multimin_fminimizer_free(g);
}

/* Checks the measured times and counts them. */
static int check_cases(struct search *w)
{
	size_t most = 0;

	for (size_t k = 0; k < w->n_cases; k++) {
		if (w->s[k].n > most)
			most = w->s[k].n;
		for (size_t i = 0; i < w->s[k].n; i++) {
			double took = w->s[k].took_sec[i];

			if (!isnan(took) && !(took > 0 && isfinite(took)))
				return np_errf(w->err, -EINVAL,
					       "measured time %g s, expected "
					       "more than 0",
					       took);
			w->n += !isnan(took);
		}
	}
	if (!w->n)
		return np_errf(w->err, -ENODATA,
			       "no measured time to fit parameters to");
	w->end_sec = calloc(most + 1, sizeof(*w->end_sec));
	return w->end_sec ? 0 : np_errf(w->err, -ENOMEM, "out of memory");
}

/* Selects the parameters that matter. */
static void select_parameters(struct search *w, struct np_sharing_fit *out)
{
	for (size_t i = 0; !w->rc && i < np_sharing_n_members; i++) {
		const struct np_sharing_member *m = &np_sharing_members[i];

		if (strcmp(m->model, w->model->name))
			continue;
		out->name[out->n_param] = m->name;
		out->fitted[out->n_param] = matters(w, m);
		if (out->fitted[out->n_param++])
			w->free[w->n_free++] = m;
	}
}

/* Copies the resulting parameters. */
static void fill_result(struct search *w, struct np_sharing_fit *out)
{
	size_t at = 0;

	out->n = w->n;
	for (size_t i = 0; i < np_sharing_n_members; i++) {
		const struct np_sharing_member *m = &np_sharing_members[i];

		if (!strcmp(m->model, w->model->name))
			out->value[at++] = *np_sharing_value(&w->param, m);
	}
}

int np_sharing_fit(const struct np_sharing_model *m, const struct np_scheme *s,
		   size_t n, struct np_sharing_param *p,
		   struct np_sharing_fit *out, struct np_err *err)
{
	struct np_sharing_fit fit = { .n_param = 0 };
	struct search w = {
		.model = m, .s = s, .n_cases = n, .param = *p, .err = err
	};

	w.rc = check_cases(&w);
	if (!w.rc)
		fit.mean_before = errors(&w, fabs) / (double)w.n;
	if (!w.rc)
		select_parameters(&w, &fit);
	if (!w.rc)
		search(&w);
	if (!w.rc)
		fit.mean_error = errors(&w, fabs) / (double)w.n;
	if (!w.rc) {
		fill_result(&w, &fit);
		*p = w.param;
		*out = fit;
	}
	free(w.end_sec);
	return w.rc;
}

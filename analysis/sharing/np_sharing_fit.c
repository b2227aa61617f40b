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
#define EXACT 1e-16	 /* mean of squared relative errors of an exact fit */
#define FULL_SIZE 1e-10	 /* of the simplex, at which a full search ends */
#define COARSE_SIZE 1e-4 /* and at which a coarse one ends */
#define MAX_GAMMA 0.999	 /* of a parameter that is below 1 */

/* A fit in progress. After an error (rc), functions do nothing. */
struct search {
	const struct np_sharing_model *model;
	const struct np_scheme *schemes;
	size_t n_schemes;
	size_t n_measured;	       /* communications with a measured time */
	double *end_sec;	       /* modelled, of one scheme */
	struct np_sharing_param param; /* current values */
	const struct np_sharing_member *fitted[NP_SHARING_FIT_MAX];
	size_t n_fitted;
	struct np_err *err;
	int rc;
};

/* Sum of f(modelled / measured - 1) over measured communications. */
static double sum_errors(struct search *search, double (*f)(double))
{
	double sum = 0;

	for (size_t k = 0; !search->rc && k < search->n_schemes; k++) {
		const struct np_scheme *scheme = &search->schemes[k];

		search->rc = np_sharing_dynamic(search->model, &search->param,
						scheme->c, scheme->start_sec,
						scheme->alone, scheme->n,
						scheme->n_nodes,
						search->end_sec, search->err);
		for (size_t i = 0; !search->rc && i < scheme->n; i++)
			if (!isnan(scheme->took_sec[i]))
				sum += f((search->end_sec[i] -
					  scheme->start_sec[i]) /
						 scheme->took_sec[i] -
					 1);
	}
	return sum;
}

static double square(double x)
{
	return x * x;
}

/*
 * Limits a value to the range of its parameter, and adds the square of the
 * excess to *beyond.
 */
static double clamp(const struct np_sharing_member *param, double value,
		    double *beyond)
{
	double limited = param->below_one ? fmin(fmax(value, 0), MAX_GAMMA) :
					    fmax(value, 1e-3);

	*beyond += square(value - limited);
	return limited;
}

/* Sum of squared errors, plus a penalty for values out of range. */
static double objective(const gsl_vector *x, void *arg)
{
	struct search *search = arg;
	double beyond = 0, sum;

	for (size_t i = 0; i < search->n_fitted; i++)
		*np_sharing_value(&search->param, search->fitted[i]) =
			clamp(search->fitted[i], gsl_vector_get(x, i), &beyond);
	sum = sum_errors(search, square);
	return search->rc || !isfinite(sum) ?
		       GSL_POSINF :
		       sum + 10 * (double)search->n_measured * beyond;
}

/* Whether some measured communication depends on a parameter. */
static bool is_measurable(struct search *search,
			  const struct np_sharing_member *param)
{
	double *value = np_sharing_value(&search->param, param);
	double old = *value, here, up, down;

	here = sum_errors(search, square);
	*value = old + param->step;
	up = sum_errors(search, square);
	*value = param->below_one ? fmax(old - param->step, 0) : old / 2;
	down = sum_errors(search, square);
	*value = old;
	return fabs(up - here) > 1e-12 || fabs(down - here) > 1e-12;
}

/*
 * Runs one search. Returns the sum of squares; search->param is the result.
 */
static double descend(struct search *search, gsl_multimin_fminimizer *minimizer,
		      double scale, int steps, double size)
{
	gsl_multimin_function f = { objective, search->n_fitted, search };
	gsl_vector *x = gsl_vector_alloc(search->n_fitted);
	gsl_vector *step = gsl_vector_alloc(search->n_fitted);
	int rc = x && step ? 0 : -ENOMEM;
	double least = INFINITY;

	for (size_t i = 0; !rc && i < search->n_fitted; i++) {
		gsl_vector_set(x, i,
			       *np_sharing_value(&search->param,
						 search->fitted[i]));
		gsl_vector_set(step, i, search->fitted[i]->step * scale);
	}
	if (!rc && gsl_multimin_fminimizer_set(minimizer, &f, x, step))
		rc = -EDOM;
	for (int i = 0; !rc && !search->rc && i < steps; i++)
		if (gsl_multimin_fminimizer_iterate(minimizer) ||
		    gsl_multimin_fminimizer_size(minimizer) < size)
			break;
	if (!rc)
		least = objective(minimizer->x, search);
	else if (!search->rc)
		search->rc = np_errf(search->err, rc,
				     "cannot start the search for parameters");
	gsl_vector_free(x);
	gsl_vector_free(step);
	return least;
}

/*
 * Restarts from the result as long as that helps, because a simplex may collapse
 * too early.
 */
static double descend_repeatedly(struct search *search,
				 gsl_multimin_fminimizer *minimizer)
{
	double least = INFINITY, before;
	int i = 0;

	do {
		before = least;
		least = descend(search, minimizer, i % 2 ? -1 : 1, STEPS,
				FULL_SIZE);
	} while (!search->rc && ++i < RESTARTS &&
		 least < before * (1 - FULL_SIZE));
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

/*
 * Sets the k-th starting point: 0.5 to 3 times the default, or, of a parameter
 * below 1, the whole range.
 */
static void set_start(struct search *search, int k)
{
	static const int base[NP_SHARING_FIT_MAX] = { 2, 3, 5 };
	struct np_sharing_param usual = NP_SHARING_DEFAULTS;

	for (size_t i = 0; i < search->n_fitted; i++) {
		double part = van_der_corput(k, base[i]);

		*np_sharing_value(&search->param, search->fitted[i]) =
			search->fitted[i]->below_one ?
				MAX_GAMMA * part :
				*np_sharing_value(&usual, search->fitted[i]) *
					(0.5 + 2.5 * part);
	}
}

/*
 * The objective is piecewise, with a local minimum in each piece. Therefore a
 * few steps are made from many starting points, and a full search follows where
 * these steps alone lead below the least minimum found so far.
 */
static void find_minimum(struct search *search)
{
	struct np_sharing_param best;
	gsl_multimin_fminimizer *minimizer;
	double least = INFINITY;

	if (!search->n_fitted)
		return;
	gsl_set_error_handler_off();
	minimizer = gsl_multimin_fminimizer_alloc(
		gsl_multimin_fminimizer_nmsimplex2, search->n_fitted);
	if (!minimizer) {
		search->rc = np_errf(search->err, -ENOMEM, "out of memory");
		return;
	}
	for (int k = 0; !search->rc && k < STARTS &&
			least > EXACT * (double)search->n_measured;
	     k++) {
		double sum = INFINITY;

		if (k) {
			set_start(search, k);
			sum = descend(search, minimizer, 1, COARSE_STEPS,
				      COARSE_SIZE);
		}
		if (!k || sum < least)
			sum = descend_repeatedly(search, minimizer);
		if (!search->rc && sum < least) {
			least = sum;
			best = search->param;
		}
	}
	if (!search->rc && isfinite(least))
		search->param = best;
	gsl_multimin_fminimizer_free(minimizer);
}

/* Checks and counts the measured times. */
static int check_cases(struct search *search)
{
	size_t most = 0;

	for (size_t k = 0; k < search->n_schemes; k++) {
		if (search->schemes[k].n > most)
			most = search->schemes[k].n;
		for (size_t i = 0; i < search->schemes[k].n; i++) {
			double took = search->schemes[k].took_sec[i];

			if (!isnan(took) && !(took > 0 && isfinite(took)))
				return np_errf(search->err, -EINVAL,
					       "measured time %g s, expected "
					       "more than 0",
					       took);
			search->n_measured += !isnan(took);
		}
	}
	if (!search->n_measured)
		return np_errf(search->err, -ENODATA,
			       "no measured time to fit parameters to");
	search->end_sec = calloc(most + 1, sizeof(*search->end_sec));
	return search->end_sec ? 0 :
				 np_errf(search->err, -ENOMEM, "out of memory");
}

/* Selects the parameters of the model that can be fitted. */
static void select_parameters(struct search *search, struct np_sharing_fit *out)
{
	for (size_t i = 0; !search->rc && i < np_sharing_n_members; i++) {
		const struct np_sharing_member *param = &np_sharing_members[i];

		if (strcmp(param->model, search->model->name))
			continue;
		out->name[out->n_param] = param->name;
		out->fitted[out->n_param] = is_measurable(search, param);
		if (out->fitted[out->n_param++])
			search->fitted[search->n_fitted++] = param;
	}
}

/* Copies the resulting parameters. */
static void fill_result(struct search *search, struct np_sharing_fit *out)
{
	size_t at = 0;

	out->n = search->n_measured;
	for (size_t i = 0; i < np_sharing_n_members; i++) {
		const struct np_sharing_member *param = &np_sharing_members[i];

		if (!strcmp(param->model, search->model->name))
			out->value[at++] =
				*np_sharing_value(&search->param, param);
	}
}

int np_sharing_fit(const struct np_sharing_model *model,
		   const struct np_scheme *schemes, size_t n,
		   struct np_sharing_param *param, struct np_sharing_fit *out,
		   struct np_err *err)
{
	struct np_sharing_fit fit = { .n_param = 0 };
	struct search search = { .model = model,
				 .schemes = schemes,
				 .n_schemes = n,
				 .param = *param,
				 .err = err };

	search.rc = check_cases(&search);
	if (!search.rc)
		fit.mean_before =
			sum_errors(&search, fabs) / (double)search.n_measured;
	if (!search.rc)
		select_parameters(&search, &fit);
	if (!search.rc)
		find_minimum(&search);
	if (!search.rc)
		fit.mean_error =
			sum_errors(&search, fabs) / (double)search.n_measured;
	if (!search.rc) {
		fill_result(&search, &fit);
		*param = search.param;
		*out = fit;
	}
	free(search.end_sec);
	return search.rc;
}

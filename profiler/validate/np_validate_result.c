#include "np_validate_result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_moments.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool is_of(const struct np_pairs_run *r, enum np_pairs_kind kind,
		  const char *victim, const char *corunner)
{
	return r->kind == kind && !strcmp(r->victim, victim) &&
	       (!corunner || !strcmp(r->corunner, corunner));
}

/* Median time of its launches; 0 without any. */
static int launch(const struct np_pairs *p, size_t app, double *out)
{
	double *sec = calloc(p->n_runs + 1, sizeof(*sec));
	size_t n = 0;

	if (!sec)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_runs; i++)
		if (is_of(&p->run[i], NP_PAIRS_LAUNCH, p->program[app].name,
			  NULL))
			sec[n++] = p->run[i].sec;
	qsort(sec, n, sizeof(*sec), by_value);
	*out = !n ? 0 : (sec[n / 2] + sec[(n - 1) / 2]) / 2;
	free(sec);
	return 0;
}

static void alone(const struct np_pairs *p, size_t app,
		  struct np_validate_app *a)
{
	struct np_moments m = { .n = 0 };

	for (size_t i = 0; i < p->n_runs; i++)
		if (is_of(&p->run[i], NP_PAIRS_ALONE, p->program[app].name,
			  NULL) && p->run[i].sec > a->launch_sec)
			np_moments_add(&m, p->run[i].sec - a->launch_sec);
	a->drift = NAN;
	if (!m.n)
		return;
	a->alone_sec = np_mean_of(&m);
	if (m.n > 1)
		a->drift = (m.max - m.min) / m.mean;
}

static double middle(const struct np_pairs_run *r)
{
	return r->start + r->sec / 2;
}

/* The run alone nearest in time; NULL: there is none. */
static const struct np_pairs_run *nearest(const struct np_pairs *p,
					  const struct np_pairs_run *to)
{
	const struct np_pairs_run *best = NULL;

	for (size_t i = 0; i < p->n_runs; i++) {
		const struct np_pairs_run *r = &p->run[i];

		if (is_of(r, NP_PAIRS_ALONE, to->victim, NULL) &&
		    (!best || fabs(middle(r) - middle(to)) <
			      fabs(middle(best) - middle(to))))
			best = r;
	}
	return best;
}

/*
 * Slowdowns of a pair's runs of a kind.  *between: how its first two differ,
 * NaN: there are no two.
 */
static struct np_mean slowdowns(const struct np_pairs *p, size_t victim,
				size_t corunner, enum np_pairs_kind kind,
				double launch_sec, double *between)
{
	const char *v = p->program[victim].name;
	const char *c = p->program[corunner].name;
	double first = NAN;
	struct np_moments m = { .n = 0 };

	*between = NAN;
	for (size_t i = 0; i < p->n_runs; i++) {
		const struct np_pairs_run *r = &p->run[i], *base;
		double slowdown;

		if (!is_of(r, kind, v, c))
			continue;
		base = nearest(p, r);
		if (!base || base->sec <= launch_sec || r->sec <= launch_sec)
			continue;
		slowdown = (r->sec - launch_sec) / (base->sec - launch_sec) - 1;
		if (m.n == 0)
			first = slowdown;
		else if (m.n == 1)
			*between = fabs(slowdown - first);
		np_moments_add(&m, slowdown);
	}
	return m.n ? np_mean_of(&m) : (struct np_mean){ .n = 0 };
}

struct sums {
	double repeat, control;
};

static void take_pair(const struct np_pairs *p, size_t victim, size_t corunner,
		      struct np_validate_result *r, struct sums *sums)
{
	struct np_validate_pair *pair = &r->pair[victim * r->n_programs +
						 corunner];
	double launch_sec = r->app[victim].launch_sec, ignored;

	pair->slowdown = slowdowns(p, victim, corunner, NP_PAIRS_LEAF,
				   launch_sec, &pair->between);
	pair->apart = slowdowns(p, victim, corunner, NP_PAIRS_APART,
				launch_sec, &ignored);
	if (pair->apart.n) {
		double size = fabs(pair->apart.mean);

		r->n_controls++;
		sums->control += size;
		r->control_most = fmax(r->control_most, size);
		pair->refused = size > NP_VALIDATE_CONTROL_MOST;
	}
	if (pair->refused) {
		r->n_refused++;
		pair->slowdown = (struct np_mean){ .n = 0 };
	}
	if (!pair->slowdown.n)
		return;
	if (pair->apart.n)
		pair->slowdown.mean -= pair->apart.mean;
	r->n_pairs++;
	if (!isnan(pair->between)) {
		r->n_repeated++;
		sums->repeat += 100 * pair->between;
	}
}

int np_validate_result_make(const struct np_pairs *p,
			    struct np_validate_result *out)
{
	size_t n = p->n_programs;
	struct np_validate_result r = {
		.n_programs = n, .control_most = NAN,
		.app = calloc(n + 1, sizeof(*r.app)),
		.pair = calloc(n * n + 1, sizeof(*r.pair)),
	};
	struct sums sums = { 0, 0 };
	int rc = r.app && r.pair ? 0 : -ENOMEM;

	for (size_t a = 0; !rc && a < n; a++) {
		rc = launch(p, a, &r.app[a].launch_sec);
		if (!rc)
			alone(p, a, &r.app[a]);
	}
	for (size_t i = 0; !rc && i < n * n; i++)
		take_pair(p, i / n, i % n, &r, &sums);
	if (rc) {
		np_validate_result_free(&r);
		return rc;
	}
	r.repeat_points = r.n_repeated ? sums.repeat / (double)r.n_repeated :
					 NAN;
	r.control_mean = r.n_controls ? sums.control / (double)r.n_controls :
					NAN;
	*out = r;
	return 0;
}

void np_validate_result_free(struct np_validate_result *r)
{
	free(r->app);
	free(r->pair);
	*r = (struct np_validate_result){ .n_programs = 0 };
}

static int make_table(size_t n, struct np_mean **table)
{
	free(*table);
	*table = calloc(n + 1, sizeof(**table));
	return *table ? 0 : -ENOMEM;
}

int np_validate_result_give(const struct np_validate_result *r,
			    struct np_pairs *p)
{
	size_t n = r->n_programs;

	if (make_table(n, &p->alone_sec) || make_table(n * n, &p->beside) ||
	    make_table(n * n, &p->apart))
		return -ENOMEM;
	for (size_t a = 0; a < n; a++)
		p->alone_sec[a] = r->app[a].alone_sec;
	for (size_t i = 0; i < n * n; i++) {
		p->beside[i] = r->pair[i].slowdown;
		p->apart[i] = r->pair[i].apart;
	}
	return 0;
}

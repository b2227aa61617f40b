/*
 * Pairs that netprof validate measured: their slowdowns, and those in the store.
 */
#include "cli_measured.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_pairs_store.h"

/* ---- results ---- */

/* Is it a run of this kind, victim and co-runner (NULL: any)? */
static bool is_of(const struct np_pairs_run *r, enum np_pairs_kind kind,
		  const char *victim, const char *corunner)
{
	return r->kind == kind && !strcmp(r->victim, victim) &&
	       (!corunner || !strcmp(r->corunner, corunner));
}

/* Median duration of the launches; 0: there are none. */
static int launch_time(const struct np_pairs *p, size_t app, double *out)
{
	double *sec = calloc(p->n_runs + 1, sizeof(*sec));
	size_t n = 0;

	if (!sec)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_runs; i++)
		if (is_of(&p->run[i], NP_PAIRS_LAUNCH, p->program[app].name,
			  NULL))
			sec[n++] = p->run[i].sec;
	qsort(sec, n, sizeof(*sec), np_order_double);
	*out = !n ? 0 : (sec[n / 2] + sec[(n - 1) / 2]) / 2;
	free(sec);
	return 0;
}

/* Mean and drift of the runs of a program alone. */
static void alone_time(const struct np_pairs *p, size_t app,
		       struct cli_app_result *a)
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

/* The date of the middle of a run. */
static double middle_of(const struct np_pairs_run *r)
{
	return r->start + r->sec / 2;
}

/* The run alone that is nearest in time; NULL: there is none. */
static const struct np_pairs_run *nearest_alone(const struct np_pairs *p,
						const struct np_pairs_run *to)
{
	const struct np_pairs_run *best = NULL;

	for (size_t i = 0; i < p->n_runs; i++) {
		const struct np_pairs_run *r = &p->run[i];

		if (is_of(r, NP_PAIRS_ALONE, to->victim, NULL) &&
		    (!best || fabs(middle_of(r) - middle_of(to)) <
				      fabs(middle_of(best) - middle_of(to))))
			best = r;
	}
	return best;
}

/*
 * Slowdowns of a pair's runs of one kind.  *difference: that of the first two;
 * NaN: there are not two.
 */
static struct np_mean slowdowns(const struct np_pairs *p, size_t victim,
				size_t corunner, enum np_pairs_kind kind,
				double launch_sec, double *difference)
{
	const char *v = p->program[victim].name;
	const char *c = p->program[corunner].name;
	double first = NAN;
	struct np_moments m = { .n = 0 };

	*difference = NAN;
	for (size_t i = 0; i < p->n_runs; i++) {
		const struct np_pairs_run *r = &p->run[i], *base;
		double slowdown;

		if (!is_of(r, kind, v, c))
			continue;
		base = nearest_alone(p, r);
		if (!base || base->sec <= launch_sec || r->sec <= launch_sec)
			continue;
		slowdown = (r->sec - launch_sec) / (base->sec - launch_sec) - 1;
		if (m.n == 0)
			first = slowdown;
		else if (m.n == 1)
			*difference = fabs(slowdown - first);
		np_moments_add(&m, slowdown);
	}
	return m.n ? np_mean_of(&m) : (struct np_mean){ .n = 0 };
}

struct sums {
	double repeat, control;
};

/*
 * Evaluate a pair: subtract its control, or refuse it if the control is too
 * slow itself.
 */
static void judge_pair(const struct np_pairs *p, size_t victim, size_t corunner,
		       struct cli_pair_results *r, struct sums *sums)
{
	struct cli_pair_result *pair = &r->pair[victim * r->n_programs +
						corunner];
	double launch_sec = r->app[victim].launch_sec, ignored;

	pair->slowdown = slowdowns(p, victim, corunner, NP_PAIRS_LEAF,
				   launch_sec, &pair->repeat_difference);
	pair->apart = slowdowns(p, victim, corunner, NP_PAIRS_APART,
				launch_sec, &ignored);
	if (pair->apart.n) {
		double size = fabs(pair->apart.mean);

		r->n_controls++;
		sums->control += size;
		r->control_max = fmax(r->control_max, size);
		pair->rejected = size > CLI_CONTROL_MAX;
	}
	if (pair->rejected) {
		r->n_rejected++;
		pair->slowdown = (struct np_mean){ .n = 0 };
	}
	if (!pair->slowdown.n)
		return;
	if (pair->apart.n)
		pair->slowdown.mean -= pair->apart.mean;
	r->n_pairs++;
	if (!isnan(pair->repeat_difference)) {
		r->n_repeated++;
		sums->repeat += 100 * pair->repeat_difference;
	}
}

int cli_pair_results_compute(const struct np_pairs *p,
			     struct cli_pair_results *out)
{
	size_t n = p->n_programs;
	struct cli_pair_results r = {
		.n_programs = n, .control_max = NAN,
		.app = calloc(n + 1, sizeof(*r.app)),
		.pair = calloc(n * n + 1, sizeof(*r.pair)),
	};
	struct sums sums = { 0, 0 };
	int rc = r.app && r.pair ? 0 : -ENOMEM;

	for (size_t a = 0; !rc && a < n; a++) {
		rc = launch_time(p, a, &r.app[a].launch_sec);
		if (!rc)
			alone_time(p, a, &r.app[a]);
	}
	for (size_t i = 0; !rc && i < n * n; i++)
		judge_pair(p, i / n, i % n, &r, &sums);
	if (rc) {
		cli_pair_results_free(&r);
		return rc;
	}
	r.repeat_points = r.n_repeated ? sums.repeat / (double)r.n_repeated :
					 NAN;
	r.control_mean = r.n_controls ? sums.control / (double)r.n_controls :
					NAN;
	*out = r;
	return 0;
}

void cli_pair_results_free(struct cli_pair_results *r)
{
	free(r->app);
	free(r->pair);
	*r = (struct cli_pair_results){ .n_programs = 0 };
}

static int make_table(size_t n, struct np_mean **table)
{
	free(*table);
	*table = calloc(n + 1, sizeof(**table));
	return *table ? 0 : -ENOMEM;
}

int cli_pair_results_store(const struct cli_pair_results *r,
			   struct np_pairs *p)
{
	size_t n = r->n_programs;

	if (make_table(n, &p->alone_sec) || make_table(n * n, &p->together) ||
	    make_table(n * n, &p->apart))
		return -ENOMEM;
	for (size_t a = 0; a < n; a++)
		p->alone_sec[a] = r->app[a].alone_sec;
	for (size_t i = 0; i < n * n; i++) {
		p->together[i] = r->pair[i].slowdown;
		p->apart[i] = r->pair[i].apart;
	}
	return 0;
}

/* ---- measurements in the store ---- */

/* One measurement of a victim, and its slowdowns. */
struct cli_measured_file {
	struct np_pairs pairs;
	struct cli_pair_results result;
};

/* Compute the slowdowns of n measurements, which a owns from now on. */
static int take_files(struct cli_known_app *a, struct np_pairs *p, size_t n)
{
	int rc = 0;

	a->measured = calloc(n + 1, sizeof(*a->measured));
	for (size_t i = 0; i < n; i++) {
		if (a->measured && !rc)
			rc = cli_pair_results_compute(&p[i],
						      &a->measured[i].result);
		if (!a->measured || rc) {
			np_pairs_free(&p[i]);
			continue;
		}
		a->measured[i].pairs = p[i];
		a->n_measured++;
	}
	return a->measured ? rc : -ENOMEM;
}

int cli_measured_load(struct cli_known *k, struct cli_store *s)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < k->n; i++) {
		struct cli_known_app *a = k->app[i];
		struct np_err err = NP_ERR_INIT;
		struct np_pairs *p;
		size_t n;

		rc = np_pairs_store_load(s->store, a->r.owner, a->r.uid,
					 a->r.runs.app, cli_warn_line, NULL, &p,
					 &n, &err);
		if (!rc)
			rc = take_files(a, p, n);
		free(p);
		if (rc == -EACCES)
			rc = 0;
	}
	return rc == -ENOMEM ? rc : 0;
}

/* The index of a program in a measurement; its number of programs: none. */
static size_t program_at(const struct np_pairs *p, const char *name)
{
	size_t i = 0;

	while (i < p->n_programs && strcmp(p->program[i].name, name))
		i++;
	return i;
}

/* The pair in one measurement. */
static bool find_in(const struct cli_measured_file *f, const char *victim,
		    const char *corunner, struct cli_measured *out)
{
	size_t v = program_at(&f->pairs, victim);
	size_t c = program_at(&f->pairs, corunner), n = f->pairs.n_programs;
	const struct cli_pair_result *pair;

	if (v == n || c == n)
		return false;
	pair = &f->result.pair[v * n + c];
	if (!pair->slowdown.n && !pair->rejected)
		return false;
	*out = (struct cli_measured){
		.slowdown = pair->slowdown, .date = f->pairs.date,
		.control = pair->apart.n ? pair->apart.mean : NAN,
		.victim_nodes = f->pairs.program[v].nodes,
		.corunner_nodes = f->pairs.program[c].nodes,
	};
	return true;
}

/* Was it measured on the cluster of the calibration? */
static bool is_of_cluster(const struct cli_known *k, const struct np_pairs *p)
{
	return !p->place.cluster || !k->calibrated || !*k->cal.cluster ||
	       !strcmp(p->place.cluster, k->cal.cluster);
}

bool cli_measured_find(const struct cli_known *k, size_t victim, size_t corunner,
		       enum np_scope scope, struct cli_measured *out)
{
	const struct cli_known_app *a = k->app[victim];

	for (size_t i = 0; scope == NP_SCOPE_LEAF && i < a->n_measured; i++)
		if (is_of_cluster(k, &a->measured[i].pairs) &&
		    find_in(&a->measured[i], a->r.runs.app,
			    k->app[corunner]->r.runs.app, out))
			return true;
	return false;
}

void cli_measured_free(struct cli_known_app *a)
{
	for (size_t i = 0; i < a->n_measured; i++) {
		np_pairs_free(&a->measured[i].pairs);
		cli_pair_results_free(&a->measured[i].result);
	}
	free(a->measured);
	a->measured = NULL;
	a->n_measured = 0;
}

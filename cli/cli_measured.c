/*
 * Computes the slowdowns of measured pairs, and reads measurements from the
 * store.
 */
#include "cli_measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_moments.h"
#include "np_pairs_store.h"

/* ---- Results ---- */

/* Whether a run has this kind, victim and co-runner (NULL: any). */
static bool matches_run(const struct np_pairs_run *run, enum np_pairs_kind kind,
			const char *victim, const char *corunner)
{
	return run->kind == kind && !strcmp(run->victim, victim) &&
	       (!corunner || !strcmp(run->corunner, corunner));
}

/* Find the median time to start a program; 0 if it was not measured. */
static double find_launch_sec(const struct np_pairs *pairs, const char *program)
{
	double *sec = cli_calloc(pairs->n_runs, sizeof(*sec)), median;
	size_t n = 0;

	for (size_t i = 0; i < pairs->n_runs; i++)
		if (matches_run(&pairs->run[i], NP_PAIRS_LAUNCH, program, NULL))
			sec[n++] = pairs->run[i].sec;
	median = n ? np_median(sec, n) : 0;
	free(sec);
	return median;
}

/* Set the mean and drift of a program's run times alone, without its start. */
static void set_alone_sec(const struct np_pairs *pairs, const char *program,
			  struct cli_app_result *app)
{
	struct np_moments sec = { .n = 0 };

	for (size_t i = 0; i < pairs->n_runs; i++) {
		const struct np_pairs_run *run = &pairs->run[i];

		if (matches_run(run, NP_PAIRS_ALONE, program, NULL) &&
		    run->sec > app->launch_sec)
			np_moments_add(&sec, run->sec - app->launch_sec);
	}
	app->drift = NAN;
	if (!sec.n)
		return;
	app->alone_sec = np_mean_of(&sec);
	if (sec.n > 1)
		app->drift = (sec.max - sec.min) / sec.mean;
}

/* The date of the middle of a run. */
static double middle_date(const struct np_pairs_run *run)
{
	return run->start + run->sec / 2;
}

/* Find the run of the same victim alone that is nearest in time, or NULL. */
static const struct np_pairs_run *
find_nearest_alone(const struct np_pairs *pairs, const struct np_pairs_run *to)
{
	const struct np_pairs_run *nearest = NULL;
	double min_distance = INFINITY;

	for (size_t i = 0; i < pairs->n_runs; i++) {
		const struct np_pairs_run *run = &pairs->run[i];
		double distance = fabs(middle_date(run) - middle_date(to));

		if (matches_run(run, NP_PAIRS_ALONE, to->victim, NULL) &&
		    distance < min_distance) {
			nearest = run;
			min_distance = distance;
		}
	}
	return nearest;
}

/*
 * Compute the mean slowdown over a pair's runs of one kind. *difference is set
 * to that between the first two runs, or to NaN if there are fewer.
 */
static struct np_mean compute_slowdown(const struct np_pairs *pairs,
				       size_t victim, size_t corunner,
				       enum np_pairs_kind kind,
				       double launch_sec, double *difference)
{
	const char *victim_name = pairs->program[victim].name;
	const char *corunner_name = pairs->program[corunner].name;
	struct np_moments slowdowns = { .n = 0 };
	double first = NAN;

	*difference = NAN;
	for (size_t i = 0; i < pairs->n_runs; i++) {
		const struct np_pairs_run *run = &pairs->run[i], *alone;
		double slowdown;

		if (!matches_run(run, kind, victim_name, corunner_name))
			continue;
		alone = find_nearest_alone(pairs, run);
		if (!alone || alone->sec <= launch_sec ||
		    run->sec <= launch_sec)
			continue;
		slowdown =
			(run->sec - launch_sec) / (alone->sec - launch_sec) - 1;
		if (slowdowns.n == 0)
			first = slowdown;
		else if (slowdowns.n == 1)
			*difference = fabs(slowdown - first);
		np_moments_add(&slowdowns, slowdown);
	}
	return slowdowns.n ? np_mean_of(&slowdowns) :
			     (struct np_mean){ .n = 0 };
}

/* Sums over all pairs, from which the means in the results are computed. */
struct sums {
	double repeat_points, control;
};

/*
 * Evaluate a pair: subtract its control, or reject the pair if the control is
 * larger than CLI_CONTROL_MAX.
 */
static void evaluate_pair(const struct np_pairs *pairs, size_t victim,
			  size_t corunner, struct cli_pair_results *results,
			  struct sums *sums)
{
	struct cli_pair_result *pair =
		&results->pair[victim * results->n_programs + corunner];
	double launch_sec = results->app[victim].launch_sec, ignored;

	pair->slowdown = compute_slowdown(pairs, victim, corunner,
					  NP_PAIRS_LEAF, launch_sec,
					  &pair->repeat_difference);
	pair->apart = compute_slowdown(pairs, victim, corunner, NP_PAIRS_APART,
				       launch_sec, &ignored);
	if (pair->apart.n) {
		double control = fabs(pair->apart.mean);

		results->n_controls++;
		sums->control += control;
		results->control_max = fmax(results->control_max, control);
		pair->rejected = control > CLI_CONTROL_MAX;
	}
	if (pair->rejected) {
		results->n_rejected++;
		pair->slowdown = (struct np_mean){ .n = 0 };
	}
	if (!pair->slowdown.n)
		return;
	if (pair->apart.n)
		pair->slowdown.mean -= pair->apart.mean;
	results->n_pairs++;
	if (!isnan(pair->repeat_difference)) {
		results->n_repeated++;
		sums->repeat_points += 100 * pair->repeat_difference;
	}
}

void cli_pair_results_compute(const struct np_pairs *pairs,
			      struct cli_pair_results *out)
{
	size_t n = pairs->n_programs;
	struct sums sums = { 0, 0 };

	*out = (struct cli_pair_results){
		.n_programs = n,
		.control_max = NAN,
		.app = cli_calloc(n, sizeof(*out->app)),
		.pair = cli_calloc(n * n, sizeof(*out->pair)),
	};
	for (size_t i = 0; i < n; i++) {
		const char *program = pairs->program[i].name;

		out->app[i].launch_sec = find_launch_sec(pairs, program);
		set_alone_sec(pairs, program, &out->app[i]);
	}
	for (size_t i = 0; i < n * n; i++)
		evaluate_pair(pairs, i / n, i % n, out, &sums);
	out->repeat_points =
		out->n_repeated ? sums.repeat_points / (double)out->n_repeated :
				  NAN;
	out->control_mean =
		out->n_controls ? sums.control / (double)out->n_controls : NAN;
}

void cli_pair_results_free(struct cli_pair_results *results)
{
	free(results->app);
	free(results->pair);
	*results = (struct cli_pair_results){ .n_programs = 0 };
}

/* Replace a table by one of n empty means. */
static void clear_table(struct np_mean **table, size_t n)
{
	free(*table);
	*table = cli_calloc(n, sizeof(**table));
}

void cli_pair_results_store(const struct cli_pair_results *results,
			    struct np_pairs *pairs)
{
	size_t n = results->n_programs;

	clear_table(&pairs->alone_sec, n);
	clear_table(&pairs->together, n * n);
	clear_table(&pairs->apart, n * n);
	for (size_t i = 0; i < n; i++)
		pairs->alone_sec[i] = results->app[i].alone_sec;
	for (size_t i = 0; i < n * n; i++) {
		pairs->together[i] = results->pair[i].slowdown;
		pairs->apart[i] = results->pair[i].apart;
	}
}

/* ---- Measurements in the store ---- */

/* One measurement of a victim, and its slowdowns. */
struct cli_measured_file {
	struct np_pairs pairs;
	struct cli_pair_results result;
};

void cli_measured_load(struct cli_known *known, struct cli_store *store)
{
	for (size_t i = 0; i < known->n; i++) {
		struct cli_known_app *app = known->app[i];
		struct np_err err = NP_ERR_INIT;
		struct np_pairs *pairs;
		size_t n;

		if (cli_check_memory(np_pairs_store_load(
			    store->store, app->runs.owner, app->runs.uid,
			    app->runs.app, cli_warn_line, NULL, &pairs, &n,
			    &err)))
			continue;
		app->measured = cli_calloc(n, sizeof(*app->measured));
		app->n_measured = n;
		for (size_t k = 0; k < n; k++) {
			app->measured[k].pairs = pairs[k];
			cli_pair_results_compute(&pairs[k],
						 &app->measured[k].result);
		}
		free(pairs);
	}
}

/* Find a pair in one measurement. */
static bool find_in_measurement(const struct cli_measured_file *measurement,
				const char *victim_name,
				const char *corunner_name,
				struct cli_measured *out)
{
	const struct np_pairs *pairs = &measurement->pairs;
	size_t victim = np_pairs_find(pairs, victim_name);
	size_t corunner = np_pairs_find(pairs, corunner_name);
	const struct cli_pair_result *pair;

	if (victim == pairs->n_programs || corunner == pairs->n_programs)
		return false;
	pair = &measurement->result.pair[victim * pairs->n_programs + corunner];
	if (!pair->slowdown.n && !pair->rejected)
		return false;
	*out = (struct cli_measured){
		.slowdown = pair->slowdown,
		.date = pairs->date,
		.control = pair->apart.n ? pair->apart.mean : NAN,
		.victim_nodes = pairs->program[victim].nodes,
		.corunner_nodes = pairs->program[corunner].nodes,
	};
	return true;
}

/*
 * Whether the pairs may have been measured on the cluster of the calibration.
 * This is also true if either cluster is unknown.
 */
static bool is_on_cluster(const struct cli_known *known,
			  const struct np_pairs *pairs)
{
	return !pairs->place.cluster || !known->calibrated ||
	       !*known->cal.cluster ||
	       !strcmp(pairs->place.cluster, known->cal.cluster);
}

bool cli_measured_find(const struct cli_known *known, size_t victim,
		       size_t corunner, enum np_scope scope,
		       struct cli_measured *out)
{
	const struct cli_known_app *app = known->app[victim];

	for (size_t i = 0; scope == NP_SCOPE_LEAF && i < app->n_measured; i++)
		if (is_on_cluster(known, &app->measured[i].pairs) &&
		    find_in_measurement(&app->measured[i], app->runs.app,
					known->app[corunner]->runs.app, out))
			return true;
	return false;
}

void cli_measured_free(struct cli_known_app *app)
{
	for (size_t i = 0; i < app->n_measured; i++) {
		np_pairs_free(&app->measured[i].pairs);
		cli_pair_results_free(&app->measured[i].result);
	}
	free(app->measured);
	app->measured = NULL;
	app->n_measured = 0;
}

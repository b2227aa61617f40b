/* Loads the runs and the calibration of known applications for the models. */
#include "cli_known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli_measured.h"
#include "np_array.h"
#include "np_self_check.h"

/*
 * Applications are allocated one by one, so that pointers to them stay valid
 * while the list grows.
 */
void cli_known_add(struct cli_known *known, struct np_runs *runs)
{
	struct cli_known_app *app = cli_calloc(1, sizeof(*app));

	cli_array_grow(&known->app, known->n, sizeof(*known->app));
	app->runs = *runs;
	known->app[known->n++] = app;
}

int cli_known_find(struct cli_known *known, struct cli_store *store,
		   const struct cli_options *options)
{
	struct np_runs runs;
	int rc;

	for (size_t i = 0; i < options->n_apps; i++) {
		rc = cli_runs_find(store, options, options->apps[i], &runs);
		if (rc >= 0)
			return rc;
		cli_known_add(known, &runs);
	}
	return -1;
}

/*
 * Find the newest run, of the first n applications, that names its cluster;
 * NULL: there is none.
 */
static const struct np_record *find_newest_run(const struct cli_known *known,
					       size_t n)
{
	const struct np_record *newest = NULL;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < known->app[i]->runs.n; j++) {
			const struct np_record *record =
				known->app[i]->runs.run[j];

			if (record->cluster && *record->cluster &&
			    (!newest || record->start > newest->start))
				newest = record;
		}
	return newest;
}

/*
 * Summarise the runs of all applications for the loaded calibration, and note
 * which applications no model can use.
 */
static void evaluate_all(struct cli_known *known)
{
	const struct np_run_summary_opt opt = {
		.calibration = &known->cal,
		.now = (double)time(NULL),
	};

	for (size_t i = 0; i < known->n; i++) {
		struct cli_known_app *app = known->app[i];

		np_run_summary_free(&app->summary);
		cli_check_memory(
			np_run_summary_make(&app->runs, &opt, &app->summary));
		app->unusable.text[0] = '\0';
		np_program_check(&app->summary.program, known->cal.fabric,
				 &app->unusable);
	}
}

/* Count the points of the sensitivity curves of the first n applications. */
static size_t count_curve_levels(const struct cli_known *known, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += known->app[i]->summary.n_curve;
	return sum;
}

/*
 * Load the newest calibration and evaluate all applications on it. run: take
 * that of its cluster and fabric; NULL: any. scope: take that scope; NULL:
 * leaf, or else another one. Returns 0, or -errno with known->why.
 */
static int load_calibration(struct cli_known *known, struct cli_store *store,
			    const struct np_record *run, const char *scope)
{
	const struct np_fabric_of of = {
		.rail = run ? np_run_rail(run) : NULL,
		.transport = run ? run->probe.transport : NULL,
	};
	struct np_calibration cal;
	int rc = np_fabric_store_load_of(store->store,
					 run ? run->cluster : NULL, scope, &of,
					 &cal, &known->why);

	if (rc)
		return rc;
	if (known->calibrated)
		np_calibration_free(&known->cal);
	known->cal = cal;
	known->calibrated = true;
	evaluate_all(known);
	return 0;
}

/*
 * The preferred calibration is loaded first. If its scope is the leaf and no
 * sensitivity curve was measured there, curves may have been measured on shared
 * nodes. If there are none either, the leaf calibration is loaded again.
 */
int cli_known_load_calibration(struct cli_known *known, struct cli_store *store,
			       size_t n_first, bool any_cluster)
{
	const struct np_record *run = find_newest_run(known, n_first);
	int rc = load_calibration(known, store, run, NULL);

	if (rc == -ENOENT && any_cluster && run) {
		run = NULL;
		rc = load_calibration(known, store, run, NULL);
	}
	if (rc || known->cal.scope != NP_SCOPE_LEAF ||
	    count_curve_levels(known, n_first))
		return rc;
	rc = load_calibration(known, store, run, "node");
	if (rc == -ENOENT)
		return 0;
	if (!rc && !count_curve_levels(known, n_first))
		rc = load_calibration(known, store, run, "leaf");
	return rc;
}

void cli_known_free(struct cli_known *known)
{
	for (size_t i = 0; i < known->n; i++) {
		np_run_summary_free(&known->app[i]->summary);
		np_runs_free(&known->app[i]->runs);
		free(known->app[i]->traced);
		cli_measured_free(known->app[i]);
		free(known->app[i]);
	}
	free(known->app);
	if (known->calibrated)
		np_calibration_free(&known->cal);
	*known = (struct cli_known){ .n = 0 };
}

/*
 * Seed and replicates are fixed, so that all commands print the same interval.
 */
int cli_known_predictor(const struct cli_known *known,
			const struct np_model *model, bool intervals,
			struct np_predictor **out, struct np_err *err)
{
	const struct np_predict_opt opt = {
		.replicates = intervals ? NP_PREDICT_REPLICATES : 0,
		.seed = 1,
		.doubtful = np_self_check_fails(known->cal.fabric),
	};

	return np_predictor_new(known->cal.fabric,
				model ? model :
					np_model_find(NP_MODEL_DEFAULT, NULL),
				&opt, out, err);
}

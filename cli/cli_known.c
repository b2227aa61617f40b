/* Known applications: loading runs and calibration for the models. */
#include "cli_known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli_measured.h"
#include "np_array.h"

/*
 * Applications are allocated one by one, so that pointers to them stay valid
 * while the list grows.
 */
int cli_known_add(struct cli_known *k, const struct cli_runs *r, bool owned)
{
	struct cli_known_app *a = calloc(1, sizeof(*a));

	if (!a || np_array_grow(&k->app, k->n, sizeof(*k->app))) {
		struct np_runs runs = r->runs;

		if (owned)
			np_runs_free(&runs);
		free(a);
		return -ENOMEM;
	}
	a->r = *r;
	a->owned = owned;
	k->app[k->n++] = a;
	return 0;
}

int cli_known_find(struct cli_known *k, struct cli_store *s,
		   const struct cli_options *o)
{
	struct cli_runs r;
	int rc;

	for (size_t i = 0; i < o->n_apps; i++) {
		rc = cli_runs_find(s, o, o->apps[i], &r);
		if (rc >= 0)
			return rc;
		if (cli_known_add(k, &r, true))
			return cli_fail("out of memory");
	}
	return -1;
}

/* The newest run that names its cluster, or NULL. */
static const struct np_record *newest_run(const struct cli_known *k, size_t n)
{
	const struct np_record *best = NULL;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < k->app[i]->r.runs.n; j++) {
			const struct np_record *r = k->app[i]->r.runs.run[j];

			if (r->cluster && *r->cluster &&
			    (!best || r->start > best->start))
				best = r;
		}
	return best;
}

/* Summarise the runs of all applications for this calibration; 0 or -ENOMEM. */
static int evaluate_all(struct cli_known *k)
{
	const struct np_run_summary_opt opt = {
		.calibration = &k->cal, .now = (double)time(NULL),
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < k->n; i++) {
		struct cli_known_app *a = k->app[i];

		np_run_summary_free(&a->summary);
		rc = np_run_summary_make(&a->r.runs, &opt, &a->summary);
		a->unusable.text[0] = '\0';
		if (!rc)
			np_program_check(&a->summary.program, k->cal.fabric,
					 &a->unusable);
	}
	return rc;
}

/* Points in the sensitivity curves of the first n applications together. */
static size_t count_curve_levels(const struct cli_known *k, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += k->app[i]->summary.n_curve;
	return sum;
}

/*
 * Load the calibration of the cluster and fabric of a run (NULL: the newest of
 * any) at a scope (NULL: any), and evaluate all applications on it.
 */
static int load_calibration(struct cli_known *k, struct cli_store *s,
			    const struct np_record *run, const char *scope)
{
	const struct np_fabric_of of = {
		.rail = run ? np_run_rail(run) : NULL,
		.transport = run ? run->probe.transport : NULL,
	};
	struct np_calibration cal;
	int rc = np_fabric_store_load_of(s->store, run ? run->cluster : NULL,
					 scope, &of, &cal, &k->why);

	if (rc)
		return rc;
	if (k->calibrated)
		np_calibration_free(&k->cal);
	k->cal = cal;
	k->calibrated = true;
	rc = evaluate_all(k);
	return rc ? np_errf(&k->why, rc, "out of memory") : 0;
}

/*
 * First the calibration of any scope. If that is the leaf and no sensitivity
 * curve was measured there, curves on the same nodes may exist; if they do not
 * either, the leaf calibration is better.
 */
int cli_known_load_calibration(struct cli_known *k, struct cli_store *s, size_t n_first,
		    bool any)
{
	const struct np_record *run = newest_run(k, n_first);
	int rc = load_calibration(k, s, run, NULL);

	if (rc == -ENOENT && any && run) {
		run = NULL;
		rc = load_calibration(k, s, run, NULL);
	}
	if (rc || k->cal.scope != NP_SCOPE_LEAF ||
	    count_curve_levels(k, n_first))
		return rc;
	rc = load_calibration(k, s, run, "node");
	if (rc == -ENOENT)
		return 0;
	if (!rc && !count_curve_levels(k, n_first))
		rc = load_calibration(k, s, run, "leaf");
	return rc;
}

/* Leaves an empty list that can be used again. */
void cli_known_free(struct cli_known *k)
{
	for (size_t i = 0; i < k->n; i++) {
		np_run_summary_free(&k->app[i]->summary);
		if (k->app[i]->owned)
			np_runs_free(&k->app[i]->r.runs);
		free(k->app[i]->traced);
		cli_measured_free(k->app[i]);
		free(k->app[i]);
	}
	free(k->app);
	if (k->calibrated)
		np_calibration_free(&k->cal);
	*k = (struct cli_known){ .n = 0 };
}

/*
 * Seed and replicates are fixed, so that all commands print the same interval.
 */
int cli_known_predictor(const struct cli_known *k, const struct np_model *m,
			bool intervals, struct np_predictor **out,
			struct np_err *err)
{
	const struct np_predict_opt opt = {
		.replicates = intervals ? NP_PREDICT_REPLICATES : 0, .seed = 1,
	};

	return np_predictor_new(k->cal.fabric, m ? m :
				np_model_find(NP_MODEL_DEFAULT, NULL), &opt,
				out, err);
}

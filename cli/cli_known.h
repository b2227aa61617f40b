/*
 * Known applications: their runs in the store, summarised for the calibration
 * of one fabric. predict, matrix, show, report and explain pass them to the
 * models.
 */
#ifndef CLI_KNOWN_H
#define CLI_KNOWN_H

#include "cli_profile.h"
#include "np_loggps.h"
#include "np_predict.h"
#include "np_run_summary.h"

struct cli_traced;
struct cli_measured_file;

struct cli_known_app {
	struct np_runs runs; /* freed with this structure */
	/* These two are set by cli_known_load_calibration(). */
	struct np_run_summary summary;
	struct np_err unusable;	   /* why no model can use it, or "" */
	struct cli_traced *traced; /* cli_analysis.h; NULL: not loaded */
	/* Measured pairs with this victim, newest first; cli_measured.h */
	struct cli_measured_file *measured;
	size_t n_measured;
};

struct cli_known {
	/* In the order in which they were added. */
	struct cli_known_app **app;
	size_t n;
	/* Runs that cli_matrix_find() read; whether it stopped at its limit. */
	size_t n_runs;
	bool truncated;
	bool calibrated;
	struct np_calibration cal; /* valid if calibrated */
	struct np_err why;	   /* why there is no calibration */
};

/*
 * Add an application, taking over its runs.
 */
void cli_known_add(struct cli_known *known, struct np_runs *runs);

/*
 * Add the applications named on the command line. Returns -1 to continue, or
 * the exit status after printing an error.
 */
int cli_known_find(struct cli_known *known, struct cli_store *store,
		   const struct cli_options *options);

/*
 * Load a calibration and evaluate all applications on it: that of the cluster
 * on which the newest run of the first n_first applications took place, and of
 * the rail or transport that this run used, if that was calibrated. If two
 * scopes were calibrated, leaf is used unless these applications have
 * sensitivity curves only at the other one. any_cluster: if that cluster has no
 * calibration, use the newest one of another cluster. Returns 0, -ENOENT or
 * another -errno, with known->why.
 */
int cli_known_load_calibration(struct cli_known *known, struct cli_store *store,
			       size_t n_first, bool any_cluster);

/* Free everything; *known is then empty and can be used again. */
void cli_known_free(struct cli_known *known);

/*
 * Create a predictor for a model (NULL: the default one) on the loaded
 * calibration. All commands use this function, so that a pair has one
 * prediction and one interval everywhere. If intervals is false, only slowdowns
 * are computed, which is much faster. Returns as np_predictor_new().
 */
int cli_known_predictor(const struct cli_known *known,
			const struct np_model *model, bool intervals,
			struct np_predictor **out, struct np_err *err);

#endif

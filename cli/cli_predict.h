/*
 * Predictions for known applications, and the sentences about them that several
 * commands print.
 */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli_known.h"

#define CLI_PREDICT_MAX_CO 16

/*
 * The slowdown of victim while it shares scope with all of corunner[], which
 * are all indices into cli_known.app.
 */
struct cli_prediction {
	size_t victim, n_corunners, corunner[CLI_PREDICT_MAX_CO];
	enum np_scope scope;
	int rc;			     /* 0 or -errno of np_predict() */
	struct np_err why;	     /* if rc is not 0 */
	struct np_prediction result; /* valid if rc is 0 */
};

/*
 * Load the calibration, and traces if the model of options needs them. Returns
 * -1 to continue, or the exit status after printing an error.
 */
int cli_predict_prepare(struct cli_known *known, struct cli_store *store,
			const struct cli_options *options);

/* Predict the slowdown of prediction->victim: sets rc, and why or result. */
void cli_predict(struct np_predictor *predictor, const struct cli_known *known,
		 struct cli_prediction *prediction);

/*
 * A sentence that says why no decision should be based on this prediction, or
 * NULL if it is reliable.
 */
const char *cli_doubt_text(const struct np_prediction *prediction);

/*
 * The measurement that would narrow the interval most: a command to type, and
 * a noun phrase for what it measures. Both are "" if nothing would help.
 */
void cli_best_measurement(const struct cli_known *known,
			  const struct cli_prediction *prediction,
			  char *command, char *what, size_t len);

/* Whether sharing this scope has no effect, by the sharing coefficient. */
bool cli_has_no_effect(const struct cli_known *known, enum np_scope scope);

/* A sentence that says that it has no effect; only if cli_has_no_effect(). */
const char *cli_no_effect_text(const struct cli_known *known,
			       enum np_scope scope);

/* "on other nodes of the same leaf switch" */
const char *cli_scope_text(enum np_scope scope);

/* Names of the flags NP_PRED_..., for programs: "beyond,partial". */
const char *cli_flag_names(unsigned set);

/* Commands that measure what is missing; %s is the name of the application. */
#define CLI_CALIBRATE "salloc -N8 --exclusive netprof calibrate"
#define CLI_CALIBRATE_APP "sbatch --netprofile=%s --netprofile-calibrate job.sh"

#endif

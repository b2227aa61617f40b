/*
 * The applications that are known, on one calibrated fabric: what predict,
 * matrix and show ask the models about.
 */
#ifndef CLI_KNOWN_H
#define CLI_KNOWN_H

#include "cli_profile.h"
#include "np_loggps.h"
#include "np_predict.h"
#include "np_evidence.h"

#define CLI_KNOWN_RUNS 5000 /* read of all applications together */

struct cli_traced;

struct cli_known_app {
	struct cli_runs r;
	bool owned; /* r.runs are freed with it */
	struct np_evidence evidence;
	struct np_err unusable; /* why no model can take it, or "" */
	struct cli_traced *traced; /* cli_traced.h; NULL: not looked for */
};

struct cli_known {
	struct cli_known_app **app; /* as they were added */
	size_t n;
	size_t n_runs;	/* read by cli_known_add_all() */
	bool cut;	/* some applications were not looked at */
	bool calibrated;
	struct np_calibration cal;
	struct np_err why; /* not calibrated: the reason */
};

/*
 * Add an application; owned: r->runs are the list's from now on, also when it
 * fails.  Returns 0 or -ENOMEM.
 */
int cli_known_add(struct cli_known *k, const struct cli_runs *r, bool owned);

/*
 * Add those that the words of the command line name.  Returns -1 to go on, or
 * the exit status after saying why.
 */
int cli_known_find(struct cli_known *k, struct cli_store *s,
		   const struct cli_options *o);

/*
 * Add the user's applications and the published ones that the user has none
 * of the same name of, but neither idle nor one that is there already.  What
 * cannot be read is passed over without a word.  Returns 0 or -ENOMEM.
 */
int cli_known_add_all(struct cli_known *k, struct cli_store *s,
		      const struct cli_options *o);

/*
 * Load the calibration of the cluster where the newest run of the first
 * n_first applications was, and see all applications on it.  Of two scopes
 * that were calibrated, leaf is taken unless only the other has curves of
 * these.  any: that of another cluster will do, the newest.
 * Returns 0, -ENOENT (k->why) or another -errno (k->why).
 */
int cli_known_judge(struct cli_known *k, struct cli_store *s, size_t n_first,
		    bool any);
void cli_known_free(struct cli_known *k);

/*
 * The model, or the default one for NULL, on that calibration.  All commands
 * ask by this, so that a pair has one answer and one interval.  intervals:
 * false where only slowdowns are wanted.  Returns as np_predictor_new().
 */
int cli_known_predictor(const struct cli_known *k, const struct np_model *m,
			bool intervals, struct np_predictor **out,
			struct np_err *err);

/* Has a model anything to go by, of it as a victim or as a co-runner? */
bool cli_known_has_data(const struct cli_known_app *a);

#endif

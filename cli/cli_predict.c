/*
 * Predictions for known applications: preparing the calibration, asking a
 * model, and the sentences about a prediction that several commands print.
 */
#include "cli_predict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli_analysis.h"
#include "cli_text.h"

/*
 * A missing calibration is the usual failure of a new installation, so its
 * message names the command that helps.
 */
int cli_predict_prepare(struct cli_known *known, struct cli_store *store,
			const struct cli_options *options)
{
	int rc = cli_known_load_calibration(known, store, known->n,
					    !options->n_apps);

	if (rc == -ENOENT)
		return cli_fail("%s; an administrator can make one: %s",
				known->why.text, CLI_CALIBRATE);
	if (rc)
		return cli_fail("%s", known->why.text);
	cli_known_attach_traces(known, store, options->model);
	return -1;
}

/* Fail, and say why, if no run of the application can be used. */
static int check_runs(const struct cli_known *known, size_t app,
		      struct np_err *err)
{
	const struct cli_known_app *known_app = known->app[app];

	if (known_app->summary.n_used)
		return 0;
	return np_errf(err, -ENODATA,
		       "%s: no comparable run on cluster %s (excluded: %s)",
		       known_app->runs.app, known->cal.cluster,
		       cli_excluded_text(&known_app->summary));
}

/*
 * All programs are checked first: a model would accept one without usable runs
 * and answer with less information.
 */
void cli_predict(struct np_predictor *predictor, const struct cli_known *known,
		 struct cli_prediction *p)
{
	const struct np_program *corunners[CLI_PREDICT_MAX_CO];

	p->why.text[0] = '\0';
	p->rc = check_runs(known, p->victim, &p->why);
	for (size_t i = 0; !p->rc && i < p->n_corunners; i++)
		p->rc = check_runs(known, p->corunner[i], &p->why);
	if (p->rc)
		return;
	for (size_t i = 0; i < p->n_corunners; i++)
		corunners[i] = &known->app[p->corunner[i]]->summary.program;
	p->rc = np_predict(predictor, &known->app[p->victim]->summary.program,
			   corunners, p->n_corunners, p->scope, &p->result,
			   &p->why);
}

/* The most serious reason comes first. */
const char *cli_doubt_text(const struct np_prediction *p)
{
	if (p->flags & NP_PRED_CALIBRATION)
		return "The load levels of this calibration do not predict "
		       "each other, so none of its predictions can be trusted "
		       "(see netprof check).";
	if (p->flags & NP_PRED_PAST_LEVELS)
		return "The co-runner slows a load level more than any "
		       "calibrated level does, so the prediction is outside "
		       "the measured range.";
	if (p->flags & NP_PRED_LATENCIES)
		return "It is based on the co-runner's latencies alone, and "
		       "such predictions are usually too high.";
	if (p->flags & NP_PRED_ONE_LEVEL)
		return "It depends on a single load level, and would differ "
		       "considerably without it.";
	if (p->flags & NP_PRED_WIDE)
		return "Its interval is too wide to base a decision on.";
	return NULL;
}

const char *cli_flag_names(unsigned set)
{
	static const struct {
		unsigned flag;
		const char *name;
	} flags[] = {
		{ NP_PRED_CLAMPED, "clamped" },
		{ NP_PRED_BEYOND, "beyond" },
		{ NP_PRED_FELL_BACK, "fell-back" },
		{ NP_PRED_NO_OVERLAP, "no-overlap" },
		{ NP_PRED_NO_SHARING, "no-sharing" },
		{ NP_PRED_PARTIAL, "partial" },
		{ NP_PRED_ONE_PROBE, "one-probe" },
		{ NP_PRED_NO_INTERVAL, "no-interval" },
		{ NP_PRED_NOISE_ONLY, "noise-only" },
		{ NP_PRED_NO_IMPACT, "no-impact" },
		{ NP_PRED_ONE_LEVEL, "one-level" },
		{ NP_PRED_PAST_LEVELS, "past-levels" },
		{ NP_PRED_WIDE, "wide" },
		{ NP_PRED_OTHER_RAIL, "other-rail" },
		{ NP_PRED_LATENCIES, "latencies" },
		{ NP_PRED_CALIBRATION, "calibration" },
	};
	char *buf = cli_text_buffer();

	for (size_t i = 0; i < NP_ARRAY_SIZE(flags); i++)
		if (set & flags[i].flag)
			cli_appendf(buf, CLI_TEXT_BYTES, "%s%s",
				    *buf ? "," : "", flags[i].name);
	return buf;
}

/*
 * The command for one more run under a load level. An application with few such
 * runs gets --netprofile-calibrate, which selects the level itself.
 */
static void run_under_level(const struct cli_known *known, size_t app,
			    size_t level, char *command, char *what, size_t len)
{
	const struct cli_known_app *known_app = known->app[app];
	const char *name = known_app->runs.app;
	const char *load = known->cal.fabric->level[level].name;

	if (known_app->summary.n_curve < 2 || known_app->summary.n_impact < 2) {
		snprintf(command, len, CLI_CALIBRATE_APP, name);
		snprintf(what, len, "runs of %s under load", name);
		return;
	}
	snprintf(command, len,
		 "sbatch --netprofile=%s --netprofile-compress=%s job.sh", name,
		 load);
	snprintf(what, len, "%s of %s under load level %s",
		 np_mean_known(&known_app->summary.mean[level]) ?
			 "another run" :
			 "a run",
		 name, load);
}

/*
 * result->more says which input contributed most to the width of the interval;
 * a command that measures it again is what narrows the interval. Where sharing
 * has no effect there is nothing to improve.
 */
void cli_best_measurement(const struct cli_known *known,
			  const struct cli_prediction *p, char *command,
			  char *what, size_t len)
{
	const struct np_prediction *result = &p->result;
	enum np_more more = result->more;
	const char *corunner;

	*command = *what = '\0';
	if (p->rc || cli_has_no_effect(known, p->scope))
		return;
	/* No single input would narrow it, but it is too uncertain to use. */
	if (more == NP_MORE_NOTHING && cli_doubt_text(result))
		more = NP_MORE_CALIBRATION;
	if (more == NP_MORE_CURVE) {
		run_under_level(known, p->victim, result->more_level, command,
				what, len);
	} else if (more == NP_MORE_IMPACT) {
		run_under_level(known, p->corunner[result->more_co],
				result->more_level, command, what, len);
	} else if (more == NP_MORE_LATENCY) {
		corunner = known->app[p->corunner[result->more_co]]->runs.app;
		snprintf(command, len, "sbatch --netprofile=%s job.sh",
			 corunner);
		snprintf(what, len, "more runs of %s without load", corunner);
	} else if (more == NP_MORE_LEVELS) {
		snprintf(command, len, "%s --levels=all", CLI_CALIBRATE);
		snprintf(what, len,
			 "more load levels around %s; for an administrator",
			 known->cal.fabric->level[result->more_level].name);
	} else if (more != NP_MORE_NOTHING) {
		snprintf(command, len, "%s", CLI_CALIBRATE);
		snprintf(what, len, "%s; for an administrator",
			 more == NP_MORE_SHARING ?
				 "the sharing coefficient again" :
				 "a new calibration");
	}
}

bool cli_has_no_effect(const struct cli_known *known, enum np_scope scope)
{
	return known->calibrated &&
	       np_sharing_coef_none(&known->cal.fabric->sharing[scope]);
}

/* Prints the upper end of the interval, because that bounds the effect. */
const char *cli_no_effect_text(const struct cli_known *known,
			       enum np_scope scope)
{
	static const char *const what[NP_N_SCOPES] = {
		[NP_SCOPE_NODE] = "these nodes",
		[NP_SCOPE_LEAF] = "this leaf switch",
		[NP_SCOPE_UPLINK] = "this uplink",
	};
	const struct np_mean *mean = &known->cal.fabric->sharing[scope];
	double low, high = mean->mean; /* without an interval */

	np_sharing_coef_interval(mean, &low, &high);
	return cli_text(
		"Sharing %s makes no difference here: a co-runner has at most "
		"%.0f %% of the effect that it has %s.",
		what[scope], 100 * high, cli_scope_text(known->cal.scope));
}

const char *cli_scope_text(enum np_scope scope)
{
	static const char *const words[NP_N_SCOPES] = {
		[NP_SCOPE_NODE] = "on the same nodes",
		[NP_SCOPE_LEAF] = "on other nodes of the same leaf switch",
		[NP_SCOPE_UPLINK] = "across the uplink of the leaf switch",
	};

	return words[scope];
}

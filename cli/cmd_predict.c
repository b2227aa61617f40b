/*
 * netprof predict: how much an application slows while it shares a leaf switch
 * with others.
 *
 * The first answer is for the victim with all co-runners at once, the others
 * are for each co-runner with the victim. The output also says which data and
 * which calibration the first answer was computed from, and which measurement
 * would narrow its interval most.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_measured.h"
#include "cli_predict.h"
#include "cli_print.h"
#include "cli_text.h"

#define LINE 1024
#define HARDLY 0.02 /* a smaller slowdown is noise to most users, fraction */

struct prediction {
	const struct cli_known *k;
	const struct np_model *model; /* as requested */
	enum np_scope scope;
	/* [0]: the victim with all co-runners; then each with the victim */
	struct cli_prediction prediction[1 + CLI_PREDICT_MAX_CO];
	size_t n;
};

/* ---- sentences ---- */

/* "halo", "halo and fft", "halo, fft and qmc" */
static const char *corunner_list(const struct cli_known *known,
				 const struct cli_prediction *prediction,
				 char *buf, size_t len)
{
	buf[0] = '\0';
	for (size_t i = 0; i < prediction->n_corunners; i++)
		cli_appendf(buf, len, "%s%s",
			    i == 0			     ? "" :
			    i + 1 == prediction->n_corunners ? " and " :
							       ", ",
			    known->app[prediction->corunner[i]]->runs.app);
	return buf;
}

static const char *slowdown_words(const struct np_prediction *prediction)
{
	static const struct {
		double below;
		const char *words;
	} rows[] = {
		{ HARDLY, "hardly slows" }, { 0.10, "slows a little" },
		{ 0.30, "slows markedly" }, { INFINITY, "slows heavily" },
	};
	size_t i = 0;

	while (prediction->slowdown >= rows[i].below)
		i++;
	return rows[i].words;
}

/*
 * Sentences that qualify a prediction. Flags without one are expressed
 * elsewhere in the output.
 */
static const struct {
	unsigned flag;
	const char *words;
} notes[] = {
	{ NP_PRED_CLAMPED,
	  "The prediction was limited to the possible range." },
	{ NP_PRED_BEYOND,
	  "The co-runner's load is above or below that of every level; the end "
	  "of the sensitivity curve was used." },
	{ NP_PRED_NO_OVERLAP,
	  "The co-runner's latencies are unlike those of any level; the level "
	  "with the nearest mean was used." },
	{ NP_PRED_PARTIAL,
	  "Some load levels were not measured and are excluded." },
	{ NP_PRED_ONE_PROBE, "Some latencies come from a single probe." },
	{ NP_PRED_NOISE_ONLY,
	  "The interval does not include the error of the model itself." },
	{ NP_PRED_OTHER_RAIL,
	  "Co-runners that load none of its rails were ignored." },
	{ NP_PRED_NO_IMPACT,
	  "The bandwidth that the co-runner takes is unknown and was "
	  "ignored." },
};

/* The command that measures what a prediction lacks; "" if there is none. */
static void missing_measurement(const struct cli_known *known,
				const struct cli_prediction *prediction,
				char *command, size_t len)
{
	const struct cli_known_app *v = known->app[prediction->victim];

	*command = '\0';
	if (v->unusable.text[0])
		return;
	if (v->summary.n_curve < 2) {
		snprintf(command, len, CLI_CALIBRATE_APP, v->runs.app);
		return;
	}
	for (size_t i = 0; i < prediction->n_corunners; i++) {
		const struct cli_known_app *c =
			known->app[prediction->corunner[i]];

		if (!c->summary.n_impact && !c->unusable.text[0]) {
			snprintf(command, len, CLI_CALIBRATE_APP, c->runs.app);
			return;
		}
	}
	snprintf(command, len, "%s", CLI_CALIBRATE);
}

/* "0.91 on other nodes of the same leaf switch (95 % interval ...)" */
static const char *sharing_words(const struct cli_known *known,
				 enum np_scope scope, char *buf, size_t len)
{
	const struct np_mean *mean = &known->cal.fabric->sharing[scope];
	double low, high;

	if (!np_mean_known(mean))
		snprintf(buf, len, "not measured %s, assumed to be 1 (full "
			 "effect)", cli_scope_text(scope));
	else if (scope == known->cal.scope)
		snprintf(buf, len, "%.2f %s, where the levels were measured",
			 mean->mean, cli_scope_text(scope));
	else if (np_sharing_coef_interval(mean, &low, &high))
		snprintf(buf, len,
			 "%.2f %s (95 %% interval %.2f to %.2f; 0: "
			 "no effect, 1: full effect)",
			 mean->mean, cli_scope_text(scope), low, high);
	else
		snprintf(buf, len, "%.2f %s (measured once)", mean->mean,
			 cli_scope_text(scope));
	return buf;
}

/* ---- text output ---- */

/*
 * One sentence per prediction. A prediction in doubt is shown, but named as
 * such, because nothing else is known.
 */
static void print_prediction(const struct prediction *prediction,
			     const struct cli_prediction *a)
{
	char co[LINE / 2], range[3 * CLI_NUMBER_LEN] = "no interval";
	char point[CLI_NUMBER_LEN], low[CLI_NUMBER_LEN], high[CLI_NUMBER_LEN];
	const char *victim = prediction->k->app[a->victim]->runs.app;

	corunner_list(prediction->k, a, co, sizeof(co));
	if (!isnan(a->result.low))
		snprintf(range, sizeof(range), "90 %% interval %s to %s",
			 cli_change(a->result.low, low),
			 cli_change(a->result.high, high));
	if (a->rc)
		cli_printf(CLI_PLAIN, 0, "%s with %s: no prediction. %s",
			   victim, co, a->why.text);
	else if (a->result.flags & NP_PRED_OTHER_RAIL && !a->result.used)
		cli_printf(CLI_GREEN, 0,
			   "%s with %s: no effect, because the "
			   "co-runner does not load rail %s, which %s loads.",
			   victim, co,
			   prediction->k->app[a->victim]->summary.rails,
			   victim);
	else if (cli_doubt_text(&a->result))
		cli_printf(
			CLI_YELLOW, 0,
			"%s with %s: no reliable prediction; the estimate is "
			"%s (%s). %s",
			victim, co, cli_change(a->result.slowdown, point),
			range, cli_doubt_text(&a->result));
	else
		cli_printf(CLI_PLAIN, 0, "%s %s with %s: %s (%s).", victim,
			   slowdown_words(&a->result), co,
			   cli_change(a->result.slowdown, point), range);
}

/* "on 4 nodes, co-runner on 2, +1 % on two leaf switches" */
static const char *measured_words(const struct cli_measured *measured,
				  char *buf, size_t len)
{
	char control[CLI_NUMBER_LEN];

	snprintf(buf, len, "on %u node%s, co-runner on %u",
		 measured->victim_nodes, cli_plural_s(measured->victim_nodes),
		 measured->corunner_nodes);
	if (isnan(measured->control))
		cli_appendf(buf, len, ", no control on two leaf switches");
	else
		cli_appendf(buf, len, ", %s on two leaf switches",
			    cli_change(measured->control, control));
	return buf;
}

/*
 * What netprof validate measured for a pair; it is never mixed with the
 * prediction.
 */
static void print_measured(const struct prediction *prediction,
			   const struct cli_prediction *a)
{
	char words[LINE / 4], change[CLI_NUMBER_LEN], day[CLI_NUMBER_LEN];
	struct cli_measured measured;

	if (a->n_corunners != 1 ||
	    !cli_measured_find(prediction->k, a->victim, a->corunner[0],
			       prediction->scope, &measured))
		return;
	measured_words(&measured, words, sizeof(words));
	if (measured.slowdown.n)
		cli_printf(CLI_PLAIN, 2,
			   "Measured by netprof validate: %s (%u "
			   "run%s, %s, %s).",
			   cli_change(measured.slowdown.mean, change),
			   measured.slowdown.n,
			   cli_plural_s(measured.slowdown.n), words,
			   cli_day(measured.date, day));
	else
		cli_printf(CLI_PLAIN, 2,
			   "Measured by netprof validate and "
			   "rejected: the control, which shares no switch, is "
			   "slowed, too (%s, %s).",
			   words, cli_day(measured.date, day));
}

/*
 * Where sharing the scope has no effect, that is the answer; the predictions
 * below only confirm it.
 */
static void print_no_effect(const struct prediction *prediction)
{
	char line[LINE];

	if (cli_has_no_effect(prediction->k, prediction->scope))
		cli_printf(CLI_GREEN, 0, "%s",
			   cli_no_effect_text(prediction->k, prediction->scope,
					      line, sizeof(line)));
}

/* The model, and why it is not the one that was asked for. */
static void print_model(const struct prediction *prediction)
{
	const struct cli_prediction *a = &prediction->prediction[0];

	if (a->result.flags & NP_PRED_FELL_BACK)
		cli_print_labelled(stdout, "Model",
				   "%s, because %s lacks data (see "
				   "To improve): %s",
				   a->result.model->name,
				   prediction->model->name,
				   a->result.model->help);
	else
		cli_print_labelled(stdout, "Model", "%s: %s",
				   a->result.model->name,
				   a->result.model->help);
}

static const char *runs(size_t n)
{
	return n == 1 ? "run" : "runs";
}

/*
 * The levels whose slowdown was taken from measurement intervals inside a run,
 * because these are more precise than whole runs; "" if there are none.
 */
static const char *interval_words(const struct np_run_summary *summary,
				  char buf[80])
{
	size_t n = 0;

	for (size_t i = 0; i < summary->n_levels; i++)
		n += summary->level && summary->level[i].of_intervals;
	buf[0] = '\0';
	if (n)
		snprintf(buf, 80,
			 "; %zu level%s from intervals within %.0f s of %zu %s",
			 n, cli_plural_s(n), summary->intervals.sec,
			 summary->intervals.n_runs,
			 runs(summary->intervals.n_runs));
	return buf;
}

/* The data of one application that the first answer was computed from. */
static void print_data_used(const struct prediction *prediction, size_t app,
			    bool first)
{
	const struct cli_prediction *a = &prediction->prediction[0];
	const struct np_run_summary *summary =
		&prediction->k->app[app]->summary;
	const char *label = first ? "Data" : "", *name = summary->program.name;
	size_t n = prediction->k->cal.fabric->n_levels;
	size_t loaded = summary->count[NP_RUN_UNDER_LEVEL];
	char intervals[80];

	if (app == a->victim && a->result.used & NP_NEED_TRACE)
		cli_print_labelled(stdout, label, "%s: its newest trace", name);
	else if (app == a->victim)
		cli_print_labelled(stdout, label,
				   "%s: %zu %s under %zu of %zu load "
				   "levels, %u %s without load%s",
				   name, loaded, runs(loaded), summary->n_curve,
				   n, summary->alone_sec.n,
				   runs(summary->alone_sec.n),
				   interval_words(summary, intervals));
	else if (a->result.used & NP_NEED_LATENCY)
		cli_print_labelled(
			stdout, label,
			"%s: %llu probe%s in %zu %s without load",
			name,
			(unsigned long long)summary->program.latency.all.n,
			cli_plural_s(summary->program.latency.all.n),
			summary->latency.n_runs, runs(summary->latency.n_runs));
	else
		cli_print_labelled(stdout, label,
				   "%s: its impact on %zu of %zu load "
				   "levels (%zu %s)",
				   name, summary->n_impact, n, loaded,
				   runs(loaded));
}

/* The runs that were not used, for each application with any. */
static void print_excluded(const struct prediction *prediction)
{
	const char *label = "Excluded";

	for (size_t i = 0; i < prediction->k->n; i++) {
		const struct np_run_summary *summary =
			&prediction->k->app[i]->summary;
		char line[LINE];

		if (!cli_excluded_text(summary, line, sizeof(line)))
			continue;
		cli_print_labelled(stdout, label, "%s: %s",
				   summary->program.name, line);
		label = "";
	}
}

/*
 * The calibration that the answer is based on. A newer one that cannot be used
 * is a mistake of the administrator and is named.
 */
static void print_fabric(const struct prediction *prediction)
{
	const struct np_calibration *calibration = &prediction->k->cal;
	char line[LINE], day[CLI_NUMBER_LEN];

	cli_print_labelled(
		stdout, "Fabric", "%s%s%s, calibrated %s with %zu levels %s",
		*calibration->cluster ? calibration->cluster :
					"cluster unknown",
		*calibration->transport ? ", " : "", calibration->transport,
		cli_day(calibration->date, day), calibration->fabric->n_levels,
		cli_scope_text(calibration->scope));
	if (calibration->n_skipped)
		cli_print_labelled(stdout, "",
				   "%zu newer calibration%s cannot be used: %s",
				   calibration->n_skipped,
				   cli_plural_s(calibration->n_skipped),
				   calibration->skipped.text);
	cli_print_labelled(stdout, "Sharing", "%s",
			   sharing_words(prediction->k, prediction->scope, line,
					 sizeof(line)));
}

/* Do the probes of a co-runner have another period than the calibration's? */
static bool other_period(const struct prediction *prediction,
			 const struct cli_prediction *a)
{
	for (size_t i = 0; i < a->n_corunners; i++)
		if (prediction->k->app[a->corunner[i]]
			    ->summary.latency.other_period)
			return a->result.used & NP_NEED_LATENCY;
	return false;
}

static void print_notes(const struct prediction *prediction)
{
	const struct cli_prediction *a = &prediction->prediction[0];
	const char *label = "Note";

	for (size_t i = 0; i < NP_ARRAY_SIZE(notes); i++)
		if (a->result.flags & notes[i].flag) {
			cli_print_labelled(stdout, label, "%s", notes[i].words);
			label = "";
		}
	if (other_period(prediction, a))
		cli_print_labelled(stdout, label,
				   "The co-runner was probed with "
				   "another period than the calibration.");
}

/*
 * The model and the data are those of the first answer; the others are
 * byproducts.
 */
static int predict_text(const struct prediction *prediction)
{
	const struct cli_prediction *a = &prediction->prediction[0];
	char command[LINE / 4], what[LINE / 4];

	print_no_effect(prediction);
	for (size_t i = 0; i < prediction->n; i++) {
		print_prediction(prediction, &prediction->prediction[i]);
		print_measured(prediction, &prediction->prediction[i]);
	}
	putchar('\n');
	print_model(prediction);
	for (size_t i = 0; a->result.used && i < prediction->k->n; i++)
		print_data_used(prediction, i, i == 0);
	print_excluded(prediction);
	print_fabric(prediction);
	print_notes(prediction);
	cli_best_measurement(prediction->k, a, command, what, sizeof(what));
	if (*command) {
		cli_print_labelled(stdout, "To improve", "%s", command);
		cli_print_labelled(stdout, "", "(%s)", what);
	}
	return CLI_DONE;
}

/* ---- output for programs ---- */

/*
 * The data of one application for programs: how many runs of each kind were
 * used, and how many were excluded for which reason.
 */
static void put_used(json_object *list, const struct cli_known_app *app)
{
	const struct np_run_summary *summary = &app->summary;
	json_object *j = cli_append_object(list), *left;

	cli_put_text(j, "app", summary->program.name);
	cli_put_bool(j, "published", app->runs.owner == NP_STORE_PUBLISHED);
	cli_put_text(j, "fingerprint", summary->fingerprint);
	cli_put_count(j, "runs_alone", summary->alone_sec.n);
	cli_put_count(j, "runs_under_levels",
		      summary->count[NP_RUN_UNDER_LEVEL]);
	cli_put_count(j, "curve_levels", summary->n_curve);
	cli_put_count(j, "impact_levels", summary->n_impact);
	cli_put_count(j, "probes", summary->program.latency.all.n);
	left = cli_put_object(j, "excluded");
	for (int use = NP_RUN_FABRIC; use < NP_RUN_USES; use++)
		if (summary->count[use])
			cli_put_count(left,
				      np_run_use_name((enum np_run_use)use),
				      summary->count[use]);
}

/*
 * One prediction for programs. Without a prediction, slowdown is null and "why"
 * says why.
 */
static void put_prediction(json_object *list,
			   const struct prediction *prediction,
			   const struct cli_prediction *a)
{
	json_object *j = cli_append_object(list), *co;
	char command[256], what[256];

	cli_put_text(j, "victim", prediction->k->app[a->victim]->runs.app);
	co = cli_put_array(j, "corunners");
	for (size_t i = 0; i < a->n_corunners; i++)
		cli_append_text(co,
				prediction->k->app[a->corunner[i]]->runs.app);
	if (a->n_corunners == 1)
		cli_put_measured(j, prediction->k, a->victim, a->corunner[0],
				 prediction->scope);
	if (a->rc) {
		cli_put(j, "slowdown", NULL);
		cli_put_text(j, "why", a->why.text);
		return;
	}
	cli_put_interval(j, &a->result);
	cli_put_real(j, "sharing_coefficient", a->result.sharing);
	cli_put_count(j, "curve_levels", a->result.n_curve);
	cli_put_count(j, "impact_levels", a->result.n_impact);
	cli_put_count(j, "probes", a->result.n_probes);
	cli_best_measurement(prediction->k, a, command, what, sizeof(what));
	cli_put_text(j, "narrower", *command ? command : NULL);
}

static const struct cli_table table = {
	"Victim|CoRunners|Scope|Slowdown|Low|High|Model|Flags|Levels|ImpactLevels|"
	"Probes|SharingCoefficient|NoEffect|Narrower|Why|Measured",
	{ { "predictions", "victim|corunners|../scope|slowdown|low|high|model|"
			   "flags|curve_levels|impact_levels|probes|sharing_coefficient|"
			   "../sharing_coefficient/no_effect|narrower|why|"
			   "measured/slowdown" } },
};

static int predict_data(const struct prediction *prediction,
			enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "scope", np_scope_name(prediction->scope));
	cli_put_text(j, "model", prediction->model->name);
	list = cli_put_array(j, "predictions");
	for (size_t i = 0; i < prediction->n; i++)
		put_prediction(list, prediction, &prediction->prediction[i]);
	cli_put_calibration(j, prediction->k, prediction->scope);
	list = cli_put_array(j, "applications");
	for (size_t i = 0; i < prediction->k->n; i++)
		put_used(list, prediction->k->app[i]);
	return cli_print_output(format, "predict", j, &table);
}

/* ---- command ---- */

/*
 * Load the applications and their calibration. Returns -1 to go on, or the
 * exit status after printing why not.
 */
static int load_apps(struct cli_known *known, struct cli_store *store,
		     const struct cli_options *options)
{
	int rc = cli_known_find(known, store, options);

	if (rc < 0)
		rc = cli_predict_prepare(known, store, options);
	if (rc >= 0)
		return rc;
	for (size_t i = 0; i < known->n; i++)
		if (known->app[i]->unusable.text[0])
			return cli_fail("%s", known->app[i]->unusable.text);
	return cli_measured_load(known, store) ? cli_fail("out of memory") : -1;
}

/*
 * The first question is the one that was asked: the victim with all co-
 * runners. Each co-runner with the victim alone follows.
 */
static void predict_all(struct prediction *prediction,
			struct np_predictor *models)
{
	size_t n_co = prediction->k->n - 1;

	prediction->n = 1 + n_co;
	for (size_t i = 0; i < prediction->n; i++) {
		struct cli_prediction *a = &prediction->prediction[i];

		*a = (struct cli_prediction){ .victim = i,
					      .scope = prediction->scope,
					      .n_corunners = i ? 1 : n_co };
		for (size_t c = 0; !i && c < n_co; c++)
			a->corunner[c] = c + 1;
		cli_predict(models, prediction->k, a);
	}
}

/* There is no prediction for the victim: fail, and say what would help. */
static int fail_without_prediction(const struct prediction *prediction)
{
	char command[256];

	if (prediction->model->needs & NP_NEED_TRACE)
		return cli_fail("%s", prediction->prediction[0].why.text);
	missing_measurement(prediction->k, &prediction->prediction[0], command,
			    sizeof(command));
	return cli_fail("%s%s%s", prediction->prediction[0].why.text,
			*command ? "; to measure it: " : "", command);
}

/*
 * Ask the model and print. Only the first answer decides whether the command
 * succeeds.
 */
static int predict(const struct cli_known *known,
		   const struct cli_options *options)
{
	struct prediction prediction = { .k = known,
					 .model = options->model,
					 .scope = options->scope };
	struct np_err err = NP_ERR_INIT;
	struct np_predictor *models;

	if (cli_known_predictor(known, options->model, true, &models, &err))
		return cli_fail("%s", err.text);
	predict_all(&prediction, models);
	np_predictor_free(models);
	if (prediction.prediction[0].rc)
		return fail_without_prediction(&prediction);
	return options->format ? predict_data(&prediction, options->format) :
				 predict_text(&prediction);
}

static int run_predict(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_known known = { .n = 0 };
	struct cli_options options;
	struct cli_store store;
	int rc = cli_options_parse(self, argc, argv, NULL, &options);

	if (rc >= 0)
		return rc;
	if (options.n_apps > 1 + CLI_PREDICT_MAX_CO)
		return cli_usage(self,
				 "%zu co-runners, at most %d are possible",
				 options.n_apps - 1, CLI_PREDICT_MAX_CO);
	rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	rc = load_apps(&known, &store, &options);
	cli_store_close(&store);
	if (rc < 0)
		rc = predict(&known, &options);
	cli_known_free(&known);
	return rc;
}

const struct cli_cmd cmd_predict = {
	.name = "predict",
	.args = "[OPTION]... VICTIM CORUNNER...",
	.help = "how much an application slows when it shares a leaf switch",
	.text =
"Predicts how much longer VICTIM takes while all the CORUNNERs run at the same\n"
"time, and how much longer each of them takes with VICTIM, with 90 % intervals.\n"
"Also prints the model, the data it used, and the measurement that would narrow\n"
"the interval most.  The applications need never have run together; if netprof\n"
"validate measured a pair, its measured slowdown is printed, too.\n\n"
"  --scope=SCOPE       where the co-runners are: on the same nodes (node), on\n"
"                      other nodes of the same leaf switch (leaf, the default),\n"
"                      or across its uplink (uplink)\n"
"  --model=M           use this model instead of " NP_MODEL_DEFAULT "; see netprof accuracy\n"
"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
"  --user=NAME, --published\n"
"                      whose profiles to use, as for netprof show",
	.examples =
"  netprof predict fft halo\n"
"  netprof predict --scope=node fft halo lammps\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER |
		 CLI_TAKES_MODEL | CLI_TAKES_SCOPE,
	.required_arg = "a program and at least one co-runner, for example: "
			"netprof predict fft halo",
	.min_args = 2, .max_args = CLI_ANY,
	.run = run_predict,
};

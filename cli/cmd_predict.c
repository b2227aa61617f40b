/*
 * netprof predict: how much an application is slowed by others on its leaf
 * switch.
 *
 * The first prediction is for the victim with all co-runners at once, the
 * others are for each co-runner with the victim. The output also says which
 * data and which calibration the first one was computed from, and which
 * measurement would narrow its interval most.
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

#define LINE 256 /* bytes of a command */

struct predictions {
	const struct cli_known *known;
	const struct np_model *model; /* as requested */
	enum np_scope scope;
	/*
	 * [0]: the first application, the victim, with all others; [i]:
	 * application i with the victim.
	 */
	struct cli_prediction prediction[1 + CLI_PREDICT_MAX_CO];
	size_t n;
};

/* ---- sentences ---- */

static const char *name_of(const struct cli_known *known, size_t app)
{
	return known->app[app]->runs.app;
}

/* Names of the co-runners: "halo", "halo and fft", "halo, fft and qmc". */
static const char *corunner_list(const struct cli_known *known,
				 const struct cli_prediction *p)
{
	char *buf = cli_text_buffer();

	for (size_t i = 0; i < p->n_corunners; i++)
		cli_appendf(buf, CLI_TEXT_BYTES, "%s%s",
			    i == 0		    ? "" :
			    i + 1 == p->n_corunners ? " and " :
						      ", ",
			    name_of(known, p->corunner[i]));
	return buf;
}

/* In words. A slowdown below 2 % is noise to most users. */
static const char *slowdown_words(const struct np_prediction *p)
{
	static const struct {
		double below;
		const char *words;
	} rows[] = {
		{ 0.02, "is hardly slowed" },
		{ 0.10, "is slowed a little" },
		{ 0.30, "is slowed markedly" },
		{ INFINITY, "is slowed heavily" },
	};
	size_t i = 0;

	while (p->slowdown >= rows[i].below)
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
	  "The bandwidth that the co-runner takes is unknown and was ignored." },
};

/*
 * The command that measures what a prediction lacks: the victim's sensitivity
 * curve, the impact of a co-runner, or else the calibration. "" if the victim
 * cannot be used at all.
 */
static const char *missing_measurement(const struct cli_known *known,
				       const struct cli_prediction *p)
{
	const struct cli_known_app *victim = known->app[p->victim];

	if (victim->unusable.text[0])
		return "";
	if (victim->summary.n_curve < 2)
		return cli_text(CLI_CALIBRATE_APP, victim->runs.app);
	for (size_t i = 0; i < p->n_corunners; i++) {
		const struct cli_known_app *corunner =
			known->app[p->corunner[i]];

		if (!corunner->summary.n_impact && !corunner->unusable.text[0])
			return cli_text(CLI_CALIBRATE_APP, corunner->runs.app);
	}
	return CLI_CALIBRATE;
}

/*
 * The sharing coefficient of a scope: "0.91 on other nodes of the same leaf
 * switch (95 % interval ...)".
 */
static const char *sharing_words(const struct cli_known *known,
				 enum np_scope scope)
{
	const struct np_mean *mean = &known->cal.fabric->sharing[scope];
	const char *where = cli_scope_text(scope);
	double low, high;

	if (!np_mean_known(mean))
		return cli_text("not measured %s, assumed to be 1 (full "
				"effect)",
				where);
	if (scope == known->cal.scope)
		return cli_text("%.2f %s, where the levels were measured",
				mean->mean, where);
	if (np_sharing_coef_interval(mean, &low, &high))
		return cli_text("%.2f %s (95 %% interval %.2f to %.2f; 0: no "
				"effect, 1: full effect)",
				mean->mean, where, low, high);
	return cli_text("%.2f %s (measured once)", mean->mean, where);
}

/* ---- text output ---- */

/*
 * Print one sentence. A prediction that no decision should be based on is
 * printed, too, and named as such, because nothing else is known.
 */
static void print_prediction(const struct predictions *all,
			     const struct cli_prediction *p)
{
	const char *corunners = corunner_list(all->known, p);
	const char *victim = name_of(all->known, p->victim);
	const char *range = "no interval";

	if (!isnan(p->result.low))
		range = cli_text("90 %% interval %s to %s",
				 cli_change(p->result.low),
				 cli_change(p->result.high));
	if (p->rc)
		cli_printf(CLI_PLAIN, 0, "%s with %s: no prediction. %s",
			   victim, corunners, p->why.text);
	else if (p->result.flags & NP_PRED_OTHER_RAIL && !p->result.used)
		cli_printf(CLI_GREEN, 0,
			   "%s with %s: no effect, because the co-runner does "
			   "not load rail %s, which %s loads.",
			   victim, corunners,
			   all->known->app[p->victim]->summary.rails, victim);
	else if (cli_doubt_text(&p->result))
		cli_printf(CLI_YELLOW, 0,
			   "%s with %s: no reliable prediction; the estimate "
			   "is %s (%s). %s",
			   victim, corunners, cli_change(p->result.slowdown),
			   range, cli_doubt_text(&p->result));
	else
		cli_printf(CLI_PLAIN, 0, "%s %s by %s: %s (%s).", victim,
			   slowdown_words(&p->result), corunners,
			   cli_change(p->result.slowdown), range);
}

/*
 * Where a pair was measured, and the result of the control: "on 4 nodes,
 * co-runner on 2, +1 % on two leaf switches".
 */
static const char *measured_words(const struct cli_measured *measured)
{
	const char *where = cli_text("on %u node%s, co-runner on %u",
				     measured->victim_nodes,
				     cli_plural_s(measured->victim_nodes),
				     measured->corunner_nodes);

	return isnan(measured->control) ?
		       cli_text("%s, no control on two leaf switches", where) :
		       cli_text("%s, %s on two leaf switches", where,
				cli_change(measured->control));
}

/*
 * Print what netprof validate measured for a pair. It is never mixed with the
 * prediction.
 */
static void print_measured(const struct predictions *all,
			   const struct cli_prediction *p)
{
	struct cli_measured measured;
	const char *words;

	if (p->n_corunners != 1 ||
	    !cli_measured_find(all->known, p->victim, p->corunner[0],
			       all->scope, &measured))
		return;
	words = measured_words(&measured);
	if (measured.slowdown.n)
		cli_printf(
			CLI_PLAIN, 2,
			"Measured by netprof validate: %s (%u run%s, %s, %s).",
			cli_change(measured.slowdown.mean), measured.slowdown.n,
			cli_plural_s(measured.slowdown.n), words,
			cli_day(measured.date));
	else
		cli_printf(CLI_PLAIN, 2,
			   "Measured by netprof validate and rejected: the "
			   "control, which shares no switch, is slowed, too "
			   "(%s, %s).",
			   words, cli_day(measured.date));
}

/* Print the model, and why it is not the one that was requested. */
static void print_model(const struct predictions *all)
{
	const struct cli_prediction *p = &all->prediction[0];
	const char *why = "";

	if (p->result.flags & NP_PRED_FELL_BACK)
		why = cli_text(", because %s lacks data (see To improve)",
			       all->model->name);
	cli_label("Model", "%s%s: %s", p->result.model->name, why,
		  p->result.model->help);
}

/*
 * How many levels have their slowdown from measurement intervals within a run,
 * which are more precise than whole runs; "" if there are none.
 */
static const char *interval_words(const struct np_run_summary *summary)
{
	size_t n = 0;

	for (size_t i = 0; i < summary->n_levels; i++)
		n += summary->level && summary->level[i].of_intervals;
	return n ? cli_text("; %zu level%s from intervals within %.0f s of %zu "
			    "run%s",
			    n, cli_plural_s(n), summary->intervals.sec,
			    summary->intervals.n_runs,
			    cli_plural_s(summary->intervals.n_runs)) :
		   "";
}

/*
 * Print the data of one application from which the first prediction was
 * computed. first: with the label.
 */
static void print_data_used(const struct predictions *all, size_t app,
			    bool first)
{
	const struct cli_prediction *p = &all->prediction[0];
	const struct np_run_summary *summary = &all->known->app[app]->summary;
	const char *label = first ? "Data" : "", *name = summary->program.name;
	size_t n = all->known->cal.fabric->n_levels;
	size_t loaded = summary->count[NP_RUN_UNDER_LEVEL];

	if (app == p->victim && p->result.used & NP_DATA_TRACE)
		cli_label(label, "%s: its newest trace", name);
	else if (app == p->victim && !loaded && !summary->alone_sec.n)
		cli_label(label, "%s: %zu of %zu load levels%s", name,
			  summary->n_curve, n, interval_words(summary));
	else if (app == p->victim)
		cli_label(label,
			  "%s: %zu run%s under %zu of %zu load levels, "
			  "%u run%s without load%s",
			  name, loaded, cli_plural_s(loaded), summary->n_curve,
			  n, summary->alone_sec.n,
			  cli_plural_s(summary->alone_sec.n),
			  interval_words(summary));
	else if (p->result.used & NP_DATA_LATENCY)
		cli_label(label, "%s: %llu probe%s in %zu run%s without load",
			  name,
			  (unsigned long long)summary->program.latency.all.n,
			  cli_plural_s(summary->program.latency.all.n),
			  summary->latency.n_runs,
			  cli_plural_s(summary->latency.n_runs));
	else
		cli_label(
			label,
			"%s: its impact on %zu of %zu load levels (%zu run%s)",
			name, summary->n_impact, n, loaded,
			cli_plural_s(loaded));
}

/* Print which runs were not used, for each application with any. */
static void print_excluded(const struct predictions *all)
{
	const char *label = "Excluded";

	for (size_t i = 0; i < all->known->n; i++) {
		const struct np_run_summary *summary =
			&all->known->app[i]->summary;
		const char *excluded = cli_excluded_text(summary);

		if (!*excluded)
			continue;
		cli_label(label, "%s: %s", summary->program.name, excluded);
		label = "";
	}
}

/*
 * Print the calibration. Newer ones that cannot be used are reported, because
 * an administrator has to correct them.
 */
static void print_fabric(const struct predictions *all)
{
	const struct np_calibration *calibration = &all->known->cal;

	cli_label("Fabric", "%s%s%s, calibrated %s with %zu levels %s",
		  *calibration->cluster ? calibration->cluster :
					  "cluster unknown",
		  *calibration->transport ? ", " : "", calibration->transport,
		  cli_day(calibration->date), calibration->fabric->n_levels,
		  cli_scope_text(calibration->scope));
	if (calibration->n_skipped)
		cli_label("", "%zu newer calibration%s cannot be used: %s",
			  calibration->n_skipped,
			  cli_plural_s(calibration->n_skipped),
			  calibration->skipped.text);
	cli_label("Sharing", "%s", sharing_words(all->known, all->scope));
}

/*
 * Whether the latencies of a co-runner were used although its probes had
 * another period than those of the calibration.
 */
static bool other_period(const struct predictions *all,
			 const struct cli_prediction *p)
{
	for (size_t i = 0; i < p->n_corunners; i++)
		if (all->known->app[p->corunner[i]]
			    ->summary.latency.other_period)
			return p->result.used & NP_DATA_LATENCY;
	return false;
}

static void print_notes(const struct predictions *all)
{
	const struct cli_prediction *p = &all->prediction[0];
	const char *label = "Note";

	for (size_t i = 0; i < NP_ARRAY_SIZE(notes); i++)
		if (p->result.flags & notes[i].flag) {
			cli_label(label, "%s", notes[i].words);
			label = "";
		}
	if (other_period(all, p))
		cli_label(label, "The co-runner was probed with another "
				 "period than the calibration.");
}

/*
 * Print everything. Model and data are those of the first prediction, which the
 * user requested; the others come at no cost.
 */
static int predict_text(const struct predictions *all)
{
	const struct cli_prediction *p = &all->prediction[0];
	char command[LINE], what[LINE];

	/* Say so first; the predictions below only confirm it. */
	if (cli_has_no_effect(all->known, all->scope))
		cli_printf(CLI_GREEN, 0, "%s",
			   cli_no_effect_text(all->known, all->scope));
	for (size_t i = 0; i < all->n; i++) {
		print_prediction(all, &all->prediction[i]);
		print_measured(all, &all->prediction[i]);
	}
	putchar('\n');
	print_model(all);
	for (size_t i = 0; p->result.used && i < all->known->n; i++)
		print_data_used(all, i, i == 0);
	print_excluded(all);
	print_fabric(all);
	print_notes(all);
	cli_best_measurement(all->known, p, command, what, sizeof(what));
	if (*command) {
		cli_label("To improve", "%s", command);
		cli_label("", "(%s)", what);
	}
	return CLI_DONE;
}

/* ---- output for programs ---- */

/*
 * Append the data of one application: how many runs of each kind were used, and
 * how many were excluded for which reason.
 */
static void put_used(json_object *list, const struct cli_known_app *app)
{
	const struct np_run_summary *summary = &app->summary;
	json_object *j = cli_append_object(list), *excluded;

	cli_put_text(j, "app", summary->program.name);
	cli_put_bool(j, "published", app->runs.owner == NP_STORE_PUBLISHED);
	cli_put_text(j, "fingerprint", summary->fingerprint);
	cli_put_count(j, "runs_alone", summary->alone_sec.n);
	cli_put_count(j, "runs_under_levels",
		      summary->count[NP_RUN_UNDER_LEVEL]);
	cli_put_count(j, "curve_levels", summary->n_curve);
	cli_put_count(j, "impact_levels", summary->n_impact);
	cli_put_count(j, "probes", summary->program.latency.all.n);
	excluded = cli_put_object(j, "excluded");
	for (int use = NP_RUN_FABRIC; use < NP_RUN_USES; use++)
		if (summary->count[use])
			cli_put_count(excluded,
				      np_run_use_name((enum np_run_use)use),
				      summary->count[use]);
}

/*
 * Append one prediction. If there is none, "slowdown" is null and "why" is a
 * sentence.
 */
static void put_prediction(json_object *list, const struct predictions *all,
			   const struct cli_prediction *p)
{
	json_object *j = cli_append_object(list), *corunners;
	char command[256], what[256];

	cli_put_text(j, "victim", name_of(all->known, p->victim));
	corunners = cli_put_array(j, "corunners");
	for (size_t i = 0; i < p->n_corunners; i++)
		cli_append_text(corunners, name_of(all->known, p->corunner[i]));
	if (p->n_corunners == 1)
		cli_put_measured(j, all->known, p->victim, p->corunner[0],
				 all->scope);
	if (p->rc) {
		cli_put(j, "slowdown", NULL);
		cli_put_text(j, "why", p->why.text);
		return;
	}
	cli_put_interval(j, &p->result);
	cli_put_real(j, "sharing_coefficient", p->result.sharing);
	cli_put_count(j, "curve_levels", p->result.n_curve);
	cli_put_count(j, "impact_levels", p->result.n_impact);
	cli_put_count(j, "probes", p->result.n_probes);
	cli_best_measurement(all->known, p, command, what, sizeof(what));
	cli_put_text(j, "narrower", *command ? command : NULL);
}

static const struct cli_table table = {
	"Victim|CoRunners|Scope|Slowdown|Low|High|Model|Flags|Levels|ImpactLevels|"
	"Probes|SharingCoefficient|NoEffect|Narrower|Why|Measured",
	{ { "predictions",
	    "victim|corunners|../scope|slowdown|low|high|model|"
	    "flags|curve_levels|impact_levels|probes|sharing_coefficient|"
	    "../sharing_coefficient/no_effect|narrower|why|"
	    "measured/slowdown" } },
};

static int predict_data(const struct predictions *all, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "scope", np_scope_name(all->scope));
	cli_put_text(j, "model", all->model->name);
	list = cli_put_array(j, "predictions");
	for (size_t i = 0; i < all->n; i++)
		put_prediction(list, all, &all->prediction[i]);
	cli_put_calibration(j, all->known, all->scope);
	list = cli_put_array(j, "applications");
	for (size_t i = 0; i < all->known->n; i++)
		put_used(list, all->known->app[i]);
	return cli_print_output(format, "predict", j, &table);
}

/* ---- command ---- */

/*
 * Load the applications, their calibration and their measured pairs. Returns -1
 * to continue, or the exit status after printing an error.
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
	cli_measured_load(known, store);
	return -1;
}

/*
 * Predict what the user requested, the victim with all co-runners, and then
 * each co-runner with the victim alone.
 */
static void predict_all(struct predictions *all, struct np_predictor *predictor)
{
	struct cli_known_app *const *app = all->known->app;
	size_t n_corunners = all->known->n - 1;

	all->n = 1 + n_corunners;
	/* Two jobs of one application slow each other alike. */
	if (n_corunners == 1 && !strcmp(app[0]->runs.app, app[1]->runs.app))
		all->n = 1;
	for (size_t i = 0; i < all->n; i++) {
		struct cli_prediction *p = &all->prediction[i];

		*p = (struct cli_prediction){
			.victim = i,
			.scope = all->scope,
			.n_corunners = i ? 1 : n_corunners,
		};
		for (size_t c = 0; !i && c < n_corunners; c++)
			p->corunner[c] = c + 1;
		cli_predict(predictor, all->known, p);
	}
}

/* Fail for lack of a prediction for the victim, and say what would help. */
static int fail_without_prediction(const struct predictions *all)
{
	const char *command =
		missing_measurement(all->known, &all->prediction[0]);

	if (all->model->required & NP_DATA_TRACE)
		return cli_fail("%s", all->prediction[0].why.text);
	return cli_fail("%s%s%s", all->prediction[0].why.text,
			*command ? "; to measure it: " : "", command);
}

/*
 * Predict and print. The command succeeds if there is a prediction for the
 * victim.
 */
static int predict(const struct cli_known *known,
		   const struct cli_options *options)
{
	struct predictions all = { .known = known,
				   .model = options->model,
				   .scope = options->scope };
	struct np_err err = NP_ERR_INIT;
	struct np_predictor *predictor;

	if (cli_known_predictor(known, options->model, true, &predictor, &err))
		return cli_fail("%s", err.text);
	predict_all(&all, predictor);
	np_predictor_free(predictor);
	if (all.prediction[0].rc)
		return fail_without_prediction(&all);
	return options->format ? predict_data(&all, options->format) :
				 predict_text(&all);
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
	.help = "how much an application is slowed by others on its leaf switch",
	.text = "Predicts how much longer VICTIM takes while all the CORUNNERs run at the same\n"
		"time, and how much longer each of them takes with VICTIM, with 90 % intervals.\n"
		"Also prints the model, the data it used, and the measurement that would narrow\n"
		"the interval most. The applications need never have run together; if netprof\n"
		"validate measured a pair, its measured slowdown is printed, too.\n\n"
		"  --scope=SCOPE       where the co-runners are: on the same nodes (node), on\n"
		"                      other nodes of the same leaf switch (leaf, the default),\n"
		"                      or across its uplink (uplink)\n"
		"  --model=M           use this model instead of " NP_MODEL_DEFAULT
		"; see netprof accuracy\n"
		"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
		"  --user=NAME, --published\n"
		"                      whose profiles to use, as for netprof show",
	.examples = "  netprof predict fft halo\n"
		    "  netprof predict --scope=node fft halo lammps\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER |
		 CLI_TAKES_MODEL | CLI_TAKES_SCOPE,
	.required_arg = "a program and at least one co-runner, for example: "
			"netprof predict fft halo",
	.min_args = 2,
	.max_args = CLI_ANY,
	.run = run_predict,
};

/*
 * netprof validate: how accurate are the predictions on this cluster?
 *
 * Inside an allocation it runs, in the order of cli_pair_plan_make(),
 *
 *	launch	a program that does nothing, to subtract srun's time
 *	alone	each program on its own, again and again to see drift
 *	profile	each program once with --netprofile-calibrate
 *	leaf	each pair on the two halves of one leaf switch
 *	apart	each pair on two leaf switches, as a control
 *
 * Each run is saved as soon as it has ended, so that the command can be stopped
 * and started again, also in another allocation. Once everything is measured,
 * it compares the pairs with the predictions and needs no allocation.
 *
 * Slowdowns are fractions; errors are printed in percentage points.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_matrix.h"
#include "cli_measured.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_pair_plan.h"
#include "cli_pair_runs.h"
#include "cli_predict.h"
#include "cli_print.h"
#include "cli_program_list.h"
#include "cli_text.h"
#include "np_accuracy.h"
#include "np_figure.h"
#include "np_measured.h"
#include "np_moments.h"
#include "np_pairs_store.h"
#include "np_predict.h"
#include "np_read.h"
#include "np_text.h"

#define MAX_REPEATS 20 /* --repeats */

/* The options of the command. */
struct validate_options {
	uint32_t repeats; /* runs of each pair */
	bool fresh, dry_run;
};

struct validate_ctx {
	struct validate_options options;
	struct cli_program_list list;
	const char *path;      /* file of the results */
	struct np_pairs pairs; /* its content */
	bool no_store;	       /* the profile store cannot be written */

	/* The comparison. Pairs have the index victim * list.n + co-runner. */
	struct cli_pair_results result;	  /* computed from pairs */
	struct np_prediction *prediction; /* of each pair; NaN: none */
	struct np_score score;
	struct np_score constant_score; /* over the pairs of score */
	double constant; /* the constant slowdown that fits these best */
};

/* ---- programs and pairs ---- */

static size_t n_pairs(const struct validate_ctx *ctx)
{
	return ctx->list.n * ctx->list.n;
}

static const char *victim_name(const struct validate_ctx *ctx, size_t pair)
{
	return ctx->list.program[pair / ctx->list.n].name;
}

static const char *corunner_name(const struct validate_ctx *ctx, size_t pair)
{
	return ctx->list.program[pair % ctx->list.n].name;
}

/* Return the measured slowdown of a pair; its n is 0 if there is none. */
static const struct np_mean *measured(const struct validate_ctx *ctx,
				      size_t pair)
{
	return &ctx->result.pair[pair].slowdown;
}

static bool is_predicted(const struct validate_ctx *ctx, size_t pair)
{
	return !isnan(ctx->prediction[pair].slowdown);
}

static bool is_compared(const struct validate_ctx *ctx, size_t pair)
{
	return measured(ctx, pair)->n && is_predicted(ctx, pair);
}

/*
 * Count the pairs that were measured but not predicted. *first: one of them.
 */
static size_t count_unpredicted(const struct validate_ctx *ctx, size_t *first)
{
	size_t n = 0;

	for (size_t pair = 0; pair < n_pairs(ctx); pair++)
		if (measured(ctx, pair)->n && !is_predicted(ctx, pair) && !n++)
			*first = pair;
	return n;
}

/* Count the pairs that were measured on one leaf switch but not on two. */
static size_t count_uncontrolled(const struct validate_ctx *ctx)
{
	size_t n = 0;

	for (size_t pair = 0; pair < n_pairs(ctx); pair++)
		n += measured(ctx, pair)->n && !ctx->result.pair[pair].apart.n;
	return n;
}

/* ---- the file of results ---- */

/* Begin results for the programs of the list, without runs. */
static void begin_results(struct validate_ctx *ctx)
{
	const struct cli_program_list *list = &ctx->list;
	struct np_pairs *pairs = &ctx->pairs;

	pairs->setup = cli_strdup(list->setup);
	pairs->program = cli_calloc(list->n, sizeof(*pairs->program));
	pairs->n_programs = list->n;
	for (size_t i = 0; i < list->n; i++) {
		const struct cli_program *from = &list->program[i];
		struct np_pairs_program *to = &pairs->program[i];

		strcpy(to->name, from->name);
		to->nodes = from->nodes;
		to->tasks_per_node = from->tasks_per_node;
		to->command = cli_strdup(from->command);
	}
}

/* Are the results of the same programs and commands, and so comparable? */
static bool have_same_programs(const struct np_pairs *a,
			       const struct np_pairs *b)
{
	if (strcmp(a->setup, b->setup) || a->n_programs != b->n_programs)
		return false;
	for (size_t i = 0; i < a->n_programs; i++)
		if (strcmp(a->program[i].name, b->program[i].name))
			return false;
	return true;
}

/* Load the results in the file, if there is one, to continue them. */
static int load_results(struct validate_ctx *ctx, struct np_err *err)
{
	struct np_pairs earlier;
	int rc;

	begin_results(ctx);
	if (ctx->options.fresh)
		return 0;
	rc = NP_READ_PARSED(ctx->path, NP_PAIRS_MAX_BYTES, np_pairs_parse,
			    &earlier, err);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (!have_same_programs(&earlier, &ctx->pairs)) {
		np_pairs_free(&earlier);
		return np_errf(err, -EEXIST,
			       "%s has results of other programs or commands: "
			       "use --fresh to start over",
			       ctx->path);
	}
	np_pairs_free(&ctx->pairs);
	ctx->pairs = earlier;
	return 0;
}

/* Write the file, completely or not at all. */
static int save_results(const struct validate_ctx *ctx, struct np_err *err)
{
	char *text = NULL;
	int rc = np_pairs_format(&ctx->pairs, &text, err);

	if (!rc)
		rc = np_file_write_path(ctx->path, text, strlen(text), 0644,
					err);
	free(text);
	return rc;
}

/*
 * Save the results with the input of the models, so that netprof accuracy can
 * repeat the predictions. Without a calibration, the file keeps the input that
 * it has.
 */
static int save_with_input(struct validate_ctx *ctx,
			   const struct cli_known *known, struct np_err *err)
{
	const struct np_program **app = cli_calloc(ctx->list.n, sizeof(*app));
	int rc;

	for (size_t i = 0; i < known->n; i++) {
		size_t program =
			np_pairs_find(&ctx->pairs, known->app[i]->runs.app);

		if (program < ctx->list.n)
			app[program] = &known->app[i]->summary.program;
	}
	if (known->calibrated) {
		ctx->pairs.fabric = known->cal.fabric;
		ctx->pairs.app = app;
	}
	rc = save_results(ctx, err);
	/* Both are borrowed, and freed before the pairs. */
	ctx->pairs.fabric = NULL;
	ctx->pairs.app = NULL;
	free(app);
	return rc;
}

/*
 * Put the measured pairs of a victim into the profile store, where netprof
 * predict and netprof matrix find them. The file of results is complete
 * without this, so a failure is reported only once, and the command goes on.
 */
static void store_pairs(struct validate_ctx *ctx, const char *victim)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_store store;

	if (ctx->no_store)
		return;
	ctx->no_store = cli_store_open(&store) >= 0;
	if (ctx->no_store)
		return;
	ctx->no_store =
		np_pairs_store_save(store.store, &ctx->pairs, victim, &err);
	cli_store_close(&store);
	if (ctx->no_store)
		cli_fail("the measured pairs are in %s, but could not be saved "
			 "in the profile store: %s",
			 ctx->path, err.text);
}

/* ---- measuring ---- */

/* Save the results after each run. */
static int save_run(void *arg, const struct np_pairs_run *last,
		    struct np_err *err)
{
	struct validate_ctx *ctx = arg;
	int rc = save_results(ctx, err);

	if (!rc && last->corunner)
		store_pairs(ctx, last->victim);
	return rc;
}

/*
 * Is everything measured? Controls are missing if earlier allocations had no
 * second leaf switch.
 */
static bool is_complete(const struct validate_ctx *ctx, bool controls)
{
	struct cli_pair_plan plan = cli_pair_plan_make(
		&ctx->list, ctx->options.repeats, controls, &ctx->pairs);

	free(plan.run);
	return plan.n == 0;
}

/* Measure what is missing, in the allocation in which the command runs. */
static int measure(struct validate_ctx *ctx, struct np_err *err)
{
	const struct cli_pair_measurement measurement = {
		.list = &ctx->list,
		.repeats = ctx->options.repeats,
		.path = ctx->path,
		.pairs = &ctx->pairs,
		.save = save_run,
		.arg = ctx,
	};

	return cli_pair_runs_measure(&measurement, ctx->options.dry_run, err);
}

/* ---- comparing with predictions ---- */

/* Compute the slowdowns from the runs. */
static void compute_slowdowns(struct validate_ctx *ctx)
{
	ctx->prediction = cli_calloc(n_pairs(ctx), sizeof(*ctx->prediction));
	cli_pair_results_compute(&ctx->pairs, &ctx->result);
	cli_pair_results_store(&ctx->result, &ctx->pairs);
	for (size_t pair = 0; pair < n_pairs(ctx); pair++) {
		struct np_prediction *none = &ctx->prediction[pair];

		none->slowdown = none->low = none->high = NAN;
	}
}

/*
 * Copy the predictions of a matrix. Its order is not that of the list, and it
 * may have more applications.
 */
static void copy_predictions(struct validate_ctx *ctx,
			     const struct cli_matrix *matrix)
{
	size_t n = ctx->list.n;

	for (size_t i = 0; i < matrix->n * matrix->n; i++) {
		const char *row = cli_matrix_name(matrix, i / matrix->n);
		const char *column = cli_matrix_name(matrix, i % matrix->n);
		size_t victim = np_pairs_find(&ctx->pairs, row);
		size_t corunner = np_pairs_find(&ctx->pairs, column);

		if (victim < n && corunner < n && !matrix->rc[i])
			ctx->prediction[victim * n + corunner] =
				matrix->prediction[i];
	}
}

/* Predict all pairs. If that is impossible, this prints why. */
static void predict_pairs(struct validate_ctx *ctx,
			  const struct cli_options *given,
			  struct cli_known *known)
{
	struct cli_options options = *given;
	char *names[NP_PAIRS_MAX_PROGRAMS + 1] = { NULL };
	struct cli_matrix matrix = { .n = 0 };
	struct cli_store store;
	int rc = cli_store_open(&store);

	if (rc >= 0)
		return;
	for (size_t i = 0; i < ctx->list.n; i++)
		names[i] = ctx->list.program[i].name;
	options.apps = names;
	options.n_apps = ctx->list.n;
	options.app = names[0];
	options.scope = NP_SCOPE_LEAF; /* where the pairs ran */
	rc = cli_matrix_find(known, &store, &options);
	if (rc < 0)
		rc = cli_predict_prepare(known, &store, &options);
	if (rc < 0)
		rc = cli_matrix_make(known, &options, &matrix);
	if (rc < 0)
		copy_predictions(ctx, &matrix);
	cli_matrix_free(&matrix);
	cli_store_close(&store);
}

/* Score the predictions, and the best constant for the same pairs. */
static void score_predictions(struct validate_ctx *ctx)
{
	size_t n = n_pairs(ctx);
	struct np_scored *scored = cli_calloc(n, sizeof(*scored));

	for (size_t pair = 0; pair < n; pair++) {
		const struct np_mean *slowdown = measured(ctx, pair);
		const struct np_prediction *p = &ctx->prediction[pair];

		scored[pair] = (struct np_scored){
			.measured = slowdown->n ? slowdown->mean : NAN,
			.predicted = p->slowdown,
			.low = p->low,
			.high = p->high,
		};
	}
	cli_check_memory(np_accuracy_score(scored, n, &ctx->score));
	cli_check_memory(np_accuracy_score_constant(scored, n, &ctx->constant,
						    &ctx->constant_score));
	free(scored);
}

/* ---- text ---- */

#define MAX_LISTED 5	/* pairs in the table */
#define NAME_COLUMNS 13 /* width of a program's name */

/* Return a share as a percentage, or "not known". */
static const char *share_text(double share)
{
	return isnan(share) ? "not known" : cli_percent(share);
}

/* Print what was measured, where, and how much repeated runs differ. */
static void print_measured(const struct validate_ctx *ctx)
{
	const struct cli_pair_results *result = &ctx->result;
	const struct np_pairs_place *place = &ctx->pairs.place;

	cli_label("Measured",
		  "%zu pair%s of %zu program%s on leaf switch %s: %s "
		  "with %s, last on %s",
		  result->n_pairs, cli_plural_s(result->n_pairs), ctx->list.n,
		  cli_plural_s(ctx->list.n),
		  place->leaf ? place->leaf : "(no topology)",
		  place->victim_nodes ? place->victim_nodes : "?",
		  place->corunner_nodes ? place->corunner_nodes : "?",
		  cli_day(ctx->pairs.date));
	if (result->n_repeated)
		cli_label("Repeats",
			  "two runs of a pair differ by %.1f "
			  "percentage points on average (%zu pair%s)",
			  result->repeat_points, result->n_repeated,
			  cli_plural_s(result->n_repeated));
}

/* Print by how much pairs are slowed that share no switch. */
static void print_controls(const struct validate_ctx *ctx)
{
	const struct cli_pair_results *result = &ctx->result;
	size_t n_without = count_uncontrolled(ctx);
	const char *without = "";

	if (n_without)
		without = cli_text("; %zu pair%s none", n_without,
				   n_without == 1 ? " has" : "s have");
	if (result->n_controls)
		cli_label("Controls",
			  "on two leaf switches %zu pair%s differ%s "
			  "from running alone by %.1f %% on average, "
			  "at most %.1f %%; this is subtracted%s",
			  result->n_controls, cli_plural_s(result->n_controls),
			  result->n_controls == 1 ? "s" : "",
			  100 * result->control_mean, 100 * result->control_max,
			  without);
	else
		cli_label(
			"Controls",
			"none: the effect of anything else that pairs share is "
			"attributed to the leaf switch");
}

/* Print by how much the runs alone of each program differ. */
static void print_drift(const struct validate_ctx *ctx)
{
	char line[1024] = "";

	for (size_t i = 0; i < ctx->list.n; i++)
		if (!isnan(ctx->result.app[i].drift))
			cli_appendf(line, sizeof(line), "%s%s %.1f %%",
				    *line ? ", " : "",
				    ctx->list.program[i].name,
				    100 * ctx->result.app[i].drift);
	if (*line)
		cli_label("Drift", "runs alone, longest minus shortest: %s",
			  line);
}

/* Print the pairs that slow each other even without a common switch. */
static void print_rejected(const struct validate_ctx *ctx)
{
	for (size_t i = 0; i < n_pairs(ctx); i++) {
		const struct cli_pair_result *pair = &ctx->result.pair[i];

		if (pair->rejected)
			cli_label("Rejected",
				  "%s with %s: %+.1f %% on two leaf "
				  "switches, although they share none",
				  victim_name(ctx, i), corunner_name(ctx, i),
				  100 * pair->apart.mean);
	}
}

/* Print the pairs whose two runs differ too much to be trusted. */
static void print_unsteady(const struct validate_ctx *ctx)
{
	uint32_t repeats = ctx->options.repeats;
	const char *again =
		repeats < MAX_REPEATS ?
			cli_text("; --repeats=%u runs all pairs once more",
				 repeats + 1) :
			"";

	for (size_t i = 0; i < n_pairs(ctx); i++) {
		double difference = ctx->result.pair[i].repeat_difference;

		if (difference > CLI_REPEAT_MAX)
			cli_label("Unsteady",
				  "%s with %s: two runs differ by "
				  "%.0f percentage points%s",
				  victim_name(ctx, i), corunner_name(ctx, i),
				  100 * difference, again);
	}
}

/* Print how many pairs cannot be predicted, with one as an example. */
static void print_unpredicted(const struct validate_ctx *ctx)
{
	size_t first = 0, n = count_unpredicted(ctx, &first);

	if (n)
		cli_label("Unknown",
			  "%zu pair%s cannot be predicted; netprof "
			  "predict %s %s says what is missing",
			  n, cli_plural_s(n), victim_name(ctx, first),
			  corunner_name(ctx, first));
}

/* Print how accurate the predictions are, compared with the best constant. */
static void print_score(const struct validate_ctx *ctx)
{
	const struct np_score *score = &ctx->score;
	double constant_points = ctx->constant_score.mean_points;
	const char *ratio = "";

	if (!score->n)
		return;
	if (constant_points > 0)
		ratio = cli_text(" (ratio %.2f)",
				 score->mean_points / constant_points);
	cli_label("Error",
		  "%.1f percentage points on average over %zu pair%s; "
		  "the best constant (%+.1f %%) has %.1f%s",
		  score->mean_points, score->n, cli_plural_s(score->n),
		  100 * ctx->constant, constant_points, ratio);
	cli_label("Large",
		  "%s of the errors exceed 10 percentage points, %s "
		  "exceed 20; mean error with sign %+.1f",
		  share_text(1 - score->within_near),
		  share_text(score->beyond_far), score->bias_points);
	cli_label("At 10 %",
		  "recall %s, precision %s (pairs slowed by 10 %% or "
		  "more: %zu measured, %zu predicted)",
		  share_text(score->recall), share_text(score->precision),
		  score->n_harm, score->n_predicted_harm);
	if (score->n_intervals)
		cli_label(
			"Intervals",
			"%s of the 90 %% intervals contain the measured value; "
			"median width %.1f percentage points",
			share_text(score->coverage), score->width_points);
}

/* Return the size of a prediction's error, as a fraction. */
static double error_size(const struct validate_ctx *ctx, size_t pair)
{
	return fabs(ctx->prediction[pair].slowdown - measured(ctx, pair)->mean);
}

/* qsort_r() order of pairs: the largest error first. */
static int order_by_error(const void *a, const void *b, void *arg)
{
	const struct validate_ctx *ctx = arg;
	double x = error_size(ctx, *(const size_t *)a);
	double y = error_size(ctx, *(const size_t *)b);

	return (x < y) - (x > y);
}

/*
 * List the pairs that were measured and predicted, the largest error first.
 * The caller frees the list.
 */
static size_t *sort_by_error(const struct validate_ctx *ctx, size_t *n)
{
	size_t *sorted = cli_calloc(n_pairs(ctx), sizeof(*sorted));

	*n = 0;
	for (size_t pair = 0; pair < n_pairs(ctx); pair++)
		if (is_compared(ctx, pair))
			sorted[(*n)++] = pair;
	qsort_r(sorted, *n, sizeof(*sorted), order_by_error, (void *)ctx);
	return sorted;
}

/* Print one pair, with its prediction and flags. */
static void print_pair(const struct validate_ctx *ctx, size_t pair,
		       int name_width)
{
	const struct np_prediction *p = &ctx->prediction[pair];
	const char *flags = cli_flag_names(p->flags);

	cli_print_left(stdout, victim_name(ctx, pair), name_width);
	putchar(' ');
	cli_print_left(stdout, corunner_name(ctx, pair), name_width);
	putchar(' ');
	cli_print_number(cli_change, measured(ctx, pair)->mean, 9);
	cli_print_number(cli_change, p->slowdown, 10);
	cli_print_right(stdout,
			isnan(p->low) ? "-" :
					cli_text("%.0f to %.0f",
						 cli_whole_percent(p->low),
						 cli_whole_percent(p->high)),
			15);
	printf("  %s\n", *flags ? flags : "-");
}

/* Print the pairs with the largest errors. */
static void print_worst(const struct validate_ctx *ctx)
{
	size_t n, *sorted = sort_by_error(ctx, &n);
	int name_width = NAME_COLUMNS;

	for (size_t i = 0; i < ctx->list.n; i++)
		name_width = cli_widen(name_width, ctx->list.program[i].name);
	if (n)
		cli_heading("%-*s %-*s %9s%10s%15s  %s", name_width, "Slowed",
			    name_width, "By", "Measured", "Predicted",
			    "90 % interval", "Notes");
	for (size_t i = 0; i < n && i < MAX_LISTED; i++)
		print_pair(ctx, sorted[i], name_width);
	free(sorted);
}

static int print_text(const struct validate_ctx *ctx)
{
	print_measured(ctx);
	print_controls(ctx);
	print_drift(ctx);
	print_rejected(ctx);
	print_unsteady(ctx);
	print_unpredicted(ctx);
	print_score(ctx);
	print_worst(ctx);
	return CLI_DONE;
}

/* ---- JSON ---- */

/* Put the accuracy of the predictions; null if no pair is predicted. */
static void put_score(json_object *in, const struct validate_ctx *ctx)
{
	const struct np_score *score = &ctx->score;
	json_object *o = cli_put_if(in, "score", score->n > 0);

	if (!o)
		return;
	cli_put_count(o, "pairs", score->n);
	cli_put_real(o, "mean_error_points", score->mean_points);
	cli_put_real(o, "bias_points", score->bias_points);
	cli_put_real(o, "within_10_points", score->within_near);
	cli_put_real(o, "beyond_20_points", score->beyond_far);
	cli_put_real(o, "best_constant", ctx->constant);
	cli_put_real(o, "constant_error_points",
		     ctx->constant_score.mean_points);
	cli_put_real(o, "recall", score->recall);
	cli_put_real(o, "precision", score->precision);
	cli_put_real(o, "coverage", score->coverage);
	cli_put_real(o, "median_width_points", score->width_points);
}

/* Put a mean; null if nothing was measured. */
static void put_mean(json_object *in, const char *key, const struct np_mean *m)
{
	cli_put_real(in, key, m->n ? m->mean : NAN);
}

/* Put the programs and their run times alone. */
static void put_programs(json_object *in, const struct validate_ctx *ctx)
{
	json_object *list = cli_put_array(in, "programs");

	for (size_t i = 0; i < ctx->list.n; i++) {
		const struct cli_app_result *app = &ctx->result.app[i];
		json_object *o = cli_append_object(list);

		cli_put_text(o, "name", ctx->list.program[i].name);
		cli_put_count(o, "runs_alone", app->alone_sec.n);
		put_mean(o, "alone_sec", &app->alone_sec);
		cli_put_real(o, "drift", app->drift);
	}
}

/* Put all pairs, whether measured or not. */
static void put_pairs(json_object *in, const struct validate_ctx *ctx)
{
	json_object *list = cli_put_array(in, "pairs");

	for (size_t i = 0; i < n_pairs(ctx); i++) {
		const struct cli_pair_result *pair = &ctx->result.pair[i];
		const struct np_prediction *p = &ctx->prediction[i];
		json_object *o = cli_append_object(list);

		cli_put_text(o, "victim", victim_name(ctx, i));
		cli_put_text(o, "corunner", corunner_name(ctx, i));
		put_mean(o, "measured", &pair->slowdown);
		put_mean(o, "apart", &pair->apart);
		cli_put_bool(o, "rejected", pair->rejected);
		cli_put_real(o, "predicted", p->slowdown);
		cli_put_real(o, "low", p->low);
		cli_put_real(o, "high", p->high);
		cli_put_text(o, "flags", cli_flag_names(p->flags));
	}
}

static int print_json(const struct validate_ctx *ctx)
{
	json_object *root = json_object_new_object();
	size_t first;

	cli_put_text(root, "file", ctx->path);
	cli_put_time(root, "date", ctx->pairs.date);
	cli_put_real(root, "repeat_points", ctx->result.repeat_points);
	cli_put_count(root, "rejected", ctx->result.n_rejected);
	cli_put_count(root, "unpredicted", count_unpredicted(ctx, &first));
	put_score(root, ctx);
	put_programs(root, ctx);
	put_pairs(root, ctx);
	return cli_print_json("validate", root);
}

/* ---- picture ---- */

/*
 * Draw the 90 % interval of a measured slowdown, a line across its point.
 * pooled: how much all pairs scatter, because the two runs that a pair usually
 * has say little about that.
 */
static void draw_interval(struct np_figure *figure, struct np_panel *panel,
			  const struct np_mean *slowdown, double pooled,
			  double predicted)
{
	struct np_shape *line;
	double low, high;

	if (slowdown->n < 2 || !isfinite(slowdown->sd))
		return;
	np_noise_interval_of(slowdown, pooled, 0.9, &low, &high);
	line = np_figure_add_shape(figure, panel, NP_SHAPE_LINE, NP_STYLE_GREY,
				   NULL);
	np_figure_add_datum(figure, line, 100 * low, 100 * predicted, NAN, NAN);
	np_figure_add_datum(figure, line, 100 * high, 100 * predicted, NAN,
			    NAN);
}

/* The scatter of one measured slowdown, pooled over all pairs. */
static double pooled_noise(const struct validate_ctx *ctx)
{
	struct np_mean *all = cli_calloc(n_pairs(ctx), sizeof(*all));
	double pooled;

	for (size_t pair = 0; pair < n_pairs(ctx); pair++)
		all[pair] = *measured(ctx, pair);
	pooled = np_noise_pooled(all, n_pairs(ctx));
	free(all);
	return pooled;
}

/* Draw the line on which predictions equal measurements. */
static void draw_diagonal(struct np_figure *figure, struct np_panel *panel,
			  const struct validate_ctx *ctx)
{
	struct np_shape *line = np_figure_add_shape(
		figure, panel, NP_SHAPE_LINE, NP_STYLE_GREY, "as measured");
	double largest = 0;

	for (size_t pair = 0; pair < n_pairs(ctx); pair++)
		if (is_compared(ctx, pair))
			largest = fmax(largest, measured(ctx, pair)->mean);
	np_figure_add_datum(figure, line, 0, 0, NAN, NAN);
	np_figure_add_datum(figure, line, 100 * largest, 100 * largest, NAN,
			    NAN);
}

/* Draw the pairs, with the intervals of their predictions. */
static void draw_points(struct np_figure *figure, struct np_panel *panel,
			const struct validate_ctx *ctx)
{
	struct np_shape *points =
		np_figure_add_shape(figure, panel, NP_SHAPE_POINTS, 0,
				    "a pair, with 90 % intervals");

	for (size_t pair = 0; pair < n_pairs(ctx); pair++) {
		const struct np_prediction *p = &ctx->prediction[pair];

		if (is_compared(ctx, pair))
			np_figure_add_datum(figure, points,
					    100 * measured(ctx, pair)->mean,
					    100 * p->slowdown, 100 * p->low,
					    100 * p->high);
	}
}

/* Draw predicted over measured slowdowns. Returns the exit status. */
static int plot_pairs(const struct validate_ctx *ctx, const char *path)
{
	struct np_figure *figure =
		cli_figure_new("Predicted over measured slowdown");
	struct np_panel *panel = cli_figure_add_panel(
		figure, "", NP_AXIS_LINEAR, "Measured slowdown (%)",
		NP_AXIS_LINEAR, "Predicted slowdown (%)");
	double pooled = pooled_noise(ctx);

	for (size_t pair = 0; pair < n_pairs(ctx); pair++)
		if (is_compared(ctx, pair))
			draw_interval(figure, panel, measured(ctx, pair),
				      pooled, ctx->prediction[pair].slowdown);
	draw_diagonal(figure, panel, ctx);
	draw_points(figure, panel, ctx);
	np_figure_set_caption(figure,
			      "n = %zu pairs of %zu programs; mean error %.1f "
			      "percentage points, with the best constant %.1f.",
			      ctx->score.n, ctx->list.n, ctx->score.mean_points,
			      ctx->constant_score.mean_points);
	figure->date = ctx->pairs.date;
	return cli_figure_save_and_free(figure, path);
}

/* ---- the command ---- */

/*
 * Compare, save and print the pairs that were measured, and predicted if
 * possible.
 */
static int compare(struct validate_ctx *ctx, const struct cli_options *options)
{
	struct cli_known known = { .n = 0 };
	struct np_err err = NP_ERR_INIT;
	int rc;

	compute_slowdowns(ctx);
	predict_pairs(ctx, options, &known);
	/* Pairs measured by an earlier version may not be in the store. */
	for (size_t i = 0; i < ctx->list.n; i++)
		store_pairs(ctx, ctx->list.program[i].name);
	rc = save_with_input(ctx, &known, &err);
	cli_known_free(&known);
	if (rc)
		return cli_fail("%s", err.text);
	score_predictions(ctx);
	rc = options->format == CLI_JSON ? print_json(ctx) : print_text(ctx);
	if (rc == CLI_DONE && options->plot)
		rc = plot_pairs(ctx, options->plot);
	return rc;
}

/* Read the list and earlier results, measure what is missing, and compare. */
static int validate(struct validate_ctx *ctx, const struct cli_options *options)
{
	struct np_err err = NP_ERR_INIT;
	int rc = cli_program_list_read(options->app, &ctx->list, &err);
	bool pairs, complete;

	if (!rc)
		rc = load_results(ctx, &err);
	/* Outside an allocation, the results are printed without controls. */
	pairs = !rc && is_complete(ctx, false);
	complete = pairs && (!getenv("SLURM_JOB_ID") || is_complete(ctx, true));
	if (!rc && !complete)
		rc = measure(ctx, &err);
	/* Only controls are missing, and this allocation has no place for them. */
	if (pairs && (rc == -ENODEV || rc == -EEXIST))
		rc = 0;
	if (rc)
		return cli_fail("%s", err.text);
	if (ctx->options.dry_run && !complete)
		return CLI_DONE;
	return compare(ctx, options);
}

static const struct np_option own_options[] = {
#define AT(member) offsetof(struct validate_options, member)
	{ "repeats", NP_OPTION_COUNT, AT(repeats), 1, MAX_REPEATS },
	{ "fresh", NP_OPTION_FLAG, AT(fresh) },
	{ "dry-run", NP_OPTION_FLAG, AT(dry_run), .letter = 'n' },
#undef AT
	{ NULL },
};

static int run_validate(const struct cli_cmd *self, int argc, char **argv)
{
	struct validate_ctx ctx = {
		.options = { .repeats = 2 },
		.constant = NAN,
	};
	struct cli_options options;
	char *default_path = NULL;
	int rc = cli_options_parse(self, argc, argv, &ctx.options, &options);

	if (rc >= 0)
		return rc;
	/* The default name is next to the list of programs. */
	if (!options.output &&
	    asprintf(&default_path, "%s.pairs.json", options.app) < 0)
		return cli_fail("out of memory");
	ctx.path = options.output ? options.output : default_path;
	rc = validate(&ctx, &options);
	cli_pair_results_free(&ctx.result);
	cli_program_list_free(&ctx.list);
	np_pairs_free(&ctx.pairs);
	free(ctx.prediction);
	free(default_path);
	return rc;
}

const struct cli_cmd cmd_validate = {
	.name = "validate",
	.args = "[OPTION]... FILE",
	.help = "measure pairs of programs and check the predictions",
	.text = "Measures pairs of programs and compares their slowdowns with the predictions.\n"
		"Run it inside an allocation of idle nodes (salloc -N8 --exclusive), ideally all\n"
		"nodes of two leaf switches. FILE lists the programs; see netprof-validate(1).\n"
		"Each program runs alone, is profiled in one run, and runs with every program on\n"
		"one leaf switch and, as a control, on two. You can stop the command at any\n"
		"time and run it again to continue. When everything is measured, it needs no\n"
		"allocation and only prints the comparison.\n\n"
		"  --repeats=N        runs of each pair (default 2)\n"
		"  -o, --output=FILE  file of the results, netprof-pairs(5) (default\n"
		"                     FILE.pairs.json)\n"
		"  --plot=FILE        draw predicted over measured: .svg, .png or .pdf\n"
		"  --model=M          another model than " NP_MODEL_DEFAULT "\n"
		"  --fresh            discard earlier results\n"
		"  --dry-run          print what would be measured and how long it would take\n"
		"  --json             output for programs",
	.examples = "  salloc -N16 --exclusive netprof validate programs\n"
		    "  netprof validate --dry-run programs\n"
		    "  netprof validate --plot=pairs.svg programs\n",
	.takes = CLI_TAKES_JSON | CLI_TAKES_OUTPUT | CLI_TAKES_PLOT |
		 CLI_TAKES_MODEL,
	.own = own_options,
	.max_args = 1,
	.required_arg = "a file that lists programs (see netprof-validate(1))",
	.run = run_validate,
};

/*
 * netprof accuracy: scores the models against pairs that were measured.
 *
 * A file of measured pairs, netprof-pairs(5), holds sets: the programs that
 * were measured on one fabric, with the run time of each alone, under load and
 * with co-runners. Every model predicts every case from what was measured of
 * each program by itself; the errors are then summarised per model. Two lines
 * serve as reference: the constant that fits these cases best, and the model
 * "zero", which always predicts no slowdown.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_analysis.h"
#include "cli_json_put.h"
#include "cli_loggps.h"
#include "cli_options.h"
#include "cli_predictions.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_accuracy.h"
#include "np_evaluate.h"
#include "np_measured.h"
#include "np_model.h"
#include "np_option.h"
#include "np_self_check.h"

#define MAX_NAMES 64 /* in the list of one option */

/*
 * Bootstrap replicates of each interval: more than other commands use, because
 * with fewer of them the coverage is only known to a few percent.
 */
#define REPLICATES 200

struct names {
	const char *name[MAX_NAMES];
	size_t n;
};

struct accuracy_opt {
	const struct np_model *model[MAX_NAMES];
	size_t n_models;
	bool models_given;    /* --model, even if it only names "zero" */
	struct names without; /* no case with one of these programs */
	struct names only;    /* only cases with one of these programs */
	double up_to; /* largest measured slowdown, fraction; infinite: any */
	struct np_predict_opt predict;
	bool cases;		 /* list every case */
	const char *predictions; /* file of external predictions, or NULL */
	struct cli_predictions external; /* contents of that file */
	const char *traces;   /* directory with a trace per program, or NULL */
	struct np_loggps net; /* where the traces ran; G_ns < 0: unknown */
	struct np_err net_note; /* that net was measured, and when; or "" */
};

/* One row of output: a model, or the best constant, over one part of a file. */
struct score_line {
	const char *model;
	double constant; /* NaN for a model */
	struct np_score score;
	struct np_score baseline; /* of the best constant for the same cases */
	struct np_err why; /* of the first case without a prediction, or "" */
};

/* Scores of the cases with one co-runner, or of those with several. */
struct file_part {
	bool groups; /* several co-runners */
	size_t n_cases;
	struct score_line line[MAX_NAMES + 2];
	size_t n_lines;
};

/* A case that the options select. */
struct selected_case {
	const struct np_measured_set *set;
	const struct np_measured_case *measured;
	size_t row; /* index into the predictions of each model */
};

/* All predictions of one model, or of the external file, for one file. */
struct model_run {
	const char *name;
	struct np_prediction *out; /* one for each row of each set */
	struct np_err why;
};

struct accuracy_file {
	const char *path;
	struct np_measured measured;
	bool *doubtful;		   /* np_self_check_fails() of each set */
	struct cli_traced *traced; /* one per program of each set, or NULL */
	struct selected_case *selected;
	size_t n_selected;
	struct model_run run[MAX_NAMES + 1];
	size_t n_runs;
	struct file_part part[2];
	size_t n_parts;
};

/* ---- cases and predictions ---- */

static bool is_listed(const char *name, const struct names *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(name, list->name[i]))
			return true;
	return false;
}

/* Is one of these programs the victim or a co-runner of the case? */
static bool involves(const struct np_measured_set *set,
		     const struct np_measured_case *measured,
		     const struct names *list)
{
	if (is_listed(set->app[measured->victim].name, list))
		return true;
	for (size_t i = 0; i < measured->n_co; i++)
		if (is_listed(set->app[measured->co[i]].name, list))
			return true;
	return false;
}

/* Do the options --up-to, --without and --only select this case? */
static bool is_selected(const struct accuracy_opt *opt,
			const struct np_measured_set *set,
			const struct np_measured_case *measured)
{
	return measured->slowdown.mean <= opt->up_to &&
	       !involves(set, measured, &opt->without) &&
	       (!opt->only.n || involves(set, measured, &opt->only));
}

/* Does any set of the file have a program of this name? */
static bool known_name(const struct np_measured *measured, const char *name)
{
	for (size_t i = 0; i < measured->n_sets; i++)
		for (size_t a = 0; a < measured->set[i].n_apps; a++)
			if (!strcmp(measured->set[i].app[a].name, name))
				return true;
	return false;
}

/*
 * Refuse a name that no set has: it is probably mistyped, and would silently
 * select nothing or everything.
 */
static int check_names(const struct accuracy_file *file,
		       const struct names *list, struct np_err *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (!known_name(&file->measured, list->name[i]))
			return np_errf(err, -EINVAL, "%s: no program \"%s\"",
				       file->path, list->name[i]);
	return 0;
}

/* Read DIR/NAME, a trace or graph, of each program. */
static void read_traces(struct accuracy_file *file,
			const struct accuracy_opt *opt)
{
	const struct np_loggps *net = opt->net.G_ns < 0 ? NULL : &opt->net;
	size_t n = 0;

	for (size_t i = 0; i < file->measured.n_sets; i++)
		n += file->measured.set[i].n_apps;
	file->traced = cli_calloc(n, sizeof(*file->traced));
	n = 0;
	for (size_t i = 0; i < file->measured.n_sets; i++) {
		struct np_measured_set *set = &file->measured.set[i];

		for (size_t a = 0; a < set->n_apps; a++) {
			struct cli_traced *traced = &file->traced[n++];
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "%s/%s", opt->traces,
				 set->app[a].name);
			cli_traced_attach(path, geteuid(), net, traced,
					  &set->app[a]);
		}
	}
}

/*
 * Count the measured cases in all sets, selected or not. Predictions are made
 * for all of them, in the order of the file.
 */
static size_t count_rows(const struct accuracy_file *file)
{
	size_t n = 0;

	for (size_t i = 0; i < file->measured.n_sets; i++)
		n += file->measured.set[i].n_rows;
	return n;
}

/* List the selected cases, each with its index among all rows. */
static void select_cases(struct accuracy_file *file,
			 const struct accuracy_opt *opt)
{
	size_t row = 0;

	file->selected = cli_calloc(count_rows(file), sizeof(*file->selected));
	for (size_t i = 0; i < file->measured.n_sets; i++) {
		const struct np_measured_set *set = &file->measured.set[i];

		for (size_t k = 0; k < set->n_rows; k++, row++)
			if (is_selected(opt, set, &set->row[k]))
				file->selected[file->n_selected++] =
					(struct selected_case){ set,
								&set->row[k],
								row };
	}
}

static void check_calibrations(struct accuracy_file *file)
{
	size_t n = file->measured.n_sets;

	file->doubtful = cli_calloc(n, sizeof(*file->doubtful));
	for (size_t i = 0; i < n; i++)
		file->doubtful[i] =
			np_self_check_fails(&file->measured.set[i].fabric);
}

/* Predict all rows of all sets with one model. */
static int run_model(struct accuracy_file *file, const struct np_model *model,
		     const struct np_predict_opt *opt, struct np_err *err)
{
	struct model_run *run = &file->run[file->n_runs++];
	size_t n = count_rows(file), row = 0;
	int *rcs = cli_calloc(n, sizeof(*rcs)), rc = 0;

	run->name = model->name;
	run->out = cli_calloc(n, sizeof(*run->out));
	for (size_t i = 0; !rc && i < file->measured.n_sets; i++) {
		const struct np_measured_set *set = &file->measured.set[i];
		struct np_predict_opt of_set = *opt;

		of_set.doubtful = file->doubtful[i];
		rc = np_evaluate(set, model, &of_set, &run->out[row], rcs,
				 &run->why, err);
		row += set->n_rows;
	}
	free(rcs);
	return rc;
}

/*
 * Take the predictions of the external file. It holds pairs only: cases with
 * several co-runners, and pairs that it lacks, stay without a prediction.
 */
static void run_external(struct accuracy_file *file,
			 const struct accuracy_opt *opt)
{
	struct model_run *run = &file->run[file->n_runs++];

	run->name = basename(opt->predictions);
	run->out = cli_calloc(count_rows(file), sizeof(*run->out));
	np_errf(&run->why, -ENODATA, "the file has none of these pairs");
	for (size_t i = 0; i < file->n_selected; i++) {
		const struct selected_case *selected = &file->selected[i];
		const struct np_measured_case *pair = selected->measured;
		const struct np_program *app = selected->set->app;
		struct np_prediction *out = &run->out[selected->row];
		const struct cli_predicted *found =
			pair->n_co != 1 ?
				NULL :
				cli_predictions_find(&opt->external,
						     app[pair->victim].name,
						     app[pair->co[0]].name);

		out->slowdown = found ? found->slowdown : NAN;
		out->low = found ? found->low : NAN;
		out->high = found ? found->high : NAN;
	}
}

/* Refuse an external prediction for a program that the file does not have. */
static int check_external(const struct accuracy_file *file,
			  const struct accuracy_opt *opt, struct np_err *err)
{
	for (size_t i = 0; i < opt->external.n; i++) {
		const struct cli_predicted *predicted = &opt->external.row[i];
		const char *both[] = { predicted->victim, predicted->corunner };

		for (size_t k = 0; k < NP_ARRAY_SIZE(both); k++)
			if (!known_name(&file->measured, both[k]))
				return np_errf(
					err, -EINVAL,
					"%s:%zu: \"%s\": expected a program of "
					"%s",
					opt->predictions, predicted->line,
					both[k], file->path);
	}
	return 0;
}

/* ---- scores ---- */

/*
 * Fill scored[] with the selected cases of one part and the predictions of run;
 * run NULL: only what was measured. Returns their number.
 */
static size_t collect_part(const struct accuracy_file *file,
			   const struct model_run *run, bool groups,
			   struct np_scored *scored)
{
	static const struct np_prediction none;
	size_t n = 0;

	for (size_t i = 0; i < file->n_selected; i++) {
		const struct selected_case *selected = &file->selected[i];

		if ((selected->measured->n_co > 1) == groups)
			scored[n++] = np_evaluate_scored(
				run ? &run->out[selected->row] : &none,
				selected->measured);
	}
	return n;
}

/*
 * Score the constant that fits all cases best. It is chosen from the measured
 * values themselves; a model with larger errors is of no use for these cases.
 */
static void score_constant(const struct np_scored *scored, size_t n,
			   struct score_line *line)
{
	cli_check_memory(np_accuracy_score_constant(scored, n, &line->constant,
						    &line->score));
	line->model = "best constant";
	line->baseline = line->score;
}

/* Score a model, and the constant that is best for the cases it predicts. */
static void score_model(const struct np_scored *scored, size_t n,
			const struct model_run *run, struct score_line *line)
{
	double constant;

	cli_check_memory(np_accuracy_score(scored, n, &line->score));
	cli_check_memory(np_accuracy_score_constant(scored, n, &constant,
						    &line->baseline));
	line->model = run->name;
	line->constant = NAN;
	line->why = run->why;
}

/*
 * Score all models on the cases with one co-runner, or on those with several.
 * A file without such cases gets no part. scored[] is scratch space for all
 * selected cases.
 */
static void score_part(struct accuracy_file *file, bool groups,
		       struct np_scored *scored)
{
	struct file_part *part = &file->part[file->n_parts];
	size_t n = collect_part(file, NULL, groups, scored);

	if (!n)
		return;
	file->n_parts++;
	part->groups = groups;
	part->n_cases = n;
	score_constant(scored, n, &part->line[part->n_lines++]);
	for (size_t i = 0; i < file->n_runs; i++) {
		n = collect_part(file, &file->run[i], groups, scored);
		score_model(scored, n, &file->run[i],
			    &part->line[part->n_lines++]);
	}
}

/*
 * Load a file, predict its cases and score the predictions. Returns 0 or
 * -errno with err. The caller calls file_release() in either case.
 */
static int score_file(const char *path, const struct accuracy_opt *opt,
		      struct accuracy_file *file, struct np_err *err)
{
	struct np_scored *scored = NULL;
	int rc;

	*file = (struct accuracy_file){ .path = path };
	rc = np_measured_load(path, &file->measured, err);
	if (!rc)
		rc = check_names(file, &opt->without, err);
	if (!rc)
		rc = check_names(file, &opt->only, err);
	if (!rc && opt->traces)
		read_traces(file, opt);
	if (!rc) {
		check_calibrations(file);
		select_cases(file, opt);
	}
	if (!rc && opt->predictions)
		rc = check_external(file, opt, err);
	if (!rc && opt->predictions)
		run_external(file, opt);
	for (size_t i = 0; !rc && i < opt->n_models; i++)
		rc = run_model(file, opt->model[i], &opt->predict, err);
	if (rc)
		return rc;
	scored = cli_calloc(file->n_selected, sizeof(*scored));
	score_part(file, false, scored);
	score_part(file, true, scored);
	free(scored);
	return file->n_parts ?
		       0 :
		       np_errf(err, -ENODATA,
			       "%s: no measured case is left to compare with",
			       path);
}

/* Also releases a file that score_file() failed on. */
static void file_release(struct accuracy_file *file)
{
	for (size_t r = 0; r < file->n_runs; r++)
		free(file->run[r].out);
	free(file->doubtful);
	free(file->traced);
	free(file->selected);
	np_measured_free(&file->measured);
}

/* ---- output ---- */

/* Print a share in percent, or "-" for NaN. */
static void print_percent(double share, int width)
{
	if (isnan(share))
		printf(" %*s", width, "-");
	else
		printf(" %*.0f%%", width - 1, 100 * share);
}

/*
 * Print a row of the table. Undefined shares, such as the recall if no case was
 * slowed, are "-". If not all cases were predicted, the row ends with the number
 * of those that were, and the mean error of the best constant for them.
 */
static void print_line(const struct score_line *line, size_t n_cases)
{
	const struct np_score *score = &line->score;
	const char *name =
		isnan(line->constant) ?
			cli_text("%.31s", line->model) :
			cli_text("constant %.1f", 100 * line->constant);

	printf("%-22s %5.1f %6.1f %5.1f %+6.1f", name, score->mean_points,
	       score->median_points, score->max_points, score->bias_points);
	print_percent(score->within_near, 4);
	print_percent(score->beyond_far, 4);
	print_percent(score->recall, 6);
	print_percent(score->precision, 5);
	print_percent(score->coverage, 5);
	if (score->n_intervals)
		printf(" %5.1f", score->width_points);
	else
		printf(" %5s", "-");
	if (score->n < n_cases)
		printf(" (%zu, constant %.1f)", score->n,
		       line->baseline.mean_points);
	printf("\n");
}

/*
 * Print the table of one part: first the models with scores, then those without
 * any prediction, each with the reason.
 */
static void print_part(const struct file_part *part)
{
	printf("%s: %zu case%s\n",
	       part->groups ? "Several co-runners" : "One co-runner",
	       part->n_cases, cli_plural_s(part->n_cases));
	printf("%-22s %5s %6s %5s %6s %4s %4s %6s %5s %5s %5s\n", "model",
	       "mean", "median", "max", "bias", "<=10", ">20", "recall",
	       "prec.", "cover", "width");
	for (size_t i = 0; i < part->n_lines; i++)
		if (part->line[i].score.n)
			print_line(&part->line[i], part->n_cases);
	for (size_t i = 0; i < part->n_lines; i++)
		if (!part->line[i].score.n)
			printf("%-22s no prediction: %s\n", part->line[i].model,
			       part->line[i].why.text);
}

static void put_line(json_object *list, const struct score_line *line,
		     size_t n_cases)
{
	const struct np_score *score = &line->score;
	json_object *object = cli_append_object(list);

	cli_put_text(object, "model", line->model);
	if (!isnan(line->constant))
		cli_put_real(object, "constant", line->constant);
	cli_put_count(object, "cases", score->n);
	cli_put_real(object, "mean_error_points", score->mean_points);
	cli_put_real(object, "median_error_points", score->median_points);
	cli_put_real(object, "max_error_points", score->max_points);
	cli_put_real(object, "bias_points", score->bias_points);
	cli_put_real(object, "within_10_points", score->within_near);
	cli_put_real(object, "beyond_20_points", score->beyond_far);
	cli_put_real(object, "recall", score->recall);
	cli_put_real(object, "precision", score->precision);
	cli_put_count(object, "intervals", score->n_intervals);
	cli_put_real(object, "coverage", score->coverage);
	cli_put_real(object, "median_width_points", score->width_points);
	cli_put_real(object, "constant_error_points",
		     line->baseline.mean_points);
	if (line->why.text[0] && score->n < n_cases)
		cli_put_text(object, "why", line->why.text);
}

static void put_part(json_object *in, const struct file_part *part)
{
	json_object *object =
		cli_put_object(in, part->groups ? "groups" : "pairs");
	json_object *lines;

	cli_put_count(object, "cases", part->n_cases);
	lines = cli_put_array(object, "models");
	for (size_t i = 0; i < part->n_lines; i++)
		put_line(lines, &part->line[i], part->n_cases);
}

/* Add a case, with what one model predicts for it. */
static void put_case(json_object *list, const struct selected_case *selected,
		     const struct model_run *run)
{
	const struct np_program *app = selected->set->app;
	const struct np_prediction *prediction = &run->out[selected->row];
	json_object *object = cli_append_object(list), *co;

	cli_put_text(object, "set", selected->set->name);
	cli_put_text(object, "model", run->name);
	cli_put_text(object, "victim", app[selected->measured->victim].name);
	co = cli_put_array(object, "corunners");
	for (size_t i = 0; i < selected->measured->n_co; i++)
		cli_append_text(co, app[selected->measured->co[i]].name);
	cli_put_real(object, "measured", selected->measured->slowdown.mean);
	cli_put_real(object, "predicted", prediction->slowdown);
	cli_put_real(object, "low", prediction->low);
	cli_put_real(object, "high", prediction->high);
	cli_put_text(object, "flags", cli_flag_names(prediction->flags));
}

#define SCORE \
	"model|cases|mean_error_points|median_error_points|" \
	"max_error_points|bias_points|within_10_points|beyond_20_points|" \
	"recall|precision|coverage|median_width_points|constant_error_points"

static const struct cli_table of_models = {
	"File|Kind|Model|Cases|Mean|Median|Max|Bias|Within10|Beyond20|Recall|"
	"Precision|Coverage|Width|Constant",
	{
		{ "files pairs/models", "../file|=pair|" SCORE },
		{ "files groups/models", "../file|=group|" SCORE },
	},
};

static const struct cli_table of_cases = {
	"Set|Model|Victim|CoRunners|Measured|Predicted|Low|High|Flags",
	{ { "files predictions",
	    "set|model|victim|corunners|measured|predicted|low|high|flags" } },
};

/*
 * Print all files as one JSON document, or as rows: one for each model or, with
 * --cases, for each case and model.
 */
static int print_data(const struct accuracy_file *file, size_t n,
		      const struct accuracy_opt *opt, enum cli_format format)
{
	json_object *root = json_object_new_object();
	json_object *files = cli_put_array(root, "files"), *list;

	for (size_t i = 0; i < n; i++) {
		json_object *object = cli_append_object(files);

		cli_put_text(object, "file", file[i].path);
		for (size_t k = 0; k < file[i].n_parts; k++)
			put_part(object, &file[i].part[k]);
		if (!opt->cases)
			continue;
		list = cli_put_array(object, "predictions");
		for (size_t r = 0; r < file[i].n_runs; r++)
			for (size_t k = 0; k < file[i].n_selected; k++)
				put_case(list, &file[i].selected[k],
					 &file[i].run[r]);
	}
	return cli_print_output(format, "accuracy", root,
				opt->cases ? &of_cases : &of_models);
}

/*
 * Print one file as text: a summary of its contents, a table for each part and,
 * with --cases, the rows for each case.
 */
static void print_text(const struct accuracy_file *file,
		       const struct accuracy_opt *opt)
{
	size_t levels = 0, programs = 0;

	for (size_t i = 0; i < file->measured.n_sets; i++) {
		levels += file->measured.set[i].fabric.n_levels;
		programs += file->measured.set[i].n_apps;
	}
	printf("%s: %zu set%s, %zu program%s, %zu level%s\n", file->path,
	       file->measured.n_sets, cli_plural_s(file->measured.n_sets),
	       programs, cli_plural_s(programs), levels, cli_plural_s(levels));
	for (size_t i = 0; i < file->n_parts; i++) {
		printf("\n");
		print_part(&file->part[i]);
	}
	if (opt->cases) {
		printf("\n");
		print_data(file, 1, opt, CLI_PARSABLE);
	}
}

/* ---- command line ---- */

/*
 * Split the argument of an option at its commas, in place, and add the names to
 * a list. That must not be empty, nor have more than MAX_NAMES names.
 */
static int split_names(char *text, const char *option, struct names *list,
		       struct np_err *err)
{
	char *save = NULL, *name = strtok_r(text, ",", &save);

	for (; name && list->n < MAX_NAMES; name = strtok_r(NULL, ",", &save))
		list->name[list->n++] = name;
	return list->n && !name ?
		       0 :
		       np_errf(err, -EINVAL,
			       "--%s: expected names separated by commas",
			       option);
}

/* --model: "zero" is always the first model, so naming it changes nothing. */
static int take_models(char *text, void *to, struct np_err *err)
{
	struct accuracy_opt *opt = to;
	struct names list = { .n = 0 };

	opt->models_given = true;
	if (split_names(text, "model", &list, err))
		return -EINVAL;
	for (size_t i = 0; i < list.n; i++) {
		const struct np_model *model = np_model_find(list.name[i], err);

		if (!model)
			return -EINVAL;
		if (!strcmp(model->name, "zero"))
			continue;
		if (opt->n_models == MAX_NAMES)
			return np_errf(err, -EINVAL,
				       "--model: more than %d models",
				       MAX_NAMES);
		opt->model[opt->n_models++] = model;
	}
	return 0;
}

static int take_without(char *text, void *list, struct np_err *err)
{
	return split_names(text, "without", list, err);
}

static int take_only(char *text, void *list, struct np_err *err)
{
	return split_names(text, "only", list, err);
}

/* --up-to=PERCENT, stored as a fraction. */
static int take_up_to(char *text, void *to, struct np_err *err)
{
	struct accuracy_opt *opt = to;

	return np_percent_parse(text, &opt->up_to) ?
		       np_errf(err, -EINVAL,
			       "--up-to=%.64s: expected a percentage, such as "
			       "100%%",
			       text) :
		       0;
}

static int take_seed(char *text, void *to, struct np_err *err)
{
	struct accuracy_opt *opt = to;

	return np_whole_parse(text, UINT64_MAX, &opt->predict.seed) ?
		       np_errf(err, -EINVAL,
			       "--seed=%.40s: expected a whole number", text) :
		       0;
}

#define AT(member) offsetof(struct accuracy_opt, member)

static const struct np_option options[] = {
	{ "model", NP_OPTION_TAKE, .take = take_models },
	{ "without", NP_OPTION_TAKE, AT(without), .take = take_without },
	{ "only", NP_OPTION_TAKE, AT(only), .take = take_only },
	{ "up-to", NP_OPTION_TAKE, .take = take_up_to },
	{ "predictions", NP_OPTION_WORD, AT(predictions) },
	{ "cases", NP_OPTION_FLAG, AT(cases) },
	{ "seed", NP_OPTION_TAKE, .take = take_seed },
	{ "traces", NP_OPTION_WORD, AT(traces) },
	{ "latency", NP_OPTION_NS, AT(net.L_ns), .max = NP_LOGGPS_MAX },
	{ "per-byte", NP_OPTION_NS, AT(net.G_ns), .max = NP_LOGGPS_MAX },
	{ NULL },
};

static bool needs_traces(const struct accuracy_opt *opt)
{
	for (size_t i = 0; i < opt->n_models; i++)
		if (opt->model[i]->required & NP_DATA_TRACE)
			return true;
	return false;
}

/*
 * Read the options and complete the list of models. Returns -1 to go on, or
 * the exit status.
 */
static int parse_options(const struct cli_cmd *self, int argc, char **argv,
			 struct accuracy_opt *opt, struct cli_options *given)
{
	int rc;

	opt->model[opt->n_models++] = np_model_find("zero", NULL);
	rc = cli_options_parse(self, argc, argv, opt, given);
	if (rc >= 0)
		return rc;
	if (!opt->models_given && opt->predictions)
		opt->model[opt->n_models++] =
			np_model_find(NP_MODEL_DEFAULT, NULL);
	else if (!opt->models_given) /* all, the first of which is "zero" */
		for (size_t i = 1; i < np_n_models; i++)
			if (opt->traces ||
			    !(np_models[i].required & NP_DATA_TRACE))
				opt->model[opt->n_models++] = &np_models[i];
	if (isnan(opt->net.L_ns) != (opt->net.G_ns < 0))
		return cli_usage(
			self,
			"--latency and --per-byte: expected both or neither");
	if (opt->traces && !needs_traces(opt))
		return cli_usage(self,
				 "--traces has no effect with these models");
	if (!opt->traces && opt->net.G_ns >= 0)
		return cli_usage(self, "--latency and --per-byte have no "
				       "effect without --traces");
	if (opt->traces && opt->net.G_ns < 0)
		cli_loggps_net(&opt->net, &opt->net_note);
	return -1;
}

/*
 * As JSON or rows, all files form one document; as text, each its own. Returns
 * the exit status.
 */
static int print_files(const struct accuracy_file *file, size_t n,
		       const struct accuracy_opt *opt, enum cli_format format)
{
	if (format)
		return print_data(file, n, opt, format);
	for (size_t i = 0; i < n; i++) {
		if (i)
			printf("\n");
		print_text(&file[i], opt);
	}
	return CLI_DONE;
}

static int run_accuracy(const struct cli_cmd *self, int argc, char **argv)
{
	/* strict: no fallback to another model, which has its own line. */
	struct accuracy_opt opt = {
		.predict = { .replicates = REPLICATES,
			     .seed = 1,
			     .strict = true },
		.up_to = INFINITY,
		.net = { .L_ns = NAN, .G_ns = -1, .S = NP_LOGGPS_NO_RENDEZVOUS },
	};
	struct np_err err = NP_ERR_INIT;
	struct cli_options given;
	struct accuracy_file *file;
	int rc = parse_options(self, argc, argv, &opt, &given);

	if (rc >= 0)
		return rc;
	file = cli_calloc(given.n_apps, sizeof(*file));
	rc = 0;
	if (opt.predictions)
		rc = cli_predictions_read(opt.predictions, &opt.external, &err);
	for (size_t i = 0; !rc && i < given.n_apps; i++)
		rc = score_file(given.apps[i], &opt, &file[i], &err);
	if (!rc && *opt.net_note.text)
		cli_warn_line(opt.net_note.text, NULL);
	if (rc)
		rc = cli_fail("%s", err.text);
	else
		rc = print_files(file, given.n_apps, &opt, given.format);
	for (size_t i = 0; i < given.n_apps; i++)
		file_release(&file[i]);
	free(file);
	cli_predictions_free(&opt.external);
	return rc;
}

const struct cli_cmd cmd_accuracy = {
	.name = "accuracy",
	.args = "[OPTION]... FILE...",
	.help = "compare the models with measured pairs of programs",
	.text = "Predicts every pair of programs in FILE, netprof-pairs(5), with each model,\n"
		"and compares the predictions with the measurements.\n\n"
		"  --model=M,...      only these models; the model zero is always included\n"
		"  --without=APP,...  exclude cases with one of these programs\n"
		"  --only=APP,...     only cases with one of these programs\n"
		"  --up-to=PERCENT    only cases with at most this measured slowdown\n"
		"  --predictions=FILE  also score the predictions in FILE. Each line has a\n"
		"                     victim, a co-runner, the slowdown in percent and,\n"
		"                     optionally, the two ends of a 90 % interval. Of the\n"
		"                     models, only " NP_MODEL_DEFAULT
		" is scored with them, unless\n"
		"                     --model names others\n"
		"  --cases            also list each case with its predictions\n"
		"  --traces=DIR       DIR/APP is the trace or execution graph of a program, for\n"
		"                     models that need one\n"
		"  --latency=TIME, --per-byte=TIME\n"
		"                     latency and time per byte of the network on which the\n"
		"                     traces were recorded (default: what netprof loggps\n"
		"                     measured)\n"
		"  --seed=N           seed of the bootstrap that makes the intervals\n"
		"  --json, --parsable output for programs; --parsable separates fields by |\n\n"
		"Errors are percentage points of slowdown: mean, median and max of the absolute\n"
		"error, and bias (predicted minus measured). <=10, >20: share of the cases with\n"
		"an absolute error up to 10 points, and beyond 20. recall, prec.: recall and\n"
		"precision in finding cases slowed by 10 % or more. cover: share of the 90 %\n"
		"intervals that contain the measured value; width: their median width in points.\n"
		"\"constant\" is the best constant for all cases, chosen from the measured values\n"
		"themselves. In brackets, where not all cases could be predicted: how many\n"
		"could, and the mean error of the best constant for these.",
	.examples =
		"  netprof accuracy doc/validation/pairs/main.json\n"
		"  netprof accuracy --model=mutual,queue --cases results.pairs.json\n",
	.takes = CLI_TAKES_FORMAT,
	.own = options,
	.required_arg = "a file of measured pairs (see netprof-pairs(5))",
	.max_args = CLI_ANY,
	.run = run_accuracy,
};

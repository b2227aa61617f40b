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

#include "cli_json_put.h"
#include "cli_loggps.h"
#include "cli_options.h"
#include "cli_predictions.h"
#include "cli_print.h"
#include "cli_text.h"
#include "cli_analysis.h"
#include "np_accuracy.h"
#include "np_evaluate.h"
#include "np_measured.h"
#include "np_model.h"
#include "np_option.h"

#define MAX_NAMES 64 /* in the list of one option */

/*
 * Bootstrap replicates of each interval. This command need not be fast and uses
 * more than others: with fewer, the coverage is only known to a few percent.
 */
#define REPLICATES 200

struct names {
	const char *name[MAX_NAMES];
	size_t n;
};

struct accuracy_opt {
	const struct np_model *model[MAX_NAMES];
	size_t n_models;
	struct names without; /* no case with one of these programs */
	struct names only;    /* only cases with one of these programs */
	double up_to; /* largest measured slowdown, fraction; infinite: any */
	struct np_predict_opt predict;
	bool cases; /* list every case */
	const char *predictions; /* file of external predictions, or NULL */
	struct cli_predictions external; /* contents of that file */
	const char *traces; /* directory with a trace per program, or NULL */
	struct np_loggps net; /* where the traces ran; G_ns < 0: unknown */
};

/* One row of output: a model, or the best constant, over one part of a file. */
struct score_line {
	const char *model;
	double constant; /* NaN for a model */
	struct np_score score;
	struct np_score baseline; /* of the best constant for the same cases */
	struct np_err why; /* why the first case has no prediction, or "" */
};

/* The cases with one co-runner, or those with several ("groups"). */
struct file_part {
	bool groups;
	size_t n_cases;
	struct score_line line[MAX_NAMES + 2];
	size_t n_lines;
};

/* A case that the options select. */
struct selected_case {
	const struct np_measured_set *set;
	const struct np_measured_case *c;
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
	struct cli_traced *traced; /* one per program of each set, or NULL */
	struct selected_case *selected;
	size_t n_selected;
	struct model_run run[MAX_NAMES + 1];
	size_t n_runs;
	struct file_part part[2];
	size_t n_parts;
};

/* ---- cases and predictions ---- */

static bool listed(const char *name, const struct names *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(name, list->name[i]))
			return true;
	return false;
}

/* Is one of these programs the victim or a co-runner of the case? */
static bool involves(const struct np_measured_set *s,
		     const struct np_measured_case *c, const struct names *list)
{
	if (listed(s->app[c->victim].name, list))
		return true;
	for (size_t i = 0; i < c->n_co; i++)
		if (listed(s->app[c->co[i]].name, list))
			return true;
	return false;
}

/* Do the options --up-to, --without and --only leave this case in? */
static bool is_selected(const struct accuracy_opt *opt,
			const struct np_measured_set *s,
			const struct np_measured_case *c)
{
	return c->slowdown.mean <= opt->up_to &&
	       !involves(s, c, &opt->without) &&
	       (!opt->only.n || involves(s, c, &opt->only));
}

/* Does any set of the file have a program of this name? */
static bool known_name(const struct np_measured *m, const char *name)
{
	for (size_t i = 0; i < m->n_sets; i++)
		for (size_t a = 0; a < m->set[i].n_apps; a++)
			if (!strcmp(m->set[i].app[a].name, name))
				return true;
	return false;
}

/*
 * A name that no set has is probably mistyped, and would silently select
 * nothing or everything.
 */
static int check_names(const struct accuracy_file *f, const struct names *list,
		       struct np_err *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (!known_name(&f->measured, list->name[i]))
			return np_errf(err, -EINVAL, "%s: no program \"%s\"",
				       f->path, list->name[i]);
	return 0;
}

/*
 * Read DIR/NAME, a trace or an execution graph, for each program, if a model
 * needs traces.
 */
static int read_traces(struct accuracy_file *f, const struct accuracy_opt *opt,
		       struct np_err *err)
{
	const struct np_loggps *net = opt->net.G_ns < 0 ? NULL : &opt->net;
	unsigned needs = 0;
	size_t n = 0;

	for (size_t i = 0; i < opt->n_models; i++)
		needs |= opt->model[i]->needs;
	if (!(needs & NP_NEED_TRACE))
		return 0;
	for (size_t i = 0; i < f->measured.n_sets; i++)
		n += f->measured.set[i].n_apps;
	f->traced = calloc(n + 1, sizeof(*f->traced));
	n = 0;
	if (!f->traced)
		return np_errf(err, -ENOMEM, "%s: out of memory", f->path);
	for (size_t i = 0; i < f->measured.n_sets; i++) {
		struct np_measured_set *s = &f->measured.set[i];

		for (size_t a = 0; a < s->n_apps; a++) {
			struct cli_traced *t = &f->traced[n++];
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "%s/%s", opt->traces,
				 s->app[a].name);
			cli_traced_attach(path, geteuid(), net, t, &s->app[a]);
		}
	}
	return 0;
}

/*
 * The number of measured cases in all sets, selected or not. Predictions are
 * made for all of them, in this order.
 */
static size_t count_rows(const struct accuracy_file *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->measured.n_sets; i++)
		n += f->measured.set[i].n_rows;
	return n;
}

/* List the selected cases, each with its index among all rows. */
static int select_cases(struct accuracy_file *f,
			const struct accuracy_opt *opt, struct np_err *err)
{
	size_t row = 0;

	f->selected = calloc(count_rows(f) + 1, sizeof(*f->selected));
	if (!f->selected)
		return np_errf(err, -ENOMEM, "%s: out of memory", f->path);
	for (size_t i = 0; i < f->measured.n_sets; i++) {
		const struct np_measured_set *s = &f->measured.set[i];

		for (size_t k = 0; k < s->n_rows; k++, row++)
			if (is_selected(opt, s, &s->row[k]))
				f->selected[f->n_selected++] =
					(struct selected_case){ s, &s->row[k],
								row };
	}
	return 0;
}

/* Predict all rows of all sets with one model. */
static int run_model(struct accuracy_file *f, const struct np_model *model,
		     const struct np_predict_opt *opt, struct np_err *err)
{
	struct model_run *r = &f->run[f->n_runs++];
	size_t n = count_rows(f), row = 0;
	int *rcs = calloc(n + 1, sizeof(*rcs)), rc = 0;

	r->name = model->name;
	r->out = calloc(n + 1, sizeof(*r->out));
	if (!r->out || !rcs)
		rc = np_errf(err, -ENOMEM, "%s: out of memory", f->path);
	for (size_t i = 0; !rc && i < f->measured.n_sets; i++) {
		const struct np_measured_set *s = &f->measured.set[i];

		rc = np_evaluate(s, model, opt, &r->out[row], rcs, &r->why,
				 err);
		row += s->n_rows;
	}
	free(rcs);
	return rc;
}

/*
 * Take the predictions of the external file. It holds pairs only: cases with
 * several co-runners, and pairs that it lacks, stay without a prediction.
 */
static int run_external(struct accuracy_file *f, const struct accuracy_opt *opt,
			struct np_err *err)
{
	struct model_run *r = &f->run[f->n_runs++];
	size_t row = 0;

	r->name = basename(opt->predictions);
	r->out = calloc(count_rows(f) + 1, sizeof(*r->out));
	if (!r->out)
		return np_errf(err, -ENOMEM, "%s: out of memory", f->path);
	np_errf(&r->why, -ENODATA, "the file has none of these pairs");
	for (size_t i = 0; i < f->measured.n_sets; i++) {
		const struct np_measured_set *s = &f->measured.set[i];

		for (size_t k = 0; k < s->n_rows; k++, row++) {
			const struct np_measured_case *c = &s->row[k];
			const struct cli_predicted *p = c->n_co != 1 ? NULL :
				cli_predictions_find(&opt->external,
						     s->app[c->victim].name,
						     s->app[c->co[0]].name);

			r->out[row].slowdown = p ? p->slowdown : NAN;
			r->out[row].low = p ? p->low : NAN;
			r->out[row].high = p ? p->high : NAN;
		}
	}
	return 0;
}

/* An external prediction for a program that the file lacks is a mistake. */
static int check_external(const struct accuracy_file *f,
			  const struct accuracy_opt *opt, struct np_err *err)
{
	for (size_t i = 0; i < opt->external.n; i++) {
		const struct cli_predicted *p = &opt->external.row[i];
		const char *both[] = { p->victim, p->co };

		for (size_t k = 0; k < NP_ARRAY_SIZE(both); k++)
			if (!known_name(&f->measured, both[k]))
				return np_errf(err, -EINVAL, "%s: \"%s\": "
					       "expected a program of %s",
					       opt->predictions, both[k],
					       f->path);
	}
	return 0;
}

/* ---- scores ---- */

/*
 * Fill to[] with the selected cases of one part and what run predicts of them.
 * run NULL: only what was measured. Returns their number.
 */
static size_t collect_part(const struct accuracy_file *f,
			   const struct model_run *run, bool groups,
			   struct np_scored *to)
{
	static const struct np_prediction none;
	size_t n = 0;

	for (size_t i = 0; i < f->n_selected; i++) {
		const struct selected_case *c = &f->selected[i];

		if ((c->c->n_co > 1) == groups)
			to[n++] = np_evaluate_scored(
				run ? &run->out[c->row] : &none, c->c);
	}
	return n;
}

/*
 * Score the constant that fits all cases best. It is chosen from the measured
 * values themselves; a model with larger errors is useless for them.
 */
static int score_constant(const struct np_scored *s, size_t n,
			  struct score_line *line)
{
	int rc = np_accuracy_score_constant(s, n, &line->constant,
					    &line->score);

	line->model = "best constant";
	line->baseline = line->score;
	return rc;
}

/*
 * Score a model and, over the cases that it predicts, the constant that fits
 * these best.
 */
static int score_model(const struct np_scored *s, size_t n,
		       const struct model_run *run, struct score_line *line)
{
	double constant;
	int rc = np_accuracy_score(s, n, &line->score);

	line->model = run->name;
	line->constant = NAN;
	line->why = run->why;
	return rc ? rc : np_accuracy_score_constant(s, n, &constant,
						    &line->baseline);
}

/*
 * Score all models on the cases with one co-runner, or on those with several.
 * A file without such cases gets no part. s[] is scratch space for all
 * selected cases.
 */
static int score_part(struct accuracy_file *f, bool groups,
		      struct np_scored *s)
{
	struct file_part *p = &f->part[f->n_parts];
	size_t n = collect_part(f, NULL, groups, s);
	int rc;

	if (!n)
		return 0;
	f->n_parts++;
	p->groups = groups;
	p->n_cases = n;
	rc = score_constant(s, n, &p->line[p->n_lines++]);
	for (size_t i = 0; !rc && i < f->n_runs; i++) {
		n = collect_part(f, &f->run[i], groups, s);
		rc = score_model(s, n, &f->run[i], &p->line[p->n_lines++]);
	}
	return rc;
}

/*
 * Load a file, predict its cases and score the predictions. Returns 0 or
 * -errno with err; f is to be released in either case.
 */
static int score_file(const char *path, const struct accuracy_opt *opt,
		      struct accuracy_file *f, struct np_err *err)
{
	struct np_scored *s = NULL;
	int rc;

	*f = (struct accuracy_file){ .path = path };
	rc = np_measured_load(path, &f->measured, err);
	if (!rc)
		rc = check_names(f, &opt->without, err);
	if (!rc)
		rc = check_names(f, &opt->only, err);
	if (!rc && opt->traces)
		rc = read_traces(f, opt, err);
	if (!rc)
		rc = select_cases(f, opt, err);
	if (!rc && opt->predictions)
		rc = check_external(f, opt, err);
	if (!rc && opt->predictions)
		rc = run_external(f, opt, err);
	for (size_t i = 0; !rc && i < opt->n_models; i++)
		rc = run_model(f, opt->model[i], &opt->predict, err);
	if (rc)
		return rc;
	s = calloc(f->n_selected + 1, sizeof(*s));
	if (!s || score_part(f, false, s) || score_part(f, true, s))
		rc = np_errf(err, -ENOMEM, "%s: out of memory", path);
	free(s);
	if (!rc && !f->n_parts)
		rc = np_errf(err, -ENODATA, "%s: no measured case is left to "
			     "compare with", path);
	return rc;
}

/* Also releases a file that score_file() failed on. */
static void file_release(struct accuracy_file *f)
{
	for (size_t r = 0; r < f->n_runs; r++)
		free(f->run[r].out);
	free(f->traced);
	free(f->selected);
	np_measured_free(&f->measured);
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
 * One row of the table. Shares that are undefined, such as the recall when no
 * case was slowed, are "-". If some cases were not predicted, the number of the
 * others is added, and the mean error of the best constant for these.
 */
static void print_line(const struct score_line *l, size_t n_cases)
{
	const struct np_score *s = &l->score;
	char name[32];

	snprintf(name, sizeof(name), "%s", l->model);
	if (!isnan(l->constant))
		snprintf(name, sizeof(name), "constant %.1f", 100 *
			 l->constant);
	printf("%-22s %5.1f %6.1f %5.1f %+6.1f", name, s->mean_points,
	       s->median_points, s->max_points, s->bias_points);
	print_percent(s->within_near, 4);
	print_percent(s->beyond_far, 4);
	print_percent(s->recall, 6);
	print_percent(s->precision, 5);
	print_percent(s->coverage, 5);
	if (s->n_intervals)
		printf(" %5.1f", s->width_points);
	else
		printf(" %5s", "-");
	if (s->n < n_cases)
		printf(" (%zu, constant %.1f)", s->n,
		       l->baseline.mean_points);
	printf("\n");
}

/*
 * The table of one part: first the models with scores, then those without a
 * single prediction, each with the reason.
 */
static void print_part(const struct file_part *p)
{
	printf("%s: %zu case%s\n",
	       p->groups ? "Several co-runners" : "One co-runner",
	       p->n_cases, cli_s(p->n_cases));
	printf("%-22s %5s %6s %5s %6s %4s %4s %6s %5s %5s %5s\n", "model",
	       "mean", "median", "max", "bias", "<=10", ">20", "recall",
	       "prec.", "cover", "width");
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->line[i].score.n)
			print_line(&p->line[i], p->n_cases);
	for (size_t i = 0; i < p->n_lines; i++)
		if (!p->line[i].score.n)
			printf("%-22s no prediction: %s\n", p->line[i].model,
			       p->line[i].why.text);
}

static void put_line(json_object *list, const struct score_line *l)
{
	const struct np_score *s = &l->score;
	json_object *o = cli_append_object(list);

	cli_put_text(o, "model", l->model);
	if (!isnan(l->constant))
		cli_put_real(o, "constant", l->constant);
	cli_put_count(o, "cases", s->n);
	cli_put_real(o, "mean_error_points", s->mean_points);
	cli_put_real(o, "median_error_points", s->median_points);
	cli_put_real(o, "max_error_points", s->max_points);
	cli_put_real(o, "bias_points", s->bias_points);
	cli_put_real(o, "within_10_points", s->within_near);
	cli_put_real(o, "beyond_20_points", s->beyond_far);
	cli_put_real(o, "recall", s->recall);
	cli_put_real(o, "precision", s->precision);
	cli_put_count(o, "intervals", s->n_intervals);
	cli_put_real(o, "coverage", s->coverage);
	cli_put_real(o, "median_width_points", s->width_points);
	cli_put_real(o, "constant_error_points", l->baseline.mean_points);
	if (l->why.text[0])
		cli_put_text(o, "why", l->why.text);
}

static void put_part(json_object *in, const struct file_part *p)
{
	json_object *o = cli_put_object(in, p->groups ? "groups" : "pairs");
	json_object *lines;

	cli_put_count(o, "cases", p->n_cases);
	lines = cli_put_array(o, "models");
	for (size_t i = 0; i < p->n_lines; i++)
		put_line(lines, &p->line[i]);
}

/* One case as one model predicts it. */
static void put_case(json_object *list, const struct selected_case *k,
		     const struct model_run *r)
{
	const struct np_program *app = k->set->app;
	const struct np_prediction *p = &r->out[k->row];
	json_object *o = cli_append_object(list), *co;
	char flags[256];

	cli_put_text(o, "set", k->set->name);
	cli_put_text(o, "model", r->name);
	cli_put_text(o, "victim", app[k->c->victim].name);
	co = cli_put_array(o, "corunners");
	for (size_t i = 0; i < k->c->n_co; i++)
		cli_append_text(co, app[k->c->co[i]].name);
	cli_put_real(o, "measured", k->c->slowdown.mean);
	cli_put_real(o, "predicted", p->slowdown);
	cli_put_real(o, "low", p->low);
	cli_put_real(o, "high", p->high);
	cli_put_text(o, "flags", cli_flag_names(p->flags, flags,
						sizeof(flags)));
}

static void put_cases(json_object *in, const struct accuracy_file *f)
{
	json_object *all = cli_put_array(in, "predictions");

	for (size_t r = 0; r < f->n_runs; r++)
		for (size_t i = 0; i < f->n_selected; i++)
			put_case(all, &f->selected[i], &f->run[r]);
}

#define SCORE "model|cases|mean_error_points|median_error_points|" \
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
 * All files in one tree of values, as JSON or as rows: one row for each model
 * or, with --cases, for each case and model.
 */
static int print_data(const struct accuracy_file *f, size_t n,
		      const struct accuracy_opt *opt, enum cli_format format)
{
	json_object *j = json_object_new_object();
	json_object *files = cli_put_array(j, "files");

	for (size_t i = 0; i < n; i++) {
		json_object *o = cli_append_object(files);

		cli_put_text(o, "file", f[i].path);
		for (size_t k = 0; k < f[i].n_parts; k++)
			put_part(o, &f[i].part[k]);
		if (opt->cases)
			put_cases(o, &f[i]);
	}
	return cli_print_output(format, "accuracy", j,
				opt->cases ? &of_cases : &of_models);
}

/*
 * One file as text: a summary of its contents, a table for each part and, with
 * --cases, the rows for each case.
 */
static void print_text(const struct accuracy_file *f,
		       const struct accuracy_opt *opt)
{
	size_t levels = 0, programs = 0;

	for (size_t i = 0; i < f->measured.n_sets; i++) {
		levels += f->measured.set[i].fabric.n_levels;
		programs += f->measured.set[i].n_apps;
	}
	printf("%s: %zu set%s, %zu program%s, %zu level%s\n", f->path,
	       f->measured.n_sets, cli_s(f->measured.n_sets),
	       programs, cli_s(programs), levels,
	       cli_s(levels));
	for (size_t i = 0; i < f->n_parts; i++) {
		printf("\n");
		print_part(&f->part[i]);
	}
	if (opt->cases) {
		printf("\n");
		print_data(f, 1, opt, CLI_PARSABLE);
	}
}

/* ---- command line ---- */

/*
 * Add the list that an option has, which is split at its commas, in place. A
 * list must not be empty, and must not have more than MAX_NAMES names.
 */
static int split(char *text, const char *option, struct names *list,
		 struct np_err *err)
{
	char *save = NULL, *w = strtok_r(text, ",", &save);

	for (; w && list->n < MAX_NAMES; w = strtok_r(NULL, ",", &save))
		list->name[list->n++] = w;
	return list->n && !w ? 0 :
	       np_errf(err, -EINVAL, "--%s: expected names separated by "
		       "commas", option);
}

/*
 * --model: "zero" is always the first in the list, so naming it changes
 * nothing.
 */
static int take_models(char *text, void *to, struct np_err *err)
{
	struct accuracy_opt *opt = to;
	struct names list = { .n = 0 };

	if (split(text, "model", &list, err))
		return -EINVAL;
	for (size_t i = 0; i < list.n; i++) {
		const struct np_model *m = np_model_find(list.name[i], err);

		if (!m)
			return -EINVAL;
		if (!strcmp(m->name, "zero"))
			continue; /* always the first of the list */
		if (opt->n_models == MAX_NAMES)
			return np_errf(err, -EINVAL, "--model: more than %d "
				       "models", MAX_NAMES);
		opt->model[opt->n_models++] = m;
	}
	return 0;
}

static int take_without(char *text, void *list, struct np_err *err)
{
	return split(text, "without", list, err);
}

static int take_only(char *text, void *list, struct np_err *err)
{
	return split(text, "only", list, err);
}

/* --up-to=PERCENT, stored as a fraction. */
static int take_up_to(char *text, void *to, struct np_err *err)
{
	struct accuracy_opt *opt = to;

	return np_percent_parse(text, &opt->up_to) ?
	       np_errf(err, -EINVAL, "--up-to=%.64s: expected a percentage, "
		       "such as 100%%", text) : 0;
}

static int take_seed(char *text, void *to, struct np_err *err)
{
	struct accuracy_opt *opt = to;

	return np_whole_parse(text, UINT64_MAX, &opt->predict.seed) ?
	       np_errf(err, -EINVAL, "--seed=%.40s: expected a whole number",
		       text) : 0;
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

/* All models; those that need traces only if traces were given. */
static void add_all_models(struct accuracy_opt *opt)
{
	for (size_t i = 1; i < np_n_models; i++)
		if (opt->traces || !(np_models[i].needs & NP_NEED_TRACE))
			opt->model[opt->n_models++] = &np_models[i];
}

/*
 * Read the options and complete the list of models. Returns -1 to go on, or
 * the exit status.
 */
static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct accuracy_opt *opt, struct cli_options *o)
{
	int rc;

	opt->model[opt->n_models++] = np_model_find("zero", NULL);
	rc = cli_options_parse(self, argc, argv, opt, o);
	if (rc >= 0)
		return rc;
	if (opt->n_models == 1 && opt->predictions)
		opt->model[opt->n_models++] =
			np_model_find(NP_MODEL_DEFAULT, NULL);
	else if (opt->n_models == 1)
		add_all_models(opt);
	if (isnan(opt->net.L_ns) != (opt->net.G_ns < 0))
		return cli_usage(self, "--latency and --per-byte: expected "
				 "both or neither");
	if (!opt->traces && opt->net.G_ns >= 0)
		return cli_usage(self, "--latency and --per-byte have no "
				 "effect without --traces");
	if (opt->traces && opt->net.G_ns < 0)
		cli_loggps_net(&opt->net);
	return -1;
}

/*
 * With --json and the like all files form one document; as text they follow
 * each other.
 */
static void print_files(const struct accuracy_file *f, size_t n,
			const struct accuracy_opt *opt, enum cli_format format)
{
	if (format)
		print_data(f, n, opt, format);
	for (size_t i = 0; !format && i < n; i++) {
		if (i)
			printf("\n");
		print_text(&f[i], opt);
	}
}

static int run_accuracy(const struct cli_cmd *self, int argc, char **argv)
{
	/*
	 * strict: no fallback to another model, which has a line of its own.
	 */
	struct accuracy_opt opt = {
		.predict = { .replicates = REPLICATES, .seed = 1,
			     .strict = true },
		.up_to = INFINITY,
		.net = { .L_ns = NAN, .G_ns = -1,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
	};
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	struct accuracy_file *f;
	int rc = parse(self, argc, argv, &opt, &o);

	if (rc >= 0)
		return rc;
	f = calloc(o.n_apps, sizeof(*f));
	rc = f ? 0 : np_errf(&err, -ENOMEM, "out of memory");
	if (!rc && opt.predictions)
		rc = cli_predictions_read(opt.predictions, &opt.external,
					  &err);
	for (size_t i = 0; !rc && i < o.n_apps; i++)
		rc = score_file(o.apps[i], &opt, &f[i], &err);
	if (rc)
		rc = cli_fail("%s", err.text);
	else
		print_files(f, o.n_apps, &opt, o.format);
	for (size_t i = 0; f && i < o.n_apps; i++)
		file_release(&f[i]);
	free(f);
	cli_predictions_free(&opt.external);
	return rc;
}

const struct cli_cmd cmd_accuracy = {
	.name = "accuracy",
	.args = "[OPTION]... FILE...",
	.help = "compare the models with measured pairs of programs",
	.text =
"Predicts every pair of programs in FILE, netprof-pairs(5), with each model,\n"
"and compares the predictions with the measurements.\n\n"
"  --model=M,...      only these models; the model zero is always included\n"
"  --without=APP,...  exclude cases with one of these programs\n"
"  --only=APP,...     only cases with one of these programs\n"
"  --up-to=PERCENT    only cases with at most this measured slowdown\n"
"  --predictions=FILE  also score the predictions in FILE. Each line has a\n"
"                     victim, a co-runner, the slowdown in percent and,\n"
"                     optionally, the two ends of a 90 % interval. Of the\n"
"                     models, only " NP_MODEL_DEFAULT " is scored with them, unless\n"
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
"error, and bias (predicted minus measured).  <=10, >20: share of the cases with\n"
"an absolute error up to 10 points, and beyond 20.  recall, prec.: recall and\n"
"precision in finding cases slowed by 10 % or more.  cover: share of the 90 %\n"
"intervals that contain the measured value; width: their median width in points.\n"
"\"constant\" is the best constant for all cases, chosen from the measured values\n"
"themselves.  In brackets, where not all cases could be predicted: how many\n"
"could, and the mean error of the best constant for these.",
	.examples =
"  netprof accuracy doc/validation/pairs/main.json\n"
"  netprof accuracy --model=mutual,queue --cases results.pairs.json\n",
	.takes = CLI_TAKES_FORMAT, .own = options,
	.missing = "a file of measured pairs, netprof-pairs(5)", .most = CLI_ANY,
	.run = run_accuracy,
};

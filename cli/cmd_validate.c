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
 * The victim of a pair is timed; its co-runner is restarted whenever it ends
 * while the victim runs.  Each run is saved as soon as it has ended, so that
 * the command can be stopped and started again, also in another allocation.
 *
 * Once everything is measured, the command compares the pairs with the
 * predictions and needs no allocation.  Slowdowns are fractions; errors are
 * printed in percentage points.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

struct validate {
	struct cli_program_list list;
	uint32_t repeats; /* runs of each pair */
	const char *path; /* file of the results */
	bool no_store;	  /* the profile store cannot be written */
	struct np_pairs pairs;

	struct np_validate_result result; /* of pairs */
	/*
	 * Predictions, at [victim * list.n + co-runner]; NaN where there is
	 * none.
	 */
	struct np_prediction *prediction;
	struct np_score score, constant_score;
	double constant; /* the constant slowdown that fits the pairs best */
};

#define MAX_REPEATS 20 /* --repeats */

/* The options of the command. */
struct validate_options {
	uint32_t repeats;
	bool fresh, dry_run;
};

/*
 * Put the measured pairs of a victim into the store, where netprof predict and
 * matrix find them.  The file of results is complete without that, so a failure
 * is reported once and does not end the command.
 */
static void store_pairs(struct validate *v, const char *victim)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_store s;

	if (v->no_store)
		return;
	v->no_store = cli_store_open(&s) >= 0;
	if (v->no_store)
		return;
	v->no_store = np_pairs_store_save(s.store, &v->pairs, victim, &err);
	cli_store_close(&s);
	if (v->no_store)
		cli_fail("the measured pairs are only in %s, not in the "
			 "profile store: %s", v->path, err.text);
}

/* Write the file, completely or not at all.  Returns 0 or -errno with err. */
static int pairs_save(const char *path, const struct np_pairs *p,
		      struct np_err *err)
{
	char *text = NULL;
	int rc = np_pairs_format(p, &text, err);

	if (!rc)
		rc = np_file_write_path(path, text, strlen(text), 0644, err);
	free(text);
	return rc;
}

/*
 * Read a file that pairs_save() wrote.  Returns 0, or with err what
 * np_pairs_parse() or reading it returned.
 */
static int pairs_load(const char *path, struct np_pairs *out,
		      struct np_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = np_read_file(path, NP_PAIRS_MAX_BYTES, &text, &len, err);

	if (!rc)
		rc = np_pairs_parse(text, len, path, out, err);
	free(text);
	return rc;
}

/* Called after each run.  Pairs also go into the profile store. */
static int save_run(void *arg, const struct np_pairs_run *last,
		    struct np_err *err)
{
	struct validate *v = arg;
	int rc = pairs_save(v->path, &v->pairs, err);

	if (!rc && last->corunner)
		store_pairs(v, last->victim);
	return rc;
}

/* ---- text ---- */

#define MAX_LISTED 5 /* pairs in the table */
#define NAME_COLUMNS 13 /* width of a program's name */

static const char *name_of(const struct validate *v, size_t i)
{
	return v->list.program[i].name;
}

static const struct np_mean *measured(const struct validate *v, size_t i)
{
	return &v->result.pair[i].slowdown;
}

/* Was the pair measured and predicted? */
static bool has_both(const struct validate *v, size_t i)
{
	return measured(v, i)->n && !isnan(v->prediction[i].slowdown);
}

/* Predicted minus measured slowdown, a fraction. */
static double error_of(const struct validate *v, size_t i)
{
	return v->prediction[i].slowdown - measured(v, i)->mean;
}

/* A share as a percentage, or that it is not known. */
static const char *share_text(double part, char buf[CLI_NUMBER])
{
	if (isnan(part))
		return "not known";
	return cli_percent(part, buf);
}

/* Measured pairs of which nothing is known on two leaf switches. */
static size_t count_uncontrolled(const struct validate *v)
{
	size_t n = v->list.n, without = 0;

	for (size_t i = 0; i < n * n; i++)
		without += measured(v, i)->n && !v->result.pair[i].apart.n;
	return without;
}

/* What was measured, and how well runs repeat. */
static void print_measured(const struct validate *v)
{
	const struct np_validate_result *r = &v->result;
	const struct np_pairs_place *p = &v->pairs.place;
	size_t without = count_uncontrolled(v);
	char day[CLI_NUMBER], others[64] = "";

	if (without)
		snprintf(others, sizeof(others), "; %zu pair%s none", without,
			 without == 1 ? " has" : "s have");

	cli_labelled(stdout, "Measured", "%zu pair%s of %zu program%s on "
		     "leaf switch %s: %s with %s, last on %s", r->n_pairs,
		     cli_s(r->n_pairs), v->list.n,
		     cli_s(v->list.n),
		     p->leaf ? p->leaf : "(no topology)",
		     p->victim_nodes ? p->victim_nodes : "?",
		     p->corunner_nodes ? p->corunner_nodes : "?",
		     cli_day(v->pairs.date, day));
	if (r->n_repeated)
		cli_labelled(stdout, "Repeats", "two runs of a pair differ by "
			     "%.1f percentage points on average (%zu pair%s)",
			     r->repeat_points, r->n_repeated,
			     cli_s(r->n_repeated));
	if (r->n_controls)
		cli_labelled(stdout, "Controls", "on two leaf switches %zu "
			     "pair%s differ%s from running alone by %.1f %% on "
			     "average, at most %.1f %%; this is subtracted%s",
			     r->n_controls, cli_s(r->n_controls),
			     r->n_controls == 1 ? "s" : "",
			     100 * r->control_mean, 100 * r->control_most,
			     others);
	else
		cli_labelled(stdout, "Controls", "none: the effect of anything "
			     "else that pairs share is attributed to the leaf "
			     "switch");
}

/* How much the runs alone of each program differ. */
static void print_drift(const struct validate *v)
{
	char line[1024] = "";

	for (size_t i = 0; i < v->list.n; i++)
		if (!isnan(v->result.app[i].drift))
			cli_add(line, sizeof(line), "%s%s %.1f %%",
				*line ? ", " : "", name_of(v, i),
				100 * v->result.app[i].drift);
	if (*line)
		cli_labelled(stdout, "Drift", "runs alone, longest minus "
			     "shortest: %s", line);
}

/* Pairs that differ even without a common switch. */
static void print_rejected(const struct validate *v)
{
	size_t n = v->list.n;

	for (size_t i = 0; i < n * n; i++)
		if (v->result.pair[i].rejected)
			cli_labelled(stdout, "Rejected", "%s with %s: %+.1f "
				     "%% on two leaf switches, where they "
				     "share none", name_of(v, i / n),
				     name_of(v, i % n), 100 *
				     v->result.pair[i].apart.mean);
}

/* Pairs whose two runs differ too much to be trusted. */
static void print_unsteady(const struct validate *v)
{
	size_t n = v->list.n;
	char again[64] = "";

	if (v->repeats < MAX_REPEATS)
		snprintf(again, sizeof(again), "; --repeats=%u runs all pairs "
			 "once more", v->repeats + 1);
	for (size_t i = 0; i < n * n; i++)
		if (v->result.pair[i].between > NP_VALIDATE_REPEAT_MOST)
			cli_labelled(stdout, "Unsteady", "%s with %s: two "
				     "runs differ by %.0f percentage points%s",
				     name_of(v, i / n), name_of(v, i % n),
				     100 * v->result.pair[i].between, again);
}

/* Pairs that were measured but not predicted.  *first: one of them. */
static size_t count_unpredicted(const struct validate *v, size_t *first)
{
	size_t n = v->list.n, missing = 0;

	for (size_t i = 0; i < n * n; i++)
		if (measured(v, i)->n && !has_both(v, i) && !missing++)
			*first = i;
	return missing;
}

/* Names the first pair as an example. */
static void print_unpredicted(const struct validate *v)
{
	size_t n = v->list.n, first = 0;
	size_t missing = count_unpredicted(v, &first);

	if (missing)
		cli_labelled(stdout, "Unknown", "%zu pair%s cannot be "
			     "predicted; netprof predict %s %s says what is "
			     "missing", missing, cli_s(missing),
			     name_of(v, first / n), name_of(v, first % n));
}

/* How accurate the predictions are, compared with the best constant. */
static void print_score(const struct validate *v)
{
	const struct np_score *s = &v->score, *c = &v->constant_score;
	char a[CLI_NUMBER], b[CLI_NUMBER], ratio[CLI_NUMBER] = "";

	print_unpredicted(v);
	if (!s->n)
		return;
	if (c->mean_points > 0)
		snprintf(ratio, sizeof(ratio), " (ratio %.2f)",
			 s->mean_points / c->mean_points);
	cli_labelled(stdout, "Error",
		     "%.1f percentage points on average over "
		     "%zu pair%s; the best constant (%+.1f %%) has %.1f%s",
		     s->mean_points, s->n, cli_s(s->n), 100 * v->constant,
		     c->mean_points, ratio);
	cli_labelled(stdout, "Large",
		     "%s of the errors exceed 10 percentage "
		     "points, %s exceed 20; mean error with sign %+.1f",
		     share_text(1 - s->within_near, a),
		     share_text(s->beyond_far, b), s->bias_points);
	cli_labelled(stdout, "At 10 %",
		     "recall %s, precision %s (pairs slowed "
		     "by 10 %% or more: %zu measured, %zu predicted)",
		     share_text(s->recall, a), share_text(s->precision, b),
		     s->n_harm, s->n_called);
	cli_labelled(stdout, "Intervals", "%s of the 90 %% intervals contain "
		     "the measured value; median width %.1f percentage "
		     "points",
		     share_text(s->coverage, a), s->width_points);
}

/* Order of pairs by the size of their error. */
static int by_error(const void *a, const void *b, void *arg)
{
	const struct validate *v = arg;
	double x = fabs(error_of(v, *(const size_t *)a));
	double y = fabs(error_of(v, *(const size_t *)b));

	return (x < y) - (x > y);
}

/*
 * Indices of pairs that were measured and predicted, largest error first; the
 * caller frees them.  NULL: out of memory.
 */
static size_t *by_size_of_error(const struct validate *v, size_t *n)
{
	size_t all = v->list.n * v->list.n;
	size_t *order = calloc(all + 1, sizeof(*order));

	*n = 0;
	for (size_t i = 0; order && i < all; i++)
		if (has_both(v, i))
			order[(*n)++] = i;
	if (order)
		qsort_r(order, *n, sizeof(*order), by_error, (void *)v);
	return order;
}

/* One pair with its prediction and flags. */
static void print_pair(const struct validate *v, size_t i, int name_width)
{
	const struct np_prediction *p = &v->prediction[i];
	char flags[256], ends[64];
	size_t n = v->list.n;

	cli_left(stdout, name_of(v, i / n), name_width);
	putchar(' ');
	cli_left(stdout, name_of(v, i % n), name_width);
	putchar(' ');
	cli_right_as(cli_change, measured(v, i)->mean, 9);
	cli_right_as(cli_change, p->slowdown, 10);
	if (isnan(p->low))
		strcpy(ends, "-");
	else
		snprintf(ends, sizeof(ends), "%.0f to %.0f",
			 cli_whole_percent(p->low), cli_whole_percent(p->high));
	cli_right(stdout, ends, 15);
	cli_flag_names(p->flags, flags, sizeof(flags));
	printf("  %s\n", *flags ? flags : "-");
}

/* The pairs with the largest errors. */
static int print_worst(const struct validate *v)
{
	size_t n, *order = by_size_of_error(v, &n);
	int name_width = NAME_COLUMNS;

	if (!order)
		return cli_fail("out of memory");
	for (size_t i = 0; i < v->list.n; i++)
		name_width = cli_widen(name_width, name_of(v, i));
	if (n)
		cli_head("%-*s %-*s %9s%10s%15s  %s", name_width,
			 "Slowed", name_width, "By", "Measured", "Predicted",
			 "90 % interval", "Notes");
	for (size_t i = 0; i < n && i < MAX_LISTED; i++)
		print_pair(v, order[i], name_width);
	free(order);
	return CLI_DONE;
}

static int validate_text(const struct validate *v)
{
	print_measured(v);
	print_drift(v);
	print_rejected(v);
	print_unsteady(v);
	print_score(v);
	return print_worst(v);
}

/* ---- JSON ---- */

/* Accuracy of the predictions; null without a predicted pair. */
static void put_score(json_object *in, const struct validate *v)
{
	const struct np_score *s = &v->score;
	json_object *o = cli_put_if(in, "score", s->n > 0);

	if (!o)
		return;
	cli_put_count(o, "pairs", s->n);
	cli_put_real(o, "mean_error_points", s->mean_points);
	cli_put_real(o, "bias_points", s->bias_points);
	cli_put_real(o, "within_10_points", s->within_near);
	cli_put_real(o, "beyond_20_points", s->beyond_far);
	cli_put_real(o, "best_constant", v->constant);
	cli_put_real(o, "constant_error_points",
		     v->constant_score.mean_points);
	cli_put_real(o, "recall", s->recall);
	cli_put_real(o, "precision", s->precision);
	cli_put_real(o, "coverage", s->coverage);
	cli_put_real(o, "median_width_points", s->width_points);
}

/* The programs and their times alone. */
static void put_programs(json_object *in, const struct validate *v)
{
	json_object *list = cli_put_array(in, "programs");

	for (size_t i = 0; i < v->list.n; i++) {
		const struct np_validate_app *a = &v->result.app[i];
		json_object *o = cli_append_object(list);

		cli_put_text(o, "name", name_of(v, i));
		cli_put_count(o, "runs_alone", a->alone_sec.n);
		cli_put_real(o, "alone_sec", a->alone_sec.n ?
			     a->alone_sec.mean : NAN);
		cli_put_real(o, "drift", a->drift);
	}
}

/* All pairs, measured or not. */
static void put_pairs(json_object *in, const struct validate *v)
{
	json_object *list = cli_put_array(in, "pairs");
	size_t n = v->list.n;
	char flags[256];

	for (size_t i = 0; i < n * n; i++) {
		const struct np_validate_pair *pair = &v->result.pair[i];
		const struct np_prediction *p = &v->prediction[i];
		json_object *o = cli_append_object(list);

		cli_put_text(o, "victim", name_of(v, i / n));
		cli_put_text(o, "corunner", name_of(v, i % n));
		cli_put_real(o, "measured", pair->slowdown.n ?
			     pair->slowdown.mean : NAN);
		cli_put_real(o, "apart", pair->apart.n ? pair->apart.mean :
							 NAN);
		cli_put_bool(o, "rejected", pair->rejected);
		cli_put_real(o, "predicted", p->slowdown);
		cli_put_real(o, "low", p->low);
		cli_put_real(o, "high", p->high);
		cli_put_text(o, "flags", cli_flag_names(p->flags, flags,
							sizeof(flags)));
	}
}

static int validate_json(const struct validate *v)
{
	json_object *j = json_object_new_object();
	size_t first;

	cli_put_text(j, "file", v->path);
	cli_put_time(j, "date", v->pairs.date);
	cli_put_real(j, "repeat_points", v->result.repeat_points);
	cli_put_count(j, "rejected", v->result.n_rejected);
	cli_put_count(j, "unpredicted", count_unpredicted(v, &first));
	put_score(j, v);
	put_programs(j, v);
	put_pairs(j, v);
	return cli_print_json("validate", j);
}

/* ---- plot ---- */

/* The 90 % interval of the measured slowdown, as a line across its point. */
static void draw_measured(struct np_figure *f, struct np_panel *p,
			  const struct np_mean *m, double predicted)
{
	double half = m->n > 1 && isfinite(m->sd) ?
		      1.645 * m->sd / sqrt(m->n) : NAN;
	struct np_shape *s;

	if (isnan(half))
		return;
	s = np_figure_shape(f, p, NP_SHAPE_LINE, NP_STYLE_GREY, NULL);
	np_figure_add(f, s, 100 * (m->mean - half), 100 * predicted, NAN, NAN);
	np_figure_add(f, s, 100 * (m->mean + half), 100 * predicted, NAN, NAN);
}

/* Predicted over measured slowdown; points on the diagonal are right. */
static int validate_plot(const struct validate *v, const char *path)
{
	struct np_figure *f = np_figure_new("Predicted over measured slowdown");
	struct np_panel *p = f ? np_figure_panel(f, "") : NULL;
	size_t n = v->list.n;
	struct np_shape *s;
	double most = 0;

	if (!p)
		return cli_figure_save(f, path);
	np_figure_axis(f, &p->x, NP_AXIS_LINEAR, "Measured slowdown (%)");
	np_figure_axis(f, &p->y, NP_AXIS_LINEAR, "Predicted slowdown (%)");
	for (size_t i = 0; i < n * n; i++)
		if (has_both(v, i)) {
			draw_measured(f, p, measured(v, i),
				      v->prediction[i].slowdown);
			most = fmax(most, measured(v, i)->mean);
		}
	/* The diagonal: predicted as measured. */
	s = np_figure_shape(f, p, NP_SHAPE_LINE, NP_STYLE_GREY,
			    "as measured");
	np_figure_add(f, s, 0, 0, NAN, NAN);
	np_figure_add(f, s, 100 * most, 100 * most, NAN, NAN);
	s = np_figure_shape(f, p, NP_SHAPE_POINTS, 0,
			    "a pair, with 90 % intervals");
	for (size_t i = 0; i < n * n; i++)
		if (has_both(v, i))
			np_figure_add(f, s, 100 * measured(v, i)->mean,
				      100 * v->prediction[i].slowdown,
				      100 * v->prediction[i].low,
				      100 * v->prediction[i].high);
	np_figure_caption(f, "n = %zu pairs of %zu programs; mean error %.1f "
			  "percentage points, with the best constant %.1f.",
			  v->score.n, n,
			  v->score.mean_points, v->constant_score.mean_points);
	f->date = v->pairs.date;
	return cli_figure_save(f, path);
}

/* ---- the file of results ---- */

/* Fill v->pairs with the programs of the list. */
static int begin_results(struct validate *v, struct np_err *err)
{
	size_t n = v->list.n;

	v->pairs.setup = strdup(v->list.setup);
	v->pairs.program = calloc(n, sizeof(*v->pairs.program));
	if (!v->pairs.setup || !v->pairs.program)
		return np_errf(err, -ENOMEM, "out of memory");
	v->pairs.n_programs = n;
	for (size_t i = 0; i < n; i++) {
		const struct cli_program *p = &v->list.program[i];
		struct np_pairs_program *to = &v->pairs.program[i];
		size_t len;
		FILE *f = open_memstream(&to->command, &len);

		strcpy(to->name, p->name);
		to->nodes = p->nodes;
		to->tasks_per_node = p->tasks_per_node;
		for (size_t k = 0; f && k < p->command.n; k++)
			fprintf(f, "%s%s", k ? " " : "", p->command.word[k]);
		if (!f || fclose(f))
			return np_errf(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* Times of other programs or commands cannot be compared. */
static bool is_of_same_programs(const struct np_pairs *a,
				const struct np_pairs *b)
{
	if (strcmp(a->setup, b->setup) || a->n_programs != b->n_programs)
		return false;
	for (size_t i = 0; i < a->n_programs; i++)
		if (strcmp(a->program[i].name, b->program[i].name))
			return false;
	return true;
}

/* Load earlier runs from the file if they are of the same programs. */
static int load_results(struct validate *v, bool fresh, struct np_err *err)
{
	struct np_pairs old;
	int rc = begin_results(v, err);

	if (rc || fresh)
		return rc;
	rc = pairs_load(v->path, &old, err);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (!is_of_same_programs(&old, &v->pairs)) {
		np_pairs_free(&old);
		return np_errf(err, -EEXIST, "%s has results of other programs "
			       "or commands: use --fresh to start over",
			       v->path);
	}
	np_pairs_free(&v->pairs);
	v->pairs = old;
	return 0;
}

/*
 * Is nothing left to be measured?  Controls that are missing, as an earlier
 * allocation had no second leaf switch, are measured in an allocation, and need
 * none to print the results.
 */
static int check_complete(const struct validate *v, bool *complete,
			  struct np_err *err)
{
	bool controls = v->pairs.place.apart_nodes && getenv("SLURM_JOB_ID");
	struct cli_pair_plan plan;

	if (cli_pair_plan_make(&v->list, v->repeats, controls, &v->pairs,
			       &plan))
		return np_errf(err, -ENOMEM, "out of memory");
	free(plan.run);
	*complete = plan.n == 0;
	return 0;
}

/* ---- predictions ---- */

static size_t index_of(const struct validate *v, const char *name)
{
	size_t i = 0;

	while (i < v->list.n && strcmp(v->list.program[i].name, name))
		i++;
	return i;
}

/* Copy the predictions of the matrix, whose order differs from the list's. */
static void copy_predictions(struct validate *v, const struct cli_matrix *m)
{
	size_t n = v->list.n;

	for (size_t i = 0; i < m->n * m->n; i++) {
		size_t victim = index_of(v, cli_matrix_name(m, i / m->n));
		size_t corunner = index_of(v, cli_matrix_name(m, i % m->n));

		/* The matrix may have applications that are not in the list. */
		if (victim < n && corunner < n && !m->rc[i])
			v->prediction[victim * n + corunner] = m->p[i];
	}
}

/* Save the results with the inputs of the models, for netprof accuracy. */
static int save_results(struct validate *v, const struct cli_known *k,
		struct np_err *err)
{
	const struct np_program **app = calloc(v->list.n + 1, sizeof(*app));
	int rc;

	if (!app)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; k && i < k->n; i++) {
		size_t index = index_of(v, k->app[i]->r.runs.app);

		if (index < v->list.n)
			app[index] = &k->app[i]->summary.program;
	}
	v->pairs.fabric = k && k->calibrated ? k->cal.fabric : NULL;
	v->pairs.app = v->pairs.fabric ? app : NULL;
	rc = pairs_save(v->path, &v->pairs, err);
	/* Both are borrowed from k, which is freed before the pairs. */
	v->pairs.fabric = NULL;
	v->pairs.app = NULL;
	free(app);
	return rc;
}

/* Predict all pairs of the list. Returns -1 to go on, or the exit status. */
static int predict_pairs(struct validate *v, const struct cli_options *given,
		      struct cli_known *k, struct cli_store *s)
{
	struct cli_options o = *given;
	char *names[NP_PAIRS_MAX_PROGRAMS + 1] = { NULL };
	struct cli_matrix m = { .n = 0 };
	int rc;

	for (size_t i = 0; i < v->list.n; i++)
		names[i] = v->list.program[i].name;
	o.apps = names;
	o.n_apps = v->list.n;
	o.app = names[0];
	o.scope = NP_SCOPE_LEAF; /* where the pairs ran */
	rc = cli_matrix_find(k, s, &o);
	if (rc < 0)
		rc = cli_predict_prepare(k, s, &o);
	if (rc < 0)
		rc = cli_matrix_make(k, &o, &m);
	if (rc < 0)
		copy_predictions(v, &m);
	cli_matrix_free(&m);
	return rc;
}

/* One pair in the form that np_accuracy.h scores. */
static struct np_scored scored_pair(const struct validate *v, size_t i)
{
	const struct np_mean *m = measured(v, i);
	const struct np_prediction *p = &v->prediction[i];

	return (struct np_scored){
		.measured = m->n ? m->mean : NAN, .predicted = p->slowdown,
		.low = p->low, .high = p->high,
	};
}

/* Score the predictions, and the best constant for the same pairs. */
static int score_predictions(struct validate *v)
{
	size_t n = v->list.n * v->list.n;
	struct np_scored *s = calloc(n + 1, sizeof(*s));
	int rc = s ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < n; i++)
		s[i] = scored_pair(v, i);
	if (!rc)
		rc = np_accuracy_score(s, n, &v->score);
	if (!rc)
		rc = np_accuracy_score_constant(s, n, &v->constant,
						&v->constant_score);
	free(s);
	return rc;
}

/* ---- the command ---- */

/*
 * Compute the slowdowns from the runs. Returns -1 to go on, or the exit
 * status.
 */
static int make_result(struct validate *v)
{
	size_t n = v->list.n * v->list.n;

	v->prediction = calloc(n + 1, sizeof(*v->prediction));
	if (!v->prediction ||
	    np_validate_result_make(&v->pairs, &v->result) ||
	    np_validate_result_store(&v->result, &v->pairs))
		return cli_fail("out of memory");
	for (size_t i = 0; i < n; i++)
		v->prediction[i].slowdown = v->prediction[i].low =
			v->prediction[i].high = NAN;
	return -1;
}

/* Print the comparison; without predictions, only the measured pairs. */
static int print_results(struct validate *v, const struct cli_options *o)
{
	struct cli_known k = { .n = 0 };
	struct np_err err = NP_ERR_INIT;
	struct cli_store s;
	int rc = make_result(v);

	if (rc >= 0)
		return rc;
	if (cli_store_open(&s) < 0) {
		predict_pairs(v, o, &k, &s); /* prints what is missing */
		cli_store_close(&s);
	}
	/* An earlier version saved the results without doing this. */
	for (size_t i = 0; i < v->list.n; i++)
		store_pairs(v, v->list.program[i].name);
	rc = save_results(v, &k, &err);
	cli_known_free(&k);
	if (rc)
		return cli_fail("%s", err.text);
	if (score_predictions(v))
		return cli_fail("out of memory");
	rc = o->format == CLI_JSON ? validate_json(v) : validate_text(v);
	return rc == CLI_DONE && o->plot ? validate_plot(v, o->plot) : rc;
}

/* Measure what is missing, in the allocation around us. */
static int measure(struct validate *v, bool dry_run, struct np_err *err)
{
	const struct cli_pair_measurement measurement = {
		.list = &v->list,
		.repeats = v->repeats,
		.path = v->path,
		.pairs = &v->pairs,
		.save = save_run,
		.arg = v,
	};

	return cli_pair_runs_measure(&measurement, dry_run, err);
}

/* Read the list and earlier results, measure what is missing, and compare. */
static int validate(struct validate *v, const struct validate_options *o,
		    const struct cli_options *shared)
{
	struct np_err err = NP_ERR_INIT;
	bool complete = false;
	int rc = cli_program_list_read(shared->app, &v->list, &err);

	if (!rc)
		rc = load_results(v, o->fresh, &err);
	if (!rc)
		rc = check_complete(v, &complete, &err);
	if (!rc && !complete)
		rc = measure(v, o->dry_run, &err);
	if (rc)
		return cli_fail("%s", err.text);
	return o->dry_run && !complete ? CLI_DONE : print_results(v, shared);
}

static const struct np_option own[] = {
#define AT(member) offsetof(struct validate_options, member)
	{ "repeats", NP_OPTION_COUNT, AT(repeats), 1, MAX_REPEATS },
	{ "fresh", NP_OPTION_FLAG, AT(fresh) },
	{ "dry-run", NP_OPTION_FLAG, AT(dry_run), .letter = 'n' },
#undef AT
	{ NULL },
};

/* Also after an interruption the results so far have to be freed. */
static int run_validate(const struct cli_cmd *self, int argc, char **argv)
{
	struct validate v = { .constant = NAN };
	struct validate_options own_options = { .repeats = 2 };
	struct cli_options o;
	char *path = NULL;
	int rc = cli_options_parse(self, argc, argv, &own_options, &o);

	if (rc >= 0)
		return rc;
	/* The default name is next to the list of programs. */
	if (!o.output && asprintf(&path, "%s.pairs.json", o.app) < 0)
		return cli_fail("out of memory");
	v.path = o.output ? o.output : path;
	v.repeats = own_options.repeats;
	rc = validate(&v, &own_options, &o);
	np_validate_result_free(&v.result);
	cli_program_list_free(&v.list);
	np_pairs_free(&v.pairs);
	free(v.prediction);
	free(path);
	return rc;
}

const struct cli_cmd cmd_validate = {
	.name = "validate",
	.args = "[OPTION]... FILE",
	.help = "measure pairs of programs and check the predictions",
	.text =
"Run it inside an allocation of idle nodes (salloc -N8 --exclusive; all nodes of\n"
"two leaf switches are best).  It runs the programs of FILE, see\n"
"netprof-validate(1), alone, profiles each in one run, runs every pair on one\n"
"leaf switch and, as a control, on two, and compares the slowdowns with the\n"
"predictions.  You can stop it at any time and run the same command again to\n"
"continue.  When everything is measured, it needs no allocation and only prints\n"
"the comparison.\n\n"
"  --repeats=N        runs of each pair (default 2)\n"
"  -o, --output=FILE  file of the results, netprof-pairs(5) (default\n"
"                     FILE.pairs.json)\n"
"  --plot=FILE        draw predicted over measured: .svg, .png or .pdf\n"
"  --model=M          another model than " NP_MODEL_DEFAULT "\n"
"  --fresh            discard earlier results\n"
"  --dry-run          print what would be measured and how long it would take\n"
"  --json             output for programs",
	.examples =
"  salloc -N16 --exclusive netprof validate programs\n"
"  netprof validate --dry-run programs\n"
"  netprof validate --plot=pairs.svg programs\n",
	.takes = CLI_TAKES_JSON | CLI_TAKES_OUTPUT | CLI_TAKES_PLOT |
		 CLI_TAKES_MODEL,
	.own = own, .most = 1,
	.missing = "a file that lists programs, netprof-validate(1)",
	.run = run_validate,
};

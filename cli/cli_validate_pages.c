/* The pages of netprof validate, and its picture. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_ask.h"
#include "cli_json_put.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_text.h"
#include "cli_validate.h"
#include "np_figure.h"

#define WORST 5
#define NAME 14

static const char *name_of(const struct cli_validate *v, size_t i)
{
	return v->list.program[i].name;
}

static const struct np_mean *measured(const struct cli_validate *v, size_t i)
{
	return &v->result.pair[i].slowdown;
}

static bool has_both(const struct cli_validate *v, size_t i)
{
	return measured(v, i)->n && !v->rc[i];
}

/* Predicted less measured, a fraction. */
static double error_of(const struct cli_validate *v, size_t i)
{
	return v->prediction[i].slowdown - measured(v, i)->mean;
}

/* ---- text ---- */

static const char *share(double part, char buf[CLI_NUMBER])
{
	if (isnan(part))
		return "not known";
	return cli_percent(part, buf);
}

static void say_measured(const struct cli_validate *v)
{
	const struct np_validate_result *r = &v->result;
	const struct np_pairs_place *p = &v->pairs.place;
	char day[CLI_NUMBER];

	cli_labelled(stdout, "Measured", "%zu pair%s of %zu program%s on "
		     "leaf %s: %s beside %s, last on %s", r->n_pairs,
		     r->n_pairs == 1 ? "" : "s", v->list.n,
		     v->list.n == 1 ? "" : "s",
		     p->leaf ? p->leaf : "(no topology)",
		     p->victim_nodes ? p->victim_nodes : "?",
		     p->corunner_nodes ? p->corunner_nodes : "?",
		     cli_day(v->pairs.date, day));
	if (r->n_repeated)
		cli_labelled(stdout, "Repeats", "two runs of a pair differ by "
			     "%.1f points on average (%zu pairs)",
			     r->repeat_points, r->n_repeated);
	if (r->n_controls)
		cli_labelled(stdout, "Controls", "under two leaves %zu pairs "
			     "differ from alone by %.1f %% on average, %.1f %% "
			     "at most; taken off", r->n_controls,
			     100 * r->control_mean, 100 * r->control_most);
	else
		cli_labelled(stdout, "Controls", "none: what pairs share "
			     "besides the leaf switch counts as the network's");
}

/* Programs whose runs alone differ, as time goes on or by chance. */
static void say_drift(const struct cli_validate *v)
{
	char line[1024] = "";

	for (size_t i = 0; i < v->list.n; i++)
		if (!isnan(v->result.app[i].drift))
			cli_add(line, sizeof(line), "%s%s %.1f %%",
				*line ? ", " : "", name_of(v, i),
				100 * v->result.app[i].drift);
	if (*line)
		cli_labelled(stdout, "Drift", "runs alone, longest less "
			     "shortest: %s", line);
}

static void say_refused(const struct cli_validate *v)
{
	size_t n = v->list.n;

	for (size_t i = 0; i < n * n; i++)
		if (v->result.pair[i].refused)
			cli_labelled(stdout, "Refused", "%s beside %s: %+.1f "
				     "%% under two leaves, where they share no "
				     "switch", name_of(v, i / n),
				     name_of(v, i % n), 100 *
				     v->result.pair[i].apart.mean);
}

static void say_unsteady(const struct cli_validate *v)
{
	size_t n = v->list.n;

	for (size_t i = 0; i < n * n; i++)
		if (v->result.pair[i].between > NP_VALIDATE_REPEAT_MOST)
			cli_labelled(stdout, "Unsteady", "%s beside %s: two "
				     "runs differ by %.0f points; --repeats=%u "
				     "runs all pairs once more", name_of(v, i /
				     n), name_of(v, i % n), 100 *
				     v->result.pair[i].between, v->repeats + 1);
}

/* The first of them stands for all. */
static void say_unpredicted(const struct cli_validate *v)
{
	size_t n = v->list.n, first = 0, missing = 0;

	for (size_t i = 0; i < n * n; i++)
		if (measured(v, i)->n && v->rc[i] && !missing++)
			first = i;
	if (missing)
		cli_labelled(stdout, "Unknown", "%zu of the pairs cannot be "
			     "predicted; netprof predict %s %s says what is "
			     "missing", missing, name_of(v, first / n),
			     name_of(v, first % n));
}

static void say_score(const struct cli_validate *v)
{
	const struct np_score *s = &v->score, *c = &v->constant_score;
	char a[CLI_NUMBER], b[CLI_NUMBER];

	say_unpredicted(v);
	if (!s->n)
		return;
	cli_labelled(stdout, "Error", "%.1f points on average over %zu pairs; "
		     "the best constant (%+.1f %%) has %.1f: %.2f of that",
		     s->mean_points, s->n, 100 * v->constant, c->mean_points,
		     s->mean_points / c->mean_points);
	cli_labelled(stdout, "Beyond", "%s by more than 10 points, %s by more "
		     "than 20; bias %+.1f", share(1 - s->within_near, a),
		     share(s->beyond_far, b), s->bias_points);
	cli_labelled(stdout, "At 10 %", "recall %s, precision %s (%zu pairs are "
		     "slowed so much, %zu predicted to be)",
		     share(s->recall, a), share(s->precision, b), s->n_harm,
		     s->n_called);
	cli_labelled(stdout, "Intervals", "%s of those of 90 %% hold; median "
		     "width %.1f points", share(s->coverage, a),
		     s->width_points);
}

static const struct cli_validate *sorted_by;

static int by_error(const void *a, const void *b)
{
	double x = fabs(error_of(sorted_by, *(const size_t *)a));
	double y = fabs(error_of(sorted_by, *(const size_t *)b));

	return (x < y) - (x > y);
}

/* Pairs with both, those with the greatest errors first.  NULL: no memory. */
static size_t *worst(const struct cli_validate *v, size_t *n)
{
	size_t all = v->list.n * v->list.n;
	size_t *at = calloc(all + 1, sizeof(*at));

	*n = 0;
	for (size_t i = 0; at && i < all; i++)
		if (has_both(v, i))
			at[(*n)++] = i;
	sorted_by = v;
	if (at)
		qsort(at, *n, sizeof(*at), by_error);
	return at;
}

static void say_pair(const struct cli_validate *v, size_t i)
{
	const struct np_prediction *p = &v->prediction[i];
	char flags[256], ends[64];
	size_t n = v->list.n;

	cli_left(stdout, name_of(v, i / n), NAME - 1);
	putchar(' ');
	cli_left(stdout, name_of(v, i % n), NAME - 1);
	putchar(' ');
	cli_right_as(cli_change, measured(v, i)->mean, 9);
	cli_right_as(cli_change, p->slowdown, 10);
	if (isnan(p->low))
		strcpy(ends, "-");
	else
		snprintf(ends, sizeof(ends), "%.0f to %.0f", 100 * p->low,
			 100 * p->high);
	cli_right(stdout, ends, 13);
	cli_flag_names(p->flags, flags, sizeof(flags));
	printf("  %s\n", *flags ? flags : "-");
}

static int say_worst(const struct cli_validate *v)
{
	size_t n, *at = worst(v, &n);

	if (!at)
		return cli_fail("out of memory");
	if (n)
		cli_head("%-*s%-*s%9s%10s%13s  %s", NAME, "slowed", NAME,
			 "beside", "measured", "predicted", "90 %", "notes");
	for (size_t i = 0; i < n && i < WORST; i++)
		say_pair(v, at[i]);
	free(at);
	return CLI_DONE;
}

int cli_validate_text(const struct cli_validate *v)
{
	say_measured(v);
	say_drift(v);
	say_refused(v);
	say_unsteady(v);
	say_score(v);
	return say_worst(v);
}

/* ---- JSON ---- */

static void put_score(json_object *in, const struct cli_validate *v)
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

static void put_programs(json_object *in, const struct cli_validate *v)
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

static void put_pairs(json_object *in, const struct cli_validate *v)
{
	json_object *list = cli_put_array(in, "pairs");
	size_t n = v->list.n;
	char flags[256];

	for (size_t i = 0; i < n * n; i++) {
		const struct np_validate_pair *pair = &v->result.pair[i];
		const struct np_prediction *p = &v->prediction[i];
		json_object *o = cli_append_object(list);
		bool answer = !v->rc[i];

		cli_put_text(o, "victim", name_of(v, i / n));
		cli_put_text(o, "corunner", name_of(v, i % n));
		cli_put_real(o, "measured", pair->slowdown.n ?
			     pair->slowdown.mean : NAN);
		cli_put_real(o, "apart", pair->apart.n ? pair->apart.mean :
							 NAN);
		cli_put_bool(o, "refused", pair->refused);
		cli_put_real(o, "predicted", answer ? p->slowdown : NAN);
		cli_put_real(o, "low", answer ? p->low : NAN);
		cli_put_real(o, "high", answer ? p->high : NAN);
		cli_put_text(o, "flags", answer ?
			     cli_flag_names(p->flags, flags, sizeof(flags)) :
			     "");
	}
}

int cli_validate_json(const struct cli_validate *v)
{
	json_object *j = json_object_new_object();

	cli_put_text(j, "file", v->path);
	cli_put_time(j, "date", v->pairs.date);
	cli_put_real(j, "repeat_points", v->result.repeat_points);
	cli_put_count(j, "refused", v->result.n_refused);
	put_score(j, v);
	put_programs(j, v);
	put_pairs(j, v);
	return cli_print_json("validate", j);
}

/* ---- picture ---- */

/* The interval of what was measured, a line across its point. */
static void draw_measured(struct np_figure *f, struct np_panel *p,
			  const struct np_mean *m, double predicted)
{
	double half = m->n > 1 && isfinite(m->sd) ?
		      1.645 * m->sd / sqrt(m->n) : NAN;
	struct np_shape *s;

	if (isnan(half))
		return;
	s = np_figure_shape(f, p, NP_SHAPE_LINE, NP_STYLE_QUIET, NULL);
	np_figure_add(f, s, 100 * (m->mean - half), 100 * predicted, NAN, NAN);
	np_figure_add(f, s, 100 * (m->mean + half), 100 * predicted, NAN, NAN);
}

int cli_validate_plot(const struct cli_validate *v, const char *path)
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
	s = np_figure_shape(f, p, NP_SHAPE_LINE, NP_STYLE_QUIET,
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
			  "points, of the best constant %.1f.", v->score.n, n,
			  v->score.mean_points, v->constant_score.mean_points);
	f->date = v->pairs.date;
	return cli_figure_save(f, path);
}

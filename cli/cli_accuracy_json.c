/* netprof accuracy --json */
#include <math.h>

#include "cli_accuracy.h"
#include "cli_json_put.h"

/* Computed, not measured: with all its digits. */
static void put(json_object *in, const char *key, double v)
{
	cli_put(in, key, isfinite(v) ? json_object_new_double(v) : NULL);
}

static void put_line(json_object *list, const struct accuracy_line *l)
{
	const struct np_score *s = &l->score;
	json_object *o = cli_append_object(list);

	cli_put_text(o, "model", l->model);
	if (!isnan(l->constant))
		put(o, "constant", l->constant);
	cli_put_count(o, "cases", s->n);
	put(o, "mean_error_points", s->mean_points);
	put(o, "median_error_points", s->median_points);
	put(o, "max_error_points", s->max_points);
	put(o, "bias_points", s->bias_points);
	put(o, "within_10_points", s->within_near);
	put(o, "beyond_20_points", s->beyond_far);
	put(o, "recall", s->recall);
	put(o, "precision", s->precision);
	cli_put_count(o, "intervals", s->n_intervals);
	put(o, "coverage", s->coverage);
	put(o, "median_width_points", s->width_points);
	if (l->why.text[0])
		cli_put_text(o, "unanswered", l->why.text);
}

static void put_part(json_object *in, const struct accuracy_part *p)
{
	json_object *o = cli_put_object(in, p->groups ? "groups" : "pairs");
	json_object *lines;

	cli_put_count(o, "cases", p->n_cases);
	lines = cli_put_array(o, "models");
	for (size_t i = 0; i < p->n_lines; i++)
		put_line(lines, &p->line[i]);
}

static void put_case(json_object *list, const struct np_measured_set *s,
		     size_t k, const struct accuracy_run *r, size_t set)
{
	const struct np_measured_case *c = &s->row[k];
	const struct np_prediction *p = &r->out[set][k];
	json_object *o = cli_append_object(list), *co;

	cli_put_text(o, "set", s->name);
	cli_put_text(o, "model", r->model->name);
	cli_put_text(o, "victim", s->app[c->victim].name);
	co = cli_put_array(o, "beside");
	for (size_t i = 0; i < c->n_co; i++)
		cli_append_text(co, s->app[c->co[i]].name);
	put(o, "measured", c->slowdown.mean);
	put(o, "predicted", p->slowdown);
	put(o, "low", p->low);
	put(o, "high", p->high);
}

static void put_cases(json_object *in, const struct accuracy_file *f,
		      const struct accuracy_opt *opt)
{
	json_object *all = cli_put_array(in, "predictions");

	for (size_t r = 0; r < f->n_runs; r++)
		for (size_t i = 0; i < f->measured.n_sets; i++) {
			const struct np_measured_set *s =
				&f->measured.set[i];

			for (size_t k = 0; k < s->n_rows; k++)
				if (accuracy_takes(opt, s, &s->row[k]))
					put_case(all, s, k, &f->run[r], i);
		}
}

int accuracy_print_json(const struct accuracy_file *f, size_t n,
			const struct accuracy_opt *opt)
{
	json_object *j = json_object_new_object();
	json_object *files = cli_put_array(j, "files");

	for (size_t i = 0; i < n; i++) {
		json_object *o = cli_append_object(files);

		cli_put_text(o, "file", f[i].path);
		for (size_t k = 0; k < f[i].n_parts; k++)
			put_part(o, &f[i].part[k]);
		if (opt->cases)
			put_cases(o, &f[i], opt);
	}
	return cli_print_json("accuracy", j);
}

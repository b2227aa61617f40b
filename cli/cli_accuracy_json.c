#include <errno.h>
#include <math.h>
#include <stdio.h>

#include <json-c/json.h>

#include "cli_accuracy.h"
#include "cli_json_put.h"

static void put(json_object *o, const char *key, double v)
{
	json_object_object_add(o, key, isfinite(v) ?
			       json_object_new_double(v) : NULL);
}

static json_object *line(const struct accuracy_line *l)
{
	const struct np_score *s = &l->score;
	json_object *o = json_object_new_object();

	json_object_object_add(o, "model", json_object_new_string(l->model));
	if (!isnan(l->constant))
		put(o, "constant", l->constant);
	json_object_object_add(o, "cases", json_object_new_uint64(s->n));
	put(o, "mean_error_points", s->mean_points);
	put(o, "median_error_points", s->median_points);
	put(o, "max_error_points", s->max_points);
	put(o, "bias_points", s->bias_points);
	put(o, "within_10_points", s->within_near);
	put(o, "beyond_20_points", s->beyond_far);
	put(o, "recall", s->recall);
	put(o, "precision", s->precision);
	json_object_object_add(o, "intervals",
			       json_object_new_uint64(s->n_intervals));
	put(o, "coverage", s->coverage);
	put(o, "median_width_points", s->width_points);
	if (l->why.text[0])
		json_object_object_add(o, "unanswered",
				       json_object_new_string(l->why.text));
	return o;
}

static json_object *part(const struct accuracy_part *p)
{
	json_object *o = json_object_new_object();
	json_object *lines = json_object_new_array();

	json_object_object_add(o, "cases",
			       json_object_new_uint64(p->n_cases));
	for (size_t i = 0; i < p->n_lines; i++)
		json_object_array_add(lines, line(&p->line[i]));
	json_object_object_add(o, "models", lines);
	return o;
}

static json_object *one_case(const struct np_measured_set *s, size_t k,
			     const struct accuracy_run *r, size_t set)
{
	const struct np_measured_case *c = &s->row[k];
	const struct np_prediction *p = &r->out[set][k];
	json_object *o = json_object_new_object();
	json_object *co = json_object_new_array();

	json_object_object_add(o, "set", json_object_new_string(s->name));
	json_object_object_add(o, "model",
			       json_object_new_string(r->model->name));
	json_object_object_add(o, "victim", json_object_new_string(
					s->app[c->victim].name));
	for (size_t i = 0; i < c->n_co; i++)
		json_object_array_add(co, json_object_new_string(
						  s->app[c->co[i]].name));
	json_object_object_add(o, "beside", co);
	put(o, "measured", c->slowdown.mean);
	put(o, "predicted", p->slowdown);
	put(o, "low", p->low);
	put(o, "high", p->high);
	return o;
}

static json_object *cases(const struct accuracy_file *f,
			  const struct accuracy_opt *opt)
{
	json_object *all = json_object_new_array();

	for (size_t r = 0; r < f->n_runs; r++)
		for (size_t i = 0; i < f->measured.n_sets; i++) {
			const struct np_measured_set *s =
				&f->measured.set[i];

			for (size_t k = 0; k < s->n_rows; k++)
				if (accuracy_takes(opt, s, &s->row[k]))
					json_object_array_add(all,
						one_case(s, k, &f->run[r], i));
		}
	return all;
}

int accuracy_print_json(const struct accuracy_file *f, size_t n,
			const struct accuracy_opt *opt)
{
	json_object *root = json_object_new_object();
	json_object *files = json_object_new_array();

	for (size_t i = 0; i < n; i++) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, "file",
				       json_object_new_string(f[i].path));
		for (size_t k = 0; k < f[i].n_parts; k++)
			json_object_object_add(
				o, f[i].part[k].groups ? "groups" : "pairs",
				part(&f[i].part[k]));
		if (opt->cases)
			json_object_object_add(o, "predictions",
					       cases(&f[i], opt));
		json_object_array_add(files, o);
	}
	json_object_object_add(root, "files", files);
	return cli_print_json("accuracy", root);
}

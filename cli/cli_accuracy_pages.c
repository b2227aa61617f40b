/* The pages of netprof accuracy. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_accuracy.h"
#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_text.h"

/* A share in percent, or "-". */
static void percent(double share, int width)
{
	if (isnan(share))
		printf(" %*s", width, "-");
	else
		printf(" %*.0f%%", width - 1, 100 * share);
}

static void print_line(const struct accuracy_line *l, size_t n_cases)
{
	const struct np_score *s = &l->score;
	char name[32];

	snprintf(name, sizeof(name), "%s", l->model);
	if (!isnan(l->constant))
		snprintf(name, sizeof(name), "constant %.1f", 100 *
			 l->constant);
	printf("%-22s %5.1f %6.1f %5.1f %+6.1f", name, s->mean_points,
	       s->median_points, s->max_points, s->bias_points);
	percent(s->within_near, 4);
	percent(s->beyond_far, 4);
	percent(s->recall, 6);
	percent(s->precision, 5);
	percent(s->coverage, 5);
	if (s->n_intervals)
		printf(" %5.1f", s->width_points);
	else
		printf(" %5s", "-");
	if (s->n < n_cases)
		printf(" (%zu)", s->n);
	printf("\n");
}

static void print_part(const struct accuracy_part *p)
{
	printf("%s: %zu case%s\n",
	       p->groups ? "One program beside several" :
			   "One program beside another",
	       p->n_cases, p->n_cases == 1 ? "" : "s");
	printf("%-22s %5s %6s %5s %6s %4s %4s %6s %5s %5s %5s\n", "model",
	       "mean", "median", "max", "bias", "<=10", ">20", "recall",
	       "prec.", "holds", "width");
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->line[i].score.n)
			print_line(&p->line[i], p->n_cases);
	for (size_t i = 0; i < p->n_lines; i++)
		if (!p->line[i].score.n)
			printf("%-22s no answer: %s\n", p->line[i].model,
			       p->line[i].why.text);
}

static void put_line(json_object *list, const struct accuracy_line *l)
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
	if (l->why.text[0])
		cli_put_text(o, "why", l->why.text);
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

static void put_case(json_object *list, const struct accuracy_case *k,
		     const struct accuracy_run *r)
{
	const struct np_program *app = k->s->app;
	const struct np_prediction *p = &r->out[k->at];
	json_object *o = cli_append_object(list), *co;
	char flags[256];

	cli_put_text(o, "set", k->s->name);
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
		for (size_t i = 0; i < f->n_cases; i++)
			put_case(all, &f->one[i], &f->run[r]);
}

#define SCORE "model|cases|mean_error_points|median_error_points|" \
	"max_error_points|bias_points|within_10_points|beyond_20_points|" \
	"recall|precision|coverage|median_width_points"

static const struct cli_table of_models = {
	"File|Kind|Model|Cases|Mean|Median|Max|Bias|Within10|Beyond20|Recall|"
	"Precision|Coverage|Width",
	{
		{ "files pairs/models", "../file|=pair|" SCORE },
		{ "files groups/models", "../file|=group|" SCORE },
	},
};

static const struct cli_table of_cases = {
	"Set|Model|Victim|Beside|Measured|Predicted|Low|High|Flags",
	{ { "files predictions",
	    "set|model|victim|corunners|measured|predicted|low|high|flags" } },
};

int accuracy_print_data(const struct accuracy_file *f, size_t n,
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
	return cli_print_page(format, "accuracy", j, opt->cases ? &of_cases :
								  &of_models);
}

void accuracy_print_table(const struct accuracy_file *f,
			  const struct accuracy_opt *opt)
{
	size_t levels = 0, programs = 0;

	for (size_t i = 0; i < f->measured.n_sets; i++) {
		levels += f->measured.set[i].fabric.n_levels;
		programs += f->measured.set[i].n_apps;
	}
	printf("%s: %zu set%s, %zu programs, %zu levels\n", f->path,
	       f->measured.n_sets, f->measured.n_sets > 1 ? "s" : "",
	       programs, levels);
	for (size_t i = 0; i < f->n_parts; i++) {
		printf("\n");
		print_part(&f->part[i]);
	}
	if (opt->cases) {
		printf("\n");
		accuracy_print_data(f, 1, opt, CLI_PARSABLE);
	}
}

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_accuracy.h"
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

static void print_co(const struct np_measured_set *s,
		     const struct np_measured_case *c)
{
	for (size_t i = 0; i < c->n_co; i++)
		printf("%s%s", i ? "+" : "", s->app[c->co[i]].name);
}

/* What should be known about an answer, in a word each. */
static void print_flags(unsigned flags)
{
	static const char *const word[] = {
		"clamped", "beyond", "fallback", "no-overlap", "no-coupling",
		"partial", "one-probe", "no-interval", "noise-only",
		"not-mutual", "no-convergence",
	};
	const char *comma = "";

	for (size_t i = 0; i < NP_ARRAY_SIZE(word); i++)
		if (flags & 1u << i) {
			printf("%s%s", comma, word[i]);
			comma = ",";
		}
}

/* Every case, one line each. */
static void print_cases(const struct accuracy_file *f,
			const struct accuracy_opt *opt)
{
	for (size_t r = 0; r < f->n_runs; r++)
		for (size_t i = 0; i < f->measured.n_sets; i++) {
			const struct np_measured_set *s =
				&f->measured.set[i];

			for (size_t k = 0; k < s->n_rows; k++) {
				const struct np_prediction *p =
					&f->run[r].out[i][k];

				if (!accuracy_takes(opt, s, &s->row[k]))
					continue;
				printf("%s|%s|%s|", s->name,
				       f->run[r].model->name,
				       s->app[s->row[k].victim].name);
				print_co(s, &s->row[k]);
				printf("|%.4f|%.4f|%.4f|%.4f|",
				       s->row[k].slowdown.mean, p->slowdown,
				       p->low, p->high);
				print_flags(p->flags);
				printf("\n");
			}
		}
}

#define CASES_HEADER \
	"Set|Model|Victim|Beside|Measured|Predicted|Low|High|Flags"

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
		printf("\n%s\n", CASES_HEADER);
		print_cases(f, opt);
	}
}

void accuracy_print_parsable(const struct accuracy_file *f,
			     const struct accuracy_opt *opt, bool first)
{
	if (opt->cases) {
		if (first)
			printf("%s\n", CASES_HEADER);
		print_cases(f, opt);
		return;
	}
	if (first)
		printf("File|Kind|Model|Cases|Mean|Median|Max|Bias|Within10|"
		       "Beyond20|Recall|Precision|Coverage|Width\n");
	for (size_t i = 0; i < f->n_parts; i++)
		for (size_t k = 0; k < f->part[i].n_lines; k++) {
			const struct accuracy_line *l = &f->part[i].line[k];
			const struct np_score *s = &l->score;

			cli_field(f->path, '|');
			printf("%s|%s|%zu|%.4f|%.4f|%.4f|%.4f|%.4f|%.4f|"
			       "%.4f|%.4f|%.4f|%.4f\n",
			       f->part[i].groups ? "group" : "pair", l->model,
			       s->n, s->mean_points, s->median_points,
			       s->max_points, s->bias_points, s->within_near,
			       s->beyond_far, s->recall, s->precision,
			       s->coverage, s->width_points);
		}
}

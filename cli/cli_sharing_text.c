/* The tables and the timeline of `netprof sharing`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_sharing.h"
#include "cli_text.h"

#define NAME 9	/* columns of a transfer's name */
#define ROUTE 15 /* of its nodes */
#define NUMBER 11
#define BAR 54
#define BARS 40 /* most transfers that are drawn */
#define SIDE_BY_SIDE 5 /* columns of numbers that fit */

static bool is_timed(const struct np_scheme *s)
{
	return !isnan(s->reference_sec);
}

static bool is_measured(const struct np_scheme *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->took_sec[i]))
			return true;
	return false;
}

/* Some of the models: as many as fit beside each other. */
struct block {
	const struct cli_sharing *a;
	const struct np_scheme *s;
	size_t scheme, from, to;
};

static void head(const struct block *b, const char *what)
{
	printf("%s%-*s", cli_colour(CLI_BOLD), NAME + ROUTE, what);
	if (is_measured(b->s))
		cli_right(stdout, "measured", NUMBER);
	for (size_t m = b->from; m < b->to; m++)
		cli_right(stdout, b->a->net->model[m]->name, NUMBER);
	printf("%s\n", cli_colour(CLI_PLAIN));
}

static void transfer(const struct np_scheme *s, size_t i)
{
	char name[4 * NP_SCHEME_NAME], route[4 * NP_SCHEME_NAME];

	snprintf(route, sizeof(route), "%s -> %s", s->node[s->c[i].from],
		 s->node[s->c[i].to]);
	printf("%-*s", NAME, cli_cut(s->label[i], NAME - 1, name,
				     sizeof(name)));
	printf("%-*s", ROUTE, cli_cut(route, ROUTE - 1, name, sizeof(name)));
}

static void number(double v, const char *format)
{
	char text[CLI_NUMBER] = "-";

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (!isnan(v))
		snprintf(text, sizeof(text), format, v);
#pragma GCC diagnostic pop
	cli_right(stdout, text, NUMBER);
}

static void time_cell(const struct np_scheme *s, double v)
{
	char text[CLI_NUMBER];

	if (isnan(v) || !is_timed(s))
		number(v, "%.3f");
	else
		cli_right(stdout, cli_sec(v, text), NUMBER);
}

static void penalties(const struct block *b)
{
	const struct np_scheme *s = b->s;

	head(b, "penalty");
	for (size_t i = 0; i < s->n; i++) {
		transfer(s, i);
		if (is_measured(s))
			number(s->alone[i] > 0 ? s->took_sec[i] / s->alone[i] :
						 NAN, "%.3f");
		for (size_t m = b->from; m < b->to; m++) {
			const struct cli_sharing_model *g =
				cli_sharing_at(b->a, b->scheme, m);

			number(*g->why.text ? NAN : g->penalty[i], "%.3f");
		}
		putchar('\n');
	}
}

static void errors(const struct block *b)
{
	printf("%-*s", NAME + ROUTE + NUMBER, "mean error");
	for (size_t m = b->from; m < b->to; m++) {
		const struct cli_sharing_model *g =
			cli_sharing_at(b->a, b->scheme, m);

		number(*g->why.text ? NAN : 100 * g->error, "%.1f %%");
	}
	putchar('\n');
}

static void times(const struct block *b)
{
	const struct np_scheme *s = b->s;

	putchar('\n');
	head(b, is_timed(s) ? "time" : "in times of the unit");
	for (size_t i = 0; i < s->n; i++) {
		transfer(s, i);
		if (is_measured(s))
			time_cell(s, s->took_sec[i]);
		for (size_t m = b->from; m < b->to; m++) {
			const struct cli_sharing_model *g =
				cli_sharing_at(b->a, b->scheme, m);

			time_cell(s, *g->why.text ? NAN : g->time[i]);
		}
		putchar('\n');
	}
	if (is_measured(s))
		errors(b);
}

static void tables(const struct cli_sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	size_t room = SIDE_BY_SIDE - is_measured(s), n = a->net->n;

	for (size_t from = 0; from < n; from += room) {
		const struct block b = {
			a, s, k, from, from + room < n ? from + room : n };

		putchar('\n');
		penalties(&b);
		times(&b);
	}
}

static void bar(double from, double to, double end)
{
	int at = (int)(from / end * BAR + 0.5);
	int width = (int)(to / end * BAR + 0.5) - at;

	if (!width && at == BAR)
		at--;
	printf("%*s", at, "");
	for (int i = 0; i < (width ? width : 1); i++)
		fputs(cli_utf8() ? "\u2588" : "#", stdout);
	putchar('\n');
}

static void timeline(const struct cli_sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	char text[CLI_NUMBER];
	double end = 0;
	size_t m = 0;

	while (m < a->net->n && *cli_sharing_at(a, k, m)->why.text)
		m++;
	if (m == a->net->n || s->n > BARS)
		return;
	for (size_t i = 0; i < s->n; i++)
		end = fmax(end, cli_sharing_at(a, k, m)->end[i]);
	if (!(end > 0))
		return;
	if (!is_timed(s))
		snprintf(text, sizeof(text), "%.3f", end);
	cli_head("%-*s0 .. %s", NAME + ROUTE, a->net->model[m]->name,
		 is_timed(s) ? cli_sec(end, text) : text);
	for (size_t i = 0; i < s->n; i++) {
		transfer(s, i);
		bar(s->start_sec[i], cli_sharing_at(a, k, m)->end[i], end);
	}
}

static void scheme(const struct cli_sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	char size[CLI_NUMBER], sec[CLI_NUMBER], line[512];

	snprintf(line, sizeof(line), "%s: %zu transfer%s between %zu nodes; %s",
		 s->name, s->n, s->n == 1 ? "" : "s", s->n_nodes,
		 cli_bytes(s->reference_bytes, size));
	if (is_timed(s))
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 " take %s alone", cli_sec(s->reference_sec, sec));
	else
		strcat(line, " alone are the unit of time");
	cli_wrap(stdout, line, 2);
	cli_wrap(stdout, a->constant ? "Penalties of all at once." :
		 "Penalties change whenever a transfer starts or ends.", 2);
	tables(a, k);
	for (size_t m = 0; m < a->net->n; m++)
		if (*cli_sharing_at(a, k, m)->why.text)
			cli_wrap(stdout, cli_sharing_at(a, k, m)->why.text, 2);
	timeline(a, k);
}

static void fit(const struct cli_network *net)
{
	printf("%s%-12s%-46s%10s%10s%s\n", cli_colour(CLI_BOLD), "fit",
	       "parameters", "before", "error", cli_colour(CLI_PLAIN));
	for (size_t m = 0; m < net->n; m++) {
		const struct np_sharing_fit *f = &net->fit[m];
		char line[128] = "";

		for (size_t i = 0; i < f->n_param; i++)
			snprintf(line + strlen(line),
				 sizeof(line) - strlen(line), "%s%s=%.4g%s",
				 i ? "  " : "", f->name[i], f->value[i],
				 f->fitted[i] ? "" : " (kept)");
		printf("%-12s%-46s%8.1f %%%8.1f %%\n", net->model[m]->name,
		       line, 100 * f->mean_before, 100 * f->mean_error);
	}
	printf("mean relative error of %zu measured transfers\n\n",
	       net->fit[0].n);
}

int cli_sharing_text(const struct cli_sharing *a)
{
	if (a->net->fitted)
		fit(a->net);
	if (a->summary)
		return cli_sharing_summary(a);
	for (size_t k = 0; k < a->set->n; k++) {
		if (k)
			putchar('\n');
		scheme(a, k);
	}
	return CLI_DONE;
}

static void real_field(double v, char separator)
{
	if (!isnan(v))
		printf("%.9g", v);
	putchar(separator);
}

int cli_sharing_parsable(const struct cli_sharing *a)
{
	puts("Scheme|Transfer|From|To|Bytes|Start|Alone|Unit|Model|Penalty|"
	     "Time|Measured");
	for (size_t k = 0; k < a->set->n; k++)
		for (size_t i = 0; i < a->set->scheme[k].n; i++)
			for (size_t m = 0; m < a->net->n; m++) {
				const struct np_scheme *s = &a->set->scheme[k];
				const struct cli_sharing_model *g =
					cli_sharing_at(a, k, m);
				bool ok = !*g->why.text;

				printf("%s|%s|%s|%s|%llu|", s->name,
				       s->label[i], s->node[s->c[i].from],
				       s->node[s->c[i].to],
				       (unsigned long long)s->bytes[i]);
				real_field(s->start_sec[i], '|');
				real_field(s->alone[i], '|');
				printf("%s|%s|", is_timed(s) ? "s" :
				       "reference", a->net->model[m]->name);
				real_field(ok ? g->penalty[i] : NAN, '|');
				real_field(ok ? g->time[i] : NAN, '|');
				real_field(s->took_sec[i], '\n');
			}
	return CLI_DONE;
}

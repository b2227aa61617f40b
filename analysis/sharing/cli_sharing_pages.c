/* Reports of netprof sharing: text, JSON and tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_sharing.h"
#include "cli_text.h"

#define NAME 8	/* width of a transfer's name */
#define ROUTE 12 /* width of its nodes */
#define ENDS 5 /* width of the ends that it shares with others */
#define NUMBER 11
#define BAR 54
#define BARS 40 /* maximum number of transfers in the timeline */
#define SIDE_BY_SIDE 5 /* number columns that fit next to each other */

static bool is_timed(const struct np_scheme *s)
{
	return !isnan(s->reference_sec);
}

size_t cli_sharing_first(const struct cli_sharing *a, size_t scheme)
{
	size_t m = 0;

	while (m < a->net.n && *cli_sharing_at(a, scheme, m)->why.text)
		m++;
	return m;
}

static size_t n_measured(const struct np_scheme *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += !isnan(s->took_sec[i]);
	return n;
}

/* A range of models that fit next to each other. */
struct block {
	const struct cli_sharing *a;
	const struct np_scheme *s;
	size_t scheme, from, to;
};

static void print_head(const struct block *b, const char *what)
{
	printf("%s%-*s%-*s", cli_colour(CLI_BOLD), NAME + ROUTE, what, ENDS,
	       "ends");
	if (n_measured(b->s))
		cli_right(stdout, "measured", NUMBER);
	for (size_t m = b->from; m < b->to; m++)
		cli_right(stdout, b->a->net.model[m]->name, NUMBER);
	printf("%s\n", cli_colour(CLI_PLAIN));
}

static void print_transfer(const struct np_scheme *s, size_t i)
{
	char route[4 * NP_SCHEME_NAME];

	snprintf(route, sizeof(route), "%s -> %s", s->node[s->c[i].from],
		 s->node[s->c[i].to]);
	cli_left(stdout, s->label[i], NAME - 1);
	putchar(' ');
	cli_left(stdout, route, ROUTE - 1);
	putchar(' ');
}

/* The ends that a transfer shares with others at any time: 1, 2 or both (3). */
static unsigned shared_ends(const struct np_scheme *s, size_t i)
{
	unsigned ends = 0;

	for (size_t k = 0; k < s->n; k++)
		if (k != i && s->c[i].from != s->c[i].to &&
		    s->c[k].from != s->c[k].to)
			ends |= (s->c[k].from == s->c[i].from) |
				(unsigned)(s->c[k].to == s->c[i].to) << 1;
	return ends;
}

static void print_ends(const struct np_scheme *s, size_t i)
{
	static const char *const names[] = { "-", "src", "dst", "both" };

	printf("%-*s", ENDS, names[shared_ends(s, i)]);
}

static void print_number(double v, int digits, const char *unit)
{
	char text[CLI_NUMBER] = "-";

	if (!isnan(v))
		snprintf(text, sizeof(text), v < 1e6 ? "%.*f%s" : "%.*g%s",
			 digits, v, unit);
	cli_right(stdout, text, NUMBER);
}

static void print_time(const struct np_scheme *s, double v)
{
	if (is_timed(s))
		cli_right_sec(v, NUMBER);
	else
		print_number(v, 3, "");
}

static void print_penalties(const struct block *b)
{
	const struct np_scheme *s = b->s;

	print_head(b, "penalty");
	for (size_t i = 0; i < s->n; i++) {
		print_transfer(s, i);
		print_ends(s, i);
		if (n_measured(s))
			print_number(s->alone[i] > 0 ?
					     s->took_sec[i] / s->alone[i] :
					     NAN,
				     3, "");
		for (size_t m = b->from; m < b->to; m++) {
			const struct cli_sharing_model *g =
				cli_sharing_at(b->a, b->scheme, m);

			print_number(*g->why.text ? NAN : g->penalty[i], 3, "");
		}
		putchar('\n');
	}
}

static void print_errors(const struct block *b)
{
	printf("%-*s", NAME + ROUTE + ENDS + NUMBER, "mean error");
	for (size_t m = b->from; m < b->to; m++) {
		const struct cli_sharing_model *g =
			cli_sharing_at(b->a, b->scheme, m);

		print_number(*g->why.text ? NAN : 100 * g->error, 1, " %");
	}
	putchar('\n');
}

static void print_times(const struct block *b)
{
	const struct np_scheme *s = b->s;

	putchar('\n');
	print_head(b, is_timed(s) ? "time" : "in times of the unit");
	for (size_t i = 0; i < s->n; i++) {
		print_transfer(s, i);
		print_ends(s, i);
		if (n_measured(s))
			print_time(s, s->took_sec[i]);
		for (size_t m = b->from; m < b->to; m++) {
			const struct cli_sharing_model *g =
				cli_sharing_at(b->a, b->scheme, m);

			print_time(s, *g->why.text ? NAN : g->time[i]);
		}
		putchar('\n');
	}
	if (n_measured(s))
		print_errors(b);
}

static void print_tables(const struct cli_sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	size_t room = SIDE_BY_SIDE - (n_measured(s) > 0), n = a->net.n;

	for (size_t from = 0; from < n; from += room) {
		const struct block b = {
			a, s, k, from, from + room < n ? from + room : n };

		putchar('\n');
		print_penalties(&b);
		print_times(&b);
	}
}

static void print_bar(double from, double to, double end)
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

static void print_timeline(const struct cli_sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	char text[CLI_NUMBER];
	size_t m = cli_sharing_first(a, k);
	double end = 0;

	if (m == a->net.n || s->n > BARS)
		return;
	for (size_t i = 0; i < s->n; i++)
		end = fmax(end, cli_sharing_at(a, k, m)->end[i]);
	if (!(end > 0))
		return;
	if (!is_timed(s))
		snprintf(text, sizeof(text), "%.3f", end);
	cli_head("%-*s0 .. %s", NAME + ROUTE, a->net.model[m]->name,
		 is_timed(s) ? cli_sec(end, text) : text);
	for (size_t i = 0; i < s->n; i++) {
		print_transfer(s, i);
		print_bar(s->start_sec[i], cli_sharing_at(a, k, m)->end[i],
			  end);
	}
}

static void print_scheme(const struct cli_sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	char size[CLI_NUMBER], sec[CLI_NUMBER];

	cli_say(CLI_PLAIN, 2, "%s: %zu transfer%s between %zu nodes; %s%s%s%s",
		s->name, s->n, s->n == 1 ? "" : "s", s->n_nodes,
		cli_bytes(s->reference_bytes, size), is_timed(s) ? " take " :
		"", is_timed(s) ? cli_sec(s->reference_sec, sec) : "",
		is_timed(s) ? " alone" : " alone are the unit of time");
	cli_wrap(stdout, a->constant ? "Penalties of all at once." :
		 "Penalties change whenever a transfer starts or ends.", 2);
	print_tables(a, k);
	for (size_t m = 0; m < a->net.n; m++)
		if (*cli_sharing_at(a, k, m)->why.text)
			cli_wrap(stdout, cli_sharing_at(a, k, m)->why.text, 2);
	print_timeline(a, k);
}

static void print_fit(const struct cli_network *net)
{
	printf("%s%-12s%-46s%10s%10s%s\n", cli_colour(CLI_BOLD), "fit",
	       "parameters", "before", "error", cli_colour(CLI_PLAIN));
	for (size_t m = 0; m < net->n; m++) {
		const struct np_sharing_fit *f = &net->fit[m];
		char line[128] = "";

		for (size_t i = 0; i < f->n_param; i++)
			cli_add(line, sizeof(line), "%s%s=%.4g%s",
				i ? "  " : "", f->name[i], f->value[i],
				f->fitted[i] ? "" : " (kept)");
		printf("%-12s%-46s%8.1f %%%8.1f %%\n", net->model[m]->name,
		       line, 100 * f->mean_before, 100 * f->mean_error);
	}
	printf("mean relative error of %zu measured transfers\n\n",
	       net->fit[0].n);
}

/*
 * Mean error of a model over all schemes, in which each transfer counts once.
 */
struct total {
	double sum;
	size_t n;
};

static void print_summary_row(const struct cli_sharing *a, size_t k,
			struct total *all)
{
	const struct np_scheme *s = &a->set->scheme[k];

	cli_left(stdout, s->name, 9);
	printf("%5zu", n_measured(s));
	for (size_t m = 0; m < a->net.n; m++) {
		const struct cli_sharing_model *g = cli_sharing_at(a, k, m);
		bool known = !*g->why.text && g->n_measured;

		print_number(known ? 100 * g->error : NAN, 1, " %");
		if (known) {
			all[m].sum += g->error * (double)g->n_measured;
			all[m].n += g->n_measured;
		}
	}
	putchar('\n');
}

/* Prints the errors of the models. */
static int print_summary(const struct cli_sharing *a)
{
	struct total all[CLI_NETWORK_MODELS] = { { 0, 0 } };
	size_t n = 0;

	printf("%s%-10s%4s", cli_colour(CLI_BOLD), "scheme", "n");
	for (size_t m = 0; m < a->net.n; m++)
		cli_right(stdout, a->net.model[m]->name, NUMBER);
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t k = 0; k < a->set->n; k++) {
		print_summary_row(a, k, all);
		n += n_measured(&a->set->scheme[k]);
	}
	printf("%-10s%4zu", "all", n);
	for (size_t m = 0; m < a->net.n; m++)
		print_number(all[m].n ? 100 * (all[m].sum / (double)all[m].n) :
					NAN,
			     1, " %");
	putchar('\n');
	return CLI_DONE;
}

int cli_sharing_text(const struct cli_sharing *a)
{
	if (a->net.fitted)
		print_fit(&a->net);
	if (a->summary)
		return print_summary(a);
	for (size_t k = 0; k < a->set->n; k++) {
		if (k)
			putchar('\n');
		print_scheme(a, k);
	}
	return CLI_DONE;
}

static void put_transfer(json_object *list, const struct cli_sharing *a,
			 size_t k, size_t i)
{
	static const char *const names[] = { "none", "source", "destination",
					     "both" };
	const struct np_scheme *s = &a->set->scheme[k];
	json_object *t = cli_append_object(list), *models;

	cli_put_text(t, "name", s->label[i]);
	cli_put_text(t, "from", s->node[s->c[i].from]);
	cli_put_text(t, "to", s->node[s->c[i].to]);
	cli_put_text(t, "shared", names[shared_ends(s, i)]);
	cli_put_count(t, "bytes", s->bytes[i]);
	cli_put_computed(t, "start_sec", s->start_sec[i]);
	cli_put_computed(t, "alone", s->alone[i]);
	cli_put_computed(t, "measured_sec", s->took_sec[i]);
	models = cli_put_object(t, "models");
	for (size_t m = 0; m < a->net.n; m++) {
		const struct cli_sharing_model *g = cli_sharing_at(a, k, m);
		json_object *o = cli_put_if(models, a->net.model[m]->name,
					    !*g->why.text);

		if (!o)
			continue;
		cli_put_computed(o, "penalty", g->penalty[i]);
		cli_put_computed(o, "time", g->time[i]);
		cli_put_computed(o, "end", g->end[i]);
	}
}

static void put_models(json_object *in, const struct cli_sharing *a, size_t k)
{
	json_object *list = cli_put_array(in, "models");

	for (size_t m = 0; m < a->net.n; m++) {
		const struct cli_sharing_model *g = cli_sharing_at(a, k, m);
		json_object *o = cli_append_object(list);

		cli_put_text(o, "model", a->net.model[m]->name);
		if (*g->why.text)
			cli_put_text(o, "why", g->why.text);
		else
			cli_put_computed(o, "mean_error", g->error);
		cli_put_count(o, "measured", g->n_measured);
	}
}

static void put_scheme(json_object *list, const struct cli_sharing *a,
		       size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	json_object *o = cli_append_object(list), *transfers;

	cli_put_text(o, "name", s->name);
	cli_put_count(o, "n_nodes", s->n_nodes);
	cli_put_count(o, "reference_bytes", s->reference_bytes);
	cli_put_computed(o, "reference_sec", s->reference_sec);
	cli_put_computed(o, "latency_sec", s->latency_sec);
	cli_put_text(o, "unit", isnan(s->reference_sec) ? "reference" : "s");
	transfers = cli_put_array(o, "transfers");
	for (size_t i = 0; i < s->n; i++)
		put_transfer(transfers, a, k, i);
	put_models(o, a, k);
}

static void put_fit(json_object *in, const struct cli_network *net)
{
	json_object *list = cli_put_array(in, "fit");

	for (size_t m = 0; m < net->n; m++) {
		const struct np_sharing_fit *f = &net->fit[m];
		json_object *o = cli_append_object(list), *parameters;

		cli_put_text(o, "model", net->model[m]->name);
		parameters = cli_put_object(o, "parameters");
		for (size_t i = 0; i < f->n_param; i++) {
			json_object *p = cli_put_object(parameters,
							f->name[i]);

			cli_put_computed(p, "value", f->value[i]);
			cli_put_bool(p, "fitted", f->fitted[i]);
		}
		cli_put_count(o, "measured", f->n);
		cli_put_computed(o, "mean_error_before", f->mean_before);
		cli_put_computed(o, "mean_error", f->mean_error);
	}
}

static const struct cli_table table = {
	"Scheme|Transfer|From|To|Bytes|Start|Alone|Unit|Model|Penalty|Time|"
	"Measured|Shared",
	{ { "schemes transfers models",
	    "../../name|../name|../from|../to|../bytes|../start_sec|../alone|"
	    "../../unit|%|penalty|time|../measured_sec|../shared" } },
};

int cli_sharing_data(const struct cli_sharing *a, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "evaluation", a->constant ? "static" : "dynamic");
	if (a->net.fitted)
		put_fit(j, &a->net);
	list = cli_put_array(j, "schemes");
	for (size_t k = 0; k < a->set->n; k++)
		put_scheme(list, a, k);
	return cli_print_page(format, "sharing", j, &table);
}

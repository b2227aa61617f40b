/*
 * netprof sharing: how concurrent transfers share a network. Each scheme of a
 * file is evaluated with each of the requested models. If the file contains
 * measured times, the errors of the models are reported, and with --fit their
 * parameters are first fitted to such times.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_network.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_figure.h"

/* Results of one model for one scheme. */
struct model_result {
	struct np_err why;  /* why there is no result; "" if there is one */
	double *penalty;    /* by transfer: its time over its time alone */
	double *time, *end; /* duration and end, in the unit of the scheme */
	double error; /* mean |time / measured - 1|; NAN: nothing measured */
	size_t n_measured;
};

/* The request and all results, which the reports print. */
struct sharing {
	const struct np_scheme_set *set;
	struct cli_network net;
	const char *fit; /* file to fit parameters to, or NULL */
	/* constant penalties, as if all transfers were active all the time */
	bool constant;
	bool summary;		      /* text output: only the errors */
	struct model_result *results; /* by scheme and model */
};

/* The result of a model for a scheme. */
static const struct model_result *result_at(const struct sharing *a,
					    size_t scheme, size_t model)
{
	return &a->results[scheme * a->net.n + model];
}

/* ---- Reports of netprof sharing: text, JSON and tables ---- */

#define NAME 7	       /* width of a transfer's name */
#define ROUTE 11       /* width of its nodes */
#define ENDS 7	       /* width of the ends that it shares with others */
#define NUMBER 11      /* width of a column of numbers */
#define BAR 54	       /* columns of the timeline */
#define BARS 40	       /* maximum number of transfers in the timeline */
#define SIDE_BY_SIDE 5 /* number columns that fit next to each other */

/* Whether times are in seconds; otherwise they are relative. */
static bool is_timed(const struct np_scheme *s)
{
	return !isnan(s->reference_sec);
}

/* The first model with a result; net.n if there is none. */
static size_t first_result(const struct sharing *a, size_t scheme)
{
	size_t m = 0;

	while (m < a->net.n && *result_at(a, scheme, m)->why.text)
		m++;
	return m;
}

/* Number of transfers with a measured time. */
static size_t n_measured(const struct np_scheme *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += !isnan(s->took_sec[i]);
	return n;
}

/* A range of models that fit next to each other. */
struct block {
	const struct sharing *a;
	const struct np_scheme *s;
	size_t scheme, from, to;
};

/* Prints the head of a table. */
static void print_head(const struct block *b, const char *what)
{
	printf("%s%-*s%-*s", cli_colour(CLI_BOLD), NAME + ROUTE, what, ENDS,
	       "Shared");
	if (n_measured(b->s))
		cli_print_right(stdout, "Measured", NUMBER);
	for (size_t m = b->from; m < b->to; m++)
		cli_print_right(stdout, b->a->net.model[m]->name, NUMBER);
	printf("%s\n", cli_colour(CLI_PLAIN));
}

/* Prints text cut to a number of columns, also in a pipe: columns are fixed. */
static void print_cut(const char *text, int width)
{
	cli_print_left(stdout, cli_truncate(text, (size_t)width), width);
}

/* Prints a name, with its number at the end if cut names would look alike. */
static void print_name(const struct np_scheme *s, size_t i)
{
	char number[24] = "";

	for (size_t k = 0; k < s->n && strlen(s->label[i]) >= NAME; k++)
		if (k != i && !strncmp(s->label[k], s->label[i], NAME - 2))
			snprintf(number, sizeof(number), "%zu", i + 1);
	print_cut(s->label[i], NAME - 1 - (int)strlen(number));
	printf("%s ", number);
}

/* Prints the name and the nodes of a transfer. */
static void print_transfer(const struct np_scheme *s, size_t i)
{
	char route[4 * NP_SCHEME_NAME];

	snprintf(route, sizeof(route), "%s -> %s", s->node[s->c[i].from],
		 s->node[s->c[i].to]);
	print_name(s, i);
	print_cut(route, ROUTE - 1);
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

/* Prints which ends of a transfer are shared. */
static void print_ends(const struct np_scheme *s, size_t i)
{
	static const char *const names[] = { "-", "src", "dst", "both" };

	printf("%-*s", ENDS, names[shared_ends(s, i)]);
}

/* Prints a number; "-" if there is none. */
static void print_number(double v, int digits, const char *unit)
{
	char text[CLI_NUMBER_LEN] = "-";

	/* An error may be rounded to 0, a time not. */
	bool small = !*unit && v > 0 && v < 0.5 * pow(0.1, digits);

	if (!isnan(v))
		snprintf(text, sizeof(text),
			 v < 1e6 && !small ? "%.*f%s" : "%.*g%s", digits, v,
			 unit);
	cli_print_right(stdout, text, NUMBER);
}

/* Prints a penalty or a time: in seconds, or as a relative number. */
static void print_value(const struct np_scheme *s, bool is_time, double v)
{
	if (is_time && is_timed(s))
		cli_print_sec(v, NUMBER);
	else
		print_number(v, 3, "");
}

/* Prints the table of penalties, or of times. */
static void print_table(const struct block *b, const char *what, bool times)
{
	const struct np_scheme *s = b->s;

	print_head(b, what);
	for (size_t i = 0; i < s->n; i++) {
		double took = s->took_sec[i], alone = s->alone[i];

		print_transfer(s, i);
		print_ends(s, i);
		if (n_measured(s))
			print_value(s, times,
				    times     ? took :
				    alone > 0 ? took / alone :
						NAN);
		for (size_t m = b->from; m < b->to; m++) {
			const struct model_result *g =
				result_at(b->a, b->scheme, m);

			print_value(s, times,
				    *g->why.text ? NAN :
				    times	 ? g->time[i] :
						   g->penalty[i]);
		}
		putchar('\n');
	}
}

/* Prints the mean error of each model. */
static void print_errors(const struct block *b)
{
	printf("%-*s", NAME + ROUTE + ENDS + NUMBER, "Mean error");
	for (size_t m = b->from; m < b->to; m++) {
		const struct model_result *g = result_at(b->a, b->scheme, m);

		print_number(*g->why.text ? NAN : 100 * g->error, 1, " %");
	}
	putchar('\n');
}

/* Prints the tables in blocks of as many models as fit. */
static void print_tables(const struct sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	size_t room = SIDE_BY_SIDE - (n_measured(s) > 0), n = a->net.n;

	for (size_t from = 0; from < n; from += room) {
		const struct block b = { a, s, k, from,
					 from + room < n ? from + room : n };

		putchar('\n');
		print_table(&b, "Penalty", false);
		putchar('\n');
		print_table(&b, is_timed(s) ? "Time" : "Time (units)", true);
		if (n_measured(s))
			print_errors(&b);
	}
}

/* Prints a bar of the timeline. */
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

/* Prints when each transfer is active under the first model. */
static void print_timeline(const struct sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];
	char text[CLI_NUMBER_LEN];
	size_t m = first_result(a, k);
	double end = 0;

	if (m == a->net.n || s->n > BARS)
		return;
	for (size_t i = 0; i < s->n; i++)
		end = fmax(end, result_at(a, k, m)->end[i]);
	if (!(end > 0))
		return;
	if (!is_timed(s))
		snprintf(text, sizeof(text), "%.3f", end);
	cli_heading("Timeline of %s, 0 to %s", a->net.model[m]->name,
		    is_timed(s) ? cli_sec(end) : text);
	for (size_t i = 0; i < s->n; i++) {
		print_transfer(s, i);
		print_bar(s->start_sec[i], result_at(a, k, m)->end[i], end);
	}
}

/* Prints everything about one scheme. */
static void print_scheme(const struct sharing *a, size_t k)
{
	const struct np_scheme *s = &a->set->scheme[k];

	cli_printf(CLI_PLAIN, 2,
		   "%s: %zu transfer%s between %zu nodes; %s%s%s%s.", s->name,
		   s->n, cli_plural_s(s->n), s->n_nodes,
		   is_timed(s) ? "alone, " : "the unit of time is that of ",
		   cli_bytes(s->reference_bytes),
		   is_timed(s) ? " take " : " alone",
		   is_timed(s) ? cli_sec(s->reference_sec) : "");
	cli_wrap(stdout,
		 a->constant ?
			 "Constant penalties, with all transfers active." :
			 "Penalties change whenever a transfer starts or ends.",
		 2);
	print_tables(a, k);
	for (size_t m = 0; m < a->net.n; m++)
		if (*result_at(a, k, m)->why.text)
			cli_wrap(stdout, result_at(a, k, m)->why.text, 2);
	print_timeline(a, k);
}

/* Prints the fitted parameters and the errors before and after. */
static void print_fit(const struct cli_network *net)
{
	printf("%s%-12s%10s%10s  %s%s\n", cli_colour(CLI_BOLD), "Fit", "Before",
	       "After", "Parameters", cli_colour(CLI_PLAIN));
	for (size_t m = 0; m < net->n; m++) {
		const struct np_sharing_fit *f = &net->fit[m];
		char line[128] = "";

		for (size_t i = 0; i < f->n_param; i++)
			cli_appendf(line, sizeof(line), "%s%s=%.4g%s",
				    i ? "  " : "", f->name[i], f->value[i],
				    f->fitted[i] ? "" : " (kept)");
		printf("%-12s%8.1f %%%8.1f %%%s%s\n", net->model[m]->name,
		       100 * f->mean_before, 100 * f->mean_error,
		       *line ? "  " : "", line);
	}
	printf("Before, After: mean relative error of %zu measured "
	       "transfer%s.\n\n",
	       net->fit[0].n, cli_plural_s(net->fit[0].n));
}

/*
 * Mean error of a model over all schemes, in which each transfer counts once.
 */
struct total {
	double sum;
	size_t n;
};

/* Prints the errors for one scheme and adds them to the totals. */
static void print_summary_row(const struct sharing *a, size_t k,
			      struct total *all)
{
	const struct np_scheme *s = &a->set->scheme[k];

	cli_print_left(stdout, s->name, 9);
	printf("%5zu", n_measured(s));
	for (size_t m = 0; m < a->net.n; m++) {
		const struct model_result *g = result_at(a, k, m);
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
static int print_summary(const struct sharing *a)
{
	struct total all[CLI_NETWORK_MODELS] = { { 0, 0 } };
	size_t n = 0;

	printf("%s%-10s%4s", cli_colour(CLI_BOLD), "Scheme", "n");
	for (size_t m = 0; m < a->net.n; m++)
		cli_print_right(stdout, a->net.model[m]->name, NUMBER);
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t k = 0; k < a->set->n; k++) {
		print_summary_row(a, k, all);
		n += n_measured(&a->set->scheme[k]);
	}
	printf("%-10s%4zu", "All", n);
	for (size_t m = 0; m < a->net.n; m++)
		print_number(all[m].n ? 100 * (all[m].sum / (double)all[m].n) :
					NAN,
			     1, " %");
	putchar('\n');
	return CLI_DONE;
}

static int print_text(const struct sharing *a)
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

/* Adds a transfer under all models to the JSON output. */
static void put_transfer(json_object *list, const struct sharing *a, size_t k,
			 size_t i)
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
		const struct model_result *g = result_at(a, k, m);
		json_object *o = cli_put_if(models, a->net.model[m]->name,
					    !*g->why.text);

		if (!o)
			continue;
		cli_put_computed(o, "penalty", g->penalty[i]);
		cli_put_computed(o, "time", g->time[i]);
		cli_put_computed(o, "end", g->end[i]);
	}
}

/* Adds the models of a scheme to the JSON output, or why one has no result. */
static void put_models(json_object *in, const struct sharing *a, size_t k)
{
	json_object *list = cli_put_array(in, "models");

	for (size_t m = 0; m < a->net.n; m++) {
		const struct model_result *g = result_at(a, k, m);
		json_object *o = cli_append_object(list);

		cli_put_text(o, "model", a->net.model[m]->name);
		if (*g->why.text)
			cli_put_text(o, "why", g->why.text);
		else
			cli_put_computed(o, "mean_error", g->error);
		cli_put_count(o, "measured", g->n_measured);
	}
}

/* Adds a scheme to the JSON output. */
static void put_scheme(json_object *list, const struct sharing *a, size_t k)
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

/* Adds the fitted parameters to the JSON output. */
static void put_fit(json_object *in, const struct cli_network *net)
{
	json_object *list = cli_put_array(in, "fit");

	for (size_t m = 0; m < net->n; m++) {
		const struct np_sharing_fit *f = &net->fit[m];
		json_object *o = cli_append_object(list), *parameters;

		cli_put_text(o, "model", net->model[m]->name);
		parameters = cli_put_object(o, "parameters");
		for (size_t i = 0; i < f->n_param; i++) {
			json_object *p = cli_put_object(parameters, f->name[i]);

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

/* Prints everything as JSON or as a table. */
static int print_data(const struct sharing *a, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "evaluation", a->constant ? "static" : "dynamic");
	if (a->net.fitted)
		put_fit(j, &a->net);
	list = cli_put_array(j, "schemes");
	for (size_t k = 0; k < a->set->n; k++)
		put_scheme(list, a, k);
	return cli_print_output(format, "sharing", j, &table);
}

/*
 * ---- netprof sharing --plot ----
 *
 * When each transfer is active, and how much of its time is due to sharing.
 */

#define SCHEMES 24   /* panels of a figure */
#define TRANSFERS 40 /* rows for one scheme */

enum { ALONE, PENALTY, OTHERS }; /* styles */

/* Number of transfers that are drawn. */
static size_t rows_of(const struct np_scheme *s)
{
	return s->n < TRANSFERS ? s->n : TRANSFERS;
}

/* Leaves room for the markers at the ends. */
static void extend_axis(struct np_panel *p, double end)
{
	if (end > 0)
		p->x.hi = fmax(p->x.hi, 1.02 * end);
}

/* Adds the part of its time that a transfer takes alone, or the rest. */
static void add_spans(struct np_figure *f, struct np_panel *p,
		      const struct np_scheme *s, const char *model,
		      const struct model_result *g, unsigned style)
{
	char name[64];
	struct np_shape *shape;

	snprintf(name, sizeof(name),
		 style == ALONE ? "time alone" : "lost by sharing, %s", model);
	shape = np_figure_add_shape(f, p, NP_SHAPE_SPANS, style, name);
	for (size_t i = 0; i < rows_of(s); i++) {
		double alone = fmin(g->end[i], s->start_sec[i] + s->alone[i]);

		np_figure_add_datum(f, shape, NAN, (double)i,
				    style == ALONE ? s->start_sec[i] : alone,
				    style == ALONE ? alone : g->end[i]);
		extend_axis(p, g->end[i]);
	}
}

/* Marks the ends according to another model, or to measurements. */
static void add_ends(struct np_figure *f, struct np_panel *p,
		     const struct np_scheme *s, const double *end,
		     unsigned style, const char *name)
{
	struct np_shape *shape = NULL;

	for (size_t i = 0; i < rows_of(s); i++) {
		double at = end ? end[i] : s->start_sec[i] + s->took_sec[i];

		if (isnan(at))
			continue;
		if (!shape)
			shape = np_figure_add_shape(f, p, NP_SHAPE_POINTS,
						    style, name);
		np_figure_add_datum(f, shape, at, (double)i, NAN, NAN);
		extend_axis(p, at);
	}
}

/* Sets up the axes, with a row for each transfer. */
static void add_rows(struct np_figure *f, struct np_panel *p,
		     const struct np_scheme *s)
{
	char name[3 * NP_SCHEME_NAME + 8];

	np_figure_set_axis(f, &p->x, NP_AXIS_LINEAR,
			   isnan(s->reference_sec) ?
				   "Time (a reference transfer alone = 1)" :
				   "Time (s)");
	np_figure_set_axis(f, &p->y, NP_AXIS_NAMES, "Transfer");
	p->x.lo = 0;
	for (size_t i = 0; i < rows_of(s); i++) {
		snprintf(name, sizeof(name), "%s: %s \xe2\x86\x92 %s",
			 s->label[i], s->node[s->c[i].from],
			 s->node[s->c[i].to]);
		np_figure_add_name(f, &p->y, name);
	}
}

/* Adds the panel of a scheme. */
static void add_scheme(struct np_figure *f, const struct sharing *a, size_t k,
		       size_t first)
{
	const struct np_scheme *s = &a->set->scheme[k];
	struct np_panel *p = np_figure_add_panel(f, s->name);

	add_rows(f, p, s);
	for (unsigned style = ALONE; style <= PENALTY; style++)
		add_spans(f, p, s, a->net.model[first]->name,
			  result_at(a, k, first), style);
	for (size_t m = first + 1; m < a->net.n; m++)
		if (!*result_at(a, k, m)->why.text)
			add_ends(f, p, s, result_at(a, k, m)->end,
				 OTHERS + (unsigned)m - 1,
				 a->net.model[m]->name);
	add_ends(f, p, s, NULL, NP_STYLE_GREY, "measured");
}

/* Draws the first schemes and saves the figure. */
static int draw_figure(const struct sharing *a, const char *path)
{
	struct np_figure *f = cli_figure_new("Transfers that share a network");
	size_t n = a->set->n < SCHEMES ? a->set->n : SCHEMES, first, most = 0;

	for (size_t k = 0; k < n; k++) {
		first = first_result(a, k);
		if (first < a->net.n)
			add_scheme(f, a, k, first);
		if (a->set->scheme[k].n > most)
			most = a->set->scheme[k].n;
	}
	np_figure_set_caption(
		f,
		"Bars end as the first model predicts, marks as the "
		"others do; penalties %s; n = %zu scheme%s%s%s.",
		a->constant ? "are constant" :
			      "change with the active transfers",
		n, cli_plural_s(n),
		n < a->set->n ? " (others are not drawn)" : "",
		most > TRANSFERS ? "; at most 40 transfers of each are drawn" :
				   "");
	return cli_figure_save_and_free(f, path);
}

/* ---- The command ---- */

/* Parses --dynamic. The last of --static and --dynamic applies. */
static int take_dynamic(char *text, void *own, struct np_err *err)
{
	struct sharing *a = own;

	(void)text;
	(void)err;
	a->constant = false;
	return 0;
}

#define AT(member) offsetof(struct sharing, member)

static const struct np_option options[] = {
	{ "model", NP_OPTION_TAKE, AT(net), .take = cli_network_models },
	{ "set", NP_OPTION_TAKE, AT(net), .take = cli_network_set },
	{ "static", NP_OPTION_FLAG, AT(constant) },
	{ "dynamic", NP_OPTION_CALL, .take = take_dynamic },
	{ "fit", NP_OPTION_WORD, AT(fit) },
	{ "summary", NP_OPTION_FLAG, AT(summary) },
	{ NULL },
};

/* Parses the command line. Models are fitted, or a scheme is given. */
static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct sharing *a, struct cli_options *o)
{
	int rc = cli_options_parse(self, argc, argv, a, o);

	if (rc < 0 && !o->n_apps && !a->fit)
		return cli_usage(self, "expected a file with schemes");
	if (rc < 0 && a->summary && (o->plot || o->format))
		return cli_usage(self, "--summary has no effect with %s",
				 o->plot ? "--plot" : "--json or --parsable");
	return rc < 0 ? cli_network_check(&a->net, self) : rc;
}

/* Evaluates a model as if all transfers were active all the time. */
static int evaluate_static(const struct np_scheme *s,
			   const struct np_sharing_model *model,
			   const struct np_sharing_param *p,
			   struct model_result *out)
{
	int rc = np_sharing_static(model, p, s->c, s->n, s->n_nodes,
				   out->penalty, &out->why);

	for (size_t i = 0; !rc && i < s->n; i++) {
		out->time[i] = out->penalty[i] * s->alone[i];
		out->end[i] = s->start_sec[i] + out->time[i];
	}
	return rc;
}

/*
 * Evaluates a model while transfers start and end. fmax() removes rounding
 * below a penalty of 1.
 */
static int evaluate_dynamic(const struct np_scheme *s,
			    const struct np_sharing_model *model,
			    const struct np_sharing_param *p,
			    struct model_result *out)
{
	int rc = np_sharing_dynamic(model, p, s->c, s->start_sec, s->alone,
				    s->n, s->n_nodes, out->end, &out->why);

	for (size_t i = 0; !rc && i < s->n; i++) {
		out->time[i] = out->end[i] - s->start_sec[i];
		out->penalty[i] = s->alone[i] > 0 ?
					  fmax(1, out->time[i] / s->alone[i]) :
					  1;
	}
	return rc;
}

/* Computes the mean error of a model. */
static void compare(const struct np_scheme *s, struct model_result *out)
{
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->took_sec[i])) {
			sum += fabs(out->time[i] / s->took_sec[i] - 1);
			out->n_measured++;
		}
	out->error = out->n_measured ? sum / (double)out->n_measured : NAN;
}

/* Evaluates all models. One that has no result does not affect the others. */
static int evaluate_all(struct sharing *a, struct np_err *err)
{
	const struct cli_network *net = &a->net;
	size_t n_with_result = 0;

	a->results = cli_calloc(a->set->n * net->n, sizeof(*a->results));
	for (size_t k = 0; k < a->set->n * net->n; k++) {
		const struct np_scheme *s = &a->set->scheme[k / net->n];
		const struct np_sharing_model *m = net->model[k % net->n];
		struct model_result *out = &a->results[k];
		int rc;

		out->penalty = cli_calloc(3 * s->n, sizeof(*out->penalty));
		out->time = out->penalty + s->n;
		out->end = out->time + s->n;
		rc = (a->constant ? evaluate_static :
				    evaluate_dynamic)(s, m, &net->param, out);
		if (rc && rc != -E2BIG)
			return np_errf(err, rc, "scheme %s: %s", s->name,
				       out->why.text);
		if (rc) {
			np_errf(err, rc, "model %s: %s", m->name,
				out->why.text);
			out->why = *err;
		} else {
			compare(s, out);
		}
		n_with_result += !rc;
	}
	return n_with_result ? 0 : -E2BIG;
}

/* Evaluates, prints or draws, and frees the results. */
static int report_all(struct sharing *a, const struct cli_options *o)
{
	struct np_err err = NP_ERR_INIT;
	int rc = evaluate_all(a, &err) ? cli_fail("%s", err.text) :
		 o->plot	       ? draw_figure(a, o->plot) :
		 o->format	       ? print_data(a, o->format) :
					 print_text(a);

	for (size_t k = 0; k < a->set->n * a->net.n; k++)
		free(a->results[k].penalty);
	free(a->results);
	return rc;
}

/*
 * Fits the parameters of each selected model to the measured times of these
 * schemes. Returns 0 or -errno with err.
 */
static int network_fit(struct cli_network *net, const struct np_scheme_set *s,
		       const char *path, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = 0;

	for (size_t m = 0; !rc && m < net->n; m++)
		rc = np_sharing_fit(net->model[m], s->scheme, s->n, &net->param,
				    &net->fit[m], &why);
	if (rc)
		np_errf(err, rc, "%.120s: %s", path, why.text);
	net->fitted = !rc;
	return rc;
}

/* Reads the schemes, fits parameters on request, and reports. */
static int run_sharing(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_scheme_set set = { .n = 0 }, measured = { .n = 0 };
	struct sharing a = { .set = &set };
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	int rc;

	cli_network_init(&a.net);
	rc = parse(self, argc, argv, &a, &o);
	if (rc >= 0)
		return rc;
	rc = a.fit ? np_scheme_read(a.fit, &measured, &err) : 0;
	if (!rc && a.fit)
		rc = network_fit(&a.net, &measured, a.fit, &err);
	if (!rc)
		rc = np_scheme_read(o.app ? o.app : a.fit, &set, &err);
	rc = rc ? cli_fail("%s", err.text) : report_all(&a, &o);
	np_scheme_free(&set);
	np_scheme_free(&measured);
	return rc;
}

const struct cli_cmd cmd_sharing = {
	.name = "sharing",
	.args = "[OPTION]... [--fit=FILE] SCHEME",
	.help = "how concurrent transfers share a network",
	.text = "Computes penalties (time over time alone) and times of the transfers in\n"
		"SCHEME, netprof-scheme(5), with models of networks, and compares them with\n"
		"measured times if the scheme contains some.\n\n"
		"  --model=M,...   models: gige, myrinet, infiniband, maxmin (by default these\n"
		"                  four), conflicts, none\n"
		"  --static        constant penalties, as if all transfers were active; by\n"
		"                  default they change whenever one starts or ends (--dynamic)\n"
		"  --fit=FILE      first fit the models to the times measured in FILE, which\n"
		"                  contains schemes; FILE is also the default for SCHEME\n"
		"  --summary       print only the mean errors of the models\n"
		"  --set=P=V,...   parameters: beta, gamma_o, gamma_i of gige; be, bs, gs\n"
		"                  of infiniband; fabric: number of transfers that the\n"
		"                  switch carries at once (no limit)\n"
		"  --plot=FILE     draw transfers over time: .svg, .png or .pdf\n"
		"  --json, --parsable\n"
		"                  output for programs; --parsable (-P) as in sacct",
	.examples =
		"  netprof sharing two.scheme\n"
		"  netprof sharing --model=maxmin --plot=two.svg two.scheme\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT,
	.own = options,
	.max_args = 1,
	.run = run_sharing,
};

/*
 * netprof qn: solves a queueing network from a file, at its own population or
 * over a range of customers of one class.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_figure.h"
#include "np_network.h"
#include "np_option.h"

#define MAX_SHARES 8

/* Solution at one population. */
struct row {
	uint64_t customers; /* of the class that varies */
	struct np_qn_solution s;
	double least, most; /* bounds of throughput; most 0: none */
	double *percentile; /* by class and share */
};

/* A method by its name on the command line. */
struct method {
	const char *name, *how; /* "exact"; "exact, by mean value analysis" */
	np_qn_method *solve;
};

/* The request, the network and its solutions, which the reports print. */
struct result {
	const struct method *method; /* as requested */
	char *range; /* argument of --customers; NULL: as in the file */
	uint64_t first, last, step;
	double bytes;		  /* limit of memory */
	double share[MAX_SHARES]; /* percentiles requested, 0 .. 1 */
	size_t n_shares;
	const char *path;
	struct np_network n; /* its customers are those of the last row */
	const char *how;     /* of the method that was used */
	size_t changes;	     /* class whose customers vary */
	struct row *row;
	size_t n_rows;
};

/* ---- Reports of netprof qn: text, JSON and tables ---- */

#define NAME 15

/* Results for a class at one population. */
/* clang-format off */
struct class {
	uint64_t customers;
	double arrivals_per_sec; /* 0: closed */
	double x_per_sec;
	double response_sec, cycle_sec; /* NaN: no customers */
};
/* clang-format on */

/* Results for a class at a station. */
struct class_at_station {
	double present, utilisation, x_per_sec, residence_sec;
	double per_visit_sec; /* NaN: not visited */
};

/* Collects the results of a class at one population. */
static struct class get_class(const struct result *q, size_t row, size_t c)
{
	const struct np_qn_class *class = &q->n.net.class[c];
	const struct np_qn_solution *s = &q->row[row].s;
	struct class k = {
		.x_per_sec = s->x_per_sec[c],
		.arrivals_per_sec = class->arrivals_per_sec,
		.customers = c == q->changes ? q->row[row].customers :
					       class->customers,
		.response_sec = NAN,
		.cycle_sec = NAN,
	};

	if (k.customers || k.arrivals_per_sec > 0) {
		k.response_sec = s->response_sec[c];
		k.cycle_sec = k.response_sec + class->think_sec;
	}
	return k;
}

static struct class_at_station
get_class_at_station(const struct result *q, size_t row, size_t c, size_t k)
{
	const struct np_qn_station *st = &q->n.net.station[k];
	const struct np_qn_solution *s = &q->row[row].s;
	size_t i = c * q->n.net.n_stations + k;
	struct class_at_station p = {
		.present = s->present[i],
		.utilisation = s->utilisation[i],
		.x_per_sec = s->x_per_sec[c] * st->visits[c],
		.residence_sec = s->residence_sec[i],
		.per_visit_sec = NAN,
	};

	if (s->x_per_sec[c] > 0 && st->visits[c] > 0)
		p.per_visit_sec = p.residence_sec / st->visits[c];
	return p;
}

/* The kind of a station as it is named in files. */
static const char *kind_of(const struct np_qn_station *st)
{
	switch (st->kind) {
	case NP_QN_DELAY:
		return "delay";
	case NP_QN_LOADED:
		return "load-dependent";
	default:
		return st->servers > 1 ? "multi-server" : "queueing";
	}
}

/* Sum over all classes. */
static double utilisation_of(const struct result *q, size_t row, size_t k)
{
	double sum = 0;

	for (size_t c = 0; c < q->n.net.n_classes; c++)
		sum += get_class_at_station(q, row, c, k).utilisation;
	return sum;
}

/* The station with the highest utilisation, except delays; n_stations: none. */
static size_t busiest(const struct result *q, size_t row)
{
	size_t best = q->n.net.n_stations;
	double most = 0;

	for (size_t k = 0; k < q->n.net.n_stations; k++)
		if (q->n.net.station[k].kind != NP_QN_DELAY &&
		    utilisation_of(q, row, k) > most) {
			most = utilisation_of(q, row, k);
			best = k;
		}
	return best;
}

static const char *short_name(const char *name)
{
	return cli_truncate(name, NAME);
}

/* A number with so many digits, or a whole one if it has more. */
static const char *number(double v, int digits)
{
	bool whole = v >= pow(10, digits) - 0.5 && v < 1e12;

	return cli_text(whole ? "%.*f" : "%.*g", whole ? 0 : digits, v);
}

/* Prints the columns that a class and a population have in common. */
static void print_class(const struct class *k)
{
	if (k->arrivals_per_sec > 0)
		printf("%10s", "open");
	else
		printf("%10llu", (unsigned long long)k->customers);
	printf("%15s", number(k->x_per_sec, 5));
	cli_print_sec(k->response_sec, 12);
	cli_print_sec(k->cycle_sec, 12);
}

/* Prints the table of classes, and the bounds of throughput if known. */
static void print_classes(const struct result *q)
{
	cli_heading("%-*s %10s%15s%12s%12s", NAME, "Class", "Customers",
		    "Throughput/s", "Response", "Cycle");
	for (size_t c = 0; c < q->n.net.n_classes; c++) {
		struct class k = get_class(q, 0, c);

		cli_print_left(stdout, q->n.net.class[c].name, NAME);
		putchar(' ');
		print_class(&k);
		putchar('\n');
	}
	if (q->row[0].most > 0)
		printf("\nBounds of the throughput: %s to %s per second.\n",
		       number(q->row[0].least, 5), number(q->row[0].most, 5));
}

/* A percentile as text. Returns the width of its column. */
static int percentile_name(double share, char buf[CLI_NUMBER_LEN])
{
	int len = snprintf(buf, CLI_NUMBER_LEN, "%.10g %%", 100 * share);

	return len < 8 ? 8 : len + 1;
}

/* Prints percentiles of the response time. */
static void print_percentiles(const struct result *q)
{
	char name[CLI_NUMBER_LEN];
	int width;

	printf("\n%s%-*s ", cli_colour(CLI_BOLD), NAME, "Response up to");
	for (size_t i = 0; i < q->n_shares; i++) {
		width = percentile_name(q->share[i], name);
		printf("%*s", width, name);
	}
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t c = 0; c < q->n.net.n_classes; c++) {
		cli_print_left(stdout, q->n.net.class[c].name, NAME);
		putchar(' ');
		for (size_t i = 0; i < q->n_shares; i++) {
			width = percentile_name(q->share[i], name);
			cli_print_sec(q->row[0].percentile[c * q->n_shares + i],
				      width);
		}
		putchar('\n');
	}
}

/* Prints a line of the table of stations. */
static void print_class_at_station(const struct result *q, size_t c, size_t k)
{
	struct class_at_station p = get_class_at_station(q, 0, c, k);
	const struct np_qn_station *st = &q->n.net.station[k];

	cli_print_left(stdout, st->name, NAME);
	putchar(' ');
	cli_print_left(stdout,
		       q->n.net.n_classes > 1 ? q->n.net.class[c].name :
						kind_of(st),
		       NAME);
	printf(" %10s", number(p.present, 4));
	cli_print_number(cli_percent,
			 st->kind == NP_QN_DELAY ? NAN : p.utilisation, 12);
	cli_print_sec(p.residence_sec, 12);
	cli_print_sec(p.per_visit_sec, 12);
	putchar('\n');
}

/* Prints the table of stations, and the busiest of them. */
static void print_stations(const struct result *q)
{
	size_t best = busiest(q, 0);

	if (q->n.net.n_stations)
		cli_heading("%-*s %-*s %10s%12s%12s%12s", NAME, "Station", NAME,
			    q->n.net.n_classes > 1 ? "Class" : "Kind",
			    "Present", "Utilisation", "Residence", "Per visit");
	for (size_t k = 0; k < q->n.net.n_stations; k++)
		for (size_t c = 0; c < q->n.net.n_classes; c++)
			print_class_at_station(q, c, k);
	if (best < q->n.net.n_stations)
		printf("\nBusiest: %s, utilisation %s.\n",
		       short_name(q->n.net.station[best].name),
		       cli_percent(utilisation_of(q, 0, best)));
}

/* Prints a line for each population. */
static void print_range(const struct result *q)
{
	cli_heading("%10s%15s%12s%12s%12s  %s", "Customers", "Throughput/s",
		    "Response", "Cycle", "Utilisation", "Busiest station");
	for (size_t i = 0; i < q->n_rows; i++) {
		struct class k = get_class(q, i, q->changes);
		size_t best = busiest(q, i);
		bool any = best < q->n.net.n_stations;

		print_class(&k);
		cli_print_number(cli_percent,
				 any ? utilisation_of(q, i, best) : NAN, 12);
		printf("  %s\n",
		       any ? short_name(q->n.net.station[best].name) : "-");
	}
}

/* Prints everything for one population, or a table for a range. */
static int print_text(const struct result *q)
{
	const struct np_qn *net = &q->n.net;

	printf("%s: %zu station%s, %zu class%s; %s.\n",
	       q->n.name ? q->n.name : q->path, net->n_stations,
	       cli_plural_s(net->n_stations), net->n_classes,
	       net->n_classes == 1 ? "" : "es", q->how);
	if (q->n_rows > 1) {
		if (net->n_classes > 1)
			printf("Customers of class %s vary.\n",
			       net->class[q->changes].name);
		print_range(q);
		return CLI_DONE;
	}
	print_classes(q);
	if (q->n_shares)
		print_percentiles(q);
	print_stations(q);
	return CLI_DONE;
}

/* Adds the results of a class at a station to the JSON output. */
static void put_class_at_station(json_object *list, const struct result *q,
				 size_t row, size_t c, size_t k)
{
	struct class_at_station p = get_class_at_station(q, row, c, k);
	json_object *j = cli_append_object(list);

	cli_put_text(j, "station", q->n.net.station[k].name);
	cli_put_text(j, "kind", kind_of(&q->n.net.station[k]));
	cli_put_computed(j, "throughput_per_sec", p.x_per_sec);
	cli_put_computed(j, "residence_sec", p.residence_sec);
	cli_put_computed(j, "per_visit_sec", p.per_visit_sec);
	cli_put_computed(j, "present", p.present);
	cli_put_computed(j, "utilisation", p.utilisation);
}

/* Adds the results of a class with all stations to the JSON output. */
static void put_class(json_object *list, const struct result *q, size_t row,
		      size_t c)
{
	struct class k = get_class(q, row, c);
	json_object *j = cli_append_object(list), *at;

	cli_put_text(j, "class", q->n.net.class[c].name);
	cli_put_count(j, "customers", k.customers);
	cli_put_computed(j, "throughput_per_sec", k.x_per_sec);
	cli_put_computed(j, "response_sec", k.response_sec);
	cli_put_computed(j, "cycle_sec", k.cycle_sec);
	if (k.arrivals_per_sec > 0)
		cli_put_computed(j, "arrivals_per_sec", k.arrivals_per_sec);
	at = q->n_shares ? cli_put_array(j, "percentiles") : NULL;
	for (size_t i = 0; i < q->n_shares; i++) {
		json_object *one = cli_append_object(at);

		cli_put_computed(one, "share", q->share[i]);
		cli_put_computed(one, "response_sec",
				 q->row[row].percentile[c * q->n_shares + i]);
	}
	at = cli_put_array(j, "stations");
	for (size_t i = 0; i < q->n.net.n_stations; i++)
		put_class_at_station(at, q, row, c, i);
}

/* Adds the results at one population to the JSON output. */
static void put_row(json_object *list, const struct result *q, size_t row)
{
	const struct row *r = &q->row[row];
	json_object *j = cli_append_object(list), *classes;

	if (r->most > 0) {
		cli_put_computed(j, "least_throughput_per_sec", r->least);
		cli_put_computed(j, "most_throughput_per_sec", r->most);
	}
	if (r->s.iterations)
		cli_put_count(j, "iterations", r->s.iterations);
	classes = cli_put_array(j, "classes");
	for (size_t c = 0; c < q->n.net.n_classes; c++)
		put_class(classes, q, row, c);
}

static const struct cli_table table = {
	"Class|Customers|Station|Throughput|Residence|PerVisit|Present|"
	"Utilisation",
	{
		{ "populations classes",
		  "class|customers||throughput_per_sec|response_sec|"
		  "cycle_sec||" },
		{ "populations classes stations",
		  "../class|../customers|station|throughput_per_sec|"
		  "residence_sec|per_visit_sec|present|utilisation" },
	},
};

/* Prints the results as JSON or as a table. */
static int print_data(const struct result *q, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "file", q->path);
	cli_put_text(j, "name", q->n.name);
	cli_put_text(j, "method", q->method->name);
	cli_put_text(j, "how", q->how);
	list = cli_put_array(j, "populations");
	for (size_t i = 0; i < q->n_rows; i++)
		put_row(list, q, i);
	return cli_print_output(format, "qn", j, &table);
}

/*
 * netprof qn --plot: throughput, response time and utilisation over the number
 * of customers; for a single population, residence times and customers by
 * station.
 */

#define LINES NP_STYLE_GREY /* number of distinguishable lines */
#define WIDE 50 /* ratio of customers from which the axis is logarithmic */
#define TALL 30 /* the same for response times */

/* The number of customers in a row, for the axes. */
static double customers(const struct result *q, size_t row)
{
	return (double)q->row[row].customers;
}

/* Adds a panel over the number of customers. */
static struct np_panel *add_panel(struct np_figure *f, const struct result *q,
				  const char *title, const char *label)
{
	double first = customers(q, 0), last = customers(q, q->n_rows - 1);
	bool is_wide = first > 0 && last >= WIDE * first;
	struct np_panel *p = cli_figure_add_panel(
		f, title, is_wide ? NP_AXIS_LOG : NP_AXIS_LINEAR, "Customers",
		NP_AXIS_LINEAR, label);

	p->x.lo = first;
	p->x.hi = last;
	return p;
}

/* Adds the panel of throughputs, with their bounds. */
static void add_throughput(struct np_figure *f, const struct result *q)
{
	struct np_panel *p = add_panel(f, q, "Throughput", "Throughput (1/s)");
	struct np_shape *s;

	p->y.lo = 0;
	if (q->row[q->n_rows - 1].most > 0) {
		s = np_figure_add_shape(f, p, NP_SHAPE_BAND, 5, "bounds");
		for (size_t i = 0; i < q->n_rows; i++)
			np_figure_add_datum(f, s, customers(q, i), NAN,
					    q->row[i].least, q->row[i].most);
	}
	for (size_t c = 0; c < q->n.net.n_classes && c < LINES; c++) {
		s = np_figure_add_shape(
			f, p, NP_SHAPE_LINE, (unsigned)c,
			q->n.net.n_classes > 1 ? q->n.net.class[c].name : NULL);
		for (size_t i = 0; i < q->n_rows; i++)
			np_figure_add_datum(f, s, customers(q, i),
					    q->row[i].s.x_per_sec[c], NAN, NAN);
	}
}

/*
 * Adds the panel of response times: mean and percentiles of the class that
 * varies. The axis is logarithmic if they differ much.
 */
static void add_responses(struct np_figure *f, const struct result *q)
{
	struct np_panel *p =
		add_panel(f, q, "Response time", "Response time (s)");
	double least = INFINITY, most = 0;
	struct np_shape *s;

	for (size_t line = 0; line <= q->n_shares; line++) {
		char name[CLI_NUMBER_LEN] = "mean";

		if (line)
			percentile_name(q->share[line - 1], name);
		s = np_figure_add_shape(f, p, NP_SHAPE_LINE, (unsigned)line,
					q->n_shares ? name : NULL);
		for (size_t i = 0; i < q->n_rows; i++) {
			const struct row *at = &q->row[i];
			double sec =
				line ? at->percentile[q->changes * q->n_shares +
						      line - 1] :
				       at->s.response_sec[q->changes];

			if (sec > 0) {
				least = fmin(least, sec);
				most = fmax(most, sec);
			}
			np_figure_add_datum(f, s, customers(q, i),
					    sec > 0 ? sec : NAN, NAN, NAN);
		}
	}
	if (most > TALL * least)
		p->y.kind = NP_AXIS_SECONDS;
	else
		p->y.lo = 0;
}

/* Adds the panel of utilisations; delays have none. */
static void add_utilisation(struct np_figure *f, const struct result *q)
{
	struct np_panel *p = add_panel(f, q, "Stations", "Utilisation (%)");
	size_t lines = 0;

	p->y.lo = 0;
	p->y.hi = 105;
	for (size_t k = 0; k < q->n.net.n_stations && lines < LINES; k++) {
		struct np_shape *s;

		if (q->n.net.station[k].kind == NP_QN_DELAY)
			continue;
		s = np_figure_add_shape(f, p, NP_SHAPE_LINE, (unsigned)lines++,
					q->n.net.station[k].name);
		for (size_t i = 0; i < q->n_rows; i++)
			np_figure_add_datum(f, s, customers(q, i),
					    100 * utilisation_of(q, i, k), NAN,
					    NAN);
	}
}

/* Adds a panel of stacked bars: the value of each class at each station. */
static void add_bars(struct np_figure *f, const struct result *q,
		     const char *title, const char *label, const double *value)
{
	struct np_panel *p = cli_figure_add_panel(
		f, title, NP_AXIS_NAMES, "Station", NP_AXIS_LINEAR, label);
	const struct np_qn *net = &q->n.net;

	p->y.lo = 0;
	for (size_t k = 0; k < net->n_stations; k++)
		np_figure_add_name(f, &p->x, net->station[k].name);
	for (size_t c = 0; c < net->n_classes; c++) {
		struct np_shape *s = np_figure_add_shape(
			f, p, NP_SHAPE_BARS, (unsigned)(c % LINES),
			net->n_classes > 1 ? net->class[c].name : NULL);

		for (size_t k = 0; k < net->n_stations; k++) {
			double below = 0;

			for (size_t i = 0; i < c; i++)
				below += value[i * net->n_stations + k];
			np_figure_add_datum(
				f, s, (double)k, NAN, below,
				below + value[c * net->n_stations + k]);
		}
	}
}

/* Draws curves over a range of customers, or bars for a single population. */
static int draw_figure(const struct result *q, const char *path)
{
	struct np_figure *f = cli_figure_new(q->n.name ? q->n.name : q->path);

	if (q->n_rows > 1) {
		add_throughput(f, q);
		add_responses(f, q);
		add_utilisation(f, q);
	} else {
		add_bars(f, q, "Where the time of a cycle goes",
			 "Residence time (s)", q->row[0].s.residence_sec);
		add_bars(f, q, "Customers at each station", "Present (mean)",
			 q->row[0].s.present);
	}
	np_figure_set_caption(f,
			      "n = %zu station%s, %zu class%s, %zu "
			      "number%s of customers of %s; %s.",
			      q->n.net.n_stations,
			      cli_plural_s(q->n.net.n_stations),
			      q->n.net.n_classes,
			      q->n.net.n_classes == 1 ? "" : "es", q->n_rows,
			      cli_plural_s(q->n_rows),
			      q->n.net.class[q->changes].name, q->how);
	return cli_figure_save_and_free(f, path);
}

/* ---- The command ---- */

#define MAX_BYTES (1u << 30) /* default of --memory */
#define MAX_STEPS 1e11	     /* several minutes */
#define MAX_ROWS 10000
#define CYCLES 1000000	    /* of all simulations for percentiles together */
#define LEAST_CYCLES 5000   /* of each simulation */
#define MAX_KEPT 268435456. /* bytes of all solutions */

static const struct method methods[] = {
	/* The first is the default, and falls back to the second. */
	{ "exact", "exact, by mean value analysis", np_qn_mva },
	{ "convolution", "exact, by convolution", np_qn_convolution },
	{ "schweitzer", "approximation of Schweitzer and Bard",
	  np_qn_schweitzer },
	{ "linearizer", "approximation Linearizer", np_qn_linearizer },
};

/* Parses --method. */
static int take_method(char *text, void *own, struct np_err *err)
{
	struct result *q = own;

	for (size_t i = 0; i < NP_ARRAY_SIZE(methods); i++)
		if (!strcmp(text, methods[i].name)) {
			q->method = &methods[i];
			return 0;
		}
	return np_errf(err, -EINVAL,
		       "--method=%.64s: expected exact, schweitzer, linearizer "
		       "or convolution",
		       text);
}

/* Parses --memory. */
static int take_memory(char *text, void *own, struct np_err *err)
{
	struct result *q = own;
	uint64_t bytes;

	if (np_bytes_parse(text, &bytes) || !bytes)
		return np_errf(err, -EINVAL,
			       "--memory=%.64s: expected a size, such as 4G",
			       text);
	q->bytes = (double)bytes;
	return 0;
}

/* Parses percentages such as "50,90,99". */
static int take_percentiles(char *text, void *own, struct np_err *err)
{
	struct result *q = own;
	const char *p = text;

	q->n_shares = 0;
	do {
		double v;

		p = np_decimal_parse(p, &v);
		if (!p || (*p && *p != ',') || !(v > 0 && v < 100) ||
		    q->n_shares == MAX_SHARES)
			return np_errf(
				err, -EINVAL,
				"--percentile=%.64s: expected up to %d numbers "
				"between 0 and 100, such as 50,90,99",
				text, MAX_SHARES);
		q->share[q->n_shares++] = v / 100;
	} while (*p++);
	return 0;
}

#define AT(member) offsetof(struct result, member)

static const struct np_option options[] = {
	{ "method", NP_OPTION_TAKE, .take = take_method },
	{ "customers", NP_OPTION_WORD, AT(range) },
	{ "memory", NP_OPTION_TAKE, .take = take_memory },
	{ "percentile", NP_OPTION_TAKE, .take = take_percentiles },
	{ NULL },
};

/* Parses FIRST[-LAST[:STEP]]. */
static int take_numbers(const char *text, struct result *q)
{
	const uint64_t most = NP_QN_MAX_CUSTOMERS;
	char *copy = cli_strdup(text), *step = copy;
	char *first = strsep(&step, "-"), *last = strsep(&step, ":");
	int rc = np_whole_parse(first, most, &q->first);

	q->last = q->first;
	q->step = 1;
	if (!rc && last)
		rc = np_whole_parse(last, most, &q->last);
	if (!rc && step)
		rc = np_whole_parse(step, most, &q->step);
	free(copy);
	return !rc && q->step && q->last >= q->first ? 0 : -EINVAL;
}

/*
 * Parses [CLASS=]FIRST[-LAST[:STEP]], after the network with its classes is
 * known.
 */
static int take_range(const struct cli_cmd *self, struct result *q)
{
	const struct np_qn *net = &q->n.net;
	char *equals = q->range ? strrchr(q->range, '=') : NULL;
	size_t len = equals ? (size_t)(equals - q->range) : 0;

	while (!equals && q->changes + 1 < net->n_classes &&
	       net->class[q->changes].arrivals_per_sec > 0)
		q->changes++;
	if (!q->range) {
		q->first = q->last = net->class[q->changes].customers;
		q->step = 1;
		return 0;
	}
	if (!equals && net->n_classes > 1)
		return cli_usage(self,
				 "--customers=%.64s: expected CLASS=%.64s"
				 ", as there are %zu",
				 q->range, q->range, net->n_classes);
	while (equals && q->changes < net->n_classes &&
	       (strncmp(net->class[q->changes].name, q->range, len) ||
		net->class[q->changes].name[len]))
		q->changes++;
	if (q->changes == net->n_classes)
		return cli_usage(self, "--customers=%.64s: no such class",
				 q->range);
	if (net->class[q->changes].arrivals_per_sec > 0)
		return cli_usage(self, "--customers=%.64s: the class is open",
				 q->range);
	if (take_numbers(equals ? equals + 1 : q->range, q))
		return cli_usage(self,
				 "--customers=%.64s: expected N or FIRST-LAST "
				 "or FIRST-LAST:STEP, up to %d",
				 q->range, NP_QN_MAX_CUSTOMERS);
	return 0;
}

/* Number of populations, if their solutions fit into memory. */
static int count_rows(const struct cli_cmd *self, const struct result *q,
		      size_t *n)
{
	const struct np_qn *net = &q->n.net;
	uint64_t rows = (q->last - q->first) / q->step + 1;
	double each =
		24.0 * (double)(net->n_stations + 1) * (double)net->n_classes;

	if (rows > MAX_ROWS || (double)rows * each > MAX_KEPT)
		return cli_usage(self,
				 "--customers=%.64s: %llu populations, "
				 "expected at most %.0f",
				 q->range, (unsigned long long)rows,
				 fmin(MAX_ROWS, MAX_KEPT / each));
	*n = (size_t)rows;
	return 0;
}

/* Rejects percentiles where no output has them. */
static int check_percentiles(const struct cli_cmd *self, const struct result *q,
			     const struct cli_options *o, size_t n)
{
	if (!q->n_shares || o->format == CLI_JSON)
		return 0;
	if (o->format)
		return cli_usage(self,
				 "--percentile has no effect with --parsable");
	if (o->plot && n == 1)
		return cli_usage(self, "--percentile has no effect with --plot "
				       "of one number of customers");
	return o->plot || n == 1 ?
		       0 :
		       cli_usage(self, "--percentile has no effect on a table "
				       "of several numbers of customers; "
				       "expected --json or --plot");
}

/*
 * Solves the network at one population. If the default method does not support
 * a station, convolution is used instead.
 */
static int solve_one(struct result *q, struct row *row)
{
	const struct np_qn_cost max = { q->bytes,
					MAX_STEPS / (double)q->n_rows };
	const struct method *m = q->method;
	struct np_err err = NP_ERR_INIT;
	int rc;

	q->n.class[q->changes].customers = row->customers;
	rc = np_qn_mixed(m->solve, &q->n.net, &max, &row->s, &err);
	if (rc == -ENOTSUP && m == methods) {
		m++;
		rc = np_qn_mixed(m->solve, &q->n.net, &max, &row->s, &err);
	}
	if (rc)
		return cli_fail("%s: %s", q->path, err.text);
	q->how = m->how;
	if (q->n_shares) {
		row->percentile = cli_calloc(q->n_shares * q->n.net.n_classes,
					     sizeof(*row->percentile));
		if (np_qn_percentiles(&q->n.net,
				      q->n_rows > CYCLES / LEAST_CYCLES ?
					      LEAST_CYCLES :
					      CYCLES / q->n_rows,
				      q->share, q->n_shares, row->percentile,
				      &err))
			return cli_fail("%s: %s", q->path, err.text);
	}
	if (np_qn_bounds(&q->n.net, &row->least, &row->most))
		row->most = 0;
	return CLI_DONE;
}

/* Solves the network at all populations and prints the results. */
static int solve(const struct cli_cmd *self, struct result *q,
		 const struct cli_options *o)
{
	size_t n = 0;
	int rc = take_range(self, q);

	if (!rc)
		rc = count_rows(self, q, &n);
	if (!rc)
		rc = check_percentiles(self, q, o, n);
	if (rc)
		return rc;
	q->row = cli_calloc(n, sizeof(*q->row));
	q->n_rows = n;
	for (size_t i = 0; !rc && i < n; i++) {
		q->row[i].customers = q->first + i * q->step;
		rc = solve_one(q, &q->row[i]);
	}
	return rc	 ? rc :
	       o->plot	 ? draw_figure(q, o->plot) :
	       o->format ? print_data(q, o->format) :
			   print_text(q);
}

/* Reads the network, solves it, and frees everything. */
static int run_qn(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct result q = { .method = methods, .bytes = MAX_BYTES };
	struct cli_options o;
	int rc = cli_options_parse(self, argc, argv, &q, &o);

	if (rc >= 0)
		return rc;
	q.path = o.app;
	if (np_network_load(q.path, &q.n, &err))
		return cli_fail("%s", err.text);
	rc = solve(self, &q, &o);
	for (size_t i = 0; i < q.n_rows; i++) {
		np_qn_solution_free(&q.row[i].s);
		free(q.row[i].percentile);
	}
	free(q.row);
	np_network_free(&q.n);
	return rc;
}

const struct cli_cmd cmd_qn = {
	.name = "qn",
	.args = "[OPTION]... FILE",
	.help = "solve a queueing network",
	.text = "Solves the queueing network in FILE, netprof-qn(5): throughput, response\n"
		"times, and the customers at each station.\n\n"
		"  --method=M         exact (default): mean value analysis, or convolution if\n"
		"                     stations have several servers or are load-dependent;\n"
		"                     convolution; schweitzer, linearizer: approximations for\n"
		"                     many classes and customers\n"
		"  --customers=[CLASS=]N, [CLASS=]FIRST-LAST[:STEP]\n"
		"                     use other numbers of customers than in FILE\n"
		"  --memory=SIZE      limit of memory (1G); reject networks that need more\n"
		"  --percentile=P,... also print percentiles of the response time\n"
		"  --plot=FILE        draw a figure instead: .svg, .png or .pdf\n"
		"  --json, --parsable output for programs; --parsable (-P) as in sacct",
	.examples = "  netprof qn web.json\n"
		    "  netprof qn --customers=1-21:5 web.json\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT,
	.own = options,
	.required_arg = "a file (see netprof-qn(5))",
	.max_args = 1,
	.run = run_qn,
};

/* Reports of netprof qn: text, JSON and tables. */
#include <math.h>
#include <stdio.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_qn.h"
#include "cli_text.h"

#define NAME 15

/* Results for a class at one population, and at one station. */
struct class {
	const char *name;
	uint64_t customers;
	double arrivals_per_sec; /* 0: closed */
	double x_per_sec;
	double response_sec, cycle_sec; /* NaN: no customers */
};

struct class_at_station {
	const char *station, *class;
	double present, utilisation, x_per_sec, residence_sec;
	double per_visit_sec; /* NaN: not visited */
};

static struct class get_class(const struct cli_qn *q, size_t row, size_t c)
{
	const struct np_qn_class *class = &q->n.net.class[c];
	const struct np_qn_solution *s = &q->row[row].s;
	struct class k = {
		.name = class->name, .x_per_sec = s->x_per_sec[c],
		.arrivals_per_sec = class->arrivals_per_sec,
		.customers = c == q->changes ? q->row[row].customers :
					       class->customers,
		.response_sec = NAN, .cycle_sec = NAN,
	};

	if (k.customers || k.arrivals_per_sec > 0) {
		k.response_sec = s->response_sec[c];
		k.cycle_sec = k.response_sec + class->think_sec;
	}
	return k;
}

static struct class_at_station
get_class_at_station(const struct cli_qn *q, size_t row, size_t c, size_t k)
{
	const struct np_qn_station *st = &q->n.net.station[k];
	const struct np_qn_solution *s = &q->row[row].s;
	size_t i = c * q->n.net.n_stations + k;
	struct class_at_station p = {
		.station = st->name, .class = q->n.net.class[c].name,
		.present = s->present[i], .utilisation = s->utilisation[i],
		.x_per_sec = s->x_per_sec[c] * st->visits[c],
		.residence_sec = s->residence_sec[i], .per_visit_sec = NAN,
	};

	if (s->x_per_sec[c] > 0 && st->visits[c] > 0)
		p.per_visit_sec = p.residence_sec / st->visits[c];
	return p;
}

static const char *kind_of(const struct np_qn_station *st)
{
	switch (st->kind) {
	case NP_QN_DELAY: return "delay";
	case NP_QN_LOADED: return "load-dependent";
	default: return st->servers > 1 ? "multi-server" : "queueing";
	}
}

/* Sum over all classes. */
double cli_qn_busy(const struct cli_qn *q, size_t row, size_t k)
{
	double sum = 0;

	for (size_t c = 0; c < q->n.net.n_classes; c++)
		sum += get_class_at_station(q, row, c, k).utilisation;
	return sum;
}

/* The station with the highest utilisation, except delays; n_stations: none. */
static size_t busiest(const struct cli_qn *q, size_t row)
{
	size_t best = q->n.net.n_stations;
	double most = 0;

	for (size_t k = 0; k < q->n.net.n_stations; k++)
		if (q->n.net.station[k].kind != NP_QN_DELAY &&
		    cli_qn_busy(q, row, k) > most) {
			most = cli_qn_busy(q, row, k);
			best = k;
		}
	return best;
}

static const char *short_name(const char *name, char buf[NAME * 4])
{
	return cli_cut(name, NAME, buf, NAME * 4);
}

static void print_class(const struct class *k)
{
	if (k->arrivals_per_sec > 0)
		printf("%10s%15.5g", "open", k->x_per_sec);
	else
		printf("%10llu%15.5g", (unsigned long long)k->customers,
		       k->x_per_sec);
	cli_right_sec(k->response_sec, 12);
	cli_right_sec(k->cycle_sec, 12);
}

static void print_classes(const struct cli_qn *q)
{
	cli_head("%-*s %10s%15s%12s%12s", NAME, "Class", "Customers",
		 "Cycles/s", "Response", "Cycle");
	for (size_t c = 0; c < q->n.net.n_classes; c++) {
		struct class k = get_class(q, 0, c);

		cli_left(stdout, k.name, NAME);
		putchar(' ');
		print_class(&k);
		putchar('\n');
	}
	if (q->row[0].most > 0)
		printf("\nBounds: %.5g to %.5g cycles/s.\n", q->row[0].least,
		       q->row[0].most);
}

static void print_percentiles(const struct cli_qn *q)
{
	printf("\n%s%-*s ", cli_colour(CLI_BOLD), NAME, "Response up to");
	for (size_t i = 0; i < q->n_shares; i++)
		printf("%6.4g %%", 100 * q->share[i]);
	printf("%s\n", cli_colour(CLI_PLAIN));
	for (size_t c = 0; c < q->n.net.n_classes; c++) {
		cli_left(stdout, q->n.net.class[c].name, NAME);
		putchar(' ');
		for (size_t i = 0; i < q->n_shares; i++)
			cli_right_sec(q->row[0].percentile[c * q->n_shares + i],
				      8);
		putchar('\n');
	}
}

static void print_class_at_station(const struct cli_qn *q, size_t c, size_t k)
{
	struct class_at_station p = get_class_at_station(q, 0, c, k);
	const struct np_qn_station *st = &q->n.net.station[k];

	cli_left(stdout, p.station, NAME);
	putchar(' ');
	cli_left(stdout, q->n.net.n_classes > 1 ? p.class : kind_of(st), NAME);
	printf(" %10.4g", p.present);
	cli_right_as(cli_percent, st->kind == NP_QN_DELAY ? NAN :
		     p.utilisation, 9);
	cli_right_sec(p.residence_sec, 12);
	cli_right_sec(p.per_visit_sec, 12);
	putchar('\n');
}

static void print_stations(const struct cli_qn *q)
{
	char share[CLI_NUMBER], name[NAME * 4];
	size_t best = busiest(q, 0);

	if (q->n.net.n_stations)
		cli_head("%-*s %-*s %10s%9s%12s%12s", NAME, "Station", NAME,
			 q->n.net.n_classes > 1 ? "Class" : "Kind",
			 "Customers", "Busy", "Residence", "Per visit");
	for (size_t k = 0; k < q->n.net.n_stations; k++)
		for (size_t c = 0; c < q->n.net.n_classes; c++)
			print_class_at_station(q, c, k);
	if (best < q->n.net.n_stations)
		printf("\nBusiest: %s, %s.\n",
		       short_name(q->n.net.station[best].name, name),
		       cli_percent(cli_qn_busy(q, 0, best), share));
}

/* Prints a line for each population. */
static void print_range(const struct cli_qn *q)
{
	char name[NAME * 4];

	cli_head("%10s%15s%12s%12s%9s  %s", "Customers", "Cycles/s",
		 "Response", "Cycle", "Busy", "Busiest station");
	for (size_t i = 0; i < q->n_rows; i++) {
		struct class k = get_class(q, i, q->changes);
		size_t best = busiest(q, i);
		bool any = best < q->n.net.n_stations;

		print_class(&k);
		cli_right_as(cli_percent, any ? cli_qn_busy(q, i, best) : NAN, 9);
		printf("  %s\n", any ? short_name(q->n.net.station[best].name,
						  name) : "-");
	}
}

int cli_qn_text(const struct cli_qn *q)
{
	const struct np_qn *net = &q->n.net;

	printf("%s: %zu station%s, %zu class%s; %s.\n",
	       q->n.name ? q->n.name : q->path, net->n_stations,
	       net->n_stations == 1 ? "" : "s", net->n_classes,
	       net->n_classes == 1 ? "" : "es", q->how);
	if (q->n_rows > 1) {
		if (net->n_classes > 1)
			printf("Customers of class %s change.\n",
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

static void put_class_at_station(json_object *list, const struct cli_qn *q,
				 size_t row, size_t c, size_t k)
{
	struct class_at_station p = get_class_at_station(q, row, c, k);
	json_object *j = cli_append_object(list);

	cli_put_text(j, "station", p.station);
	cli_put_text(j, "kind", kind_of(&q->n.net.station[k]));
	cli_put_computed(j, "throughput_per_sec", p.x_per_sec);
	cli_put_computed(j, "residence_sec", p.residence_sec);
	cli_put_computed(j, "per_visit_sec", p.per_visit_sec);
	cli_put_computed(j, "present", p.present);
	cli_put_computed(j, "utilisation", p.utilisation);
}

static void put_class(json_object *list, const struct cli_qn *q, size_t row,
		      size_t c)
{
	struct class k = get_class(q, row, c);
	json_object *j = cli_append_object(list), *at;

	cli_put_text(j, "class", k.name);
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

static void put_row(json_object *list, const struct cli_qn *q, size_t row)
{
	const struct cli_qn_row *r = &q->row[row];
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

int cli_qn_data(const struct cli_qn *q, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "file", q->path);
	cli_put_text(j, "name", q->n.name);
	cli_put_text(j, "method", q->method);
	cli_put_text(j, "how", q->how);
	list = cli_put_array(j, "populations");
	for (size_t i = 0; i < q->n_rows; i++)
		put_row(list, q, i);
	return cli_print_page(format, "qn", j, &table);
}

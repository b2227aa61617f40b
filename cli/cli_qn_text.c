/* The page of netprof qn, and the same as fields. */
#include <math.h>
#include <stdio.h>

#include "cli_qn.h"
#include "cli_text.h"

#define NAME 16

static const char *short_name(const char *name, char buf[NAME * 4])
{
	return cli_cut(name, NAME - 1, buf, NAME * 4);
}

static void print_name(const char *name)
{
	char buf[NAME * 4];

	short_name(name, buf);
	printf("%s%*s", buf, NAME - (int)cli_width(buf), "");
}

static void right_sec(double sec, int width)
{
	char buf[CLI_NUMBER];

	cli_right(stdout, isnan(sec) ? "-" : cli_sec(sec, buf), width);
}

static void print_classes(const struct cli_qn *q)
{
	cli_head("%-*s%10s%15s%12s%12s", NAME, "Class", "Customers",
		 "Cycles/s", "Response", "Cycle");
	for (size_t c = 0; c < q->n.net.n_classes; c++) {
		struct cli_qn_class k = cli_qn_class(q, 0, c);

		print_name(k.name);
		printf("%10llu%15.5g", (unsigned long long)k.customers,
		       k.x_per_sec);
		right_sec(k.customers ? k.response_sec : NAN, 12);
		right_sec(k.customers ? k.response_sec + k.think_sec : NAN, 12);
		putchar('\n');
	}
	if (q->row[0].most > 0)
		printf("\nBounds: %.5g to %.5g cycles/s.\n", q->row[0].least,
		       q->row[0].most);
}

static void print_place(const struct cli_qn *q, size_t c, size_t k)
{
	struct cli_qn_place p = cli_qn_place(q, 0, c, k);
	char busy[CLI_NUMBER];

	print_name(p.station);
	if (q->n.net.n_classes > 1)
		print_name(p.class);
	else
		printf("%-*s", NAME, cli_qn_kind(&q->n.net.station[k]));
	printf("%10.4g", p.present);
	cli_right(stdout, q->n.net.station[k].kind == NP_QN_DELAY ? "-" :
		  cli_percent(p.utilisation, busy), 9);
	right_sec(p.residence_sec, 12);
	right_sec(p.per_visit_sec, 12);
	putchar('\n');
}

static void print_stations(const struct cli_qn *q)
{
	char busy[CLI_NUMBER], name[NAME * 4];
	size_t best = cli_qn_busiest(q, 0);

	if (q->n.net.n_stations)
		cli_head("%-*s%-*s%10s%9s%12s%12s", NAME, "Station", NAME,
			 q->n.net.n_classes > 1 ? "Class" : "Kind",
			 "Customers", "Busy", "Residence", "Per visit");
	for (size_t k = 0; k < q->n.net.n_stations; k++)
		for (size_t c = 0; c < q->n.net.n_classes; c++)
			print_place(q, c, k);
	if (best < q->n.net.n_stations)
		printf("\nBusiest: %s, %s.\n",
		       short_name(q->n.net.station[best].name, name),
		       cli_percent(cli_qn_busy(q, 0, best), busy));
}

/* A line for each population. */
static void print_range(const struct cli_qn *q)
{
	char buf[CLI_NUMBER], name[NAME * 4];

	cli_head("%10s%15s%12s%12s%9s  %s", "Customers", "Cycles/s",
		 "Response", "Cycle", "Busy", "Busiest station");
	for (size_t i = 0; i < q->n_rows; i++) {
		struct cli_qn_class k = cli_qn_class(q, i, q->changes);
		size_t best = cli_qn_busiest(q, i);
		bool any = best < q->n.net.n_stations;

		printf("%10llu%15.5g", (unsigned long long)k.customers,
		       k.x_per_sec);
		right_sec(k.customers ? k.response_sec : NAN, 12);
		right_sec(k.customers ? k.response_sec + k.think_sec : NAN, 12);
		cli_right(stdout, any ? cli_percent(cli_qn_busy(q, i, best),
						    buf) : "-", 9);
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
	print_stations(q);
	return CLI_DONE;
}

static void field(double v, char separator)
{
	if (!isnan(v))
		printf("%.12g", v + 0.0);
	putchar(separator);
}

static void print_fields(const struct cli_qn *q, size_t row, size_t c)
{
	struct cli_qn_class k = cli_qn_class(q, row, c);
	double cycle_sec = k.customers ? k.response_sec + k.think_sec : NAN;

	cli_field(k.name, '|');
	printf("%llu||", (unsigned long long)k.customers);
	field(k.x_per_sec, '|');
	field(k.customers ? k.response_sec : NAN, '|');
	field(cycle_sec, '|');
	puts("||");
	for (size_t i = 0; i < q->n.net.n_stations; i++) {
		struct cli_qn_place p = cli_qn_place(q, row, c, i);

		cli_field(k.name, '|');
		printf("%llu|", (unsigned long long)k.customers);
		cli_field(p.station, '|');
		field(p.x_per_sec, '|');
		field(p.residence_sec, '|');
		field(p.per_visit_sec, '|');
		field(p.present, '|');
		field(p.utilisation, '\n');
	}
}

int cli_qn_parsable(const struct cli_qn *q)
{
	puts("Class|Customers|Station|Throughput|Residence|PerVisit|Present|"
	     "Utilisation");
	for (size_t i = 0; i < q->n_rows; i++)
		for (size_t c = 0; c < q->n.net.n_classes; c++)
			print_fields(q, i, c);
	return CLI_DONE;
}

/* The pages of netprof tolerance. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_text.h"
#include "cli_tolerance.h"

#define BAR 14
#define CRITICAL_MAX 20

static const char *time_of(double ns, char buf[CLI_NUMBER])
{
	return cli_setting_sec(1e-9 * ns, buf);
}

/* "+840 ns", "any" */
static const char *added(double limit, double base, char buf[CLI_NUMBER])
{
	char number[CLI_NUMBER];

	if (!isfinite(limit))
		return "any";
	snprintf(buf, CLI_NUMBER, "+%.*s", CLI_NUMBER - 2,
		 cli_sec(1e-9 * (limit - base), number));
	return buf;
}

/* "10 GB/s" of a time per byte in ns */
static const char *rate(double G, char buf[CLI_NUMBER])
{
	if (!(G > 0))
		return "no limit";
	if (!isfinite(G))
		return "none";
	return cli_rate(1e9 / G, buf);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void say_program(const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask)
{
	const struct cli_tolerance_of *L = &t->of[NP_LOGGPS_L];
	char at[CLI_NUMBER], ns[CLI_NUMBER], share[CLI_NUMBER];

	cli_say(CLI_PLAIN, 2, "%s: %u rank%s, %zu operation%s, %zu message%s.",
		t->file, t->ranks, plural(t->ranks), t->ops, plural(t->ops),
		t->messages, plural(t->messages));
	cli_say(CLI_PLAIN, 2, "It runs for %s at %s of %s; that of %.0f %s%s "
		"on its critical path is %s of the time.",
		cli_sec(1e-9 * t->ns, ns),
		ask->topology ? "a wire's latency" : "a latency",
		time_of(L->base, at), L->slope,
		ask->topology ? "wire" : "message", plural((size_t)L->slope),
		cli_percent(cli_tolerance_ratio(L->base, &t->point[0].run),
			    share));
}

/* What there is one of for all. */
static void say_turns(const struct cli_tolerance_ask *ask)
{
	char line[256] = "", g[CLI_NUMBER];

	if (ask->serial)
		snprintf(line, sizeof(line), "a processor does one thing at a "
			 "time, an adapter's sends are %s apart%s",
			 time_of(ask->net.g_ns, g),
			 ask->shared_links ? ", and " : "");
	if (ask->shared_links)
		cli_add(line, sizeof(line),
			"messages to one rank come one after the other");
	cli_labelled(stdout, "Turns", "%s", line);
}

static void say_network(const struct cli_tolerance_ask *ask)
{
	const struct np_loggps *net = &ask->net;
	char way[256], L[CLI_NUMBER], o[CLI_NUMBER];
	char G[CLI_NUMBER], S[CLI_NUMBER];

	if (ask->topology)
		snprintf(way, sizeof(way), "%.128s, %u rank%s a node, a wire "
			 "%s, a switch %s", ask->where, ask->per_node,
			 plural(ask->per_node), time_of(ask->wire_ns, L),
			 time_of(ask->switch_ns, o));
	else
		snprintf(way, sizeof(way), "latency L %s",
			 time_of(net->L_ns, L));
	cli_labelled(stdout, "Network", "%s, overhead o %s, %s, %s%s", way,
		     time_of(net->o_ns, o), rate(net->G_ns, G),
		     net->S == NP_LOGGPS_NO_RENDEZVOUS ?
		     "no send waits for its receiver" :
		     "sends wait for their receivers above ",
		     net->S == NP_LOGGPS_NO_RENDEZVOUS ? "" :
		     cli_bytes(net->S, S));
	say_turns(ask);
}

/* One of the columns of the table of zones. */
static void column(const char *text)
{
	cli_right(stdout, text, 14);
}

static void say_zones(const struct cli_tolerance *t,
		      const struct cli_tolerance_ask *ask)
{
	const struct cli_tolerance_of *o = &t->of[NP_LOGGPS_o];
	const struct cli_tolerance_of *L = &t->of[NP_LOGGPS_L];
	const struct cli_tolerance_of *G = &t->of[NP_LOGGPS_G];
	const struct cli_tolerance_of *d = &t->of[TOLERANCE_SWITCH];
	char buf[CLI_NUMBER];

	cli_head("%-11s%14s%s%14s%14s", "Tolerance", cli_tolerance_latency(ask),
		 ask->topology ? "        switch" : "", "overhead",
		 "bandwidth");
	for (size_t i = 0; i < TOLERANCE_ZONES; i++) {
		snprintf(buf, sizeof(buf), "%.0f %% longer",
			 100 * L->zone[i].share);
		cli_left(stdout, buf, 11);
		column(added(L->zone[i].limit, L->base, buf));
		if (ask->topology)
			column(added(d->zone[i].limit, d->base, buf));
		column(added(o->zone[i].limit, o->base, buf));
		column(isfinite(G->zone[i].limit) ?
		       rate(G->zone[i].limit, buf) : "any");
		putchar('\n');
	}
	printf("%-11s%14.0f", "On the path", L->slope);
	if (ask->topology)
		printf("%14.0f", d->slope);
	printf("%14.0f", o->slope);
	column(cli_bytes((uint64_t)G->slope, buf));
	putchar('\n');
}

/* "1 %", "2 %", "5 %", "more" */
static const char *zone(const struct cli_tolerance *t, double added_ns,
			char buf[CLI_NUMBER])
{
	int n = cli_tolerance_zone_of(t, added_ns);

	if (!n)
		return "more";
	snprintf(buf, CLI_NUMBER, "%.0f %%", 100 *
		 t->of[NP_LOGGPS_L].zone[TOLERANCE_ZONES - n].share);
	return buf;
}

/* Up to BAR columns, and no blanks behind it. */
static void bar(double part, double most)
{
	double columns = most > 0 ? BAR * part / most : 0;

	if (columns < 0.01)
		return;
	fputs("  ", stdout);
	cli_bar(stdout, columns / ceil(columns), (int)ceil(columns));
}

static void say_points(const struct cli_tolerance *t,
		       const struct cli_tolerance_ask *ask)
{
	static const enum cli_colour colour[] = { CLI_RED, CLI_YELLOW,
						  CLI_YELLOW, CLI_GREEN };
	double most = t->point[TOLERANCE_POINTS - 1].run.ns;
	char buf[CLI_NUMBER];

	cli_head("%-11s%12s%10s  %-6s%10s%8s", "Added", "run time", "change",
		 "zone", ask->topology ? "wires" : "messages", "share");
	for (size_t i = 0; i < TOLERANCE_POINTS; i++) {
		const struct cli_tolerance_point *p = &t->point[i];
		double x = t->of[NP_LOGGPS_L].base + p->added_ns;
		int n = cli_tolerance_zone_of(t, p->added_ns);

		cli_left(stdout, time_of(p->added_ns, buf), 11);
		cli_right_sec(1e-9 * p->run.ns, 12);
		if (t->ns > 0)
			printf("%8.1f %%  ", 100 * (p->run.ns / t->ns - 1));
		else
			printf("%8s    ", "-"); /* no share of nothing */
		printf("%s%-6s%s", cli_colour(colour[n]),
		       zone(t, p->added_ns, buf), cli_colour(CLI_PLAIN));
		printf("%10.0f", p->run.right);
		cli_right_as(cli_percent, cli_tolerance_ratio(x, &p->run), 8);
		bar(p->run.ns - t->ns, most - t->ns);
		putchar('\n');
	}
}

static void say_critical(const struct cli_tolerance *t,
			 const struct cli_tolerance_ask *ask)
{
	char buf[CLI_NUMBER];

	if (!ask->critical)
		return;
	if (!t->n_critical) {
		printf("\nThe critical path is the same all the way.\n");
		return;
	}
	cli_head("%-16s%12s", "Changes at",
		 ask->topology ? "wires" : "messages");
	for (size_t i = 0; i < t->n_critical && i < CRITICAL_MAX; i++) {
		cli_left(stdout, added(t->critical[i].x,
				       t->of[NP_LOGGPS_L].base, buf), 16);
		printf("%12.0f\n", t->critical[i].slope);
	}
	if (t->n_critical > CRITICAL_MAX)
		printf("%zu more (--parsable)\n",
		       t->n_critical - CRITICAL_MAX);
}

static void say_placed(const struct cli_tolerance *t)
{
	const struct np_place_result *p = &t->placed;
	char before[CLI_NUMBER], after[CLI_NUMBER];

	cli_labelled(stdout, "Placement", "%s in place of %s, by %zu "
		     "exchange%s of two ranks; tried %zu%s (--parsable has the "
		     "nodes)", cli_sec(1e-9 * p->after_ns, after),
		     cli_sec(1e-9 * p->before_ns, before), p->swaps,
		     plural(p->swaps), p->trials, p->ended ?
		     ": no other is of use" : ", which was the limit");
}

void cli_tolerance_text(const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask)
{
	say_program(t, ask);
	say_network(ask);
	if (ask->trials)
		say_placed(t);
	say_zones(t, ask);
	say_points(t, ask);
	say_critical(t, ask);
}

static void put_network(json_object *in, const struct cli_tolerance_ask *ask)
{
	const struct np_loggps *net = &ask->net;
	json_object *j = cli_put_object(in, "network");

	if (ask->topology) {
		cli_put_text(j, "topology", ask->where);
		cli_put_count(j, "ranks_per_node", ask->per_node);
		cli_put_real(j, "wire_ns", ask->wire_ns);
		cli_put_real(j, "switch_ns", ask->switch_ns);
	} else {
		cli_put_real(j, "latency_ns", net->L_ns);
	}
	cli_put_real(j, "overhead_ns", net->o_ns);
	cli_put_real(j, "ns_per_byte", net->G_ns);
	if (net->S == NP_LOGGPS_NO_RENDEZVOUS)
		cli_put(j, "rendezvous_bytes", NULL);
	else
		cli_put_count(j, "rendezvous_bytes", net->S);
	cli_put_bool(j, "first_byte_free", net->first_byte_free);
	cli_put_bool(j, "serial", ask->serial);
	cli_put_real(j, "gap_ns", net->g_ns);
	cli_put_bool(j, "shared_links", ask->shared_links);
}

static void put_parameter(json_object *in, const char *name,
			  const struct cli_tolerance *t, int x)
{
	const struct cli_tolerance_of *of = &t->of[x];
	json_object *j = cli_put_object(in, name), *list;

	cli_put_text(j, "unit", x == NP_LOGGPS_G ? "ns/byte" : "ns");
	cli_put_computed(j, "base", of->base);
	cli_put_computed(j, "slope", of->slope);
	list = cli_put_array(j, "zones");
	for (size_t i = 0; i < TOLERANCE_ZONES; i++) {
		json_object *zone = cli_append_object(list);

		cli_put_computed(zone, "longer", of->zone[i].share);
		cli_put_computed(zone, "limit", of->zone[i].limit);
		cli_put_computed(zone, "run_time_ns",
			  t->ns * (1 + of->zone[i].share));
	}
}

static void put_points(json_object *in, const struct cli_tolerance *t)
{
	double base = t->of[NP_LOGGPS_L].base;
	json_object *list = cli_put_array(in, "points");

	for (size_t i = 0; i < TOLERANCE_POINTS; i++) {
		const struct cli_tolerance_point *p = &t->point[i];
		json_object *j = cli_append_object(list);

		cli_put_computed(j, "added_ns", p->added_ns);
		cli_put_computed(j, "latency_ns", base + p->added_ns);
		cli_put_computed(j, "run_time_ns", p->run.ns);
		cli_put_computed(j, "slope_left", p->run.left);
		cli_put_computed(j, "slope_right", p->run.right);
		cli_put_computed(j, "ratio", cli_tolerance_ratio(
			base + p->added_ns, &p->run));
	}
}

static void put_placement(json_object *in, const struct cli_tolerance *t)
{
	json_object *j = cli_put_object(in, "placement"), *list;

	cli_put_computed(j, "before_ns", t->placed.before_ns);
	cli_put_computed(j, "after_ns", t->placed.after_ns);
	cli_put_count(j, "trials", t->placed.trials);
	cli_put_count(j, "swaps", t->placed.swaps);
	cli_put_bool(j, "ended", t->placed.ended);
	list = cli_put_array(j, "node_of_rank");
	for (uint32_t i = 0; i < t->ranks; i++)
		json_object_array_add(list, json_object_new_int64(t->node[i]));
}

static void put_program(json_object *list, const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask)
{
	json_object *j = cli_append_object(list), *of;

	cli_put_text(j, "file", t->file);
	cli_put_count(j, "ranks", t->ranks);
	cli_put_count(j, "operations", t->ops);
	cli_put_count(j, "messages", t->messages);
	cli_put_computed(j, "run_time_ns", t->ns);
	of = cli_put_object(j, "parameters");
	put_parameter(of, cli_tolerance_latency(ask), t, NP_LOGGPS_L);
	put_parameter(of, "overhead", t, NP_LOGGPS_o);
	put_parameter(of, "per_byte", t, NP_LOGGPS_G);
	if (ask->topology)
		put_parameter(of, "switch", t, TOLERANCE_SWITCH);
	cli_put_text(j, "latency_of", cli_tolerance_latency(ask));
	put_points(j, t);
	if (ask->trials)
		put_placement(j, t);
	if (!ask->critical)
		return;
	list = cli_put_array(j, "critical");
	for (size_t i = 0; i < t->n_critical; i++) {
		of = cli_append_object(list);
		cli_put_computed(of, "latency_ns", t->critical[i].x);
		cli_put_computed(of, "slope", t->critical[i].slope);
	}
}

/* netprof(1) tells of what kinds; what a kind does not have is empty. */
static const struct cli_table table = {
	"File|Kind|Of|Value|RunTimeNs|Slope",
	{
		{ "programs parameters",
		  "../file|=base|%|base|../run_time_ns|slope" },
		{ "programs parameters zones",
		  "../../file|=zone|../%|limit|run_time_ns|" },
		{ "programs points", "../file|=point|../latency_of|latency_ns|"
				     "run_time_ns|slope_right" },
		{ "programs critical",
		  "../file|=critical|../latency_of|latency_ns||slope" },
		{ "programs placement/node_of_rank",
		  "../file|=node|%|.||" },
	},
};

int cli_tolerance_data(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask,
		       enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	put_network(j, ask);
	list = cli_put_array(j, "programs");
	for (size_t i = 0; i < n; i++)
		put_program(list, &t[i], ask);
	return cli_print_page(format, "tolerance", j, &table);
}

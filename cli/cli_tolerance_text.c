/* The page of `netprof tolerance`, and its lines for scripts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_text.h"
#include "cli_tolerance.h"

#define BAR 14
#define CRITICAL_MAX 20

static const char *time_of(double ns, char buf[CLI_NUMBER])
{
	return cli_setting_sec(1e-9 * ns, buf);
}

/* At the left end of width columns. */
static void left(const char *text, int width)
{
	printf("%s%*s", text, width - (int)cli_width(text), "");
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
	snprintf(buf, CLI_NUMBER, G < 1 ? "%.3g GB/s" : "%.3g MB/s",
		 G < 1 ? 1 / G : 1e3 / G);
	return buf;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void say_program(const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask)
{
	const struct cli_tolerance_of *L = &t->of[NP_LOGGPS_L];
	char line[512], at[CLI_NUMBER], ns[CLI_NUMBER], share[CLI_NUMBER];

	snprintf(line, sizeof(line), "%s: %u rank%s, %zu operation%s, %zu "
		 "message%s.", t->file, t->ranks, plural(t->ranks), t->ops,
		 plural(t->ops), t->messages, plural(t->messages));
	cli_wrap(stdout, line, 2);
	snprintf(line, sizeof(line), "It runs for %s at %s of %s; that of %.0f "
		 "%s%s on its critical path is %s of the time.",
		 cli_sec(1e-9 * t->ns, ns),
		 ask->topology ? "a wire's latency" : "a latency",
		 time_of(L->base, at), L->slope,
		 ask->topology ? "wire" : "message", plural((size_t)L->slope),
		 cli_percent(cli_tolerance_ratio(L->base, &t->point[0].run),
			     share));
	cli_wrap(stdout, line, 2);
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
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			 "messages to one rank come one after the other");
	if (*line)
		cli_labelled(stdout, "Turns", line);
}

static void say_network(const struct cli_tolerance_ask *ask)
{
	const struct np_loggps *net = &ask->net;
	char line[512], way[256], L[CLI_NUMBER], o[CLI_NUMBER];
	char G[CLI_NUMBER], S[CLI_NUMBER];

	if (ask->topology)
		snprintf(way, sizeof(way), "%.128s, %u rank%s a node, a wire "
			 "%s, a switch %s", ask->where, ask->per_node,
			 plural(ask->per_node), time_of(ask->wire_ns, L),
			 time_of(ask->switch_ns, o));
	else
		snprintf(way, sizeof(way), "latency L %s",
			 time_of(net->L_ns, L));
	snprintf(line, sizeof(line), "%s, overhead o %s, %s, %s%s", way,
		 time_of(net->o_ns, o), rate(net->G_ns, G),
		 net->S == NP_LOGGPS_NO_RENDEZVOUS ?
		 "no send waits for its receiver" :
		 "sends wait for their receivers above ",
		 net->S == NP_LOGGPS_NO_RENDEZVOUS ? "" : cli_bytes(net->S, S));
	cli_labelled(stdout, "Network", line);
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
		left(buf, 11);
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

		left(time_of(p->added_ns, buf), 11);
		cli_right(stdout, cli_sec(1e-9 * p->run.ns, buf), 12);
		printf("%8.1f %%  ", t->ns > 0 ? 100 * (p->run.ns / t->ns - 1) :
						0);
		printf("%s%-6s%s", cli_colour(colour[n]),
		       zone(t, p->added_ns, buf), cli_colour(CLI_PLAIN));
		printf("%10.0f", p->run.right);
		cli_right(stdout, cli_percent(cli_tolerance_ratio(x, &p->run),
					      buf), 8);
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
		left(cli_sec(1e-9 * t->critical[i].x, buf), 16);
		printf("%12.0f\n", t->critical[i].slope);
	}
	if (t->n_critical > CRITICAL_MAX)
		printf("%zu more (--parsable)\n",
		       t->n_critical - CRITICAL_MAX);
}

static void say_placed(const struct cli_tolerance *t)
{
	const struct np_place_result *p = &t->placed;
	char line[256], before[CLI_NUMBER], after[CLI_NUMBER];

	snprintf(line, sizeof(line), "%s in place of %s, by %zu exchange%s of "
		 "two ranks; tried %zu%s (--parsable has the nodes)",
		 cli_sec(1e-9 * p->after_ns, after),
		 cli_sec(1e-9 * p->before_ns, before), p->swaps,
		 plural(p->swaps), p->trials, p->ended ?
		 ": no other is of use" : ", which was the limit");
	cli_labelled(stdout, "Placement", line);
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

/* netprof(1) tells of what kinds; what a kind does not have is empty. */
static void line(const struct cli_tolerance *t, const char *kind,
		 const char *of, double x, double ns, double slope)
{
	cli_field(t->file, '|');
	printf("%s|%s|", kind, of);
	cli_field_real(x, 15, '|');
	cli_field_real(ns, 15, '|');
	cli_field_real(slope, 15, '\n');
}

void cli_tolerance_parsable(const struct cli_tolerance *t,
			    const struct cli_tolerance_ask *ask, bool head)
{
	const char *L = ask->topology ? "wire" : "L";
	const char *const name[] = { L, "o", "G", "switch" };

	if (head)
		puts("File|Kind|Of|Value|RunTimeNs|Slope");
	for (int x = 0; x < TOLERANCE_PARAMS; x++) {
		const struct cli_tolerance_of *of = &t->of[x];

		if (x == TOLERANCE_SWITCH && !ask->topology)
			continue;
		line(t, "base", name[x], of->base, t->ns, of->slope);
		for (size_t i = 0; i < TOLERANCE_ZONES; i++)
			line(t, "zone", name[x], of->zone[i].limit,
			     t->ns * (1 + of->zone[i].share), NAN);
	}
	for (size_t i = 0; i < TOLERANCE_POINTS; i++)
		line(t, "point", L, t->of[0].base + t->point[i].added_ns,
		     t->point[i].run.ns, t->point[i].run.right);
	for (size_t i = 0; i < t->n_critical; i++)
		line(t, "critical", L, t->critical[i].x, NAN,
		     t->critical[i].slope);
	for (uint32_t i = 0; ask->trials && i < t->ranks; i++) {
		char rank[CLI_NUMBER];

		snprintf(rank, sizeof(rank), "%u", i);
		line(t, "node", rank, t->node[i], NAN, NAN);
	}
}

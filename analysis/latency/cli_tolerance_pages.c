/* Reports of netprof tolerance: text, JSON and tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_text.h"
#include "cli_tolerance.h"

#define BAR 14
#define CRITICAL_MAX 20
#define PAIRS_SAID 10

static const char *time_of(double ns, char buf[CLI_NUMBER])
{
	return cli_setting_sec(1e-9 * ns, buf);
}

/* "+840 ns", or "any" without a limit. */
static const char *added(double limit, double base, char buf[CLI_NUMBER])
{
	char number[CLI_NUMBER];

	if (!isfinite(limit))
		return "any";
	snprintf(buf, CLI_NUMBER, "+%.*s", CLI_NUMBER - 2,
		 cli_sec(1e-9 * (limit - base), number));
	return buf;
}

/* "10 GB/s" for a time per byte in ns. */
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
	cli_say(CLI_PLAIN, 2, "Run time %s at %s of %s; %.0f %s%s on the "
		"critical path account%s for %s of it.",
		cli_sec(1e-9 * t->ns, ns),
		ask->topology ? "a wire's latency" : "a latency",
		time_of(L->base, at), L->slope,
		ask->topology ? "wire" : "message", plural((size_t)L->slope),
		(size_t)L->slope == 1 ? "s" : "",
		cli_percent(t->ns > 0 ? L->base * L->slope / t->ns : 0,
			    share));
}

/* The exclusive resources. */
static void say_turns(const struct cli_tolerance_ask *ask)
{
	char line[256] = "", g[CLI_NUMBER];

	if (ask->serial)
		snprintf(line, sizeof(line), "one operation per processor at a "
			 "time%s, sends of an adapter %s apart%s",
			 ask->overlap ? " while data arrives" : "",
			 time_of(ask->net.g_ns, g),
			 ask->shared_links ? ", " : "");
	if (ask->shared_links)
		cli_add(line, sizeof(line), "one message per receiver at a "
			"time");
	cli_labelled(stdout, "Contention", "%s", line);
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
		     "no rendezvous" : "rendezvous above ",
		     net->S == NP_LOGGPS_NO_RENDEZVOUS ? "" :
		     cli_bytes(net->S, S));
	say_turns(ask);
}

/* Prints a column of the table of thresholds. */
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
	for (size_t i = 0; i < ask->n_shares; i++) {
		snprintf(buf, sizeof(buf), "%g %% longer",
			 100 * L->zone[i].share);
		cli_left(stdout, buf, 13);
		cli_right(stdout, added(L->zone[i].limit, L->base, buf), 12);
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

/* "1 %", "2 %", "5 %", or "more". */
static const char *zone(const struct cli_tolerance_ask *ask, size_t n,
			char buf[CLI_NUMBER])
{
	if (!n)
		return "more";
	snprintf(buf, CLI_NUMBER, "%g %%", 100 * ask->share[ask->n_shares - n]);
	return buf;
}

/* Prints up to BAR columns, without trailing blanks. */
static void bar(double part, double most)
{
	double columns = most > 0 ? BAR * part / most : 0;

	if (columns < 0.01)
		return;
	fputs("  ", stdout);
	cli_bar(stdout, columns / ceil(columns), (int)ceil(columns));
}

/* The slope as messages on the critical path, or as bytes. */
static const char *slope_of(const struct cli_tolerance_ask *ask, double slope,
			    char buf[CLI_NUMBER])
{
	if (ask->sweep == NP_LOGGPS_G)
		return cli_bytes((uint64_t)slope, buf);
	snprintf(buf, CLI_NUMBER, "%.0f", slope);
	return buf;
}

static void say_points(const struct cli_tolerance *t,
		       const struct cli_tolerance_ask *ask)
{
	double base = t->of[ask->sweep].base;
	double most = t->point[TOLERANCE_POINTS - 1].run.ns;
	char buf[CLI_NUMBER];

	cli_head("%-11s%12s%10s  %-6s%10s%8s", ask->sweep == NP_LOGGPS_G ?
		 "Bandwidth" : "Added", "run time", "change", "zone",
		 cli_tolerance_unit(ask), "share");
	for (size_t i = 0; i < TOLERANCE_POINTS; i++) {
		const struct cli_tolerance_point *p = &t->point[i];
		double x = base + p->added;
		size_t n = cli_tolerance_zone_of(t, ask, p->added);

		cli_left(stdout, ask->sweep == NP_LOGGPS_G ? rate(x, buf) :
			 time_of(p->added, buf), 11);
		cli_right_sec(1e-9 * p->run.ns, 12);
		if (t->ns > 0)
			printf("%8.1f %%  ", 100 * (p->run.ns / t->ns - 1));
		else
			printf("%8s    ", "-"); /* a change of 0 is undefined */
		printf("%s%-6s%s", cli_colour(!n ? CLI_RED :
		       n == ask->n_shares ? CLI_GREEN : CLI_YELLOW),
		       zone(ask, n, buf), cli_colour(CLI_PLAIN));
		cli_right(stdout, slope_of(ask, p->run.right, buf), 10);
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
		printf("\nThe critical path does not change in this range.\n");
		return;
	}
	cli_head("%-16s%12s", "Changes at", cli_tolerance_unit(ask));
	for (size_t i = 0; i < t->n_critical && i < CRITICAL_MAX; i++) {
		const struct np_critical *c = &t->critical[i];

		cli_left(stdout, ask->sweep == NP_LOGGPS_G ? rate(c->x, buf) :
			 added(c->x, t->of[ask->sweep].base, buf), 16);
		cli_right(stdout, slope_of(ask, c->slope, buf), 12);
		putchar('\n');
	}
	if (t->n_critical > CRITICAL_MAX)
		printf("%zu more (--parsable)\n",
		       t->n_critical - CRITICAL_MAX);
}

/* Prints the pairs whose latency matters most. */
static void say_pairs(const struct cli_tolerance *t,
		      const struct cli_tolerance_ask *ask)
{
	char buf[CLI_NUMBER], word[CLI_NUMBER];
	double all = 0;

	if (!ask->pairs)
		return;
	if (!t->n_pairs) {
		printf("\nNo message is on the critical path.\n");
		return;
	}
	for (size_t i = 0; i < t->n_pairs; i++)
		all += (double)t->pair[i].messages;
	snprintf(word, sizeof(word), "%g %% longer", 100 * ask->share[0]);
	cli_head("%-16s%10s%8s%12s%14s", "From, to rank", "messages", "share",
		 "bytes", word);
	for (size_t i = 0; i < t->n_pairs && i < PAIRS_SAID; i++) {
		const struct np_pair *p = &t->pair[i];

		snprintf(buf, sizeof(buf), "%u, %u", p->from, p->to);
		printf("%-16s%10llu", buf, (unsigned long long)p->messages);
		cli_right_as(cli_percent, (double)p->messages / all, 8);
		cli_right(stdout, cli_bytes(p->bytes, buf), 12);
		column(added(t->pair_limit[i], t->of[NP_LOGGPS_L].base, buf));
		putchar('\n');
	}
	if (t->n_pairs > PAIRS_SAID)
		printf("%zu more (--parsable)\n", t->n_pairs - PAIRS_SAID);
}

static double noise_mean(const struct cli_tolerance *t)
{
	double sum = 0;

	for (size_t i = 0; i < TOLERANCE_DRAWS; i++)
		sum += t->noise_ns[i];
	return sum / TOLERANCE_DRAWS;
}

static void say_noise(const struct cli_tolerance *t,
		      const struct cli_tolerance_ask *ask)
{
	const struct np_detours *d = &ask->detours;
	char mean[CLI_NUMBER], low[CLI_NUMBER], high[CLI_NUMBER];
	char away[CLI_NUMBER], more[CLI_NUMBER];

	cli_labelled(stdout, "Noise", "processors interrupted for %s of the "
		     "time: run time %s (%s), mean of %d simulations between "
		     "%s and %s", cli_percent(d->away_ns / d->period_ns,
						  away),
		     cli_sec(1e-9 * noise_mean(t), mean),
		     t->ns > 0 ? cli_change(noise_mean(t) / t->ns - 1, more) :
		     "-", TOLERANCE_DRAWS, cli_sec(1e-9 * t->noise_ns[0], low),
		     cli_sec(1e-9 * t->noise_ns[TOLERANCE_DRAWS - 1], high));
}

static void say_placed(const struct cli_tolerance *t)
{
	const struct np_place_result *p = &t->placed;
	char before[CLI_NUMBER], after[CLI_NUMBER];

	if (!p->swaps) {
		cli_labelled(stdout, "Placement", "no improvement: none of %zu "
			     "others is faster%s", p->trials, p->ended ?
			     ", and no single change improves it" : "");
		return;
	}
	cli_labelled(stdout, "Placement", "run time %s instead of %s after %zu "
		     "change%s; tried %zu, with %zu restart%s (--parsable "
		     "lists the nodes)", cli_sec(1e-9 * p->after_ns, after),
		     cli_sec(1e-9 * p->before_ns, before), p->swaps,
		     plural(p->swaps), p->trials, p->restarts,
		     plural(p->restarts));
}

void cli_tolerance_text(const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask)
{
	say_program(t, ask);
	say_network(ask);
	if (ask->trials)
		say_placed(t);
	if (ask->noise)
		say_noise(t, ask);
	say_zones(t, ask);
	say_points(t, ask);
	say_critical(t, ask);
	say_pairs(t, ask);
}

static void put_network(json_object *in, const struct cli_tolerance_ask *ask)
{
	const struct np_loggps *net = &ask->net;
	json_object *j = cli_put_object(in, "network");

	if (ask->topology) {
		cli_put_text(j, "topology", ask->where);
		cli_put_count(j, "ranks_per_node", ask->per_node);
		cli_put_computed(j, "wire_ns", ask->wire_ns);
		cli_put_computed(j, "switch_ns", ask->switch_ns);
	} else {
		cli_put_computed(j, "latency_ns", net->L_ns);
	}
	cli_put_computed(j, "overhead_ns", net->o_ns);
	cli_put_computed(j, "ns_per_byte", net->G_ns);
	if (net->S == NP_LOGGPS_NO_RENDEZVOUS)
		cli_put(j, "rendezvous_bytes", NULL);
	else
		cli_put_count(j, "rendezvous_bytes", net->S);
	cli_put_bool(j, "first_byte_free", net->first_byte_free);
	cli_put_bool(j, "serial", ask->serial);
	cli_put_computed(j, "gap_ns", net->g_ns);
	cli_put_bool(j, "shared_links", ask->shared_links);
	cli_put_bool(j, "overlap", ask->overlap);
}

static void put_parameter(json_object *in, const char *name,
			  const struct cli_tolerance *t,
			  const struct cli_tolerance_ask *ask, int x)
{
	const struct cli_tolerance_of *of = &t->of[x];
	json_object *j = cli_put_object(in, name), *list;

	cli_put_text(j, "unit", x == NP_LOGGPS_G ? "ns/byte" : "ns");
	cli_put_computed(j, "base", of->base);
	cli_put_computed(j, "slope", of->slope);
	list = cli_put_array(j, "zones");
	for (size_t i = 0; i < ask->n_shares; i++) {
		json_object *zone = cli_append_object(list);

		cli_put_computed(zone, "longer", of->zone[i].share);
		cli_put_computed(zone, "limit", of->zone[i].limit);
		cli_put_computed(zone, "run_time_ns",
			  t->ns * (1 + of->zone[i].share));
	}
}

/* JSON keys and table columns, by swept parameter. */
static const struct {
	const char *of, *value, *added, *points, *critical;
} swept[] = {
	[NP_LOGGPS_L] = { NULL, "latency_ns", "added_ns",
		"../file|=point|../latency_of|latency_ns|run_time_ns|"
		"slope_right",
		"../file|=critical|../latency_of|latency_ns||slope" },
	[NP_LOGGPS_o] = { "overhead", "overhead_ns", "added_ns",
		"../file|=point|../latency_of|overhead_ns|run_time_ns|"
		"slope_right",
		"../file|=critical|../latency_of|overhead_ns||slope" },
	[NP_LOGGPS_G] = { "per_byte", "ns_per_byte", "added_ns_per_byte",
		"../file|=point|../latency_of|ns_per_byte|run_time_ns|"
		"slope_right",
		"../file|=critical|../latency_of|ns_per_byte||slope" },
};

static void put_points(json_object *in, const struct cli_tolerance *t,
		       const struct cli_tolerance_ask *ask)
{
	double base = t->of[ask->sweep].base;
	json_object *list = cli_put_array(in, "points");

	for (size_t i = 0; i < TOLERANCE_POINTS; i++) {
		const struct cli_tolerance_point *p = &t->point[i];
		json_object *j = cli_append_object(list);

		cli_put_computed(j, swept[ask->sweep].added, p->added);
		cli_put_computed(j, swept[ask->sweep].value, base + p->added);
		cli_put_computed(j, "run_time_ns", p->run.ns);
		cli_put_computed(j, "slope_left", p->run.left);
		cli_put_computed(j, "slope_right", p->run.right);
		cli_put_computed(j, "ratio", cli_tolerance_ratio(
			base + p->added, &p->run));
	}
}

static void put_pairs(json_object *in, const struct cli_tolerance *t)
{
	json_object *list = cli_put_array(in, "pairs");

	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct np_pair *p = &t->pair[i];
		json_object *j = cli_append_object(list);

		cli_put_count(j, "from", p->from);
		cli_put_count(j, "to", p->to);
		cli_put_count(j, "messages", p->messages);
		cli_put_count(j, "bytes", p->bytes);
		cli_put_computed(j, "limit", t->pair_limit[i]);
	}
}

static void put_noise(json_object *in, const struct cli_tolerance *t,
		      const struct cli_tolerance_ask *ask)
{
	const struct np_detours *d = &ask->detours;
	json_object *j = cli_put_object(in, "noise");

	cli_put_computed(j, "away", d->away_ns / d->period_ns);
	cli_put_computed(j, "mean_ns", noise_mean(t));
	cli_put_computed(j, "min_ns", t->noise_ns[0]);
	cli_put_computed(j, "max_ns", t->noise_ns[TOLERANCE_DRAWS - 1]);
	cli_put_count(j, "simulations", TOLERANCE_DRAWS);
}

static void put_placement(json_object *in, const struct cli_tolerance *t)
{
	json_object *j = cli_put_object(in, "placement"), *list;

	cli_put_computed(j, "before_ns", t->placed.before_ns);
	cli_put_computed(j, "after_ns", t->placed.after_ns);
	cli_put_count(j, "trials", t->placed.trials);
	cli_put_count(j, "swaps", t->placed.swaps);
	cli_put_count(j, "restarts", t->placed.restarts);
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
	put_parameter(of, cli_tolerance_latency(ask), t, ask, NP_LOGGPS_L);
	put_parameter(of, "overhead", t, ask, NP_LOGGPS_o);
	put_parameter(of, "per_byte", t, ask, NP_LOGGPS_G);
	if (ask->topology)
		put_parameter(of, "switch", t, ask, TOLERANCE_SWITCH);
	cli_put_text(j, "latency_of", swept[ask->sweep].of ?
		     swept[ask->sweep].of : cli_tolerance_latency(ask));
	put_points(j, t, ask);
	if (ask->trials)
		put_placement(j, t);
	if (ask->pairs)
		put_pairs(j, t);
	if (ask->noise)
		put_noise(j, t, ask);
	if (!ask->critical)
		return;
	list = cli_put_array(j, "critical");
	for (size_t i = 0; i < t->n_critical; i++) {
		of = cli_append_object(list);
		cli_put_computed(of, swept[ask->sweep].value,
				 t->critical[i].x);
		cli_put_computed(of, "slope", t->critical[i].slope);
	}
}

int cli_tolerance_data(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask,
		       enum cli_format format)
{
	/*
	 * netprof(1) describes the kinds; columns that a kind lacks are empty.
	 */
	const struct cli_table table = {
		"File|Kind|Of|Value|RunTimeNs|Slope",
		{
			{ "programs parameters",
			  "../file|=base|%|base|../run_time_ns|slope" },
			{ "programs parameters zones",
			  "../../file|=zone|../%|limit|run_time_ns|" },
			{ "programs points", swept[ask->sweep].points },
			{ "programs critical", swept[ask->sweep].critical },
			{ "programs placement/node_of_rank",
			  "../file|=node|%|.||" },
			{ "programs pairs",
			  "../file|=pair|from|to||messages" },
		},
	};
	json_object *j = json_object_new_object(), *list;

	put_network(j, ask);
	list = cli_put_array(j, "programs");
	for (size_t i = 0; i < n; i++)
		put_program(list, &t[i], ask);
	return cli_print_page(format, "tolerance", j, &table);
}

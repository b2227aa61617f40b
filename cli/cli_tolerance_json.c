/* netprof tolerance --json */
#include <math.h>

#include "cli_json_put.h"
#include "cli_tolerance.h"

/* Computed, not measured: with all its digits. */
static void put_exact(json_object *in, const char *key, double v)
{
	cli_put_digits(in, key, v, 15);
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

static void put_parameter(json_object *in, const char *name, const char *unit,
			  const struct cli_tolerance_of *of)
{
	json_object *j = cli_put_object(in, name), *list;

	cli_put_text(j, "unit", unit);
	put_exact(j, "base", of->base);
	put_exact(j, "slope", of->slope);
	list = cli_put_array(j, "zones");
	for (size_t i = 0; i < TOLERANCE_ZONES; i++) {
		json_object *zone = cli_append_object(list);

		put_exact(zone, "longer", of->zone[i].share);
		put_exact(zone, "limit", of->zone[i].limit);
	}
}

static void put_points(json_object *in, const struct cli_tolerance *t)
{
	json_object *list = cli_put_array(in, "points");

	for (size_t i = 0; i < TOLERANCE_POINTS; i++) {
		const struct cli_tolerance_point *p = &t->point[i];
		json_object *j = cli_append_object(list);

		put_exact(j, "added_ns", p->added_ns);
		put_exact(j, "run_time_ns", p->run.ns);
		put_exact(j, "slope_left", p->run.left);
		put_exact(j, "slope_right", p->run.right);
		put_exact(j, "ratio", cli_tolerance_ratio(
			t->of[NP_LOGGPS_L].base + p->added_ns, &p->run));
	}
}

static void put_placement(json_object *in, const struct cli_tolerance *t)
{
	json_object *j = cli_put_object(in, "placement"), *list;

	put_exact(j, "before_ns", t->placed.before_ns);
	put_exact(j, "after_ns", t->placed.after_ns);
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
	put_exact(j, "run_time_ns", t->ns);
	put_parameter(j, cli_tolerance_latency(ask), "ns",
		      &t->of[NP_LOGGPS_L]);
	if (ask->topology)
		put_parameter(j, "switch", "ns", &t->of[TOLERANCE_SWITCH]);
	put_parameter(j, "overhead", "ns", &t->of[NP_LOGGPS_o]);
	put_parameter(j, "per_byte", "ns/byte", &t->of[NP_LOGGPS_G]);
	put_points(j, t);
	if (ask->trials)
		put_placement(j, t);
	if (!ask->critical)
		return;
	list = cli_put_array(j, "critical");
	for (size_t i = 0; i < t->n_critical; i++) {
		of = cli_append_object(list);
		put_exact(of, "latency_ns", t->critical[i].x);
		put_exact(of, "slope", t->critical[i].slope);
	}
}

int cli_tolerance_json(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask)
{
	json_object *j = json_object_new_object(), *list;

	put_network(j, ask);
	list = cli_put_array(j, "programs");
	for (size_t i = 0; i < n; i++)
		put_program(list, &t[i], ask);
	return cli_print_json("tolerance", j);
}

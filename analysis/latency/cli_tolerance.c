#include "cli_tolerance.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_graph.h"

#define UNBOUNDED_NS 100e3 /* range of the sweep if nothing limits it */
#define UNBOUNDED_NS_PER_BYTE 10
#define PAIRS_LIMITED 10 /* pairs for which a threshold is computed */

const double cli_tolerance_shares[TOLERANCE_ZONES] = { 0.01, 0.02, 0.05 };

static int report_deadlock(const struct np_graph *g, const struct np_cycle *c)
{
	char buf[NP_ERR_LEN];

	cli_fail("deadlock: %zu operations wait for each other, each for the "
		 "next:", c->n);
	for (size_t i = 0; i < c->n && i < NP_CYCLE_OPS; i++)
		fprintf(stderr, "  %s\n", np_graph_describe(g, c->node[i], buf,
						       sizeof(buf)));
	if (c->n > NP_CYCLE_OPS)
		fprintf(stderr, "  and %zu more\n", c->n - NP_CYCLE_OPS);
	return CLI_FAILED;
}

/* Arguments of np_tolerance_new(), with room for what they point to. */
struct options {
	struct np_cycle cycle;
	struct np_tolerance_opt opt;
};

static void fill_in(struct options *o, int x,
		    const struct cli_tolerance_ask *ask, const uint32_t *node)
{
	*o = (struct options){
		.opt = {
			.net = ask->net, .cycle = &o->cycle,
			.x = x == TOLERANCE_SWITCH ? NP_LOGGPS_L :
						     (enum np_loggps_param)x,
			.one_cpu = ask->serial, .one_link = ask->shared_links,
			.overlap = ask->overlap,
			.placed = { ask->topology, node, ask->wire_ns,
				    ask->switch_ns, x == TOLERANCE_SWITCH },
		},
	};
	if (ask->topology)
		o->opt.net.L_ns = x == TOLERANCE_SWITCH ? ask->switch_ns :
							  ask->wire_ns;
}

static int report_error(const struct np_graph *g, int rc,
			const struct options *o, const struct np_err *err)
{
	if (rc == -EDEADLK)
		return report_deadlock(g, &o->cycle);
	return rc ? cli_fail("%s", err->text) : -1;
}

static int contract(const struct np_graph *g, int x,
		    const struct cli_tolerance_ask *ask, const uint32_t *node,
		    struct np_tolerance **t)
{
	struct np_err err = NP_ERR_INIT;
	struct options o;

	fill_in(&o, x, ask, node);
	return report_error(g, np_tolerance_new(g, &o.opt, t, &err), &o, &err);
}

/* The next number of 1, 2, 5, 10, 20 ... */
static double round_up(double v)
{
	double ten = pow(10, floor(log10(v)));

	return v <= ten ? ten : v <= 2 * ten ? 2 * ten :
	       v <= 5 * ten ? 5 * ten : 10 * ten;
}

/* Range of the sweep, from the base of the parameter. */
static double sweep_range(const struct cli_tolerance *t,
		    const struct cli_tolerance_ask *ask)
{
	const struct cli_tolerance_of *of = &t->of[ask->sweep];
	double limit = of->zone[ask->n_shares - 1].limit - of->base;

	if (!isnan(ask->up_to_ns))
		return ask->up_to_ns;
	if (!(limit > 0) || !isfinite(limit))
		return ask->sweep == NP_LOGGPS_G ? UNBOUNDED_NS_PER_BYTE :
						   UNBOUNDED_NS;
	return round_up(1.2 * limit);
}

static int run_sweep(struct cli_tolerance *t, struct np_tolerance *f,
		 const struct cli_tolerance_ask *ask)
{
	double base = t->of[ask->sweep].base, far = sweep_range(t, ask);
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; i < TOLERANCE_POINTS; i++) {
		struct cli_tolerance_point *p = &t->point[i];

		p->added = far * (double)i / (TOLERANCE_POINTS - 1);
		np_tolerance_at(f, base + p->added, &p->run);
	}
	t->ns = t->point[0].run.ns;
	if (ask->critical && np_tolerance_critical(f, base, base + far,
						   &t->critical,
						   &t->n_critical, &err))
		return cli_fail("%s", err.text);
	return -1;
}

void cli_tolerance_zones(struct np_tolerance *t, double base,
			 const double *share, size_t n,
			 struct cli_tolerance_zone *zone)
{
	for (size_t i = 0; i < n; i++) {
		zone[i].share = share[i];
		zone[i].limit = np_tolerance_limit(t, base, share[i]);
	}
}

static int analyse_parameter(struct cli_tolerance *t, const struct np_graph *g,
			     int x, const struct cli_tolerance_ask *ask)
{
	const double base[TOLERANCE_PARAMS] = {
		[NP_LOGGPS_L] = ask->topology ? ask->wire_ns : ask->net.L_ns,
		[NP_LOGGPS_o] = ask->net.o_ns, [NP_LOGGPS_G] = ask->net.G_ns,
		[TOLERANCE_SWITCH] = ask->switch_ns,
	};
	struct cli_tolerance_of *of = &t->of[x];
	struct np_tolerance *f;
	struct np_runtime r;
	int rc = contract(g, x, ask, t->node, &f);

	if (rc >= 0)
		return rc;
	np_tolerance_at(f, base[x], &r);
	of->base = base[x];
	of->slope = r.right;
	cli_tolerance_zones(f, base[x], ask->share, ask->n_shares, of->zone);
	if (x == ask->sweep)
		rc = run_sweep(t, f, ask);
	np_tolerance_free(f);
	return rc;
}

/* Places ranks on nodes in order, per_node on each. */
static int place_in_order(struct cli_tolerance *t,
			  const struct cli_tolerance_ask *ask)
{
	uint32_t n = t->ranks, room = np_topology_nodes(ask->topology);

	if ((n - 1) / ask->per_node >= room)
		return cli_fail("%s: %u ranks, %u on a node, are more than the "
				"%u nodes of %s", t->file, n, ask->per_node,
				room, ask->where);
	t->node = calloc(n, sizeof(*t->node));
	if (!t->node)
		return cli_fail("out of memory");
	for (uint32_t i = 0; i < n; i++)
		t->node[i] = i / ask->per_node;
	return -1;
}

/* There is no path between the trees of a topology. */
static int check_paths(const struct np_graph *g, const struct cli_tolerance *t,
		      const struct cli_tolerance_ask *ask)
{
	char from[256], to[256];

	for (uint32_t r = 0; r < t->ranks; r++)
		for (uint32_t i = 0; i < np_graph_rank_ops(g, r); i++) {
			struct np_graph_op op;
			uint32_t peer, at;

			np_graph_op(g, r, i, &op);
			if (op.kind != NP_OP_SEND)
				continue;
			np_graph_partner(g, r, i, &peer, &at);
			if (np_topology_hops(ask->topology, t->node[r],
					     t->node[peer]) ==
			    NP_TOPOLOGY_APART)
				return cli_fail("%s: rank %u sends to rank %u, "
					"but no switch of %s is above both of "
					"their nodes, %s and %s", t->file, r,
					peer, ask->where,
					np_topology_conf_node(&ask->read,
						t->node[r], from, sizeof(from)),
					np_topology_conf_node(&ask->read,
						t->node[peer], to,
						sizeof(to)));
		}
	return -1;
}

static int search_placement(struct cli_tolerance *t, const struct np_graph *g,
			const struct cli_tolerance_ask *ask)
{
	struct np_err err = NP_ERR_INIT;
	struct options o;

	fill_in(&o, NP_LOGGPS_L, ask, t->node);
	return report_error(g, np_place_ranks(g, &o.opt, t->node, ask->per_node,
					 ask->trials, &t->placed, &err), &o,
		       &err);
}

/* The latency of one pair alone at which the first threshold is reached. */
static int limit_pair(const struct np_graph *g, struct options *o,
		      const struct np_pair *pair, double share, double *limit)
{
	struct np_err err = NP_ERR_INIT;
	struct np_tolerance *f;
	int rc;

	o->opt.pair = pair;
	rc = np_tolerance_new(g, &o->opt, &f, &err);
	if (rc)
		return report_error(g, rc, o, &err);
	*limit = np_tolerance_limit(f, o->opt.net.L_ns, share);
	np_tolerance_free(f);
	return -1;
}

static int find_pairs(struct cli_tolerance *t, const struct np_graph *g,
		      const struct cli_tolerance_ask *ask)
{
	struct np_err err = NP_ERR_INIT;
	struct options o;
	int rc;

	fill_in(&o, NP_LOGGPS_L, ask, t->node);
	rc = report_error(
		g, np_tolerance_pairs(g, &o.opt, &t->pair, &t->n_pairs, &err),
		&o, &err);
	if (rc >= 0)
		return rc;
	t->pair_limit = calloc(t->n_pairs + 1, sizeof(*t->pair_limit));
	if (!t->pair_limit)
		return cli_fail("out of memory");
	for (size_t i = 0; rc < 0 && i < t->n_pairs; i++) {
		t->pair_limit[i] = NAN;
		if (i < PAIRS_LIMITED)
			rc = limit_pair(g, &o, &t->pair[i], ask->share[0],
					&t->pair_limit[i]);
	}
	return rc;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int simulate_noise(struct cli_tolerance *t, const struct np_graph *g,
			  const struct cli_tolerance_ask *ask)
{
	struct np_detours d = ask->detours;
	struct np_err err = NP_ERR_INIT;
	struct options o;
	int rc = 0;

	fill_in(&o, NP_LOGGPS_L, ask, t->node);
	for (size_t i = 0; !rc && i < TOLERANCE_DRAWS; i++) {
		d.seed = i;
		rc = np_tolerance_simulate(g, &o.opt, &d, &t->noise_ns[i],
					   &err);
	}
	qsort(t->noise_ns, TOLERANCE_DRAWS, sizeof(*t->noise_ns), by_value);
	return rc ? cli_fail("%s", err.text) : -1;
}

int cli_tolerance_read(const char *file, const struct cli_tolerance_ask *ask,
		       struct cli_tolerance *out)
{
	int params = ask->topology ? TOLERANCE_PARAMS : TOLERANCE_SWITCH;
	struct np_graph *g = NULL;
	int rc = cli_graph_read(file, &ask->choices, &g);

	if (rc >= 0)
		return rc;
	*out = (struct cli_tolerance){
		.file = file, .ranks = np_graph_ranks(g),
		.ops = np_graph_ops(g), .messages = np_graph_messages(g),
	};
	if (ask->topology)
		rc = place_in_order(out, ask);
	if (rc < 0 && ask->topology)
		rc = check_paths(g, out, ask);
	if (rc < 0 && ask->trials)
		rc = search_placement(out, g, ask);
	for (int x = NP_LOGGPS_L; rc < 0 && x < params; x++)
		rc = analyse_parameter(out, g, x, ask);
	if (rc < 0 && ask->pairs)
		rc = find_pairs(out, g, ask);
	if (rc < 0 && ask->noise)
		rc = simulate_noise(out, g, ask);
	np_graph_free(g);
	return rc;
}

void cli_tolerance_free(struct cli_tolerance *t)
{
	free(t->critical);
	free(t->pair);
	free(t->pair_limit);
	free(t->node);
}

size_t cli_tolerance_zone_of(const struct cli_tolerance *t,
			     const struct cli_tolerance_ask *ask, double added)
{
	const struct cli_tolerance_of *of = &t->of[ask->sweep];
	size_t n = 0;

	for (size_t i = 0; i < ask->n_shares; i++)
		n += of->base + added <= of->zone[i].limit;
	return n;
}

const char *cli_tolerance_latency(const struct cli_tolerance_ask *ask)
{
	return ask->topology ? "wire" : "latency";
}

const char *cli_tolerance_unit(const struct cli_tolerance_ask *ask)
{
	switch (ask->sweep) {
	case NP_LOGGPS_o: return "overheads";
	case NP_LOGGPS_G: return "bytes";
	default: return ask->topology ? "wires" : "messages";
	}
}

double cli_tolerance_ratio(double x, const struct np_runtime *r)
{
	return r->ns > 0 ? x * r->right / r->ns : 0;
}

/*
 * netprof tolerance: how much latency a program tolerates; and netprof-analysis
 * curve, which computes the same for the program netprof.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_graph.h"
#include "cli_json_put.h"
#include "cli_loggps.h"
#include "cli_options.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_text.h"
#include "np_array.h"
#include "np_collective.h"
#include "np_figure.h"
#include "np_option.h"
#include "np_place_ranks.h"
#include "np_read.h"
#include "np_tolerance.h"
#include "np_topology.h"
#include "np_trace_analysis.h"

#define MAX_THRESHOLDS 8
#define NOISE_SIMULATIONS 20 /* simulations with different detours */
#define SWEEP_POINTS 11

/* Default thresholds: 1, 2 and 5 % longer. */
static const double default_shares[NP_TRACE_THRESHOLDS] = { 0.01, 0.02, 0.05 };

/* The request, from the command line. */
struct request {
	struct np_loggps net;
	double up_to_ns; /* maximum added; NAN: determined by the thresholds */
	/* options to be copied into net; NAN: not given */
	double latency_ns, gap_ns, copy_ns;
	bool critical;
	/* one_cpu, one_link and overlap of np_tolerance_opt */
	bool serial, shared_links, overlap;
	double share[MAX_THRESHOLDS]; /* thresholds, ascending; 0.01: 1 % */
	size_t n_shares;
	int sweep;	     /* parameter of the points and of --critical */
	bool pairs;	     /* pairs of ranks on the critical path */
	const char *noise;   /* argument of --noise, or NULL */
	double noise_sec[2]; /* distance and length; 0: noise is a file */
	struct np_detours detours;
	/* name of the topology; NULL: the same latency everywhere */
	const char *where;
	const struct np_topology *topology;
	/* topology from a file, with names of nodes */
	struct np_topology_conf read;
	double wire_ns, switch_ns; /* NAN while parsing: not given */
	uint32_t per_node;	   /* ranks; 0 while parsing: not given */
	/* algorithms for the collectives of a trace */
	struct np_choices choices;
	uint32_t trials; /* number of other placements to try; 0: none */
};

/* Parameters. With a topology, the latency is that of a wire. */
enum { SWITCH_LATENCY = NP_LOGGPS_G + 1, N_PARAMETERS };

/* Results for one parameter, with the others unchanged. */
struct parameter {
	double base; /* its value in the network, in ns or ns per byte */
	double slope;
	/* by threshold: its value there; INFINITY: no limit */
	double limit[MAX_THRESHOLDS];
};

struct sweep_point {
	double added; /* ns, or ns per byte */
	struct np_runtime run;
};

/* All results for one program. */
struct program {
	const char *file;
	uint32_t ranks;
	size_t ops, messages;
	struct parameter of[N_PARAMETERS];
	double ns; /* run time */
	struct sweep_point point[SWEEP_POINTS];
	uint32_t *node;		       /* by rank, with a topology */
	struct np_place_result placed; /* if other placements were tried */
	struct np_critical *critical;  /* if requested or plotted */
	size_t n_critical;
	struct np_pair *pair; /* if requested */
	/* latency of one pair alone that reaches the first threshold */
	double *pair_limit;
	size_t n_pairs;
	/* run times with detours, ascending */
	double noise_ns[NOISE_SIMULATIONS];
};

/* Network parameters used if nothing was measured. */
/* clang-format off */
#define DEFAULT_NETWORK { .L_ns = 3000, .G_ns = 0.1, \
	.S = NP_LOGGPS_NO_RENDEZVOUS }
/* clang-format on */

#define UNBOUNDED_NS 100e3 /* range of the sweep if nothing limits it */
#define UNBOUNDED_NS_PER_BYTE 10
#define PAIRS_LIMITED 10 /* pairs for which a threshold is computed */

/* Names the first operations of a cycle, in one line. */
static int report_deadlock(const struct np_graph *g, const struct np_cycle *c)
{
	char line[(NP_CYCLE_OPS + 1) * NP_ERR_LEN] = "", buf[NP_ERR_LEN];

	for (size_t i = 0; i < c->n && i < NP_CYCLE_OPS; i++)
		cli_appendf(line, sizeof(line), "%s%s", i ? "; " : "",
			    np_graph_describe(g, c->node[i], buf, sizeof(buf)));
	if (c->n > NP_CYCLE_OPS)
		cli_appendf(line, sizeof(line), "; and %zu more",
			    c->n - NP_CYCLE_OPS);
	return cli_fail("deadlock: %zu operations wait for each other, each "
			"for the next: %s",
			c->n, line);
}

/* Arguments of np_tolerance_new(), with room for what they point to. */
struct options {
	struct np_cycle cycle;
	struct np_tolerance_opt opt;
};

/* Translates the request for parameter x into options of the model. */
static void fill_options(struct options *o, int x, const struct request *req,
			 const uint32_t *node)
{
	*o = (struct options){
		.opt = {
			.net = req->net, .cycle = &o->cycle,
			.x = x == SWITCH_LATENCY ? NP_LOGGPS_L :
						     (enum np_loggps_param)x,
			.one_cpu = req->serial, .one_link = req->shared_links,
			.overlap = req->overlap,
			.placed = { req->topology, node, req->wire_ns,
				    req->switch_ns, x == SWITCH_LATENCY },
		},
	};
	if (req->topology)
		o->opt.net.L_ns = x == SWITCH_LATENCY ? req->switch_ns :
							req->wire_ns;
}

/* Reports the error rc of a computation. Returns -1 if there is none. */
static int report_error(const struct np_graph *g, int rc,
			const struct options *o, const struct np_err *err)
{
	if (rc == -EDEADLK)
		return report_deadlock(g, &o->cycle);
	return rc ? cli_fail("%s", err->text) : -1;
}

/* Makes the function T(x) of parameter x. */
static int contract(const struct np_graph *g, int x, const struct request *req,
		    const uint32_t *node, struct np_tolerance **t)
{
	struct np_err err = NP_ERR_INIT;
	struct options o;

	fill_options(&o, x, req, node);
	return report_error(g, np_tolerance_new(g, &o.opt, t, &err), &o, &err);
}

/* The next number of 1, 2, 5, 10, 20 ... */
static double round_up(double v)
{
	double ten = pow(10, floor(log10(v)));

	return v <= ten	    ? ten :
	       v <= 2 * ten ? 2 * ten :
	       v <= 5 * ten ? 5 * ten :
			      10 * ten;
}

/* Range of the sweep, from the base of the parameter. */
static double sweep_range(const struct program *t, const struct request *req)
{
	const struct parameter *of = &t->of[req->sweep];
	double limit = of->limit[req->n_shares - 1] - of->base;

	if (!isnan(req->up_to_ns))
		return req->up_to_ns;
	if (!(limit > 0) || !isfinite(limit))
		return req->sweep == NP_LOGGPS_G ? UNBOUNDED_NS_PER_BYTE :
						   UNBOUNDED_NS;
	return round_up(1.2 * limit);
}

/* Computes the points of the table, and on request all critical values. */
static int run_sweep(struct program *t, struct np_tolerance *f,
		     const struct request *req)
{
	double base = t->of[req->sweep].base, far = sweep_range(t, req);
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; i < SWEEP_POINTS; i++) {
		struct sweep_point *p = &t->point[i];

		p->added = far * (double)i / (SWEEP_POINTS - 1);
		np_tolerance_at(f, base + p->added, &p->run);
	}
	t->ns = t->point[0].run.ns;
	if (req->critical &&
	    np_tolerance_critical(f, base, base + far, &t->critical,
				  &t->n_critical, &err))
		return cli_fail("%s", err.text);
	return -1;
}

/*
 * Computes slope and thresholds of one parameter, and the sweep if it is
 * varied.
 */
static int analyse_parameter(struct program *t, const struct np_graph *g, int x,
			     const struct request *req)
{
	const double base[N_PARAMETERS] = {
		[NP_LOGGPS_L] = req->topology ? req->wire_ns : req->net.L_ns,
		[NP_LOGGPS_o] = req->net.o_ns,
		[NP_LOGGPS_G] = req->net.G_ns,
		[SWITCH_LATENCY] = req->switch_ns,
	};
	struct parameter *of = &t->of[x];
	struct np_tolerance *f;
	struct np_runtime r;
	int rc = contract(g, x, req, t->node, &f);

	if (rc >= 0)
		return rc;
	np_tolerance_at(f, base[x], &r);
	of->base = base[x];
	of->slope = r.right;
	for (size_t i = 0; i < req->n_shares; i++)
		of->limit[i] = np_tolerance_limit(f, base[x], req->share[i]);
	if (x == req->sweep)
		rc = run_sweep(t, f, req);
	np_tolerance_free(f);
	return rc;
}

/* Places ranks on nodes in order, per_node on each. */
static int place_in_order(struct program *t, const struct request *req)
{
	uint32_t n = t->ranks, room = np_topology_nodes(req->topology);

	if ((n - 1) / req->per_node >= room)
		return cli_fail("%s: %u ranks, %u on a node, are more than the "
				"%u node%s of %s",
				t->file, n, req->per_node, room,
				cli_plural_s(room), req->where);
	t->node = cli_calloc(n, sizeof(*t->node));
	for (uint32_t i = 0; i < n; i++)
		t->node[i] = i / req->per_node;
	return -1;
}

#define ONLY_FIRST ", if only the first of several switches counts: "

/*
 * There is no path between the trees of a topology. A switch of the file may be
 * above both nodes nevertheless, if it is not the first that lists one of them,
 * hence the warnings, which are not printed after an error.
 */
static int check_paths(const struct np_graph *g, const struct program *t,
		       const struct request *req)
{
	const char *leaves = req->read.several_leaves.text;
	const char *parents = req->read.several_parents.text;
	char from[256], to[256];

	for (uint32_t r = 0; r < t->ranks; r++)
		for (uint32_t i = 0; i < np_graph_rank_ops(g, r); i++) {
			struct np_graph_op op;
			uint32_t peer, at;

			np_graph_op(g, r, i, &op);
			if (op.kind != NP_OP_SEND)
				continue;
			np_graph_peer(g, r, i, &peer, &at);
			if (np_topology_hops(req->topology, t->node[r],
					     t->node[peer]) ==
			    NP_TOPOLOGY_APART)
				return cli_fail(
					"%s: rank %u sends to rank %u, but no "
					"switch of %s is above both of their "
					"nodes, %s and %s%s%s%s%s",
					t->file, r, peer, req->where,
					np_topology_conf_node(&req->read,
							      t->node[r], from,
							      sizeof(from)),
					np_topology_conf_node(&req->read,
							      t->node[peer], to,
							      sizeof(to)),
					*leaves || *parents ? ONLY_FIRST : "",
					leaves, *leaves && *parents ? "; " : "",
					parents);
		}
	return -1;
}

/* Replaces the placement of ranks by the best one found. */
static int search_placement(struct program *t, const struct np_graph *g,
			    const struct request *req)
{
	struct np_err err = NP_ERR_INIT;
	struct options o;

	fill_options(&o, NP_LOGGPS_L, req, t->node);
	return report_error(g,
			    np_place_ranks(g, &o.opt, t->node, req->per_node,
					   req->trials, &t->placed, &err),
			    &o, &err);
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

/*
 * Finds the pairs of ranks on the critical path, and the threshold of the most
 * important ones.
 */
static int find_pairs(struct program *t, const struct np_graph *g,
		      const struct request *req)
{
	struct np_err err = NP_ERR_INIT;
	struct options o;
	int rc;

	fill_options(&o, NP_LOGGPS_L, req, t->node);
	rc = report_error(
		g, np_tolerance_pairs(g, &o.opt, &t->pair, &t->n_pairs, &err),
		&o, &err);
	if (rc >= 0)
		return rc;
	t->pair_limit = cli_calloc(t->n_pairs, sizeof(*t->pair_limit));
	for (size_t i = 0; rc < 0 && i < t->n_pairs; i++) {
		t->pair_limit[i] = NAN;
		if (i < PAIRS_LIMITED)
			rc = limit_pair(g, &o, &t->pair[i], req->share[0],
					&t->pair_limit[i]);
	}
	return rc;
}

/* Simulates the run with several different positions in the detours. */
static int simulate_noise(struct program *t, const struct np_graph *g,
			  const struct request *req)
{
	struct np_detours d = req->detours;
	struct np_err err = NP_ERR_INIT;
	struct options o;
	int rc = 0;

	fill_options(&o, NP_LOGGPS_L, req, t->node);
	for (size_t i = 0; !rc && i < NOISE_SIMULATIONS; i++) {
		d.seed = i;
		rc = np_tolerance_simulate(g, &o.opt, &d, &t->noise_ns[i],
					   &err);
	}
	qsort(t->noise_ns, NOISE_SIMULATIONS, sizeof(*t->noise_ns),
	      np_order_double);
	return rc ? cli_fail("%s", err.text) : -1;
}

/* Returns -1 to continue, or the exit status. Free with free_program(). */
static int analyse_program(const char *file, const struct request *req,
			   struct program *out)
{
	int params = req->topology ? N_PARAMETERS : SWITCH_LATENCY;
	struct np_graph *g = NULL;
	int rc = cli_graph_read(file, &req->choices, &g);

	if (rc >= 0)
		return rc;
	*out = (struct program){
		.file = file,
		.ranks = np_graph_ranks(g),
		.ops = np_graph_ops(g),
		.messages = np_graph_messages(g),
	};
	if (req->topology)
		rc = place_in_order(out, req);
	if (rc < 0 && req->topology)
		rc = check_paths(g, out, req);
	if (rc < 0 && req->trials)
		rc = search_placement(out, g, req);
	for (int x = NP_LOGGPS_L; rc < 0 && x < params; x++)
		rc = analyse_parameter(out, g, x, req);
	if (rc < 0 && req->pairs)
		rc = find_pairs(out, g, req);
	if (rc < 0 && req->noise)
		rc = simulate_noise(out, g, req);
	np_graph_free(g);
	return rc;
}

static void free_program(struct program *t)
{
	free(t->critical);
	free(t->pair);
	free(t->pair_limit);
	free(t->node);
}

/*
 * How many thresholds are not exceeded when the swept parameter increases by
 * added: all of them up to the first, 0 beyond the last.
 */
static size_t thresholds_met(const struct program *t, const struct request *req,
			     double added)
{
	const struct parameter *of = &t->of[req->sweep];
	size_t n = 0;

	for (size_t i = 0; i < req->n_shares; i++)
		n += of->base + added <= of->limit[i];
	return n;
}

/* Name of the latency: "wire" with a topology, otherwise "latency". */
static const char *latency_name(const struct request *req)
{
	return req->topology ? "wire" : "latency";
}

/* Names of the parameters that --sweep can vary, and of what goes with them. */
static const struct {
	const char *option;		 /* argument of --sweep */
	const char *slope;		 /* what slopes count */
	const char *of;			 /* in JSON; NULL: latency_name() */
	const char *value, *added;	 /* in JSON */
	const char *title, *axis, *path; /* in figures */
} swept[] = {
	[NP_LOGGPS_L] = { "latency", "messages", NULL, "latency_ns", "added_ns",
			  "Tolerance of latency",
			  "Added network latency (\302\265s)",
			  "Messages on the critical path (\316\273)" },
	[NP_LOGGPS_o] = { "overhead", "overheads", "overhead", "overhead_ns",
			  "added_ns", "Tolerance of overhead",
			  "Added overhead (\302\265s)",
			  "Overheads on the critical path (\316\273)" },
	[NP_LOGGPS_G] = { "bandwidth", "bytes", "per_byte", "ns_per_byte",
			  "added_ns_per_byte", "Tolerance of bandwidth",
			  "Added time per byte (ns)",
			  "Bytes on the critical path (\316\273)" },
};

/* What slopes count; with a topology, each message has several wires. */
static const char *slope_unit(const struct request *req)
{
	return req->topology && req->sweep == NP_LOGGPS_L ?
		       "wires" :
		       swept[req->sweep].slope;
}

/* The share of the run time that a parameter causes. */
static double share_of_run(double x, const struct np_runtime *r)
{
	return r->ns > 0 ? x * r->right / r->ns : 0;
}

/* ---- Reports of netprof tolerance: text, JSON and tables ---- */

#define BAR 14
#define CRITICAL_MAX 20
#define PAIRS_SAID 10

static const char *time_of(double ns)
{
	return cli_setting_sec(1e-9 * ns);
}

/* "+840 ns", or "any" without a limit. */
static const char *added(double limit, double base)
{
	return isfinite(limit) ?
		       cli_text("+%s", cli_sec(1e-9 * (limit - base))) :
		       "any";
}

/* "10 GB/s" for a time per byte in ns. */
static const char *rate(double G)
{
	if (!(G > 0))
		return "no limit";
	if (!isfinite(G))
		return "none";
	return cli_rate(1e9 / G);
}

/*
 * Prints the size of the program and what latency contributes to its run time.
 */
static void print_program(const struct program *t, const struct request *req)
{
	const struct parameter *L = &t->of[NP_LOGGPS_L];

	cli_printf(CLI_PLAIN, 2,
		   "%s: %u rank%s, %zu operation%s, %zu message%s.", t->file,
		   t->ranks, cli_plural_s(t->ranks), t->ops,
		   cli_plural_s(t->ops), t->messages,
		   cli_plural_s(t->messages));
	if (t->ns <= 0) {
		cli_printf(CLI_PLAIN, 2, "Run time %s at %s of %s.",
			   cli_sec(1e-9 * t->ns),
			   req->topology ? "a wire's latency" : "a latency",
			   time_of(L->base));
		return;
	}
	cli_printf(CLI_PLAIN, 2,
		   "Run time %s at %s of %s; %.0f %s%s on the critical path "
		   "account%s for %s of it.",
		   cli_sec(1e-9 * t->ns),
		   req->topology ? "a wire's latency" : "a latency",
		   time_of(L->base), L->slope,
		   req->topology ? "wire" : "message",
		   cli_plural_s((size_t)L->slope),
		   (size_t)L->slope == 1 ? "s" : "",
		   cli_percent(L->base * L->slope / t->ns));
}

/* The exclusive resources. */
static void print_turns(const struct request *req)
{
	char line[256] = "";

	if (req->serial)
		snprintf(line, sizeof(line),
			 "one operation per processor at a time%s, sends of an "
			 "adapter %s apart%s",
			 req->overlap ? " while data arrives" : "",
			 time_of(req->net.g_ns), req->shared_links ? ", " : "");
	if (req->shared_links)
		cli_appendf(line, sizeof(line),
			    "one message per receiver at a time");
	cli_label("Contention", "%s", line);
}

/* Prints the network parameters, with or without a topology. */
static void print_network(const struct request *req)
{
	const struct np_loggps *net = &req->net;
	char way[256], copy[64] = "";

	if (req->topology)
		snprintf(way, sizeof(way),
			 "%.128s, %u rank%s a node, a wire %s, a switch %s",
			 req->where, req->per_node, cli_plural_s(req->per_node),
			 time_of(req->wire_ns), time_of(req->switch_ns));
	else
		snprintf(way, sizeof(way), "latency L %s", time_of(net->L_ns));
	if (net->O_ns > 0)
		snprintf(copy, sizeof(copy), " and %.3g ns per byte",
			 net->O_ns);
	cli_label("Network", "%s, overhead o %s%s, %s, %s%s", way,
		  time_of(net->o_ns), copy, rate(net->G_ns),
		  net->S == NP_LOGGPS_NO_RENDEZVOUS ? "no rendezvous" :
						      "rendezvous above ",
		  net->S == NP_LOGGPS_NO_RENDEZVOUS ? "" : cli_bytes(net->S));
	print_turns(req);
}

/* Prints a column of the table of thresholds. */
static void column(const char *text)
{
	cli_print_right(stdout, text, 14);
}

/* Prints the table of thresholds, with a column for each parameter. */
static void print_thresholds(const struct program *t, const struct request *req)
{
	const struct parameter *o = &t->of[NP_LOGGPS_o];
	const struct parameter *L = &t->of[NP_LOGGPS_L];
	const struct parameter *G = &t->of[NP_LOGGPS_G];
	const struct parameter *d = &t->of[SWITCH_LATENCY];
	char buf[CLI_NUMBER_LEN];

	cli_heading("%-11s%14s%s%14s%14s", "Tolerance", latency_name(req),
		    req->topology ? "        switch" : "", "overhead",
		    "bandwidth");
	for (size_t i = 0; i < req->n_shares; i++) {
		snprintf(buf, sizeof(buf), "%g %% longer", 100 * req->share[i]);
		cli_print_left(stdout, buf, 13);
		cli_print_right(stdout, added(L->limit[i], L->base), 12);
		if (req->topology)
			column(added(d->limit[i], d->base));
		column(added(o->limit[i], o->base));
		column(isfinite(G->limit[i]) ? rate(G->limit[i]) : "any");
		putchar('\n');
	}
	printf("%-11s%14.0f", "On the path", L->slope);
	if (req->topology)
		printf("%14.0f", d->slope);
	printf("%14.0f", o->slope);
	column(cli_bytes((uint64_t)G->slope));
	putchar('\n');
}

/* "1 %", "2 %", "5 %", or "more". */
static const char *threshold(const struct request *req, size_t n)
{
	return n ? cli_text("%g %%", 100 * req->share[req->n_shares - n]) :
		   "more";
}

/* Prints up to BAR columns, without trailing blanks. */
static void bar(double part, double most)
{
	double columns = most > 0 ? BAR * part / most : 0;

	if (columns < 0.01)
		return;
	fputs("  ", stdout);
	cli_print_bar(stdout, columns / ceil(columns), (int)ceil(columns));
}

/* The slope as messages on the critical path, or as bytes. */
static const char *slope_of(const struct request *req, double slope)
{
	return req->sweep == NP_LOGGPS_G ? cli_bytes((uint64_t)slope) :
					   cli_text("%.0f", slope);
}

/* Prints by how much a time is longer; a change of 0 is undefined. */
static void print_change(double ns, double base_ns)
{
	double percent = 100 * (ns / base_ns - 1);

	if (base_ns > 0)
		printf(percent < 99999 ? " %8.1f %%  " : " %8.3g %%  ",
		       percent);
	else
		printf(" %8s    ", "-");
}

/* Prints the table of the sweep, with a bar for the increase in run time. */
static void print_points(const struct program *t, const struct request *req)
{
	double base = t->of[req->sweep].base;
	double most = t->point[SWEEP_POINTS - 1].run.ns;

	cli_heading("%-11s%11s%11s  %-6s%10s%8s",
		    req->sweep == NP_LOGGPS_G ? "Bandwidth" : "Added",
		    "run time", "change", "within", slope_unit(req), "share");
	for (size_t i = 0; i < SWEEP_POINTS; i++) {
		const struct sweep_point *p = &t->point[i];
		double x = base + p->added;
		size_t n = thresholds_met(t, req, p->added);

		cli_print_left(stdout,
			       req->sweep == NP_LOGGPS_G ? rate(x) :
							   time_of(p->added),
			       11);
		cli_print_sec(1e-9 * p->run.ns, 11);
		print_change(p->run.ns, t->ns);
		printf("%s%-6s%s",
		       cli_colour(!n		     ? CLI_RED :
				  n == req->n_shares ? CLI_GREEN :
						       CLI_YELLOW),
		       threshold(req, n), cli_colour(CLI_PLAIN));
		cli_print_right(stdout, slope_of(req, p->run.right), 10);
		if (p->run.ns > 0)
			cli_print_number(cli_percent, share_of_run(x, &p->run),
					 8);
		else
			printf("%8s", "-");
		bar(p->run.ns - t->ns, most - t->ns);
		putchar('\n');
	}
}

/* Prints where the critical path changes, at most CRITICAL_MAX lines. */
static void print_critical(const struct program *t, const struct request *req)
{
	if (!req->critical)
		return;
	if (!t->n_critical) {
		printf("\nThe critical path does not change in this range.\n");
		return;
	}
	cli_heading("%-16s%12s", "Changes at", slope_unit(req));
	for (size_t i = 0; i < t->n_critical && i < CRITICAL_MAX; i++) {
		const struct np_critical *c = &t->critical[i];

		cli_print_left(stdout,
			       req->sweep == NP_LOGGPS_G ?
				       rate(c->x) :
				       added(c->x, t->of[req->sweep].base),
			       16);
		cli_print_right(stdout, slope_of(req, c->slope), 12);
		putchar('\n');
	}
	if (t->n_critical > CRITICAL_MAX)
		printf("%zu more (--parsable)\n", t->n_critical - CRITICAL_MAX);
}

/* Prints the pairs whose latency matters most. */
static void print_pairs(const struct program *t, const struct request *req)
{
	char buf[CLI_NUMBER_LEN], word[CLI_NUMBER_LEN];
	double all = 0;

	if (!req->pairs)
		return;
	if (!t->n_pairs) {
		printf("\nNo message is on the critical path.\n");
		return;
	}
	for (size_t i = 0; i < t->n_pairs; i++)
		all += (double)t->pair[i].messages;
	snprintf(word, sizeof(word), "%g %% longer", 100 * req->share[0]);
	cli_heading("%-16s%10s%8s%12s%14s", "From, to rank", "messages",
		    "share", "bytes", word);
	for (size_t i = 0; i < t->n_pairs && i < PAIRS_SAID; i++) {
		const struct np_pair *p = &t->pair[i];

		snprintf(buf, sizeof(buf), "%u, %u", p->from, p->to);
		printf("%-16s%10llu", buf, (unsigned long long)p->messages);
		cli_print_number(cli_percent, (double)p->messages / all, 8);
		cli_print_right(stdout, cli_bytes(p->bytes), 12);
		column(added(t->pair_limit[i], t->of[NP_LOGGPS_L].base));
		putchar('\n');
	}
	if (t->n_pairs > PAIRS_SAID)
		printf("%zu more (--parsable)\n", t->n_pairs - PAIRS_SAID);
}

static double noise_mean(const struct program *t)
{
	double sum = 0;

	for (size_t i = 0; i < NOISE_SIMULATIONS; i++)
		sum += t->noise_ns[i];
	return sum / NOISE_SIMULATIONS;
}

/* Prints the effect of detours, over all simulations. */
static void print_noise(const struct program *t, const struct request *req)
{
	const struct np_detours *d = &req->detours;

	cli_label(
		"Noise",
		"processors interrupted for %s of the time: run time %s (%s), "
		"mean of %d simulations, which took %s",
		cli_percent(d->away_ns / d->period_ns),
		cli_sec(1e-9 * noise_mean(t)),
		t->ns > 0 ? cli_change(noise_mean(t) / t->ns - 1) : "-",
		NOISE_SIMULATIONS,
		cli_sec_range(1e-9 * t->noise_ns[0],
			      1e-9 * t->noise_ns[NOISE_SIMULATIONS - 1]));
}

/* Prints the gain of the search for a placement. */
static void print_placed(const struct program *t)
{
	const struct np_place_result *p = &t->placed;

	if (!p->swaps) {
		cli_label("Placement",
			  "no improvement: tried %zu other%s, none is faster%s",
			  p->trials, cli_plural_s(p->trials),
			  p->converged ? ", and no single change improves it" :
					 "");
		return;
	}
	cli_label(
		"Placement",
		"run time %s instead of %s after %zu change%s; tried %zu, with "
		"%zu restart%s (--parsable lists the nodes)",
		cli_sec(1e-9 * p->after_ns), cli_sec(1e-9 * p->before_ns),
		p->swaps, cli_plural_s(p->swaps), p->trials, p->restarts,
		cli_plural_s(p->restarts));
}

static void print_text(const struct program *t, const struct request *req)
{
	print_program(t, req);
	print_network(req);
	if (req->trials)
		print_placed(t);
	if (req->noise)
		print_noise(t, req);
	print_thresholds(t, req);
	print_points(t, req);
	print_critical(t, req);
	print_pairs(t, req);
}

static void put_network(json_object *in, const struct request *req)
{
	const struct np_loggps *net = &req->net;
	json_object *j = cli_put_object(in, "network");

	if (req->topology) {
		cli_put_text(j, "topology", req->where);
		cli_put_count(j, "ranks_per_node", req->per_node);
		cli_put_computed(j, "wire_ns", req->wire_ns);
		cli_put_computed(j, "switch_ns", req->switch_ns);
	} else {
		cli_put_computed(j, "latency_ns", net->L_ns);
	}
	cli_put_computed(j, "overhead_ns", net->o_ns);
	cli_put_computed(j, "overhead_ns_per_byte", net->O_ns);
	cli_put_computed(j, "ns_per_byte", net->G_ns);
	if (net->S == NP_LOGGPS_NO_RENDEZVOUS)
		cli_put(j, "rendezvous_bytes", NULL);
	else
		cli_put_count(j, "rendezvous_bytes", net->S);
	cli_put_bool(j, "first_byte_free", net->first_byte_free);
	cli_put_bool(j, "serial", req->serial);
	cli_put_computed(j, "gap_ns", net->g_ns);
	cli_put_bool(j, "shared_links", req->shared_links);
	cli_put_bool(j, "overlap", req->overlap);
}

/* Adds one parameter with its thresholds to the JSON output. */
static void put_parameter(json_object *in, const char *name,
			  const struct program *t, const struct request *req,
			  int x)
{
	const struct parameter *of = &t->of[x];
	json_object *j = cli_put_object(in, name), *list;

	cli_put_text(j, "unit", x == NP_LOGGPS_G ? "ns/byte" : "ns");
	cli_put_computed(j, "base", of->base);
	cli_put_computed(j, "slope", of->slope);
	list = cli_put_array(j, "thresholds");
	for (size_t i = 0; i < req->n_shares; i++) {
		json_object *threshold = cli_append_object(list);

		cli_put_computed(threshold, "longer", req->share[i]);
		cli_put_computed(threshold, "limit", of->limit[i]);
		cli_put_computed(threshold, "run_time_ns",
				 t->ns * (1 + req->share[i]));
	}
}

static void put_points(json_object *in, const struct program *t,
		       const struct request *req)
{
	double base = t->of[req->sweep].base;
	json_object *list = cli_put_array(in, "points");

	for (size_t i = 0; i < SWEEP_POINTS; i++) {
		const struct sweep_point *p = &t->point[i];
		json_object *j = cli_append_object(list);

		cli_put_computed(j, swept[req->sweep].added, p->added);
		cli_put_computed(j, swept[req->sweep].value, base + p->added);
		cli_put_computed(j, "run_time_ns", p->run.ns);
		cli_put_computed(j, "slope_left", p->run.left);
		cli_put_computed(j, "slope_right", p->run.right);
		cli_put_computed(j, "ratio",
				 share_of_run(base + p->added, &p->run));
	}
}

static void put_pairs(json_object *in, const struct program *t)
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

static void put_noise(json_object *in, const struct program *t,
		      const struct request *req)
{
	const struct np_detours *d = &req->detours;
	json_object *j = cli_put_object(in, "noise");

	cli_put_computed(j, "away", d->away_ns / d->period_ns);
	cli_put_computed(j, "mean_ns", noise_mean(t));
	cli_put_computed(j, "min_ns", t->noise_ns[0]);
	cli_put_computed(j, "max_ns", t->noise_ns[NOISE_SIMULATIONS - 1]);
	cli_put_count(j, "simulations", NOISE_SIMULATIONS);
}

static void put_placement(json_object *in, const struct program *t)
{
	json_object *j = cli_put_object(in, "placement"), *list;

	cli_put_computed(j, "before_ns", t->placed.before_ns);
	cli_put_computed(j, "after_ns", t->placed.after_ns);
	cli_put_count(j, "trials", t->placed.trials);
	cli_put_count(j, "swaps", t->placed.swaps);
	cli_put_count(j, "restarts", t->placed.restarts);
	cli_put_bool(j, "ended", t->placed.converged);
	list = cli_put_array(j, "node_of_rank");
	for (uint32_t i = 0; i < t->ranks; i++)
		json_object_array_add(list, json_object_new_int64(t->node[i]));
}

/* Adds everything about one program to the JSON output. */
static void put_program(json_object *list, const struct program *t,
			const struct request *req)
{
	json_object *j = cli_append_object(list), *of;

	cli_put_text(j, "file", t->file);
	cli_put_count(j, "ranks", t->ranks);
	cli_put_count(j, "operations", t->ops);
	cli_put_count(j, "messages", t->messages);
	cli_put_computed(j, "run_time_ns", t->ns);
	of = cli_put_object(j, "parameters");
	put_parameter(of, latency_name(req), t, req, NP_LOGGPS_L);
	put_parameter(of, "overhead", t, req, NP_LOGGPS_o);
	put_parameter(of, "per_byte", t, req, NP_LOGGPS_G);
	if (req->topology)
		put_parameter(of, "switch", t, req, SWITCH_LATENCY);
	cli_put_text(j, "latency_of",
		     swept[req->sweep].of ? swept[req->sweep].of :
					    latency_name(req));
	put_points(j, t, req);
	if (req->trials)
		put_placement(j, t);
	if (req->pairs)
		put_pairs(j, t);
	if (req->noise)
		put_noise(j, t, req);
	if (!req->critical)
		return;
	list = cli_put_array(j, "critical");
	for (size_t i = 0; i < t->n_critical; i++) {
		of = cli_append_object(list);
		cli_put_computed(of, swept[req->sweep].value, t->critical[i].x);
		cli_put_computed(of, "slope", t->critical[i].slope);
	}
}

/* Prints all programs as JSON or as a table. */
static int print_data(const struct program *t, size_t n,
		      const struct request *req, enum cli_format format)
{
	/*
	 * netprof(1) describes the kinds; columns that a kind lacks are empty.
	 */
	char points[96], critical[96];
	const struct cli_table table = {
		"File|Kind|Of|Value|RunTimeNs|Slope",
		{
			{ "programs parameters",
			  "../file|=base|%|base|../run_time_ns|slope" },
			{ "programs parameters thresholds",
			  "../../file|=threshold|../%|limit|run_time_ns|" },
			{ "programs points", points },
			{ "programs critical", critical },
			{ "programs placement/node_of_rank",
			  "../file|=node|%|.||" },
			{ "programs pairs", "../file|=pair|from|to||messages" },
		},
	};
	json_object *j = json_object_new_object(), *list;

	snprintf(points, sizeof(points),
		 "../file|=point|../latency_of|%s|"
		 "run_time_ns|slope_right",
		 swept[req->sweep].value);
	snprintf(critical, sizeof(critical),
		 "../file|=critical|"
		 "../latency_of|%s||slope",
		 swept[req->sweep].value);
	put_network(j, req);
	list = cli_put_array(j, "programs");
	for (size_t i = 0; i < n; i++)
		put_program(list, &t[i], req);
	return cli_print_output(format, "tolerance", j, &table);
}

/*
 * netprof tolerance --plot: run time with its thresholds, slope, and share of
 * the network, over latency, overhead or time per byte. The curves are exact:
 * they change where the critical path does. With --pairs also messages between
 * ranks.
 */

/* changes of the critical path that can be distinguished */
#define PIECES_MAX 2000
#define CURVE 8 /* points in which the share curve is drawn for each piece */
/* rows of the matrix; with more ranks, several share a row */
#define RANKS_MAX 32

/* Microseconds, or ns per byte unchanged. */
static double unit(const struct request *req)
{
	return req->sweep == NP_LOGGPS_G ? 1 : 1e-3;
}

/* Adds the region up to threshold i, from the one before, or from 0. */
static void add_threshold(struct np_figure *f, struct np_panel *p,
			  const struct program *t, const struct request *req,
			  size_t i)
{
	static const unsigned style[] = { 2, 5, 3, 4, 6, 1 };
	const struct parameter *of = &t->of[req->sweep];
	double from = i ? of->limit[i - 1] - of->base : 0;
	double to = of->limit[i] - of->base;
	const char *up_to = req->sweep == NP_LOGGPS_G ?
				    cli_text("%.3g ns", to) :
				    cli_sec(1e-9 * to);
	char legend[80];

	snprintf(legend, sizeof(legend),
		 isfinite(to) ? "to %g %%: +%s" : "to %g %%: any",
		 100 * req->share[i], up_to);
	np_figure_add_datum(
		f,
		np_figure_add_shape(f, p, NP_SHAPE_REGION,
				    style[i % NP_ARRAY_SIZE(style)], legend),
		NAN, NAN, unit(req) * from,
		unit(req) * fmin(to, t->point[SWEEP_POINTS - 1].added));
}

/* Adds a panel whose horizontal axis is the varied parameter. */
static struct np_panel *add_panel(struct np_figure *f, const char *title,
				  const char *y, const struct program *t,
				  const struct request *req)
{
	struct np_panel *p = cli_figure_add_panel(
		f, title, NP_AXIS_LINEAR,
		req->topology && req->sweep == NP_LOGGPS_L ?
			"Added wire latency (\302\265s)" :
			swept[req->sweep].axis,
		NP_AXIS_LINEAR, y);

	p->x.lo = 0;
	p->x.hi = unit(req) * t->point[SWEEP_POINTS - 1].added;
	return p;
}

/* A linear piece of T that begins at x with the value ns. */
struct piece {
	double x, ns, slope;
};

/* Piece i; the last one is the end of the range. */
static struct piece make_piece(const struct program *t, double base, size_t i,
			       struct piece before)
{
	const struct sweep_point *end = &t->point[SWEEP_POINTS - 1];
	struct piece p = { 0, t->ns, t->point[0].run.right };

	if (!i)
		return p;
	p.x = i <= t->n_critical ? t->critical[i - 1].x - base : end->added;
	p.slope = i <= t->n_critical ? t->critical[i - 1].slope :
				       end->run.right;
	p.ns = before.ns + before.slope * (p.x - before.x);
	return p;
}

static double ratio(double x, const struct piece *p, double base)
{
	double ns = p->ns + p->slope * (x - p->x);

	return ns > 0 ? 100 * p->slope * (base + x) / ns : 0;
}

/*
 * Adds the panels of one program: run time, slope and share of the parameter.
 */
static void add_curves(struct np_figure *f, const struct program *t,
		       const struct request *req)
{
	double base = t->of[req->sweep].base, u = unit(req);
	struct np_panel *run =
		add_panel(f, t->file, "Run time (% longer)", t, req);
	struct np_panel *path =
		add_panel(f, t->file, swept[req->sweep].path, t, req);
	struct np_panel *share = add_panel(
		f, t->file, "Share of the run time (\317\201, %)", t, req);
	size_t n = t->n_critical + 2, step = 1 + n / PIECES_MAX;
	struct np_shape *line, *steps, *curve;
	struct piece p = { 0, 0, 0 };

	for (size_t i = 0; i < req->n_shares; i++)
		add_threshold(f, run, t, req, i);
	line = np_figure_add_shape(f, run, NP_SHAPE_LINE, 0, NULL);
	steps = np_figure_add_shape(f, path, NP_SHAPE_STEP, 0, NULL);
	curve = np_figure_add_shape(f, share, NP_SHAPE_LINE, 0, NULL);
	path->y.lo = share->y.lo = 0;
	for (size_t i = 0; i < n; i++) {
		struct piece next = make_piece(t, base, i, p);
		bool last = i + 1 == n;

		for (int k = 0; i && step == 1 && k <= CURVE; k++) {
			double x = p.x + (next.x - p.x) * k / CURVE;

			np_figure_add_datum(f, curve, u * x, ratio(x, &p, base),
					    NAN, NAN);
		}
		p = next;
		if (i % step && !last)
			continue;
		np_figure_add_datum(f, line, u * p.x,
				    t->ns > 0 ? 100 * (p.ns / t->ns - 1) : NAN,
				    NAN, NAN);
		np_figure_add_datum(f, steps, u * p.x, p.slope, NAN, NAN);
		if (step > 1)
			np_figure_add_datum(f, curve, u * p.x,
					    ratio(p.x, &p, base), NAN, NAN);
	}
}

/* With more than RANKS_MAX ranks, neighbouring ranks share a row. */
static void add_matrix(struct np_figure *f, const struct program *t)
{
	uint32_t each = (t->ranks + RANKS_MAX - 1) / RANKS_MAX;
	uint32_t rows = (t->ranks + each - 1) / each;
	double sum[RANKS_MAX][RANKS_MAX] = { { 0 } }, most = 0;
	struct np_panel *p = cli_figure_add_panel(
		f, "Messages on the critical path between ranks", NP_AXIS_NAMES,
		"To rank", NP_AXIS_NAMES, "From rank");
	struct np_shape *s;

	for (uint32_t i = 0; i < rows; i++) {
		uint32_t to = (i + 1) * each < t->ranks ? (i + 1) * each :
							  t->ranks;
		char name[32];

		snprintf(name, sizeof(name), each == 1 ? "%u" : "%u-%u",
			 i * each, to - 1);
		np_figure_add_name(f, &p->x, name);
		np_figure_add_name(f, &p->y, name);
	}
	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct np_pair *of = &t->pair[i];
		double *at = &sum[of->from / each][of->to / each];

		*at += (double)of->messages;
		most = fmax(most, *at);
	}
	s = np_figure_add_shape(f, p, NP_SHAPE_CELLS, 0, NULL);
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < rows; j++) {
			char text[32] = "";

			if (sum[i][j] > 0)
				snprintf(text, sizeof(text), "%.0f", sum[i][j]);
			np_figure_add_cell(f, s, j, i,
					   most > 0 ? sum[i][j] / most : 0,
					   text);
		}
}

/* "L = 3 us", or the latencies of a topology. */
static const char *describe_latency(const struct request *req)
{
	return req->topology ? cli_text("a wire of %s, a switch of %s",
					time_of(req->wire_ns),
					time_of(req->switch_ns)) :
			       cli_text("L = %s", time_of(req->net.L_ns));
}

/* Draws all programs into one figure and saves it. */
static int draw_figure(const struct program *t, size_t n,
		       const struct request *req, const char *path)
{
	struct np_figure *f = cli_figure_new(swept[req->sweep].title);
	char thresholds[128] = "";
	size_t ops = 0;

	for (size_t i = 0; i < n; i++) {
		add_curves(f, &t[i], req);
		if (req->pairs)
			add_matrix(f, &t[i]);
		ops += t[i].ops;
	}
	for (size_t i = 0; i < req->n_shares; i++)
		cli_appendf(thresholds, sizeof(thresholds), "%s%g",
			    !i			  ? "" :
			    i + 1 < req->n_shares ? ", " :
						    " and ",
			    100 * req->share[i]);
	np_figure_set_caption(
		f,
		"From execution graphs of n = %zu operation%s, LogGPS "
		"with %s, o = %s, G = %.4g ns per byte. Shaded: where "
		"the run takes at most %s %% longer.",
		ops, cli_plural_s(ops), describe_latency(req),
		time_of(req->net.o_ns), req->net.G_ns, thresholds);
	return cli_figure_save_and_free(f, path);
}

/* ---- The command ---- */

#define PER_NODE_MAX 65536
#define TRIALS_MAX 1000000000
#define MAX_SHARE 100  /* 100 times longer */
#define MAX_NOISE 1000 /* length of detours over their distance */
#define WIRE_NS 274
#define SWITCH_NS 108

/* Parses --rendezvous: a number of bytes, or "never". */
static int take_rendezvous(char *text, void *own, struct np_err *err)
{
	struct request *a = own;

	if (!strcmp(text, "never"))
		a->net.S = NP_LOGGPS_NO_RENDEZVOUS;
	else if (np_bytes_parse(text, &a->net.S))
		return np_errf(err, -EINVAL,
			       "--rendezvous: got %.64s, expected bytes, such "
			       "as 64K, or never",
			       text);
	return 0;
}

/* Parses percentages such as "0.5,3,10", in ascending order. */
static int take_thresholds(char *text, void *own, struct np_err *err)
{
	struct request *a = own;
	const char *p = text;

	a->n_shares = 0;
	do {
		double before = a->n_shares ? a->share[a->n_shares - 1] : 0, v;

		p = np_decimal_parse(p, &v);
		if (!p || (*p && *p != ',') || !(v / 100 > before) ||
		    v / 100 > MAX_SHARE || a->n_shares == MAX_THRESHOLDS)
			return np_errf(err, -EINVAL,
				       "--threshold: got %.64s, expected up to "
				       "%d percentages above 0, in order, such "
				       "as 0.5,3,10",
				       text, MAX_THRESHOLDS);
		a->share[a->n_shares++] = v / 100;
	} while (*p++);
	return 0;
}

/* Parses --sweep: the name of a parameter. */
static int take_sweep(char *text, void *own, struct np_err *err)
{
	struct request *a = own;

	for (size_t i = 0; i < NP_ARRAY_SIZE(swept); i++)
		if (!strcmp(text, swept[i].option)) {
			a->sweep = (int)i;
			return 0;
		}
	return np_errf(
		err, -EINVAL,
		"--sweep: got %.64s, expected latency, overhead or bandwidth",
		text);
}

/* Parses "1ms:10us". Returns 0 or -EINVAL. */
static int parse_noise(const char *text, double sec[2])
{
	size_t len = strcspn(text, ":");
	char first[32];

	if (!text[len] || len >= sizeof(first))
		return -EINVAL;
	memcpy(first, text, len);
	first[len] = '\0';
	return np_duration_parse(first, &sec[0]) ||
			       np_duration_parse(text + len + 1, &sec[1]) ?
		     -EINVAL :
		     0;
}

/* Parses --noise: a distribution, or the name of a file. */
static int take_noise(char *text, void *own, struct np_err *err)
{
	struct request *req = own;
	double *sec = req->noise_sec;

	req->noise = text;
	if (!parse_noise(text, sec)) {
		if (sec[0] > 0 && sec[1] > 0 && sec[1] <= MAX_NOISE * sec[0])
			return 0;
	} else {
		sec[0] = sec[1] = 0;
		if (*text && (strpbrk(text, "/") || !strchr(text, ':') ||
			      !access(text, F_OK)))
			return 0;
	}
	return np_errf(
		err, -EINVAL,
		"--noise: got \"%.64s\", expected two times above 0, such as "
		"1ms:20us, the second at most %d times the first, or a file",
		text, MAX_NOISE);
}

/* Makes the distribution, or reads the file. */
static int read_noise(struct request *req)
{
	struct np_err err = NP_ERR_INIT;
	FILE *f;
	int fd, rc;

	if (!req->noise)
		return -1;
	if (req->noise_sec[0] > 0) {
		cli_check_memory(np_detours_random(1e9 * req->noise_sec[0],
						   1e9 * req->noise_sec[1], 0,
						   &req->detours));
		return -1;
	}
	fd = np_read_stream(req->noise, &err);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return cli_fail("%s", fd < 0 ? err.text : "out of memory");
	rc = np_detours_read(f, req->noise, &req->detours, &err);
	fclose(f);
	return rc ? cli_fail("%s", err.text) : -1;
}

/* Whether --topology is a specification: anything else is a file name. */
static bool is_specification(const char *text)
{
	return strchr(text, ':') && !strchr(text, '/');
}

/* Parses --topology, unless it is the name of a file. */
static int take_topology(char *text, void *own, struct np_err *err)
{
	struct request *req = own;

	if (!*text)
		return np_errf(err, -EINVAL,
			       "--topology=: expected a topology, such as "
			       "fat-tree:16, or a file");
	req->where = text;
	np_topology_conf_free(&req->read);
	return is_specification(text) ?
		       np_topology_parse(text, &req->read.topology, err) :
		       0;
}

/* Reads the file of --topology, if it is one. */
static int read_topology(struct request *req)
{
	struct np_err err = NP_ERR_INIT;

	if (req->where && !req->read.topology &&
	    np_topology_conf_read(req->where, cli_warn_of_input, NULL,
				  &req->read, &err))
		return cli_fail("%s", err.text);
	req->topology = req->read.topology;
	return -1;
}

#define AT(member) offsetof(struct request, member)
#define NS(member) NP_OPTION_NS, AT(member), .max = NP_LOGGPS_MAX

static const struct np_option options[] = {
	{ "latency", NS(latency_ns), .letter = 'L' },
	{ "overhead", NS(net.o_ns), .letter = 'o' },
	{ "overhead-per-byte", NS(copy_ns), .letter = 'O' },
	{ "per-byte", NS(net.G_ns), .letter = 'G' },
	{ "rendezvous", NP_OPTION_TAKE, .take = take_rendezvous,
	  .letter = 'S' },
	{ "serial", NP_OPTION_FLAG, AT(serial) },
	{ "gap", NS(gap_ns), .letter = 'g' },
	{ "shared-links", NP_OPTION_FLAG, AT(shared_links) },
	{ "overlap", NP_OPTION_FLAG, AT(overlap) },
	{ "noise", NP_OPTION_TAKE, .take = take_noise },
	{ "topology", NP_OPTION_TAKE, .take = take_topology },
	{ "wire", NS(wire_ns) },
	{ "switch", NS(switch_ns) },
	{ "ranks-per-node", NP_OPTION_COUNT, AT(per_node), 1, PER_NODE_MAX },
	{ "place", NP_OPTION_COUNT, AT(trials), 1, TRIALS_MAX },
	{ "threshold", NP_OPTION_TAKE, .take = take_thresholds },
	{ "sweep", NP_OPTION_TAKE, .take = take_sweep },
	{ "up-to", NS(up_to_ns) },
	{ "first-byte-free", NP_OPTION_FLAG, AT(net.first_byte_free) },
	{ "critical", NP_OPTION_FLAG, AT(critical) },
	{ "pairs", NP_OPTION_FLAG, AT(pairs) },
	{ "collective", NP_OPTION_TAKE, AT(choices), .take = np_choices_add },
	{ NULL },
};

/* Rejects options that would have no effect. */
static int check_together(const struct cli_cmd *cmd, const struct request *req,
			  const struct cli_options *o)
{
	const struct {
		const char *option;
		bool given;
	} of_topology[] = {
		{ "--wire", !isnan(req->wire_ns) },
		{ "--switch", !isnan(req->switch_ns) },
		{ "--ranks-per-node", req->per_node != 0 },
		{ "--place", req->trials != 0 },
	};

	for (size_t i = 0; !req->where && i < NP_ARRAY_SIZE(of_topology); i++)
		if (of_topology[i].given)
			return cli_usage(cmd,
					 "%s has no effect without --topology",
					 of_topology[i].option);
	if (req->where && !isnan(req->latency_ns))
		return cli_usage(cmd,
				 "--latency has no effect with --topology; "
				 "expected --wire and --switch");
	if (req->copy_ns > req->net.G_ns)
		return cli_usage(cmd, "--overhead-per-byte is more than "
				      "--per-byte, of which it is a part");
	if (req->up_to_ns == 0)
		return cli_usage(cmd,
				 "--up-to: got 0, expected a time above 0");
	if (req->critical && o->plot)
		return cli_usage(cmd, "--critical has no effect with --plot");
	if (req->noise && (o->plot || o->format == CLI_PARSABLE))
		return cli_usage(cmd, "--noise has no effect with %s",
				 o->plot ? "--plot" : "--parsable");
	return -1;
}

/*
 * Parses the command line and applies the rules by which options imply others.
 */
static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct request *req, struct cli_options *o)
{
	int rc = cli_options_parse(self, argc, argv, req, o);

	if (rc < 0)
		rc = check_together(self, req, o);
	if (rc >= 0)
		return rc;
	if (!isnan(req->gap_ns))
		req->net.g_ns = req->gap_ns;
	req->serial |= !isnan(req->gap_ns) || req->overlap || req->noise;
	req->critical |= o->plot != NULL;
	if (!isnan(req->latency_ns))
		req->net.L_ns = req->latency_ns;
	req->net.O_ns = fmin(isnan(req->copy_ns) ? req->net.O_ns : req->copy_ns,
			     req->net.G_ns);
	if (isnan(req->wire_ns))
		req->wire_ns = WIRE_NS;
	if (isnan(req->switch_ns))
		req->switch_ns = SWITCH_NS;
	if (!req->per_node)
		req->per_node = 1;
	return rc;
}

static int print(const struct program *t, size_t n, const struct request *req,
		 const struct cli_options *o)
{
	if (o->plot)
		return draw_figure(t, n, req, o->plot);
	if (o->format)
		return print_data(t, n, req, o->format);
	for (size_t i = 0; i < n; i++) {
		if (i)
			putchar('\n');
		print_text(&t[i], req);
	}
	return CLI_DONE;
}

/*
 * ---- what netprof needs of a trace ----
 *
 * A record of tolerance thresholds and run times over latency, which is stored
 * with the trace. The core reads it as data, so that it links no graphs.
 */

enum { THRESHOLDS = 1, TIMES = 2 };

/* Results, and what the record borrows. */
struct curve {
	struct np_trace_analysis t;
	struct np_trace_threshold threshold[NP_TRACE_THRESHOLDS];
	struct np_response response;
};

/* Computes the default thresholds and puts them into the record. */
static int find_thresholds(const struct np_graph *g, struct curve *c,
			   struct np_err *err)
{
	const struct np_tolerance_opt opt = { .net = c->t.net,
					      .x = NP_LOGGPS_L };
	double base = c->t.net.L_ns;
	struct np_tolerance *t;
	int rc = np_tolerance_new(g, &opt, &t, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < NP_TRACE_THRESHOLDS; i++) {
		double share = default_shares[i];
		double ns = np_tolerance_limit(t, base, share) - base;

		c->threshold[i].longer = share;
		c->threshold[i].added_sec = isfinite(ns) ? 1e-9 * ns : NAN;
	}
	np_tolerance_free(t);
	c->t.threshold = c->threshold;
	c->t.n_thresholds = NP_TRACE_THRESHOLDS;
	return 0;
}

/*
 * Fills c with what the bits in `what` ask for. err remains part of the record
 * as the reason why something is missing.
 */
static int analyse(const char *path, const struct np_loggps *net, int what,
		   struct curve *c, struct np_err *err)
{
	struct np_graph *g;
	int rc;

	*c = (struct curve){ .t = {
				     .date = (double)time(NULL),
				     .netprof_version = NP_VERSION,
				     .why = err->text,
				     .trace_bytes = np_trace_bytes(path),
				     .net = *net,
			     } };
	rc = cli_graph_load(path, NULL, &g, err);
	if (rc)
		return rc;
	if (what & THRESHOLDS)
		rc = find_thresholds(g, c, err);
	if (!rc && what & TIMES)
		rc = np_response_make(g, net, &c->response, err);
	if (!rc && what & TIMES) {
		c->t.times = c->response.times[0];
		c->t.n_times = sizeof(c->response.times) / sizeof(double);
	}
	np_graph_free(g);
	return rc;
}

/*
 * Stores the complete record next to a trace in the user's own store. Failures
 * are ignored; netprof computes the record again when it needs it.
 */
static void store_record(const char *path, const struct np_loggps *net)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace_analysis was;
	struct curve c;

	if (!np_trace_analysis_load(path, geteuid(), &was)) {
		bool fits =
			was.n_times && was.n_thresholds &&
			np_trace_analysis_fits(&was, np_trace_bytes(path), net);

		np_trace_analysis_free(&was);
		if (fits)
			return;
	}
	if (np_trace_is_own(path) &&
	    !analyse(path, net, THRESHOLDS | TIMES, &c, &err))
		np_trace_analysis_save(path, &c.t);
}

/* Stores records for netprof, computed with the network as measured. */
static void store_records(const struct cli_options *o,
			  const struct np_loggps *net)
{
	for (size_t i = 0; i < o->n_apps; i++) {
		char *path;

		if (cli_trace_path(o->apps[i], &path) >= 0)
			continue;
		store_record(path, net);
		free(path);
	}
}

static int run_tolerance(const struct cli_cmd *self, int argc, char **argv)
{
	struct request req = {
		.net = DEFAULT_NETWORK,
		.up_to_ns = NAN,
		.latency_ns = NAN,
		.gap_ns = NAN,
		.copy_ns = NAN,
		.wire_ns = NAN,
		.switch_ns = NAN,
	};
	struct np_err note = NP_ERR_INIT;
	struct np_loggps measured;
	struct program *t = NULL;
	struct cli_options o;
	size_t n = 0;
	int rc;

	req.n_shares = NP_TRACE_THRESHOLDS;
	memcpy(req.share, default_shares, sizeof(default_shares));
	cli_loggps_net(&req.net, &note);
	measured = req.net;
	rc = parse(self, argc, argv, &req, &o);
	if (rc < 0) {
		t = cli_calloc(o.n_apps, sizeof(*t));
		rc = read_topology(&req);
	}
	if (rc < 0)
		rc = read_noise(&req);
	while (rc < 0 && n < o.n_apps) {
		rc = analyse_program(o.apps[n], &req, &t[n]);
		n++;
	}
	if (rc < 0 && *note.text)
		cli_warn_of_input(note.text, NULL);
	if (rc < 0)
		rc = print(t, n, &req, &o);
	if (rc == CLI_DONE && t)
		store_records(&o, &measured);
	for (size_t i = 0; i < n; i++)
		free_program(&t[i]);
	free(t);
	np_topology_conf_free(&req.read);
	np_detours_free(&req.detours);
	return rc;
}

const struct cli_cmd cmd_tolerance = {
	.name = "tolerance",
	.args = "[--json|--parsable] [OPTION]... APP|FILE...",
	.help = "how much latency a program tolerates, from its execution graph",
	.text = "Finds how much longer a program runs as the latency, the overhead and the\n"
		"bandwidth of the network change, and how far each may change until the run takes\n"
		"1, 2 and 5 % longer. FILE is an execution graph (GOAL, text or binary) or a\n"
		"trace (netprof help trace); APP means the newest trace of that application.\n\n"
		"Network parameters default to those measured by netprof loggps, or else to\n"
		"the values in brackets:\n\n"
		"  -L, --latency=TIME     latency of a message (3us); not with --topology\n"
		"  -o, --overhead=TIME    processor time per message on either side (0ns)\n"
		"  -O, --overhead-per-byte=TIME  also for each byte of a message that does not\n"
		"                         wait for its receiver (0ns)\n"
		"  -G, --per-byte=TIME    time per byte (0.1ns, which is 10 GB/s)\n"
		"  -S, --rendezvous=BYTES larger messages wait for their receiver (never)\n"
		"  --first-byte-free      a message of n bytes takes the time of n - 1\n"
		"  --serial               a processor executes one operation at a time\n"
		"  -g, --gap=TIME         as --serial, with this time between sends\n"
		"  --shared-links         messages to one rank arrive one after the other\n"
		"  --overlap              as --serial, but receiving a message takes only the\n"
		"                         overhead of processor time, not that of its bytes\n"
		"  --noise=FILE           as --serial, with interruptions: lines with\n"
		"                         a start and a length in ns; or MEAN:LENGTH, such as\n"
		"                         1ms:20us\n"
		"  --topology=T           latency of wires and switches: fat-tree:K,\n"
		"                         dragonfly:GxAxP, torus:XxYx... or a topology.conf\n"
		"  --wire=TIME, --switch=TIME\n"
		"                         latency of each, with --topology (274ns, 108ns)\n"
		"  --ranks-per-node=N     ranks on a node, in order, with --topology (1)\n"
		"  --place=N              search for a better placement of the ranks in N\n"
		"                         trials, with --topology\n"
		"  --threshold=PERCENT[,PERCENT]...  other thresholds than 1,2,5\n"
		"  --sweep=PARAMETER      parameter to vary: latency, overhead, bandwidth\n"
		"  --up-to=TIME           how much to add to it (bandwidth: per byte)\n"
		"  --critical             also show where the critical path changes\n"
		"  --pairs                also show between which ranks its messages are sent\n"
		"  --collective=NAME[:BYTES]=ALGORITHM  for a trace, see netprof help trace\n"
		"  --plot=FILE            draw a figure instead: .svg, .png or .pdf\n"
		"  --json, --parsable     output for programs",
	.examples = "  netprof tolerance lammps\n"
		    "  netprof tolerance --topology=fat-tree:16 lammps\n"
		    "  netprof tolerance -L 200ns -G 5ns graph.goal\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_PLOT,
	.own = options,
	.required_arg = "an application, a trace or a graph in GOAL",
	.max_args = CLI_ANY,
	.run = run_tolerance,
};

/*
 * ---- netprof-analysis curve: the same record on demand ----
 *
 * Not for users; netprof runs it (cli_analysis.h).
 */

/* Parses "L,o,G,S,first,g,O", as written by cli_analysis.c. */
static int parse_net(const char *text, struct np_loggps *net)
{
	unsigned long long S;
	int first;

	if (sscanf(text, "%lf,%lf,%lf,%llu,%d,%lf,%lf", &net->L_ns, &net->o_ns,
		   &net->G_ns, &S, &first, &net->g_ns, &net->O_ns) != 7)
		return -1;
	net->S = S;
	net->first_byte_free = first;
	return 0;
}

/* Prints the record even if the analysis fails: it then contains the reason. */
static int run_curve(const struct cli_cmd *self, int argc, char **argv)
{
	struct np_err why = NP_ERR_INIT, err = NP_ERR_INIT;
	struct np_loggps net;
	struct curve c;
	char *text;

	if (argc != 4 || parse_net(argv[2], &net))
		return cli_usage(
			self,
			"expected thresholds or times, a network and a trace");
	analyse(argv[3], &net,
		strcmp(argv[1], "thresholds") ? TIMES : THRESHOLDS, &c, &why);
	if (np_trace_analysis_put(&c.t, &text, &err))
		return cli_fail("%s", err.text);
	fputs(text, stdout);
	free(text);
	return CLI_DONE;
}

const struct cli_cmd cmd_curve = {
	.name = "curve",
	.args = "thresholds|times L,o,G,S,FIRST,g,O TRACE",
	.help = "what netprof asks of a trace",
	.text = "Prints a record for netprof.",
	.run = run_curve,
};

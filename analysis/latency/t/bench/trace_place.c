/*
 * Placement of a traced program on a fat tree of 128 nodes, a rank on each:
 *
 *	trace_place TRACE SHRINK...
 *
 * For each SHRINK prints the run time in ms of the ranks in their order, scattered
 * over all nodes, of a greedy placement and of the search, all by the same
 * model, where computation takes a SHRINK-th of its traced time; 0: none. t/validate.d/ranks.sh prints
 * these for several programs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "np_graph_impl.h"
#include "np_place_ranks.h"
#include "np_trace.h"
#include "some_exchange.h"

#define TOPOLOGY "fat-tree:8"
#define TRIALS 100
#define SCATTER 37 /* nodes between two consecutive ranks */
#define WIRE_NS 300
#define SWITCH_NS 100
#define o_NS 100
#define G_NS 0.04

struct place {
	struct np_graph *g;
	struct np_topology *t;
	uint32_t n, n_nodes;
	uint64_t *bytes;   /* n x n: sent between two ranks, both ways */
	uint32_t *node;	   /* by rank */
	uint64_t *calc_ns; /* by node of the graph, as traced */
};

static void add_bytes(struct place *p)
{
	for (uint32_t r = 0; r < p->n; r++)
		for (uint32_t i = 0; i < np_graph_rank_ops(p->g, r); i++) {
			struct np_graph_op op;

			np_graph_op(p->g, r, i, &op);
			if (op.kind != NP_OP_SEND || op.peer == r)
				continue;
			p->bytes[r * p->n + op.peer] += op.size;
			p->bytes[op.peer * p->n + r] += op.size;
		}
}

/* Divides all computation by a number of at least 1; 0: removes it. */
static void shrink(struct place *p, double by)
{
	for (size_t i = 0; i < p->g->n_nodes; i++) {
		struct np_graph_node *n = &p->g->node[i];
		uint64_t ns = by > 0 ? (uint64_t)((double)p->calc_ns[i] / by) :
				       0;

		if (n->kind == NP_OP_CALC && n->big)
			p->g->big[n->size] = ns;
		else if (n->kind == NP_OP_CALC)
			n->size = (uint32_t)ns;
	}
}

static int compare(struct place *p, double by, struct np_err *err)
{
	struct np_tolerance_opt opt = {
		.net = { .o_ns = o_NS,
			 .G_ns = G_NS,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
		.placed = { p->t, p->node, WIRE_NS, SWITCH_NS, false },
	};
	struct np_place_result found = { .before_ns = 0 };
	double greedy_ns, scattered_ns;
	int rc;

	shrink(p, by);
	some_greedy(p->bytes, p->n, p->t, p->node);
	rc = np_tolerance_simulate(p->g, &opt, NULL, &greedy_ns, err);
	for (uint32_t r = 0; r < p->n; r++)
		p->node[r] = (SCATTER * r + 5) % p->n_nodes;
	if (!rc)
		rc = np_tolerance_simulate(p->g, &opt, NULL, &scattered_ns,
					   err);
	for (uint32_t r = 0; r < p->n; r++)
		p->node[r] = r;
	if (!rc)
		rc = np_place_ranks(p->g, &opt, p->node, 1, TRIALS, &found,
				    err);
	if (!rc)
		printf(by > 0 ? "  computation / %-4g" : "  no computation    ",
		       by);
	if (!rc)
		printf(" %10.3f %10.3f %10.3f %10.3f %7.2f %% %6zu\n",
		       1e-6 * found.before_ns, 1e-6 * scattered_ns,
		       1e-6 * greedy_ns, 1e-6 * found.after_ns,
		       100 * (1 - found.after_ns / found.before_ns),
		       found.trials);
	return rc;
}

static int prepare(struct place *p, const char *trace, struct np_err *err)
{
	const struct np_trace_options options = { NULL };
	struct np_trace_files f;
	int rc = np_trace_files_find(trace, &f, err);

	if (!rc) {
		rc = np_trace_graph(&f, &options, &p->g, err);
		np_trace_files_free(&f);
	}
	if (!rc)
		rc = np_topology_parse(TOPOLOGY, &p->t, err);
	if (rc)
		return rc;
	p->n = np_graph_ranks(p->g);
	p->n_nodes = np_topology_nodes(p->t);
	p->bytes = calloc((size_t)p->n * p->n, sizeof(*p->bytes));
	p->node = calloc(p->n, sizeof(*p->node));
	p->calc_ns = calloc(p->g->n_nodes, sizeof(*p->calc_ns));
	if (!p->bytes || !p->node || !p->calc_ns || p->n > p->n_nodes)
		return np_errf(err, -1, "%u ranks, expected at most %u", p->n,
			       p->n_nodes);
	for (uint32_t i = 0; i < p->g->n_nodes; i++)
		p->calc_ns[i] = np_graph_size(p->g, i);
	add_bytes(p);
	return 0;
}

int main(int argc, char **argv)
{
	struct place p = { .g = NULL };
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (argc < 3) {
		fprintf(stderr, "usage: trace_place TRACE SHRINK...\n");
		return 2;
	}
	rc = prepare(&p, argv[1], &err);
	if (!rc)
		printf("%s: %u ranks, %zu operations, %zu messages\n%20s %10s "
		       "%10s %10s %10s %9s %6s\n",
		       argv[1], p.n, np_graph_ops(p.g), np_graph_messages(p.g),
		       "", "in order", "scattered", "greedy", "searched",
		       "gain", "trials");
	for (int i = 2; !rc && i < argc; i++)
		rc = compare(&p, atof(argv[i]), &err);
	if (rc)
		fprintf(stderr, "trace_place: %s\n", err.text);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * Descents with random restarts, over placements of ranks on nodes. Each trial
 * is one simulation of the program; distances are np_topology_hops().
 */
#include "np_place_ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_rng.h"

#define NODES_MAX 4096	 /* ranks move only to free places of the first nodes */
#define LEAST_GAIN 1e-12 /* relative; smaller differences may be rounding */

struct placement {
	uint32_t *node; /* by rank */
	double ns;	/* run time */
	size_t changes; /* that led to it from the initial placement */
};

/* The state of a search. */
struct search {
	const struct np_graph *g;
	struct np_tolerance_opt opt; /* its placed.node is current.node */
	uint32_t n_ranks, n_nodes;   /* n_nodes is at most NODES_MAX */
	uint32_t per_node;	     /* places of a node */
	struct placement current, best;
	uint32_t *ranks_on; /* number of ranks, by node, of n_nodes */
	struct np_rng *rng;
	size_t max_trials;
	struct np_place_result *result;
	struct np_err *err;
};

/* Simulates the program with the current placement. */
static int run_time(const struct search *search, double *ns)
{
	return np_tolerance_simulate(search->g, &search->opt, NULL, ns,
				     search->err);
}

/* Whether no further simulation is permitted. */
static bool trials_used_up(const struct search *search)
{
	return search->result->trials >= search->max_trials;
}

/* Moves a rank to a node and updates the number of ranks on both. */
static void move(struct search *search, uint32_t rank, uint32_t to)
{
	if (search->current.node[rank] < search->n_nodes)
		search->ranks_on[search->current.node[rank]]--;
	if (to < search->n_nodes)
		search->ranks_on[to]++;
	search->current.node[rank] = to;
}

/* Moves a rank, and the rank other, unless it is n_ranks, to its old node. */
static void change(struct search *search, uint32_t rank, uint32_t other,
		   uint32_t to)
{
	uint32_t from = search->current.node[rank];

	move(search, rank, to);
	if (other < search->n_ranks)
		move(search, other, from);
}

/* Tries a change and undoes it unless it shortens the run (*better). */
static int try_change(struct search *search, uint32_t rank, uint32_t other,
		      uint32_t to, bool *better)
{
	uint32_t from = search->current.node[rank];
	double ns = search->current.ns;
	int rc;

	change(search, rank, other, to);
	search->result->trials++;
	rc = run_time(search, &ns);
	*better = !rc && ns < search->current.ns * (1 - LEAST_GAIN);
	if (*better) {
		search->current.ns = ns;
		search->current.changes++;
	} else {
		change(search, rank, other, from);
	}
	return rc;
}

/*
 * Tries exchanges that bring a rank closer to a peer, then moves to free
 * places, until one shortens the run.
 */
static int approach(struct search *search, uint32_t rank, uint32_t peer,
		    bool *better)
{
	const struct np_topology *topology = search->opt.placed.t;
	uint32_t goal = search->current.node[peer];
	uint32_t hops =
		np_topology_hops(topology, search->current.node[rank], goal);
	int rc = 0;

	for (uint32_t i = 0; !rc && !*better && i < search->n_ranks; i++)
		if (i != rank && i != peer && !trials_used_up(search) &&
		    np_topology_hops(topology, search->current.node[i], goal) <
			    hops)
			rc = try_change(search, rank, i,
					search->current.node[i], better);
	for (uint32_t to = 0; !rc && !*better && to < search->n_nodes; to++)
		if (search->ranks_on[to] < search->per_node &&
		    !trials_used_up(search) &&
		    np_topology_hops(topology, to, goal) < hops)
			rc = try_change(search, rank, search->n_ranks, to,
					better);
	return rc;
}

/* Tries to shorten a message on the critical path. */
static int improve(struct search *search, bool *better)
{
	struct np_pair *pair;
	size_t n;
	int rc = np_tolerance_pairs(search->g, &search->opt, &pair, &n,
				    search->err);

	*better = false;
	if (rc)
		return rc;
	for (size_t i = 0; !rc && !*better && i < n; i++) {
		rc = approach(search, pair[i].from, pair[i].to, better);
		if (!rc && !*better)
			rc = approach(search, pair[i].to, pair[i].from, better);
	}
	free(pair);
	return rc;
}

/* Replaces the best placement if the current one is better. */
static void update_best(struct search *search)
{
	if (search->current.ns >= search->best.ns * (1 - LEAST_GAIN))
		return;
	memcpy(search->best.node, search->current.node,
	       search->n_ranks * sizeof(*search->best.node));
	search->best.ns = search->current.ns;
	search->best.changes = search->current.changes;
}

/* Improves the placement until no single change helps. */
static int descend(struct search *search)
{
	bool better;
	int rc;

	do
		rc = improve(search, &better);
	while (!rc && better);
	update_best(search);
	return rc;
}

/*
 * Starts again from the best placement, after some exchanges and moves at
 * random.
 */
static int restart(struct search *search)
{
	size_t n_changes =
		2 + np_rng_below(search->rng, 2 + search->n_ranks / 4);

	for (uint32_t i = 0; i < search->n_ranks; i++)
		move(search, i, search->best.node[i]);
	for (size_t k = 0; k < n_changes; k++) {
		uint32_t rank =
			(uint32_t)np_rng_below(search->rng, search->n_ranks);
		uint32_t other =
			(uint32_t)np_rng_below(search->rng, search->n_ranks);
		uint32_t to =
			(uint32_t)np_rng_below(search->rng, search->n_nodes);

		if (search->ranks_on[to] < search->per_node &&
		    np_rng_below(search->rng, 2))
			change(search, rank, search->n_ranks, to);
		else if (rank != other)
			change(search, rank, other,
			       search->current.node[other]);
	}
	search->current.changes = search->best.changes + n_changes;
	search->result->restarts++;
	search->result->trials++;
	return run_time(search, &search->current.ns);
}

/* Descends and restarts until all trials are used. */
static int run_search(struct search *search)
{
	int rc = descend(search);

	search->result->converged = !trials_used_up(search);
	while (!rc && search->n_ranks > 1 && !trials_used_up(search)) {
		rc = restart(search);
		if (!rc)
			rc = descend(search);
	}
	return rc;
}

/* Reports a graph that cannot run, as np_tolerance_new() does. */
static int check(const struct search *search)
{
	struct np_tolerance *tolerance;
	int rc = np_tolerance_new(search->g, &search->opt, &tolerance,
				  search->err);

	if (!rc)
		np_tolerance_free(tolerance);
	return rc;
}

/*
 * Allocates the search and starts from the given placement. Returns 0 or
 * -ENOMEM; the caller frees also after a failure.
 */
static int prepare(struct search *search, const uint32_t *node)
{
	uint32_t n_nodes = np_topology_nodes(search->opt.placed.t);

	search->n_nodes = n_nodes < NODES_MAX ? n_nodes : NODES_MAX;
	search->current.node =
		calloc(2 * (size_t)search->n_ranks + 1, sizeof(*node));
	search->best.node = search->current.node + search->n_ranks;
	search->ranks_on =
		calloc(search->n_nodes + 1, sizeof(*search->ranks_on));
	search->rng = np_rng_new(1, "placement of ranks");
	if (!search->current.node || !search->ranks_on || !search->rng)
		return np_errf(search->err, -ENOMEM, "out of memory");
	memcpy(search->current.node, node, search->n_ranks * sizeof(*node));
	memcpy(search->best.node, node, search->n_ranks * sizeof(*node));
	for (uint32_t i = 0; i < search->n_ranks; i++)
		if (node[i] < search->n_nodes)
			search->ranks_on[node[i]]++;
	search->opt.placed.node = search->current.node;
	return 0;
}

int np_place_ranks(const struct np_graph *graph,
		   const struct np_tolerance_opt *opt, uint32_t *node,
		   uint32_t per_node, size_t max_trials,
		   struct np_place_result *out, struct np_err *err)
{
	struct np_place_result result = { .trials = 0 };
	struct search search = {
		.g = graph,
		.opt = *opt,
		.n_ranks = np_graph_ranks(graph),
		.per_node = per_node,
		.max_trials = max_trials,
		.result = &result,
		.err = err,
	};
	int rc = prepare(&search, node);

	if (!rc)
		rc = check(&search);
	if (!rc)
		rc = run_time(&search, &search.current.ns);
	result.before_ns = search.best.ns = search.current.ns;
	if (!rc)
		rc = run_search(&search);
	if (!rc) {
		memcpy(node, search.best.node, search.n_ranks * sizeof(*node));
		result.after_ns = search.best.ns;
		result.swaps = search.best.changes;
		*out = result;
	}
	free(search.current.node); /* best.node is in the same block */
	free(search.ranks_on);
	np_rng_free(search.rng);
	return rc;
}

/*
 * Search for a placement of ranks on nodes with a short run time. A descent
 * shortens the messages on the critical path, because the run cannot become
 * shorter otherwise: it brings one of the two ranks closer to the other
 * (np_topology_hops()), by an exchange with a rank there or by a move to a free
 * place. When no change helps, the search starts again from the best placement
 * with some random changes, until the permitted number of trials is used. Each
 * trial is one simulation of the program.
 */
#include "np_place_ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_rng.h"

#define NODES_MAX 4096	 /* the first nodes, on which free places are used */
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
	uint16_t *ranks_on; /* by node, of n_nodes */
	struct np_rng *rng;
	size_t max_trials;
	struct np_place_result *result;
	struct np_err *err;
};

/* Simulates the program with the current placement. */
static int run_time(const struct search *s, double *ns)
{
	return np_tolerance_simulate(s->g, &s->opt, NULL, ns, s->err);
}

/* Whether no further simulation is permitted. */
static bool trials_used_up(const struct search *s)
{
	return s->result->trials >= s->max_trials;
}

/* Moves a rank to a node and updates the number of ranks on both. */
static void move(struct search *s, uint32_t rank, uint32_t to)
{
	if (s->current.node[rank] < s->n_nodes)
		s->ranks_on[s->current.node[rank]]--;
	if (to < s->n_nodes)
		s->ranks_on[to]++;
	s->current.node[rank] = to;
}

/* Moves a rank, and other, if it is a rank (below n_ranks), to its old node. */
static void change(struct search *s, uint32_t rank, uint32_t other, uint32_t to)
{
	uint32_t from = s->current.node[rank];

	move(s, rank, to);
	if (other < s->n_ranks)
		move(s, other, from);
}

/* Tries a change and undoes it unless it shortens the run (*better). */
static int try_change(struct search *s, uint32_t rank, uint32_t other,
		      uint32_t to, bool *better)
{
	uint32_t from = s->current.node[rank];
	double ns = s->current.ns;
	int rc;

	change(s, rank, other, to);
	s->result->trials++;
	rc = run_time(s, &ns);
	*better = !rc && ns < s->current.ns * (1 - LEAST_GAIN);
	if (*better) {
		s->current.ns = ns;
		s->current.changes++;
	} else {
		change(s, rank, other, from);
	}
	return rc;
}

/*
 * Tries exchanges that bring a rank closer to a peer, then moves to free
 * places, until one shortens the run.
 */
static int approach(struct search *s, uint32_t rank, uint32_t peer,
		    bool *better)
{
	const struct np_topology *t = s->opt.placed.t;
	uint32_t goal = s->current.node[peer];
	uint32_t hops = np_topology_hops(t, s->current.node[rank], goal);
	int rc = 0;

	for (uint32_t i = 0; !rc && !*better && i < s->n_ranks; i++)
		if (i != rank && i != peer && !trials_used_up(s) &&
		    np_topology_hops(t, s->current.node[i], goal) < hops)
			rc = try_change(s, rank, i, s->current.node[i], better);
	for (uint32_t to = 0; !rc && !*better && to < s->n_nodes; to++)
		if (s->ranks_on[to] < s->per_node && !trials_used_up(s) &&
		    np_topology_hops(t, to, goal) < hops)
			rc = try_change(s, rank, s->n_ranks, to, better);
	return rc;
}

/* Tries to shorten a message on the critical path. */
static int improve(struct search *s, bool *better)
{
	struct np_pair *pair;
	size_t n;
	int rc = np_tolerance_pairs(s->g, &s->opt, &pair, &n, s->err);

	*better = false;
	if (rc)
		return rc;
	for (size_t i = 0; !rc && !*better && i < n; i++) {
		rc = approach(s, pair[i].from, pair[i].to, better);
		if (!rc && !*better)
			rc = approach(s, pair[i].to, pair[i].from, better);
	}
	free(pair);
	return rc;
}

/* Replaces the best placement if the current one is better. */
static void update_best(struct search *s)
{
	if (s->current.ns >= s->best.ns * (1 - LEAST_GAIN))
		return;
	memcpy(s->best.node, s->current.node,
	       s->n_ranks * sizeof(*s->best.node));
	s->best.ns = s->current.ns;
	s->best.changes = s->current.changes;
}

/* Improves the placement until no single change helps. */
static int descend(struct search *s)
{
	bool better;
	int rc;

	do
		rc = improve(s, &better);
	while (!rc && better);
	update_best(s);
	return rc;
}

/*
 * Starts again from the best placement, after some exchanges and moves at
 * random.
 */
static int restart(struct search *s)
{
	size_t n_changes = 2 + np_rng_below(s->rng, 2 + s->n_ranks / 4);

	for (uint32_t i = 0; i < s->n_ranks; i++)
		move(s, i, s->best.node[i]);
	for (size_t k = 0; k < n_changes; k++) {
		uint32_t rank = (uint32_t)np_rng_below(s->rng, s->n_ranks);
		uint32_t other = (uint32_t)np_rng_below(s->rng, s->n_ranks);
		uint32_t to = (uint32_t)np_rng_below(s->rng, s->n_nodes);

		if (s->ranks_on[to] < s->per_node && np_rng_below(s->rng, 2))
			change(s, rank, s->n_ranks, to);
		else if (rank != other)
			change(s, rank, other, s->current.node[other]);
	}
	s->current.changes = s->best.changes + n_changes;
	s->result->restarts++;
	s->result->trials++;
	return run_time(s, &s->current.ns);
}

/* Descends and restarts until all trials are used. */
static int search(struct search *s)
{
	int rc = descend(s);

	s->result->ended = !trials_used_up(s);
	while (!rc && s->n_ranks > 1 && !trials_used_up(s)) {
		rc = restart(s);
		if (!rc)
			rc = descend(s);
	}
	return rc;
}

/* Reports a graph that cannot run as np_tolerance_new() does. */
static int check(const struct search *s)
{
	struct np_tolerance *t;
	int rc = np_tolerance_new(s->g, &s->opt, &t, s->err);

	if (!rc)
		np_tolerance_free(t);
	return rc;
}

/*
 * Allocates the search and starts from the given placement. The caller frees in
 * any case. Returns 0 or -ENOMEM.
 */
static int prepare(struct search *s, const uint32_t *node)
{
	uint32_t n_nodes = np_topology_nodes(s->opt.placed.t);

	s->n_nodes = n_nodes < NODES_MAX ? n_nodes : NODES_MAX;
	s->current.node = malloc((s->n_ranks + 1) * sizeof(*node));
	s->best.node = malloc((s->n_ranks + 1) * sizeof(*node));
	s->ranks_on = calloc(s->n_nodes + 1, sizeof(*s->ranks_on));
	s->rng = np_rng_new(1, "placement of ranks");
	if (!s->current.node || !s->best.node || !s->ranks_on || !s->rng)
		return np_errf(s->err, -ENOMEM, "out of memory");
	memcpy(s->current.node, node, s->n_ranks * sizeof(*node));
	memcpy(s->best.node, node, s->n_ranks * sizeof(*node));
	for (uint32_t i = 0; i < s->n_ranks; i++)
		if (node[i] < s->n_nodes)
			s->ranks_on[node[i]]++;
	s->opt.placed.node = s->current.node;
	return 0;
}

int np_place_ranks(const struct np_graph *g, const struct np_tolerance_opt *opt,
		   uint32_t *node, uint32_t per_node, size_t max_trials,
		   struct np_place_result *out, struct np_err *err)
{
	struct np_place_result result = { .trials = 0 };
	struct search s = {
		.g = g,
		.opt = *opt,
		.n_ranks = np_graph_ranks(g),
		.per_node = per_node,
		.max_trials = max_trials,
		.result = &result,
		.err = err,
	};
	int rc = prepare(&s, node);

	if (!rc)
		rc = check(&s);
	if (!rc)
		rc = run_time(&s, &s.current.ns);
	result.before_ns = s.best.ns = s.current.ns;
	if (!rc)
		rc = search(&s);
	if (!rc) {
		memcpy(node, s.best.node, s.n_ranks * sizeof(*node));
		result.after_ns = s.best.ns;
		result.swaps = s.best.changes;
		*out = result;
	}
	free(s.current.node);
	free(s.best.node);
	free(s.ranks_on);
	np_rng_free(s.rng);
	return rc;
}

/*
 * Search for a placement of ranks on nodes with a short run time. A descent
 * shortens the messages on the critical path, as only these can shorten the
 * run: it moves one of the two ranks to a free node, or exchanges it with the
 * rank on a node, that is closer to the other; np_topology_hops() decides which
 * are. When no change helps, the search starts again from the best placement
 * with some random changes, until the permitted number of trials is used. Each
 * trial is one simulation of the program.
 */
#include "np_place_ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_rng.h"

#define NODES_MAX 4096 /* nodes considered as free places */
#define LEAST_GAIN 1e-12 /* relative; smaller differences may be rounding */

/* A placement, its run time, and the number of changes that led to it. */
struct placement {
	uint32_t *node;
	double ns;
	size_t changes;
};

/* The state of a search. */
struct search {
	const struct np_graph *g;
	struct np_tolerance_opt opt; /* placed by now.node */
	uint32_t n, n_nodes, per_node;
	struct placement now, best;
	uint16_t *ranks_on; /* ranks on each of n_nodes nodes */
	struct np_rng *rng;
	size_t max_trials;
	struct np_place_result *r;
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
	return s->r->trials >= s->max_trials;
}

/* Moves a rank to a node and updates the number of ranks on both. */
static void move(struct search *s, uint32_t rank, uint32_t to)
{
	if (s->now.node[rank] < s->n_nodes)
		s->ranks_on[s->now.node[rank]]--;
	if (to < s->n_nodes)
		s->ranks_on[to]++;
	s->now.node[rank] = to;
}

/* Moves a rank; other: a rank to exchange it with, or n for none. */
static void change(struct search *s, uint32_t rank, uint32_t other, uint32_t to)
{
	uint32_t from = s->now.node[rank];

	move(s, rank, to);
	if (other < s->n)
		move(s, other, from);
}

/* Tries a change and undoes it unless it shortens the run (*better). */
static int try_change(struct search *s, uint32_t rank, uint32_t other,
		      uint32_t to, bool *better)
{
	uint32_t from = s->now.node[rank];
	double ns = s->now.ns;
	int rc;

	change(s, rank, other, to);
	s->r->trials++;
	rc = run_time(s, &ns);
	*better = !rc && ns < s->now.ns * (1 - LEAST_GAIN);
	if (*better) {
		s->now.ns = ns;
		s->now.changes++;
	} else {
		change(s, rank, other, from);
	}
	return rc;
}

/* Tries to move a rank closer to the node of a peer. */
static int approach(struct search *s, uint32_t rank, uint32_t peer,
		    bool *better)
{
	const struct np_topology *t = s->opt.placed.t;
	uint32_t at = s->now.node[peer];
	uint32_t hops = np_topology_hops(t, s->now.node[rank], at);
	int rc = 0;

	for (uint32_t i = 0; !rc && !*better && i < s->n; i++)
		if (i != rank && i != peer && !trials_used_up(s) &&
		    np_topology_hops(t, s->now.node[i], at) < hops)
			rc = try_change(s, rank, i, s->now.node[i], better);
	for (uint32_t to = 0; !rc && !*better && to < s->n_nodes; to++)
		if (s->ranks_on[to] < s->per_node && !trials_used_up(s) &&
		    np_topology_hops(t, to, at) < hops)
			rc = try_change(s, rank, s->n, to, better);
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
static void keep_best(struct search *s)
{
	if (s->now.ns >= s->best.ns * (1 - LEAST_GAIN))
		return;
	memcpy(s->best.node, s->now.node, s->n * sizeof(*s->best.node));
	s->best.ns = s->now.ns;
	s->best.changes = s->now.changes;
}

/* Improves the placement until no single change helps. */
static int descend(struct search *s)
{
	bool better;
	int rc;

	do
		rc = improve(s, &better);
	while (!rc && better);
	keep_best(s);
	return rc;
}

/* Starts again from the best placement, with some ranks exchanged at random. */
static int restart(struct search *s)
{
	size_t kicks = 2 + np_rng_below(s->rng, 2 + s->n / 4);

	for (uint32_t i = 0; i < s->n; i++)
		move(s, i, s->best.node[i]);
	for (size_t k = 0; k < kicks; k++) {
		uint32_t rank = (uint32_t)np_rng_below(s->rng, s->n);
		uint32_t other = (uint32_t)np_rng_below(s->rng, s->n);
		uint32_t to = (uint32_t)np_rng_below(s->rng, s->n_nodes);

		if (s->ranks_on[to] < s->per_node && np_rng_below(s->rng, 2))
			change(s, rank, s->n, to);
		else if (rank != other)
			change(s, rank, other, s->now.node[other]);
	}
	s->now.changes = s->best.changes + kicks;
	s->r->restarts++;
	s->r->trials++;
	return run_time(s, &s->now.ns);
}

/* Descends and restarts until all trials are used. */
static int search(struct search *s)
{
	int rc = descend(s);

	s->r->ended = !trials_used_up(s);
	while (!rc && s->n > 1 && !trials_used_up(s)) {
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

/* Allocates the search and starts from the given placement. */
static int prepare(struct search *s, const uint32_t *node)
{
	uint32_t most = np_topology_nodes(s->opt.placed.t);

	s->n_nodes = most < NODES_MAX ? most : NODES_MAX;
	s->now.node = malloc((s->n + 1) * sizeof(*node));
	s->best.node = malloc((s->n + 1) * sizeof(*node));
	s->ranks_on = calloc(s->n_nodes + 1, sizeof(*s->ranks_on));
	s->rng = np_rng_new(1, "placement of ranks");
	if (!s->now.node || !s->best.node || !s->ranks_on || !s->rng)
		return np_errf(s->err, -ENOMEM, "out of memory");
	memcpy(s->now.node, node, s->n * sizeof(*node));
	memcpy(s->best.node, node, s->n * sizeof(*node));
	for (uint32_t i = 0; i < s->n; i++)
		if (node[i] < s->n_nodes)
			s->ranks_on[node[i]]++;
	s->opt.placed.node = s->now.node;
	return 0;
}

int np_place_ranks(const struct np_graph *g,
		   const struct np_tolerance_opt *opt, uint32_t *node,
		   uint32_t per_node, size_t max_trials,
		   struct np_place_result *out, struct np_err *err)
{
	struct np_place_result r = { .trials = 0 };
	struct search s = {
		.g = g, .opt = *opt, .n = np_graph_ranks(g),
		.per_node = per_node, .max_trials = max_trials, .r = &r,
		.err = err,
	};
	int rc = prepare(&s, node);

	if (!rc)
		rc = check(&s);
	if (!rc)
		rc = run_time(&s, &s.now.ns);
	r.before_ns = s.best.ns = s.now.ns;
	if (!rc)
		rc = search(&s);
	if (!rc) {
		memcpy(node, s.best.node, s.n * sizeof(*node));
		r.after_ns = s.best.ns;
		r.swaps = s.best.changes;
		*out = r;
	}
	free(s.now.node);
	free(s.best.node);
	free(s.ranks_on);
	np_rng_free(s.rng);
	return rc;
}

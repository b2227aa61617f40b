#include "t.h"
#include "np_place_ranks.h"

#include "some_exchange.h"
#include "some_goal.h"
#include "some_graph.h"

/* 0 and 3 communicate, and 1 and 2: best is each pair under one switch. */
T_TEST("ranks that communicate are placed under one switch")
{
	static const char text[] =
		"num_ranks 4 rank 0 { send 8b to 3 } rank 3 { recv 8b from 0 }"
		"rank 1 { send 8b to 2 } rank 2 { recv 8b from 1 }";
	uint32_t node[] = { 0, 1, 2, 3 };
	struct np_tolerance_opt opt = {
		.net = { .L_ns = 100, .S = NP_LOGGPS_NO_RENDEZVOUS },
		.placed = { .node = node, .wire_ns = 100, .switch_ns = 10 },
	};
	struct np_place_result r;
	struct np_topology *t;
	struct np_graph *g;

	T_CHECK(!np_topology_parse("fat-tree:4", &t, NULL));
	T_CHECK(!some_goal(text, sizeof(text) - 1, &g, NULL));
	opt.placed.t = t;
	T_CHECK(!np_place_ranks(g, &opt, node, 1, 1000, &r, NULL));
	T_CHECK(r.before_ns == 430 && r.after_ns == 210 && r.converged);
	T_CHECK(np_topology_hops(t, node[0], node[3]) == 1);
	T_CHECK(np_topology_hops(t, node[1], node[2]) == 1);
	np_graph_free(g);
	np_topology_free(t);
}

/* Never worse; the time is that of the placement; every rank has a node. */
T_TEST("a placement is never worse than the one before")
{
	struct np_topology *t;
	size_t better = 0;

	T_CHECK(!np_topology_parse("dragonfly:3x2x2", &t, NULL));
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct np_graph *g = some_graph(seed, 6, 60);
		uint32_t node[] = { 0, 2, 4, 6, 8, 10 }, seen = 0, two = 0;
		const struct np_tolerance_opt opt = {
			.net = { .L_ns = 3000,
				 .o_ns = 10,
				 .S = NP_LOGGPS_NO_RENDEZVOUS },
			.placed = { t, node, 3000, 100, false },
		};
		struct np_place_result r, again;

		T_CHECK(!np_place_ranks(g, &opt, node, 1, 500, &r, NULL));
		T_CHECK(r.after_ns <= r.before_ns);
		T_CHECK((r.after_ns < r.before_ns) == (r.swaps > 0));
		for (int i = 0; i < 6; i++) {
			two |= seen & 1u << node[i];
			seen |= 1u << node[i];
		}
		T_CHECK(seen < 1u << 12 && !two);
		T_CHECK(!np_place_ranks(g, &opt, node, 1, 0, &again, NULL));
		T_CHECK(again.before_ns == r.after_ns && !again.converged);
		better += r.swaps > 0;
		np_graph_free(g);
	}
	T_CHECK(better > 10);
	np_topology_free(t);
}

/* The shortest run over all placements. */
static void try_all(const struct np_graph *g, struct np_tolerance_opt *opt,
		    uint32_t *node, uint32_t at, uint32_t n, double *best)
{
	double ns;

	if (at == n && !np_tolerance_simulate(g, opt, NULL, &ns, NULL))
		*best = ns < *best ? ns : *best;
	for (uint32_t i = at; i < n; i++) {
		uint32_t was = node[at];

		node[at] = node[i];
		node[i] = was;
		try_all(g, opt, node, at + 1, n, best);
		node[i] = node[at];
		node[at] = was;
	}
}

T_TEST("up to seven ranks: the best of all placements")
{
	struct np_topology *t;
	size_t found = 0, gained = 0, runs = 0;

	T_CHECK(!np_topology_parse("dragonfly:2x2x2", &t, NULL));
	for (uint64_t seed = 0; seed < 12; seed++, runs++) {
		uint32_t n = 4 + (uint32_t)seed % 4;
		struct np_graph *g = some_graph(seed, n, 40);
		uint32_t node[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, all[8];
		struct np_tolerance_opt opt = {
			.net = { .L_ns = 3000,
				 .o_ns = 10,
				 .S = NP_LOGGPS_NO_RENDEZVOUS },
			.placed = { t, all, 3000, 100, false },
		};
		struct np_place_result r;
		double best = 1e99;

		/* Includes nodes that are empty at first. */
		memcpy(all, node, sizeof(all));
		try_all(g, &opt, all, 0, n < 7 ? 7 : n, &best);
		opt.placed.node = node;
		T_CHECK(!np_place_ranks(g, &opt, node, 1, 3000, &r, NULL));
		found += r.after_ns < best * (1 + 1e-9);
		gained += r.after_ns < r.before_ns;
		np_graph_free(g);
	}
	T_CHECK(found == runs && gained > runs / 2);
	np_topology_free(t);
}

/*
 * Searches from a greedy placement. Returns whether the result is better than
 * that one and than the order of the ranks.
 */
static bool beats_greedy(size_t i, const struct np_topology *t)
{
	struct np_graph *g = some_exchange(i, 3);
	uint32_t node[SOME_EXCHANGE_RANKS];
	const struct np_tolerance_opt opt = {
		.net = { .o_ns = 100,
			 .G_ns = 0.04,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
		.placed = { t, node, 300, 100, false },
	};
	struct np_place_result r = { .after_ns = 0 };
	double order_ns = 0;

	for (uint32_t k = 0; k < SOME_EXCHANGE_RANKS; k++)
		node[k] = k;
	T_CHECK(g && !np_tolerance_simulate(g, &opt, NULL, &order_ns, NULL));
	some_exchange_greedy(i, t, node);
	T_CHECK(!np_place_ranks(g, &opt, node, 1, 150, &r, NULL));
	np_graph_free(g);
	return r.after_ns < r.before_ns && r.after_ns < order_ns;
}

T_TEST("64 ranks: better than their order and a greedy one")
{
	struct np_topology *t;
	size_t better = 0;

	T_CHECK(!np_topology_parse("fat-tree:8", &t, NULL));
	for (size_t i = 0; i < SOME_EXCHANGES; i++)
		better += beats_greedy(i, t);
	T_CHECK(better >= 3);
	np_topology_free(t);
}

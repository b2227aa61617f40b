#include "t.h"
#include "np_topology.h"

#include "np_tolerance.h"
#include "some_goal.h"

static const struct {
	const char *name, *spec;
	uint32_t nodes, a, b, hops;
} ways[] = {
	{ "one node", "torus:4", 4, 2, 2, 0 },
	{ "fat tree: one switch", "fat-tree:4", 16, 0, 1, 1 },
	{ "fat tree: one pod", "fat-tree:4", 16, 0, 2, 3 },
	{ "fat tree: over the core", "fat-tree:4", 16, 3, 4, 5 },
	{ "dragonfly: one switch", "dragonfly:3x2x2", 12, 0, 1, 1 },
	{ "dragonfly: one group", "dragonfly:3x2x2", 12, 0, 2, 2 },
	/*
	 * Wires of group 0: to group 1 from switch 0, to group 2 from switch 1.
	 */
	{ "dragonfly: both at the wire", "dragonfly:3x2x2", 12, 0, 6, 2 },
	{ "dragonfly: to the wire", "dragonfly:3x2x2", 12, 2, 6, 3 },
	{ "dragonfly: and from it", "dragonfly:3x2x2", 12, 2, 4, 4 },
	{ "ring: the shorter way", "torus:5", 5, 0, 4, 2 },
	{ "torus: all dimensions", "torus:4x4x2", 32, 0, 31, 4 },
};

T_TEST("switches between two nodes")
{
	T_EACH(r, ways) {
		struct np_topology *t = NULL;
		bool ok = !np_topology_parse(r->spec, &t, NULL);

		T_ROW(r->name,
		      ok && np_topology_nodes(t) == r->nodes &&
			      np_topology_hops(t, r->a, r->b) == r->hops &&
			      np_topology_hops(t, r->b, r->a) == r->hops);
		np_topology_free(t);
	}
}

T_TEST("invalid topologies are rejected")
{
	static const char *const bad[] = {
		"",
		"torus",
		"torus:",
		"torus:0",
		"torus:4x",
		"torus:x4",
		"torus:4x4x4x4x4x4x4",
		"torus:99999999",
		"torus:3000x3000",
		"torus:4 ",
		"fat-tree:5",
		"fat-tree:4x4",
		"fat-tree:1000",
		"dragonfly:3x2",
		"tree:4",
		"torus:-4",
		"Torus:4",
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(bad); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_topology *t = NULL;

		T_ROW(bad[i], np_topology_parse(bad[i], &t, &err) &&
				      strstr(err.text, "expected"));
		np_topology_free(t);
	}
}

#define ROOT NP_TOPOLOGY_ROOT

T_TEST("trees of switches")
{
	/* 0 over 1 and 2, 2 over 3; nodes at 1, 1, 3, 2 */
	static const uint32_t parent[] = { ROOT, 0, 0, 2 };
	static const uint32_t leaf[] = { 1, 1, 3, 2 };
	static const struct {
		const char *name;
		uint32_t parent[3], leaf[1];
	} bad[] = {
		{ "a switch above itself", { 1, 2, 0 }, { 0 } },
		{ "one that is its own", { 0, ROOT, ROOT }, { 0 } },
		{ "no such switch", { 3, ROOT, 0 }, { 0 } },
		{ "no such leaf", { 1, ROOT, 1 }, { 3 } },
	};
	struct np_topology *t;

	T_CHECK(!np_topology_tree(parent, 4, leaf, 4, &t, NULL));
	T_CHECK(np_topology_hops(t, 0, 1) == 1);
	T_CHECK(np_topology_hops(t, 0, 2) == 4);
	T_CHECK(np_topology_hops(t, 2, 3) == 2);
	T_CHECK(np_topology_hops(t, 3, 0) == 3);
	np_topology_free(t);
	T_EACH(r, bad) {
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name, np_topology_tree(r->parent, 3, r->leaf, 1, &t,
						&err) == -EINVAL &&
				       err.text[0]);
	}
}

/* Two trees, 0 over 1 and 2 over 3; nodes at 1, 1, 3, 2 */
T_TEST("nodes of different trees are apart")
{
	static const uint32_t parent[] = { ROOT, 0, ROOT, 2 };
	static const uint32_t leaf[] = { 1, 1, 3, 2 }, node[] = { 0, 2 };
	struct np_placed placed = { .node = node,
				    .wire_ns = 1,
				    .switch_ns = 1 };
	struct np_topology *t;
	uint32_t times;
	double ns;

	T_CHECK(!np_topology_tree(parent, 4, leaf, 4, &t, NULL));
	T_CHECK(np_topology_hops(t, 0, 1) == 1);
	T_CHECK(np_topology_hops(t, 2, 3) == 2);
	T_CHECK(np_topology_hops(t, 0, 2) == NP_TOPOLOGY_APART);
	T_CHECK(np_topology_hops(t, 3, 1) == NP_TOPOLOGY_APART);
	placed.t = t;
	np_placed_path(&placed, 0, 1, &ns, &times);
	T_CHECK(ns == NP_TOPOLOGY_APART_NS && times == 0);
	np_topology_free(t);
}

/* The example of the source, on two nodes of a ring: 3 wires, 2 switches. */
T_TEST("a program's tolerance of each wire")
{
	static const uint32_t node[] = { 1, 0 };
	struct np_tolerance_opt opt = {
		.net = { .G_ns = 5,
			 .S = NP_LOGGPS_NO_RENDEZVOUS,
			 .first_byte_free = true },
		.placed = { .node = node, .wire_ns = 100, .switch_ns = 50 },
	};
	struct np_topology *ring;
	struct np_tolerance *t;
	struct np_runtime r;
	struct np_graph *g;

	T_CHECK(!np_topology_parse("torus:4", &ring, NULL));
	opt.placed.t = ring;
	T_CHECK(!some_goal_file("loggps/paper_example.goal", &g, NULL));
	T_CHECK(!np_tolerance_new(g, &opt, &t, NULL));
	np_tolerance_at(t, 100, &r); /* L = 3 * 100 + 2 * 50 */
	T_CHECK(r.ns == 1515 && r.right == 3);
	np_tolerance_at(t, 0, &r);
	T_CHECK(t_close(np_tolerance_limit(t, 0, 1515 / r.ns - 1), 100, 1e-12));
	np_tolerance_free(t);
	opt.placed.switch_is_x = true;
	T_CHECK(!np_tolerance_new(g, &opt, &t, NULL));
	np_tolerance_at(t, 50, &r);
	T_CHECK(r.ns == 1515 && r.right == 2);
	np_tolerance_free(t);
	np_graph_free(g);
	np_topology_free(ring);
}

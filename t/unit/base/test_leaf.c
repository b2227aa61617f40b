#include "t.h"
#include "np_topo.h"

static const struct {
	const char *name, *address, *node, *leaf;
} rows[] = {
	{ "a tree of two", "spine.leaf0.n1", "n1", "leaf0" },
	{ "one switch", "sw.n1", "n1", "sw" },
	{ "a deep tree", "a.b.c.d.n1", "n1", "d" },
	{ "several switches above", "s[0-1].leaf3.n7", "n7", "leaf3" },
	{ "a node with dots", "spine.leaf0.n1.cluster.org", "n1.cluster.org",
	  "leaf0" },
	{ "node not known", "spine.leaf0.n1", NULL, "leaf0" },
	{ "another name for the node", "spine.leaf0.n1", "host", "leaf0" },
	{ "a base block", "leaf0.n1", "n1", "leaf0" },
	{ "a place on a ring", "ring0:2.n1", "n1", "" },
	{ "a place on a torus", "torus0:0:1:0.n1", "n1", "" },
	{ "no topology", "n1", "n1", "" },
	{ "no topology, a node with dots", "n1.org", "n1.org", "" },
	{ "not set", NULL, "n1", "" },
	{ "empty", "", "n1", "" },
	{ "a dot alone", ".", "n1", "" },
	{ "no name before the node", ".n1", "n1", "" },
	{ "a name that does not fit", "aaaaaaaaaaaaaaaa.n1", "n1", "" },
	{ "the longest that fits", "aaaaaaaaaaaaaaa.n1", "n1",
	  "aaaaaaaaaaaaaaa" },
};

T_TEST("the leaf is the switch next to the node")
{
	T_EACH(r, rows) {
		char leaf[16] = "untouched";

		np_leaf_from_address(r->address, NULL, r->node, leaf,
				     sizeof(leaf));
		T_ROW(r->name, !strcmp(leaf, r->leaf));
	}
}

#define TWO "switch.switch.node"

static const struct {
	const char *name, *address, *pattern, *leaf;
} dotted[] = {
	{ "no name has dots", "spine.leaf0.n1", TWO, "leaf0" },
	{ "a node below no spine", ".leaf0.n1", TWO, "leaf0" },
	{ "a leaf with dots", "spine.rack0.ib.n1", TWO, "spine.rack0.ib" },
	{ "another one", "spine.rack1.ib.n1", TWO, "spine.rack1.ib" },
	{ "all with dots", "switch.2.1.switch.1.1.n1", TWO,
	  "switch.2.1.switch.1.1" },
	{ "three levels with dots", "switch.3.1.switch.2.1.switch.1.1.n1",
	  "switch.switch.switch.node", "itch.3.1.switch.2.1.switch.1.1" },
	{ "a leaf that is named for its fabric",
	  "root.fabricA.fabricA.unknown.n1", "switch.switch.switch.node",
	  "root.fabricA.fabricA.unknown" },
	{ "the end of what does not fit",
	  "a.very.long.name.of.a.spine.and."
	  "then.the.very.long.name.of.its.leaf.0.n1",
	  TWO, "e.very.long.name.of.its.leaf.0" },
	{ "a place on a torus", "torus0:0:1:0.n1", "torus.node", "" },
	{ "no pattern", "spine.rack0.ib.n1", "", "ib" },
};

T_TEST("leaves whose names have dots are distinguished")
{
	T_EACH(r, dotted) {
		char leaf[31] = "untouched";

		np_leaf_from_address(r->address, r->pattern, "n1", leaf,
				     sizeof(leaf));
		T_ROW(r->name, !strcmp(leaf, r->leaf));
	}
}

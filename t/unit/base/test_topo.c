#include "t.h"
#include "np_topo.h"

#include <string.h>

static const struct {
	const char *name, *text;
	size_t n;
	const char *leaf0, *nodes0;
} rows[] = {
	{ "no topology", "", 0, NULL, NULL },
	{ "one leaf",
	  "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-3]\n", 1, "leaf0",
	  "n[0-3]" },
	{ "spines are no leaves",
	  "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=a,b\n"
	  "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[0-3]\n"
	  "SwitchName=b Level=0 LinkSpeed=1 Nodes=n[4-7]\n", 2, "a",
	  "n[0-3]" },
	{ "a switch without nodes is no leaf",
	  "SwitchName=a Level=0 LinkSpeed=1 Nodes=\n", 0, NULL, NULL },
	{ "other lines are passed over",
	  "No topology information available\n\n", 0, NULL, NULL },
	{ "a base block is a leaf",
	  "BlockName=a BlockIndex=0 Nodes=n[0-3] BlockSize=4\n"
	  "BlockName=b BlockIndex=1 Nodes=n[4-7] BlockSize=4\n"
	  "AggregatedBlock=[a-b] BlockIndex=2 Nodes=n[0-7] BlockSize=8\n", 2,
	  "a", "n[0-3]" },
	{ "a ring has no leaves",
	  "RingName=r0 Nodes=n[0-3] RingSize=4\n", 0, NULL, NULL },
	{ "a torus has no leaves",
	  "TorusName=t0 Dims=2x2x2 Nodes=n[0-7]\n", 0, NULL, NULL },
	{ "the last line may lack its end",
	  "SwitchName=a Level=0 Nodes=n0", 1, "a", "n0" },
	{ "a list with blanks",
	  "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[0-3], n[4-7]\n", 1, "a",
	  "n[0-3], n[4-7]" },
	{ "a name with dots",
	  "SwitchName=switch.1.1 Level=0 Nodes=n0\n", 1, "switch.1.1", "n0" },
	{ "trees beside each other",
	  "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[0-3]\n"
	  "SwitchName=b Level=0 LinkSpeed=1 Nodes=n[4-7]\n", 2, "a",
	  "n[0-3]" },
	{ "a key is a whole word",
	  "SwitchName=a XLevel=0 Nodes=n0\n", 0, NULL, NULL },
};

static void test_rows(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_topo t;

		T_CHECK(np_topo_parse(rows[i].text, &t, NULL) == 0);
		T_ROW(rows[i].name, t.n == rows[i].n &&
		      (!t.n || (!strcmp(t.leaf[0].name, rows[i].leaf0) &&
				!strcmp(t.leaf[0].nodes, rows[i].nodes0))));
		np_topo_free(&t);
	}
}

static const struct t_case cases[] = {
	{ "leaf switches are found in Slurm's own words", test_rows },
	{ NULL, NULL },
};
T_SUITE(topo, cases)

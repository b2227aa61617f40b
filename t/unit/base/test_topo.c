#include "t.h"
#include "np_topo.h"

static const struct {
	const char *name, *text;
	size_t n;
	const char *leaf0, *nodes0;
} rows[] = {
	{ "no topology", "", 0, NULL, NULL },
	{ "one leaf", "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-3]\n", 1,
	  "leaf0", "n[0-3]" },
	{ "spines are no leaves",
	  "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=a,b\n"
	  "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[0-3]\n"
	  "SwitchName=b Level=0 LinkSpeed=1 Nodes=n[4-7]\n",
	  2, "a", "n[0-3]" },
	{ "a switch without nodes is no leaf",
	  "SwitchName=a Level=0 LinkSpeed=1 Nodes=\n", 0, NULL, NULL },
	{ "other lines are passed over",
	  "No topology information available\n\n", 0, NULL, NULL },
	{ "a base block is a leaf",
	  "BlockName=a BlockIndex=0 Nodes=n[0-3] BlockSize=4\n"
	  "BlockName=b BlockIndex=1 Nodes=n[4-7] BlockSize=4\n"
	  "AggregatedBlock=[a-b] BlockIndex=2 Nodes=n[0-7] BlockSize=8\n",
	  2, "a", "n[0-3]" },
	{ "a ring has no leaves", "RingName=r0 Nodes=n[0-3] RingSize=4\n", 0,
	  NULL, NULL },
	{ "a torus has no leaves", "TorusName=t0 Dims=2x2x2 Nodes=n[0-7]\n", 0,
	  NULL, NULL },
	{ "the last line may lack its end", "SwitchName=a Level=0 Nodes=n0", 1,
	  "a", "n0" },
	{ "a list with blanks",
	  "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[0-3], n[4-7]\n", 1, "a",
	  "n[0-3], n[4-7]" },
	{ "a name with dots", "SwitchName=switch.1.1 Level=0 Nodes=n0\n", 1,
	  "switch.1.1", "n0" },
	{ "several trees",
	  "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[0-3]\n"
	  "SwitchName=b Level=0 LinkSpeed=1 Nodes=n[4-7]\n",
	  2, "a", "n[0-3]" },
	{ "a key is a whole word", "SwitchName=a XLevel=0 Nodes=n0\n", 0, NULL,
	  NULL },
};

T_TEST("leaf switches are found in Slurm's own words")
{
	T_EACH(r, rows) {
		struct np_topo t;

		T_CHECK(np_topo_parse(r->text, &t, NULL) == 0);
		T_ROW(r->name,
		      t.n == r->n &&
			      (!t.n || (!strcmp(t.leaf[0].name, r->leaf0) &&
					!strcmp(t.leaf[0].nodes, r->nodes0))));
		np_topo_free(&t);
	}
}

#define LINE "Rail=a NIC=ib0 Leaf=s0 Nodes=n[0-3]\n"

static const struct {
	const char *name, *text;
	int rc;
	size_t n;	     /* lines that are taken */
	const char *message; /* part of it */
} rails[] = {
	{ "an empty file", "", 0, 0, NULL },
	{ "comments and blank lines", "# two rails\n\n" LINE "  # end", 0, 1,
	  NULL },
	{ "two rails", LINE "Rail=b NIC=ib1 Leaf=t0 Nodes=n[0-3]\n", 0, 2,
	  NULL },
	{ "keys in any case and order", "nodes=n0 leaf=s nic=ib0 RAIL=a", 0, 1,
	  NULL },
	{ "adapters with other names under one switch",
	  LINE "Rail=a NIC=mlx5_0:1 Leaf=s0 Nodes=n4", 0, 2, NULL },
	{ "a line without a key", LINE "Rail=a NIC=ib0 Nodes=n4", -EINVAL, 0,
	  "f:2: missing key: Leaf" },
	{ "an unknown key", "Rail=a Port=1", -EINVAL, 0, "f:1: unknown key" },
	{ "a key twice", "Rail=a Rail=b", -EINVAL, 0, "twice: Rail" },
	{ "no key", "leaf0", -EINVAL, 0, "expected Rail=NAME" },
	{ "a list for a name", "Rail=a NIC=ib0,ib1 Leaf=s Nodes=n0", -EINVAL, 0,
	  "ib0,ib1" },
	{ "an empty name", "Rail=a NIC=ib0 Leaf=\"\" Nodes=n0", -EINVAL, 0,
	  "expected a name of 1 to 63" },
	{ "a switch on two rails", LINE "Rail=b NIC=ib1 Leaf=s0 Nodes=n[0-3]",
	  -EINVAL, 0, "another rail: s0" },
	{ "a node twice on a rail", LINE "Rail=a NIC=ib0 Leaf=s1 Nodes=n3",
	  -EINVAL, 0, "same rail: n3" },
	{ "not a list", "Rail=a NIC=ib0 Leaf=s Nodes=n[0-", -EINVAL, 0,
	  "f:1: Nodes: " },
	{ "too many nodes", "Rail=a NIC=ib0 Leaf=s Nodes=n[0-99999]", -E2BIG, 0,
	  "f:1: Nodes: " },
	{ "too many rails",
	  "Rail=1 NIC=i Leaf=1 Nodes=n\n"
	  "Rail=2 NIC=i Leaf=2 Nodes=n\nRail=3 NIC=i Leaf=3 Nodes=n\n"
	  "Rail=4 NIC=i Leaf=4 Nodes=n\nRail=5 NIC=i Leaf=5 Nodes=n\n"
	  "Rail=6 NIC=i Leaf=6 Nodes=n\nRail=7 NIC=i Leaf=7 Nodes=n\n"
	  "Rail=8 NIC=i Leaf=8 Nodes=n\nRail=9 NIC=i Leaf=9 Nodes=n\n",
	  -E2BIG, 0, "f:9: more than 8 rails" },
};

T_TEST("a file of rails says which adapter leads to which switch")
{
	T_EACH(r, rails) {
		struct np_err err = NP_ERR_INIT;
		char *text = strdup(r->text);
		struct np_topo t = { .n = 0 };
		int rc = np_rails_parse(text, "f", &t, &err);

		T_ROW(r->name, rc == r->rc && t.n == r->n);
		T_ROW(r->name, !rc || strstr(err.text, r->message));
		if (!rc && t.n)
			T_ROW(r->name, !strcmp(t.leaf[0].rail, "a") &&
					       !strcmp(t.leaf[0].nic, "ib0"));
		np_topo_free(&t);
		free(text);
	}
}

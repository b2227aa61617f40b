#include "t.h"
#include "np_alloc_query.h"

static const struct {
	const char *name, *topology, *node, *leaf;
} rows[] = {
	{ "a node of a leaf", "SwitchName=a Level=0 Nodes=n[0-3]\n", "n3",
	  "a" },
	{ "a node of none", "SwitchName=a Level=0 Nodes=n[0-3]\n", "n4", "" },
	{ "no topology", "", "n0", "" },
	{ "a node listed under two leaves is on the first",
	  "SwitchName=a Level=0 Nodes=n[0-3]\n"
	  "SwitchName=b Level=0 Nodes=n[3-5]\n",
	  "n3", "a" },
	{ "a list with blanks", "SwitchName=a Level=0 Nodes=n[0-1], n[2-3]\n",
	  "n2", "a" },
	{ "names with dots",
	  "SwitchName=rack0.ib Level=0 Nodes=n[0-1]\n"
	  "SwitchName=rack1.ib Level=0 Nodes=n[2-3]\n",
	  "n2", "rack1.ib" },
	{ "a name with dots below others with dots",
	  "SwitchName=switch.1.1 Level=0 Nodes=node001\n"
	  "SwitchName=switch.2.1 Level=1 Nodes=node001 Switches=switch.1.1\n"
	  "SwitchName=switch.3.1 Level=2 Nodes=node001 Switches=switch.2.1\n",
	  "node001", "switch.1.1" },
	{ "a leaf that is named for its fabric",
	  "SwitchName=fabricA.unknown Level=0 Nodes=worker-0\n"
	  "SwitchName=fabricA Level=1 Nodes=worker-0 Switches=fabricA.unknown\n"
	  "SwitchName=root Level=2 Nodes=worker-0 Switches=fabricA\n",
	  "worker-0", "fabricA.unknown" },
};

T_TEST("the leaf of a node, as slurmctld gives it")
{
	T_EACH(r, rows) {
		struct np_leaf_index *l = NULL;

		T_ROW(r->name, !np_leaf_index_parse(r->topology, &l, NULL));
		T_ROW(r->name,
		      l && !strcmp(np_leaf_index_find(l, r->node), r->leaf));
		np_leaf_index_free(l);
	}
}

/* As "leaf:rail:nic ..." of a node's rails. */
static void describe(const struct np_leaf_index *l, const char *node,
		     char *text, size_t size)
{
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = np_leaf_index_rails(l, node, rail), used = 0;

	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s:%s:%s",
					 i ? " " : "", rail[i].leaf,
					 rail[i].name ? rail[i].name : "-",
					 rail[i].nic ? rail[i].nic : "-");
	T_CHECK(!strcmp(rail[0].leaf, np_leaf_index_find(l, node)));
}

#define TWO_TREES \
	"SwitchName=a Level=0 Nodes=n[0-3]\n" \
	"SwitchName=b Level=0 Nodes=n[4-7]\n" \
	"SwitchName=x Level=0 Nodes=n[0-7]\n"
#define FILE_OF_RAILS \
	"Rail=r0 NIC=ib0 Leaf=a Nodes=n[0-3]\n" \
	"Rail=r1 NIC=ib1 Leaf=y Nodes=n[0-1]\n"

static const struct {
	const char *name, *rails, *devices, *node, *want;
} railed[] = {
	{ "without devices the first leaf counts", "", "", "n0", "a:-:-" },
	{ "fewer devices than leaves", "", "ib0", "n0", "a:-:-" },
	{ "more devices than leaves", "", "ib0,ib1,ib2", "n0", "a:-:-" },
	{ "as many devices as leaves", "", "ib0,ib1", "n0",
	  "a:ib0:ib0 x:ib1:ib1" },
	{ "a node of another leaf", "", "ib0,ib1", "n7",
	  "b:ib0:ib0 x:ib1:ib1" },
	{ "an unknown node", "", "ib0,ib1", "n8", ":-:-" },
	{ "a file says both", FILE_OF_RAILS, "", "n1", "a:r0:ib0 y:r1:ib1" },
	{ "a file replaces Slurm's leaves", FILE_OF_RAILS, "ib0,ib1", "n3",
	  "a:r0:ib0" },
	{ "a node that the file lacks", FILE_OF_RAILS, "", "n4", "b:-:-" },
	{ "the same with devices", FILE_OF_RAILS, "ib0,ib1", "n4",
	  "b:ib0:ib0 x:ib1:ib1" },
};

T_TEST("a node has a leaf on each rail, from the file or from Slurm")
{
	T_EACH(r, railed) {
		struct np_leaf_index *l = NULL;
		char text[512], *file = strdup(r->rails);
		struct np_topo rails;

		T_CHECK(!np_leaf_index_parse(TWO_TREES, &l, NULL));
		T_CHECK(!np_rails_parse(file, "rails", &rails, NULL));
		T_CHECK(!np_leaf_index_add_rails(l, &rails));
		T_CHECK(!np_leaf_index_set_devices(l, r->devices));
		describe(l, r->node, text, sizeof(text));
		T_ROW(r->name, !strcmp(text, r->want));
		np_leaf_index_free(l);
		free(file);
	}
}

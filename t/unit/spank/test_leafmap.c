#include "t.h"
#include "np_alloc_query.h"

#include <string.h>

static const struct {
	const char *name, *topology, *node, *leaf;
} rows[] = {
	{ "a node of a leaf", "SwitchName=a Level=0 Nodes=n[0-3]\n", "n3",
	  "a" },
	{ "a node of none", "SwitchName=a Level=0 Nodes=n[0-3]\n", "n4", "" },
	{ "no topology", "", "n0", "" },
	{ "of two leaves the first", "SwitchName=a Level=0 Nodes=n[0-3]\n"
	  "SwitchName=b Level=0 Nodes=n[3-5]\n", "n3", "a" },
	{ "a list with blanks", "SwitchName=a Level=0 Nodes=n[0-1], n[2-3]\n",
	  "n2", "a" },
	{ "names with dots", "SwitchName=rack0.ib Level=0 Nodes=n[0-1]\n"
	  "SwitchName=rack1.ib Level=0 Nodes=n[2-3]\n", "n2", "rack1.ib" },
};

static void test_rows(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_leafmap *l = NULL;

		T_ROW(rows[i].name, !np_leafmap_parse(rows[i].topology, &l,
						      NULL));
		T_ROW(rows[i].name, l && !strcmp(np_leafmap_find(l,
			rows[i].node), rows[i].leaf));
		np_leafmap_free(l);
	}
}

static const struct t_case cases[] = {
	{ "the leaf of a node, as slurmctld tells it", test_rows },
	{ NULL, NULL },
};
T_SUITE(leafmap, cases)

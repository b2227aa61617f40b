#include "t.h"
#include "np_topology_conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int conf(const char *text, struct np_topology **out,
		struct np_err *err)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/topology.conf", t_tmpdir());
	f = fopen(path, "w");
	T_CHECK(f && fputs(text, f) >= 0);
	if (f)
		fclose(f);
	return np_topology_conf(path, out, err);
}

static void test_tree(void)
{
	struct np_topology *t = NULL;

	T_CHECK(!conf("# two leaves\nSwitchName=s0 Nodes=n[0-3],x LinkSpeed=7\n"
		      "switchname=top Switches=s[0-1]\n\n"
		      "SwitchName=s1 Nodes=n4,n5", &t, NULL));
	T_CHECK(t && np_topology_nodes(t) == 7);
	T_CHECK(t && np_topology_hops(t, 0, 4) == 1);
	T_CHECK(t && np_topology_hops(t, 0, 5) == 3);
	np_topology_free(t);
}

static const struct {
	const char *name, *text, *says;
} bad[] = {
	{ "nothing", "", "topology.conf: no switch has nodes" },
	{ "nodes of no switch", "\nNodes=n0\n", "topology.conf:2: expected "
	  "SwitchName" },
	{ "a list that is none", "SwitchName=s Nodes=n[0-", ":1: expected" },
	{ "a switch twice", "SwitchName=s Nodes=a\nSwitchName=s Nodes=b\n",
	  ":2: a switch that is there twice" },
	{ "below two", "SwitchName=a Switches=c\nSwitchName=b Switches=c\n",
	  ":2: a switch that is there twice" },
	{ "more nodes than there are", "SwitchName=s Nodes=n[0-99999]\n",
	  ":1: more than 65536" },
	{ "two trees", "SwitchName=a Nodes=x\nSwitchName=b Nodes=y\n",
	  "2 switches have none above them" },
	{ "a circle", "SwitchName=a Nodes=x Switches=b\n"
	  "SwitchName=b Switches=a\n", "above itself" },
};

static void test_bad(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_topology *t = NULL;

	for (size_t i = 0; i < NP_ARRAY_SIZE(bad); i++)
		T_ROW(bad[i].name, conf(bad[i].text, &t, &err) &&
		      strstr(err.text, bad[i].says));
	T_CHECK(np_topology_conf("/nonexistent", &t, &err) == -ENOENT);
}

static const struct t_case cases[] = {
	{ "the tree of a cluster", test_tree },
	{ "what is no tree is refused, by file and line", test_bad },
	{ NULL, NULL },
};

T_SUITE(topology_conf, cases)

#include "t.h"
#include "cmd_topology.h"

/* "n0=leaf0+leaf1 n1=leaf0": the second where there is another adapter. */
static void print(const struct cli_places *p, char *buf)
{
	*buf = '\0';
	for (size_t i = 0; i < p->n; i++) {
		const struct cli_place *at = &p->place[i];

		buf += sprintf(buf, "%s%s=%s", i ? " " : "", at->node,
			       p->leaf[at->leaf]);
		for (size_t k = 0; k < at->n_others; k++)
			buf += sprintf(buf, "+%s", p->leaf[at->other[k]]);
	}
}

/* The file as that of a node, alone in a directory. */
static int by_lldp(const char *path, struct cli_places *p, struct np_err *err)
{
	t_sh(t_tmpdir(), "mkdir -p lldp.d; cp %s lldp.d/n0.json", path);
	return cli_places_lldp(t_path("lldp.d"), p, err);
}

/* As a file manager names a copy. */
static int by_copy(const char *path, struct cli_places *p, struct np_err *err)
{
	t_sh(t_tmpdir(), "mkdir -p copy.d; cp %s 'copy.d/n 0.json'", path);
	return cli_places_lldp(t_path("copy.d"), p, err);
}

static const struct {
	const char *name;
	int (*read)(const char *path, struct cli_places *p, struct np_err *err);
	const char *file, *want;
} readers[] = {
	{ "ibnetdiscover, with a node on two switches", cli_places_ib,
	  "topology.ib",
	  "n0=leaf0+Quantum-leaf-two n1=leaf0 n2=Quantum-leaf-two "
	  "n3=Quantum-leaf-two" },
	{ "lldpctl of several nodes", cli_places_lldp, "lldp",
	  "n0=leaf0 n1=leaf0+leaf1 n2=00-11-22-33-44-77" },
};

T_TEST("nodes whose files have no switch are not forgotten")
{
	struct cli_places p = { NULL };

	T_CHECK(!cli_places_lldp(t_data("lldp"), &p, NULL));
	T_CHECK(p.n_alone == 1 && !strcmp(p.alone[0], "n3"));
	cli_places_free(&p);
}

T_TEST("switches of nodes are read")
{
	T_EACH(r, readers) {
		struct cli_places p = { NULL };
		char got[1024];

		T_ROW(r->name, !r->read(t_data(r->file), &p, NULL));
		cli_places_sort(&p);
		print(&p, got);
		T_ROW(got, !strcmp(got, r->want));
		cli_places_free(&p);
	}
}

static const struct {
	const char *name;
	int (*read)(const char *path, struct cli_places *p, struct np_err *err);
	const char *text, *want;
} texts[] = {
	/*
	 * Switches that aggregate messages have an adapter each. A host may be
	 * described by its name alone, with each of its adapters; these may
	 * have two ports.
	 */
	{ "adapters of switches are no nodes, those of a host are one",
	  cli_places_ib,
	  "Switch 41 \"S-0\" # \"leaf0\"\n"
	  "[1] \"H-1\"[1](1) # \"n0\" lid 1\n"
	  "[2] \"H-3\"[1](3) # \"n1 mlx5_0\" lid 3\n"
	  "[41] \"H-5\"[1](5) # \"Mellanox Technologies Aggregation Node\" "
	  "lid 5\n"
	  "Switch 41 \"S-1\" # \"leaf1\"\n"
	  "[1] \"H-2\"[1](2) # \"n0\" lid 2\n"
	  "[2] \"H-3\"[2](4) # \"n1 mlx5_0\" lid 4\n"
	  "[41] \"H-6\"[1](6) # \"Mellanox Technologies Aggregation Node\" "
	  "lid 6\n"
	  "Switch 41 \"S-2\" # \"Quantum\"\n"
	  "[41] \"H-7\"[1](7) # \"Mellanox Technologies Aggregation Node\" "
	  "lid 7\n"
	  "Switch 41 \"S-3\" # \"Quantum\"\n"
	  "[41] \"H-8\"[1](8) # \"Mellanox Technologies Aggregation Node\" "
	  "lid 8\n",
	  "n0=leaf0+leaf1 n1=leaf0+leaf1" },
	{ "modules of a director are switches of their own", cli_places_ib,
	  "Switch 36 \"S-0\" # \"MF0;dir1:CS7500/L01/U1\"\n"
	  "[1] \"H-1\"[1](1) # \"n0 mlx5_0\" lid 1\n"
	  "Switch 36 \"S-1\" # \"MF0;dir1:CS7500/S01/U1\"\n"
	  "Switch 36 \"S-2\" # \"MF0;dir1:CS7500/L02/U1\"\n"
	  "[1] \"H-2\"[1](2) # \"n1 mlx5_0\" lid 2\n"
	  "[2] \"H-3\"[1](3) # \"n2 mlx5_0\" lid 3\n",
	  "n0=dir1 n1=dir1-CS7500-L02-U1 n2=dir1-CS7500-L02-U1" },
	/* Switches are listed in the order in which they were found. */
	{ "nodes are under the switch of their first adapter", cli_places_ib,
	  "Switch 36 \"S-0\" # \"rail1\"\n"
	  "[1] \"H-1\"[1](1) # \"n0 mlx5_1\" lid 1\n"
	  "[2] \"H-2\"[1](1) # \"n1 mlx5_10\" lid 2\n"
	  "[3] \"H-9\"[2](1) # \"n2 mlx5_0\" lid 9\n"
	  "Switch 36 \"S-1\" # \"rail2\"\n"
	  "[1] \"H-3\"[1](1) # \"n0 mlx5_2\" lid 3\n"
	  "[2] \"H-4\"[1](1) # \"n1 mlx5_9\" lid 4\n"
	  "Switch 36 \"S-2\" # \"rail0\"\n"
	  "[1] \"H-5\"[1](1) # \"n0 mlx5_0\" lid 5\n"
	  "[2] \"H-6\"[1](1) # \"n1 mlx5_1\" lid 6\n"
	  "[3] \"H-9\"[1](1) # \"n2 mlx5_0\" lid 9\n",
	  "n0=rail0+rail2+rail1 n1=rail0+rail1+rail2 n2=rail0+rail1" },
	{ "ports of a chassis, a router, other generations", cli_places_ib,
	  "Chassis 1 (guid 0x8f1)\n"
	  "Switch\t24 \"S-1\"\t\t# \"Voltaire 4036 # leaf\" base port 0 lid "
	  "7 lmc 0\n"
	  "[1][ext 3]\t\"H-1\"[1](1) \t\t# \"n0 HCA-1\" lid 4 4xQDR\n"
	  "[2]\t\"R-1\"[1](2) \t\t# \"router\" lid 5 4xEDR\n"
	  "[3]\t\"H-2\"[1](3) \t\t# \"n1 MT4119 ConnectX5   Mellanox "
	  "Technologies\" lid 6 2xHDR s=1\n"
	  "Rt\t2 \"R-1\"\t\t# \"router\"\n"
	  "[1](2) \t\"H-1\"[1]\t\t# lid 5 lmc 0 \"n7 HCA-1\" lid 7\n",
	  "n0=Voltaire-4036---leaf n1=Voltaire-4036---leaf" },
	{ "switches without a description", cli_places_ib,
	  "Switch 36 \"S-0002c9\" # \"\" enhanced port 0 lid 3 lmc 0\n"
	  "[1] \"H-1\"[1](1) # \"n0 mlx5_0\" lid 1\n"
	  "Switch 36 \"S-0002ca\" # \"\" enhanced port 0 lid 3 lmc 0\n"
	  "[1] \"H-2\"[1](1) # \"n1 mlx5_0\" lid 1\n"
	  "[2] \"H-3\"[1](1) # \"\" lid 1\n",
	  "n0=S-0002c9 n1=S-0002ca" },
	{ "lldpctl -f json0", by_lldp,
	  "{\"lldp\":[{\"interface\":[{\"name\":\"eth1\",\"via\":\"LLDP\","
	  "\"chassis\":[{\"id\":[{\"type\":\"mac\",\"value\":\"00:11\"}],"
	  "\"name\":[{\"value\":\"leaf1\"}],\"capability\":[{\"type\":"
	  "\"Bridge\",\"enabled\":true},{\"type\":\"Router\",\"enabled\":"
	  "false}]}]},{\"name\":\"eth0\",\"chassis\":[{\"id\":[{\"type\":"
	  "\"mac\",\"value\":\"00:22\"}]}]}]}]}\n",
	  "n0=00-22+leaf1" },
	{ "neighbours that are no switches", by_lldp,
	  "{\"lldp\":{\"interface\":[{\"eth0\":{\"chassis\":{\"n7\":{\"id\":"
	  "{\"type\":\"mac\",\"value\":\"1\"},\"capability\":[{\"type\":"
	  "\"Bridge\",\"enabled\":false},{\"type\":\"Station\",\"enabled\":"
	  "true}]}}}},{\"eth1\":{\"chassis\":{\"id\":{\"type\":\"mac\","
	  "\"value\":\"2\"},\"capability\":{\"type\":\"Station\","
	  "\"enabled\":true}}}},{\"eth2\":{\"chassis\":{\"leaf0\":{\"id\":"
	  "{\"type\":\"mac\",\"value\":\"3\"},\"capability\":[{\"type\":"
	  "\"Bridge\",\"enabled\":true}]}}}},{\"eth3\":{\"chassis\":{\"odd\":"
	  "{\"capability\":[{\"type\":\"Bridge\",\"enabled\":false}]}}}}]}}\n",
	  "n0=leaf0+odd" },
	{ "the smallest of several latencies of a pair", cli_places_latencies,
	  "n0 n1 1e-5\nn2 n3 1e-5\nn0 n2 2e-5\nn0 n3 2e-5\nn1 n2 2e-5\n"
	  "n1 n3 2e-5\nn1 n0 9e-5\r\nn2 n3 9e-5\n",
	  "n0=found0 n1=found0 n2=found1 n3=found1" },
};

T_TEST("what other versions and sites print is read")
{
	T_EACH(r, texts) {
		struct cli_places p = { NULL };
		char got[256] = "";

		T_ROW(r->name,
		      !r->read(t_write_text("fabric", r->text), &p, NULL));
		print(&p, got);
		T_ROW(r->name, !strcmp(got, r->want));
		cli_places_free(&p);
	}
}

/*
 * Slurm has a pair of switches as one leaf: n0 and n1 are cabled the other way
 * round.
 */
T_TEST("nodes of a pair of switches are on its leaf")
{
	static const char text[] = "Switch 36 \"S-0\" # \"leaf0a\"\n"
				   "[1] \"H-1\"[1](1) # \"n0 mlx5_0\" lid 1\n"
				   "[2] \"H-2\"[1](1) # \"n1 mlx5_1\" lid 1\n"
				   "[3] \"H-3\"[1](1) # \"n2 mlx5_0\" lid 1\n"
				   "Switch 36 \"S-1\" # \"leaf0b\"\n"
				   "[1] \"H-4\"[1](1) # \"n0 mlx5_1\" lid 1\n"
				   "[2] \"H-5\"[1](1) # \"n1 mlx5_0\" lid 1\n"
				   "[3] \"H-6\"[1](1) # \"n2 mlx5_1\" lid 1\n"
				   "Switch 36 \"S-2\" # \"leaf1\"\n"
				   "[1] \"H-7\"[1](1) # \"n3 mlx5_0\" lid 1\n"
				   "[2] \"H-8\"[1](1) # \"n4 mlx5_0\" lid 1\n";
	struct cli_places p = { NULL };
	struct np_index missing = { .n = 0 };
	struct np_topo t = { NULL, 0 };
	uint32_t slurm[5], as[3];

	T_CHECK(!cli_places_ib(t_write_text("fabric", text), &p, NULL));
	T_CHECK(!np_topo_parse("SwitchName=a Level=0 Nodes=n[0-2,4]\n"
			       "SwitchName=b Level=0 Nodes=n3\n",
			       &t, NULL));
	cli_places_sort(&p);
	T_CHECK(cli_places_compare(&p, &t, slurm, as, &missing) == 1);
	T_CHECK(!missing.n);
	T_CHECK(cli_place_agrees(&p.place[1], slurm[1], as));
	T_CHECK(!cli_place_agrees(&p.place[4], slurm[4], as));
	np_index_free(&missing);
	np_topo_free(&t);
	cli_places_free(&p);
}

static const struct {
	const char *name;
	int (*read)(const char *path, struct cli_places *p, struct np_err *err);
	const char *text, *says;
} wrong[] = {
	{ "no switch", cli_places_ib, "vendid=0x2c9\n",
	  "no node below a switch" },
	{ "a switch without a name", cli_places_ib,
	  "vendid\nSwitch 36 \"S-0\"\n", ":2: a switch without a description" },
	{ "a switch without nodes", cli_places_ib,
	  "Switch 36 \"S-0\" # \"a\"\n", "no node below a switch" },
	{ "two names that become one", cli_places_ib,
	  "Switch 36 \"S-0\" # \"leaf/0\"\n[1] \"H-1\"[1] # \"n0 mlx5_0\"\n"
	  "Switch 36 \"S-1\" # \"leaf-0\"\n[1] \"H-2\"[1] # \"n1 mlx5_0\"\n",
	  ":3: a second switch with nodes is called leaf-0: expected a name" },
	{ "switches that nobody has named", cli_places_ib,
	  "Switch 36 \"S-0\" # \"SwitchIB Mellanox\"\n"
	  "[1] \"H-1\"[1] # \"n0 mlx5_0\"\n"
	  "Switch 36 \"S-1\" # \"SwitchIB Mellanox\"\n"
	  "[1] \"H-2\"[1] # \"n1 mlx5_0\"\n",
	  "/wrong:3: a second switch with nodes is described as \"SwitchIB "
	  "Mellanox\": expected a name for each" },
	{ "hosts that nobody has named", cli_places_ib,
	  "Switch 36 \"S-0\" # \"leaf0\"\n"
	  "[1] \"H-1\"[1](1) # \"MT25408 ConnectX Mellanox Technologies\"\n"
	  "[2] \"H-1\"[2](2) # \"MT25408 ConnectX Mellanox Technologies\"\n"
	  "Switch 36 \"S-1\" # \"leaf1\"\n"
	  "[1] \"H-2\"[1](3) # \"MT25408 ConnectX Mellanox Technologies\"\n",
	  "/wrong:5: a second adapter is described as \"MT25408 ConnectX "
	  "Mellanox Technologies\": expected the name of its host" },
	{ "switches without nodes but with aggregation", cli_places_ib,
	  "Switch 41 \"S-0\" # \"Quantum\"\n"
	  "[41] \"H-1\"[1](1) # \"Mellanox Technologies Aggregation Node\"\n",
	  "no node below a switch" },
	{ "neighbours that are cut", by_lldp, "{\"lldp\": {",
	  "n0.json: damaged at byte 10: it ends too early" },
	{ "neighbours in words", by_lldp, "LLDP neighbors:\n",
	  "n0.json:1: expected JSON, got \"LLDP neighbors:\"" },
	{ "a file that no node can have", by_copy, "{\"lldp\": {}}\n",
	  "/n 0.json: expected the name of a node before .json" },
	{ "other JSON", by_lldp, "[]\n", "n0.json: no \"lldp\"" },
	{ "no neighbours", by_lldp, "{\"lldp\": {}}\n",
	  "no switch in any NODE.json" },
	{ "no number", cli_places_latencies, "n0 n1 fast\n",
	  ":1: \"n0 n1 fast\": expected \"NODE NODE SECONDS\"" },
	{ "below zero", cli_places_latencies, "n0 n1 1e-6\nn0 n2 -1\n",
	  ":2: \"n0 n2 -1\": expected" },
	{ "no number at all", cli_places_latencies, "n0 n1 nan\n",
	  ":1: \"n0 n1 nan\": expected" },
	{ "hexadecimal", cli_places_latencies, "n0 n1 0x1p-20\n",
	  ":1: \"n0 n1 0x1p-20\": expected" },
	{ "a node and itself", cli_places_latencies, "n0 n0 1e-6\n",
	  ":1: \"n0 n0 1e-6\": expected \"NODE NODE SECONDS\", two nodes and a "
	  "number above 0 and below 1000" },
	{ "a list of nodes", cli_places_latencies, "n[0-3] n4 1e-6\n",
	  ":1: \"n[0-3] n4 1e-6\": expected" },
	{ "names with commas", cli_places_latencies, "n0,n1 n4 1e-6\n",
	  ":1: \"n0,n1 n4 1e-6\": expected" },
	{ "a fourth word", cli_places_latencies, "n0 n1 1e-6 x\n",
	  ":1: \"n0 n1 1e-6 x\": expected" },
	{ "only a comment", cli_places_latencies, "# nothing\n",
	  "/wrong: 0 nodes" },
	{ "a report of ports, by ibnetdiscover -p", cli_places_ib,
	  "SW    17  1 0x0002c903 4x QDR - CA    12  1 0x0002c904 ( 'sw' - 'n0 "
	  "HCA-1' )\n",
	  "no node below a switch" },
};

T_TEST("what is no such file is refused with its line")
{
	T_EACH(r, wrong) {
		struct np_err err = NP_ERR_INIT;
		struct cli_places p = { NULL };
		const char *path = t_write_text("wrong", r->text);

		T_ROW(r->name, r->read(path, &p, &err) == -EINVAL);
		T_ROW(r->name, strstr(err.text, r->says) != NULL);
		cli_places_free(&p);
	}
}

static const struct {
	const char *name, *slurm;
	long misplaced;
	size_t missing;
} slurms[] = {
	{ "the same leaf switches",
	  "SwitchName=a Level=0 Nodes=n[0-1]\n"
	  "SwitchName=b Level=0 Nodes=n[2-3]\n",
	  0 },
	{ "one node on another leaf switch",
	  "SwitchName=a Level=0 Nodes=n[0-2]\n"
	  "SwitchName=b Level=0 Nodes=n3\n",
	  1 },
	{ "two nodes swapped",
	  "SwitchName=a Level=0 Nodes=n0,n2\n"
	  "SwitchName=b Level=0 Nodes=n1,n3\n",
	  2 },
	{ "Slurm has all nodes on one leaf switch",
	  "SwitchName=a Level=0 Nodes=n[0-3]\n", 2 },
	{ "nodes that Slurm does not list do not count",
	  "SwitchName=a Level=0 Nodes=n[0-1]\n", 0 },
	{ "blanks in a quoted list",
	  "SwitchName=a Level=0 Nodes=n0, n2\n"
	  "SwitchName=b Level=0 Nodes=n1, n3\n",
	  2 },
	{ "a node on two leaf switches counts for the first",
	  "SwitchName=a Level=0 Nodes=n[0-1]\n"
	  "SwitchName=b Level=0 Nodes=n[1-3]\n",
	  0 },
	{ "Slurm lists no leaf switches", "", 0 },
	{ "nodes that were not found",
	  "SwitchName=a Level=0 Nodes=n[0-1,7]\n"
	  "SwitchName=b Level=0 Nodes=n[2-3,7-8]\n",
	  0, 2 },
};

T_TEST("a node that no pair was measured with is named")
{
	double sec[9] = { NAN, 1e-5, NAN, 1e-5, NAN, NAN, NAN, NAN, NAN };
	char *node[] = { "n0", "n1", "n2" };
	struct np_err err = NP_ERR_INIT;
	struct cli_places p = { NULL };

	T_CHECK(cli_places_measured(node, sec, 3, &p, &err) == -EINVAL);
	T_ROW(err.text, !strcmp(err.text, "n2 has no latency to another "
					  "node"));
	cli_places_free(&p);
}

T_TEST("nodes that Slurm has elsewhere are counted")
{
	double sec[16];
	char *node[] = { "n0", "n1", "n2", "n3" };

	for (size_t i = 0; i < 16; i++)
		sec[i] = i / 8 == i % 4 / 2 ? 1e-5 : 2e-5;
	T_EACH(r, slurms) {
		struct cli_places p = { NULL };
		struct np_topo t = { NULL, 0 };
		struct np_index missing = { .n = 0 };
		uint32_t slurm[4], as[4];

		T_CHECK(!cli_places_measured(node, sec, 4, &p, NULL));
		T_CHECK(!np_topo_parse(r->slurm, &t, NULL));
		cli_places_sort(&p);
		T_ROW(r->name,
		      p.n_leaves == 2 &&
			      cli_places_compare(&p, &t, slurm, as, &missing) ==
				      r->misplaced &&
			      missing.n == r->missing);
		np_index_free(&missing);
		np_topo_free(&t);
		cli_places_free(&p);
	}
}

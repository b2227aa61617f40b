#include "t.h"
#include "np_bits.h"
#include "np_topo.h"
#include "some_slurm.h"

/* clang-format off */
static const struct {
	const char *name;
	struct np_job_requirements required;
	int rc, partition;
	const char *nodes;
	uint32_t n;
	bool undetermined;
} fits[] = {
	{ "nothing said", { 0 }, 0, 0, "n[0-15]", 1, false },
	{ "a partition", { .partition = "debug" }, 0, 1, "n[0-3]", 1, false },
	{ "one that is not there", { .partition = "none" }, -ENOENT, -1, "", 0,
	  false },
	{ "the beginning of a name", { .partition = "deb" }, -ENOENT, -1, "",
	  0, false },
	{ "several: the first, and no telling", { .partition = "big,debug" },
	  0, 3, "n[12-15]", 1, true },
	{ "features", { .features = "ib&big" }, 0, 0, "n[12-15]", 1, false },
	{ "a feature nobody has", { .features = "gpu" }, 0, 0, "", 1, false },
	{ "part of a feature", { .features = "bi" }, 0, 0, "", 1, false },
	{ "either of two features", { .features = "ib|big" }, 0, 0, "n[0-15]",
	  1, true },
	{ "either of two features, where all nodes are alike",
	  { .partition = "big", .features = "ib|gpu" }, 0, 3, "n[12-15]", 1,
	  false },
	{ "odd features where all nodes are alike",
	  { .partition = "debug", .features = "[a|b]" }, 0, 1, "n[0-3]", 1,
	  false },
	{ "odd features, and more memory than any node has",
	  { .partition = "debug", .features = "[a|b]", .memory_mb = 2001 }, 0,
	  1, "", 1, false },
	{ "memory", { .memory_mb = 2001 }, 0, 0, "n[12-15]", 1, false },
	{ "just as much memory as there is", { .memory_mb = 2000 }, 0, 0,
	  "n[0-15]", 1, false },
	{ "CPUs of a node", { .cpus_per_node = 5 }, 0, 0, "n[12-15]", 1,
	  false },
	{ "memory per CPU",
	  { .cpus_per_node = 4, .memory_per_cpu_mb = 600 }, 0, 0, "n[12-15]",
	  1, false },
	{ "CPUs in all", { .partition = "debug", .cpus = 9 }, 0, 1, "n[0-3]",
	  3, false },
	{ "CPUs that memory leaves",
	  { .partition = "debug", .cpus = 4, .memory_per_cpu_mb = 1000 }, 0, 1,
	  "n[0-3]", 2, false },
	{ "tasks of a node", { .tasks = 7, .tasks_per_node = 2 }, 0, 0,
	  "n[0-15]", 4, false },
	{ "nodes", { .nodes = 6, .cpus = 1 }, 0, 0, "n[0-15]", 6, false },
	{ "more CPUs than can be counted", { .cpus = UINT64_MAX - 7 }, 0, 0,
	  "n[0-15]", UINT32_MAX, false },
	{ "devices, on different nodes", { .wants_devices = true },
	  0, 0, "n[0-15]", 1, true },
	{ "devices, where all nodes are alike",
	  { .partition = "big", .wants_devices = true },
	  0, 3, "n[12-15]", 1, false },
};
/* clang-format on */

T_FIXTURE(some_slurm_begin, some_slurm_end);

T_TEST("which nodes would do for a job")
{
	T_EACH(r, fits) {
		struct np_job_fit fit;
		uint64_t nodes[1] = { 0 };
		int rc =
			np_cluster_map_fit(ctld.map, &r->required, nodes, &fit);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, fit.partition == r->partition);
		if (rc)
			continue;
		T_ROW(r->name,
		      some_same(some_hosts(ctld.map, nodes), r->nodes));
		T_ROW(r->name, fit.min_nodes == r->n);
		T_ROW(r->name, fit.undetermined == r->undetermined);
	}
}

T_TEST("nodes that differ in their devices alone are not alike")
{
	const struct np_job_requirements required = { .partition = "big",
						      .wants_devices = true };
	static const struct {
		const char *name, *gres, *other;
		bool undetermined;
	} rows[] = {
		{ "none", NULL, NULL, false },
		{ "the same", "gpu:4", "gpu:4", false },
		{ "one has registered", "gpu:4(S:0-1)", "gpu:4", false },
		{ "one has none", "gpu:4", NULL, true },
		{ "another number", "gpu:4", "gpu:40", true },
		{ "another type", "gpu:a:4(S:0)", "gpu:b:4(S:0)", true },
	};

	T_EACH(r, rows) {
		struct np_err err = NP_ERR_INIT;
		struct np_cluster_map *map = NULL;
		struct np_job_fit fit = { .partition = -1 };
		uint64_t nodes[1] = { 0 };

		some_slurm_begin();
		for (int i = 12; i < 16; i++)
			ctld.node[i].gres =
				(char *)(i < 14 ? r->gres : r->other);
		T_CHECK(!np_cluster_map_make(ctld.map, &ctld.nodes, &ctld.parts,
					     ctld.info.topology, false, &map,
					     &err));
		T_ROW(r->name,
		      !np_cluster_map_fit(map, &required, nodes, &fit));
		T_ROW(r->name, fit.undetermined == r->undetermined);
		np_cluster_map_unref(map);
	}
}

static const struct {
	const char *resources;
	bool devices;
} resource_lists[] = {
	{ NULL, false },
	{ "", false },
	{ "cpu=4", false },
	{ "cpu:4,license/x=1", false },
	{ "gres/gpu=1", true },
	{ "gres:gpu:1", true },
	{ "cpu=4,gres/gpu:a:1", true },
};

T_TEST("which resources are devices")
{
	T_EACH(r, resource_lists)
		T_ROW(r->resources ? r->resources : "none",
		      np_names_devices(r->resources) == r->devices);
}

static const struct {
	const char *name, *hosts;
	int rc;
	const char *want;
} lists[] = {
	{ "none", NULL, 0, "" },
	{ "empty", "", 0, "" },
	{ "one", "n3", 0, "n3" },
	{ "a range", "n[2-5]", 0, "n[2-5]" },
	{ "several, with spaces", "n1, n3 n5", 0, "n[1,3,5]" },
	{ "twice", "n1,n1,n[0-2]", 0, "n[0-2]" },
	{ "names of others", "n1,m7", 0, "n1" },
	{ "a number that begins before the bracket", "n1[0-3]", 0, "n[10-13]" },
	{ "names of others, with digits that grow", "n1,m[1-2000]", 0, "n1" },
	{ "numbers beyond the last", "n[14-99]", 0, "n[14-15]" },
	{ "all the names there could be", "n[0-999999999]", 0, "n[0-15]" },
	{ "far more names than nodes", "[0-99]n[0-60000]", -EINVAL, "" },
	{ "no list at all", "n[3-1]", -EINVAL, "" },
	{ "no end", "n[1-", -EINVAL, "" },
	{ "a function of Slurm 24.11", "n1,switch{leaf0}", -EINVAL, "" },
};

T_TEST("lists of nodes, whatever a user writes")
{
	T_EACH(r, lists) {
		uint64_t nodes[1] = { 0xff };
		int rc = np_cluster_map_parse_hostlist(ctld.map, r->hosts,
						       nodes);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name,
		      rc || some_same(some_hosts(ctld.map, nodes), r->want));
	}
}

static const struct {
	const char *name;
	uint64_t open;
	const char *want;
} closed[] = {
	{ "all are open", 0xf, NULL },
	{ "one is closed", 0xd, "n[4-7]" },
	{ "two are closed", 0x6, "n[0-3,12-15]" },
	{ "none is open", 0, "n[0-15]" },
};

static struct np_cluster_map *make(struct some_slurm *s,
				   struct np_cluster_map *old,
				   const char *topology, bool whole)
{
	struct np_err err = NP_ERR_INIT;
	struct np_cluster_map *map = NULL;

	if (np_cluster_map_make(old, &s->nodes, &s->parts, topology, whole,
				&map, &err))
		T_CHECK(err.text[0]);
	return map;
}

T_TEST("closed leaves as a list")
{
	const uint64_t none = 0;
	struct np_cluster_map *a;
	char *list;

	T_EACH(r, closed) {
		char *got = np_cluster_map_format_closed(ctld.map, &r->open);

		T_ROW(r->name, some_same(got, r->want));
		T_ROW(r->name, !got == !r->want);
		free(got);
	}
	a = make(&ctld, NULL,
		 "SwitchName=a Level=0 Nodes=n[9-11]\n"
		 "SwitchName=b Level=0 Nodes=n[0-2]\n",
		 false);
	list = a ? np_cluster_map_format_closed(a, &none) : NULL;
	T_ROW("nodes without a leaf switch are not closed",
	      list && some_same(list, "n[0-2,9-11]"));
	free(list);
	np_cluster_map_unref(a);
}

T_TEST("partitions by name")
{
	T_CHECK(ctld.map->n_parts == SOME_PARTS);
	T_CHECK(np_cluster_map_partition(ctld.map, NULL) == 0);
	T_CHECK(np_cluster_map_partition(ctld.map, "big") == 3);
	T_CHECK(np_cluster_map_partition(ctld.map, "big,batch") == 3);
	T_CHECK(np_cluster_map_partition(ctld.map, "") == -1);
	T_CHECK(ctld.map->part[0].shares_nodes);
	T_CHECK(!ctld.map->part[2].shares_nodes);
}

T_TEST("a map is made anew only when it has to")
{
	struct np_cluster_map *a;

	a = make(&ctld, ctld.map, ctld.info.topology, false);
	T_ROW("nothing changed", a == ctld.map);
	np_cluster_map_unref(a);
	ctld.node[3].cpu_load = 400;
	ctld.node[3].node_state = NODE_STATE_DOWN;
	a = make(&ctld, ctld.map, ctld.info.topology, false);
	T_ROW("only what nodes do changed", a == ctld.map);
	np_cluster_map_unref(a);
	ctld.node[3].features_act = (char *)"new";
	a = make(&ctld, ctld.map, ctld.info.topology, false);
	T_ROW("a feature changed", a && a != ctld.map);
	np_cluster_map_unref(a);
	a = make(&ctld, ctld.map, "", false);
	T_ROW("no topology any more", a && a != ctld.map && !a->leaves->n);
	T_ROW("without leaves none is closed",
	      a && !np_cluster_map_format_closed(a, NULL));
	np_cluster_map_unref(a);
	a = make(&ctld, ctld.map, ctld.info.topology, true);
	T_ROW("whole nodes", a && !a->part[0].shares_nodes);
	np_cluster_map_unref(a);
}

T_TEST("nodes that Slurm deleted")
{
	static int32_t pairs[] = { 0, 2, 2000000000, 2000000000, -1 };
	struct np_cluster_map *a;
	uint64_t nodes[1];

	ctld.node[1].name = NULL;
	ctld.node[5].name = NULL;
	a = make(&ctld, NULL, ctld.info.topology, false);
	if (a) {
		np_cluster_map_from_ranges(a, pairs, nodes);
		T_ROW("their bits are not set",
		      some_same(some_hosts(a, nodes), "n[0,2]"));
		T_ROW("no name finds them",
		      !np_cluster_map_parse_hostlist(a, "n[0-6]", nodes) &&
			      some_same(some_hosts(a, nodes), "n[0,2-4,6]"));
	}
	T_CHECK(a != NULL);
	np_cluster_map_unref(a);
}

/*
 * What Slurm forgives, and several topologies; a switch a line, with level 0
 * unless it says more, or "=" and the partitions of the next topology.
 */
static const struct {
	const char *name, *topology;
	const char *want; /* "leaf:nodes leaf:nodes" */
	const char *annotation;
	const char *no_leaves; /* partition; NULL: none */
} topologies[] = {
	{ "two leaves", "a Nodes=n[0-7]\nb Nodes=n[8-15]\n",
	  "a:n[0-7] b:n[8-15]", "" },
	{ "a node on two leaves", "a Nodes=n[0-7]\nb Nodes=n[7-15]\n",
	  "a:n[0-7] b:n[8-15]",
	  "topology: node n7 is on leaf switches a and b: the first is used" },
	{ "several nodes on two leaves", "a Nodes=n[0-7]\nb Nodes=n[6-15]\n",
	  "a:n[0-7] b:n[8-15]",
	  "topology: node n6 is on leaf switches a and b: the first is used "
	  "(and 1 more node)" },
	{ "a leaf whose nodes are all on another",
	  "a Nodes=n[0-7]\nb Nodes=n[6-7]\n", "a:n[0-7]",
	  "topology: node n6 is on leaf switches a and b: the first is used "
	  "(and 1 more node)" },
	{ "nodes that are yet to come",
	  "a Nodes=n[0-7],cloud[1-200]\n"
	  "b Nodes=n[8-15]\n",
	  "a:n[0-7] b:n[8-15]", "" },
	{ "names with two bracketed ranges",
	  "a Nodes=n[0-7],r[1-99]n[1-9]-ib\n", "a:n[0-7]", "" },
	{ "a leaf of such nodes alone", "a Nodes=n[0-7]\nb Nodes=x[1-9]\n",
	  "a:n[0-7]", "" },
	{ "a list with blanks", "a Nodes=n[0-3], n[4-7]\n", "a:n[0-7]", "" },
	{ "names with dots", "rack0.ib Nodes=n[0-3]\nrack1.ib Nodes=n[4-7]\n",
	  "rack0.ib:n[0-3] rack1.ib:n[4-7]", "" },
	{ "a switch without children", "a Nodes=\nb Nodes=n0\n", "b:n0", "" },
	{ "a list that is none", "a Nodes=n[3-0]\nb Nodes=n0\n", "b:n0",
	  "topology: leaf switch a is ignored: \"n[3-0]\" is not a list of "
	  "nodes" },
	{ "a list that is none, and then several nodes on two leaves",
	  "a Nodes=n[3-0]\nb Nodes=n[0-7]\nc Nodes=n[6-15]\n",
	  "b:n[0-7] c:n[8-15]",
	  "topology: leaf switch a is ignored: \"n[3-0]\" is not a list of "
	  "nodes" },
	{ "several nodes on two leaves, and then a list that is none",
	  "a Nodes=n[0-7]\nb Nodes=n[6-15]\nc Nodes=n[3-0]\n",
	  "a:n[0-7] b:n[8-15]",
	  "topology: node n6 is on leaf switches a and b: the first is used "
	  "(and 1 more node)" },
	{ "all partitions have another topology than the cluster",
	  "a Nodes=n[0-15]\n=batch,alone,debug,big\nb Nodes=n[0-7]\n",
	  "b:n[0-7]", "" },
	{ "nodes of partitions that have two topologies",
	  "a Nodes=n[0-15]\n=batch,alone\nb Nodes=n[0-9]\nc Nodes=n[10-15]\n",
	  "a:n[0-3,12-15] b:n[4-9] c:n[10-11]",
	  "topology: node n0 is on leaf switches a and b: the first is used "
	  "(and 7 more nodes)" },
	{ "a partition whose topology has no leaf switches",
	  "a Nodes=n[0-7]\n=big\n", "a:n[0-7]", "", "big" },
	{ "the cluster's topology has none, another one has",
	  "=big\nb Nodes=n[0-15]\n", "b:n[12-15]", "", "batch" },
};

static void print_lines(const char *from, char *to)
{
	for (size_t n; *from; from += n) {
		n = strcspn(from, "\n") + 1;
		if (*from == '=')
			to += sprintf(to, "Partitions%.*s", (int)n, from);
		else
			to += sprintf(to, "SwitchName=%.*s Level=0\n",
				      (int)n - 1, from);
	}
	*to = '\0';
}

static bool jobs_are_left_alone(const struct np_cluster_map *s,
				const char *partition)
{
	struct np_job_requirements required = { .partition = partition };
	uint64_t nodes[1];
	struct np_job_fit fit;

	return !np_cluster_map_fit(s, &required, nodes, &fit) &&
	       fit.undetermined;
}

/* Topology of Slurm, NetDevices, file of rails, and the leaves that follow. */
static const struct {
	const char *name, *topology, *devices, *file;
	const char *leaves, *switches; /* "switch:rail switch:rail" */
	const char *warning, *error;
} rails[] = {
	{ "the file of rails replaces Slurm's topology",
	  "a Nodes=n[0-7]\nb Nodes=n[8-15]\n", "ib0",
	  "Rail=r0 NIC=ib0 Leaf=x Nodes=n[0-15]\n"
	  "Rail=r1 NIC=ib1 Leaf=y Nodes=n[0-3]\n"
	  "Rail=r1 NIC=ib1 Leaf=z Nodes=n[4-15]\n",
	  "x+y:n[0-3] x+z:n[4-15]", "x:r0 y:r1 z:r1", "", "" },
	{ "of the nodes that it lists", "a Nodes=n[0-7]\nb Nodes=n[8-15]\n",
	  "ib0", "Rail=r0 NIC=ib0 Leaf=x Nodes=n[0-3]\n",
	  "a:n[4-7] b:n[8-15] x:n[0-3]", "a:- b:- x:r0", "", "" },
	{ "a switch with several lines, and nodes that Slurm does not have", "",
	  "ib0",
	  "Rail=r0 NIC=ib0 Leaf=x Nodes=n[0-3],q[1-9]\n"
	  "# other adapters\nRail=r0 NIC=ib1 Leaf=x Nodes=n[8-9]\n",
	  "x:n[0-3,8-9]", "x:r0", "", "" },
	{ "leaf switches of Slurm's on as many rails as NetDevices has devices",
	  "a Nodes=n[0-15]\nb Nodes=n[0-7]\nc Nodes=n[8-15]\n", "ib0,ib1", "",
	  "a+b:n[0-7] a+c:n[8-15]", "a:ib0 b:ib1 c:ib1", "", "" },
	{ "one device", "a Nodes=n[0-7]\nb Nodes=n[7-15]\n", "ib0", "",
	  "a:n[0-7] b:n[8-15]", "a:- b:-",
	  "topology: node n7 is on leaf switches a and b: the first is used",
	  "" },
	{ "a damaged file counts as none", "a Nodes=n[0-7]\nb Nodes=n[8-15]\n",
	  "ib0", "Rail=r0 NIC=ib0 Leaf=x Nodes=n[0-3]\nRail=r0 NIC=ib0\n",
	  "a:n[0-7] b:n[8-15]", "a:- b:-", "",
	  "rails.conf:2: missing key: Leaf" },
};

T_TEST("rails come from the file or from Slurm's topology")
{
	T_EACH(r, rails) {
		char text[1024], got[256] = "", on[256] = "";
		struct np_cluster_map *a, *again;
		size_t len;

		print_lines(r->topology, text);
		len = strlen(text);
		snprintf(text + len, sizeof(text) - len,
			 NP_TOPO_RAILS "%s\nrails.conf\n%s", r->devices,
			 r->file);
		a = make(&ctld, NULL, text, false);
		T_ROW(r->name, a && !strcmp(a->rails_error.text, r->error));
		again = make(&ctld, a, text, false);
		T_ROW("not parsed again", again == a);
		np_cluster_map_unref(again);
		for (size_t k = 0; a && k < a->leaves->n; k++) {
			uint64_t nodes = 0;

			for (uint32_t p = a->leaves->first[k];
			     p < a->leaves->first[k + 1]; p++)
				nodes |= UINT64_C(1) << a->leaves->node[p];
			sprintf(got + strlen(got), "%s%s:%s", k ? " " : "",
				a->leaves->name[k], some_hosts(a, &nodes));
		}
		for (size_t k = 0; a && k < a->leaves->n_switches; k++) {
			const char *rail =
				a->leaves->rail_name[a->leaves->rail[k]];

			sprintf(on + strlen(on), "%s%s:%s", k ? " " : "",
				a->leaves->switch_name[k], rail ? rail : "-");
		}
		T_ROW(r->name,
		      !strcmp(got, r->leaves) && !strcmp(on, r->switches));
		T_ROW(r->name, a && !strcmp(a->warning.text, r->warning));
		np_cluster_map_unref(a);
	}
}

T_TEST("topologies as Slurm forgives them, and several of them")
{
	T_EACH(r, topologies) {
		char text[512], got[256] = "";
		struct np_cluster_map *a;

		print_lines(r->topology, text);
		a = make(&ctld, NULL, text, false);
		T_ROW(r->name, a != NULL);
		for (size_t k = 0; a && k < a->leaves->n; k++) {
			uint64_t nodes = 0;

			for (uint32_t p = a->leaves->first[k];
			     p < a->leaves->first[k + 1]; p++)
				nodes |= UINT64_C(1) << a->leaves->node[p];
			sprintf(got + strlen(got), "%s%s:%s", k ? " " : "",
				a->leaves->name[k], some_hosts(a, &nodes));
		}
		T_ROW(r->name, !strcmp(got, r->want));
		T_ROW(r->name, a && !strcmp(a->warning.text, r->annotation));
		for (size_t k = 0; a && k < a->n_parts; k++)
			T_ROW(r->name,
			      a->part[k].no_leaves ==
				      jobs_are_left_alone(a, a->part[k].name));
		T_ROW(r->name, a && (!r->no_leaves ||
				     jobs_are_left_alone(a, r->no_leaves)));
		T_ROW(r->name,
		      a && (r->no_leaves || !jobs_are_left_alone(a, "big")));
		np_cluster_map_unref(a);
	}
}

T_TEST("Slurm's files and users may name nodes by their hosts")
{
	static char host[4][4] = { "h0", "h1", "h2", "h3" };
	struct np_cluster_map *before, *a;
	uint64_t nodes[1];

	before = make(&ctld, NULL, "", false);
	for (size_t i = 0; i < NP_ARRAY_SIZE(host); i++)
		ctld.node[i].node_hostname = host[i];
	ctld.node[4].node_hostname = ctld.name[5];
	ctld.node[6].node_hostname = ctld.node[7].node_hostname =
		(char *)"both";
	ctld.node[8].node_hostname = ctld.name[8];
	a = make(&ctld, before,
		 "SwitchName=a Level=0 Nodes=h[1-3],n5,both,none\n", false);
	T_CHECK(a && a != before && a->leaves->n == 1);
	memset(nodes, 0, sizeof(nodes));
	for (uint32_t i = 0; a && i < a->leaves->first[1]; i++)
		nodes[0] |= UINT64_C(1) << a->leaves->node[i];
	T_ROW("a leaf", a && some_same(some_hosts(a, nodes), "n[1-3,5-6]"));
	T_ROW("a user's list",
	      a && !np_cluster_map_parse_hostlist(a, "n8,h[0-1],h9", nodes) &&
		      some_same(some_hosts(a, nodes), "n[0-1,8]"));
	np_cluster_map_unref(before);
	np_cluster_map_unref(a);
}

/* Each node has four or eight CPUs, two of a core. */
T_TEST("a job that takes one thread of each core needs more nodes")
{
	struct np_job_requirements required = { .cpus = 16,
						.threads_per_core = 1 };
	uint64_t nodes[1];
	struct np_cluster_map *a;
	struct np_job_fit fit;

	for (size_t i = 0; i < SOME_NODES; i++)
		ctld.node[i].threads = 2;
	a = make(&ctld, ctld.map, ctld.info.topology, false);
	T_ROW("threads changed", a && a != ctld.map);
	if (a && a != ctld.map) {
		np_cluster_map_fit(a, &required, nodes, &fit);
		T_ROW("one thread of a core", fit.min_nodes == 8);
		required.threads_per_core = 2;
		np_cluster_map_fit(a, &required, nodes, &fit);
		T_ROW("both", fit.min_nodes == 4);
	}
	np_cluster_map_unref(a);
}

/* Each node has four or eight CPUs and 2000 or 8000 MB. */
T_TEST("CPUs and memory that jobs may not use are not counted")
{
	struct np_job_requirements by_cpus = { .cpus = 16 };
	struct np_job_requirements by_memory = { .memory_mb = 2000 };
	uint64_t nodes[1];
	struct np_cluster_map *reserved = NULL, *limited = NULL;
	struct np_job_fit fit;

	np_cluster_map_fit(ctld.map, &by_cpus, nodes, &fit);
	T_ROW("all CPUs", fit.min_nodes == 4);
	for (size_t i = 0; i < SOME_NODES; i++) {
		ctld.node[i].cpus_efctv = ctld.node[i].cpus - 1;
		ctld.node[i].mem_spec_limit = 1;
	}
	reserved = make(&ctld, ctld.map, ctld.info.topology, false);
	T_ROW("nodes changed", reserved && reserved != ctld.map);
	np_cluster_map_fit(reserved, &by_cpus, nodes, &fit);
	T_ROW("CoreSpecCount", fit.min_nodes == 6);
	np_cluster_map_fit(reserved, &by_memory, nodes, &fit);
	T_ROW("MemSpecLimit", np_bits_count(nodes, 1) == 4);
	for (size_t i = 0; i < SOME_PARTS; i++)
		ctld.part[i].max_cpus_per_node = 2;
	limited = make(&ctld, reserved, ctld.info.topology, false);
	T_ROW("partitions changed", limited && limited != reserved);
	np_cluster_map_fit(limited, &by_cpus, nodes, &fit);
	T_ROW("MaxCPUsPerNode", fit.min_nodes == 8);
	np_cluster_map_unref(limited);
	np_cluster_map_unref(reserved);
}

/* Before 24.05 Slurm has no such partitions. */
T_TEST("which nodes would do is not known in a partition with ExclusiveTopo")
{
	const struct np_job_requirements batch = { .partition = "batch" };
	const struct np_job_requirements big = { .partition = "big" };
	struct np_cluster_map *map;
	struct np_job_fit fit;
	uint64_t nodes[1];

	if (!PART_FLAG_EXCLUSIVE_TOPO)
		return;
	ctld.part[3].flags |= PART_FLAG_EXCLUSIVE_TOPO;
	map = make(&ctld, ctld.map, ctld.info.topology, false);
	T_ROW("partitions changed", map && map != ctld.map);
	np_cluster_map_fit(map, &big, nodes, &fit);
	T_ROW("of this partition", fit.undetermined);
	np_cluster_map_fit(map, &batch, nodes, &fit);
	T_ROW("not of others", !fit.undetermined);
	np_cluster_map_unref(map);
}

T_TEST("what cannot be is reported")
{
	ctld.nodes.record_count = 0;
	T_ROW("no nodes", !make(&ctld, NULL, "", false));
}

/* More kinds of nodes than are kept apart: none is promised too much. */
T_TEST("a zoo of nodes")
{
	static node_info_t node[NP_CLUSTER_MAP_MAX_KINDS + 10];
	static char name[NP_CLUSTER_MAP_MAX_KINDS + 10][16];
	node_info_msg_t nodes = { .record_count = NP_CLUSTER_MAP_MAX_KINDS + 10,
				  .node_array = node };
	int32_t every[] = { 0, NP_CLUSTER_MAP_MAX_KINDS + 9, -1 };
	partition_info_t part = { .name = (char *)"p",
				  .node_inx = every,
				  .flags = PART_FLAG_DEFAULT };
	partition_info_msg_t parts = { .record_count = 1,
				       .partition_array = &part };
	struct np_job_requirements required = {
		.memory_mb = NP_CLUSTER_MAP_MAX_KINDS + 105
	};
	uint64_t bits[8];
	struct np_cluster_map *map;
	struct np_job_fit fit;
	struct np_err err;

	for (uint32_t i = 0; i < nodes.record_count; i++) {
		snprintf(name[i], sizeof(name[i]), "n%u", i);
		node[i] = (node_info_t){ .name = name[i],
					 .cpus = 4,
					 .real_memory = 100 + i };
	}
	T_CHECK(!np_cluster_map_make(NULL, &nodes, &parts, "", false, &map,
				     &err));
	T_CHECK(!np_cluster_map_fit(map, &required, bits, &fit));
	T_CHECK(some_same(some_hosts(map, bits), ""));
	required.memory_mb = 100 + NP_CLUSTER_MAP_MAX_KINDS - 1;
	T_CHECK(!np_cluster_map_fit(map, &required, bits, &fit));
	T_CHECK(some_same(some_hosts(map, bits), "n[255-265]"));
	np_cluster_map_unref(map);
}

/* Numbers that begin before the bracket are looked up one by one. */
T_TEST("few bytes of a user's list do not take long on a large cluster")
{
	enum { N = NP_CLUSTER_MAP_MAX_EXPANDED };
	static node_info_t node[N];
	static char name[N][16];
	static uint64_t bits[N / NP_BITS_WORD];
	node_info_msg_t nodes = { .record_count = N, .node_array = node };
	partition_info_msg_t parts = { .record_count = 0 };
	struct np_cluster_map *map;
	struct np_err err;

	for (uint32_t i = 0; i < N; i++) {
		snprintf(name[i], sizeof(name[i]), "n%06u", i);
		node[i] = (node_info_t){ .name = name[i], .cpus = 1 };
	}
	T_CHECK(!np_cluster_map_make(NULL, &nodes, &parts, "", false, &map,
				     &err));
	T_ROW("as many names as are allowed",
	      !np_cluster_map_parse_hostlist(map, "n00[0000-4095]", bits) &&
		      np_bits_count(bits, NP_ARRAY_SIZE(bits)) == N);
	T_ROW("one more",
	      np_cluster_map_parse_hostlist(map, "n00[0000-4095],n00[0000]",
					    bits) == -EINVAL);
	T_ROW("names without brackets",
	      !np_cluster_map_parse_hostlist(map, "n00[0000-4095],n000000",
					     bits));
	T_ROW("spans",
	      !np_cluster_map_parse_hostlist(
		      map, "n[000000-004095],n[000000-004095]", bits) &&
		      np_bits_count(bits, NP_ARRAY_SIZE(bits)) == N);
	np_cluster_map_unref(map);
}

#include "t.h"
#include "np_topology.h"

static char warned[1024];

static void warn(const char *line, void *arg)
{
	(void)arg;
	strncat(warned, line, sizeof(warned) - strlen(warned) - 2);
	strcat(warned, "\n");
}

static int conf_bytes(const char *bytes, size_t len,
		      struct np_topology_conf *out, struct np_err *err)
{
	const char *path = t_write("topology.conf", bytes, len);

	warned[0] = '\0';
	return np_topology_conf_read(path, warn, NULL, out, err);
}

static int conf(const char *text, struct np_topology_conf *out,
		struct np_err *err)
{
	return conf_bytes(text, strlen(text), out, err);
}

/* hops: from n0 to n0, n1 and so on; "-" if there is no path. */
/* clang-format off */
static const struct {
	const char *name, *text, *hops, *warns;
} good[] = {
	{ "one switch", "SwitchName=s0 Nodes=n[0-2]\n", "011", "" },
	{ "a tree, the lines in any order", "SwitchName=s0 Nodes=n[0-1] "
	  "LinkSpeed=7\nswitchname=top switches=s[0-1]\n\n"
	  "SwitchName=s1 Nodes=n2,n3", "0133", "" },
	{ "blanks around equals signs", "SwitchName = s0 Nodes = n[0-1]\n"
	  "SwitchName=s1 Nodes =n[2-3]\nSwitchName=t Switches= s[0-1]\n",
	  "0133", "" },
	{ "quoted lists with blanks", "SwitchName=s0 Nodes=\"n0, n1\"\n"
	  "SwitchName=s1 Nodes=\"n[2-3]\"\nSwitchName=t Switches=\"s0, s1\"\n",
	  "0133", "" },
	{ "continued lines", "SwitchName=s0 \\\n Nodes=n0,\\\nn1\n"
	  "SwitchName=s1 Nodes=n[2-3]\nSwitchName=t \\\r\n Switches=s[0-1]\r\n",
	  "0133", "" },
	{ "the later of two values", "SwitchName=s0 Nodes=n0 Nodes=n[0-1]\n",
	  "01", "" },
	{ "names with dots", "SwitchName=rack0.ib Nodes=n[0-1]\n"
	  "SwitchName=rack1.ib Nodes=n2\nSwitchName=t Switches=rack0.ib,rack1.ib\n",
	  "013", "" },
	{ "speeds as Slurm takes them", "SwitchName=s0 Nodes=n0 LinkSpeed=10K\n"
	  "SwitchName=s1 Nodes=n1 LinkSpeed=4294967295\n"
	  "SwitchName=t Switches=s[0-1] LinkSpeed=UNLIMITED\n", "03", "" },
	{ "what counts as a speed, too", "SwitchName=s0 Nodes=n0 LinkSpeed=0x10\n"
	  "SwitchName=s1 Nodes=n1 LinkSpeed=\"\"\n"
	  "SwitchName=t Switches=s[0-1] LinkSpeed=K\n", "03", "" },
	{ "text after the last bracket", "SwitchName=s0.ib Nodes=n[0-1]\n"
	  "SwitchName=s1.ib Nodes=n[2-3]\nSwitchName=t Switches=s[0-1].ib\n",
	  "0133", "topology.conf:3: text after the last bracket of a name: "
	  "slurmctld rejects it before Slurm 23.11\n" },
	{ "empty names in lists", "SwitchName=s0 Nodes=,n0,,n1,\n", "01", "" },
	{ "form feeds and vertical tabs", "SwitchName=s0\fNodes=n0,n1\v\n", "01",
	  "" },
	{ "a comment with the sign of continuation, which does not count there",
	  "SwitchName=s0 Nodes=n[0-1] # \\\nSwitchName=s1 Nodes=n2\n", "01-",
	  "" },
	{ "a last line that is continued", "SwitchName=s0 Nodes=n[0-1] \\",
	  "01", "" },
	{ "a switch without children", "SwitchName=s0 Nodes=n[0-1]\n"
	  "SwitchName=s1\nSwitchName=t Switches=s[0-1]\n", "01",
	  "topology.conf:2: s1 has neither Nodes nor Switches: slurmctld rejects "
	  "it\n" },
	{ "trees without a common root", "SwitchName=s0 Nodes=n[0-1]\n"
	  "SwitchName=s1 Nodes=n[2-3]\n", "01--", "" },
	{ "a node on two switches", "SwitchName=s0 Nodes=n[0-1]\n"
	  "SwitchName=s1 Nodes=n[1-3]\nSwitchName=t Switches=s[0-1]\n", "0133",
	  "topology.conf:2: node n1 is on s0 and s1: the first is used\n" },
	{ "blanks and open ranges in brackets", "SwitchName=s0 Nodes=\"n[0- 1]"
	  "\"\nSwitchName=s1 Nodes=n[2-]\nSwitchName=t Switches=\"s[0-\t1]\"\n",
	  "013", "" },
	{ "several nodes on two switches", "SwitchName=s0 Nodes=n[0-2]\n"
	  "SwitchName=s1 Nodes=n[0-3]\nSwitchName=t Switches=s[0-1]\n", "0113",
	  "node n0 is on s0 and s1: the first is used (2 more like it)\n" },
	{ "a node twice on one switch", "SwitchName=s0 Nodes=n0,n[0-1],n1\n",
	  "01", "" },
	{ "a switch below two", "SwitchName=s0 Nodes=n0\n"
	  "SwitchName=s1 Nodes=n1\nSwitchName=t Switches=s[0-1]\n"
	  "SwitchName=u Switches=s[0-1]\n", "03",
	  "topology.conf:4: switch s0 is below t and u: the first is used (1 "
	  "more like it)\n" },
	{ "what scontrol prints", "SwitchName=s0 Level=0 LinkSpeed=1 "
	  "Nodes=n[0-1], n2\nSwitchName=t Level=1 LinkSpeed=1 Nodes=n[0-3] "
	  "Switches=s[0-1]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n3\n",
	  "0113", "" },
};
/* clang-format on */

T_TEST("the trees of a cluster")
{
	T_EACH(r, good) {
		struct np_topology_conf c;
		struct np_err err = NP_ERR_INIT;
		char hops[16] = "", name[8], want[16];

		T_ROW(r->name, !conf(r->text, &c, &err));
		if (err.text[0])
			continue;
		for (uint32_t k = 0; k < np_topology_nodes(c.topology); k++) {
			uint32_t n = np_topology_hops(c.topology, 0, k);

			hops[k] = n == NP_TOPOLOGY_APART ? '-' :
							   (char)('0' + n);
			snprintf(want, sizeof(want), "n%u", k);
			T_ROW(r->name, !strcmp(want, np_topology_conf_node(
							     &c, k, name,
							     sizeof(name))));
		}
		T_ROW(r->name, !strcmp(hops, r->hops));
		T_ROW(r->name,
		      !*r->warns ? !*warned : !!strstr(warned, r->warns));
		np_topology_conf_free(&c);
	}
}

/* clang-format off */
static const struct {
	const char *name, *text, *says;
} bad[] = {
	{ "nothing", "", "topology.conf: no switch has nodes" },
	{ "nodes of no switch", "\nNodes=n0\n", "topology.conf:2: Nodes: "
	  "unknown key, expected SwitchName" },
	{ "a key that is misspelt", "SwitchName=s Node=n0\n", ":1: Node: "
	  "unknown key, expected Nodes, Switches or LinkSpeed" },
	{ "a word that is no pair", "SwitchName=s Nodes=n0, n1\n", ":1: n1: "
	  "expected Key=Value, and quotes" },
	{ "a line that is no pair", "# c\nswitches\n", ":2: switches: "
	  "expected SwitchName=NAME" },
	{ "a speed that is no number", "SwitchName=s Nodes=a LinkSpeed=fast\n",
	  ":1: fast: expected a LinkSpeed" },
	{ "a speed below 0", "SwitchName=s Nodes=a LinkSpeed=-1\n", ":1: -1: "
	  "expected a LinkSpeed" },
	{ "a speed that is too high", "SwitchName=s Nodes=a LinkSpeed="
	  "4294967296\n", ":1: 4294967296: expected a LinkSpeed" },
	{ "a speed with a unit", "SwitchName=s Nodes=a LinkSpeed=10Kb\n",
	  ":1: 10Kb: expected a LinkSpeed" },
	{ "a speed with a unit that Slurm does not know",
	  "SwitchName=s Nodes=a LinkSpeed=10M\n", ":1: 10M: expected a "
	  "LinkSpeed" },
	{ "a speed that is too high with its unit", "SwitchName=s Nodes=a "
	  "LinkSpeed=4194304K\n", ":1: 4194304K: expected a LinkSpeed" },
	{ "a function of nodes", "SwitchName=s Nodes=n0,feature{ib}\n",
	  ":1: n0,feature{ib}: expected a list" },
	{ "single quotes", "SwitchName=s Nodes='n[0-3]'\n", ":1: 'n[0-3]': "
	  "expected a list" },
	{ "a key behind a quote", "SwitchName=s Nodes=\"n[0-3]\"LinkSpeed=1\n",
	  ":1: \"n[0-3]\"LinkSpeed=1: expected a list" },
	{ "all nodes", "SwitchName=s Nodes=ALL\n", ":1: ALL: expected the "
	  "names of nodes" },
	{ "a letter in brackets", "SwitchName=a.ib Nodes=n0\n"
	  "SwitchName=t Switches=[a].ib\n", ":2: [a].ib: expected a list" },
	{ "a semicolon", "SwitchName=s Nodes=n0;n1\n", ":1: n0;n1: "
	  "expected a list" },
	{ "a comment within quotes", "SwitchName=\"s#0\" Nodes=n0\n", ":1: \"s: "
	  "expected the name of a switch" },
	{ "a switch without a name", "SwitchName= Nodes=n[0-3]\n",
	  ":1: Nodes=n[0-3]: expected the name of a switch" },
	{ "a key without a value", "SwitchName=s Nodes=a Switches=\n",
	  ":1: Switches=: expected Key=Value" },
	{ "the blocks of topology/block", "BlockName=b0 Nodes=n[0-7]\n",
	  ":1: BlockName: blocks of topology/block are not supported" },
	{ "a list that is none", "SwitchName=s Nodes=n[0-", ":1: n[0-: "
	  "expected a list" },
	{ "nodes and switches", "SwitchName=a Nodes=x\nSwitchName=b Nodes=y "
	  "Switches=a\n", ":2: b has both Nodes and Switches" },
	{ "a switch twice", "SwitchName=s Nodes=a\nSwitchName=s Nodes=b\n",
	  ":2: s is defined twice" },
	{ "a switch that no line has", "SwitchName=a Nodes=x\n\n"
	  "SwitchName=t Switches=a,b\n", "topology.conf:3: t names b, which no "
	  "line defines" },
	{ "a switch below itself", "SwitchName=a Nodes=x\n"
	  "SwitchName=t Switches=a,t\n", ":2: t is below itself" },
	{ "more nodes than there are", "SwitchName=s Nodes=n[0-99999]\n",
	  ":1: more than 65536" },
	{ "a circle", "SwitchName=a Switches=b\nSwitchName=b Switches=a\n"
	  "SwitchName=c Nodes=x\n", "switch a is above itself" },
	{ "a byte-order mark", "\xef\xbb\xbfSwitchName=s Nodes=n0\n",
	  "topology.conf:1: begins with a byte-order mark" },
	{ "an execution graph", "num_ranks 2\n", "topology.conf:1: expected a "
	  "topology.conf of Slurm, got an execution graph in GOAL" },
	{ "JSON", "{\"a\":1}\n", "topology.conf: is JSON or YAML, which is "
	  "not read" },
	{ "a topology.yaml with its first key on another line",
	  "# one\n-\n  topology: default\n", "topology.conf: is YAML" },
	{ "YAML that is not a list", "  topology: default\n",
	  "topology.conf: is YAML" },
	{ "a topology.yaml", "# one\n- topology: default\n  tree:\n",
	  "topology.conf: is YAML, which is not read" },
};
/* clang-format on */

T_TEST("what slurmctld rejects is rejected with file and line")
{
	struct np_err err = NP_ERR_INIT;
	struct np_topology_conf c;

	T_EACH(r, bad)
		T_ROW(r->name,
		      conf(r->text, &c, &err) && strstr(err.text, r->says));
	T_CHECK(np_topology_conf_read("/nonexistent", warn, NULL, &c, &err) ==
		-ENOENT);
}

/* A short file may list more names than anyone waits for. */
T_TEST("lists of very many names are rejected")
{
	struct np_err err = NP_ERR_INIT;
	struct np_topology_conf c;
	char text[1024] = "";

	for (int i = 0; i < 17; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "SwitchName=s%d Nodes=n[0-65535]\n", i);
	T_CHECK(conf(text, &c, &err) == -E2BIG);
	T_CHECK(!!strstr(err.text, ":17: more than 65536 switches or nodes"));
}

/* A NUL hides the rest of its line, which is said; or the file is rejected. */
T_TEST("a NUL ends a line, as for slurmctld")
{
	static const char text[] = "SwitchName=s0 Nodes=n0\0,n1\n"
				   "SwitchName=s1 Nodes=n2\n";
	static const char wide[] = "S\0w\0i\0t\0c\0h\0";
	static const char hidden[] = "SwitchName=s0 Nodes=n0\n\0SwitchName=s1 "
				     "Nodes=n1\nSwitchName=t Switches=s0,s1\n";
	struct np_err err = NP_ERR_INIT;
	struct np_topology_conf c;

	T_CHECK(!conf_bytes(text, sizeof(text) - 1, &c, &err));
	T_CHECK(np_topology_nodes(c.topology) == 2);
	T_CHECK(!!strstr(warned, "topology.conf:1: a NUL character: like "
				 "Slurm, this skips the rest of the line\n"));
	np_topology_conf_free(&c);
	T_CHECK(conf_bytes(hidden, sizeof(hidden) - 1, &c, &err) == -EINVAL);
	T_CHECK(!!strstr(err.text, "topology.conf:2: a NUL character"));
	T_ROW("UTF-16", conf_bytes(wide, sizeof(wide), &c, &err) == -EINVAL);
	T_CHECK(!!strstr(err.text, "topology.conf:1: a NUL character"));
}

/* It hides nothing: what is wrong with the file itself is named. */
T_TEST("an Include that nothing follows is read and warned of")
{
	static const char taken[] = "SwitchName=s0 Nodes=n[0-1]\nInclude more";
	static const char refused[] = "SwitchName=t Switches=s9\nInclude more";
	struct np_err err = NP_ERR_INIT;
	struct np_topology_conf c;

	t_write_text("more", "SwitchName=s1 Nodes=n2\n");
	T_CHECK(!conf(taken, &c, &err));
	T_CHECK(np_topology_nodes(c.topology) == 3);
	T_CHECK(!!strstr(warned, "topology.conf:2: Include: no blank"));
	np_topology_conf_free(&c);
	T_CHECK(conf(refused, &c, &err) == -EINVAL);
	T_CHECK(!!strstr(err.text, "topology.conf:1: t names s9"));
}

/*
 * The inputs of netprof simulate.
 *
 *	jobs		a log in the Standard Workload Format, or of sacct
 *	cluster		--leaves, a topology file, or scontrol
 *	queue		the jobs of the log on this cluster
 *	profiles	which application each job is, and the slowdown matrix
 *	policies	modes of placement with their settings
 *
 * They are read in this order, because each needs the ones before it.  The
 * readers return -1 to go on, or the exit status after printing why.
 *
 * Slowdowns come from a table of pairs or from the same catalogue of profiles
 * that the placement plugin uses, so that the simulation decides as it would.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_check.h"
#include "cli_predictions.h"
#include "cli_profile.h"
#include "cli_simulate.h"
#include "np_array.h"
#include "np_bits.h"
#include "np_catalog.h"
#include "np_fabric_store.h"
#include "np_hostlist.h"
#include "np_read.h"
#include "np_slurm_file.h"
#include "np_topo.h"

#define MAX_ANSWER (16u << 20)	  /* output of Slurm's commands, bytes */
#define MAX_RULES_FILE (1u << 20) /* bytes */
#define MAX_NEGLIGIBLE 0.01	  /* slowdowns up to this count as none */
#define MAX_LEVELS 16		  /* of switches above leaf switches */
#define SCONTROL_SEC 20		  /* timeout */
#define CATALOG_SEC 120		  /* timeout for all predictions */

/* ---- jobs ---- */

/* The output of sacct may be long, so it is read from a pipe. */
static int read_accounting(struct cli_simulate *s, struct np_err *err)
{
	static const char *const unit = "dhmw";
	const char *last = s->o->last;
	size_t digits = strspn(last, "0123456789");
	static const char *const name[] = { "days", "hours", "minutes",
					    "weeks" };
	const char *u = digits && digits < 6 && last[digits] &&
		!last[digits + 1] ? strchr(unit, last[digits]) : NULL;
	char command[512];
	FILE *f;
	int rc;

	if (!u)
		return np_errf(err, -EINVAL, "--last=%.40s: expected a time "
			       "such as 30d, 12h or 4w", last);
	snprintf(command, sizeof(command), "SLURM_TIME_FORMAT=%%s exec sacct -a "
		 "-X -P -S now-%.*s%s -o JobID,User,Account,JobName,Partition,"
		 "Submit,Start,End,ElapsedRaw,TimelimitRaw,NNodes,NCPUS,State,"
		 "Priority,Reservation,SubmitLine </dev/null", (int)digits,
		 last, name[u - unit]);
	/* The command begins with exec: pclose() waits for sacct itself. */
	f = popen(command, "re");
	if (!f)
		return np_errf(err, -errno, "sacct: %s", strerror(errno));
	/* The reader closes its descriptor, and pclose() the other one. */
	rc = np_queue_log_read_fd(dup(fileno(f)), "sacct", cli_warn_line, NULL,
				  &s->log, err);
	if (pclose(f) && rc)
		np_errf(err, rc, "sacct returned no jobs: is accounting "
			"enabled?  (netprof check)");
	return rc;
}

/* Read the log, or the accounting, into s->log. */
static int read_jobs(struct cli_simulate *s)
{
	const char *path = s->o->swf ? s->o->swf : s->o->sacct;
	struct np_err err = NP_ERR_INIT;
	int rc = path ? np_queue_log_read(path, cli_warn_line, NULL, &s->log,
					  &err) :
			read_accounting(s, &err);

	if (rc)
		return cli_fail("%s", err.text);
	snprintf(s->source, sizeof(s->source), "%s%s",
		 path ? path : "accounting, last ", path ? "" : s->o->last);
	return -1;
}

/* ---- the cluster ---- */

/* Leaf switches and the numbers of their nodes, and the switches above them. */
struct map {
	struct np_index nodes;
	struct leaf {
		char name[64];
		uint32_t *node;
		size_t n;
		size_t number; /* in the form of the placement decision */
	} *leaf;
	size_t n;
	struct above {
		char name[64];
		char *children; /* list of switches, of either kind */
		uint32_t level; /* 0: its leaves are not known yet */
		uint64_t *leaves;
	} *above;
	size_t n_above;
	size_t words; /* of a bitmap of leaves */
};

/* Free what the readers of topologies collected. */
static void map_free(struct map *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->leaf[i].node);
	for (size_t i = 0; i < m->n_above; i++)
		free(m->above[i].children);
	free(m->leaf);
	free(m->above);
	np_index_free(&m->nodes);
}

/* A node that is listed under several leaves is put on the first. */
static int add_node(void *arg, const char *name)
{
	struct map *m = arg;
	struct leaf *l = &m->leaf[m->n - 1];
	size_t before = m->nodes.n;
	uint32_t node = np_index_get(&m->nodes, name, strlen(name));

	/* Known already: the node is under an earlier leaf. */
	if (m->nodes.n == before)
		return node == NP_NO_INDEX ? -ENOMEM : 0;
	if (m->nodes.n > NP_LEAVES_MAX_NODES)
		return -E2BIG;
	if (np_array_grow(&l->node, l->n, sizeof(*l->node)))
		return -ENOMEM;
	l->node[l->n++] = node;
	return 0;
}

/* Expand a node list into the last leaf of the map. */
static int add_nodes(struct map *m, const char *list)
{
	size_t len;
	int rc = 0;

	while (!rc && (len = np_hostlist_word(&list))) {
		rc = np_hostlist_walk(list, len, add_node, m);
		list += len;
	}
	return rc;
}

/* Append a leaf switch with its nodes. */
static int add_leaf(struct map *m, const char *name, const char *nodes)
{
	if (np_array_grow(&m->leaf, m->n, sizeof(*m->leaf)))
		return -ENOMEM;
	m->leaf[m->n] = (struct leaf){ .n = 0 };
	snprintf(m->leaf[m->n++].name, sizeof(m->leaf->name), "%s", name);
	return add_nodes(m, nodes);
}

/* Append a switch above other switches. */
static int add_above(struct map *m, const char *name, const char *children)
{
	struct above *w;

	if (np_array_grow(&m->above, m->n_above, sizeof(*m->above)))
		return -ENOMEM;
	w = &m->above[m->n_above];
	*w = (struct above){ .children = strdup(children) };
	snprintf(w->name, sizeof(w->name), "%s", name);
	m->n_above += w->children != NULL;
	return w->children ? 0 : -ENOMEM;
}

/*
 * Handle one line of topology.conf, or of scontrol, which also has the nodes
 * below a switch of switches.
 */
static int take_switch(void *arg, const struct np_slurm_line *line,
		       struct np_err *err)
{
	const char *name = NULL, *nodes = NULL, *switches = NULL;
	struct np_slurm_pair p;
	char *text = line->text;
	int rc;

	/* Other keys of the line, such as LinkSpeed=, do not matter here. */
	while (np_slurm_pair(&text, &p)) {
		if (!strcasecmp(p.key, "SwitchName") ||
		    !strcasecmp(p.key, "BlockName"))
			name = p.value;
		else if (!strcasecmp(p.key, "Nodes"))
			nodes = p.value;
		else if (!strcasecmp(p.key, "Switches"))
			switches = p.value;
	}
	if (name && switches)
		return add_above(arg, name, switches);
	if (!name || !nodes)
		return 0;
	rc = add_leaf(arg, name, nodes);
	return rc ? np_errf(err, rc, "%s:%u: not a node list, or too long: "
			    "%.64s", line->path, line->number, nodes) : 0;
}

/*
 * Find the next of the keys in YAML text and copy its value, one word; *at
 * moves behind it.  false: there is none.
 */
static bool yaml_value(const char **at, const char *const key[], char *buf,
		       size_t len)
{
	const char *best = NULL;
	size_t n;

	for (int i = 0; key[i]; i++) {
		const char *p = *at;

		/*
		 * A key within a longer word, such as "subnodes:", is not
		 * meant.
		 */
		while ((p = strstr(p, key[i])) && p > *at &&
		       (isalnum((unsigned char)p[-1]) || p[-1] == '_'))
			p++;
		if (p && (!best || p < best))
			best = p + strlen(key[i]);
	}
	if (!best)
		return false;
	best += strspn(best, " \t");
	n = *best == '"' || *best == '\'' ? strcspn(++best, "\"'\n") :
					    strcspn(best, ",}\n \t");
	*at = best + n;
	snprintf(buf, len, "%.*s", (int)(n < len ? n : len - 1), best);
	return true;
}

/* One switch of topology.yaml: its text, from the name to the next one's. */
static int take_yaml_switch(struct map *m, const char *path, const char *name,
			    const char *text, struct np_err *err)
{
	static const char *const nodes_key[] = { "nodes:", NULL };
	static const char *const children_key[] = { "children:", NULL };
	const size_t size = strlen(text) + 1;
	char *list = malloc(size);
	const char *at = text;
	int rc = list ? 0 : -ENOMEM;

	if (list && yaml_value(&at, nodes_key, list, size)) {
		rc = add_leaf(m, name, list);
		if (rc)
			np_errf(err, rc, "%s: %.64s: not a node list, or too "
				"long: %.64s", path, name, list);
	} else if (list && yaml_value(&at, children_key, list, size)) {
		rc = add_above(m, name, list);
	}
	free(list);
	return rc;
}

/* topology.yaml: "switch: leaf0" or "block: b0", followed by "nodes: ...". */
static int read_yaml(struct map *m, const char *path, struct np_err *err)
{
	static const char *const key[] = { "switch:", "block:", NULL };
	char name[64], next[64], *text, *part;
	const char *at, *end;
	size_t len;
	int rc = np_slurm_text(path, MAX_ANSWER, &text, &len, err);
	bool more;

	if (rc)
		return rc;
	at = text;
	more = yaml_value(&at, key, name, sizeof(name));
	while (!rc && more) {
		end = at;
		more = yaml_value(&end, key, next, sizeof(next));
		part = strndup(at, more ? (size_t)(end - at) : strlen(at));
		rc = part ? take_yaml_switch(m, path, name, part, err) :
			    -ENOMEM;
		free(part);
		at = end;
		memcpy(name, next, sizeof(name));
	}
	free(text);
	return rc;
}

/* A topology file, in YAML if its name ends in .yaml. */
static int read_topology(struct map *m, const char *path, struct np_err *err)
{
	size_t len = strlen(path);
	int rc = len > 5 && !strcmp(path + len - 5, ".yaml") ?
		read_yaml(m, path, err) :
		np_slurm_file(path, NULL, take_switch, m, err);

	if (!rc && !m->n)
		rc = np_errf(err, -EINVAL, "%s: no leaf switch with nodes",
			     path);
	return rc;
}

/* The switches above groups of leaves, and one above all. */
static int make_groups(struct map *m, unsigned groups, unsigned leaves)
{
	char name[64], list[64];
	int rc = 0;

	for (unsigned i = 0; !rc && i < groups; i++) {
		snprintf(name, sizeof(name), "group%u", i);
		snprintf(list, sizeof(list), "leaf[%u-%u]", i * leaves,
			 (i + 1) * leaves - 1);
		rc = add_above(m, name, list);
	}
	return rc;
}

/* text: leaves and nodes of each, "64x32", or groups of these, "4x16x32" */
static int make_leaves(struct map *m, const char *text, struct np_err *err)
{
	unsigned groups = 0, leaves = 0, nodes = 0;
	char name[64], list[64];
	int end = 0, rc = 0;

	sscanf(text, "%5ux%5ux%5u%n", &groups, &leaves, &nodes, &end);
	if (!end) {
		groups = 0;
		sscanf(text, "%5ux%5u%n", &leaves, &nodes, &end);
	} else if (!groups) {
		end = 0;
	}
	if (!end || text[end] || !leaves || !nodes || nodes > NP_LEAF_MAX_NODES ||
	    (uint64_t)leaves * (groups ? groups : 1) > NP_LEAVES_MAX ||
	    (uint64_t)leaves * (groups ? groups : 1) * nodes >
	    NP_LEAVES_MAX_NODES)
		return np_errf(err, -EINVAL, "--leaves=%.40s: expected leaves "
			       "and nodes on each, such as 64x32, or groups of "
			       "leaves, such as 4x16x32", text);
	/* Nodes are numbered through all leaves, as on a real cluster. */
	for (unsigned i = 0; !rc && i < leaves * (groups ? groups : 1); i++) {
		snprintf(name, sizeof(name), "leaf%u", i);
		snprintf(list, sizeof(list), "n[%u-%u]", i * nodes,
			 (i + 1) * nodes - 1);
		rc = add_leaf(m, name, list);
	}
	if (!rc)
		rc = make_groups(m, groups, leaves);
	return rc ? np_errf(err, rc, "out of memory") : 0;
}

/* Take the switches above leaves from what scontrol printed. */
static int take_above(struct map *m, char *text, struct np_err *err)
{
	char *save = NULL;
	int rc = 0;

	for (char *line = strtok_r(text, "\n", &save); !rc && line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct np_slurm_line l = { "scontrol", 0, line };

		if (strstr(line, "Switches="))
			rc = take_switch(m, &l, err);
	}
	return rc;
}

/* The current topology, by scontrol. */
static int ask_topology(struct map *m, struct np_err *err)
{
	static char *const argv[] = { "scontrol", "show", "topology", NULL };
	char *text = malloc(MAX_ANSWER);
	struct np_topo t = { .n = 0 };
	int rc;

	if (!text)
		return np_errf(err, -ENOMEM, "out of memory");
	if (cli_spawn(argv, SCONTROL_SEC, text, MAX_ANSWER))
		rc = np_errf(err, -ENODATA, "Slurm does not answer; describe "
			     "the cluster with --leaves=64x32 or "
			     "--topology=topology.conf");
	else
		rc = np_topo_parse(text, &t, err);
	for (size_t i = 0; !rc && i < t.n; i++)
		rc = add_leaf(m, t.leaf[i].name, t.leaf[i].nodes);
	if (!rc && !m->n)
		rc = np_errf(err, -ENODATA, "Slurm has no leaf switches; "
			     "describe the cluster with --leaves=64x32 or "
			     "--topology=topology.conf");
	if (!rc)
		rc = take_above(m, text, err);
	np_topo_free(&t);
	free(text);
	return rc;
}

/*
 * Turn the map into the form of the placement decision, without empty leaves.
 */
static int build_leaves(struct cli_simulate *s, struct map *m,
			struct np_err *err)
{
	struct np_leaf *leaf = calloc(m->n + 1, sizeof(*leaf));
	size_t n = 0;
	int rc;

	if (!leaf)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < m->n; i++) {
		m->leaf[i].number = n;
		if (m->leaf[i].n)
			leaf[n++] = (struct np_leaf){ m->leaf[i].name,
						      m->leaf[i].node,
						      m->leaf[i].n };
	}
	rc = np_leaves_new(m->nodes.n, leaf, n, &s->leaves, err);
	free(leaf);
	return rc;
}

/* The switch whose children are collected. */
struct collect {
	struct map *m;
	struct above *to;
	unsigned depth; /* of switches above each other */
};

static int collect(struct map *m, struct above *w, unsigned depth);

/* Add the leaves of a child to a switch; unknown children have none. */
static int add_child(void *arg, const char *name)
{
	const struct collect *c = arg;
	struct map *m = c->m;
	int rc;

	for (size_t i = 0; i < m->n; i++)
		if (m->leaf[i].n && !strcmp(m->leaf[i].name, name))
			np_bits_set(c->to->leaves, m->leaf[i].number);
	for (size_t i = 0; i < m->n_above; i++) {
		struct above *w = &m->above[i];

		if (strcmp(w->name, name))
			continue;
		rc = collect(m, w, c->depth + 1);
		if (rc)
			return rc;
		np_bits_or(c->to->leaves, w->leaves, m->words);
		if (c->to->level <= w->level)
			c->to->level = w->level + 1;
	}
	return 0;
}

/* Find out which leaves are below a switch, and its level. */
static int collect(struct map *m, struct above *w, unsigned depth)
{
	struct collect c = { m, w, depth };
	const char *list = w->children;
	size_t len;
	int rc = 0;

	if (w->level)
		return 0;
	if (depth > MAX_LEVELS)
		return -EINVAL;
	while (!rc && (len = np_hostlist_word(&list))) {
		rc = np_hostlist_walk(list, len, add_child, &c);
		list += len;
	}
	if (!w->level)
		w->level = 1;
	return rc;
}

/* The switches above leaves, as the simulation has them. */
static int build_switches(struct cli_simulate *s, struct map *m,
			  struct np_err *err)
{
	struct np_sim_switch *to = calloc(m->n_above + 1, sizeof(*to));
	int rc = 0;

	m->words = s->leaves->words;
	s->above = to;
	s->above_leaves = calloc(m->n_above * m->words + 1, sizeof(uint64_t));
	if (!to || !s->above_leaves)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < m->n_above; i++)
		m->above[i].leaves = s->above_leaves + i * m->words;
	for (size_t i = 0; !rc && i < m->n_above; i++) {
		rc = collect(m, &m->above[i], 1);
		if (rc)
			return np_errf(err, rc, "switch %s: not a list of "
				       "switches, or more than %d levels: "
				       "%.64s", m->above[i].name, MAX_LEVELS,
				       m->above[i].children);
		to[i] = (struct np_sim_switch){ m->above[i].level,
						m->above[i].leaves };
	}
	s->cluster.above = to;
	s->cluster.n_switches = m->n_above;
	return 0;
}

/* A log does not say which nodes a partition has, so each has all of them. */
static int make_partitions(struct cli_simulate *s)
{
	size_t words = s->leaves->node_words;

	s->sets = calloc(words, sizeof(*s->sets));
	s->partition_of = calloc(s->log.text.n + 1, sizeof(uint32_t));
	if (!s->sets || !s->partition_of)
		return cli_fail("out of memory");
	/* One set of all nodes serves for every partition. */
	for (size_t i = 0; i < s->leaves->n_nodes; i++)
		np_bits_set(s->sets, i);
	for (size_t i = 0; i < s->log.n; i++) {
		uint32_t text = s->log.job[i].partition;

		if (text == NP_QUEUE_NONE || s->partition_of[text])
			continue;
		/* The last partition takes all that are beyond the limit. */
		if (s->cluster.n_partitions + 1 < NP_SIM_MAX_PARTITIONS)
			s->cluster.n_partitions++;
		else
			s->merged++;
		s->partition_of[text] = (uint32_t)s->cluster.n_partitions;
	}
	if (!s->cluster.n_partitions)
		s->cluster.n_partitions = 1;
	for (size_t i = 0; i < s->cluster.n_partitions; i++)
		s->partition[i] = s->sets;
	s->cluster.partition = s->partition;
	return -1;
}

/*
 * The cluster from --leaves, --topology or Slurm, with the processors of each
 * node.
 */
static int read_cluster(struct cli_simulate *s)
{
	const struct cli_sim_ask *o = s->o;
	struct np_err err = NP_ERR_INIT;
	struct map m = { .n = 0 };
	int rc = o->leaves ? make_leaves(&m, o->leaves, &err) :
		 o->topology ? read_topology(&m, o->topology, &err) :
			       ask_topology(&m, &err);

	if (!rc)
		rc = build_leaves(s, &m, &err);
	if (!rc)
		rc = build_switches(s, &m, &err);
	map_free(&m);
	if (rc)
		return cli_fail("%s", err.text);
	s->cluster.leaves = s->leaves;
	s->cluster.cpus = o->cpus;
	/* A Standard Workload Format log has the machine in its header. */
	if (!o->cpus && s->log.max_nodes && s->log.max_procs)
		s->cluster.cpus = s->log.max_procs / s->log.max_nodes;
	if (!s->cluster.cpus)
		s->cluster.cpus = 1;
	if (s->cluster.cpus > NP_SIM_MAX_CPUS)
		s->cluster.cpus = NP_SIM_MAX_CPUS;
	snprintf(s->cluster_text, sizeof(s->cluster_text),
		 "%zu nodes with %u processor%s each, on %zu leaf switches",
		 s->leaves->n_nodes, s->cluster.cpus,
		 s->cluster.cpus == 1 ? "" : "s", s->leaves->n);
	if (s->cluster.n_switches)
		cli_add(s->cluster_text, sizeof(s->cluster_text), " below %zu "
			"other%s", s->cluster.n_switches,
			s->cluster.n_switches == 1 ? "" : "s");
	return make_partitions(s);
}

/* ---- the queue: jobs of the log on this cluster ---- */

/*
 * Nodes and processors of a job. Jobs that need less than a node share nodes.
 */
static void set_size(const struct cli_simulate *s,
		     const struct np_queue_job *from, struct np_sim_job *j)
{
	uint32_t per = s->cluster.cpus;

	/* A log may have only processors; then whole nodes are filled. */
	j->nodes = from->nodes ? from->nodes : (from->cpus + per - 1) / per;
	if (from->cpus && j->nodes == 1 && from->cpus < per)
		j->cpus = from->cpus;
	else if (from->nodes && from->cpus &&
		 (from->cpus + j->nodes - 1) / j->nodes < per)
		j->cpus = (from->cpus + j->nodes - 1) / j->nodes;
}

/* Translate the jobs of the log into jobs of the simulation. */
static int make_queue(struct cli_simulate *s)
{
	bool priorities = s->log.priorities && !s->o->by_submission &&
			  !s->o->fair;

	s->job = calloc(s->log.n + 1, sizeof(*s->job));
	if (!s->job)
		return cli_fail("out of memory");
	for (size_t i = 0; i < s->log.n; i++) {
		const struct np_queue_job *from = &s->log.job[i];
		struct np_sim_job *j = &s->job[i];

		*j = (struct np_sim_job){
			.submit_sec = from->submit_sec,
			.cancel_sec = from->cancel_sec,
			.run_sec = from->run_sec, .limit_sec = from->limit_sec,
			/*
			 * Without priorities, the order is that of submission.
			 */
			.priority = priorities ? from->priority : 0,
			.after = from->after == NP_QUEUE_NONE ? NP_SIM_NO_JOB :
								from->after,
			.think_sec = from->think_sec,
			/* Jobs without a user count as those of one user. */
			.user = from->user == NP_QUEUE_NONE ?
				(uint32_t)s->log.text.n : from->user,
			.profile = NP_PROFILE_UNKNOWN,
		};
		if (from->partition != NP_QUEUE_NONE)
			j->partition = (uint16_t)
				(s->partition_of[from->partition] - 1);
		set_size(s, from, j);
	}
	return -1;
}

/* ---- which profile each job has ---- */

/* The handle of a profile, or NP_PROFILE_UNKNOWN. */
static int32_t profile_of(const struct cli_simulate *s, const char *name)
{
	for (size_t i = 0; i < s->profiles.n; i++)
		if (!strcmp(s->profiles.name[i], name))
			return (int32_t)i;
	return NP_PROFILE_UNKNOWN;
}

/* Handle of the profile of that name, which is added if it is new. */
static int add_profile(struct cli_simulate *s, const char *name, int32_t *out)
{
	struct cli_sim_profiles *p = &s->profiles;

	*out = profile_of(s, name);
	if (*out >= 0 || !strcmp(name, "unknown"))
		return 0;
	if (p->n >= NP_CONFLICT_MAX_PROFILES ||
	    np_array_grow(&p->name, p->n, sizeof(*p->name)))
		return -ENOMEM;
	snprintf(p->name[p->n], sizeof(*p->name), "%s", name);
	*out = (int32_t)p->n++;
	return 0;
}

/*
 * A line of --rules, such as "lammps user=alice name=lmp*".  All its patterns
 * must match; the first matching line of the file decides.
 */
enum key { K_USER, K_ACCOUNT, K_NAME, K_COMMAND, K_PARTITION, N_KEYS };
static const char *const keys[N_KEYS] = { "user", "account", "name", "command",
					  "partition" };

struct rule {
	char *pattern[N_KEYS]; /* NULL matches anything */
	int32_t profile;
};

struct rules {
	struct rule *rule;
	size_t n;
	char *text;
};

/* "user=alice": store the pattern of one key. */
static int take_pattern(struct rule *r, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	for (int k = 0; k < N_KEYS; k++)
		if (!strcmp(word, keys[k])) {
			r->pattern[k] = value;
			return 0;
		}
	return -EINVAL;
}

/* Parse one line of --rules; comments and empty lines are ignored. */
static int take_rule(struct cli_simulate *s, struct rules *rules, char *line,
		     unsigned number)
{
	struct rule r = { .profile = NP_PROFILE_UNKNOWN };
	char *save = NULL, *word;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r", &save);
	if (!word)
		return -1;
	/* The first word is the profile, so a pattern here is a mistake. */
	if (strlen(word) >= CLI_SIM_NAME || strchr(word, '='))
		return cli_fail("%s:%u: \"%.64s\": expected the name of a "
				"profile", s->o->rules, number, word);
	if (add_profile(s, word, &r.profile))
		return cli_fail("out of memory");
	while ((word = strtok_r(NULL, " \t\r", &save)))
		if (take_pattern(&r, word))
			return cli_fail("%s:%u: \"%.64s\": expected user=, "
					"account=, name=, command= or "
					"partition= with a pattern",
					s->o->rules, number, word);
	if (np_array_grow(&rules->rule, rules->n, sizeof(r)))
		return cli_fail("out of memory");
	rules->rule[rules->n++] = r;
	return -1;
}

/* Read the file of --rules; the patterns point into its text. */
static int read_rules(struct cli_simulate *s, struct rules *rules)
{
	struct np_err err = NP_ERR_INIT;
	unsigned number = 0;
	char *save, *line;
	size_t len;
	int rc = -1;

	if (np_read_file(s->o->rules, MAX_RULES_FILE, &rules->text, &len, &err))
		return cli_fail("%s", err.text);
	/* strsep(), unlike strtok_r(), also counts empty lines. */
	save = rules->text;
	while (rc < 0 && (line = strsep(&save, "\n")))
		rc = take_rule(s, rules, line, ++number);
	return rc;
}

/* Does a job match all patterns of a rule? */
static bool matches(const struct rule *r, const struct np_queue_log *q,
		    const struct np_queue_job *j)
{
	const uint32_t of[N_KEYS] = { j->user, j->account, j->name, j->command,
				      j->partition };
	char text[1024];

	for (int k = 0; k < N_KEYS; k++)
		if (r->pattern[k] && fnmatch(r->pattern[k], np_queue_text(q,
			of[k], text, sizeof(text)), 0))
			return false;
	return true;
}

/* Give every job the profile of the first rule that matches. */
static void apply_rules(struct cli_simulate *s, const struct rules *rules)
{
	for (size_t i = 0; i < s->log.n; i++)
		for (size_t k = 0; k < rules->n; k++)
			if (matches(&rules->rule[k], &s->log, &s->log.job[i])) {
				s->job[i].profile = rules->rule[k].profile;
				break;
			}
}

/* Without rules, a job's name is the name of its profile. */
static int names_are_profiles(struct cli_simulate *s)
{
	char name[CLI_SIM_NAME];

	for (size_t i = 0; i < s->log.n; i++) {
		np_queue_text(&s->log, s->log.job[i].name, name, sizeof(name));
		s->job[i].profile = profile_of(s, name);
	}
	return -1;
}

/* --mix=fft:20,unknown:80 */
struct mix {
	int32_t profile[64];
	double share[64], sum;
	size_t n;
};

/* Parse --mix; names that are not profiles yet are added. */
static int parse_mix(struct cli_simulate *s, struct mix *m)
{
	char *text = strdup(s->o->mix), *save = NULL, *word;
	int rc = text ? -1 : cli_fail("out of memory");

	m->n = 0;
	m->sum = 0;
	for (word = text ? strtok_r(text, ",", &save) : NULL; rc < 0 && word;
	     word = strtok_r(NULL, ",", &save)) {
		char *colon = strrchr(word, ':'), *end = NULL;
		double share = colon ? strtod(colon + 1, &end) : -1;

		if (!colon || colon == word || *end || !(share > 0) ||
		    share > 1e6 || m->n == NP_ARRAY_SIZE(m->share) ||
		    colon - word >= CLI_SIM_NAME) {
			rc = cli_fail("--mix: \"%.64s\": expected a name and a "
				      "weight, such as fft:20", word);
			break;
		}
		*colon = '\0';
		if (add_profile(s, word, &m->profile[m->n]))
			rc = cli_fail("out of memory");
		m->share[m->n++] = share;
		m->sum += share;
	}
	free(text);
	return rc;
}

/*
 * A hash, so that what is drawn depends on the job and the seed alone, not on
 * the other jobs.
 */
static uint64_t scramble(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The largest slowdown among the profiles that occur, for the verdict. */
static void find_worst(struct cli_simulate *s, const bool *used)
{
	s->worst = 0;
	for (size_t a = 0; a < s->profiles.n; a++)
		for (size_t b = 0; b < s->profiles.n; b++) {
			double v = used[a] && used[b] ? np_slowdowns_between(
				s->slowdowns, (uint32_t)a, (uint32_t)b, true,
				true) : 0;

			if (v > s->worst)
				s->worst = v;
		}
}

/* How much of the log has a profile: jobs and node-seconds. */
static void count_known(struct cli_simulate *s)
{
	bool used[NP_CONFLICT_MAX_PROFILES] = { false };

	s->known_node_sec = s->all_node_sec = 0;
	s->known_jobs = 0;
	for (size_t i = 0; i < s->log.n; i++) {
		double sec = (double)s->job[i].nodes * s->job[i].run_sec;

		s->all_node_sec += sec;
		if (s->job[i].profile < 0)
			continue;
		s->known_node_sec += sec;
		s->known_jobs++;
		used[s->job[i].profile] = true;
	}
	find_worst(s, used);
}

/* Draw from the weights of --mix for each job. */
void cli_sim_draw(struct cli_simulate *s, uint32_t seed)
{
	struct mix m;

	if (s->o->mix && parse_mix(s, &m) < 0)
		for (size_t i = 0; i < s->log.n; i++) {
			/*
			 * 53 random bits, as a number below the sum of the
			 * weights.
			 */
			double at = (double)(scramble(s->log.job[i].id * 1000003 +
						      seed) >> 11) * 0x1p-53 *
				    m.sum;
			size_t k = 0;

			while (k + 1 < m.n && at >= m.share[k])
				at -= m.share[k++];
			s->job[i].profile = m.profile[k];
		}
	count_known(s);
}

/* ---- predicted slowdowns ---- */

/*
 * Set how much co slows victim with this or a closer contact.  Both directions
 * are stored: what a victim feels, and what a co-runner does to others.
 */
static void set_pair(struct cli_simulate *s, size_t victim, size_t co,
		     enum np_contact contact, double slowdown)
{
	struct np_slowdowns *t = s->slowdowns;
	size_t n = s->profiles.n;
	uint16_t load = slowdown > MAX_NEGLIGIBLE ? np_slowdowns_to_load(slowdown) : 0;

	for (uint32_t touch = 0; touch < NP_N_TOUCH; touch++) {
		/* A slowdown on a common leaf also holds for closer jobs. */
		bool counts = contact == NP_CONTACT_LEAF ||
			(contact == NP_CONTACT_NODE && touch & NP_TOUCH_NODE) ||
			(contact == NP_CONTACT_UPLINK &&
			 touch & NP_TOUCH_UPLINK);
		uint16_t *feels = &t->suffered[(victim * n + co) * NP_N_TOUCH +
					    touch];

		/* The largest effect counts. */
		if (!counts || load <= *feels)
			continue;
		*feels = load;
		t->caused[(co * n + victim) * NP_N_TOUCH + touch] = load;
		if (load > t->most[victim])
			t->most[victim] = load;
		t->profile[victim].inert = t->profile[co].inert = false;
		t->profile[co].aggressor = true;
	}
}

/* A slowdown matrix of all profiles in which nobody slows anybody. */
static int new_slowdowns(struct cli_simulate *s)
{
	size_t n = s->profiles.n, cells = n * n * NP_N_TOUCH;

	s->slowdowns = np_slowdowns_new(n);
	if (!s->slowdowns)
		return cli_fail("out of memory");
	memset(s->slowdowns->suffered, 0, cells * sizeof(*s->slowdowns->suffered));
	memset(s->slowdowns->caused, 0, cells * sizeof(*s->slowdowns->caused));
	for (size_t i = 0; i < n; i++)
		s->slowdowns->profile[i] = (struct np_slowdowns_profile){
			.trusted = true, .complete = true, .inert = true,
		};
	return -1;
}

/* --pairs: each slowdown holds on a common leaf and on common nodes. */
static int read_pairs(struct cli_simulate *s)
{
	struct cli_predictions p;
	struct np_err err = NP_ERR_INIT;
	int32_t v, c;
	int rc = -1;

	if (cli_predictions_read(s->o->pairs, &p, &err))
		return cli_fail("%s", err.text);
	/* All profiles must be known before the matrix is made. */
	for (size_t i = 0; i < p.n; i++)
		if (add_profile(s, p.row[i].victim, &v) ||
		    add_profile(s, p.row[i].co, &c))
			rc = cli_fail("%s: more than %d profiles", s->o->pairs,
				      NP_CONFLICT_MAX_PROFILES);
	if (rc < 0)
		rc = new_slowdowns(s);
	for (size_t i = 0; rc < 0 && i < p.n; i++) {
		v = profile_of(s, p.row[i].victim);
		c = profile_of(s, p.row[i].co);
		if (v >= 0 && c >= 0)
			set_pair(s, (size_t)v, (size_t)c, NP_CONTACT_LEAF,
				 p.row[i].slowdown);
	}
	snprintf(s->models_text, sizeof(s->models_text), "%zu pair%s from %s",
		 p.n, p.n == 1 ? "" : "s", s->o->pairs);
	cli_predictions_free(&p);
	return rc;
}

/* Add the names of all profiles that the caller may use. */
static void add_all(struct np_store *store, struct cli_simulate *s)
{
	for (int i = 0; i < 2; i++) {
		struct np_store_app *apps = NULL;
		size_t n = 0;
		int32_t profile;

		if (np_store_list_apps(store, i ? NP_STORE_USER : NP_STORE_PUBLISHED,
				  geteuid(), &apps, &n, NULL))
			continue;
		for (size_t k = 0; k < n; k++)
			if (strcmp(apps[k].name, NP_IDLE_APP))
				add_profile(s, apps[k].name, &profile);
		free(apps);
	}
}

/* Copy the slowdowns, translating the catalogue's handles into those here. */
static void take_table(struct cli_simulate *s, const struct np_slowdowns *t,
		       const struct np_app_index *index)
{
	static const enum np_contact contact[] = {
		[0] = NP_CONTACT_LEAF, [NP_TOUCH_NODE] = NP_CONTACT_NODE,
		[NP_TOUCH_UPLINK] = NP_CONTACT_UPLINK,
	};

	for (size_t a = 0; a < s->profiles.n; a++)
		for (size_t b = 0; b < s->profiles.n; b++) {
			int32_t v = np_app_index_find(index, s->profiles.name[a],
						      geteuid());
			int32_t c = np_app_index_find(index, s->profiles.name[b],
						      geteuid());

			for (uint32_t touch = 0; v >= 0 && c >= 0 &&
			     touch <= NP_TOUCH_UPLINK; touch++)
				set_pair(s, a, b, contact[touch],
					 np_slowdowns_from_load(np_slowdowns_pair(t,
						(uint32_t)v, touch,
						(uint32_t)c, touch)));
		}
}

/* Predict as the placement plugin does, with its checks of each profile. */
static int ask_catalog(struct cli_simulate *s, const struct np_conf *conf,
		       const char *cluster)
{
	struct np_app_index *index = NULL;
	struct np_catalog *c = NULL;
	struct np_slowdowns *t = NULL;
	struct np_err err = NP_ERR_INIT;
	bool changed, more = true;
	int rc = np_catalog_new(conf->store, cluster, &conf->place, &c, &err);

	for (size_t i = 0; !rc && i < s->profiles.n; i++)
		np_catalog_note_job(c, s->profiles.name[i], geteuid());
	while (!rc && more)
		rc = np_catalog_refresh(c, CATALOG_SEC, NULL, NULL, &changed,
					&more, &err);
	if (!rc)
		rc = np_catalog_table(c, &t, &err);
	if (!rc)
		rc = np_catalog_index(c, &index);
	if (!rc) {
		take_table(s, t, index);
		snprintf(s->models_text, sizeof(s->models_text),
			 "calibration %s", np_catalog_fabric(c));
	}
	np_app_index_unref(index);
	np_slowdowns_unref(t);
	np_catalog_free(c);
	return rc ? cli_fail("%s", err.text) : -1;
}

/* Predictions from the profiles in the store, on the newest calibration. */
static int ask_store(struct cli_simulate *s)
{
	struct np_err err = NP_ERR_INIT;
	struct np_calibration cal;
	struct cli_store store;
	char cluster[128] = "";
	struct np_conf conf;
	int rc;

	if (np_conf_from_environment(&conf, &err))
		return cli_fail("%s", err.text);
	rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	add_all(store.store, s);
	if (np_fabric_store_load(store.store, NULL, NULL, &cal, &err)) {
		cli_store_close(&store);
		return cli_fail("%s; or use --pairs=FILE for predictions",
				err.text);
	}
	snprintf(cluster, sizeof(cluster), "%s", cal.cluster);
	np_calibration_free(&cal);
	cli_store_close(&store);
	rc = new_slowdowns(s);
	return rc >= 0 ? rc : ask_catalog(s, &conf, cluster);
}

/* Profiles of jobs: by rules, by --mix, or by the names of the jobs. */
static int make_profiles(struct cli_simulate *s)
{
	struct rules rules = { .n = 0 };
	struct mix mix;
	int rc = s->o->rules ? read_rules(s, &rules) : -1;

	if (rc < 0 && s->o->mix)
		rc = parse_mix(s, &mix);
	if (rc < 0)
		rc = s->o->pairs ? read_pairs(s) : ask_store(s);
	if (rc < 0 && s->o->rules)
		apply_rules(s, &rules);
	else if (rc < 0 && !s->o->mix)
		rc = names_are_profiles(s);
	free(rules.rule);
	free(rules.text);
	return rc;
}

/* ---- policies ---- */

/*
 * A setting of netprof.conf, such as "MaxSlowdown=20%"; without a unit a
 * MaxSlowdown is in percent.
 */
static int set_key(struct np_conf *conf, const char *text)
{
	const char *equal = strchr(text, '=');
	struct np_err err = NP_ERR_INIT;
	char value[128];
	int rc;

	if (!equal)
		return cli_fail("--set=%.64s: expected KEY=VALUE of "
				"netprof.conf(5), such as MaxSlowdown=20%%",
				text);
	snprintf(value, sizeof(value), "%s%s", equal + 1,
		 !strncasecmp(text, "MaxSlowdown", (size_t)(equal - text)) &&
		 equal[1] && !strchr(equal, '%') ? "%" : "");
	rc = np_conf_set_key(conf, text, (size_t)(equal - text), value, &err);
	if (rc == -ENOENT)
		return cli_fail("--set=%.64s: netprof.conf(5) has no such key",
				text);
	return rc ? cli_fail("%s", err.text) : -1;
}

/* Parse the mode of a policy. */
static int take_mode(const char *word, enum np_mode *mode)
{
	for (int m = NP_MODE_OFF; m <= NP_MODE_ENFORCE; m++)
		if (!strcmp(word, np_mode_name((enum np_mode)m))) {
			*mode = (enum np_mode)m;
			return -1;
		}
	return cli_fail("--policy: \"%.64s\": expected off, advise, prefer or "
			"enforce, with settings such as "
			"enforce:MaxSlowdown=20%%", word);
}

/*
 * Parse one policy, such as "enforce:MaxSlowdown=20%". It starts from
 * netprof.conf, then --set applies, then its own settings.
 */
static int take_policy(struct cli_simulate *s, char *word)
{
	struct cli_sim_policy *p = &s->policy[s->n_policies];
	struct np_err err = NP_ERR_INIT;
	char *save = NULL, *part;
	struct np_conf conf;
	double step;
	int rc;

	if (s->n_policies == CLI_SIM_POLICIES)
		return cli_fail("--policy: more than %d policies",
				CLI_SIM_POLICIES);
	if (np_conf_from_environment(&conf, &err))
		return cli_fail("%s", err.text);
	snprintf(p->name, sizeof(p->name), "%s", word);
	part = strtok_r(word, ":", &save);
	rc = take_mode(part ? part : "", &p->p.mode);
	for (size_t i = 0; rc < 0 && i < s->o->n_settings; i++)
		rc = set_key(&conf, s->o->setting[i]);
	while (rc < 0 && (part = strtok_r(NULL, ":", &save)))
		rc = set_key(&conf, part);
	if (rc >= 0)
		return rc;
	np_policy_init(&p->p.policy);
	p->p.policy.max_slowdown = conf.place.max_slowdown;
	p->p.policy.max_defer_sec = conf.place.max_defer_sec;
	step = 10 * conf.place.interval_sec; /* as in the plugin */
	p->p.policy.defer_step_sec = step > 30 ? step : 30;
	p->p.interval_sec = (uint32_t)ceil(conf.place.interval_sec);
	if (*conf.place.unknown_as)
		p->p.policy.unknown_as = profile_of(s, conf.place.unknown_as);
	s->n_policies++;
	return -1;
}

/* Parse --policy; the default compares off with enforce. */
static int make_policies(struct cli_simulate *s)
{
	char *text = strdup(s->o->policies ? s->o->policies : "off,enforce");
	char *save = NULL, *word;
	int rc = text ? -1 : cli_fail("out of memory");

	for (word = text ? strtok_r(text, ",", &save) : NULL; rc < 0 && word;
	     word = strtok_r(NULL, ",", &save))
		rc = take_policy(s, word);
	free(text);
	if (rc < 0 && !s->n_policies)
		rc = cli_fail("--policy: expected off, advise, prefer or "
			      "enforce");
	return rc;
}

/*
 * The order matters: jobs refer to partitions of the cluster, and policies to
 * profiles.
 */
int cli_sim_prepare(struct cli_simulate *s)
{
	int rc = read_jobs(s);

	if (rc < 0)
		rc = read_cluster(s);
	if (rc < 0)
		rc = make_queue(s);
	if (rc < 0)
		rc = make_profiles(s);
	if (rc < 0)
		rc = make_policies(s);
	return rc;
}

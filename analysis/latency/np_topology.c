/*
 * Distances between nodes in regular topologies and in trees, and the trees of
 * a cluster, read from Slurm's topology.
 */
#include "np_topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_hostlist.h"
#include "np_slurm_file.h"
#include "np_topo.h"

/*
 * ---- Distances ----
 *
 * Numbers of switches between nodes: from formulas for regular topologies, and
 * by walking up from both leaves in trees. Nodes are numbered so that those of
 * one switch, then those of one pod or group, follow each other; in a torus the
 * first coordinate varies fastest.
 */

#define DIMENSIONS 6

enum kind { FAT_TREE, DRAGONFLY, TORUS, TREE };

struct np_topology {
	enum kind kind;
	/* Ports K; groups G, switches A, nodes P; or dimensions X, Y, ... */
	uint32_t size[DIMENSIONS];
	size_t n_sizes;
	uint32_t nodes;
	/* Only for TREE: by switch, by switch, and by node; free parent. */
	uint32_t *parent, *depth, *leaf;
};

static const struct {
	const char *name;
	size_t least, most; /* how many numbers follow the name */
} kinds[] = {
	[FAT_TREE] = { "fat-tree", 1, 1 },
	[DRAGONFLY] = { "dragonfly", 3, 3 },
	[TORUS] = { "torus", 1, DIMENSIONS },
};

/* Parses "4x4x4". Returns 0 or -EINVAL. */
static int parse_sizes(const char *text, struct np_topology *topology)
{
	do {
		unsigned long size;
		char *end;

		if (*text < '0' || *text > '9' ||
		    topology->n_sizes == DIMENSIONS)
			return -EINVAL;
		size = strtoul(text, &end, 10);
		if (!size || size > NP_TOPOLOGY_MAX)
			return -EINVAL;
		topology->size[topology->n_sizes++] = (uint32_t)size;
		text = end;
	} while (*text++ == 'x');
	return text[-1] ? -EINVAL : 0;
}

/* Number of nodes; 0: too many, or a fat tree with an odd number of ports. */
static uint32_t count_nodes(const struct np_topology *topology)
{
	uint64_t n = 1;

	if (topology->kind == FAT_TREE) {
		uint64_t k = topology->size[0];

		n = k % 2 || k > 256 ? 0 : k * k * k / 4;
	} else {
		for (size_t i = 0;
		     i < topology->n_sizes && n <= NP_TOPOLOGY_MAX; i++)
			n *= topology->size[i];
	}
	return n > NP_TOPOLOGY_MAX ? 0 : (uint32_t)n;
}

int np_topology_parse(const char *spec, struct np_topology **out,
		      struct np_err *err)
{
	struct np_topology *topology = calloc(1, sizeof(*topology));
	size_t len = strcspn(spec, ":"), k = 0;
	int rc = 0;

	if (!topology)
		return np_errf(err, -ENOMEM, "no memory for a topology");
	while (k < NP_ARRAY_SIZE(kinds) && (strlen(kinds[k].name) != len ||
					    memcmp(kinds[k].name, spec, len)))
		k++;
	topology->kind = (enum kind)k;
	if (k == NP_ARRAY_SIZE(kinds) || !spec[len] ||
	    parse_sizes(spec + len + 1, topology) ||
	    topology->n_sizes < kinds[k].least ||
	    topology->n_sizes > kinds[k].most)
		rc = np_errf(err, -EINVAL,
			     "topology \"%.64s\": expected fat-tree:16, "
			     "dragonfly:9x4x2 or torus:8x8x4",
			     spec);
	else if (!(topology->nodes = count_nodes(topology)))
		rc = np_errf(err, -ERANGE,
			     "topology \"%.64s\": expected at most %u nodes, "
			     "and of a fat tree even ports",
			     spec, NP_TOPOLOGY_MAX);
	if (rc)
		free(topology);
	else
		*out = topology;
	return rc;
}

/*
 * Computes the depth of each switch; that of a root is 1. Each walk goes up to
 * a root, or to a switch whose depth is known, and then fills in the depths on
 * the way, so that all walks together take linear time. A walk of more steps
 * than there are switches has found a cycle.
 */
static int find_depths(struct np_topology *topology, uint32_t n_switches,
		       struct np_err *err)
{
	for (uint32_t i = 0; i < n_switches; i++) {
		uint32_t n = 0, s;

		for (s = i; topology->parent[s] != NP_TOPOLOGY_ROOT &&
			    !topology->depth[s] && n <= n_switches;
		     n++) {
			s = topology->parent[s];
			if (s >= n_switches)
				return np_errf(err, -EINVAL, "switch %u of %u",
					       s, n_switches);
		}
		if (n > n_switches)
			return np_errf(err, -EINVAL,
				       "switch %u is above itself", i);
		n += topology->depth[s] ? topology->depth[s] : 1;
		for (s = i; !topology->depth[s]; s = topology->parent[s]) {
			topology->depth[s] = n--;
			if (topology->parent[s] == NP_TOPOLOGY_ROOT)
				break;
		}
	}
	return 0;
}

int np_topology_tree(const uint32_t *parent, uint32_t n_switches,
		     const uint32_t *leaf, uint32_t n_nodes,
		     struct np_topology **out, struct np_err *err)
{
	struct np_topology *topology = calloc(1, sizeof(*topology));
	int rc = 0;

	if (!topology)
		return np_errf(err, -ENOMEM, "no memory for a topology");
	topology->kind = TREE;
	topology->nodes = n_nodes;
	topology->parent = calloc(2 * (size_t)n_switches + n_nodes + 1,
				  sizeof(*topology->parent));
	if (!topology->parent) {
		free(topology);
		return np_errf(err, -ENOMEM, "no memory for a topology");
	}
	topology->depth = topology->parent + n_switches;
	topology->leaf = topology->depth + n_switches;
	memcpy(topology->parent, parent, n_switches * sizeof(*parent));
	memcpy(topology->leaf, leaf, n_nodes * sizeof(*leaf));
	for (uint32_t i = 0; !rc && i < n_nodes; i++)
		if (leaf[i] >= n_switches)
			rc = np_errf(err, -EINVAL, "node %u at switch %u of %u",
				     i, leaf[i], n_switches);
	if (!rc)
		rc = find_depths(topology, n_switches, err);
	if (rc)
		np_topology_free(topology);
	else
		*out = topology;
	return rc;
}

void np_topology_free(struct np_topology *topology)
{
	if (!topology)
		return;
	free(topology->parent);
	free(topology);
}

uint32_t np_topology_nodes(const struct np_topology *topology)
{
	return topology->nodes;
}

/* Switches between two nodes: same switch, same pod, or over the core. */
static uint32_t fat_tree_hops(const struct np_topology *topology, uint32_t a,
			      uint32_t b)
{
	uint32_t half = topology->size[0] / 2;

	if (a / half == b / half)
		return 1;
	return a / half / half == b / half / half ? 3 : 5;
}

/*
 * The switch of group `from` that has the wire to group `to`. The wires to the
 * other groups, in the order of their distance, are assigned to the switches of
 * a group in turn.
 */
static uint32_t gateway(const struct np_topology *topology, uint32_t from,
			uint32_t to)
{
	uint32_t groups = topology->size[0];

	return (to + groups - from - 1) % groups % topology->size[1];
}

/*
 * Switches between two nodes, over one wire between groups, and one within each
 * of the two groups unless the node is at the gateway.
 */
static uint32_t dragonfly_hops(const struct np_topology *topology, uint32_t a,
			       uint32_t b)
{
	uint32_t in_group = topology->size[1];
	uint32_t switch_a = a / topology->size[2];
	uint32_t switch_b = b / topology->size[2];
	uint32_t from = switch_a / in_group, to = switch_b / in_group;

	if (switch_a == switch_b)
		return 1;
	if (from == to)
		return 2;
	return 2 + (switch_a % in_group != gateway(topology, from, to)) +
	       (switch_b % in_group != gateway(topology, to, from));
}

/*
 * The sum of the shorter distances in each dimension, plus one for the switch
 * at which the message starts.
 */
static uint32_t torus_hops(const struct np_topology *topology, uint32_t a,
			   uint32_t b)
{
	uint32_t hops = 1;

	for (size_t i = 0; i < topology->n_sizes; i++) {
		uint32_t n = topology->size[i], x = a % n, y = b % n;
		uint32_t way = x > y ? x - y : y - x;

		hops += way < n - way ? way : n - way;
		a /= n;
		b /= n;
	}
	return hops;
}

/* Walks up from the deeper switch until both are the same. */
static uint32_t tree_hops(const struct np_topology *topology, uint32_t a,
			  uint32_t b)
{
	uint32_t up_a = topology->leaf[a], up_b = topology->leaf[b];
	uint32_t hops = 1;

	for (; up_a != up_b; hops++) {
		if (topology->depth[up_a] < topology->depth[up_b])
			up_b = topology->parent[up_b];
		else if (topology->parent[up_a] != NP_TOPOLOGY_ROOT)
			up_a = topology->parent[up_a];
		else
			return NP_TOPOLOGY_APART;
	}
	return hops;
}

uint32_t np_topology_hops(const struct np_topology *topology, uint32_t a,
			  uint32_t b)
{
	if (a == b)
		return 0;
	switch (topology->kind) {
	case FAT_TREE:
		return fat_tree_hops(topology, a, b);
	case DRAGONFLY:
		return dragonfly_hops(topology, a, b);
	case TORUS:
		return torus_hops(topology, a, b);
	default:
		return tree_hops(topology, a, b);
	}
}

void np_placed_path(const struct np_placed *placed, uint32_t from, uint32_t to,
		    double *fixed_ns, uint32_t *times)
{
	uint32_t hops = np_topology_hops(placed->t, placed->node[from],
					 placed->node[to]);
	uint32_t wires = hops ? hops + 1 : 0;

	if (hops == NP_TOPOLOGY_APART) {
		*fixed_ns = NP_TOPOLOGY_APART_NS;
		*times = 0;
		return;
	}
	*fixed_ns = placed->switch_is_x ? wires * placed->wire_ns :
					  hops * placed->switch_ns;
	*times = placed->switch_is_x ? hops : wires;
}

/*
 * ---- Slurm's topology ----
 *
 * A topology.conf(5) of Slurm, or the output of "scontrol show topology". Each
 * line defines a switch. Names and parents are collected line by line, and the
 * tree is checked at the end, because a line may name switches of later lines.
 * A node on several switches, or a switch below several, belongs to the first
 * of them, and the caller is warned.
 */

#define NAMES_MAX 65536u /* of switches, and of nodes */
/*
 * Names in all lists together; a node may be on several switches. The size of
 * the file does not limit this, because a short list can have 65536 names.
 */
#define LISTED_MAX (16 * NAMES_MAX)
#define LEVELS_MAX 64 /* Slurm accepts about twenty */
#define SHOWN 64      /* bytes of a name shown in messages */

/* Switches by name. A line may name a switch that is defined further down. */
struct switches {
	struct np_index names, files;
	uint32_t parent[NAMES_MAX];
	bool defined[NAMES_MAX];
	/* The line that first names the switch as a child, for messages. */
	struct {
		uint32_t file, line;
	} first_use[NAMES_MAX];
	uint32_t leaf[NAMES_MAX]; /* by node */
	struct np_index *nodes;	  /* borrowed from the result */
	size_t n_listed;	  /* names in lists so far */
	/* Nodes on several switches, and switches below several. */
	struct ambiguity {
		struct np_err first; /* message about the first */
		uint32_t n;
	} leaves, parents;
	struct np_err doubt; /* what Slurm may interpret in another way, or "" */
};

/* One line, and the switch that it defines. */
struct definition {
	struct switches *switches; /* found so far */
	const struct np_slurm_line *line;
	struct np_topo_switch parsed;
	uint32_t number; /* of the switch */
};

/* Returns rc, with a message about a word of a line. */
static int line_error(const struct np_slurm_line *line, int rc,
		      struct np_err *err, const char *what, const char *word)
{
	return np_errf(err, rc, "%s:%u: %.*s%s", line->path, line->number,
		       SHOWN, word, what);
}

/* Finds the number of a name; a new name gets the next number. */
static int number_of_name(struct np_index *index, const char *name,
			  uint32_t *out)
{
	*out = np_index_add(index, name, strlen(name));
	return *out == NP_NO_INDEX ? -ENOMEM : *out >= NAMES_MAX ? -E2BIG : 0;
}

/* Copies a name by its number. */
static const char *name_of(const struct np_index *index, uint32_t i, char *buf,
			   size_t len)
{
	size_t at = i ? index->end[i - 1] : 0;

	snprintf(buf, len, "%.*s", (int)(index->end[i] - at),
		 index->bytes + at);
	return buf;
}

const char *np_topology_conf_node(const struct np_topology_conf *conf,
				  uint32_t node, char *buf, size_t len)
{
	if (node < conf->nodes.n)
		return name_of(&conf->nodes, node, buf, len);
	snprintf(buf, len, "?");
	return buf;
}

/* Finds the number of a switch. A new switch has no parent yet. */
static int find_switch(struct switches *switches, const char *name,
		       uint32_t *out)
{
	size_t n = switches->names.n;
	int rc = number_of_name(&switches->names, name, out);

	if (!rc && *out == n)
		switches->parent[*out] = NP_TOPOLOGY_ROOT;
	return rc;
}

/* Counts an ambiguity, and remembers the first for the warning. */
static void add_ambiguity(struct ambiguity *ambiguity, const char *kind,
			  const char *name, const char *where, uint32_t first,
			  const struct definition *definition)
{
	char at[SHOWN];

	if (!ambiguity->n++)
		np_errf(&ambiguity->first, 0,
			"%s:%u: %s %.*s is %s %s and %.*s: the first is used",
			definition->line->path, definition->line->number, kind,
			SHOWN, name, where,
			name_of(&definition->switches->names, first, at,
				sizeof(at)),
			SHOWN, definition->parsed.name);
}

/* Adds a node to the switch of the current line. */
static int add_node(void *arg, const char *name)
{
	struct definition *definition = arg;
	struct switches *switches = definition->switches;
	size_t n = switches->nodes->n;
	uint32_t node;
	int rc = switches->n_listed++ < LISTED_MAX ?
			 number_of_name(switches->nodes, name, &node) :
			 -E2BIG;

	if (rc)
		return rc;
	if (node == n)
		switches->leaf[node] = definition->number;
	else if (switches->leaf[node] != definition->number)
		add_ambiguity(&switches->leaves, "node", name, "on",
			      switches->leaf[node], definition);
	return 0;
}

/* Makes a switch a child of the switch of the current line. */
static int add_switch(void *arg, const char *name)
{
	struct definition *definition = arg;
	struct switches *switches = definition->switches;
	uint32_t below;
	int rc = switches->n_listed++ < LISTED_MAX ?
			 find_switch(switches, name, &below) :
			 -E2BIG;

	if (rc)
		return rc;
	if (below == definition->number)
		return -ELOOP;
	if (switches->parent[below] == NP_TOPOLOGY_ROOT) {
		switches->parent[below] = definition->number;
		rc = number_of_name(&switches->files, definition->line->path,
				    &switches->first_use[below].file);
		switches->first_use[below].line = definition->line->number;
	} else if (switches->parent[below] != definition->number) {
		add_ambiguity(&switches->parents, "switch", name, "below",
			      switches->parent[below], definition);
	}
	return rc;
}

/* Adds the nodes and switches of the current line. */
static int add_lists(struct definition *definition, struct np_err *err)
{
	const char *list = definition->parsed.nodes;
	int rc = list ? np_hostlist_each(list, add_node, definition) : 0;

	if (!rc && definition->parsed.below) {
		list = definition->parsed.below;
		rc = np_hostlist_each(list, add_switch, definition);
	}
	switch (rc) {
	case 0:
		return 0;
	case -EINVAL:
		return line_error(definition->line, rc, err,
				  ": expected a list such as n[0-3],n7", list);
	case -ELOOP:
		return line_error(definition->line, -EINVAL, err,
				  " is below itself", definition->parsed.name);
	case -E2BIG:
		return line_error(definition->line, rc, err,
				  "more than 65536 switches or nodes, or "
				  "1048576 names in lists",
				  "");
	default:
		return line_error(definition->line, rc, err, "out of memory",
				  "");
	}
}

/*
 * Recognises a topology.yaml(5), in block or flow style, by how its first line
 * begins. Returns the language for a message, or NULL if the line may be one of
 * topology.conf.
 */
static const char *language_of(const char *text)
{
	size_t word;

	text += strspn(text, " \t");
	word = strcspn(text, " \t\r");
	if (*text == '{' || *text == '[')
		return "JSON or YAML";
	if (*text == '%' || !strncmp(text, "---", 3) ||
	    (word == 1 && *text == '-') ||
	    (word && strspn(text, "abcdefghijklmnopqrstuvwxyz_") == word - 1 &&
	     text[word - 1] == ':'))
		return "YAML";
	return NULL;
}

/* Reads one line that defines a switch. */
static int read_line(void *arg, const struct np_slurm_line *line,
		     struct np_err *err)
{
	struct definition definition = { .switches = arg, .line = line };
	const char *language = language_of(line->text);
	int rc;

	if (language)
		return np_errf(err, -EINVAL,
			       "%s: is %s, which is not read: expected a "
			       "topology.conf, or a file with what \"scontrol "
			       "show topology\" prints",
			       line->path, language);
	rc = np_topo_switch(line, &definition.parsed, err);
	if (rc)
		return rc;
	rc = find_switch(definition.switches, definition.parsed.name,
			 &definition.number);
	if (rc)
		return line_error(line, rc, err,
				  rc == -ENOMEM ? "out of memory" :
						  "more than 65536 switches",
				  "");
	if (definition.switches->defined[definition.number])
		return line_error(line, -EINVAL, err, " is defined twice",
				  definition.parsed.name);
	definition.switches->defined[definition.number] = true;
	if (definition.parsed.suffix && !*definition.switches->doubt.text)
		np_errf(&definition.switches->doubt, 0,
			"%s:%u: text after the last bracket of a name: "
			"slurmctld rejects it before Slurm 23.11",
			line->path, line->number);
	if (definition.parsed.childless && !*definition.switches->doubt.text)
		np_errf(&definition.switches->doubt, 0,
			"%s:%u: %.*s has neither Nodes nor Switches: slurmctld "
			"rejects it",
			line->path, line->number, SHOWN,
			definition.parsed.name);
	return add_lists(&definition, err);
}

/* Checks that every switch is defined and that none is above itself. */
static int check_tree(struct switches *switches, const char *path,
		      struct np_err *err)
{
	char name[SHOWN], above[SHOWN], file[NP_ERR_LEN];

	for (uint32_t i = 0; i < switches->names.n; i++) {
		uint32_t n = 0, up = i;

		name_of(&switches->names, i, name, sizeof(name));
		if (!switches->defined[i])
			return np_errf(
				err, -EINVAL,
				"%s:%u: %s names %s, which no line defines",
				name_of(&switches->files,
					switches->first_use[i].file, file,
					sizeof(file)),
				switches->first_use[i].line,
				name_of(&switches->names, switches->parent[i],
					above, sizeof(above)),
				name);
		while (n <= LEVELS_MAX &&
		       switches->parent[up] != NP_TOPOLOGY_ROOT) {
			up = switches->parent[up];
			n++;
		}
		if (n > LEVELS_MAX)
			return np_errf(err, -EINVAL,
				       "%s: switch %s is above itself, or more "
				       "than %d switches are above it",
				       path, name, LEVELS_MAX);
	}
	return switches->nodes->n ?
		       0 :
		       np_errf(err, -EINVAL, "%s: no switch has nodes", path);
}

/* Reports the first ambiguity of a kind, and how many others there are. */
static void warn_ambiguity(struct ambiguity *ambiguity,
			   void (*warn)(const char *line, void *arg), void *arg)
{
	size_t len = strlen(ambiguity->first.text);

	if (ambiguity->n > 1)
		snprintf(ambiguity->first.text + len,
			 sizeof(ambiguity->first.text) - len,
			 " (%u more like it)", ambiguity->n - 1);
	if (ambiguity->n)
		warn(ambiguity->first.text, arg);
}

/* Reads and checks the file, then makes the topology. */
static int read_file(struct switches *switches, const char *path,
		     struct np_topology_conf *out, struct np_err *err)
{
	struct np_err what = NP_ERR_INIT;
	int rc = np_slurm_file(path, NULL, read_line, switches, err);
	bool nul = rc == -EILSEQ;

	if (np_slurm_was_read(rc)) {
		if (rc)
			switches->doubt = *err;
		rc = check_tree(switches, path, err);
	}
	/* A NUL hides the rest of the file: it is the likely cause. */
	if (rc && nul)
		*err = switches->doubt;
	if (rc)
		return rc;
	rc = np_topology_tree(switches->parent, (uint32_t)switches->names.n,
			      switches->leaf, (uint32_t)out->nodes.n,
			      &out->topology, &what);
	return rc ? np_errf(err, rc, "%s: %.128s", path, what.text) : 0;
}

int np_topology_conf_read(const char *path,
			  void (*warn)(const char *line, void *arg), void *arg,
			  struct np_topology_conf *out, struct np_err *err)
{
	struct switches *switches = calloc(1, sizeof(*switches));
	int rc;

	*out = (struct np_topology_conf){ .topology = NULL };
	if (!switches)
		return np_errf(err, -ENOMEM, "%s: no memory to read", path);
	switches->nodes = &out->nodes;
	rc = read_file(switches, path, out, err);
	if (!rc) {
		if (*switches->doubt.text)
			warn(switches->doubt.text, arg);
		warn_ambiguity(&switches->leaves, warn, arg);
		warn_ambiguity(&switches->parents, warn, arg);
		out->several_leaves = switches->leaves.first;
		out->several_parents = switches->parents.first;
	} else {
		np_topology_conf_free(out);
	}
	np_index_free(&switches->names);
	np_index_free(&switches->files);
	free(switches);
	return rc;
}

void np_topology_conf_free(struct np_topology_conf *conf)
{
	np_topology_free(conf->topology);
	np_index_free(&conf->nodes);
	conf->topology = NULL;
}

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
	uint32_t size[DIMENSIONS]; /* K; G, A, P; X, Y, ... */
	size_t n_sizes;
	uint32_t nodes;
	uint32_t *parent, *depth, *leaf; /* only for TREE */
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
static int parse_sizes(const char *p, struct np_topology *t)
{
	do {
		unsigned long v;
		char *end;

		if (*p < '0' || *p > '9' || t->n_sizes == DIMENSIONS)
			return -EINVAL;
		v = strtoul(p, &end, 10);
		if (!v || v > NP_TOPOLOGY_MAX)
			return -EINVAL;
		t->size[t->n_sizes++] = (uint32_t)v;
		p = end;
	} while (*p++ == 'x');
	return p[-1] ? -EINVAL : 0;
}

/* Number of nodes; 0: too many, or an impossible size. */
static uint32_t count_nodes(const struct np_topology *t)
{
	uint64_t n = 1;

	if (t->kind == FAT_TREE) {
		uint64_t k = t->size[0];

		n = k % 2 || k > 256 ? 0 : k * k * k / 4;
	} else {
		for (size_t i = 0; i < t->n_sizes && n <= NP_TOPOLOGY_MAX; i++)
			n *= t->size[i];
	}
	return n > NP_TOPOLOGY_MAX ? 0 : (uint32_t)n;
}

int np_topology_parse(const char *spec, struct np_topology **out,
		      struct np_err *err)
{
	struct np_topology *t = calloc(1, sizeof(*t));
	size_t len = strcspn(spec, ":"), k = 0;
	int rc = 0;

	if (!t)
		return np_errf(err, -ENOMEM, "no memory for a topology");
	while (k < NP_ARRAY_SIZE(kinds) && (strlen(kinds[k].name) != len ||
					    memcmp(kinds[k].name, spec, len)))
		k++;
	t->kind = (enum kind)k;
	if (k == NP_ARRAY_SIZE(kinds) || !spec[len] ||
	    parse_sizes(spec + len + 1, t) || t->n_sizes < kinds[k].least ||
	    t->n_sizes > kinds[k].most)
		rc = np_errf(err, -EINVAL,
			     "topology \"%.64s\": expected fat-tree:16, "
			     "dragonfly:9x4x2 or torus:8x8x4",
			     spec);
	else if (!(t->nodes = count_nodes(t)))
		rc = np_errf(err, -ERANGE,
			     "topology \"%.64s\": expected at most %u nodes, "
			     "and of a fat tree even ports",
			     spec, NP_TOPOLOGY_MAX);
	if (rc)
		free(t);
	else
		*out = t;
	return rc;
}

/*
 * Computes the depth of each switch; that of a root is 1. Each walk goes up to
 * a root, or to a switch whose depth is known, and then fills in the depths on
 * the way, so that all walks together take linear time. A walk of more steps
 * than there are switches has found a cycle.
 */
static int find_depths(struct np_topology *t, uint32_t n_switches,
		       struct np_err *err)
{
	for (uint32_t i = 0; i < n_switches; i++) {
		uint32_t n = 0, s;

		for (s = i; t->parent[s] != NP_TOPOLOGY_ROOT && !t->depth[s] &&
			    n <= n_switches;
		     n++) {
			s = t->parent[s];
			if (s >= n_switches)
				return np_errf(err, -EINVAL, "switch %u of %u",
					       s, n_switches);
		}
		if (n > n_switches)
			return np_errf(err, -EINVAL,
				       "switch %u is above itself", i);
		n += t->depth[s] ? t->depth[s] : 1;
		for (s = i; !t->depth[s]; s = t->parent[s]) {
			t->depth[s] = n--;
			if (t->parent[s] == NP_TOPOLOGY_ROOT)
				break;
		}
	}
	return 0;
}

int np_topology_tree(const uint32_t *parent, uint32_t n_switches,
		     const uint32_t *leaf, uint32_t n_nodes,
		     struct np_topology **out, struct np_err *err)
{
	struct np_topology *t = calloc(1, sizeof(*t));
	int rc = 0;

	if (!t)
		return np_errf(err, -ENOMEM, "no memory for a topology");
	t->kind = TREE;
	t->nodes = n_nodes;
	t->parent = malloc((n_switches + (size_t)1) * sizeof(*t->parent));
	t->depth = calloc(n_switches + (size_t)1, sizeof(*t->depth));
	t->leaf = malloc((n_nodes + (size_t)1) * sizeof(*t->leaf));
	if (!t->parent || !t->depth || !t->leaf) {
		np_topology_free(t);
		return np_errf(err, -ENOMEM, "no memory for a topology");
	}
	memcpy(t->parent, parent, n_switches * sizeof(*parent));
	memcpy(t->leaf, leaf, n_nodes * sizeof(*leaf));
	for (uint32_t i = 0; !rc && i < n_nodes; i++)
		if (leaf[i] >= n_switches)
			rc = np_errf(err, -EINVAL, "node %u at switch %u of %u",
				     i, leaf[i], n_switches);
	if (!rc)
		rc = find_depths(t, n_switches, err);
	if (rc)
		np_topology_free(t);
	else
		*out = t;
	return rc;
}

void np_topology_free(struct np_topology *t)
{
	if (!t)
		return;
	free(t->parent);
	free(t->depth);
	free(t->leaf);
	free(t);
}

uint32_t np_topology_nodes(const struct np_topology *t)
{
	return t->nodes;
}

/* Switches between two nodes: same switch, same pod, or over the core. */
static uint32_t fat_tree(const struct np_topology *t, uint32_t a, uint32_t b)
{
	uint32_t half = t->size[0] / 2;

	if (a / half == b / half)
		return 1;
	return a / half / half == b / half / half ? 3 : 5;
}

/*
 * The switch of group `from` that has the wire to group `to`. The wires to the
 * other groups, in the order of their distance, are dealt to the switches of a
 * group one after the other.
 */
static uint32_t gateway(const struct np_topology *t, uint32_t from, uint32_t to)
{
	uint32_t groups = t->size[0];

	return (to + groups - from - 1) % groups % t->size[1];
}

/*
 * Switches between two nodes over a local, a global and another local wire, as
 * far as they are needed.
 */
static uint32_t dragonfly(const struct np_topology *t, uint32_t a, uint32_t b)
{
	uint32_t in_group = t->size[1], s = a / t->size[2], d = b / t->size[2];
	uint32_t from = s / in_group, to = d / in_group;

	if (s == d)
		return 1;
	if (from == to)
		return 2;
	return 2 + (s % in_group != gateway(t, from, to)) +
	       (d % in_group != gateway(t, to, from));
}

/*
 * The sum of the shorter distances in each dimension, plus one for the switch
 * at which the message starts.
 */
static uint32_t torus(const struct np_topology *t, uint32_t a, uint32_t b)
{
	uint32_t hops = 1;

	for (size_t i = 0; i < t->n_sizes; i++) {
		uint32_t n = t->size[i], x = a % n, y = b % n;
		uint32_t way = x > y ? x - y : y - x;

		hops += way < n - way ? way : n - way;
		a /= n;
		b /= n;
	}
	return hops;
}

/* Walks up from the deeper switch until both are the same. */
static uint32_t tree(const struct np_topology *t, uint32_t a, uint32_t b)
{
	uint32_t s = t->leaf[a], d = t->leaf[b], hops = 1;

	for (; s != d; hops++) {
		if (t->depth[s] < t->depth[d])
			d = t->parent[d];
		else if (t->parent[s] != NP_TOPOLOGY_ROOT)
			s = t->parent[s];
		else
			return NP_TOPOLOGY_APART;
	}
	return hops;
}

uint32_t np_topology_hops(const struct np_topology *t, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	switch (t->kind) {
	case FAT_TREE:
		return fat_tree(t, a, b);
	case DRAGONFLY:
		return dragonfly(t, a, b);
	case TORUS:
		return torus(t, a, b);
	default:
		return tree(t, a, b);
	}
}

void np_placed_path(const struct np_placed *p, uint32_t from, uint32_t to,
		    double *fixed_ns, uint32_t *times)
{
	uint32_t h = np_topology_hops(p->t, p->node[from], p->node[to]);
	uint32_t wires = h ? h + 1 : 0;

	if (h == NP_TOPOLOGY_APART) {
		*fixed_ns = NP_TOPOLOGY_APART_NS;
		*times = 0;
		return;
	}
	*fixed_ns = p->switch_is_x ? wires * p->wire_ns : h * p->switch_ns;
	*times = p->switch_is_x ? h : wires;
}

/*
 * ---- Slurm's topology ----
 *
 * Reads a topology.conf(5) of Slurm, or what "scontrol show topology" prints.
 * Each line defines a switch. Names and parents are collected line by line; the
 * tree is checked at the end, because a line may refer to later ones. A node on
 * several switches, or a switch below several, stays with the first, and the
 * caller is warned.
 */

#define NAMES_MAX 65536u /* of switches, and of nodes */
/*
 * Names in all lists together, as a node may be on several switches. A short
 * list may have 65536 names, so the size of the file limits nothing.
 */
#define LISTED_MAX (16 * NAMES_MAX)
#define LEVELS_MAX 64 /* Slurm accepts about twenty */
#define SHOWN 64      /* bytes of a name shown in messages */

/* Switches by name. A line may name a switch that is defined further down. */
struct switches {
	struct np_index names, files;
	uint32_t parent[NAMES_MAX];
	bool defined[NAMES_MAX];
	/* The line that first names it as a child, for messages. */
	struct {
		uint32_t file, line;
	} named[NAMES_MAX];
	uint32_t leaf[NAMES_MAX]; /* by node */
	struct np_index *nodes;	  /* borrowed from the result */
	size_t n_listed;	  /* names in lists so far */
	/* Nodes on several switches, and switches below several. */
	struct ambiguity {
		struct np_err first; /* message about the first */
		uint32_t n;
	} leaves, parents;
	struct np_err doubt; /* what Slurm may understand otherwise */
};

/* One line, and the switch that it defines. */
struct definition {
	struct switches *s;
	const struct np_slurm_line *line;
	struct np_topo_switch is;
	uint32_t at; /* number of the switch */
};

/* Error message about a word of a line. */
static int line_error(const struct np_slurm_line *line, int rc,
		      struct np_err *err, const char *what, const char *word)
{
	return np_errf(err, rc, "%s:%u: %.*s%s", line->path, line->number,
		       SHOWN, word, what);
}

/* Numbers a name; new names get the next number. */
static int number_of_name(struct np_index *x, const char *name, uint32_t *out)
{
	*out = np_index_add(x, name, strlen(name));
	return *out == NP_NO_INDEX ? -ENOMEM : *out >= NAMES_MAX ? -E2BIG : 0;
}

/* Copies a name by its number. */
static const char *name_of(const struct np_index *x, uint32_t i, char *buf,
			   size_t len)
{
	size_t at = i ? x->end[i - 1] : 0;

	snprintf(buf, len, "%.*s", (int)(x->end[i] - at), x->bytes + at);
	return buf;
}

const char *np_topology_conf_node(const struct np_topology_conf *c,
				  uint32_t node, char *buf, size_t len)
{
	if (node < c->nodes.n)
		return name_of(&c->nodes, node, buf, len);
	snprintf(buf, len, "?");
	return buf;
}

/* Number of a switch. A new one has no parent yet. */
static int find_switch(struct switches *s, const char *name, uint32_t *out)
{
	size_t n = s->names.n;
	int rc = number_of_name(&s->names, name, out);

	if (!rc && *out == n)
		s->parent[*out] = NP_TOPOLOGY_ROOT;
	return rc;
}

/* Counts an ambiguity, and remembers the first for the warning. */
static void add_ambiguity(struct ambiguity *f, const char *kind,
			  const char *name, const char *where, uint32_t first,
			  const struct definition *d)
{
	char at[SHOWN];

	if (!f->n++)
		np_errf(&f->first, 0,
			"%s:%u: %s %.*s is %s %s and %.*s: the first is used",
			d->line->path, d->line->number, kind, SHOWN, name,
			where, name_of(&d->s->names, first, at, sizeof(at)),
			SHOWN, d->is.name);
}

/* Adds a node to the switch of the current line. */
static int add_node(void *arg, const char *name)
{
	struct definition *d = arg;
	struct switches *s = d->s;
	size_t n = s->nodes->n;
	uint32_t node;
	int rc = s->n_listed++ < LISTED_MAX ?
			 number_of_name(s->nodes, name, &node) :
			 -E2BIG;

	if (rc)
		return rc;
	if (node == n)
		s->leaf[node] = d->at;
	else if (s->leaf[node] != d->at)
		add_ambiguity(&s->leaves, "node", name, "on", s->leaf[node], d);
	return 0;
}

/* Makes a switch a child of the switch of the current line. */
static int add_switch(void *arg, const char *name)
{
	struct definition *d = arg;
	struct switches *s = d->s;
	uint32_t below;
	int rc = s->n_listed++ < LISTED_MAX ? find_switch(s, name, &below) :
					      -E2BIG;

	if (rc)
		return rc;
	if (below == d->at)
		return -ELOOP;
	if (s->parent[below] == NP_TOPOLOGY_ROOT) {
		s->parent[below] = d->at;
		rc = number_of_name(&s->files, d->line->path,
				    &s->named[below].file);
		s->named[below].line = d->line->number;
	} else if (s->parent[below] != d->at) {
		add_ambiguity(&s->parents, "switch", name, "below",
			      s->parent[below], d);
	}
	return rc;
}

/* Adds the nodes and switches of the current line. */
static int add_lists(struct definition *d, struct np_err *err)
{
	const char *list = d->is.nodes;
	int rc = list ? np_hostlist_each(list, add_node, d) : 0;

	if (!rc && d->is.below) {
		list = d->is.below;
		rc = np_hostlist_each(list, add_switch, d);
	}
	switch (rc) {
	case 0:
		return 0;
	case -EINVAL:
		return line_error(d->line, rc, err,
				  ": expected a list such as n[0-3],n7", list);
	case -ELOOP:
		return line_error(d->line, -EINVAL, err, " is below itself",
				  d->is.name);
	case -E2BIG:
		return line_error(d->line, rc, err,
				  "more than 65536 switches or nodes, or "
				  "1048576 names in lists",
				  "");
	default:
		return line_error(d->line, rc, err, "out of memory", "");
	}
}

/*
 * The language in which the text begins, as topology.yaml(5) may in block or
 * flow style; NULL: another one.
 */
static const char *language_of(const char *text)
{
	size_t word;

	text += strspn(text, " \t");
	word = strcspn(text, " \t\r");
	if (*text == '{' || *text == '[')
		return "JSON or YAML";
	return *text == '%' || !strncmp(text, "---", 3) ||
			       (word == 1 && *text == '-') ||
			       (word &&
				strspn(text, "abcdefghijklmnopqrstuvwxyz_") ==
					word - 1 &&
				text[word - 1] == ':') ?
		       "YAML" :
		       NULL;
}

/* Reads one line that defines a switch. */
static int read_line(void *arg, const struct np_slurm_line *line,
		     struct np_err *err)
{
	struct definition d = { .s = arg, .line = line };
	const char *language = language_of(line->text);
	int rc;

	if (language)
		return np_errf(err, -EINVAL,
			       "%s: is %s, which is not read: expected a "
			       "topology.conf, or a file with what \"scontrol "
			       "show topology\" prints",
			       line->path, language);
	rc = np_topo_switch(line, &d.is, err);
	if (rc)
		return rc;
	rc = find_switch(d.s, d.is.name, &d.at);
	if (rc)
		return line_error(line, rc, err,
				  rc == -ENOMEM ? "out of memory" :
						  "more than 65536 switches",
				  "");
	if (d.s->defined[d.at])
		return line_error(line, -EINVAL, err, " is defined twice",
				  d.is.name);
	d.s->defined[d.at] = true;
	if (d.is.suffix && !*d.s->doubt.text)
		np_errf(&d.s->doubt, 0,
			"%s:%u: text after the last bracket of a name: "
			"slurmctld rejects it before Slurm 23.11",
			line->path, line->number);
	return add_lists(&d, err);
}

/* Checks that every switch is defined and that none is above itself. */
static int check_tree(struct switches *s, const char *path, struct np_err *err)
{
	char name[SHOWN], above[SHOWN], file[NP_ERR_LEN];

	for (uint32_t i = 0; i < s->names.n; i++) {
		uint32_t n = 0, up = i;

		name_of(&s->names, i, name, sizeof(name));
		if (!s->defined[i])
			return np_errf(
				err, -EINVAL,
				"%s:%u: %s names %s, which no line defines",
				name_of(&s->files, s->named[i].file, file,
					sizeof(file)),
				s->named[i].line,
				name_of(&s->names, s->parent[i], above,
					sizeof(above)),
				name);
		while (n <= LEVELS_MAX && s->parent[up] != NP_TOPOLOGY_ROOT) {
			up = s->parent[up];
			n++;
		}
		if (n > LEVELS_MAX)
			return np_errf(err, -EINVAL,
				       "%s: switch %s is above itself, or more "
				       "than %d switches are above it",
				       path, name, LEVELS_MAX);
	}
	return s->nodes->n ?
		       0 :
		       np_errf(err, -EINVAL, "%s: no switch has nodes", path);
}

/* Reports the first ambiguity of a kind, and how many others there are. */
static void warn_ambiguity(struct ambiguity *f,
			   void (*warn)(const char *line, void *arg), void *arg)
{
	size_t len = strlen(f->first.text);

	if (f->n > 1)
		snprintf(f->first.text + len, sizeof(f->first.text) - len,
			 " (%u more like it)", f->n - 1);
	if (f->n)
		warn(f->first.text, arg);
}

/* Reads and checks the file, then makes the topology. */
static int read_file(struct switches *s, const char *path,
		     struct np_topology_conf *out, struct np_err *err)
{
	struct np_err what = NP_ERR_INIT;
	int rc = np_slurm_file(path, NULL, read_line, s, err);
	bool nul = rc == -EILSEQ;

	if (np_slurm_was_read(rc)) {
		if (rc)
			s->doubt = *err;
		rc = check_tree(s, path, err);
	}
	/* The NUL is the likely reason, as it hides a part of the file. */
	if (rc && nul)
		*err = s->doubt;
	if (rc)
		return rc;
	rc = np_topology_tree(s->parent, (uint32_t)s->names.n, s->leaf,
			      (uint32_t)out->nodes.n, &out->topology, &what);
	return rc ? np_errf(err, rc, "%s: %.128s", path, what.text) : 0;
}

int np_topology_conf_read(const char *path,
			  void (*warn)(const char *line, void *arg), void *arg,
			  struct np_topology_conf *out, struct np_err *err)
{
	struct switches *s = calloc(1, sizeof(*s));
	int rc;

	*out = (struct np_topology_conf){ .topology = NULL };
	if (!s)
		return np_errf(err, -ENOMEM, "%s: no memory to read", path);
	s->nodes = &out->nodes;
	rc = read_file(s, path, out, err);
	if (!rc) {
		if (*s->doubt.text)
			warn(s->doubt.text, arg);
		warn_ambiguity(&s->leaves, warn, arg);
		warn_ambiguity(&s->parents, warn, arg);
	} else {
		np_topology_conf_free(out);
	}
	np_index_free(&s->names);
	np_index_free(&s->files);
	free(s);
	return rc;
}

void np_topology_conf_free(struct np_topology_conf *c)
{
	np_topology_free(c->topology);
	np_index_free(&c->nodes);
	c->topology = NULL;
}

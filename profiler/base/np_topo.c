#include "np_topo.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "np_array.h"
#include "np_hostlist.h"
#include "np_read.h"
#include "np_slurm_file.h"

/* Fields of one line; NULL: the line does not have it. */
struct fields {
	const char *level, *nodes, *switch_name, *block_name, *partitions;
};

static struct fields read_line(char *line)
{
	struct fields t = { NULL };
	struct np_slurm_pair p;

	while (np_slurm_printed_pair(&line, &p)) {
		if (!strcmp(p.key, "SwitchName"))
			t.switch_name = p.value;
		else if (!strcmp(p.key, "BlockName"))
			t.block_name = p.value;
		else if (!strcmp(p.key, "Level"))
			t.level = p.value;
		else if (!strcmp(p.key, "Nodes"))
			t.nodes = p.value;
		else if (!strcmp(p.key, "Partitions"))
			t.partitions = p.value;
	}
	return t;
}

/*
 * Start a topology. partitions: those that use it; NULL: it is the cluster's.
 */
static int add_topology(struct np_topo *t, const char *partitions)
{
	if (np_array_grow(&t->partitions, t->n_topologies,
			  sizeof(*t->partitions)))
		return -ENOMEM;
	t->partitions[t->n_topologies] = partitions ? strdup(partitions) : NULL;
	if (partitions && !t->partitions[t->n_topologies])
		return -ENOMEM;
	t->n_topologies++;
	return 0;
}

static int add_line(struct np_topo *t, char *line)
{
	struct fields fields = read_line(line);
	const char *name = fields.level ? fields.switch_name :
					  fields.block_name;
	struct np_topo_leaf *leaf;

	if (fields.partitions)
		return add_topology(t, fields.partitions);
	if (!name || (fields.level && strcmp(fields.level, "0")) ||
	    !fields.nodes || !*fields.nodes)
		return 0;
	if (np_array_grow(&t->leaf, t->n, sizeof(*t->leaf)))
		return -ENOMEM;
	leaf = &t->leaf[t->n++];
	*leaf = (struct np_topo_leaf){ .name = strdup(name),
				       .nodes = strdup(fields.nodes),
				       .topology = t->n_topologies - 1 };
	return leaf->name && leaf->nodes ? 0 : -ENOMEM;
}

int np_topo_parse(const char *text, struct np_topo *out, struct np_err *err)
{
	char *copy = strdup(text), *rest = copy;
	struct np_topo t = { .n = 0 };
	int rc = copy ? add_topology(&t, NULL) : -ENOMEM;

	for (char *line; !rc && (line = strsep(&rest, "\n"));)
		if (t.n >= NP_TOPO_MAX_LEAVES)
			rc = np_errf(err, -E2BIG,
				     "topology: more than %d leaf switches",
				     NP_TOPO_MAX_LEAVES);
		else
			rc = add_line(&t, line);
	free(copy);
	if (rc)
		np_topo_free(&t);
	else
		*out = t;
	return rc;
}

void np_topo_free(struct np_topo *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->leaf[i].name);
		free(t->leaf[i].nodes);
		free(t->leaf[i].rail);
		free(t->leaf[i].nic);
	}
	free(t->leaf);
	for (size_t i = 0; i < t->n_topologies; i++)
		free(t->partitions[i]);
	free(t->partitions);
	*t = (struct np_topo){ .n = 0 };
}

/* ---- topology.conf ---- */

static int word_error(const struct np_slurm_line *line, const char *word,
		      const char *what, struct np_err *err)
{
	return np_errf(err, -EINVAL, "%s:%u: %.64s%s", line->path, line->number,
		       word + strspn(word, " \t"), what);
}

/* Does slurmctld accept this value of LinkSpeed? It does "", "0x10" and "K". */
static bool is_speed(const char *value)
{
	unsigned long n;
	char *end;

	if (!strcasecmp(value, "UNLIMITED") || !strcasecmp(value, "INFINITE"))
		return true;
	errno = 0;
	n = strtoul(value, &end, 0);
	if (*end == 'k' || *end == 'K') {
		n *= 1024;
		end++;
	}
	return !*end && !errno && *value != '-' && n <= UINT32_MAX;
}

/* Take a key behind the name; *inner: the switch is above others. */
static int take_key(const struct np_slurm_line *line,
		    const struct np_slurm_pair *p, bool printed,
		    struct np_topo_switch *s, bool *inner, struct np_err *err)
{
	if (!strcasecmp(p->key, "Nodes"))
		s->nodes = p->value;
	else if (!strcasecmp(p->key, "Switches"))
		s->below = p->value;
	else if (printed && !strcasecmp(p->key, "Level"))
		*inner = strcmp(p->value, "0");
	else if (strcasecmp(p->key, "LinkSpeed"))
		return word_error(
			line, p->key,
			": unknown key, expected Nodes, Switches or LinkSpeed",
			err);
	else if (!is_speed(p->value))
		return word_error(line, p->value,
				  ": expected a LinkSpeed such as 100", err);
	return 0;
}

/*
 * Check a list of nodes. Names of nodes contain no quotes or semicolons: these
 * are mistakes, and would hide the nodes after them. Braces belong to functions
 * such as feature{ib} (since 24.11), whose nodes only slurmctld knows. *suffix
 * is set if a name has text after its last bracket.
 */
static int check_list(const struct np_slurm_line *line, const char *list,
		      bool *suffix, struct np_err *err)
{
	if (list && strpbrk(list, "\"';{"))
		return word_error(line, list,
				  ": expected a list such as n[0-3],n7", err);
	for (size_t len; list && (len = np_hostlist_word(&list)); list += len)
		*suffix |= memchr(list, ']', len) && list[len - 1] != ']';
	return 0;
}

/* Take the name, which is the first key. */
static int take_switch_name(const struct np_slurm_line *line, char **text,
			    struct np_topo_switch *s, struct np_err *err)
{
	struct np_err kind = NP_ERR_INIT;
	struct np_slurm_pair p;

	if (!np_slurm_pair(text, &p)) {
		/* Comments may precede the line, which it takes for the first. */
		if (np_kind_check(*text, strlen(*text), NP_KIND_TOPOLOGY, "",
				  &kind))
			return np_errf(err, -EINVAL, "%s:%u%s", line->path,
				       line->number, kind.text + strlen(":1"));
		return word_error(line, *text, ": expected SwitchName=NAME",
				  err);
	}
	if (strcasecmp(p.key, "SwitchName"))
		return word_error(line, p.key,
				  strncasecmp(p.key, "Block", 5) ?
					  ": unknown key, expected SwitchName "
					  "before all others" :
					  ": blocks of topology/block are not "
					  "supported, expected SwitchName",
				  err);
	s->name = p.value;
	return 0;
}

int np_topo_switch(const struct np_slurm_line *line, struct np_topo_switch *out,
		   struct np_err *err)
{
	/* Only lines that scontrol prints contain the level of the switch. */
	bool printed = strcasestr(line->text, " Level="), inner = false;
	struct np_topo_switch s = { NULL };
	struct np_slurm_pair p;
	char *text = line->text;
	int rc = take_switch_name(line, &text, &s, err);

	while (!rc && (printed ? np_slurm_printed_pair(&text, &p) :
				 np_slurm_pair(&text, &p)))
		rc = take_key(line, &p, printed, &s, &inner, err);
	if (rc)
		return rc;
	if (!np_slurm_is_blank(text))
		return word_error(line, text,
				  ": expected Key=Value, and quotes around a "
				  "value with blanks",
				  err);
	if (s.nodes && s.below && !printed)
		return word_error(line, s.name, " has both Nodes and Switches",
				  err);
	if (strpbrk(s.name, "\"'="))
		return word_error(line, s.name,
				  ": expected the name of a switch", err);
	s.childless = !s.nodes && !s.below && !printed;
	if (inner)
		s.nodes = NULL;
	if (s.nodes && !strcasecmp(s.nodes, "ALL"))
		return word_error(
			line, s.nodes,
			": expected the names of nodes, which slurm.conf has",
			err);
	rc = check_list(line, s.nodes, &s.suffix, err);
	if (!rc)
		rc = check_list(line, s.below, &s.suffix, err);
	if (!rc)
		*out = s;
	return rc;
}

static bool is_block(const struct np_slurm_line *line)
{
	const char *text = line->text + strspn(line->text, " \t");

	return !strncasecmp(text, "Block", strlen("Block")) ||
	       !strncasecmp(text, "AggregatedBlock", strlen("AggregatedBlock"));
}

/* A line with the sizes of blocks, or with a block of blocks, defines none. */
static int read_block(const struct np_slurm_line *line,
		      struct np_topo_switch *out, struct np_err *err)
{
	/* Only lines that scontrol prints contain the number of the block. */
	bool printed = strcasestr(line->text, " BlockIndex=");
	struct np_topo_switch s = { NULL };
	struct np_slurm_pair p;
	char *text = line->text;
	int rc;

	while (printed ? np_slurm_printed_pair(&text, &p) :
			 np_slurm_pair(&text, &p)) {
		if (!s.name && !strcasecmp(p.key, "BlockName"))
			s.name = p.value;
		else if (s.name && !strcasecmp(p.key, "Nodes"))
			s.nodes = p.value;
		/* 23.11 has BlockLevels in place of BlockSizes. */
		else if (!printed &&
			 (s.name || (strcasecmp(p.key, "BlockSizes") &&
				     strcasecmp(p.key, "BlockLevels"))))
			return word_error(
				line, p.key,
				": unexpected key, expected BlockName and "
				"Nodes, or BlockSizes alone",
				err);
	}
	if (!np_slurm_is_blank(text))
		return word_error(line, text,
				  ": expected Key=Value, and quotes around a "
				  "value with blanks",
				  err);
	rc = check_list(line, s.nodes, &s.suffix, err);
	if (!rc)
		*out = s;
	return rc;
}

int np_topo_any(const struct np_slurm_line *line, struct np_topo_switch *out,
		struct np_err *err)
{
	return is_block(line) ? read_block(line, out, err) :
				np_topo_switch(line, out, err);
}

/* ---- rails ---- */

#define RAIL_WORD 64 /* bytes of a rail, adapter or switch, with the NUL */
#define MAX_RAIL_NODES (NP_RAILS_MAX * NP_HOSTLIST_MAX)

struct rails {
	struct np_topo topo;
	struct np_index names, leaves;	   /* of rails; of switches */
	struct np_index nodes;		   /* "RAIL NODE" of all lines */
	uint32_t rail[NP_TOPO_MAX_LEAVES]; /* of each switch */
	const char *source;
	unsigned line;
	struct np_err *err;
};

static int refuse(const struct rails *r, int rc, const char *what,
		  const char *value)
{
	return np_errf(r->err, rc, "%s:%u: %s%s%.80s", r->source, r->line, what,
		       value ? ": " : "", value ? value : "");
}

/* Takes the fields of one line: Rail, NIC, Leaf, Nodes. */
static int read_rail(const struct rails *r, char *line, const char *field[4])
{
	static const char *const key[4] = { "Rail", "NIC", "Leaf", "Nodes" };
	struct np_slurm_pair p;

	while (np_slurm_pair(&line, &p)) {
		size_t k = 0;

		while (k < 4 && strcasecmp(key[k], p.key))
			k++;
		if (k == 4)
			return refuse(r, -EINVAL,
				      "unknown key, expected Rail, NIC, Leaf "
				      "or Nodes",
				      p.key);
		if (field[k])
			return refuse(r, -EINVAL, "key given twice", p.key);
		field[k] = p.value;
	}
	if (!np_slurm_is_blank(line))
		return refuse(
			r, -EINVAL,
			"expected Rail=NAME NIC=DEVICE Leaf=SWITCH Nodes=LIST",
			line);
	for (size_t k = 0; k < 4; k++)
		if (!field[k])
			return refuse(r, -EINVAL, "missing key", key[k]);
	for (size_t k = 0; k < 3; k++)
		if (!*field[k] || strlen(field[k]) >= RAIL_WORD ||
		    strpbrk(field[k], " \t,;="))
			return refuse(r, -EINVAL,
				      "expected a name of 1 to 63 characters "
				      "without ',', ';' and '='",
				      field[k]);
	return 0;
}

/* A switch belongs to one rail. */
static int index_leaf(struct rails *r, const char *rail, const char *leaf,
		      uint32_t *number)
{
	size_t known = r->leaves.n;
	uint32_t at = np_index_add(&r->leaves, leaf, strlen(leaf));

	*number = np_index_add(&r->names, rail, strlen(rail));
	if (*number == NP_NO_INDEX || at == NP_NO_INDEX)
		return -ENOMEM;
	if (*number >= NP_RAILS_MAX)
		return refuse(r, -E2BIG, "more than 8 rails", rail);
	if (at == known)
		r->rail[at] = *number;
	return r->rail[at] == *number ? 0 :
					refuse(r, -EINVAL,
					       "another line has this leaf "
					       "switch on another rail",
					       leaf);
}

/* A node has one leaf switch on each rail. */
static int index_nodes(struct rails *r, uint32_t rail, const char *nodes)
{
	struct np_err why = NP_ERR_INIT;
	char **name, key[300];
	size_t n;
	int rc = np_hostlist_expand(nodes, &name, &n, &why);

	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return refuse(r, rc, "Nodes", why.text);
	if (!n)
		rc = refuse(r, -EINVAL, "expected names of nodes", nodes);
	if (r->nodes.n + n > MAX_RAIL_NODES)
		rc = refuse(r, -E2BIG, "too many nodes", NULL);
	for (size_t i = 0; !rc && i < n; i++) {
		size_t known = r->nodes.n;
		int len = snprintf(key, sizeof(key), "%u %s", rail, name[i]);
		uint32_t at;

		if (len >= (int)sizeof(key)) {
			rc = refuse(r, -EINVAL,
				    "expected a shorter name of a node",
				    name[i]);
			continue;
		}
		at = np_index_add(&r->nodes, key, (size_t)len);
		if (at == NP_NO_INDEX)
			rc = -ENOMEM;
		else if (at < known)
			rc = refuse(
				r, -EINVAL,
				"another line has this node on the same rail",
				name[i]);
	}
	np_names_free(name, n);
	return rc;
}

static int add_rail(struct rails *r, char *line)
{
	const char *f[4] = { NULL };
	struct np_topo_leaf *leaf;
	uint32_t rail;
	int rc;

	line[strcspn(line, "#")] = '\0';
	if (np_slurm_is_blank(line))
		return 0;
	if (r->topo.n == NP_TOPO_MAX_LEAVES)
		return refuse(r, -E2BIG, "too many leaf switches", NULL);
	rc = read_rail(r, line, f);
	if (!rc)
		rc = index_leaf(r, f[0], f[2], &rail);
	if (!rc)
		rc = index_nodes(r, rail, f[3]);
	if (!rc)
		rc = np_array_grow(&r->topo.leaf, r->topo.n, sizeof(*leaf));
	if (rc)
		return rc;
	leaf = &r->topo.leaf[r->topo.n++];
	*leaf = (struct np_topo_leaf){ .name = strdup(f[2]),
				       .nodes = strdup(f[3]),
				       .rail = strdup(f[0]),
				       .nic = strdup(f[1]) };
	return leaf->name && leaf->nodes && leaf->rail && leaf->nic ? 0 :
								      -ENOMEM;
}

int np_rails_parse(char *text, const char *source, struct np_topo *out,
		   struct np_err *err)
{
	struct rails *r = calloc(1, sizeof(*r));
	int rc = -ENOMEM;

	if (r) {
		r->source = source;
		r->err = err;
		rc = add_topology(&r->topo, NULL);
	}
	for (char *line; !rc && (line = strsep(&text, "\n"));) {
		r->line++;
		rc = add_rail(r, line);
	}
	if (!rc)
		*out = r->topo;
	else if (r)
		np_topo_free(&r->topo);
	if (r) {
		np_index_free(&r->names);
		np_index_free(&r->leaves);
		np_index_free(&r->nodes);
	}
	free(r);
	return rc == -ENOMEM ? np_errf(err, rc, "%s: out of memory", source) :
			       rc;
}

int np_rails_load(const char *path, struct np_topo *out, struct np_err *err)
{
	char *text;
	size_t len;
	int rc = np_read_file(path, NP_RAILS_MAX_BYTES, &text, &len, err);

	if (rc)
		return rc;
	rc = np_rails_parse(text, path, out, err);
	free(text);
	return rc;
}

/* ---- the leaf switch of a node ---- */

/* Start of the node's name in address. */
static const char *node_part(const char *address, const char *node)
{
	size_t all = strlen(address), own = node ? strlen(node) : 0;
	const char *dot = strrchr(address, '.');

	if (node && !strcmp(address, node))
		return address;
	if (own && own < all && address[all - own - 1] == '.' &&
	    !strcmp(address + all - own, node))
		return address + all - own;
	return dot ? dot + 1 : address;
}

static size_t count_dots(const char *text, const char *end)
{
	size_t n = 0;

	for (; text < end; text++)
		n += *text == '.';
	return n;
}

/*
 * True if names of switches contain dots: with "switch.switch.node" as the
 * pattern, two names have one dot between them.
 */
static bool has_dots(const char *path, const char *end, const char *pattern)
{
	return pattern && *pattern &&
	       count_dots(path, end) + 1 >
		       count_dots(pattern, pattern + strlen(pattern));
}

void np_leaf_from_address(const char *address, const char *pattern,
			  const char *node, char *leaf, size_t size)
{
	const char *end, *start;
	bool whole;
	size_t len;

	leaf[0] = '\0';
	if (!address)
		return;
	end = node_part(address, node);
	if (end == address)
		return;
	end--; /* the dot */
	whole = has_dots(address, end, pattern);
	for (start = end; start > address && (whole || start[-1] != '.');
	     start--)
		if (start[-1] == ':')
			/* positions on a ring or torus are not switches */
			return;
	len = (size_t)(end - start);
	if (len >= size && !whole)
		return;
	if (len >= size) { /* the end distinguishes leaves */
		start = end - (size - 1);
		len = size - 1;
	}
	memcpy(leaf, start, len);
	leaf[len] = '\0';
}

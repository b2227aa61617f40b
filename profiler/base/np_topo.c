#include "np_topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_slurm_file.h"

/* Fields of one line; NULL: the line does not have it. */
struct fields {
	const char *level, *nodes, *of_switch, *of_block, *partitions;
};

static struct fields read_line(char *line)
{
	struct fields t = { NULL };
	struct np_slurm_pair p;

	while (np_slurm_printed_pair(&line, &p)) {
		if (!strcmp(p.key, "SwitchName"))
			t.of_switch = p.value;
		else if (!strcmp(p.key, "BlockName"))
			t.of_block = p.value;
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
	const char *name = fields.level ? fields.of_switch : fields.of_block;
	struct np_topo_leaf *leaf;

	if (fields.partitions)
		return add_topology(t, fields.partitions);
	if (!name || (fields.level && strcmp(fields.level, "0")) ||
	    !fields.nodes || !*fields.nodes)
		return 0;
	if (np_array_grow(&t->leaf, t->n, sizeof(*t->leaf)))
		return -ENOMEM;
	leaf = &t->leaf[t->n++];
	leaf->name = strdup(name);
	leaf->nodes = strdup(fields.nodes);
	leaf->topology = t->n_topologies - 1;
	return leaf->name && leaf->nodes ? 0 : -ENOMEM;
}

int np_topo_parse(const char *text, struct np_topo *out, struct np_err *err)
{
	char *copy = strdup(text), *rest = copy;
	struct np_topo t = { .n = 0 };
	int rc = copy ? add_topology(&t, NULL) : -ENOMEM;

	for (char *line; !rc && (line = strsep(&rest, "\n")); )
		if (t.n >= NP_TOPO_MAX_LEAVES)
			rc = np_errf(err, -E2BIG, "topology: more than %d leaf "
				     "switches", NP_TOPO_MAX_LEAVES);
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
	}
	free(t->leaf);
	for (size_t i = 0; i < t->n_topologies; i++)
		free(t->partitions[i]);
	free(t->partitions);
	*t = (struct np_topo){ .n = 0 };
}

static bool lists(const char *list, const char *partition)
{
	size_t own = strlen(partition);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, partition, own) &&
		    (!list[own] || list[own] == ','))
			return true;
	}
	return false;
}

size_t np_topo_of_partition(const struct np_topo *t, const char *partition)
{
	for (size_t i = 1; i < t->n_topologies; i++)
		if (lists(t->partitions[i], partition))
			return i;
	return 0;
}

bool np_topo_has_leaves(const struct np_topo *t, size_t topology)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->leaf[i].topology == topology)
			return true;
	return false;
}

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
	return pattern && *pattern && count_dots(path, end) + 1 >
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

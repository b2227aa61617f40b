/*
 * Numbers of switches between nodes: from formulas for regular topologies, and
 * by walking up from both leaves in trees. Nodes are numbered so that those of
 * one switch, then those of one pod or group, follow each other; in a torus the
 * first coordinate varies fastest.
 */
#include "np_topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
		rc = np_errf(err, -EINVAL, "topology \"%.64s\": expected "
			     "fat-tree:16, dragonfly:9x4x2 or torus:8x8x4",
			     spec);
	else if (!(t->nodes = count_nodes(t)))
		rc = np_errf(err, -ERANGE, "topology \"%.64s\": expected at "
			     "most %u nodes, and of a fat tree even ports",
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
		     n <= n_switches; n++) {
			s = t->parent[s];
			if (s >= n_switches)
				return np_errf(err, -EINVAL, "switch %u of "
					       "%u", s, n_switches);
		}
		if (n > n_switches)
			return np_errf(err, -EINVAL, "switch %u is above "
				       "itself", i);
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
			rc = np_errf(err, -EINVAL, "node %u at switch %u of "
				     "%u", i, leaf[i], n_switches);
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
static uint32_t gateway(const struct np_topology *t, uint32_t from,
			uint32_t to)
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
	case FAT_TREE: return fat_tree(t, a, b);
	case DRAGONFLY: return dragonfly(t, a, b);
	case TORUS: return torus(t, a, b);
	default: return tree(t, a, b);
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

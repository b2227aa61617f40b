/* The site out of what Slurm tells. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_site.h"
#include "np_text.h"
#include "np_topo.h"

static uint64_t mix_text(uint64_t h, const char *text)
{
	return np_hash(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* What a node offers: what it has now, or else what it is configured with. */
static const char *features_of(const node_info_t *n)
{
	return n->features_act ? n->features_act : n->features ? n->features :
								 "";
}

static uint64_t digest(const node_info_msg_t *nodes,
		       const partition_info_msg_t *parts, const char *topology,
		       bool whole_nodes)
{
	uint64_t h = NP_HASH;

	for (uint32_t i = 0; i < nodes->record_count; i++) {
		const node_info_t *n = &nodes->node_array[i];

		h = mix_text(h, n->name);
		h = mix_text(h, features_of(n));
		h = np_hash(h, &n->cpus, sizeof(n->cpus));
		h = np_hash(h, &n->real_memory, sizeof(n->real_memory));
	}
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *p = &parts->partition_array[i];

		h = mix_text(h, p->name);
		h = mix_text(h, p->nodes);
		h = np_hash(h, &p->flags, sizeof(p->flags));
		h = np_hash(h, &p->max_share, sizeof(p->max_share));
	}
	h = np_hash(h, &whole_nodes, sizeof(whole_nodes));
	return mix_text(h, topology);
}

static int add_names(struct np_site *s, const node_info_msg_t *nodes)
{
	s->name = calloc(s->n_nodes + 1, sizeof(*s->name));
	for (size_t i = 0; s->name && i < s->n_nodes; i++) {
		const char *name = nodes->node_array[i].name;

		s->name[i] = strdup(name ? name : "");
		if (!s->name[i])
			return -ENOMEM;
	}
	return s->name ? np_naming_new(s->name, s->n_nodes, &s->naming) :
			 -ENOMEM;
}

static bool same_kind(const struct np_node_kind *c, const node_info_t *n)
{
	return c->cpus == n->cpus && c->memory_mb == n->real_memory &&
	       !strcmp(c->features, features_of(n));
}

static struct np_node_kind *new_kind(struct np_site *s, const node_info_t *n)
{
	struct np_node_kind *c = &s->kind[s->n_kinds];

	c->cpus = n->cpus;
	c->memory_mb = n->real_memory;
	c->features = strdup(features_of(n));
	c->nodes = calloc(s->words, sizeof(*c->nodes));
	s->n_kinds++;
	return c->features && c->nodes ? c : NULL;
}

/* Too many kinds: the last one has the least of all that are in it. */
static void widen(struct np_node_kind *c, const node_info_t *n)
{
	if (n->cpus < c->cpus)
		c->cpus = n->cpus;
	if (n->real_memory < c->memory_mb)
		c->memory_mb = n->real_memory;
	c->features[0] = '\0';
}

static int add_kinds(struct np_site *s, const node_info_msg_t *nodes)
{
	struct np_node_kind *c = NULL;

	s->kind = calloc(NP_SITE_MAX_KINDS, sizeof(*s->kind));
	if (!s->kind)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_nodes; i++) {
		const node_info_t *n = &nodes->node_array[i];
		size_t k = 0;

		if (!c || !same_kind(c, n)) {
			while (k < s->n_kinds && !same_kind(&s->kind[k], n))
				k++;
			if (k < s->n_kinds)
				c = &s->kind[k];
			else if (k < NP_SITE_MAX_KINDS)
				c = new_kind(s, n);
			else
				widen(c = &s->kind[k - 1], n);
		}
		if (!c)
			return -ENOMEM;
		np_bits_set(c->nodes, i);
	}
	return 0;
}

static int add_parts(struct np_site *s, const partition_info_msg_t *parts,
		     bool whole_nodes)
{
	s->part = calloc(parts->record_count + 1, sizeof(*s->part));
	if (!s->part)
		return -ENOMEM;
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *from = &parts->partition_array[i];
		struct np_part *p = &s->part[s->n_parts++];

		p->name = strdup(from->name ? from->name : "");
		p->nodes = calloc(s->words, sizeof(*p->nodes));
		if (!p->name || !p->nodes)
			return -ENOMEM;
		np_site_pairs(s, from->node_inx, p->nodes);
		p->is_default = from->flags & PART_FLAG_DEFAULT;
		/* OverSubscribe=EXCLUSIVE */
		p->shares = !whole_nodes && from->max_share;
		for (size_t k = 0; k < s->n_kinds; k++)
			p->n_kinds += np_bits_meet(p->nodes,
						     s->kind[k].nodes,
						     s->words);
	}
	return 0;
}

/* What leaf switches are made of. */
struct leaves {
	struct np_leaf *leaf;
	uint32_t **node; /* of each leaf, malloc'ed */
	size_t n;
	uint64_t *bits, *taken; /* nodes: of one leaf; of all before it */
	uint64_t *of_topology; /* nodes of each, s->words for one */
	size_t n_twice; /* nodes that were on another one before */
};

static const char *leaf_with(const struct leaves *l, uint32_t node)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->leaf[i].n_nodes; k++)
			if (l->node[i][k] == node)
				return l->leaf[i].name;
	return "";
}

/* Slurm warns of nodes on several leaves, and goes on. */
static void keep_first(struct np_site *s, struct leaves *l, const char *leaf)
{
	for (size_t w = 0; w < s->words; w++) {
		uint64_t twice = l->bits[w] & l->taken[w];

		l->bits[w] &= ~twice;
		l->taken[w] |= l->bits[w];
		NP_BITS_EACH(i, &twice, 1) {
			uint32_t node = (uint32_t)(w * NP_BITS_WORD + i);

			if (!l->n_twice++)
				np_errf(&s->note, 0, "topology: node %.64s is "
					"on leaf switches %.64s and %.64s: "
					"the first counts", s->name[node],
					leaf_with(l, node), leaf);
		}
	}
}

/* One more, unless none of the cluster's nodes is on it. */
static int add_leaf(struct np_site *s, struct leaves *l,
		    const struct np_topo_leaf *from)
{
	struct np_leaf *leaf = &l->leaf[l->n];
	uint32_t *node;

	if (np_site_parse_long(s, from->nodes, l->bits)) {
		np_errf(&s->note, 0, "topology: leaf switch %.64s is left "
			"out: \"%.80s\" is no list of nodes", from->name,
			from->nodes);
		return 0;
	}
	for (size_t w = 0; w < s->words; w++)
		l->bits[w] &= l->of_topology[from->topology * s->words + w];
	keep_first(s, l, from->name);
	node = calloc(np_bits_count(l->bits, s->words) + 1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	*leaf = (struct np_leaf){ .name = from->name, .node = node };
	NP_BITS_EACH(i, l->bits, s->words)
		node[leaf->n_nodes++] = (uint32_t)i;
	if (leaf->n_nodes)
		l->node[l->n++] = node;
	else
		free(node);
	return 0;
}

/* Nodes without a partition have the cluster's topology. */
static void list_nodes(struct np_site *s, const struct np_topo *t,
		       uint64_t *of_topology)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		np_bits_set(of_topology, i);
	if (t->n_topologies == 1)
		return;
	for (size_t i = 0; i < s->n_parts; i++)
		for (size_t w = 0; w < s->words; w++)
			of_topology[w] &= ~s->part[i].nodes[w];
	for (size_t i = 0; i < s->n_parts; i++) {
		size_t which = np_topo_of_partition(t, s->part[i].name);

		s->part[i].no_leaves = t->n && !np_topo_has_leaves(t, which);
		for (size_t w = 0; w < s->words; w++)
			of_topology[which * s->words + w] |=
				s->part[i].nodes[w];
	}
}

static int make_leaves(struct np_site *s, const struct np_topo *t,
		       struct np_err *err)
{
	struct leaves l = {
		.leaf = calloc(t->n + 1, sizeof(*l.leaf)),
		.node = calloc(t->n + 1, sizeof(*l.node)),
		.bits = calloc(s->words, sizeof(*l.bits)),
		.taken = calloc(s->words, sizeof(*l.taken)),
		.of_topology = calloc(t->n_topologies * s->words,
				      sizeof(*l.of_topology)),
	};
	int rc = l.leaf && l.node && l.bits && l.taken && l.of_topology ?
		 0 : -ENOMEM;
	size_t len;

	if (!rc)
		list_nodes(s, t, l.of_topology);
	for (size_t i = 0; !rc && i < t->n; i++)
		rc = add_leaf(s, &l, &t->leaf[i]);
	len = strlen(s->note.text);
	if (l.n_twice > 1)
		snprintf(s->note.text + len, sizeof(s->note.text) - len,
			 " (%zu more like it)", l.n_twice - 1);
	if (!rc)
		rc = np_leaves_new(s->n_nodes, l.leaf, l.n, &s->leaves, err);
	for (size_t i = 0; l.node && i < l.n; i++)
		free(l.node[i]);
	free(l.of_topology);
	free(l.taken);
	free(l.bits);
	free(l.node);
	free(l.leaf);
	return rc;
}

static int add_leaves(struct np_site *s, const char *topology,
		      struct np_err *err)
{
	struct np_topo t;
	int rc = np_topo_parse(topology, &t, err);

	if (rc)
		return rc;
	rc = make_leaves(s, &t, err);
	np_topo_free(&t);
	return rc ? rc : np_naming_cut(s->naming, s->leaves->leaf);
}

int np_site_make(struct np_site *old, const node_info_msg_t *nodes,
		 const partition_info_msg_t *parts, const char *topology,
		 bool whole_nodes, struct np_site **out, struct np_err *err)
{
	uint64_t d = digest(nodes, parts, topology, whole_nodes);
	struct np_site *s;
	int rc;

	if (old && old->digest == d) {
		*out = np_site_ref(old);
		return 0;
	}
	if (!nodes->record_count || nodes->record_count > NP_LEAVES_MAX_NODES)
		return np_errf(err, -EINVAL, "%u nodes: expected 1 to %d",
			       nodes->record_count, NP_LEAVES_MAX_NODES);
	s = calloc(1, sizeof(*s));
	if (!s)
		return np_errf(err, -ENOMEM, "out of memory");
	s->refs = 1;
	s->digest = d;
	s->n_nodes = nodes->record_count;
	s->words = np_bits_words(s->n_nodes);
	rc = add_names(s, nodes);
	if (!rc)
		rc = add_kinds(s, nodes);
	if (!rc)
		rc = add_parts(s, parts, whole_nodes);
	if (!rc)
		rc = add_leaves(s, topology, err);
	if (rc) {
		np_site_unref(s);
		return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
	}
	*out = s;
	return 0;
}

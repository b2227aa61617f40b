#include "np_leaves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"

static int check(size_t n_nodes, const struct np_leaf *leaf, size_t n,
		 struct np_err *err)
{
	if (n > NP_LEAVES_MAX)
		return np_errf(err, -E2BIG, "%zu leaf switches; at most %d", n,
			       NP_LEAVES_MAX);
	if (!n_nodes)
		return np_errf(err, -EINVAL, "no nodes");
	if (n_nodes > NP_LEAVES_MAX_NODES)
		return np_errf(err, -E2BIG, "%zu nodes; at most %d", n_nodes,
			       NP_LEAVES_MAX_NODES);
	for (size_t i = 0; i < n; i++) {
		if (!leaf[i].name || !leaf[i].name[0])
			return np_errf(err, -EINVAL, "leaf %zu has no name", i);
		if (!leaf[i].n_nodes || leaf[i].n_nodes > NP_LEAF_MAX_NODES)
			return np_errf(err, -EINVAL,
				       "leaf %s: %zu nodes; expected 1 to %d",
				       leaf[i].name, leaf[i].n_nodes,
				       NP_LEAF_MAX_NODES);
	}
	return 0;
}

static int hang(struct np_leaves *l, const struct np_leaf *leaf,
		struct np_err *err)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < leaf[i].n_nodes; k++) {
			uint32_t node = leaf[i].node[k];

			if (node >= l->n_nodes)
				return np_errf(err, -EINVAL,
					       "leaf %s: node %u of %zu",
					       leaf[i].name, node, l->n_nodes);
			if (l->leaf[node] != NP_NO_LEAF)
				return np_errf(err, -EINVAL,
					       "node %u is on leaf %s and %s",
					       node, leaf[l->leaf[node]].name,
					       leaf[i].name);
			l->leaf[node] = (uint32_t)i;
		}
	return 0;
}

/* Places in order of leaf, then of node. */
static void renumber(struct np_leaves *l, const struct np_leaf *leaf)
{
	uint32_t at = 0;

	for (size_t i = 0; i < l->n; i++) {
		l->first[i] = at;
		at += (uint32_t)leaf[i].n_nodes;
		if (leaf[i].n_nodes > l->largest)
			l->largest = leaf[i].n_nodes;
	}
	l->first[l->n] = at;
	l->in_order = true;
	for (size_t node = 0; node < l->n_nodes; node++) {
		uint32_t on = l->leaf[node];
		uint32_t to = on == NP_NO_LEAF ? at++ : l->first[on]++;

		l->place[node] = to;
		l->in_order &= to == node;
		l->node[to] = (uint32_t)node;
	}
	for (size_t i = 0; i < l->n; i++)
		l->first[i] -= (uint32_t)leaf[i].n_nodes;
}

static bool allocate(struct np_leaves *l)
{
	l->first = calloc(l->n + 1, sizeof(*l->first));
	l->node = calloc(l->n_nodes + 1, sizeof(*l->node));
	l->place = calloc(l->n_nodes + 1, sizeof(*l->place));
	l->leaf = malloc((l->n_nodes + 1) * sizeof(*l->leaf));
	l->name = calloc(l->n + 1, sizeof(*l->name));
	if (!l->first || !l->node || !l->place || !l->leaf || !l->name)
		return false;
	memset(l->leaf, 0xff, (l->n_nodes + 1) * sizeof(*l->leaf));
	return true;
}

int np_leaves_new(size_t n_nodes, const struct np_leaf *leaf, size_t n,
		  struct np_leaves **out, struct np_err *err)
{
	struct np_leaves *l;
	int rc = check(n_nodes, leaf, n, err);

	if (rc)
		return rc;
	l = calloc(1, sizeof(*l));
	if (!l)
		return np_errf(err, -ENOMEM, "leaves: out of memory");
	*l = (struct np_leaves){
		.refs = 1, .n = n, .words = np_bits_words(n),
		.n_nodes = n_nodes, .node_words = np_bits_words(n_nodes),
	};
	rc = allocate(l) ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		if (!(l->name[i] = strdup(leaf[i].name)))
			rc = -ENOMEM;
	if (rc)
		np_errf(err, rc, "leaves: out of memory");
	else
		rc = hang(l, leaf, err);
	if (rc) {
		np_leaves_unref(l);
		return rc;
	}
	renumber(l, leaf);
	*out = l;
	return 0;
}

struct np_leaves *np_leaves_ref(struct np_leaves *l)
{
	__atomic_add_fetch(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

void np_leaves_unref(struct np_leaves *l)
{
	if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; l->name && i < l->n; i++)
		free(l->name[i]);
	free(l->name);
	free(l->leaf);
	free(l->place);
	free(l->node);
	free(l->first);
	free(l);
}

void np_leaves_excluded(const struct np_leaves *l, const uint64_t *allowed,
			uint64_t *nodes)
{
	memset(nodes, 0, l->node_words * sizeof(*nodes));
	for (size_t i = 0; i < l->n; i++)
		for (uint32_t p = l->first[i];
		     !np_bits_test(allowed, i) && p < l->first[i + 1]; p++)
			np_bits_set(nodes, l->node[p]);
}

void np_leaves_allowed(const struct np_leaves *l, const uint64_t *nodes,
		       uint64_t *allowed)
{
	memset(allowed, 0, l->words * sizeof(*allowed));
	for (size_t i = 0; i < l->n; i++) {
		uint32_t p = l->first[i];

		while (p < l->first[i + 1] && !np_bits_test(nodes, l->node[p]))
			p++;
		if (p == l->first[i + 1])
			np_bits_set(allowed, i);
	}
}

#include "np_place.h"

#include <string.h>

typedef bool pick_f(const struct np_place_node *n);

static bool is_step(const struct np_place_node *n)
{
	return n->in_step;
}

static bool is_idle(const struct np_place_node *n)
{
	return !n->in_step && !n->busy;
}

static bool is_probe(const struct np_place_node *n)
{
	return n->probe;
}

static size_t count_on_leaf(const struct np_place_node *node, size_t n,
			    const char *leaf, pick_f *pick)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += pick(&node[i]) && !strcmp(node[i].leaf, leaf);
	return found;
}

static size_t place_probes(struct np_place_node *node, size_t n)
{
	size_t placed = 0;

	for (size_t i = 0; i < n; i++) {
		node[i].probe = node[i].in_step &&
			count_on_leaf(node, n, node[i].leaf, is_step) > 1;
		placed += node[i].probe;
	}
	return placed;
}

static size_t place_level_beside(struct np_place_node *node, size_t n)
{
	size_t placed = 0;

	for (size_t i = 0; i < n; i++) {
		const char *leaf = node[i].leaf;

		node[i].level = is_idle(&node[i]) &&
			count_on_leaf(node, n, leaf, is_probe) > 0 &&
			count_on_leaf(node, n, leaf, is_idle) > 1;
		placed += node[i].level;
	}
	return placed;
}

size_t np_place(struct np_place_node *node, size_t n, enum np_scope *scope,
		struct np_err *why)
{
	size_t probes = place_probes(node, n);

	if (!probes) {
		np_errf(why, 0, "no two nodes of the step share a leaf switch");
		return 0;
	}
	*scope = NP_SCOPE_LEAF;
	if (!place_level_beside(node, n)) {
		*scope = NP_SCOPE_NODE;
		for (size_t i = 0; i < n; i++)
			node[i].level = node[i].probe;
	}
	return probes;
}

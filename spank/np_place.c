#include "np_place.h"

#include <stdlib.h>
#include <string.h>

#include "np_rng.h"

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

static bool is_level(const struct np_place_node *n)
{
	return n->level;
}

static size_t count(const struct np_place_node *node, size_t n, pick_f *pick)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += pick(&node[i]);
	return found;
}

static int by_leaf(const void *a, const void *b)
{
	const struct np_place_node *x = a, *y = b;
	int c = strcmp(x->leaf, y->leaf);

	return c ? c : (x->index > y->index) - (x->index < y->index);
}

size_t np_place_leaf_end(const struct np_place_node *node, size_t n,
			 size_t first)
{
	size_t end = first + 1;

	while (end < n && !strcmp(node[first].leaf, node[end].leaf))
		end++;
	return end;
}

static void place_on_leaf(struct np_place_node *node, size_t n)
{
	bool measured = count(node, n, is_step) > 1;
	bool beside = measured && count(node, n, is_idle) > 1;

	for (size_t i = 0; i < n; i++) {
		node[i].probe = measured && is_step(&node[i]);
		node[i].level = beside && is_idle(&node[i]);
	}
}

static size_t level_pairs(const struct np_place_node *node, size_t n)
{
	size_t pairs = 0;

	for (size_t i = 0, end; i < n; i = end) {
		end = np_place_leaf_end(node, n, i);
		pairs += count(&node[i], end - i, is_level) / 2;
	}
	return pairs;
}

/* Keep two and two of the leaf: of all pairs, evenly, keep of each `of`. */
static void thin_leaf(struct np_place_node *node, size_t n, size_t keep,
		      size_t of, size_t *seen)
{
	size_t left = count(node, n, is_level) / 2 * 2;

	for (size_t i = 0; i < n; i++) {
		if (!node[i].level)
			continue;
		node[i].level = left && *seen * keep / of !=
					(*seen + 1) * keep / of;
		if (left && --left % 2 == 0)
			++*seen;
	}
}

static void thin_level(struct np_place_node *node, size_t n, size_t most)
{
	size_t pairs = level_pairs(node, n), seen = 0;

	for (size_t i = 0, end; i < n; i = end) {
		end = np_place_leaf_end(node, n, i);
		thin_leaf(&node[i], end - i, most / 2, pairs, &seen);
	}
}

size_t np_place(struct np_place_node *node, size_t n, size_t max_level,
		enum np_scope *scope, struct np_err *why)
{
	size_t probes;

	for (size_t i = 0; i < n; i++)
		node[i].index = i;
	qsort(node, n, sizeof(*node), by_leaf);
	for (size_t i = 0, end; i < n; i = end) {
		end = np_place_leaf_end(node, n, i);
		place_on_leaf(&node[i], end - i);
	}
	probes = count(node, n, is_probe);
	if (!probes) {
		np_errf(why, 0, "no two nodes of the step share a leaf switch");
		return 0;
	}
	*scope = NP_SCOPE_LEAF;
	if (!count(node, n, is_level)) {
		*scope = NP_SCOPE_NODE;
		for (size_t i = 0; i < n; i++)
			node[i].level = node[i].probe;
	}
	if (count(node, n, is_level) > max_level)
		thin_level(node, n, max_level);
	return probes;
}

/* ---- who measures with whom ---- */

#define LOTS ((size_t)1 << 30)

struct ready {
	const char *leaf;
	size_t node;
	size_t lot;
};

static int by_leaf_and_lot(const void *a, const void *b)
{
	const struct ready *x = a, *y = b;
	int c = strcmp(x->leaf, y->leaf);

	return c ? c : (x->lot > y->lot) - (x->lot < y->lot);
}

/* The nodes of one leaf, in the order of their lots. */
static size_t pick_leaf(const struct ready *r, size_t k, uint32_t max_pairs,
			struct np_pick_group *out)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < k && n < max_pairs; i += 2)
		out[n++] = (struct np_pick_group){
			2, { r[i].node, r[i + 1].node }
		};
	if (k == NP_PICK_MOST && max_pairs > 1) {
		out[0].node[2] = r[2].node;
		out[0].n = 3;
	}
	return n;
}

size_t np_pick(const char *const leaf[], size_t n, uint32_t max_pairs,
	       uint64_t seed, struct np_pick_group *out)
{
	struct ready *r = calloc(n ? n : 1, sizeof(*r));
	size_t ready = 0, groups = 0;
	struct np_rng *rng = np_rng_new(seed, "pairs");

	if (!r || !rng)
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (leaf[i])
			r[ready++] = (struct ready){ leaf[i], i,
						     np_rng_below(rng, LOTS) };
	if (ready)
		qsort(r, ready, sizeof(*r), by_leaf_and_lot);
	for (size_t i = 0, end; i < ready; i = end) {
		for (end = i + 1; end < ready &&
		     !strcmp(r[i].leaf, r[end].leaf); end++)
			;
		groups += pick_leaf(&r[i], end - i, max_pairs, out + groups);
	}
	np_rng_free(rng);
	free(r);
	return groups;
}

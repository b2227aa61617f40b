#include "np_pick.h"

#include <stdlib.h>
#include <string.h>

#include "np_rng.h"

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

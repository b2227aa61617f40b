/* Sets of nodes: kept once each, and counted by leaf. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"
#include "np_snapshot_impl.h"

static uint64_t hash_of(const uint64_t *w, size_t n)
{
	uint64_t h = 0x9e3779b97f4a7c15;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ w[i]) * 0xff51afd7ed558ccd;
		h ^= h >> 32;
	}
	return h;
}

/* The slot that holds the set, or the empty one where it belongs. */
static uint32_t *slot_of(const struct np_snapshot *s, const uint64_t *w)
{
	size_t i = hash_of(w, s->node_words) & (s->set_slots - 1);

	while (s->set_table[i] &&
	       memcmp(np_snapshot_set(s, s->set_table[i] - 1), w, s->set.item))
		i = (i + 1) & (s->set_slots - 1);
	return &s->set_table[i];
}

static int grow_table(struct np_snapshot *s)
{
	size_t slots = s->set_slots ? 2 * s->set_slots : 64;
	uint32_t *t = calloc(slots, sizeof(*t));

	if (!t)
		return -ENOMEM;
	free(s->set_table);
	s->set_table = t;
	s->set_slots = slots;
	for (uint32_t i = 0; i < s->set.n; i++)
		*slot_of(s, np_snapshot_set(s, i)) = i + 1;
	return 0;
}

int np_snapshot_nodes(struct np_snapshot *s, const uint64_t *nodes,
		      uint32_t *handle, struct np_err *err)
{
	size_t n = np_leaves_n_nodes(s->leaves), words = s->node_words;
	uint64_t *w;
	uint32_t *slot;

	if (s->sealed ||
	    (n % NP_BITS_WORD && nodes[words - 1] >> n % NP_BITS_WORD))
		return np_errf(err, -EINVAL, "set of nodes: beyond the last of"
			       " %zu nodes, or a sealed snapshot", n);
	if (2 * (s->set.n + 1) > s->set_slots && grow_table(s))
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	w = np_pool_add(&s->set, 1);
	if (!w)
		return np_errf(err, -ENOMEM, "snapshot: out of memory");
	memset(w, 0, s->set.item);
	NP_BITS_EACH(i, nodes, words)
		np_bits_set(w, s->leaves->place[i]);
	slot = slot_of(s, w);
	if (*slot)
		s->set.n--; /* known already */
	else
		*slot = (uint32_t)s->set.n;
	*handle = *slot - 1;
	return 0;
}

/* Bits from .. to-1 of word k of a run that covers places first .. end-1. */
static uint64_t mask_of(uint32_t first, uint32_t end, size_t k)
{
	uint64_t m = ~UINT64_C(0);
	size_t base = k * NP_BITS_WORD;

	if (first > base)
		m &= ~UINT64_C(0) << (first - base);
	if (end < base + NP_BITS_WORD)
		m &= (UINT64_C(1) << (end - base)) - 1;
	return m;
}

struct count {
	unsigned any, usable, idle, room; /* any: 0 or 1 */
};

static struct count count_range(const struct np_snapshot *s,
				const uint64_t *set, uint32_t first,
				uint32_t end)
{
	struct count c = { 0 };

	if (first == end)
		return c;
	for (size_t k = first / NP_BITS_WORD; k <= (end - 1) / NP_BITS_WORD;
	     k++) {
		uint64_t w = set[k] & mask_of(first, end, k);

		c.any |= w != 0;
		c.usable += (unsigned)__builtin_popcountll(w & s->usable[k]);
		c.idle += (unsigned)__builtin_popcountll(w & s->idle[k]);
		c.room += (unsigned)__builtin_popcountll(w & s->room[k]);
	}
	return c;
}

void np_snapshot_count(const struct np_snapshot *s, const uint64_t *set,
		       struct np_counts *c)
{
	const struct np_leaves *l = s->leaves;
	struct count got;

	memset(c->reach, 0, s->leaf_words * sizeof(*c->reach));
	c->all_usable = 0;
	for (size_t i = 0; i < l->n; i++) {
		got = count_range(s, set, l->first[i], l->first[i + 1]);
		c->usable[i] = (uint16_t)got.usable;
		c->all_usable += got.usable;
		c->free_alone[i] = (uint16_t)got.idle;
		c->free_shared[i] = (uint16_t)got.room;
		if (got.any)
			np_bits_set(c->reach, i);
	}
	got = count_range(s, set, l->first[l->n], (uint32_t)l->n_nodes);
	c->loose_usable = got.usable;
	c->all_usable += got.usable;
	c->loose_free_alone = got.idle;
	c->loose_free_shared = got.room;
}

uint64_t np_counts_sum(uint32_t switches, const uint16_t *column,
		       uint32_t loose, const uint64_t *leaves, size_t lw)
{
	uint32_t best[NP_COUNTS_MAX_SWITCHES] = { loose };
	uint64_t sum = 0;

	if (!switches || switches > NP_COUNTS_MAX_SWITCHES) {
		NP_BITS_EACH(leaf, leaves, lw)
			sum += column[leaf];
		return sum + loose;
	}
	NP_BITS_EACH(leaf, leaves, lw) {
		uint32_t n = column[leaf];

		for (uint32_t k = 0; k < switches && n; k++)
			if (n > best[k]) {
				uint32_t less = best[k];

				best[k] = n;
				n = less;
			}
	}
	for (uint32_t k = 0; k < switches; k++)
		sum += best[k];
	return sum;
}

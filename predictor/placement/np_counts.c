#include "np_counts.h"

#include <string.h>

#include "np_bits.h"

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

void np_counts_fill(const struct np_snapshot *s, const uint64_t *set,
		    struct np_counts *c)
{
	const struct np_leaves *l = s->leaves;
	struct count got;

	memset(c->reach, 0, l->words * sizeof(*c->reach));
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

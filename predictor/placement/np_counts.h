/* What a set of nodes has on each leaf. */
#ifndef NP_COUNTS_H
#define NP_COUNTS_H

#include "np_snapshot.h"

/* Nodes of one set on each leaf, and in [n] those without a leaf. */
struct np_counts {
	uint16_t *usable, *free_alone, *free_shared; /* n_leaves each */
	uint64_t *reach; /* leaves with any node of the set */
	uint32_t loose_usable, loose_free_alone, loose_free_shared;
	uint64_t all_usable; /* of all leaves, and without one */
};

/* set[]: by place; arrays of c are the caller's. */
void np_counts_fill(const struct np_snapshot *s, const uint64_t *set,
		    struct np_counts *c);

/*
 * Nodes of one column of counts on some leaves, with those on no leaf; on the
 * best so many leaves if switches > 0, where more than NP_COUNTS_MAX_SWITCHES
 * count as no limit.
 */
#define NP_COUNTS_MAX_SWITCHES 64
uint64_t np_counts_sum(uint32_t switches, const uint16_t *column,
		       uint32_t loose, const uint64_t *leaves, size_t lw);

#endif

/*
 * One rank's part of a collective while its steps are made: what all algorithms
 * are built of.  Private to np_collective_*.c.
 */
#ifndef NP_COLLECTIVE_PART_H
#define NP_COLLECTIVE_PART_H

#include "np_collective.h"

struct np_part {
	const struct np_collective_call *c;
	struct np_steps *s;
	uint32_t round;
	uint32_t rank, size; /* here, counted from the root */
	bool out_of_memory;
};

void np_part_send(struct np_part *p, uint32_t peer, uint64_t bytes);
void np_part_receive(struct np_part *p, uint32_t peer, uint64_t bytes);
/* What follows waits for what is there. */
void np_part_next_round(struct np_part *p);

/* n ranks further, around the end. */
uint32_t np_part_after(const struct np_part *p, uint32_t rank, uint32_t n);
uint32_t np_part_before(const struct np_part *p, uint32_t rank, uint32_t n);

/* Bytes of n blocks from the one of rank first on; of all. */
uint64_t np_part_blocks(const struct np_part *p, uint32_t first, uint32_t n);
uint64_t np_part_whole(const struct np_part *p);

/* The same blocks if own, else bytes. */
uint64_t np_part_of(const struct np_part *p, bool own, uint32_t first,
		    uint32_t n, uint64_t bytes);

/*
 * Between rank 0 and all, by a binomial tree or directly: of each its own
 * block, or the same bytes of all.
 */
void np_part_tree_down(struct np_part *p, bool own, uint64_t bytes);
void np_part_tree_up(struct np_part *p, bool own, uint64_t bytes);
void np_part_line_down(struct np_part *p, bool own, uint64_t bytes);
void np_part_line_up(struct np_part *p, bool own, uint64_t bytes);

#endif

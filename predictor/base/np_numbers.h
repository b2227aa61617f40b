/*
 * Numbers for things that come again and again: 0, 1, 2 ... in the order in
 * which they are first met.  What is known of each stands in arrays beside.
 */
#ifndef NP_NUMBERS_H
#define NP_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#define NP_NO_NUMBER UINT32_MAX

/* Of things that are told apart by some bytes each.  Zeroed, it is empty. */
struct np_numbers {
	size_t n; /* so many there are */
	size_t *end; /* of the bytes of each */
	char *bytes;
	size_t end_room, byte_room;
	struct np_numbers_slot *slot; /* a hash table */
	size_t n_slots;		      /* a power of two, or 0 */
};

/* NP_NO_NUMBER: it was never met. */
uint32_t np_numbers_find(const struct np_numbers *x, const void *thing,
			 size_t len);

/* The same, with a number for what is new; NP_NO_NUMBER: no memory. */
uint32_t np_numbers_get(struct np_numbers *x, const void *thing, size_t len);

/* Nothing was met; memory is kept. */
void np_numbers_clear(struct np_numbers *x);
void np_numbers_free(struct np_numbers *x);

#endif

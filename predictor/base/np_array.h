/*
 * Containers: arrays that grow, indexes of keys, and a limited amount that many
 * users share.
 */
#ifndef NP_ARRAY_H
#define NP_ARRAY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- arrays that grow ---- */

/*
 * array: the address of a pointer to elements of size bytes each. The pointer
 * is NULL as long as the array is empty; its owner frees it with free().
 * Capacities are numbers of elements. All functions return 0, or -ENOMEM, and
 * then nothing has changed.
 */

/*
 * Make room for one more element after the n existing ones. The capacity is
 * derived from n, so nothing else may resize the array.
 */
int np_array_grow(void *array, size_t n, size_t size);

/* Allocate for n elements in total. *capacity must be 0 at first. */
int np_array_reserve(void *array, size_t *capacity, size_t n, size_t size);

/*
 * Append a value to the n elements of an array, and count it. array, n and
 * capacity are variables of the caller.
 */
#define NP_ARRAY_PUSH(array, n, capacity, ...) \
	(np_array_reserve(&(array), &(capacity), (n) + 1, sizeof(*(array))) ? \
		 -ENOMEM : \
		 ((array)[(n)++] = __VA_ARGS__, 0))

/* Set the capacity, which may be less than the number of elements. */
int np_array_resize(void *array, size_t capacity, size_t size);

/* ---- orders for qsort() and bsearch() ---- */

/* Ascending order of numbers, or of structures by their first member. */
int np_order_double(const void *a, const void *b);
int np_order_u32(const void *a, const void *b);
int np_order_text(const void *a, const void *b); /* char *, by strcmp() */

/* The reverse of np_order_double(). */
int np_order_desc(const void *a, const void *b);

/* Sort numbers and remove duplicates; returns how many remain. */
size_t np_order_unique(uint32_t *number, size_t n);

/* ---- indexes ---- */

/*
 * An index numbers keys 0, 1, 2 ... in the order in which they are added. The
 * caller stores what belongs to a key in arrays, under its number.
 */

#define NP_NO_INDEX UINT32_MAX

/* Keys are compared as bytes. Empty when zeroed. */
struct np_index {
	size_t n;    /* number of keys */
	size_t *end; /* of each key: the offset of its end in bytes[] */
	char *bytes; /* all keys, one after the other */
	size_t end_capacity, byte_capacity; /* of end[] and bytes[] */
	struct np_index_slot *slot;	    /* a hash table */
	size_t n_slots;			    /* a power of two, or 0 */
};

/* Return the number of a key of len bytes, or NP_NO_INDEX if it has none. */
uint32_t np_index_find(const struct np_index *index, const void *key,
		       size_t len);

/* Likewise, but add a new key. Returns NP_NO_INDEX when out of memory. */
uint32_t np_index_add(struct np_index *index, const void *key, size_t len);

/* Remove all keys, but keep the memory. */
void np_index_clear(struct np_index *index);
void np_index_free(struct np_index *index);

/* ---- fair shares ---- */

/*
 * A limited amount that many users share.
 *
 * A user may hold at most as much as is still free afterwards. A single user
 * thus gets at most half of the amount, n users who want all of it get
 * 1/(n + 1) each, and something is always left for the next user.
 */

/*
 * Whether a user who holds an amount may take more of what is left. For callers
 * that count for themselves.
 */
bool np_share_allows(uint64_t left, uint64_t held, uint64_t amount);

/* All members but the limit are zero at first: nothing is taken. */
struct np_shares {
	uint64_t limit, used; /* the whole amount, and how much users hold */
	struct np_index user; /* keys: uids */
	uint64_t *held;	      /* by each user */
	size_t held_capacity;
};

/*
 * Take an amount for a user. Returns false, and changes nothing, if that would
 * be too much. When out of memory, only the limit is checked.
 */
bool np_shares_take(struct np_shares *shares, uint32_t uid, uint64_t amount);

/* True if np_shares_take() would succeed. */
bool np_shares_can_take(const struct np_shares *shares, uint32_t uid,
			uint64_t amount);

/* Add an amount that a user already holds, even if it is too much. */
void np_shares_add(struct np_shares *shares, uint32_t uid, uint64_t amount);

/* Return all amounts; keep the limit and the memory. */
void np_shares_clear(struct np_shares *shares);
void np_shares_free(struct np_shares *shares);

#endif

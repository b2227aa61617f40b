/*
 * Containers: arrays that grow, indexes of keys that recur, and a limited
 * amount that many users share.
 */
#ifndef NP_ARRAY_H
#define NP_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- arrays that grow ---- */

/*
 * array: the address of a pointer to elements of size bytes, NULL for an empty
 * array; free() it. All return 0 or -ENOMEM, and then nothing has changed.
 */

/*
 * Make room for one more element after the n existing ones. The capacity is
 * derived from n, so nothing else may resize the array.
 */
int np_array_grow(void *array, size_t n, size_t size);

/* Make room for n elements. *room: the capacity, 0 at first. */
int np_array_room(void *array, size_t *room, size_t n, size_t size);

/* Make room for exactly `room` elements, perhaps fewer than there are. */
int np_array_resize(void *array, size_t room, size_t size);

/*
 * Ascending order, for qsort() and bsearch(): of numbers, or of structures by
 * their first member.
 */
int np_order_double(const void *a, const void *b);
int np_order_u32(const void *a, const void *b);
int np_order_text(const void *a, const void *b); /* char *, by strcmp() */

/* The reverse of np_order_double(). */
int np_order_down(const void *a, const void *b);

/* ---- indexes ---- */

/*
 * Numbers for keys that recur: 0, 1, 2 ... in the order of first appearance.
 * What is known of each key is in arrays of the caller, by that number.
 */

#define NP_NO_INDEX UINT32_MAX

/* Keys are compared as bytes. Empty when zeroed. */
struct np_index {
	size_t n;    /* number of keys */
	size_t *end; /* end of each key in bytes */
	char *bytes; /* all keys, one after the other */
	size_t end_room, byte_room;
	struct np_index_slot *slot; /* a hash table */
	size_t n_slots;		      /* a power of two, or 0 */
};

/* The number of a key; NP_NO_INDEX: it has none. */
uint32_t np_index_find(const struct np_index *x, const void *key,
			 size_t len);

/* The same, with a new number for a new key; NP_NO_INDEX: no memory. */
uint32_t np_index_get(struct np_index *x, const void *key, size_t len);

/* Remove all keys, but keep the memory. */
void np_index_clear(struct np_index *x);
void np_index_free(struct np_index *x);

/* ---- fair shares ---- */

/*
 * A limited amount that many users draw from.
 *
 * A user may hold at most as much as stays free. One user alone thus gets half
 * of the amount, n users who want all of it get 1/(n + 1) each, and something
 * is always left for the next user.
 */

/* Nothing is taken when all but the limit is zero. */
struct np_shares {
	uint64_t limit, used;
	struct np_index user;
	uint64_t *held; /* by each user */
	size_t room;
};

/*
 * Take an amount for a user. Returns false, and changes nothing, if there is
 * not enough. Without memory it returns true as long as the limit allows.
 */
bool np_shares_take(struct np_shares *s, uint32_t uid, uint64_t amount);

/* True if np_shares_take() would succeed. */
bool np_shares_left(const struct np_shares *s, uint32_t uid, uint64_t amount);

/* Count what a user already holds, whether or not it is too much. */
void np_shares_add(struct np_shares *s, uint32_t uid, uint64_t amount);

/* Give everything back; keep the limit and the memory. */
void np_shares_clear(struct np_shares *s);
void np_shares_free(struct np_shares *s);

#endif

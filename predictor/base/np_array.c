#include "np_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

/* ---- arrays that grow ---- */

#define MIN_GROW_CAPACITY 16 /* of np_array_grow(); a power of two */
#define MIN_ROOM_CAPACITY 64 /* of np_array_room() */

/*
 * The caller's pointer has any type, so it is copied as bytes: reading it
 * through a void ** would break the aliasing rules of C.
 */
int np_array_resize(void *array, size_t capacity, size_t size)
{
	void *old, *resized;

	memcpy(&old, array, sizeof(old));
	resized = reallocarray(old, capacity, size);
	if (!resized)
		return -ENOMEM;
	memcpy(array, &resized, sizeof(resized));
	return 0;
}

/*
 * The capacity doubles when n reaches a power of two. It therefore follows from
 * n and need not be stored.
 */
int np_array_grow(void *array, size_t n, size_t size)
{
	bool is_power_of_two = !(n & (n - 1)); /* or 0 */

	if (!n)
		return np_array_resize(array, MIN_GROW_CAPACITY, size);
	if (n < MIN_GROW_CAPACITY || !is_power_of_two)
		return 0;
	return np_array_resize(array, 2 * n, size);
}

int np_array_room(void *array, size_t *capacity, size_t n, size_t size)
{
	size_t wanted = *capacity ? *capacity : MIN_ROOM_CAPACITY;

	if (n <= *capacity)
		return 0;
	while (wanted < n)
		wanted *= 2;
	if (np_array_resize(array, wanted, size))
		return -ENOMEM;
	*capacity = wanted;
	return 0;
}

/* ---- indexes ---- */

#define MIN_SLOTS 256 /* of a hash table; a power of two */

struct np_index_slot {
	uint32_t hash;	 /* hash of the key */
	uint32_t number; /* number of the key plus 1; 0: empty slot */
};

static uint32_t hash_of(const void *key, size_t len)
{
	uint64_t h = np_hash(NP_HASH, key, len);

	return (uint32_t)(h ^ h >> 32);
}

/* Whether the key with this number is `key`. */
static bool is_key(const struct np_index *x, uint32_t number, const void *key,
		   size_t len)
{
	size_t begin = number ? x->end[number - 1] : 0;

	return x->end[number] - begin == len &&
	       !memcmp(x->bytes + begin, key, len);
}

/*
 * The slot of a key, or the empty one where it belongs. The table has at least
 * one slot, and at least one of its slots is empty.
 */
static struct np_index_slot *slot_of(const struct np_index *x, uint32_t hash,
				     const void *key, size_t len)
{
	size_t i = hash & (x->n_slots - 1);

	while (x->slot[i].number &&
	       (x->slot[i].hash != hash ||
		!is_key(x, x->slot[i].number - 1, key, len)))
		i = (i + 1) & (x->n_slots - 1);
	return &x->slot[i];
}

uint32_t np_index_find(const struct np_index *x, const void *key, size_t len)
{
	return x->n ? slot_of(x, hash_of(key, len), key, len)->number - 1 :
		      NP_NO_INDEX;
}

/*
 * Make the hash table larger if one more key would fill more than half of it:
 * searches stay short, and always end at an empty slot. 0 or -ENOMEM.
 */
static int make_room_for_key(struct np_index *x)
{
	size_t n = x->n_slots ? 2 * x->n_slots : MIN_SLOTS;
	struct np_index_slot *larger;

	if (2 * (x->n + 1) <= x->n_slots)
		return 0;
	larger = calloc(n, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	for (size_t i = 0; i < x->n_slots; i++) {
		size_t to = x->slot[i].hash & (n - 1);

		if (!x->slot[i].number)
			continue;
		while (larger[to].number)
			to = (to + 1) & (n - 1);
		larger[to] = x->slot[i];
	}
	free(x->slot);
	x->slot = larger;
	x->n_slots = n;
	return 0;
}

uint32_t np_index_add(struct np_index *x, const void *key, size_t len)
{
	uint32_t hash = hash_of(key, len);
	size_t begin = x->n ? x->end[x->n - 1] : 0;
	struct np_index_slot *slot;

	if (x->n >= NP_NO_INDEX - 1 || make_room_for_key(x))
		return NP_NO_INDEX;
	slot = slot_of(x, hash, key, len);
	if (slot->number)
		return slot->number - 1;
	/* One byte more than needed, as memcpy() of an empty key must not get a
	   null pointer either. */
	if (np_array_room(&x->end, &x->end_room, x->n + 1, sizeof(*x->end)) ||
	    np_array_room(&x->bytes, &x->byte_room, begin + len + 1, 1))
		return NP_NO_INDEX;
	memcpy(x->bytes + begin, key, len);
	x->end[x->n++] = begin + len;
	*slot = (struct np_index_slot){ hash, (uint32_t)x->n };
	return slot->number - 1;
}

void np_index_clear(struct np_index *x)
{
	x->n = 0;
	if (x->n_slots)
		memset(x->slot, 0, x->n_slots * sizeof(*x->slot));
}

void np_index_free(struct np_index *x)
{
	free(x->end);
	free(x->bytes);
	free(x->slot);
	*x = (struct np_index){ .n = 0 };
}

/* ---- fair shares ---- */

static uint64_t held_by(const struct np_shares *s, uint32_t uid)
{
	uint32_t i = np_index_find(&s->user, &uid, sizeof(uid));

	return i == NP_NO_INDEX ? 0 : s->held[i];
}

bool np_shares_can_take(const struct np_shares *s, uint32_t uid,
			uint64_t amount)
{
	uint64_t left = s->limit > s->used ? s->limit - s->used : 0;

	/* Afterwards the user must not hold more than what stays free. */
	return amount <= left && held_by(s, uid) + amount <= left - amount;
}

void np_shares_add(struct np_shares *s, uint32_t uid, uint64_t amount)
{
	size_t n_before = s->user.n;
	uint32_t i;

	s->used += amount;
	/* First the memory: each user with a number must have one in held[]. */
	if (np_array_room(&s->held, &s->room, n_before + 1, sizeof(*s->held)))
		return;
	i = np_index_add(&s->user, &uid, sizeof(uid));
	if (i == NP_NO_INDEX)
		return;
	if (s->user.n > n_before)
		s->held[i] = 0;
	s->held[i] += amount;
}

bool np_shares_take(struct np_shares *s, uint32_t uid, uint64_t amount)
{
	if (!np_shares_can_take(s, uid, amount))
		return false;
	np_shares_add(s, uid, amount);
	return true;
}

void np_shares_clear(struct np_shares *s)
{
	np_index_clear(&s->user);
	s->used = 0;
}

void np_shares_free(struct np_shares *s)
{
	np_index_free(&s->user);
	free(s->held);
	*s = (struct np_shares){ .limit = s->limit };
}

/* ---- orders for qsort() and bsearch() ---- */

int np_order_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int np_order_desc(const void *a, const void *b)
{
	return np_order_double(b, a);
}

int np_order_u32(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int np_order_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t np_order_unique(uint32_t *number, size_t n)
{
	size_t to = 0;

	if (n > 1)
		qsort(number, n, sizeof(*number), np_order_u32);
	for (size_t i = 0; i < n; i++)
		if (!i || number[i] != number[to - 1])
			number[to++] = number[i];
	return to;
}

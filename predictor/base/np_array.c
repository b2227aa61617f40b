#include "np_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

/* ---- arrays that grow ---- */

#define MIN_GROW_CAPACITY 16 /* of np_array_grow(); a power of two */
#define MIN_RESERVED 64	     /* of np_array_reserve() */

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

int np_array_reserve(void *array, size_t *capacity, size_t n, size_t size)
{
	size_t wanted = *capacity ? *capacity : MIN_RESERVED;

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

static uint32_t hash_key(const void *key, size_t len)
{
	uint64_t hash = np_hash(NP_HASH, key, len);

	return (uint32_t)(hash ^ hash >> 32);
}

/* Whether the key with this number is equal to key[]. */
static bool has_key(const struct np_index *index, uint32_t number,
		    const void *key, size_t len)
{
	size_t begin = number ? index->end[number - 1] : 0;

	return index->end[number] - begin == len &&
	       !memcmp(index->bytes + begin, key, len);
}

/*
 * Find the slot of a key, or the empty slot where it is to be added. The table
 * must have at least one empty slot.
 */
static struct np_index_slot *find_slot(const struct np_index *index,
				       uint32_t hash, const void *key,
				       size_t len)
{
	size_t i = hash & (index->n_slots - 1);

	while (index->slot[i].number &&
	       (index->slot[i].hash != hash ||
		!has_key(index, index->slot[i].number - 1, key, len)))
		i = (i + 1) & (index->n_slots - 1);
	return &index->slot[i];
}

uint32_t np_index_find(const struct np_index *index, const void *key,
		       size_t len)
{
	if (!index->n)
		return NP_NO_INDEX;
	return find_slot(index, hash_key(key, len), key, len)->number - 1;
}

/*
 * Double the hash table if another key would fill more than half of it, so that
 * searches stay short and always find an empty slot. Returns 0 or -ENOMEM.
 */
static int ensure_free_slot(struct np_index *index)
{
	size_t n_slots = index->n_slots ? 2 * index->n_slots : MIN_SLOTS;
	struct np_index_slot *larger;

	if (2 * (index->n + 1) <= index->n_slots)
		return 0;
	larger = calloc(n_slots, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	for (size_t i = 0; i < index->n_slots; i++) {
		size_t i_new = index->slot[i].hash & (n_slots - 1);

		if (!index->slot[i].number)
			continue;
		while (larger[i_new].number)
			i_new = (i_new + 1) & (n_slots - 1);
		larger[i_new] = index->slot[i];
	}
	free(index->slot);
	index->slot = larger;
	index->n_slots = n_slots;
	return 0;
}

uint32_t np_index_add(struct np_index *index, const void *key, size_t len)
{
	uint32_t hash = hash_key(key, len);
	size_t begin = index->n ? index->end[index->n - 1] : 0;
	struct np_index_slot *slot;

	if (index->n >= NP_NO_INDEX - 1 || ensure_free_slot(index))
		return NP_NO_INDEX;
	slot = find_slot(index, hash, key, len);
	if (slot->number)
		return slot->number - 1;
	/* The extra byte ensures that memcpy() gets no null pointer, which is
	   undefined even for an empty key. */
	if (np_array_reserve(&index->end, &index->end_capacity, index->n + 1,
			     sizeof(*index->end)) ||
	    np_array_reserve(&index->bytes, &index->byte_capacity,
			     begin + len + 1, 1))
		return NP_NO_INDEX;
	memcpy(index->bytes + begin, key, len);
	index->end[index->n++] = begin + len;
	*slot = (struct np_index_slot){ hash, (uint32_t)index->n };
	return slot->number - 1;
}

void np_index_clear(struct np_index *index)
{
	index->n = 0;
	if (index->n_slots)
		memset(index->slot, 0, index->n_slots * sizeof(*index->slot));
}

void np_index_free(struct np_index *index)
{
	free(index->end);
	free(index->bytes);
	free(index->slot);
	*index = (struct np_index){ .n = 0 };
}

/* ---- fair shares ---- */

bool np_share_allows(uint64_t left, uint64_t held, uint64_t amount)
{
	/* Afterwards, the user must not hold more than is still free. */
	return amount <= left && held + amount <= left - amount;
}

static uint64_t amount_held(const struct np_shares *shares, uint32_t uid)
{
	uint32_t user = np_index_find(&shares->user, &uid, sizeof(uid));

	return user == NP_NO_INDEX ? 0 : shares->held[user];
}

bool np_shares_can_take(const struct np_shares *shares, uint32_t uid,
			uint64_t amount)
{
	uint64_t left =
		shares->limit > shares->used ? shares->limit - shares->used : 0;

	return np_share_allows(left, amount_held(shares, uid), amount);
}

void np_shares_add(struct np_shares *shares, uint32_t uid, uint64_t amount)
{
	size_t n_before = shares->user.n;
	uint32_t user;

	shares->used += amount;
	/* Allocate first: each user in the index needs an element of held[]. */
	if (np_array_reserve(&shares->held, &shares->held_capacity,
			     n_before + 1, sizeof(*shares->held)))
		return;
	user = np_index_add(&shares->user, &uid, sizeof(uid));
	if (user == NP_NO_INDEX)
		return;
	if (shares->user.n > n_before)
		shares->held[user] = 0;
	shares->held[user] += amount;
}

bool np_shares_take(struct np_shares *shares, uint32_t uid, uint64_t amount)
{
	if (!np_shares_can_take(shares, uid, amount))
		return false;
	np_shares_add(shares, uid, amount);
	return true;
}

void np_shares_clear(struct np_shares *shares)
{
	np_index_clear(&shares->user);
	shares->used = 0;
}

void np_shares_free(struct np_shares *shares)
{
	np_index_free(&shares->user);
	free(shares->held);
	*shares = (struct np_shares){ .limit = shares->limit };
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
	size_t n_unique = 0;

	if (n > 1)
		qsort(number, n, sizeof(*number), np_order_u32);
	for (size_t i = 0; i < n; i++)
		if (!i || number[i] != number[n_unique - 1])
			number[n_unique++] = number[i];
	return n_unique;
}

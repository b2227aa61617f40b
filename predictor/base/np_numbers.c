#include "np_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_text.h"

struct np_numbers_slot {
	uint32_t hash;	 /* for a first look, and to move it */
	uint32_t number; /* + 1; 0 is empty */
};

static uint32_t hash_of(const struct np_numbers *x, const void *key)
{
	uint64_t h = np_hash(NP_HASH, key, x->key_bytes);

	return (uint32_t)(h ^ h >> 32);
}

/* Where the thing is, or would be. */
static struct np_numbers_slot *place(const struct np_numbers *x, uint32_t hash,
				     const void *key)
{
	size_t i = hash & (x->n_slots - 1);

	while (x->slot[i].number &&
	       (x->slot[i].hash != hash ||
		memcmp(x->key + x->key_bytes * (x->slot[i].number - 1), key,
		       x->key_bytes)))
		i = (i + 1) & (x->n_slots - 1);
	return &x->slot[i];
}

uint32_t np_numbers_find(const struct np_numbers *x, const void *key)
{
	return x->n ? place(x, hash_of(x, key), key)->number - 1 :
		      NP_NO_NUMBER;
}

/* Room for one more, in a table that is half full at most. */
static int widen(struct np_numbers *x)
{
	struct np_numbers wider = *x;

	if (np_array_room(&x->key, &x->key_room, x->key_bytes * (x->n + 1), 1))
		return -1;
	if (2 * (x->n + 1) <= x->n_slots)
		return 0;
	wider.key = x->key;
	wider.key_room = x->key_room;
	wider.n_slots = x->n_slots ? 2 * x->n_slots : 256;
	wider.slot = calloc(wider.n_slots, sizeof(*wider.slot));
	if (!wider.slot)
		return -1;
	for (size_t i = 0; i < x->n_slots; i++)
		if (x->slot[i].number)
			*place(&wider, x->slot[i].hash, x->key + x->key_bytes *
			       (x->slot[i].number - 1)) = x->slot[i];
	free(x->slot);
	*x = wider;
	return 0;
}

uint32_t np_numbers_get(struct np_numbers *x, const void *key)
{
	uint32_t hash = hash_of(x, key);
	struct np_numbers_slot *s = x->n ? place(x, hash, key) : NULL;

	if (s && s->number)
		return s->number - 1;
	if (x->n >= NP_NO_NUMBER - 1 || widen(x))
		return NP_NO_NUMBER;
	memcpy(x->key + x->key_bytes * x->n, key, x->key_bytes);
	s = place(x, hash, key);
	*s = (struct np_numbers_slot){ hash, (uint32_t)++x->n };
	return s->number - 1;
}

void np_numbers_clear(struct np_numbers *x)
{
	x->n = 0;
	if (x->n_slots)
		memset(x->slot, 0, x->n_slots * sizeof(*x->slot));
}

void np_numbers_free(struct np_numbers *x)
{
	free(x->key);
	free(x->slot);
	*x = (struct np_numbers){ .key_bytes = x->key_bytes };
}

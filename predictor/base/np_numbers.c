#include "np_numbers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_text.h"

struct np_numbers_slot {
	uint32_t hash;	 /* for a first look, and to move it */
	uint32_t number; /* + 1; 0 is empty */
};

static uint32_t hash_of(const void *thing, size_t len)
{
	uint64_t h = np_hash(NP_HASH, thing, len);

	return (uint32_t)(h ^ h >> 32);
}

static bool is(const struct np_numbers *x, uint32_t number, const void *thing,
	       size_t len)
{
	size_t at = number ? x->end[number - 1] : 0;

	return x->end[number] - at == len && !memcmp(x->bytes + at, thing, len);
}

/* Where the thing is, or would be. */
static struct np_numbers_slot *place(const struct np_numbers *x, uint32_t hash,
				     const void *thing, size_t len)
{
	size_t i = hash & (x->n_slots - 1);

	while (x->slot[i].number &&
	       (x->slot[i].hash != hash ||
		!is(x, x->slot[i].number - 1, thing, len)))
		i = (i + 1) & (x->n_slots - 1);
	return &x->slot[i];
}

uint32_t np_numbers_find(const struct np_numbers *x, const void *thing,
			 size_t len)
{
	return x->n ? place(x, hash_of(thing, len), thing, len)->number - 1 :
		      NP_NO_NUMBER;
}

/* The table is half full at most. */
static int widen(struct np_numbers *x)
{
	size_t n = x->n_slots ? 2 * x->n_slots : 256, at;
	struct np_numbers_slot *wider;

	if (2 * (x->n + 1) <= x->n_slots)
		return 0;
	wider = calloc(n, sizeof(*wider));
	if (!wider)
		return -1;
	for (size_t i = 0; i < x->n_slots; i++) {
		if (!x->slot[i].number)
			continue;
		at = x->slot[i].hash & (n - 1);
		while (wider[at].number)
			at = (at + 1) & (n - 1);
		wider[at] = x->slot[i];
	}
	free(x->slot);
	x->slot = wider;
	x->n_slots = n;
	return 0;
}

uint32_t np_numbers_get(struct np_numbers *x, const void *thing, size_t len)
{
	uint32_t hash = hash_of(thing, len);
	size_t at = x->n ? x->end[x->n - 1] : 0;
	struct np_numbers_slot *s;

	if (x->n >= NP_NO_NUMBER - 1 || widen(x))
		return NP_NO_NUMBER;
	s = place(x, hash, thing, len);
	if (s->number)
		return s->number - 1;
	if (np_array_room(&x->end, &x->end_room, x->n + 1, sizeof(*x->end)) ||
	    np_array_room(&x->bytes, &x->byte_room, at + len + 1, 1))
		return NP_NO_NUMBER; /* + 1: also of nothing there are bytes */
	memcpy(x->bytes + at, thing, len);
	x->end[x->n++] = at + len;
	*s = (struct np_numbers_slot){ hash, (uint32_t)x->n };
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
	free(x->end);
	free(x->bytes);
	free(x->slot);
	*x = (struct np_numbers){ .n = 0 };
}

#include "np_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_text.h"

/* ---- growing arrays ---- */

#define LEAST 16 /* a power of two */

int np_array_resize(void *array, size_t room, size_t size)
{
	void *old, *more;

	memcpy(&old, array, sizeof(old));
	more = reallocarray(old, room, size);
	if (!more)
		return -ENOMEM;
	memcpy(array, &more, sizeof(more));
	return 0;
}

/* The capacity doubles at powers of two, so that it need not be stored. */
int np_array_grow(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || (n && n < LEAST))
		return 0;
	return np_array_resize(array, n ? 2 * n : LEAST, size);
}

int np_array_room(void *array, size_t *room, size_t n, size_t size)
{
	size_t want = *room ? *room : 64;

	if (n <= *room)
		return 0;
	while (want < n)
		want *= 2;
	if (np_array_resize(array, want, size))
		return -ENOMEM;
	*room = want;
	return 0;
}

/* ---- indexes ---- */

struct np_index_slot {
	uint32_t hash;	 /* hash of the key */
	uint32_t number; /* number of the key plus 1; 0: empty slot */
};

static uint32_t hash_of(const void *key, size_t len)
{
	uint64_t h = np_hash(NP_HASH, key, len);

	return (uint32_t)(h ^ h >> 32);
}

static bool has_key(const struct np_index *x, uint32_t number,
		    const void *key, size_t len)
{
	size_t at = number ? x->end[number - 1] : 0;

	return x->end[number] - at == len && !memcmp(x->bytes + at, key, len);
}

/* The slot of a key, or the empty one where it belongs. */
static struct np_index_slot *slot_of(const struct np_index *x,
				       uint32_t hash, const void *key,
				       size_t len)
{
	size_t i = hash & (x->n_slots - 1);

	while (x->slot[i].number &&
	       (x->slot[i].hash != hash ||
		!has_key(x, x->slot[i].number - 1, key, len)))
		i = (i + 1) & (x->n_slots - 1);
	return &x->slot[i];
}

uint32_t np_index_find(const struct np_index *x, const void *key,
			 size_t len)
{
	return x->n ? slot_of(x, hash_of(key, len), key, len)->number - 1 :
		      NP_NO_INDEX;
}

/* Keep the hash table at most half full. */
static int grow_table(struct np_index *x)
{
	size_t n = x->n_slots ? 2 * x->n_slots : 256, at;
	struct np_index_slot *grown;

	if (2 * (x->n + 1) <= x->n_slots)
		return 0;
	grown = calloc(n, sizeof(*grown));
	if (!grown)
		return -1;
	for (size_t i = 0; i < x->n_slots; i++) {
		if (!x->slot[i].number)
			continue;
		at = x->slot[i].hash & (n - 1);
		while (grown[at].number)
			at = (at + 1) & (n - 1);
		grown[at] = x->slot[i];
	}
	free(x->slot);
	x->slot = grown;
	x->n_slots = n;
	return 0;
}

uint32_t np_index_get(struct np_index *x, const void *key, size_t len)
{
	uint32_t hash = hash_of(key, len);
	size_t at = x->n ? x->end[x->n - 1] : 0;
	struct np_index_slot *s;

	if (x->n >= NP_NO_INDEX - 1 || grow_table(x))
		return NP_NO_INDEX;
	s = slot_of(x, hash, key, len);
	if (s->number)
		return s->number - 1;
	if (np_array_room(&x->end, &x->end_room, x->n + 1, sizeof(*x->end)) ||
	    np_array_room(&x->bytes, &x->byte_room, at + len + 1, 1))
		return NP_NO_INDEX; /* + 1: an empty key needs memory, too */
	memcpy(x->bytes + at, key, len);
	x->end[x->n++] = at + len;
	*s = (struct np_index_slot){ hash, (uint32_t)x->n };
	return s->number - 1;
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

bool np_shares_left(const struct np_shares *s, uint32_t uid, uint64_t amount)
{
	uint64_t left = s->limit > s->used ? s->limit - s->used : 0;

	/* Afterwards the user must not hold more than what is left. */
	return amount <= left && held_by(s, uid) + amount <= left - amount;
}

void np_shares_add(struct np_shares *s, uint32_t uid, uint64_t amount)
{
	size_t known = s->user.n;
	uint32_t i;

	s->used += amount;
	/* A user without room in held[] must not get a number. */
	if (np_array_room(&s->held, &s->room, known + 1, sizeof(*s->held)))
		return;
	i = np_index_get(&s->user, &uid, sizeof(uid));
	if (i == NP_NO_INDEX)
		return;
	if (s->user.n > known)
		s->held[i] = 0;
	s->held[i] += amount;
}

bool np_shares_take(struct np_shares *s, uint32_t uid, uint64_t amount)
{
	if (!np_shares_left(s, uid, amount))
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

int np_order_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int np_order_down(const void *a, const void *b)
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

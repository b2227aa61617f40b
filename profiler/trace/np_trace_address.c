#include "np_trace_address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_trace_reader.h"

static size_t home(const struct np_addresses *a, uint64_t place)
{
	return (size_t)(place * 0x9e3779b97f4a7c15ull >> 32) & (a->n_slots - 1);
}

static uint32_t *slot_of(const struct np_addresses *a, uint64_t place)
{
	size_t i = home(a, place);

	while (a->slot[i] && a->address[a->slot[i] - 1].place != place)
		i = (i + 1) & (a->n_slots - 1);
	return &a->slot[i];
}

struct np_address *np_address_find(const struct np_addresses *a,
				   uint64_t place)
{
	uint32_t *slot = a->n_slots ? slot_of(a, place) : NULL;

	return slot && *slot ? &a->address[*slot - 1] : NULL;
}

static int widen(struct np_addresses *a)
{
	size_t n = a->n_slots ? 2 * a->n_slots : 256;

	if (2 * (a->n + 1) <= a->n_slots)
		return 0;
	free(a->slot);
	a->slot = calloc(n, sizeof(*a->slot));
	a->n_slots = a->slot ? n : 0;
	for (size_t i = 0; a->slot && i < a->n; i++)
		*slot_of(a, a->address[i].place) = (uint32_t)i + 1;
	return a->slot ? 0 : -ENOMEM;
}

struct np_address *np_address_at(struct np_addresses *a, uint64_t place)
{
	struct np_address *p = np_address_find(a, place);

	if (p)
		return p;
	if (a->n >= UINT32_MAX - 1 || widen(a) ||
	    np_array_room(&a->address, &a->room, a->n + 1,
			  sizeof(*a->address)))
		return NULL;
	p = &a->address[a->n];
	*p = (struct np_address){ .place = place };
	*slot_of(a, place) = (uint32_t)++a->n;
	return p;
}

int np_address_begin(struct np_addresses *a, struct np_address *p)
{
	p->use = (uint32_t)a->next_use++;
	p->active = true;
	if (a->known)
		return 0;
	if (a->next_use >= UINT32_MAX ||
	    np_array_room(&a->done_at, &a->use_room, a->next_use,
			  sizeof(*a->done_at)))
		return -ENOMEM;
	a->done_at[p->use] = 0;
	return 0;
}

bool np_address_ends(struct np_addresses *a, struct np_address *p,
		     uint64_t line, bool surely)
{
	if (!p || !p->active)
		return false;
	if (!a->known)
		a->done_at[p->use] = line;
	if (!surely && (!a->known || a->done_at[p->use] != line))
		return false;
	p->active = false;
	return true;
}

void np_addresses_again(struct np_addresses *a)
{
	a->known = true;
	a->n = a->next_use = 0;
	if (a->n_slots)
		memset(a->slot, 0, a->n_slots * sizeof(*a->slot));
}

void np_addresses_free(struct np_addresses *a)
{
	free(a->address);
	free(a->slot);
	free(a->done_at);
	*a = (struct np_addresses){ 0 };
}

#include "np_trace_common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct np_trace_pair {
	struct np_trace_ends ends;
	uint32_t n[2], taken[2]; /* received, sent */
};

static size_t home(const struct np_trace_common *c,
		   const struct np_trace_ends *e)
{
	uint64_t h = ((uint64_t)e->from << 32 | e->to) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 29 ^ ((uint64_t)e->tag << 32 | e->context)) *
	    0xbf58476d1ce4e5b9ull;
	return (size_t)(h >> 20) & (c->n_slots - 1);
}

static struct np_trace_pair *find(const struct np_trace_common *c,
				  const struct np_trace_ends *e)
{
	size_t i = home(c, e);

	while (c->slot[i].n[0] + (uint64_t)c->slot[i].n[1] &&
	       memcmp(&c->slot[i].ends, e, sizeof(*e)))
		i = (i + 1) & (c->n_slots - 1);
	return &c->slot[i];
}

static int widen(struct np_trace_common *c)
{
	struct np_trace_common wider = {
		.n_slots = c->n_slots ? 2 * c->n_slots : 1024, .n = c->n,
	};

	if (4 * (c->n + 1) <= 3 * c->n_slots)
		return 0;
	wider.slot = calloc(wider.n_slots, sizeof(*wider.slot));
	if (!wider.slot)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_slots; i++)
		if (c->slot[i].n[0] || c->slot[i].n[1])
			*find(&wider, &c->slot[i].ends) = c->slot[i];
	free(c->slot);
	*c = wider;
	return 0;
}

int np_trace_common_count(struct np_trace_common *c,
			  const struct np_trace_ends *e, bool send)
{
	struct np_trace_pair *p;

	if (widen(c))
		return -ENOMEM;
	p = find(c, e);
	c->n += !p->n[0] && !p->n[1];
	p->ends = *e;
	p->n[send]++;
	return 0;
}

bool np_trace_common_take(struct np_trace_common *c,
			  const struct np_trace_ends *e, bool send)
{
	struct np_trace_pair *p = find(c, e);

	if (p->taken[send] == (p->n[0] < p->n[1] ? p->n[0] : p->n[1]))
		return false;
	p->taken[send]++;
	return true;
}

void np_trace_common_free(struct np_trace_common *c)
{
	free(c->slot);
	*c = (struct np_trace_common){ 0 };
}

#include "np_trace_groups.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "np_graph.h"

/* Messages and collectives have a context each. */
#define MAX_GROUPS (NP_GRAPH_CONTEXTS / 2)

struct group {
	uint64_t hash;
	uint32_t *member;
	uint32_t size;
	bool alive; /* at the present rank */
};

/* The same ranks may stand here several times: they were alive at once. */
struct np_trace_groups {
	struct group group[MAX_GROUPS];
	size_t n;
};

struct np_trace_groups *np_trace_groups_new(void)
{
	return calloc(1, sizeof(struct np_trace_groups));
}

void np_trace_groups_free(struct np_trace_groups *g)
{
	for (size_t i = 0; g && i < g->n; i++)
		free(g->group[i].member);
	free(g);
}

void np_trace_groups_rank(struct np_trace_groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		g->group[i].alive = false;
}

/* FNV-1a */
static uint64_t hash_of(const uint32_t *member, uint32_t size)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (uint32_t i = 0; i < size; i++)
		h = (h ^ member[i]) * 0x100000001b3ull;
	return h;
}

static int add(struct np_trace_groups *g, const uint32_t *member,
	       uint32_t size, uint64_t hash, struct np_err *err)
{
	uint32_t *copy;

	if (g->n == MAX_GROUPS)
		return np_errf(err, -ERANGE, "more than %d communicators at "
			       "once", MAX_GROUPS);
	copy = malloc(size * sizeof(*copy));
	if (!copy)
		return np_errf(err, -ENOMEM, "out of memory");
	memcpy(copy, member, size * sizeof(*copy));
	g->group[g->n++] = (struct group){ .hash = hash, .size = size,
		.member = copy };
	return 0;
}

int np_trace_groups_add(struct np_trace_groups *g, const uint32_t *member,
			uint32_t size, struct np_trace_group *out,
			struct np_err *err)
{
	uint64_t hash = hash_of(member, size);
	struct group *k;
	size_t i;
	int rc;

	for (i = 0; i < g->n; i++) {
		k = &g->group[i];
		if (!k->alive && k->hash == hash && k->size == size &&
		    !memcmp(k->member, member, size * sizeof(*member)))
			break;
	}
	if (i == g->n) {
		rc = add(g, member, size, hash, err);
		if (rc)
			return rc;
	}
	k = &g->group[i];
	k->alive = true;
	*out = (struct np_trace_group){ (uint32_t)i, size, k->member };
	return 0;
}

void np_trace_groups_drop(struct np_trace_groups *g, uint32_t number)
{
	g->group[number].alive = false;
}

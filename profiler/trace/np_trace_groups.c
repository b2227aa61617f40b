#include "np_trace_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_graph.h"
#include "np_text.h"

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
	struct np_trace_comm *comm; /* of the present rank, by its numbers */
	size_t comm_room;
};

struct np_trace_groups *np_trace_groups_new(void)
{
	return calloc(1, sizeof(struct np_trace_groups));
}

void np_trace_groups_free(struct np_trace_groups *g)
{
	for (size_t i = 0; g && i < g->n; i++)
		free(g->group[i].member);
	if (g)
		free(g->comm);
	free(g);
}

void np_trace_groups_rank(struct np_trace_groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		g->group[i].alive = false;
}

static bool is_free(const struct group *k, uint64_t hash,
		    const struct np_trace_event *ev)
{
	return !k->alive && k->hash == hash && k->size == ev->size &&
	       !memcmp(k->member, ev->member, ev->size * sizeof(*ev->member));
}

static int add(struct np_trace_groups *g, const struct np_trace_event *ev,
	       uint64_t hash, struct np_err *err)
{
	size_t bytes = ev->size * sizeof(*ev->member);
	uint32_t *copy;

	if (g->n == MAX_GROUPS)
		return np_errf(err, -ERANGE, "more than %d communicators at "
			       "once", MAX_GROUPS);
	copy = malloc(bytes);
	if (!copy)
		return np_errf(err, -ENOMEM, "out of memory");
	g->group[g->n++] = (struct group){ .hash = hash, .size = ev->size,
		.member = memcpy(copy, ev->member, bytes) };
	return 0;
}

int np_trace_groups_add(struct np_trace_groups *g,
			const struct np_trace_event *ev, struct np_err *err)
{
	uint64_t hash = np_hash(NP_HASH, ev->member,
				ev->size * sizeof(*ev->member));
	size_t i = 0;
	int rc;

	if (np_array_room(&g->comm, &g->comm_room, ev->comm + 1ull,
			  sizeof(*g->comm)))
		return np_errf(err, -ENOMEM, "out of memory");
	while (i < g->n && !is_free(&g->group[i], hash, ev))
		i++;
	rc = i == g->n ? add(g, ev, hash, err) : 0;
	if (rc)
		return rc;
	g->group[i].alive = true;
	g->comm[ev->comm] = (struct np_trace_comm){ (uint32_t)i, ev->rank,
		ev->size, g->group[i].member };
	return 0;
}

const struct np_trace_comm *np_trace_comm(const struct np_trace_groups *g,
					  const struct np_trace_event *ev)
{
	return &g->comm[ev->comm];
}

void np_trace_groups_drop(struct np_trace_groups *g,
			  const struct np_trace_event *ev)
{
	g->group[g->comm[ev->comm].number].alive = false;
}

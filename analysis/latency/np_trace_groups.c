/*
 * Ranks are read one after the other. The first rank that has a communicator
 * adds a group for it; later ranks find that group by its members. Among
 * groups with the same members, a rank takes the first that it does not have at
 * the time, which is the right one because all members create them in the same
 * order. Communicators of a single rank, such as MPI_COMM_SELF, have no messages
 * with other ranks, so that all ranks share their groups.
 */
#include "np_trace_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_graph.h"

/* Messages and collectives of a communicator have separate contexts. */
#define MAX_GROUPS (NP_GRAPH_CONTEXTS / 2)

void np_trace_groups_free(struct np_trace_groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->group[i].member);
	free(g->group);
	free(g->comm);
}

void np_trace_groups_rank(struct np_trace_groups *g)
{
	for (size_t i = 0; i < g->n; i++) {
		g->group[i].alive = false;
		g->group[i].n_collectives = 0;
	}
}

/*
 * Whether a free group has the members of an event, in the same order; or a
 * single member, which is replaced.
 */
static bool matches(const struct np_trace_group *k,
		    const struct np_trace_event *ev)
{
	return !k->alive && k->size == ev->size &&
	       (k->size == 1 ||
		!memcmp(k->member, ev->member, ev->size * sizeof(*ev->member)));
}

/* Adds a group for a new communicator. */
static int add_group(struct np_trace_groups *g, const struct np_trace_event *ev,
		     struct np_err *err)
{
	size_t bytes = ev->size * sizeof(*ev->member);
	uint32_t *copy;

	if (g->n == MAX_GROUPS)
		return np_errf(err, -ERANGE,
			       "more than %d communicators at once",
			       MAX_GROUPS);
	copy = malloc(bytes);
	if (!copy || np_array_reserve(&g->group, &g->room, g->n + 1,
				      sizeof(*g->group))) {
		free(copy);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	g->group[g->n++] = (struct np_trace_group){
		.size = ev->size, .member = memcpy(copy, ev->member, bytes)
	};
	return 0;
}

int np_trace_groups_add(struct np_trace_groups *g,
			const struct np_trace_event *ev, struct np_err *err)
{
	size_t i = 0;
	int rc;

	if (np_array_reserve(&g->comm, &g->comm_room, ev->comm + 1ull,
			     sizeof(*g->comm)))
		return np_errf(err, -ENOMEM, "out of memory");
	while (i < g->n && !matches(&g->group[i], ev))
		i++;
	rc = i == g->n ? add_group(g, ev, err) : 0;
	if (rc)
		return rc;
	g->group[i].alive = true;
	g->group[i].member[0] = ev->member[0];
	g->comm[ev->comm] = (struct np_trace_comm){ (uint32_t)i, ev->rank,
						    ev->size,
						    g->group[i].member };
	return 0;
}

void np_trace_groups_drop(struct np_trace_groups *g,
			  const struct np_trace_event *ev)
{
	g->group[g->comm[ev->comm].number].alive = false;
}

int np_trace_steps(const struct np_trace_groups *g,
		   const struct np_trace_event *ev,
		   const struct np_choices *choices, struct np_steps *out)
{
	const struct np_trace_comm *c = np_trace_comm(g, ev);
	struct np_collective_call k = {
		.collective = ev->collective,
		.rank = c->rank,
		.size = c->size,
		.root = ev->root,
		.bytes = ev->bytes,
		.blocks = ev->list,
	};
	uint64_t bytes = k.bytes;

	/* If sizes differ, choose by their mean, which all ranks know. */
	for (size_t i = 0; i < ev->n_list; i++)
		bytes += ev->list[i];
	if (ev->n_list && ev->collective == NP_ALLGATHER)
		bytes /= ev->n_list;
	k.algorithm = np_choices_pick(choices, k.collective, k.size, bytes);
	return np_collective_steps(&k, out);
}

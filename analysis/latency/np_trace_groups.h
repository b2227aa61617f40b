/*
 * Communicators of all ranks of a trace: each rank has its own numbers for
 * them.  The n-th one that is alive at a rank with the same ranks in the same
 * order is the same at each of these, as all of them make it together.  Private
 * to np_trace_graph.c and np_trace_allprof.c.
 */
#ifndef NP_TRACE_GROUPS_H
#define NP_TRACE_GROUPS_H

#include "np_trace_read.h"

/* A communicator of the present rank, for as long as it lives. */
struct np_trace_comm {
	uint32_t number; /* of all ranks: the group's place */
	uint32_t rank, size;
	const uint32_t *member; /* the group's */
};

/* The same ranks may be several groups: they were alive at once. */
struct np_trace_group {
	uint32_t *member;
	uint32_t size;
	bool alive;		/* at the present rank */
	uint32_t n_collectives; /* that the present rank had of it so far */
};

/* Zeroed, there are none. */
struct np_trace_groups {
	struct np_trace_group *group;
	size_t n, room;
	struct np_trace_comm *comm; /* of the present rank, by its numbers */
	size_t comm_room;
};

void np_trace_groups_free(struct np_trace_groups *g);

/* Another rank begins: nothing is alive. */
void np_trace_groups_rank(struct np_trace_groups *g);

/* The one of an event, whose COMM was added. */
static inline const struct np_trace_comm *
np_trace_comm(const struct np_trace_groups *g, const struct np_trace_event *ev)
{
	return &g->comm[ev->comm];
}

/*
 * That of a COMM, which lives until its COMM_FREE.  Returns 0, -ENOMEM, or
 * -ERANGE: there are too many; with err.
 */
int np_trace_groups_add(struct np_trace_groups *g,
			const struct np_trace_event *ev, struct np_err *err);
void np_trace_groups_drop(struct np_trace_groups *g,
			  const struct np_trace_event *ev);

/*
 * The messages of a COLLECTIVE, by the algorithm that choices (or NULL) have
 * for its size.  Returns 0 or -ENOMEM.
 */
int np_trace_steps(const struct np_trace_groups *g,
		   const struct np_trace_event *ev,
		   const struct np_choices *choices, struct np_steps *out);

#endif

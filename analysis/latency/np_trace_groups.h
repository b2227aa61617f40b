/*
 * Identifies communicators across ranks, for np_trace_graph.c and
 * np_trace_allprof.c. Each rank has its own numbers for them. The n-th live
 * communicator of a rank with certain members in a certain order is the same
 * one at every member, because all members create it together.
 */
#ifndef NP_TRACE_GROUPS_H
#define NP_TRACE_GROUPS_H

#include "np_trace_read.h"

/* A communicator of the current rank, while it exists. */
struct np_trace_comm {
	uint32_t number; /* index of its group, equal on all ranks */
	uint32_t rank, size;
	const uint32_t *member; /* that of the group */
};

/*
 * Several groups may have the same members, if they existed at the same time.
 */
struct np_trace_group {
	uint32_t *member;
	uint32_t size;
	bool alive; /* exists at the current rank */
	/* collectives of the current rank on it so far */
	uint32_t n_collectives;
};

/* Initialise with zero. */
struct np_trace_groups {
	struct np_trace_group *group;
	size_t n, room;
	/* of the current rank, by its own numbers */
	struct np_trace_comm *comm;
	size_t comm_room;
};

void np_trace_groups_free(struct np_trace_groups *g);

/* Begins another rank, without communicators. */
void np_trace_groups_rank(struct np_trace_groups *g);

/* The communicator of an event, whose COMM was added before. */
static inline const struct np_trace_comm *
np_trace_comm(const struct np_trace_groups *g, const struct np_trace_event *ev)
{
	return &g->comm[ev->comm];
}

/*
 * Adds the communicator of a COMM event; it exists until its COMM_FREE. Returns
 * 0, -ENOMEM, or -ERANGE (too many), with err.
 */
int np_trace_groups_add(struct np_trace_groups *g,
			const struct np_trace_event *ev, struct np_err *err);
void np_trace_groups_drop(struct np_trace_groups *g,
			  const struct np_trace_event *ev);

/*
 * The messages of a COLLECTIVE event, by the algorithm that choices (or NULL)
 * give for its size. Returns 0 or -ENOMEM.
 */
int np_trace_steps(const struct np_trace_groups *g,
		   const struct np_trace_event *ev,
		   const struct np_choices *choices, struct np_steps *out);

#endif

/*
 * Communicators of all ranks of a trace: each rank has its own numbers for
 * them.  The n-th one that is alive at a rank with the same ranks in the same
 * order is the same at each of these, as all of them make it together.  Private
 * to np_trace_graph.c and np_trace_allprof.c.
 */
#ifndef NP_TRACE_GROUPS_H
#define NP_TRACE_GROUPS_H

#include "np_trace_read.h"

struct np_trace_groups;

struct np_trace_groups *np_trace_groups_new(void); /* NULL: no memory */
void np_trace_groups_free(struct np_trace_groups *g);

/* Another rank begins: nothing is alive. */
void np_trace_groups_rank(struct np_trace_groups *g);

/* A communicator of the present rank, for as long as it lives. */
struct np_trace_comm {
	uint32_t number; /* of all ranks */
	uint32_t rank, size;
	const uint32_t *member; /* borrowed */
};

/* The one of an event, whose COMM was added. */
const struct np_trace_comm *np_trace_comm(const struct np_trace_groups *g,
					  const struct np_trace_event *ev);

/*
 * That of a COMM, which lives until its COMM_FREE.  Returns 0, -ENOMEM, or
 * -ERANGE: there are too many; with err.
 */
int np_trace_groups_add(struct np_trace_groups *g,
			const struct np_trace_event *ev, struct np_err *err);
void np_trace_groups_drop(struct np_trace_groups *g,
			  const struct np_trace_event *ev);

#endif

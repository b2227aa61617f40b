/*
 * Communicators of all ranks of a trace: each rank has its own numbers for
 * them.  The n-th one that is alive at a rank with the same ranks in the same
 * order is the same at each of these, as all of them make it together.  Private
 * to np_trace_graph.c.
 */
#ifndef NP_TRACE_GROUPS_H
#define NP_TRACE_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

struct np_trace_groups;

struct np_trace_groups *np_trace_groups_new(void); /* NULL: no memory */
void np_trace_groups_free(struct np_trace_groups *g);

/* Another rank begins: nothing is alive. */
void np_trace_groups_rank(struct np_trace_groups *g);

/* A communicator of one rank, for as long as it lives. */
struct np_trace_group {
	uint32_t number; /* of all ranks */
	uint32_t size;
	const uint32_t *member; /* borrowed */
};

/* Returns 0, -ENOMEM, or -ERANGE: there are too many; with err. */
int np_trace_groups_add(struct np_trace_groups *g, const uint32_t *member,
			uint32_t size, struct np_trace_group *out,
			struct np_err *err);
void np_trace_groups_drop(struct np_trace_groups *g, uint32_t number);

#endif

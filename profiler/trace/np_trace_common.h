/*
 * Which messages of traces that end early have both a sender and a receiver:
 * of those from one rank to another with the same tag, as many as the end that
 * has fewer.  Private to np_trace_graph.c.
 */
#ifndef NP_TRACE_COMMON_H
#define NP_TRACE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_trace_ends {
	uint32_t from, to, tag, context;
};

struct np_trace_common {
	struct np_trace_pair *slot;
	size_t n_slots, n;
};

/* One more. Returns 0 or -ENOMEM. */
int np_trace_common_count(struct np_trace_common *c,
			  const struct np_trace_ends *e, bool send);

/* After all have been counted: is the next one of these in the graph? */
bool np_trace_common_take(struct np_trace_common *c,
			  const struct np_trace_ends *e, bool send);
void np_trace_common_free(struct np_trace_common *c);

#endif

/*
 * Events of operations, and what each waits for: for np_event.c and
 * np_contract.c.
 *
 * A calc has its start; a send its start, and its end if it waits for its
 * receiver (rendezvous); a receive that it is posted, and its start.
 */
#ifndef NP_EVENT_H
#define NP_EVENT_H

#include "np_graph_impl.h"
#include "np_tolerance.h"

/* An event is node << 1 | which. */
enum { NP_EVENT_BEGIN, NP_EVENT_THEN };

struct np_cost {
	double a;
	uint64_t b; /* a + b x */
};

struct np_events {
	const struct np_graph *g;
	const struct np_tolerance_opt *opt;
};

/* The event after which a node is over, and how long after. */
uint32_t np_event_end(const struct np_events *e, uint32_t node,
		      struct np_cost *after);

/*
 * What an event waits for, the i-th of it, and what lies between the two.
 * Returns false if there are no more.  inline_post: a receive's start waits
 * for what its post waits for, and not for the post.
 */
bool np_event_needs(const struct np_events *e, uint32_t event, size_t i,
		    bool inline_post, uint32_t *need, struct np_cost *cost);

bool np_event_rendezvous(const struct np_events *e, uint32_t node);

#endif

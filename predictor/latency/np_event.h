/*
 * Events of operations, and what each waits for: for np_event.c, np_lap.c
 * and np_contract.c.
 *
 * A calc has its start; a send its start, and its end if it waits for its
 * receiver (rendezvous); a receive that it is posted, and its start; and where
 * links are shared, that its message has arrived.
 */
#ifndef NP_EVENT_H
#define NP_EVENT_H

#include "np_graph_impl.h"
#include "np_tolerance.h"

/* An event is node << 2 | which. */
enum { NP_EVENT_BEGIN, NP_EVENT_THEN, NP_EVENT_ARRIVAL };

#define NP_EVENT_NODE(event) ((event) >> 2)
#define NP_EVENT_WHICH(event) ((event) & 3)

struct np_cost {
	double a;
	uint64_t b; /* a + b x */
};

/* Of a node: the one that uses a resource before it, or NP_GRAPH_NONE. */
struct np_orders {
	uint32_t *cpu, *nic; /* NULL: as many as are needed */
	uint32_t *link;	     /* of receives; NULL: of each message its own */
};

/* Of a node: somebody requires it, somebody irequires it. */
enum { NP_EVENT_REQUIRED = 64, NP_EVENT_IREQUIRED = 128 };

struct np_events {
	const struct np_graph *g;
	const struct np_tolerance_opt *opt;
	const uint8_t *asked; /* of nodes: these bits; others are no matter */
	struct np_orders orders;
};

/*
 * Is there such an event?  That a receive is posted is one only if somebody
 * asks for it: else its start waits for what the post would wait for.
 */
bool np_event_exists(const struct np_events *e, uint32_t event);

/* The event after which a node is over, and how long after. */
uint32_t np_event_end(const struct np_events *e, uint32_t node,
		      struct np_cost *after);

/*
 * What an event waits for, the i-th of it, and what lies between the two.
 * Returns false if there are no more.
 */
bool np_event_needs(const struct np_events *e, uint32_t event, size_t i,
		    uint32_t *need, struct np_cost *cost);

/*
 * Who comes after whom, from when each event is at x if nobody is
 * in the way: time and turn of 2 * node + which; of equal times the earlier
 * turn comes first.  -ENOMEM
 */
int np_orders_make(struct np_events *e, double x, const double *time,
		   const uint32_t *turn);
void np_orders_free(struct np_orders *o);

#endif

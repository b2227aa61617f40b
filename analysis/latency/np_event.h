/*
 * Events of operations, and what each waits for: for np_event.c and
 * np_contract.c.
 *
 * A calc has its start; a send its start, and its end if it waits for its
 * receiver (rendezvous); a receive that it is posted, and its start; and where
 * there is one of something for all, that its message begins to be taken in
 * (its start is its end then, if there is one processor).
 */
#ifndef NP_EVENT_H
#define NP_EVENT_H

#include "np_detours.h"
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
	uint32_t *link;	     /* of receives; NULL: each has its own */
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

/* From the start of a send until its first byte is at its receiver. */
struct np_cost np_event_way(const struct np_events *e, uint32_t send);

/* The time that the bytes of a message take. */
struct np_cost np_event_bytes(const struct np_events *e, uint32_t send);

/* How long a node takes its processor, where there is one for all. */
struct np_cost np_event_busy(const struct np_events *e, uint32_t node);

/* From when the message of a receive is taken in until it is there. */
struct np_cost np_event_taken(const struct np_events *e, uint32_t recv);

/* From when a receive is posted and its message is there until its end. */
struct np_cost np_event_over(const struct np_events *e);

/* How long an adapter or a link is taken by a message. */
struct np_cost np_event_apart(const struct np_events *e, uint32_t send);

/* Is it over only when its receive is? */
bool np_event_rendezvous(const struct np_events *e, uint32_t send);

/* When events of nodes are; what a node does not have is not set. */
struct np_event_times {
	double *begin, *then, *arrival;
	uint32_t last; /* node that ends last */
	double end_ns;
};

/*
 * np_order.c: who comes after whom, by a simulation at x, and when all is
 * (times may be NULL; free them with np_event_times_free()).  detours: of
 * processors; or NULL.  Returns 0, -EDEADLK (operations wait for each other;
 * there are no orders then), -ENOMEM.
 */
int np_orders_make(struct np_events *e, double x,
		   const struct np_detours *detours,
		   struct np_event_times *times);
void np_event_times_free(struct np_event_times *t);
void np_orders_free(struct np_orders *o);

#endif

/*
 * Events of operations, what each event waits for, and the order in which
 * operations use processors, adapters and links.
 *
 * A calc has one event, its start. A send has its start and, if it waits for
 * its receiver (rendezvous), its completion. A receive is posted
 * (NP_EVENT_BEGIN), and completes its wait when it is posted and its message is
 * there (NP_EVENT_COMPLETE). Where resources are exclusive, a receive also has
 * NP_EVENT_ARRIVAL: the moment when the processor or link begins to take the
 * message in.
 */
#ifndef NP_EVENT_H
#define NP_EVENT_H

#include "np_graph_impl.h"
#include "np_tolerance.h"

/* An event is the number node << 2 | which. */
enum { NP_EVENT_BEGIN, NP_EVENT_COMPLETE, NP_EVENT_ARRIVAL };

#define NP_EVENT_NODE(event) ((event) >> 2)
#define NP_EVENT_WHICH(event) ((event) & 3)

struct np_cost {
	double a;
	uint64_t b; /* the cost is a + b x */
};

/* An event that another one waits for, and the time between the two. */
struct np_need {
	struct np_cost cost;
	uint32_t event;
};

struct np_needs {
	struct np_need *need; /* free with free() */
	size_t n, max;
};

/*
 * By node: the node that uses a resource directly before it, or NP_GRAPH_NONE.
 */
struct np_orders {
	uint32_t *cpu, *nic; /* NULL: not exclusive */
	uint32_t *link;	     /* by receive; NULL: not exclusive */
};

/* By node: some operation requires it, or irequires it. */
enum { NP_EVENT_REQUIRED = 64, NP_EVENT_IREQUIRED = 128 };

struct np_events {
	const struct np_graph *g;
	const struct np_tolerance_opt *opt;
	/* by node: the bits above; other bits are ignored */
	const uint16_t *flags;
	struct np_orders orders;
};

/*
 * Whether an event exists. The post of a receive is an event only if some
 * operation irequires it; otherwise the completion waits directly for what the
 * post would wait for.
 */
bool np_event_exists(const struct np_events *e, uint32_t event);

/*
 * The event after which a node has ended, and the time from there to its end.
 */
uint32_t np_event_end(const struct np_events *e, uint32_t node,
		      struct np_cost *after);

/*
 * Appends all events that an event waits for, with the time between the two.
 * Returns 0 or -ENOMEM.
 */
int np_event_needs(const struct np_events *e, uint32_t event,
		   struct np_needs *to);

/*
 * Simulates the program at x and records in e->orders the order in which nodes
 * use each resource. Returns 0, -EDEADLK (operations wait for each other; then
 * no orders are set) or -ENOMEM. Free with np_orders_free().
 */
int np_orders_make(struct np_events *e, double x);
void np_orders_free(struct np_orders *o);

#endif

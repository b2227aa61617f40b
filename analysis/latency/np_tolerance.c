/*
 * Three stages: the events of a graph and what each waits for; the compact
 * graph of those that can lie on a longest path; and passes over that, which
 * give the length of the longest path at a value of the parameter. A search
 * needs many passes. The compact graph makes them fast: what can be done once
 * is done when it is made.
 */
#include "np_tolerance.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "np_array.h"
#include "np_bits.h"
#include "np_graph_impl.h"
#include "np_large.h"
#include "np_text.h"
#include "np_tolerance_impl.h"

/*
 * ---- Events of operations ----
 *
 * What they are, what each waits for, and the order in which operations use
 * processors, adapters and links.
 *
 * A calc has one event, its start. A send has its start and, if it waits for
 * its receiver (rendezvous), its completion. A receive is posted
 * (NP_EVENT_BEGIN), and completes its wait when it is posted and its message is
 * there (NP_EVENT_COMPLETE). Where resources are exclusive, a receive also has
 * NP_EVENT_ARRIVAL: the moment when the processor or link begins to take the
 * message in.
 */

/* An event is the number node << 2 | which. */
enum { NP_EVENT_BEGIN, NP_EVENT_COMPLETE, NP_EVENT_ARRIVAL };

#define NP_EVENT_NODE(event) ((event) >> 2)
#define NP_EVENT_WHICH(event) (3 & (event))

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

struct np_events {
	const struct np_graph *g;
	const struct np_tolerance_opt *opt;
	bool posts; /* the posts of all receives are events */
	struct np_orders orders;
};
/*
 * Events of operations, their costs, and the simulation that determines the
 * order in which operations use exclusive resources. The critical path of a
 * simulated run is found by walking back along its events.
 */

#define OTHER_NEEDS 3 /* most events that one waits for, but dependencies */

/* Cost of `times` times a parameter: in terms of x if it is the variable. */
static struct np_cost pay(const struct np_events *e, enum np_loggps_param p,
			  uint64_t times)
{
	double each = np_loggps_value(&e->opt->net, p);

	if (p == e->opt->x)
		return (struct np_cost){ 0, times };
	return (struct np_cost){ (double)times * each, 0 };
}

static struct np_cost sum(struct np_cost c, struct np_cost d)
{
	return (struct np_cost){ c.a + d.a, c.b + d.b };
}

/*
 * Whether x is the latency of one pair of ranks, and this message is of
 * another.
 */
static bool is_apart(const struct np_events *e, uint32_t from, uint32_t to)
{
	const struct np_pair *pair = e->opt->pair;

	return pair && e->opt->x == NP_LOGGPS_L &&
	       (pair->from != from || pair->to != to);
}

/* Time from the start of a send until its first byte reaches the receiver. */
static struct np_cost transit_cost(const struct np_events *e, uint32_t send)
{
	const struct np_placed *placed = &e->opt->placed;
	struct np_cost c = { 0, 0 }, L;
	uint32_t times = 1, from = 0, to = 0;

	if (placed->t || e->opt->pair) {
		from = np_graph_part_of(e->g, send)->rank;
		to = np_graph_part_of(e->g, e->g->node[send].peer)->rank;
	}
	if (placed->t)
		np_placed_path(placed, from, to, &c.a, &times);
	L = pay(e, NP_LOGGPS_L, times);
	if (is_apart(e, from, to))
		L = (struct np_cost){ times * e->opt->net.L_ns, 0 };
	c = sum(c, L);
	return sum(c, pay(e, NP_LOGGPS_o, 1));
}

/* Bytes of a message that take time. */
static uint64_t charged_bytes(const struct np_events *e, uint32_t send)
{
	uint64_t n = np_graph_size(e->g, send);

	return n - (n && e->opt->net.first_byte_free);
}

/* Transmission time of the bytes of a message. */
static struct np_cost bytes_cost(const struct np_events *e, uint32_t send)
{
	return pay(e, NP_LOGGPS_G, charged_bytes(e, send));
}

/* Whether a send ends only when its receive does (rendezvous protocol). */
static bool is_rendezvous(const struct np_events *e, uint32_t node)
{
	return np_graph_size(e->g, node) > e->opt->net.S;
}

/* Time for which a processor copies a message, at either end. */
static struct np_cost copy_cost(const struct np_events *e, uint32_t send)
{
	struct np_cost c = { 0, 0 };

	if (e->opt->net.O_ns > 0 && !is_rendezvous(e, send))
		c.a = (double)charged_bytes(e, send) * e->opt->net.O_ns;
	return c;
}

/* The event from which a node occupies its processor. */
static uint32_t busy_from(const struct np_events *e, uint32_t node)
{
	return node << 2 |
	       (e->g->node[node].kind == NP_OP_RECV ? NP_EVENT_ARRIVAL :
						      NP_EVENT_BEGIN);
}

/*
 * Time for which a node occupies its processor, where processors are exclusive.
 */
static inline struct np_cost cpu_cost(const struct np_events *e, uint32_t node)
{
	const struct np_graph_node *n = &e->g->node[node];
	struct np_cost o = pay(e, NP_LOGGPS_o, 1);

	if (n->kind == NP_OP_CALC)
		return (struct np_cost){ (double)np_graph_size(e->g, node), 0 };
	if (n->kind == NP_OP_SEND)
		return sum(o, copy_cost(e, node));
	return sum(o, e->opt->overlap ? copy_cost(e, n->peer) :
					bytes_cost(e, n->peer));
}

/* Time from the arrival of a message until it is completely received. */
static struct np_cost reception_cost(const struct np_events *e, uint32_t recv)
{
	struct np_cost whole = bytes_cost(e, e->g->node[recv].peer);

	return e->opt->one_cpu ? sum(whole, pay(e, NP_LOGGPS_o, 1)) : whole;
}

/*
 * Time from the post of a receive to its completion event, if its message is
 * there already. An exclusive processor takes messages in as they arrive.
 */
static struct np_cost late_cost(const struct np_events *e, uint32_t recv)
{
	return e->opt->one_cpu ? (struct np_cost){ 0, 0 } :
				 copy_cost(e, e->g->node[recv].peer);
}

/* Time from the completion event of a receive to its end. */
static struct np_cost recv_overhead_cost(const struct np_events *e)
{
	return pay(e, NP_LOGGPS_o, !e->opt->one_cpu);
}

/* Time for which a message occupies an adapter or a link. */
static struct np_cost gap_cost(const struct np_events *e, uint32_t send)
{
	return sum(bytes_cost(e, send),
		   (struct np_cost){ e->opt->net.g_ns, 0 });
}

/*
 * The event after which a node has ended, and the time from there to its end.
 */
static inline uint32_t event_end(const struct np_events *e, uint32_t node,
				 struct np_cost *after)
{
	const struct np_graph_node *n = &e->g->node[node];

	if (n->kind == NP_OP_RECV) {
		*after = recv_overhead_cost(e);
		return node << 2 | NP_EVENT_COMPLETE;
	}
	if (n->kind == NP_OP_SEND && is_rendezvous(e, node)) {
		*after = (struct np_cost){ 0, 0 };
		return node << 2 | NP_EVENT_COMPLETE;
	}
	*after = cpu_cost(e, node);
	return node << 2 | NP_EVENT_BEGIN;
}

/* Appends an event that another one waits for. There is room. */
static void add_need(struct np_needs *to, uint32_t event, struct np_cost cost)
{
	to->need[to->n++] = (struct np_need){ cost, event };
}

/* Appends the dependencies of a node, after which it needs this time, too. */
static inline void add_dependencies(const struct np_events *e, uint32_t node,
				    struct np_cost more, struct np_needs *to)
{
	uint32_t end = np_graph_deps_end(e->g, node);
	struct np_need *need = to->need + to->n;

	for (uint32_t i = e->g->node[node].first; i < end; i++, need++) {
		uint32_t on = e->g->dep[i] >> 1;
		struct np_cost cost = { 0, 0 };

		need->event = on << 2 | NP_EVENT_BEGIN;
		if ((e->g->dep[i] & 1) == NP_REQUIRES)
			need->event = event_end(e, on, &cost);
		need->cost = sum(cost, more);
	}
	to->n = (size_t)(need - to->need);
}

/* Appends the nodes that use a resource of this node directly before it. */
static void add_turns(const struct np_events *e, uint32_t node,
		      struct np_needs *to)
{
	const struct np_orders *o = &e->orders;
	bool recv = e->g->node[node].kind == NP_OP_RECV;
	uint32_t cpu = o->cpu ? o->cpu[node] : NP_GRAPH_NONE;
	uint32_t *of = recv ? o->link : o->nic;
	uint32_t nic = of ? of[node] : NP_GRAPH_NONE;

	if (cpu != NP_GRAPH_NONE)
		add_need(to, busy_from(e, cpu), cpu_cost(e, cpu));
	if (nic != NP_GRAPH_NONE)
		add_need(to, busy_from(e, nic),
			 gap_cost(e, recv ? e->g->node[nic].peer : nic));
}

/* Whether some resource is exclusive. */
static bool has_orders(const struct np_events *e)
{
	return e->orders.cpu || e->orders.link;
}

/*
 * Appends what a completion event waits for at the other end of the message.
 */
static void add_other_side(const struct np_events *e, uint32_t node,
			   struct np_needs *to)
{
	uint32_t peer = e->g->node[node].peer;

	if (e->g->node[node].kind == NP_OP_SEND)
		add_need(to, peer << 2 | NP_EVENT_COMPLETE,
			 recv_overhead_cost(e));
	else if (has_orders(e))
		add_need(to, node << 2 | NP_EVENT_ARRIVAL,
			 reception_cost(e, node));
	else
		add_need(to, peer << 2 | NP_EVENT_BEGIN,
			 sum(transit_cost(e, peer), reception_cost(e, node)));
}

/*
 * The post of a receive is an event only if some operation irequires it;
 * otherwise the completion waits directly for what the post would wait for.
 */
static bool has_post(const struct np_events *e, uint32_t recv)
{
	return e->posts || e->g->node[recv].irequired;
}

/* Whether an event exists. */
static bool event_exists(const struct np_events *e, uint32_t event)
{
	uint32_t node = NP_EVENT_NODE(event);
	enum np_op_kind kind = (enum np_op_kind)e->g->node[node].kind;

	switch (NP_EVENT_WHICH(event)) {
	case NP_EVENT_BEGIN:
		return kind != NP_OP_RECV || has_post(e, node);
	case NP_EVENT_COMPLETE:
		return kind == NP_OP_RECV ||
		       (kind == NP_OP_SEND && is_rendezvous(e, node));
	default:
		return kind == NP_OP_RECV && has_orders(e);
	}
}

/*
 * Appends all events that an event waits for, with the time between the two.
 * Returns 0 or -ENOMEM.
 */
static inline int event_needs(const struct np_events *e, uint32_t event,
			      struct np_needs *to)
{
	uint32_t node = NP_EVENT_NODE(event), which = NP_EVENT_WHICH(event);
	const struct np_graph_node *n = &e->g->node[node];
	bool recv = n->kind == NP_OP_RECV;
	size_t most =
		to->n + OTHER_NEEDS + np_graph_deps_end(e->g, node) - n->first;

	/* This runs for every event, so the call is avoided where possible. */
	if (most > to->max &&
	    np_array_reserve(&to->need, &to->max, most, sizeof(*to->need)))
		return -ENOMEM;
	if (which == NP_EVENT_COMPLETE) {
		add_other_side(e, node, to);
		/* A receive whose post is no event waits for its dependencies. */
		if (recv && !has_post(e, node))
			add_dependencies(e, node, late_cost(e, node), to);
		else
			add_need(to, node << 2 | NP_EVENT_BEGIN,
				 recv ? late_cost(e, node) :
					pay(e, NP_LOGGPS_o, 1));
		return 0;
	}
	if (which == NP_EVENT_ARRIVAL)
		add_need(to, n->peer << 2 | NP_EVENT_BEGIN,
			 transit_cost(e, n->peer));
	else
		add_dependencies(e, node, (struct np_cost){ 0, 0 }, to);
	if (which == NP_EVENT_ARRIVAL || !recv)
		add_turns(e, node, to);
	return 0;
}

/*
 * ---- The order of operations ----
 *
 * The order in which operations use a processor, an adapter or a link: a
 * discrete-event simulation of the program.
 *
 * A calc waits until its processor is free; a send waits for its processor and
 * its adapter. A message that reaches its receiver waits for the receiver's
 * processor and link, whether or not the receive has been posted. Of the
 * operations that could begin at the same time, the one that was ready first
 * begins first, as in LogGOPSim (T. Hoefler, T. Schneider, A. Lumsdaine, HPDC
 * 2010). doc/validation/methods.md lists the differences from that simulator.
 *
 * Everything an event waits for was processed before it. Therefore no order
 * forms a cycle, and the longest path through the graph with these orders
 * equals the simulated time.
 */
#define NO_TIME (-1.0)

/* An operation, or a message at its receiver. */
struct pending {
	double time; /* earliest time at which it can begin */
	uint32_t number;
	uint32_t item; /* node << 1 | 1 if it is a message */
};

struct resource {
	double free;   /* time from which it is free */
	uint32_t last; /* the last node that used it, plus 1; 0: none */
};

/*
 * Times of events in ns, by node; undefined for events that a node does not
 * have.
 */
struct event_times {
	double *begin, *complete, *arrival; /* free begin alone */
	uint32_t last;			    /* the node that ends last */
	double end_ns;
};

struct simulation {
	struct np_events *e;
	double x;
	const struct np_detours *detours; /* or NULL */
	struct pending *heap;
	size_t n_heap;
	uint32_t n_queued;
	uint32_t *unmet; /* by node: number of unmet dependencies */
	double *ready;	 /* by node: time of the last met dependency */
	double *taken;	 /* by receive: time when its message is received */
	struct event_times t;
	uint32_t *first, *waiting; /* by node: node << 1 | kind */
	size_t *place;		   /* by part: index of its first resource */
	struct resource *cpu, *nic, *link;
	uint32_t *freed; /* nodes that the current event made ready */
	size_t n_freed;
	size_t n_done;
};

/* ---- The queue of possible next events, a heap ---- */

/* By time, then by the order in which entries were queued. */
static bool before(const struct pending *a, const struct pending *b)
{
	return a->time < b->time ||
	       (a->time == b->time && a->number < b->number);
}

/* There is always room: a message takes the place of its send. */
static void push_pending(struct simulation *s, struct pending p)
{
	size_t i = s->n_heap++;

	for (; i && before(&p, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = p;
}

/* Removes the earliest entry from the heap. */
static struct pending pop(struct simulation *s)
{
	struct pending top = s->heap[0], last = s->heap[--s->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->n_heap) {
		if (child + 1 < s->n_heap &&
		    before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!before(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return top;
}

/* ---- Dependencies ---- */

/* A cost at the value of x that is simulated. */
static double value(const struct simulation *s, struct np_cost c)
{
	return c.a + (double)c.b * s->x;
}

/*
 * Sorts all dependencies by the operation that is waited for (counting sort).
 */
static int sort_dependencies(struct simulation *s)
{
	const struct np_graph *g = s->e->g;

	s->first = calloc(g->n_nodes + 2, sizeof(*s->first));
	s->waiting = malloc((g->n_deps + 1) * sizeof(*s->waiting));
	if (!s->first || !s->waiting)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_deps; i++)
		s->first[(g->dep[i] >> 1) + 2]++;
	for (size_t i = 2; i < g->n_nodes + 2; i++)
		s->first[i] += s->first[i - 1];
	for (uint32_t x = 0; x < g->n_nodes; x++) {
		uint32_t end = np_graph_deps_end(g, x);

		s->unmet[x] = end - g->node[x].first;
		for (uint32_t i = g->node[x].first; i < end; i++)
			s->waiting[s->first[(g->dep[i] >> 1) + 1]++] =
				x << 1 | (g->dep[i] & 1);
	}
	return 0;
}

/*
 * The nodes that wait for y have one dependency less. There is room in freed[]
 * for all nodes.
 */
static void meet_dependency(struct simulation *s, uint32_t y,
			    enum np_dep_kind kind, double when)
{
	for (uint32_t i = s->first[y]; i < s->first[y + 1]; i++) {
		uint32_t x = s->waiting[i] >> 1;

		if ((s->waiting[i] & 1) != kind)
			continue;
		if (when > s->ready[x])
			s->ready[x] = when;
		if (!--s->unmet[x])
			s->freed[s->n_freed++] = x;
	}
}

/* Records the end of a node. */
static void end_node(struct simulation *s, uint32_t node, double when)
{
	s->n_done++;
	if (when >= s->t.end_ns) {
		s->t.end_ns = when;
		s->t.last = node;
	}
	meet_dependency(s, node, NP_REQUIRES, when);
}

/* ---- Resources ---- */

/* The resource of a rank with this index; NULL if it is not exclusive. */
static struct resource *resource_of(const struct simulation *s,
				    struct resource *all, uint32_t node,
				    unsigned which)
{
	const struct np_graph *g = s->e->g;
	size_t part = (size_t)(np_graph_part_of(g, node) - g->part);

	return all ? &all[s->place[part] + which] : NULL;
}

static double free_from(const struct resource *r)
{
	return r ? r->free : 0;
}

/* Occupies a resource, and records which node used it before. */
static void occupy(struct resource *r, uint32_t *order, uint32_t node,
		   double until)
{
	if (!r)
		return;
	order[node] = r->last ? r->last - 1 : NP_GRAPH_NONE;
	*r = (struct resource){ until, node + 1 };
}

static struct resource *cpu_of(const struct simulation *s, uint32_t node)
{
	return resource_of(s, s->cpu, node, np_graph_cpu(s->e->g, node));
}

/* The adapter of a send, the link of a receive; NULL for a calc. */
static struct resource *port_of(const struct simulation *s, uint32_t node)
{
	const struct np_graph_node *n = &s->e->g->node[node];

	if (n->kind == NP_OP_CALC)
		return NULL;
	return resource_of(s, n->kind == NP_OP_SEND ? s->nic : s->link, node,
			   n->nic);
}

/* End of work of this length that begins at t, with detours. */
static double work_end(const struct simulation *s, uint32_t node, double t,
		       double length)
{
	if (!s->detours)
		return t + length;
	return np_detours_end(s->detours, np_graph_part_of(s->e->g, node)->rank,
			      t, length);
}

/* ---- Events ---- */

static void enqueue(struct simulation *s, uint32_t item, double time)
{
	push_pending(s, (struct pending){ time, s->n_queued++, item });
}

/* Completes a receive once it is posted and its message is there. */
static void receive(struct simulation *s, uint32_t recv)
{
	uint32_t send = s->e->g->node[recv].peer;
	double post = s->t.begin[recv], there = s->taken[recv];
	double end;

	if (post == NO_TIME || there == NO_TIME)
		return;
	post += value(s, late_cost(s->e, recv));
	s->t.complete[recv] = post > there ? post : there;
	end = s->t.complete[recv] + value(s, recv_overhead_cost(s->e));
	if (is_rendezvous(s->e, send)) {
		s->t.complete[send] = end;
		end_node(s, send, end);
	}
	end_node(s, recv, end);
}

/* Begins an operation whose resources are free. */
static void begin(struct simulation *s, uint32_t node, double t)
{
	const struct np_events *e = s->e;
	const struct np_graph_node *n = &e->g->node[node];
	double end;

	if (n->kind == NP_OP_RECV) {
		s->t.begin[node] = s->ready[node];
		meet_dependency(s, node, NP_IREQUIRES, s->ready[node]);
		receive(s, node);
		return;
	}
	s->t.begin[node] = t;
	end = work_end(s, node, t, value(s, cpu_cost(e, node)));
	occupy(cpu_of(s, node), e->orders.cpu, node, end);
	meet_dependency(s, node, NP_IREQUIRES, t);
	if (n->kind == NP_OP_SEND) {
		occupy(port_of(s, node), e->orders.nic, node,
		       t + value(s, gap_cost(e, node)));
		enqueue(s, n->peer << 1 | 1,
			t + value(s, transit_cost(e, node)));
	}
	if (n->kind == NP_OP_CALC || !is_rendezvous(e, node))
		end_node(s, node, end);
}

/* A message is taken in by the processor and the link of its receiver. */
static void arrive(struct simulation *s, uint32_t recv, double t)
{
	const struct np_events *e = s->e;
	double busy = value(s, cpu_cost(e, recv));
	double whole = value(s, reception_cost(e, recv));
	double end = work_end(s, recv, t, busy);

	s->t.arrival[recv] = t;
	occupy(cpu_of(s, recv), e->orders.cpu, recv, end);
	occupy(port_of(s, recv), e->orders.link, recv,
	       t + value(s, gap_cost(e, e->g->node[recv].peer)));
	s->taken[recv] = end + (whole - busy);
	if (!e->opt->one_cpu)
		s->taken[recv] = t + whole;
	receive(s, recv);
}

/* Sends before receives before calcs, each kind in graph order. */
static int by_kind(const void *a, const void *b, void *arg)
{
	const struct np_graph_node *node = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	unsigned i = (node[x].kind + 2u) % 3, j = (node[y].kind + 2u) % 3;

	return i != j ? (i > j) - (i < j) : (x > y) - (x < y);
}

/* Queues the nodes that the current event made ready. */
static void add_freed(struct simulation *s)
{
	const struct np_graph *g = s->e->g;

	if (s->n_freed > 1)
		qsort_r(s->freed, s->n_freed, sizeof(*s->freed), by_kind,
			g->node);
	for (size_t i = 0; i < s->n_freed; i++) {
		uint32_t node = s->freed[i];
		double t = s->ready[node], cpu = free_from(cpu_of(s, node));
		double port = g->node[node].kind == NP_OP_SEND ?
				      free_from(port_of(s, node)) :
				      0;

		t = cpu > t ? cpu : t;
		enqueue(s, node << 1, port > t ? port : t);
	}
	s->n_freed = 0;
}

/* Processes the next event, or postpones it until its resources are free. */
static void next(struct simulation *s)
{
	struct pending p = pop(s);
	uint32_t node = p.item >> 1;
	bool message = p.item & 1;
	double cpu = 0, port = 0;

	if (message || s->e->g->node[node].kind != NP_OP_RECV) {
		cpu = free_from(cpu_of(s, node));
		port = free_from(port_of(s, node));
	}
	if (cpu > p.time || port > p.time) {
		p.time = cpu > port ? cpu : port;
		push_pending(s, p);
		return;
	}
	if (message)
		arrive(s, node, p.time);
	else
		begin(s, node, p.time);
	add_freed(s);
}

/*
 * Queues all operations without dependencies, rank by rank, and runs the
 * simulation until no event is left.
 */
static void begin_all(struct simulation *s)
{
	const struct np_graph *g = s->e->g;

	for (size_t r = 0; r < g->n_ranks; r++) {
		size_t part = g->part_of[r];
		uint32_t end = part ? np_graph_part_end(g, part - 1) : 0;

		for (uint32_t i = part ? g->part[part - 1].first : 0; i < end;
		     i++)
			if (!s->unmet[i])
				s->freed[s->n_freed++] = i;
		add_freed(s);
	}
	while (s->n_heap)
		next(s);
}

/* ---- A simulation from start to end ---- */

/* Gives each rank as many places as it has processors, or adapters if more. */
static int count_places(struct simulation *s, size_t *n)
{
	const struct np_graph *g = s->e->g;

	s->place = malloc((g->n_parts + 1) * sizeof(*s->place));
	if (!s->place)
		return -ENOMEM;
	*n = 0;
	for (size_t p = 0; p < g->n_parts; p++) {
		uint32_t end = np_graph_part_end(g, p);
		unsigned most = 0;

		for (uint32_t i = g->part[p].first; i < end; i++) {
			unsigned cpu = np_graph_cpu(g, i);
			unsigned nic = g->node[i].nic;

			most = cpu > most ? cpu : most;
			most = nic > most ? nic : most;
		}
		s->place[p] = *n;
		*n += most + 1;
	}
	return 0;
}

/* Allocates resources, unused so far, and their order. */
static bool make_resources(size_t places, size_t n, struct resource **all,
			   uint32_t **order)
{
	/* Zeroed, so that processors that no operation uses take no memory. */
	*all = calloc(places + 1, sizeof(**all));
	*order = malloc((n + 1) * sizeof(**order));
	for (size_t i = 0; *order && i < n; i++)
		(*order)[i] = NP_GRAPH_NONE;
	return *all && *order;
}

/* Allocates everything for the simulation and the orders that it produces. */
static int prepare(struct simulation *s)
{
	const struct np_tolerance_opt *opt = s->e->opt;
	struct np_orders *o = &s->e->orders;
	size_t n = s->e->g->n_nodes, places;

	s->heap = malloc((n + 1) * sizeof(*s->heap));
	s->unmet = malloc((n + 1) * sizeof(*s->unmet));
	s->freed = malloc((n + 1) * sizeof(*s->freed));
	s->ready = calloc(n + 1, 2 * sizeof(*s->ready));
	s->t.begin = malloc((n + 1) * 3 * sizeof(*s->t.begin));
	if (!s->heap || !s->unmet || !s->freed || !s->ready || !s->t.begin ||
	    sort_dependencies(s) || count_places(s, &places))
		return -ENOMEM;
	s->taken = s->ready + n;
	s->t.complete = s->t.begin + n;
	s->t.arrival = s->t.complete + n;
	for (size_t i = 0; i < n; i++)
		s->taken[i] = s->t.begin[i] = NO_TIME;
	if (opt->one_cpu && (!make_resources(places, n, &s->cpu, &o->cpu) ||
			     !make_resources(places, n, &s->nic, &o->nic)))
		return -ENOMEM;
	return !opt->one_link || make_resources(places, n, &s->link, &o->link) ?
		       0 :
		       -ENOMEM;
}

static void orders_free(struct np_orders *o)
{
	free(o->cpu);
	free(o->nic);
	free(o->link);
	*o = (struct np_orders){ NULL, NULL, NULL };
}

/*
 * Simulates the program at x and records in e->orders the order in which nodes
 * use each resource; free with orders_free(). detours: of the processors; or
 * NULL. times: NULL, or set to the times of all events.
 * Returns 0, -EDEADLK (operations wait for each other; then no orders are set)
 * or -ENOMEM.
 */
static int simulate(struct np_events *e, double x,
		    const struct np_detours *detours, struct event_times *times)
{
	struct simulation s = { .e = e, .x = x, .detours = detours };
	int rc = prepare(&s);

	if (!rc) {
		begin_all(&s);
		if (s.n_done < e->g->n_nodes)
			rc = -EDEADLK;
	}
	if (rc)
		orders_free(&e->orders);
	if (rc || !times)
		free(s.t.begin);
	else
		*times = s.t;
	free(s.heap);
	free(s.unmet);
	free(s.freed);
	free(s.ready);
	free(s.first);
	free(s.waiting);
	free(s.place);
	free(s.cpu);
	free(s.nic);
	free(s.link);
	return rc;
}

/* what: what there was no memory for. */
static int simulate_error(const struct np_graph *g, int rc, const char *what,
			  struct np_err *err)
{
	return rc == -EDEADLK ?
		       np_errf(err, rc, "operations wait for each other") :
		       np_errf(err, rc, "no memory %s %zu operations", what,
			       g->n_nodes);
}

int np_tolerance_simulate(const struct np_graph *g,
			  const struct np_tolerance_opt *opt,
			  const struct np_detours *detours, double *ns,
			  struct np_err *err)
{
	struct np_events e = { .g = g, .opt = opt };
	struct event_times t;
	int rc = simulate(&e, np_loggps_value(&opt->net, opt->x), detours, &t);

	if (rc)
		return simulate_error(g, rc, "to simulate", err);
	*ns = t.end_ns;
	free(t.begin);
	orders_free(&e.orders);
	return 0;
}

/*
 * ---- The messages of the critical path ----
 *
 * Between which ranks they go: walks back from the end of a simulated run along
 * the event that each event waited for last.
 */

#define RIGHT 0x1p-30 /* of x: decides between paths of equal length at x */

struct walk {
	struct np_events e;
	struct event_times t;
	double x;
	struct np_needs needs; /* of the current event */
	struct np_pair *pair;
	size_t n, max;
};

static double time_of(const struct walk *w, uint32_t event)
{
	uint32_t node = NP_EVENT_NODE(event);

	switch (NP_EVENT_WHICH(event)) {
	case NP_EVENT_BEGIN:
		return w->t.begin[node];
	case NP_EVENT_COMPLETE:
		return w->t.complete[node];
	default:
		return w->t.arrival[node];
	}
}

/*
 * Finds the event that an event waited for last. *found: whether it waited for
 * any. Returns 0 or -ENOMEM.
 */
static int find_last(struct walk *w, uint32_t event, uint32_t *last,
		     bool *found)
{
	double latest = -1;

	w->needs.n = 0;
	if (event_needs(&w->e, event, &w->needs))
		return -ENOMEM;
	for (size_t i = 0; i < w->needs.n; i++) {
		const struct np_need *need = &w->needs.need[i];
		double t = time_of(w, need->event) + need->cost.a +
			   (double)need->cost.b * w->x;

		if (t > latest) {
			latest = t;
			*last = need->event;
		}
	}
	*found = latest >= 0;
	return 0;
}

/* Counts a message of the critical path. */
static int add_pair(struct walk *w, uint32_t send)
{
	const struct np_graph *g = w->e.g;
	const struct np_pair pair = {
		np_graph_part_of(g, send)->rank,
		np_graph_part_of(g, g->node[send].peer)->rank,
		1,
		np_graph_size(g, send),
	};

	return NP_ARRAY_PUSH(w->pair, w->n, w->max, pair);
}

/* Follows the critical path from the end of the run to its beginning. */
static int walk_back(struct walk *w)
{
	const struct np_graph *g = w->e.g;
	struct np_cost after;
	uint32_t event, need = 0;
	bool found;

	if (!g->n_nodes)
		return 0;
	event = event_end(&w->e, w->t.last, &after);
	for (;; event = need) {
		uint32_t from, to = NP_EVENT_NODE(event);
		int rc = find_last(w, event, &need, &found);

		if (rc || !found)
			return rc;
		from = NP_EVENT_NODE(need);
		/*
		 * Only a message counts, not a rendezvous that waits for its
		 * receive.
		 */
		if (NP_EVENT_WHICH(event) != NP_EVENT_BEGIN &&
		    g->node[to].kind == NP_OP_RECV &&
		    g->node[from].kind == NP_OP_SEND &&
		    g->node[from].peer == to &&
		    NP_EVENT_WHICH(need) == NP_EVENT_BEGIN && add_pair(w, from))
			return -ENOMEM;
	}
}

static int by_ranks(const void *a, const void *b)
{
	const struct np_pair *p = a, *q = b;

	if (p->from != q->from)
		return p->from < q->from ? -1 : 1;
	return (p->to > q->to) - (p->to < q->to);
}

static int by_messages(const void *a, const void *b)
{
	const struct np_pair *p = a, *q = b;

	if (p->messages != q->messages)
		return p->messages > q->messages ? -1 : 1;
	return by_ranks(a, b);
}

/* Merges the messages of equal pairs, and sorts pairs by their number. */
static void sum_pairs(struct walk *w)
{
	size_t n = 0;

	if (w->n)
		qsort(w->pair, w->n, sizeof(*w->pair), by_ranks);
	for (size_t i = 0; i < w->n; i++) {
		if (n && !by_ranks(&w->pair[n - 1], &w->pair[i])) {
			w->pair[n - 1].messages++;
			w->pair[n - 1].bytes += w->pair[i].bytes;
		} else {
			w->pair[n++] = w->pair[i];
		}
	}
	w->n = n;
	if (n)
		qsort(w->pair, n, sizeof(*w->pair), by_messages);
}

int np_tolerance_pairs(const struct np_graph *g,
		       const struct np_tolerance_opt *opt, struct np_pair **out,
		       size_t *n, struct np_err *err)
{
	struct walk w = {
		.e = { .g = g, .opt = opt, .posts = true },
		.x = np_loggps_value(&opt->net, opt->x) * (1 + RIGHT),
	};
	int rc = simulate(&w.e, w.x, NULL, &w.t);

	if (!rc) {
		rc = walk_back(&w);
		free(w.t.begin);
		orders_free(&w.e.orders);
	}
	free(w.needs.need);
	if (rc) {
		free(w.pair);
		return simulate_error(g, rc, "for a path through", err);
	}
	sum_pairs(&w);
	*out = w.pair;
	*n = w.n;
	return 0;
}

/*
 * ---- Iterations of the program's loop ----
 *
 * The period of the rank with the most operations is found from the borders of
 * a string (Knuth, Morris, Pratt, 1977), where each operation is a character.
 * The periods of the other ranks follow from the messages between them. Then
 * every operation is compared with its successor one period later.
 */

#define PERIODS 8    /* periods tried of one rank */
#define MIN_TIMES 16 /* fewer iterations are not worth it */

struct find {
	const struct np_graph *g;
	struct np_iterations_part *part;
	uint32_t *anchor; /* by part: a node of about the same iteration */
	uint32_t *todo;	  /* parts whose peers are to be found */
	size_t n_todo;
};

static size_t part_index(const struct np_graph *g, uint32_t node)
{
	return (size_t)(np_graph_part_of(g, node) - g->part);
}

/* Hash of all that equal operations have in common, except their match. */
static uint64_t word_of(const struct np_graph *g, uint32_t i)
{
	const struct np_graph_node *n = &g->node[i];
	uint64_t word[4] = {
		np_graph_size(g, i),
		(uint64_t)g->label[i].tag << 32 | n->where,
		(uint64_t)n->kind << 8 | n->nic,
		n->kind == NP_OP_CALC ? 0 : 1 + part_index(g, n->peer),
	};
	uint64_t h = np_hash(NP_HASH, word, sizeof(word));

	for (uint32_t d = n->first; d < np_graph_deps_end(g, i); d++) {
		uint32_t back[2] = { i - (g->dep[d] >> 1), g->dep[d] & 1 };

		h = np_hash(h, back, sizeof(back));
	}
	return h;
}

/* Whether node i and the one a period later are equal. */
static bool same(const struct find *f, size_t part, uint32_t i)
{
	const struct np_graph *g = f->g;
	uint32_t p = f->part[part].period;
	const struct np_graph_node *a = &g->node[i], *b = a + p;
	uint32_t n = np_graph_deps_end(g, i) - a->first;

	if (a->kind != b->kind || a->nic != b->nic || a->where != b->where ||
	    g->label[i].tag != g->label[i + p].tag ||
	    np_graph_size(g, i) != np_graph_size(g, i + p) ||
	    np_graph_deps_end(g, i + p) - b->first != n)
		return false;
	for (uint32_t d = 0; d < n; d++)
		if (g->dep[b->first + d] - g->dep[a->first + d] != 2 * p)
			return false;
	return a->kind == NP_OP_CALC ||
	       b->peer - a->peer == f->part[part_index(g, a->peer)].period;
}

/* Derives the periods of all ranks with which this one exchanges messages. */
static bool find_peer_periods(struct find *f, size_t part)
{
	const struct np_graph *g = f->g;
	uint32_t p = f->part[part].period, from = f->anchor[part];

	if (from + 2 * (uint64_t)p > np_graph_part_end(g, part))
		return false;
	for (uint32_t i = from; i < from + p; i++) {
		const struct np_graph_node *a = &g->node[i], *b = a + p;
		struct np_iterations_part *to;
		size_t other;

		if (a->kind != b->kind)
			return false;
		if (a->kind == NP_OP_CALC)
			continue;
		other = part_index(g, a->peer);
		to = &f->part[other];
		if (b->peer <= a->peer ||
		    b->peer >= np_graph_part_end(g, other))
			return false;
		if (!to->period) {
			to->period = b->peer - a->peer;
			f->anchor[other] = a->peer;
			f->todo[f->n_todo++] = (uint32_t)other;
		} else if (to->period != b->peer - a->peer) {
			return false;
		}
	}
	return true;
}

/* Counts the equal iterations of a part before and after its anchor. */
static void extend(const struct find *f, size_t part, uint32_t *down,
		   uint32_t *up)
{
	uint32_t p = f->part[part].period, low = f->anchor[part], high = low;

	while (low > f->g->part[part].first && same(f, part, low - 1))
		low--;
	while (high + p < np_graph_part_end(f->g, part) && same(f, part, high))
		high++;
	if ((f->anchor[part] - low) / p < *down)
		*down = (f->anchor[part] - low) / p;
	/* The node that the last one was compared with is equal too. */
	if ((high + p - f->anchor[part]) / p < *up)
		*up = (high + p - f->anchor[part]) / p;
}

/*
 * Whether this period of the lead rank gives a loop of at least half the graph.
 */
static bool try_period(struct find *f, size_t lead, uint32_t anchor,
		       uint32_t period, struct np_iterations *out)
{
	const struct np_graph *g = f->g;
	uint32_t down = UINT32_MAX, up = UINT32_MAX;
	uint64_t ops = 0;

	for (size_t p = 0; p < g->n_parts; p++)
		f->part[p].period = 0;
	f->part[lead].period = period;
	f->anchor[lead] = anchor;
	f->todo[0] = (uint32_t)lead;
	f->n_todo = 1;
	for (size_t k = 0; k < f->n_todo; k++)
		if (!find_peer_periods(f, f->todo[k]))
			return false;
	for (size_t k = 0; k < f->n_todo; k++) {
		extend(f, f->todo[k], &down, &up);
		if ((uint64_t)down + up < MIN_TIMES)
			return false;
	}
	for (size_t p = 0; p < g->n_parts; p++) {
		f->part[p].base = (uint32_t)ops;
		f->part[p].first = f->anchor[p] - down * f->part[p].period;
		ops += f->part[p].period;
	}
	if (2 * ops * (down + up) < g->n_nodes)
		return false;
	*out = (struct np_iterations){ f->part, down + up, (uint32_t)ops };
	return true;
}

/*
 * Tries the periods of a range of the lead rank's operations, the shortest
 * first. border[i]: length of the longest proper prefix of the first i + 1
 * words that is also their suffix.
 */
static void find_loop(struct find *f, size_t lead, uint32_t first, uint32_t n,
		      uint64_t *word, uint32_t *border,
		      struct np_iterations *out)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		word[i] = word_of(f->g, first + i);
	border[0] = 0;
	for (uint32_t i = 1; i < n; i++) {
		while (k && word[i] != word[k])
			k = border[k - 1];
		k += word[i] == word[k];
		border[i] = k;
	}
	for (int i = 0; i < PERIODS && n - k <= n / 2; i++) {
		if (try_period(f, lead, first, n - k, out) || !k)
			return;
		k = border[k - 1];
	}
}

int np_iterations_find(const struct np_graph *g, struct np_iterations *out)
{
	struct find f = { .g = g };
	size_t lead = 0;
	uint32_t n = 0, *border;
	uint64_t *word;
	int rc = -ENOMEM;

	*out = (struct np_iterations){ .part = NULL };
	for (size_t p = 1; p < g->n_parts; p++)
		if (np_graph_part_end(g, p) - g->part[p].first >
		    np_graph_part_end(g, lead) - g->part[lead].first)
			lead = p;
	if (g->n_parts)
		n = (np_graph_part_end(g, lead) - g->part[lead].first) / 4;
	if (!n)
		return 0;
	f.part = calloc(g->n_parts, sizeof(*f.part));
	f.anchor = calloc(2 * g->n_parts, sizeof(*f.anchor));
	word = malloc(n * sizeof(*word));
	border = malloc(n * sizeof(*border));
	if (f.part && f.anchor && word && border) {
		f.todo = f.anchor + g->n_parts;
		/*
		 * A loop that is most of the graph covers the quarter in its
		 * middle.
		 */
		find_loop(&f, lead, g->part[lead].first + n / 2 * 3, n, word,
			  border, out);
		rc = 0;
	}
	free(f.anchor);
	free(word);
	free(border);
	if (!out->part)
		free(f.part);
	return rc;
}

void np_iterations_free(struct np_iterations *l)
{
	free(l->part);
	*l = (struct np_iterations){ .part = NULL };
}

/*
 * ---- Compact graphs ----
 *
 * Their memory, and the removal of edges that cannot lie on a longest path.
 */

#define PAIRS_MAX 16 /* edges up to which each is compared with each */
#define FEW 8	  /* edges up to which a vertex may be merged into the next */
#define LENGTHS 8 /* row lengths that are distinguished when sorting */
#define ROUNDS 4  /* each round finds less than the one before */
#define WORTH(n) ((n) / 16) /* of n vertices, how many a round has to remove */
#define AHEAD 16	    /* vertices by which memory is fetched in advance */

/* Whether e takes at least as long as d for every x >= 0. */
static int beats(const struct np_edge *e, const struct np_edge *d)
{
	return (d->from == e->from || !d->from) && e->a >= d->a && e->b >= d->b;
}

#define ORIGINS 64 /* classes of origins */

/*
 * Compares each edge with all that remain; of equal edges the first remains.
 * Most edges are the first of their class of origins and need no comparison, or
 * only one with the latest of it; the first vertex is in all, see beats().
 */
static size_t thin_few(struct np_edge *e, size_t n)
{
	uint8_t latest[ORIGINS] = { 0 }; /* its number, counted from 1 */
	bool from_first = false;
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		const struct np_edge new = e[i];
		uint8_t *same = &latest[new.from % ORIGINS];
		size_t j = 0, k;

		if (!*same && new.from && !from_first) {
			e[left++] = new;
			*same = (uint8_t)left;
			continue;
		}
		/* If that edge no longer remains, a longer one does. */
		if (*same && beats(&e[*same - 1], &new))
			continue;
		while (j < left && e[j].from && new.from != 0 &&
		       new.from != e[j].from)
			j++;
		for (k = j; j < left && !beats(&e[j], &new); j++)
			if (!beats(&new, &e[j]))
				e[k++] = e[j];
		/* An edge that is beaten beats none: nothing has moved. */
		if (j < left)
			continue;
		from_first |= !new.from;
		e[k] = new;
		left = k + 1;
		*same = (uint8_t)left;
	}
	return left;
}

/* By origin, then steepest first, then longest first. */
static int by_from(const void *a, const void *b)
{
	const struct np_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->b != y->b)
		return x->b > y->b ? -1 : 1;
	return (x->a < y->a) - (x->a > y->a);
}

/*
 * Keeps of each origin the steepest edge, and flatter ones only if they have a
 * greater a.
 */
static size_t thin_many(struct np_edge *e, size_t n)
{
	size_t left = 0;

	qsort(e, n, sizeof(*e), by_from);
	for (size_t i = 0; i < n; i++)
		if (!left || e[left - 1].from != e[i].from ||
		    e[i].a > e[left - 1].a)
			e[left++] = e[i];
	return left;
}

/*
 * Removes edges without changing longest paths: of two edges between the same
 * vertices, one that is at most as long as the other for all x >= 0. Returns
 * how many remain; none of these would be removed by another call.
 */
static inline size_t edge_thin(struct np_edge *e, size_t n)
{
	if (n < 2 ||
	    (n == 2 && e[0].from != e[1].from && e[0].from && e[1].from))
		return n;
	if (n > PAIRS_MAX)
		n = thin_many(e, n);
	return n <= PAIRS_MAX ? thin_few(e, n) : n;
}

int np_compact_reserve(struct np_compact *c, size_t n, size_t edges)
{
	if (c->max_n < n + 2) { /* first[] also holds the end */
		free(c->first);
		c->first = np_large_alloc(n + 2, sizeof(*c->first));
		c->max_n = n + 2;
	}
	if (c->max_edges < edges + 1) {
		free(c->edge);
		c->edge = np_large_alloc(edges + 1, sizeof(*c->edge));
		c->max_edges = edges + 1;
	}
	return c->first && c->edge ? 0 : -ENOMEM;
}

/*
 * Makes room for a vertex with n edges; *at: the first of them. Returns 0,
 * -ERANGE or -ENOMEM.
 */
static inline int compact_room(struct np_compact *c, size_t n, size_t *at)
{
	*at = c->n ? c->first[c->n] : 0;
	if (*at + n > UINT32_MAX || c->n >= UINT32_MAX - 1)
		return -ERANGE;
	/* One more, as first[] also holds the end. */
	if (c->n + 2 > c->max_n &&
	    np_array_reserve(&c->first, &c->max_n, c->n + 2, sizeof(*c->first)))
		return -ENOMEM;
	return *at + n > c->max_edges ?
		       np_array_reserve(&c->edge, &c->max_edges, *at + n,
					sizeof(*c->edge)) :
		       0;
}

/* Appends a vertex with the n edges from `at` on, which are in place. */
static inline void compact_close(struct np_compact *c, size_t at, size_t n)
{
	c->first[c->n++] = (uint32_t)at;
	c->first[c->n] = (uint32_t)(at + n);
}

/*
 * Appends a vertex with these edges, which may be in place. Returns 0, -ERANGE
 * or -ENOMEM.
 */
static int compact_add(struct np_compact *c, const struct np_edge *e, size_t n)
{
	size_t at;
	int rc = compact_room(c, n, &at);

	if (rc)
		return rc;
	if (n && e != c->edge + at)
		memcpy(c->edge + at, e, n * sizeof(*e));
	compact_close(c, at, n);
	return 0;
}

/* Allocates in and out, filled with 0. Returns 0 or -ENOMEM. */
static int compact_state(struct np_compact *c, size_t n)
{
	c->in = calloc(n, sizeof(*c->in));
	c->out = calloc(n, sizeof(*c->out));
	c->n_state = n;
	return c->in && c->out ? 0 : -ENOMEM;
}

static void compact_free(struct np_compact *c)
{
	free(c->edge);
	free(c->first);
	free(c->in);
	free(c->out);
	*c = (struct np_compact){ .n = 0 };
}

void np_chain_free(struct np_chain *c)
{
	for (size_t i = 0; i < c->n; i++)
		compact_free(&c->link[i]);
	*c = (struct np_chain){ .n = 0 };
}

/*
 * ---- Fewer vertices, in a better order ----
 *
 * A vertex that a single edge leaves gives its own edges to the vertex behind
 * it, if they are few. A vertex with a single edge is only a distance from
 * another vertex. The remaining vertices are sorted by depth: then neighbours
 * do not wait for each other, and find what they need close to each other in
 * memory.
 */

/*
 * Whether a vertex gives its n edges to the vertices behind it, if their sums
 * fit.
 */
static inline bool is_merged(size_t n, uint32_t leaving)
{
	return n == 1 || (n && n <= FEW && leaving == 1);
}

/*
 * Writes to row[] an edge, or in its place the edges of the vertex from which
 * it starts, at most FEW. Returns their number.
 */
static inline size_t put_merged(const struct np_compact *to,
				const uint32_t *leaving, struct np_edge e,
				struct np_edge *row)
{
	const struct np_edge *d = to->edge + to->first[e.from];
	size_t n = to->first[e.from + 1] - to->first[e.from];
	bool fits = is_merged(n, leaving[e.from]);

	for (size_t i = 0; fits && i < n; i++) {
		int64_t b = (int64_t)e.b + d[i].b;

		row[i] =
			(struct np_edge){ e.a + d[i].a, d[i].from, (int32_t)b };
		fits = b <= INT32_MAX;
	}
	if (fits)
		return n;
	row[0] = e;
	return 1;
}

/*
 * Merges vertices into their successors where that adds no edges. Returns 1 and
 * leaves *to empty if too few would be merged to be worth the time.
 */
static int merge_vertices(const struct np_compact *c, struct np_compact *to)
{
	uint32_t *leaving = calloc(c->n, sizeof(*leaving));
	size_t merged_at_once = 0;
	int rc;

	if (!leaving)
		return -ENOMEM;
	for (size_t i = 0; i < np_compact_edges(c); i++)
		leaving[c->edge[i].from]++;
	for (size_t i = 0; i < c->n_state; i++)
		/* the next link may use it any number of times */
		leaving[c->out[i]] += 2;
	for (size_t v = 0; v < c->n; v++)
		merged_at_once +=
			is_merged(c->first[v + 1] - c->first[v], leaving[v]);
	/* The rows of merged vertices remain, so there may be more edges. */
	rc = merged_at_once < WORTH(c->n) ?
		     1 :
		     np_compact_reserve(to, c->n, 2 * np_compact_edges(c));
	for (size_t v = 0; !rc && v < c->n; v++) {
		size_t at, n = 0;
		bool merged = false;

		rc = compact_room(
			to, FEW * (size_t)(c->first[v + 1] - c->first[v]), &at);
		if (rc)
			break;
		for (size_t i = c->first[v]; i < c->first[v + 1]; i++) {
			size_t more = put_merged(to, leaving, c->edge[i],
						 to->edge + at + n);

			merged |= to->edge[at + n].from != c->edge[i].from;
			n += more;
		}
		/* Other rows are thin already. */
		compact_close(to, at, merged ? edge_thin(to->edge + at, n) : n);
	}
	free(leaving);
	return rc;
}

/* Depth of each vertex from which the end can be reached; 0 for all others. */
static uint32_t *depths(const struct np_compact *c, uint32_t *deepest)
{
	uint32_t *depth = calloc(c->n, sizeof(*depth));

	if (!depth)
		return NULL;
	depth[c->n - 1] = 1;
	for (size_t i = 0; i < c->n_state; i++)
		depth[c->out[i]] = 1;
	for (size_t v = c->n; v--;)
		for (size_t i = c->first[v]; depth[v] && i < c->first[v + 1];
		     i++)
			depth[c->edge[i].from] = 1;
	*deepest = 0;
	for (size_t v = 0; v < c->n; v++) {
		uint32_t d = 0;

		if (!depth[v])
			continue;
		for (size_t i = c->first[v]; i < c->first[v + 1]; i++)
			if (depth[c->edge[i].from] > d)
				d = depth[c->edge[i].from];
		depth[v] = d + 1;
		if (d + 1 > *deepest)
			*deepest = d + 1;
	}
	/* The first vertex and the last one keep their places. */
	depth[0] = 1;
	if (c->n > 1)
		depth[c->n - 1] = ++*deepest;
	return depth;
}

/*
 * Sort key of a vertex: first depth, then number of edges, because a processor
 * predicts the length of a row well if it equals that of the row before.
 */
static size_t key_of(const struct np_compact *c, const uint32_t *depth,
		     size_t v)
{
	size_t n = c->first[v + 1] - c->first[v];

	return (size_t)depth[v] * LENGTHS + (n < LENGTHS ? n : LENGTHS - 1);
}

/*
 * Fills place[] (by vertex) and its inverse order[]. Returns how many remain.
 */
static size_t sort(const struct np_compact *c, const uint32_t *depth,
		   uint32_t deepest, uint32_t *place, uint32_t *order)
{
	size_t keys = (deepest + (size_t)1) * LENGTHS, sum = 0;
	uint32_t *behind = calloc(keys, sizeof(*behind));

	if (!behind)
		return 0;
	for (size_t v = 0; v < c->n; v++)
		if (depth[v])
			behind[key_of(c, depth, v)]++;
	for (size_t k = 0; k < keys; k++) {
		uint32_t n = behind[k];

		behind[k] = (uint32_t)sum;
		sum += n;
	}
	for (size_t v = 0; v < c->n; v++)
		if (depth[v]) {
			place[v] = behind[key_of(c, depth, v)]++;
			order[place[v]] = (uint32_t)v;
		}
	free(behind);
	return sum;
}

/* Vertices without edges (the beginning and the given ones) come first. */
static void renumber(struct np_compact *c, const uint32_t *depth,
		     const uint32_t *place)
{
	c->n_given = 0;
	for (size_t i = 0; i < c->n_state; i++) {
		c->out[i] = place[c->out[i]];
		c->in[i] = depth[c->in[i]] ? place[c->in[i]] : 0;
		c->n_given += c->in[i] > 0;
	}
}

/*
 * Copies the graph in the order of depth, without vertices that do not lead to
 * the end.
 */
static int reorder(const struct np_compact *c, struct np_compact *to)
{
	uint32_t deepest, *depth = depths(c, &deepest);
	uint32_t *place = malloc(2 * c->n * sizeof(*place)), *order;
	size_t n = 0;
	int rc = -ENOMEM;

	order = place ? place + c->n : NULL;
	if (depth && place)
		n = sort(c, depth, deepest, place, order);
	if (n)
		rc = np_compact_reserve(to, n, np_compact_edges(c));
	for (size_t k = 0, at = 0; !rc && k < n; k++) {
		const uint32_t *first = c->first + order[k];

		/* Their memory is not in this order. */
		if (k + AHEAD < n)
			__builtin_prefetch(c->edge +
					   c->first[order[k + AHEAD]]);
		for (size_t i = 0; i < first[1] - first[0]; i++) {
			to->edge[at + i] = c->edge[first[0] + i];
			to->edge[at + i].from = place[to->edge[at + i].from];
		}
		compact_close(to, at, first[1] - first[0]);
		at = to->first[to->n];
	}
	if (!rc)
		renumber(to, depth, place);
	free(depth);
	free(place);
	return rc;
}

/*
 * Replaces a graph by the result of make(), and keeps its state. other: an empty
 * graph, which provides the memory of the result and gets that of c, because the
 * kernel has to clear new memory.
 */
static int step(struct np_compact *c, struct np_compact *other,
		int (*make)(const struct np_compact *c, struct np_compact *to))
{
	int rc;

	other->in = c->in;
	other->out = c->out;
	other->n_state = c->n_state;
	other->n_given = c->n_given;
	rc = make(c, other);
	if (!rc) {
		struct np_compact made = *other;

		*other = *c;
		*c = made;
	}
	other->in = other->out = NULL;
	other->n = other->n_state = 0;
	return rc;
}

/*
 * Removes vertices that only one edge leaves and sorts the rest for fast
 * passes. other: as in step(). Returns 0 or -ENOMEM.
 */
static int order_compact(struct np_compact *c, struct np_compact *other)
{
	size_t before;
	int rc, round = 0;

	do {
		before = c->n;
		rc = step(c, other, merge_vertices);
		/* also removes vertices that no longer lead to the end */
		if (rc >= 0)
			rc = step(c, other, reorder);
	} while (!rc && ++round < ROUNDS && c->n < before - WORTH(before));
	if (rc >= 0) {
		c->max_edges = np_compact_edges(c) + 1;
		c->edge = np_large_cut(c->edge, c->max_edges, sizeof(*c->edge));
	}
	return rc;
}

/*
 * ---- Slices of a loop ----
 *
 * The events of a loop are divided into slices such that an event waits only
 * for events of its own slice or of the slice before. The events of one
 * operation may belong to different slices, and so may those of one iteration
 * on different ranks.
 */

/* Events before slice `first`, those up to slice `end`, and all later ones. */
enum np_stage { NP_BEFORE, NP_WITHIN, NP_AFTER, NP_STAGES };

/* An event that a later stage or the next slice waits for. */
struct np_carried {
	uint32_t event; /* if moves is set, that of slice first - 1 */
	bool moves;	/* each slice has its own */
};

/* An operation of an iteration. */
struct np_slice_op {
	/* in the first iteration; nodes to the next one */
	uint32_t node, period;
};

struct np_slices {
	const struct np_events *e; /* borrowed */
	struct np_needs needs;	   /* of the current event */
	struct np_iterations loop;
	struct np_slice_op *op;
	uint32_t *lag; /* slices behind its iteration; by op << 1 | which */
	uint32_t max_lag;
	uint32_t first, end; /* range of equal slices */
	struct np_carried *carried;
	size_t n_carried, max_carried;
};

#define SWEEPS 64
#define MIN_SLICES 8
#define GROUPINGS 4 /* attempts to group iterations into longer ones */
#define MARGIN 2 /* slices at both ends that are left out, as they may differ */

struct place_event {
	uint32_t op; /* index within an iteration */
	uint32_t iteration;
};

static const struct np_iterations_part *part_of(const struct np_slices *r,
						uint32_t node)
{
	return &r->loop.part[np_graph_part_of(r->e->g, node) - r->e->g->part];
}

/*
 * Finds the place of a node in the loop. Returns false if it is not in the
 * loop.
 */
static bool locate(const struct np_slices *r, uint32_t node,
		   struct place_event *out)
{
	const struct np_iterations_part *p = part_of(r, node);

	if (!p->period || node < p->first)
		return false;
	out->op = p->base + (node - p->first) % p->period;
	out->iteration = (node - p->first) / p->period;
	return out->iteration < r->loop.times;
}

/* Stage of an event; for NP_WITHIN, *slice is its slice. */
static enum np_stage np_slices_stage(const struct np_slices *r, uint32_t event,
				     uint32_t *slice)
{
	uint32_t node = NP_EVENT_NODE(event);
	const struct np_iterations_part *p = part_of(r, node);
	struct place_event at;

	if (!p->period || node < p->first)
		return NP_BEFORE;
	if (!locate(r, node, &at))
		return NP_AFTER;
	*slice = at.iteration + r->lag[at.op << 1 | NP_EVENT_WHICH(event)];
	return *slice < r->first ? NP_BEFORE :
	       *slice < r->end	 ? NP_WITHIN :
				   NP_AFTER;
}

/* The same event `slices` slices later. */
static uint32_t np_slices_move(const struct np_slices *r, uint32_t event,
			       uint32_t slices)
{
	return event + (slices * part_of(r, NP_EVENT_NODE(event))->period << 2);
}

/*
 * A range of nodes [from, to) of a part that contains all events of a stage,
 * and some others. For NP_WITHIN it covers the slice `first`.
 */
static void np_slices_range(const struct np_slices *r, size_t part,
			    enum np_stage stage, uint32_t *from, uint32_t *to)
{
	const struct np_iterations_part *p = &r->loop.part[part];
	uint32_t begin = r->e->g->part[part].first;
	uint32_t end = np_graph_part_end(r->e->g, part);

	*from = stage == NP_BEFORE ? begin : end;
	*to = end;
	if (!p->period)
		return;
	if (stage == NP_BEFORE)
		*to = p->first + r->first * p->period;
	if (stage == NP_WITHIN) {
		*from = p->first + (r->first - r->max_lag) * p->period;
		*to = p->first + (r->first + 1) * p->period;
	}
	if (stage == NP_AFTER)
		*from = p->first + (r->end - r->max_lag) * p->period;
}

/* Event k of an iteration belongs to its operation k >> 1. */
static uint32_t event_of(const struct np_slices *r, uint32_t k,
			 uint32_t iteration)
{
	const struct np_slice_op *op = &r->op[k >> 1];

	return (op->node + iteration * op->period) << 2 | (k & 1);
}

/*
 * How many slices event k of an iteration is behind an event that it needs;
 * negative if it is before it. Returns false if the needed event is not in the
 * loop.
 */
static bool slices_behind(const struct np_slices *r, uint32_t k,
			  uint32_t iteration, uint32_t need, int64_t *slices)
{
	struct place_event on;

	if (!locate(r, NP_EVENT_NODE(need), &on))
		return false;
	*slices = (int64_t)iteration + r->lag[k] - on.iteration -
		  r->lag[on.op << 1 | NP_EVENT_WHICH(need)];
	return true;
}

/* Lists what an event waits for in r->needs. */
static int list_needs(struct np_slices *r, uint32_t event)
{
	r->needs.n = 0;
	return event_needs(r->e, event, &r->needs);
}

/*
 * Delays event k of an iteration until it is in no earlier slice than the
 * events it needs. *changed is set if that changes its lag; *most is raised to
 * the largest distance in slices. Returns -EDOM if that is impossible, or
 * -ENOMEM.
 */
static int delay_event(struct np_slices *r, uint32_t k, uint32_t iteration,
		       int64_t *most, bool *changed)
{
	uint32_t event = event_of(r, k, iteration);
	int64_t slices;

	if (!event_exists(r->e, event))
		return 0;
	if (list_needs(r, event))
		return -ENOMEM;
	for (size_t i = 0; i < r->needs.n; i++) {
		if (!slices_behind(r, k, iteration, r->needs.need[i].event,
				   &slices))
			return -EDOM;
		if (slices > *most)
			*most = slices;
		if (slices >= 0)
			continue;
		r->lag[k] += (uint32_t)-slices;
		*changed = true;
		if (r->lag[k] > r->loop.times / 4)
			return -EDOM;
	}
	return 0;
}

/*
 * Computes lags with which no event is in an earlier slice than one it needs.
 * *most: the largest distance in slices between the two. Returns -EDOM if there
 * are no such lags, or -ENOMEM.
 */
static int compute_lags(struct np_slices *r, int64_t *most)
{
	uint32_t middle = r->loop.times / 2, sweeps = 0;
	bool changed = true;
	int rc = 0;

	while (!rc && changed && sweeps++ < SWEEPS) {
		changed = false;
		*most = 0;
		for (uint32_t k = 0; !rc && k < 2 * r->loop.ops; k++)
			rc = delay_event(r, k, middle, most, &changed);
	}
	return !rc && changed ? -EDOM : rc;
}

/* Lists the operations of an iteration and sets all lags to 0. */
static int list_ops(struct np_slices *r, size_t n_parts)
{
	size_t n = 0;

	free(r->op);
	free(r->lag);
	r->op = malloc(r->loop.ops * sizeof(*r->op));
	r->lag = calloc(2 * (size_t)r->loop.ops, sizeof(*r->lag));
	if (!r->op || !r->lag)
		return -ENOMEM;
	for (size_t i = 0; i < n_parts; i++) {
		const struct np_iterations_part *p = &r->loop.part[i];

		for (uint32_t k = 0; k < p->period; k++)
			r->op[n++] =
				(struct np_slice_op){ p->first + k, p->period };
	}
	return 0;
}

/* Makes n iterations into one. */
static void group_iterations(struct np_iterations *l, size_t n_parts,
			     uint32_t n)
{
	for (size_t i = 0; i < n_parts; i++) {
		l->part[i].period *= n;
		l->part[i].base *= n;
	}
	l->ops *= n;
	l->times /= n;
}

/* Returns -EDOM if the loop cannot be divided into slices. */
static int find_slices(struct np_slices *r)
{
	size_t n_parts = r->e->g->n_parts;
	int64_t most = 2;
	int rc;

	for (int i = 0; i < GROUPINGS && most > 1; i++) {
		if (i)
			group_iterations(&r->loop, n_parts, (uint32_t)most);
		if (list_ops(r, n_parts))
			return -ENOMEM;
		rc = compute_lags(r, &most);
		if (rc || most > r->loop.times)
			return rc ? rc : -EDOM;
	}
	r->max_lag = 0;
	for (uint32_t k = 0; k < 2 * r->loop.ops; k++)
		if (r->lag[k] > r->max_lag)
			r->max_lag = r->lag[k];
	if (most > 1 || r->loop.times < r->max_lag + 2 * MARGIN + MIN_SLICES)
		return -EDOM;
	r->first = r->max_lag + MARGIN;
	r->end = r->loop.times - MARGIN;
	return 2 * (uint64_t)(r->end - r->first) * r->loop.ops <
			       r->e->g->n_nodes ?
		     -EDOM :
		     0;
}

/* Adds an event to the carried ones; duplicates are removed later. */
static int add_carried(struct np_slices *r, uint32_t event, bool moves)
{
	return NP_ARRAY_PUSH(r->carried, r->n_carried, r->max_carried,
			     (struct np_carried){ event, moves });
}

/*
 * Records what an event needs of earlier stages, or of the slice before its
 * own.
 */
static int carry_needs(struct np_slices *r, uint32_t event, enum np_stage stage)
{
	int rc = list_needs(r, event);

	for (size_t i = 0; !rc && i < r->needs.n; i++) {
		uint32_t need = r->needs.need[i].event, slice = 0;
		enum np_stage from = np_slices_stage(r, need, &slice);

		if (from == NP_BEFORE)
			rc = add_carried(r, need, stage == NP_WITHIN);
		else if (from == NP_WITHIN && stage == NP_AFTER)
			rc = slice + 1 == r->end ?
				     add_carried(
					     r,
					     np_slices_move(r, need,
							    r->first - r->end),
					     true) :
				     -EDOM;
		else if (from > stage)
			rc = -EDOM;
	}
	return rc;
}

static int by_event(const void *a, const void *b)
{
	const struct np_carried *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->moves > y->moves) - (x->moves < y->moves);
}

/* Sorts the carried events and removes duplicates. */
static void remove_duplicates(struct np_slices *r)
{
	size_t n = 0;

	if (r->n_carried)
		qsort(r->carried, r->n_carried, sizeof(*r->carried), by_event);
	for (size_t i = 0; i < r->n_carried; i++)
		if (!n || by_event(&r->carried[n - 1], &r->carried[i]))
			r->carried[n++] = r->carried[i];
	r->n_carried = n;
}

/* Finds all events that cross a boundary between slices or stages. */
static int find_carried(struct np_slices *r)
{
	uint32_t slice;
	int rc = 0;

	for (uint32_t k = 0; !rc && k < 2 * r->loop.ops; k++) {
		uint32_t event = event_of(r, k, r->first - r->lag[k]);

		if (event_exists(r->e, event))
			rc = carry_needs(r, event, NP_WITHIN);
	}
	for (size_t part = 0; !rc && part < r->e->g->n_parts; part++) {
		uint32_t i, to;

		np_slices_range(r, part, NP_AFTER, &i, &to);
		for (; !rc && i < to; i++)
			for (uint32_t which = 0; !rc && which < 2; which++) {
				uint32_t event = i << 2 | which;

				if (event_exists(r->e, event) &&
				    np_slices_stage(r, event, &slice) ==
					    NP_AFTER)
					rc = carry_needs(r, event, NP_AFTER);
			}
	}
	remove_duplicates(r);
	return rc;
}

static void np_slices_free(struct np_slices *r)
{
	np_iterations_free(&r->loop);
	free(r->op);
	free(r->lag);
	free(r->carried);
	free(r->needs.need);
	*r = (struct np_slices){ .first = 0 };
}

/*
 * Divides the loop of a graph into slices. out->loop.part is NULL if there is
 * no such loop, or if it is less than most of the graph. Free with
 * np_slices_free(). Returns 0 or -ENOMEM.
 */
static int np_slices_find(const struct np_events *e, struct np_slices *out)
{
	struct np_slices r = { .e = e };
	int rc = np_iterations_find(e->g, &r.loop);

	if (!rc && r.loop.part)
		rc = find_slices(&r);
	if (!rc && r.loop.part)
		rc = find_carried(&r);
	if (rc)
		np_slices_free(&r);
	*out = r;
	return rc == -EDOM ? 0 : rc;
}

/*
 * ---- From operations to the vertices of a compact graph ----
 *
 * Events are visited in depth-first order, so that everything an event waits
 * for has its place before the event itself. An event that waits for only one
 * other is not a vertex but a distance from that one, and the edges of an event
 * that a single operation waits for become edges of that operation.
 */

#define LIST_MAX 8    /* most edges of an event that is not a vertex */
#define CHUNK 8	      /* nodes of a rank that are visited in turn */
#define PARTS_AHEAD 2 /* parts by which memory is fetched in advance */

/* By node: where the place of an event is. Few nodes have more than one. */
enum { USUAL, OTHER, ARRIVAL };

enum { /* by node; DONE and OPEN for each of its three events, by shift */
       /* being visited: what it waits for is above it on the stack */
       DONE = 1,
       OPEN = 8,
       LACKED = 64,	 /* operations wait for it, see wait_for() */
       NO_MESSAGE = 128, /* a receive, see place_near() */
};

/* In the place of an event: its edges are -b from list[from] on. */
#define IS_LIST(edge) ((edge)->b < 0)

struct frame {
	uint32_t event;
	/* of needs: what it waits for; the first that may have no place yet */
	size_t first, next;
	size_t in; /* of in: the edges from those before */
};

struct contract {
	struct np_events e;
	struct np_chain *chain;
	struct np_compact *c; /* current link */
	/*
	 * By node: the bits above, stored behind `usual` in the same memory. A
	 * byte would suffice, but after each store to a byte compilers read all
	 * pointers again, because it may change any object.
	 */
	uint16_t *state;
	/*
	 * By node: the time of an event is that of vertex from, + a + b x. The
	 * event that most nodes of a kind have is in `usual`, and memory of
	 * `other` is rarely touched.
	 */
	struct np_edge *usual, *other, *arrival;
	struct frame *stack;
	size_t depth, max_depth;
	struct np_needs needs; /* of all events on the stack */
	struct np_edge *in;    /* edges to all events on the stack */
	size_t n_in, max_in, thin_at;
	bool plain;			 /* see is_plain() */
	struct np_cost o, transit, byte; /* costs of messages, if plain */
	bool eager;			 /* no send waits for its receiver */
	uint32_t near_dep; /* the dependency that place_near() followed last, */
	struct np_edge near; /* and the place that it leads to */
	size_t n_waiting; /* nodes that wait for another one, see wait_for() */
	uint32_t *ready;  /* nodes that no longer do, and are to be tried */
	size_t n_ready, max_ready;
	uint32_t *todo; /* nodes of a round that have to be visited */
	size_t n_todo, max_todo;
	uint32_t *last; /* nodes that no other one requires, if plain */
	size_t n_last, max_last;
	bool in_order;	      /* nodes are visited in their order */
	struct np_edge *list; /* places of LIST_MAX edges */
	size_t n_list, max_list;
	uint32_t *spare; /* the free ones of these places */
	size_t n_spare, max_spare;
	/*
	 * With a loop: the current stage, and what earlier stages give to it.
	 */
	struct np_slices r;
	enum np_stage stage;
	uint32_t *given; /* events; given[i] is vertex i + 2 */
};

static inline unsigned slot_of(const struct contract *k, uint32_t event)
{
	uint32_t which = NP_EVENT_WHICH(event);
	bool recv = k->e.g->node[NP_EVENT_NODE(event)].kind == NP_OP_RECV;

	if (which == NP_EVENT_ARRIVAL)
		return ARRIVAL;
	return recv == (which == NP_EVENT_COMPLETE) ? USUAL : OTHER;
}

static inline struct np_edge *at(const struct contract *k, uint32_t event)
{
	unsigned slot = slot_of(k, event);
	struct np_edge *of = slot == USUAL ? k->usual :
			     slot == OTHER ? k->other :
					     k->arrival;

	return &of[NP_EVENT_NODE(event)];
}

/* Appends an edge to k->in. */
static int append(struct contract *k, double a, uint32_t from, int32_t b)
{
	/* This runs for every edge, so the call is avoided where possible. */
	if (k->n_in == k->max_in &&
	    np_array_reserve(&k->in, &k->max_in, k->n_in + 1, sizeof(*k->in)))
		return -ENOMEM;
	k->in[k->n_in++] = (struct np_edge){ a, from, b };
	return 0;
}

/* Splits an edge that is too long for 31 bits by extra vertices. */
static int add_long(struct contract *k, struct np_edge edge, uint64_t b)
{
	for (; b > INT32_MAX; b -= INT32_MAX) {
		int rc;

		edge.b = INT32_MAX;
		rc = compact_add(k->c, &edge, 1);
		if (rc)
			return rc;
		edge = (struct np_edge){ 0, (uint32_t)k->c->n - 1, 0 };
	}
	return append(k, edge.a, edge.from, (int32_t)b);
}

/* Appends an edge, made longer by a + b x, to k->in. */
static inline int add_longer(struct contract *k, const struct np_edge *e,
			     double a, uint64_t b)
{
	uint64_t sum = b + (uint64_t)e->b;

	if (sum > INT32_MAX)
		return add_long(k, (struct np_edge){ e->a + a, e->from, 0 },
				sum);
	return append(k, e->a + a, e->from, (int32_t)sum);
}

/* The same for what leads to an event; runs for every dependency. */
static inline __attribute__((always_inline)) int
add_in(struct contract *k, const struct np_edge *from, double a, uint64_t b)
{
	uint32_t first = from->from, n = (uint32_t)-from->b;
	int rc = 0;

	if (!IS_LIST(from))
		return add_longer(k, from, a, b);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = add_longer(k, &k->list[first + i], a, b);
	k->spare[k->n_spare++] = first; /* nothing else needs it */
	return rc;
}

/*
 * Whether a single operation waits for this event and nothing else does, so
 * that its edges can become edges of that operation.
 */
static bool has_one_use(const struct contract *k, uint32_t event)
{
	const struct np_graph_node *n = &k->e.g->node[NP_EVENT_NODE(event)];

	if (k->r.loop.part || has_orders(&k->e) || n->required != 1)
		return false;
	if (n->kind == NP_OP_CALC)
		return !n->irequired;
	return n->kind == NP_OP_RECV &&
	       NP_EVENT_WHICH(event) == NP_EVENT_COMPLETE &&
	       !event_exists(&k->e, n->peer << 2 | NP_EVENT_COMPLETE);
}

/* Adds a free place to those for lists. Returns 0, -ERANGE or -ENOMEM. */
static int add_spare(struct contract *k)
{
	size_t n = k->n_list + LIST_MAX;

	if (n > UINT32_MAX)
		return -ERANGE;
	/* Room for all of them in spare[], so that a list is freed safely. */
	if (np_array_reserve(&k->list, &k->max_list, n, sizeof(*k->list)) ||
	    np_array_reserve(&k->spare, &k->max_spare, n / LIST_MAX,
			     sizeof(*k->spare)))
		return -ENOMEM;
	k->spare[k->n_spare++] = (uint32_t)k->n_list;
	k->n_list = n;
	return 0;
}

/* Keeps these edges until the operation that waits for them is placed. */
static int keep_list(struct contract *k, const struct np_edge *in, size_t n,
		     struct np_edge *out)
{
	int rc = k->n_spare ? 0 : add_spare(k);
	uint32_t first;

	if (rc)
		return rc;
	first = k->spare[--k->n_spare];
	for (size_t i = 0; i < n; i++)
		k->list[first + i] = in[i];
	*out = (struct np_edge){ 0, first, -(int32_t)n };
	return 0;
}

/*
 * Ends the placing of an event that has these edges: at a distance from one
 * vertex if possible, else as a list of edges or a vertex. Without an edge it
 * is at the beginning.
 */
static inline int place(struct contract *k, struct np_edge *out,
			const struct np_edge *in, size_t n, bool as_list)
{
	if (n < 2) {
		*out = n ? in[0] : (struct np_edge){ 0, 0, 0 };
		return 0;
	}
	if (as_list)
		return keep_list(k, in, n, out);
	*out = (struct np_edge){ 0, (uint32_t)k->c->n, 0 };
	return compact_add(k->c, in, n);
}

/*
 * Places an event with the edges from `first` on in k->in, and removes these.
 */
static int place_event(struct contract *k, uint32_t event, size_t first)
{
	struct np_edge *in = k->in + first;
	size_t n = edge_thin(in, k->n_in - first);

	k->n_in = first;
	return place(k, at(k, event), in, n,
		     n > 1 && n <= LIST_MAX && has_one_use(k, event));
}

/* Records the events from need to the top of the stack, which form a cycle. */
static int deadlock(struct contract *k, uint32_t need)
{
	struct np_cycle cycle = { .n = 0 };
	size_t at = k->depth;
	uint32_t last = NP_GRAPH_NONE;

	while (at && k->stack[at - 1].event != need)
		at--;
	for (at--; at < k->depth; at++) {
		uint32_t node = NP_EVENT_NODE(k->stack[at].event);

		if (node == last)
			continue;
		last = node;
		if (cycle.n < NP_CYCLE_OPS)
			cycle.node[cycle.n] = node;
		cycle.n++;
	}
	if (k->e.opt->cycle)
		*k->e.opt->cycle = cycle;
	return -EDEADLK;
}

static inline bool is_placed(const struct contract *k, uint32_t event)
{
	return k->state[NP_EVENT_NODE(event)] & DONE << slot_of(k, event);
}

/* Whether an event belongs to the current stage. */
static bool here(const struct contract *k, uint32_t event)
{
	uint32_t slice = 0;

	return !k->r.loop.part ||
	       (np_slices_stage(&k->r, event, &slice) == k->stage &&
		(k->stage != NP_WITHIN || slice == k->r.first));
}

/* Whether an event was given to this stage by an earlier one. */
static bool given(const struct contract *k, uint32_t event)
{
	uint32_t from;

	if (!is_placed(k, event))
		return false;
	from = at(k, event)->from;
	return k->stage && from > 1 && from - 2 < k->r.n_carried &&
	       k->given[from - 2] == event;
}

/*
 * Adds the edges from what an event waits for, up to the first that has no
 * place yet. Returns -EAGAIN if that is of another stage.
 */
static inline int add_placed(struct contract *k, struct frame *f)
{
	int rc = 0;

	for (; !rc && f->next < k->needs.n; f->next++) {
		const struct np_need *need = &k->needs.need[f->next];

		if (k->r.loop.part && !here(k, need->event) &&
		    !given(k, need->event))
			return -EAGAIN;
		if (!is_placed(k, need->event))
			return 0;
		rc = add_in(k, at(k, need->event), need->cost.a, need->cost.b);
	}
	return rc;
}

/*
 * Lets a node wait for another one that has no place yet; the node is tried
 * again once that has one. Until then the places of both have room for the
 * list: `from` is the first node that waits for this one, b the next that waits
 * for the same.
 */
static int wait_for(struct contract *k, uint32_t node, uint32_t on)
{
	/* Room for all that will be ready, so that end_wait() cannot fail. */
	if (k->n_waiting + k->n_ready == k->max_ready &&
	    np_array_reserve(&k->ready, &k->max_ready, k->max_ready + 1,
			     sizeof(*k->ready)))
		return -ENOMEM;
	if (!(k->state[on] & LACKED))
		k->usual[on].from = NP_GRAPH_NONE;
	k->state[on] |= LACKED;
	k->usual[node].b = (int32_t)k->usual[on].from;
	k->usual[on].from = node;
	k->n_waiting++;
	return 0;
}

/* Ends the wait for a node that is about to get its place. */
static void end_wait(struct contract *k, uint32_t on)
{
	uint32_t i = k->usual[on].from;
	size_t n = k->n_ready;

	for (; i != NP_GRAPH_NONE; i = (uint32_t)k->usual[i].b)
		k->ready[n++] = i;
	k->n_waiting -= n - k->n_ready;
	k->n_ready = n;
	k->state[on] &= (uint16_t)~LACKED;
}

/* Places an event after everything that it waits for. */
static int close_event(struct contract *k, struct frame f)
{
	uint16_t *state = &k->state[NP_EVENT_NODE(f.event)];
	unsigned slot = slot_of(k, f.event);

	if (*state & LACKED)
		end_wait(k, NP_EVENT_NODE(f.event));
	*state = (uint16_t)((*state & ~(OPEN << slot | NO_MESSAGE)) |
			    DONE << slot);
	k->needs.n = f.first;
	return place_event(k, f.event, f.in);
}

/* Places an event, or puts it on the stack until it can be placed. */
static int open_event(struct contract *k, uint32_t event)
{
	struct frame f = { event, k->needs.n, k->needs.n, k->n_in };
	uint16_t open = (uint16_t)(OPEN << slot_of(k, event));
	int rc;

	if (k->state[NP_EVENT_NODE(event)] & open)
		return deadlock(k, event);
	if (event_needs(&k->e, event, &k->needs))
		return -ENOMEM;
	rc = add_placed(k, &f);
	if (rc)
		return rc;
	if (f.next == k->needs.n)
		return close_event(k, f);
	if (k->depth == k->max_depth &&
	    np_array_reserve(&k->stack, &k->max_depth, k->depth + 1,
			     sizeof(*k->stack)))
		return -ENOMEM;
	k->stack[k->depth++] = f;
	k->state[NP_EVENT_NODE(event)] |= open;
	return 0;
}

/* Places an event and everything that it waits for (depth-first). */
static int visit(struct contract *k, uint32_t root)
{
	int rc = is_placed(k, root) ? 0 : open_event(k, root);

	while (!rc && k->depth) {
		struct frame *f = &k->stack[k->depth - 1];

		rc = add_placed(k, f);
		if (!rc && f->next < k->needs.n)
			rc = open_event(k, k->needs.need[f->next].event);
		else if (!rc)
			rc = close_event(k, k->stack[--k->depth]);
	}
	return rc;
}

/*
 * Calls look() for all nodes, or with a loop for ranges with those that may
 * belong to the current stage.
 */
static int each_node(struct contract *k,
		     int (*look)(struct contract *k, uint32_t from,
				 uint32_t to))
{
	const struct np_graph *g = k->e.g;
	uint32_t from = 0, to = (uint32_t)g->n_nodes;
	int rc = 0;

	if (!k->r.loop.part)
		return look(k, from, to);
	for (size_t part = 0; !rc && part < g->n_parts; part++) {
		np_slices_range(&k->r, part, k->stage, &from, &to);
		rc = look(k, from, to);
	}
	return rc;
}

/* Places the end of a node. */
static int visit_end(struct contract *k, uint32_t node)
{
	struct np_cost after;
	uint32_t event = event_end(&k->e, node, &after);

	return here(k, event) ? visit(k, event) : 0;
}

static int visit_ends(struct contract *k, uint32_t from, uint32_t to)
{
	int rc = 0;

	for (; !rc && from < to; from++)
		rc = visit_end(k, from);
	return rc;
}

/*
 * Whether costs depend on nothing but the operations. Then try_node() places
 * most events, in a fraction of the time that visit() takes.
 */
static bool is_plain(const struct contract *k)
{
	const struct np_tolerance_opt *opt = k->e.opt;

	return !k->r.loop.part && !has_orders(&k->e) && !opt->placed.t &&
	       !opt->pair && !(opt->net.O_ns > 0);
}

/* What try_node() needs of a plain graph. */
static void note_costs(struct contract *k)
{
	k->o = pay(&k->e, NP_LOGGPS_o, 1);
	k->byte = pay(&k->e, NP_LOGGPS_G, 1);
	k->transit = sum(pay(&k->e, NP_LOGGPS_L, 1), k->o);
	k->eager = k->e.opt->net.S >= NP_GRAPH_MAX_SIZE;
	k->near_dep = NP_GRAPH_NONE;
}

/* is_rendezvous(), faster where no send waits for its receiver. */
static inline bool waits(const struct contract *k, uint32_t send)
{
	return !k->eager && is_rendezvous(&k->e, send);
}

/*
 * Whether the usual event of a node is its only one, and its end is a known
 * time later.
 */
static inline bool is_simple(const struct contract *k, uint32_t node)
{
	const struct np_graph_node *op = &k->e.g->node[node];

	if (op->kind == NP_OP_RECV)
		return !op->irequired && !waits(k, op->peer);
	return op->kind == NP_OP_CALC || !waits(k, node);
}

/* Time from the usual event of a simple node to its end. */
static inline struct np_cost rest_cost(const struct contract *k, uint32_t node)
{
	const struct np_graph *g = k->e.g;
	struct np_cost c = { 0, 0 };

	if (g->node[node].kind != NP_OP_CALC)
		return k->o;
	c.a = (double)(int64_t)np_graph_size(g, node); /* faster if signed */
	return c;
}

/* Makes an edge longer. Returns false if it is too long then. */
static inline bool put_edge(const struct np_edge *e, struct np_cost c,
			    struct np_edge *to)
{
	uint64_t sum = c.b + (uint64_t)e->b;

	*to = (struct np_edge){ e->a + c.a, e->from, (int32_t)sum };
	return sum <= INT32_MAX;
}

/*
 * Appends an edge to in[], unless it is beaten by the first one, which often
 * starts at the same operation and is longer.
 */
static inline bool put_longer(const struct np_edge *e, struct np_cost c,
			      struct np_edge *in, size_t *n)
{
	bool fits = put_edge(e, c, &in[*n]);

	*n += !*n || !beats(in, &in[*n]);
	return fits;
}

/* The same for the edges of a list, which nothing else needs. */
static bool put_list(struct contract *k, const struct np_edge *event,
		     struct np_cost c, struct np_edge *in, size_t *n)
{
	uint32_t first = event->from, many = (uint32_t)-event->b;
	bool fit = true;

	for (uint32_t i = 0; i < many; i++)
		fit &= put_longer(&k->list[first + i], c, in, n);
	k->spare[k->n_spare++] = first;
	return fit;
}

/* Appends the edge from a send to its receive, and then made longer by more. */
static inline bool put_message(const struct contract *k, uint32_t send,
			       struct np_cost more, struct np_edge *in,
			       size_t *n)
{
	uint64_t bytes = charged_bytes(&k->e, send);
	struct np_cost c = {
		k->transit.a + (double)(int64_t)bytes * k->byte.a,
		k->transit.b + bytes * k->byte.b,
	};
	struct np_edge e;

	return put_edge(&k->usual[send], c, &e) && put_longer(&e, more, in, n);
}

/* Appends the edges from a dependency, which has a place. */
static inline bool put_dependency(struct contract *k, uint32_t dep,
				  struct np_edge *in, size_t *n)
{
	uint32_t on = dep >> 1;
	const struct np_graph_node *op = &k->e.g->node[on];
	const struct np_edge *event = &k->usual[on];
	struct np_cost rest = { 0, 0 };

	if ((dep & 1) == NP_REQUIRES) {
		if (op->kind == NP_OP_SEND && waits(k, on))
			return false;
		rest = rest_cost(k, on);
	} else if (op->kind == NP_OP_RECV) {
		event = &k->other[on];
	}
	if (IS_LIST(event))
		return put_list(k, event, rest, in, n);
	return put_longer(event, rest, in, n) &&
	       (!(k->state[on] & NO_MESSAGE) ||
		put_message(k, op->peer, rest, in, n));
}

/*
 * The last of these dependencies that has no place yet, which is likely to be
 * placed after the others, or the send that it waits for; NP_GRAPH_NONE if all
 * have one.
 */
static inline uint32_t find_lacking(const struct contract *k, uint32_t first,
				    uint32_t end)
{
	const struct np_graph *g = k->e.g;

	while (end-- > first) {
		uint32_t on = g->dep[end] >> 1;
		unsigned done = DONE;

		if (k->state[on] & NO_MESSAGE)
			on = g->node[on].peer;
		else if ((g->dep[end] & 1) == NP_IREQUIRES &&
			 g->node[on].kind == NP_OP_RECV)
			done = DONE << OTHER;
		if (!(k->state[on] & done))
			return on;
	}
	return NP_GRAPH_NONE;
}

/* Leaves a node for the end of the round. */
static int visit_later(struct contract *k, uint32_t node)
{
	return NP_ARRAY_PUSH(k->todo, k->n_todo, k->max_todo, node);
}

/* Notes that a node gets its place. */
static inline void set_placed(struct contract *k, uint32_t node, unsigned how)
{
	if (k->state[node] & LACKED)
		end_wait(k, node);
	k->state[node] |= (uint16_t)how;
}

/*
 * Where a dependency leads, for place_near(). Operations in a row often have
 * the same one. Returns false if the node has no place yet, or another one than
 * a distance from a vertex.
 */
static inline bool follow(struct contract *k, uint32_t dep, struct np_edge *to)
{
	uint32_t on = dep >> 1;

	if (dep == k->near_dep) {
		*to = k->near;
		return true;
	}
	if ((dep & 1) != NP_REQUIRES || !(k->state[on] & DONE) ||
	    IS_LIST(&k->usual[on]) ||
	    (k->e.g->node[on].kind == NP_OP_SEND && waits(k, on)) ||
	    !put_edge(&k->usual[on], rest_cost(k, on), to))
		return false;
	k->near_dep = dep;
	k->near = *to;
	return true;
}

/*
 * Places a simple node that waits for only one other: it is at a distance from
 * that. A receive whose end only one operation waits for gets a place without
 * its message; the edge of the message becomes one of that operation. Returns
 * false if it cannot be placed like that, or not yet.
 */
static inline bool place_near(struct contract *k, uint32_t node, uint32_t dep)
{
	const struct np_graph_node *op = &k->e.g->node[node];
	bool recv = op->kind == NP_OP_RECV;
	struct np_edge e;

	if ((recv && op->required != 1) || !follow(k, dep, &e))
		return false;
	set_placed(k, node, recv ? NO_MESSAGE : DONE);
	k->usual[node] = e;
	return true;
}

/* Places a simple node; what it waits for has a place. */
static int place_node(struct contract *k, uint32_t node, uint32_t first,
		      uint32_t end)
{
	const struct np_graph *g = k->e.g;
	const struct np_graph_node *op = &g->node[node];
	bool recv = op->kind == NP_OP_RECV, fit = true;
	size_t at, n = 0, n_spare = k->n_spare;
	struct np_edge *in;
	int rc = compact_room(k->c, LIST_MAX * (size_t)(end - first + 1), &at);

	if (rc)
		return rc;
	in = k->c->edge + at;
	/* The last one is often the longest, with which others are compared. */
	for (uint32_t i = end; fit && i-- > first;)
		fit = put_dependency(k, g->dep[i], in, &n);
	if (recv && fit)
		fit = put_message(k, op->peer, (struct np_cost){ 0, 0 }, in,
				  &n);
	if (!fit) {
		k->n_spare = n_spare;
		return visit_later(k, node);
	}
	set_placed(k, node, DONE);
	/* More than two edges of one dependency are a list, which is thin. */
	if (n < 3 || recv || end - first > 1)
		n = edge_thin(in, n);
	/* A list as with has_one_use(). */
	return place(k, &k->usual[node], in, n,
		     n <= LIST_MAX && op->required == 1 &&
			     (recv ||
			      (op->kind == NP_OP_CALC && !op->irequired)));
}

/*
 * Places the end of a node of a plain graph. If what it waits for has no place
 * yet, it is tried again later; if it is not simple, it is visited later.
 */
static inline __attribute__((always_inline)) int try_node(struct contract *k,
							  uint32_t node)
{
	const struct np_graph *g = k->e.g;
	const struct np_graph_node *op = &g->node[node];
	uint32_t first = op->first, end = np_graph_deps_end(g, node), lacking;

	if (!is_simple(k, node))
		return visit_later(k, node);
	if (k->state[node] & DONE ||
	    (end - first == 1 && place_near(k, node, g->dep[first])))
		return 0;
	lacking = op->kind == NP_OP_RECV && !(k->state[op->peer] & DONE) ?
			  op->peer :
			  find_lacking(k, first, end);
	return lacking == NP_GRAPH_NONE ? place_node(k, node, first, end) :
					  wait_for(k, node, lacking);
}

/* Tries these nodes, and those that waited for one that has got its place. */
static int try_nodes(struct contract *k, uint32_t from, uint32_t to)
{
	const struct np_graph_node *op = k->e.g->node;
	int rc = 0;

	while (!rc && (k->n_ready || from < to)) {
		bool again = k->n_ready;
		uint32_t node = again ? k->ready[--k->n_ready] : from++;

		/* The end of the program, see add_program_end(). */
		if (!again && !op[node].required)
			rc = NP_ARRAY_PUSH(k->last, k->n_last, k->max_last,
					   node);
		if (!rc)
			rc = try_node(k, node);
	}
	return rc;
}

/* Visits the nodes that could not be tried, and what waits for them. */
static int visit_rest(struct contract *k)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < k->n_todo; i++) {
		rc = visit_end(k, k->todo[i]);
		if (!rc)
			rc = try_nodes(k, 0, 0);
	}
	k->n_todo = 0;
	return rc;
}

/* The node up to which a share of a part's nodes goes. */
static inline uint32_t end_of_share(const struct np_graph *g, size_t part,
				    double share)
{
	uint32_t first = g->part[part].first;

	return first + (uint32_t)(share * (np_graph_part_end(g, part) - first));
}

/*
 * Fetches what it takes to try CHUNK nodes. Always inline, because gcc removes
 * calls of functions that only prefetch.
 */
static inline __attribute__((always_inline)) void
fetch_nodes(const struct contract *k, uint32_t first)
{
	const struct np_graph *g = k->e.g;
	const uint32_t *dep = g->dep + g->node[first].first;

	for (uint32_t i = 0; i < CHUNK; i += 4) {
		__builtin_prefetch(&g->node[first + i]);
		__builtin_prefetch(&k->usual[first + i], 1);
	}
	__builtin_prefetch(&k->state[first], 1);
	__builtin_prefetch(dep);
	__builtin_prefetch(dep + CHUNK);
}

/* Calls look() for the nodes of each rank between two shares of them. */
static inline int each_in_round(struct contract *k, double from, double to,
				int (*look)(struct contract *k, uint32_t from,
					    uint32_t to))
{
	const struct np_graph *g = k->e.g;
	int rc = 0;

	for (size_t part = 0; !rc && part < g->n_parts; part++) {
		if (part + PARTS_AHEAD < g->n_parts)
			fetch_nodes(k,
				    end_of_share(g, part + PARTS_AHEAD, from));
		rc = look(k, end_of_share(g, part, from),
			  end_of_share(g, part, to));
	}
	return rc;
}

/*
 * Places the ends of all nodes, some nodes of each rank in turn: ranks wait for
 * what others have done at about the same time, so little of the graph has to
 * be in a cache.
 */
static int visit_all(struct contract *k)
{
	const struct np_graph *g = k->e.g;
	size_t rounds = g->n_nodes / (CHUNK * (g->n_parts + 1)) + 1;
	int rc = 0;

	k->plain = is_plain(k) && !k->in_order;
	if (k->r.loop.part || k->in_order)
		return each_node(k, visit_ends);
	note_costs(k);
	for (size_t round = 0; !rc && round < rounds; round++) {
		double from = (double)round / (double)rounds;
		double to = (double)(round + 1) / (double)rounds;

		rc = each_in_round(k, from, to,
				   k->plain ? try_nodes : visit_ends);
		if (!rc)
			rc = visit_rest(k);
	}
	/* What still waits does so in a circle. */
	return !rc && k->n_waiting ? -EDEADLK : rc;
}

/* Adds the end of a node that no other operation waits for. */
static int add_end(struct contract *k, uint32_t node)
{
	struct np_cost after;
	uint32_t event = event_end(&k->e, node, &after);
	int rc;

	/* An eager send ends before its receive does. */
	if (!here(k, event) || (k->e.g->node[node].kind == NP_OP_SEND &&
				NP_EVENT_WHICH(event) != NP_EVENT_COMPLETE))
		return 0;
	rc = add_in(k, at(k, event), after.a, after.b);
	if (k->n_in >= k->thin_at) { /* many may be equally far */
		k->n_in = edge_thin(k->in, k->n_in);
		k->thin_at = 1024 + 2 * k->n_in;
	}
	return rc;
}

static int add_ends(struct contract *k, uint32_t from, uint32_t to)
{
	const struct np_graph_node *node = k->e.g->node;
	int rc = 0;

	for (; !rc && from < to; from++)
		if (!node[from].required)
			rc = add_end(k, from);
	return rc;
}

/* Adds the end of the program as far as this stage knows it. */
static int add_program_end(struct contract *k)
{
	int rc = 0;

	k->n_in = 0;
	k->thin_at = 1024;
	if (k->stage)
		rc = add_in(k, &(struct np_edge){ 0, 1, 0 }, 0, 0);
	if (!rc && !k->plain)
		rc = each_node(k, add_ends);
	for (size_t i = 0; !rc && i < k->n_last; i++)
		rc = add_end(k, k->last[i]);
	k->n_in = edge_thin(k->in, k->n_in);
	return rc ? rc : compact_add(k->c, k->in, k->n_in);
}

/* A carried event as the current stage receives it, or as it passes it on. */
static uint32_t carried(const struct contract *k, size_t i, bool handed_on)
{
	const struct np_carried *c = &k->r.carried[i];
	uint32_t slices = k->stage == NP_AFTER ? k->r.end - k->r.first : 0;

	if (handed_on && k->stage == NP_WITHIN)
		slices = 1;
	return c->moves ? np_slices_move(&k->r, c->event, slices) : c->event;
}

/*
 * Vertex 1 is the end of everything before this stage; then the carried events.
 */
static int receive_carried(struct contract *k)
{
	int rc = compact_add(k->c, NULL, 0);

	for (size_t i = 0; !rc && i < k->c->n_state; i++) {
		uint32_t event;

		k->c->in[i] = (uint32_t)k->c->n;
		rc = compact_add(k->c, NULL, 0);
		if (!i)
			continue;
		event = k->given[i - 1] = carried(k, i - 1, false);
		/*
		 * A moving and a fixed event may be the same one in the first
		 * slice.
		 */
		if (k->stage == NP_WITHIN && !k->r.carried[i - 1].moves)
			continue;
		*at(k, event) = (struct np_edge){ 0, (uint32_t)i + 1, 0 };
		k->state[NP_EVENT_NODE(event)] |=
			(uint16_t)(DONE << slot_of(k, event));
	}
	return rc;
}

/*
 * Gives each carried event a vertex. One that only passes through has one
 * already.
 */
static int pass_on(struct contract *k)
{
	int rc = 0;

	for (size_t i = 1; !rc && i < k->c->n_state; i++) {
		uint32_t event = carried(k, i - 1, true);

		k->c->out[i] = (uint32_t)i + 1;
		if (k->stage == NP_WITHIN && !k->r.carried[i - 1].moves)
			continue;
		rc = here(k, event) ? visit(k, event) : -EAGAIN;
		k->c->out[i] = (uint32_t)k->c->n;
		if (!rc)
			rc = compact_add(k->c, at(k, event), 1);
	}
	return rc;
}

/*
 * Contracts one stage of a loop, or the whole graph, into a link of the chain.
 */
static int contract_stage(struct contract *k)
{
	int rc = 0;

	k->c = &k->chain->link[k->stage];
	k->chain->n = k->stage + 1;
	if (k->stage != NP_BEFORE)
		rc = compact_state(k->c, k->r.n_carried + 1);
	if (!rc && !k->r.loop.part)
		rc = np_compact_reserve(k->c, k->e.g->n_nodes / 4,
					k->e.g->n_nodes);
	if (!rc)
		rc = receive_carried(k);
	if (!rc && k->stage == NP_BEFORE && k->r.loop.part)
		rc = compact_state(k->c, k->r.n_carried + 1);
	if (!rc)
		rc = visit_all(k);
	if (!rc && k->stage != NP_AFTER)
		rc = pass_on(k);
	if (!rc)
		rc = add_program_end(k);
	if (!rc && k->c->n_state)
		k->c->out[0] = (uint32_t)k->c->n - 1;
	return rc;
}

/* Returns -EAGAIN if some dependency does not fit the division into slices. */
static int contract_loop(struct contract *k)
{
	int rc = 0;

	k->given = malloc((k->r.n_carried + 1) * sizeof(*k->given));
	if (!k->given)
		return -ENOMEM;
	for (int stage = NP_BEFORE; !rc && stage < NP_STAGES; stage++) {
		k->stage = (enum np_stage)stage;
		rc = contract_stage(k);
	}
	k->chain->times = k->r.end - k->r.first;
	return rc;
}

/* No event has a place yet. */
static void clear_state(struct contract *k)
{
	memset(k->state, 0, k->e.g->n_nodes * sizeof(*k->state));
}

/* Forgets a contraction that has failed. */
static void start_again(struct contract *k)
{
	np_chain_free(k->chain);
	clear_state(k);
	k->depth = k->needs.n = k->n_in = k->n_last = 0;
}

/*
 * Contracts the graph by slices if it has a suitable loop, otherwise as a
 * whole.
 */
static int contract(struct contract *k)
{
	int rc = 0;

	clear_state(k);
	if (!k->e.opt->unfold && !k->e.opt->one_cpu && !k->e.opt->one_link)
		rc = np_slices_find(&k->e, &k->r);
	if (!rc && k->r.loop.part) {
		rc = contract_loop(k);
		np_slices_free(&k->r);
		if (rc != -EAGAIN)
			return rc;
		rc = 0;
		start_again(k);
	}
	k->stage = NP_BEFORE;
	if (!rc)
		rc = contract_stage(k);
	if (rc == -EDEADLK) { /* name the first cycle in the order of nodes */
		k->in_order = true;
		start_again(k);
		rc = contract_stage(k);
	}
	return rc;
}

/* Turns an error into a message. */
static int contract_error(const struct contract *k, int rc, struct np_err *err)
{
	const struct np_graph *g = k->e.g;
	const struct np_cycle *cycle = k->e.opt->cycle;
	char buf[NP_ERR_LEN];

	switch (rc) {
	case 0:
		return 0;
	case -EDEADLK:
		return np_errf(err, rc,
			       "%zu operations wait for each other in a "
			       "circle, one of them %s",
			       cycle->n,
			       np_graph_describe(g, cycle->node[0], buf,
						 sizeof(buf)));
	case -ERANGE:
		return np_errf(err, rc, "%s: more than 2^32 edges", g->name);
	default:
		return np_errf(err, rc,
			       "%s: no memory to contract %zu operations",
			       g->name, g->n_nodes);
	}
}

/*
 * Allocates what a contraction needs, and contracts. *other: a graph without
 * vertices, with memory for one.
 */
static int run(struct contract *k, struct np_compact *other)
{
	bool turns = k->e.orders.cpu || k->e.orders.link;
	size_t n = k->e.g->n_nodes + 1;
	int rc = -ENOMEM;

	k->usual = np_large_alloc(n, sizeof(*k->usual) + sizeof(*k->state));
	k->state = k->usual ? (uint16_t *)(k->usual + n) : NULL;
	k->other = np_large_alloc(n, sizeof(*k->other));
	if (turns)
		k->arrival = malloc(n * sizeof(*k->arrival));
	if (k->usual && k->other && (k->arrival || !turns))
		rc = contract(k);
	*other = (struct np_compact){ .edge = k->usual, .max_edges = n };
	free(k->other);
	free(k->arrival);
	free(k->stack);
	free(k->needs.need);
	free(k->list);
	free(k->spare);
	free(k->in);
	free(k->ready);
	free(k->todo);
	free(k->last);
	free(k->given);
	return rc;
}

/*
 * Turns a graph into a chain: everything in one link, or for a loop three
 * links, for what precedes it, one slice, and what follows it. *other: as from
 * run(). Errors as np_tolerance_new().
 */
static int make_chain(const struct np_graph *g,
		      const struct np_tolerance_opt *opt, struct np_chain *out,
		      struct np_compact *other, struct np_err *err)
{
	struct np_tolerance_opt own = *opt;
	struct np_cycle cycle;
	struct contract k = { .e = { .g = g, .opt = &own }, .chain = out };
	int rc = 0;

	if (!own.cycle)
		own.cycle = &cycle;
	if (opt->one_cpu || opt->one_link)
		rc = simulate(&k.e, np_loggps_value(&own.net, own.x), NULL,
			      NULL);
	/*
	 * -EDEADLK: contraction without resource orders finds the cycle and
	 * names it
	 */
	if (!rc || rc == -EDEADLK)
		rc = run(&k, other);
	orders_free(&k.e.orders);
	return contract_error(&k, rc, err);
}

/*
 * ---- Passes ----
 *
 * In a single compact graph, a pass computes only times, and slopes from them
 * afterwards. A pass that carries slopes along has to decide at every edge
 * which of two to keep, and reads twice as much memory. Computed backwards from
 * the end along the longest paths, slopes concern a few vertices out of very
 * many.
 */

/*
 * Many equal slices. At a fixed x, a slice is a linear map in the max-plus
 * algebra. Such a map, when iterated, eventually adds the same amount to each
 * time in every cycle of a certain number of slices (G. Cohen, D. Dubois, J.-P.
 * Quadrat, M. Viot, 1985); ranks that never wait for each other may have
 * different rates. Therefore, once two cycles in a row add the same,
 * np_repeat() determines for each choice between two paths after how many
 * cycles it would change at these rates, and skips that many cycles.
 */

/* relative difference of sums computed in another order */
#define NOISE 0x1p-50
#define TRIES 8	      /* attempts with each cycle length */
#define SLOPE_TIE 0.5 /* slopes are whole numbers: equal if nearer than that */

/*
 * The next cycle length to try: numbers with many divisors, then multiples of
 * 4.
 */
static uint32_t next_cycle(uint32_t cycle)
{
	return cycle == 2 ? 12 : cycle == 12 ? 60 : 4 * cycle;
}

/* Whether two values are equal except for rounding. */
static bool near(double a, double b, double of)
{
	return fabs(a - b) <= NOISE * fabs(of);
}

/* Length and slope of an edge. */
static inline np_pair length_of(const struct np_pass *p,
				const struct np_edge *e)
{
	return p->which == NP_ASYMPTOTE ? (np_pair){ e->b, e->a } :
					  (np_pair){ e->a + e->b * p->x, e->b };
}

/* Keeps the later time and its slope; of equal times, the wanted slope. */
static inline void walk(const struct np_compact *c, const struct np_pass *p,
			double tol, bool steepest, np_pair *at)
{
	const struct np_edge *e = c->edge;

	at[0] = (np_pair){ 0, 0 };
	for (size_t v = 1 + c->n_given; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		np_pair last = { 0, 0 };

		if (e < end) {
			last = at[e->from] + length_of(p, e);
			e++;
		}
		for (; e < end; e++) {
			np_pair q = at[e->from] + length_of(p, e);
			bool wanted = steepest ? q[1] > last[1] :
						 q[1] < last[1];
			double more = q[0] - last[0];

			last[0] = more > 0 ? q[0] : last[0];
			last[1] = more > (wanted ? -tol : tol) ? q[1] : last[1];
		}
		at[v] = last;
	}
}

/*
 * Computes the times of all vertices of a link, after those of the given ones
 * are set. Each mode has its own copy of the loop, so that no branch in it is
 * constant.
 */
static void pass_link(const struct np_compact *c, const struct np_pass *p,
		      np_pair *at)
{
	switch (p->which) {
	case NP_STEEPEST:
		walk(c, &(struct np_pass){ NP_STEEPEST, p->x, 0 }, p->tol, true,
		     at);
		break;
	case NP_FLATTEST:
		walk(c, &(struct np_pass){ NP_STEEPEST, p->x, 0 }, p->tol,
		     false, at);
		break;
	case NP_ASYMPTOTE:
		walk(c, &(struct np_pass){ .which = NP_ASYMPTOTE }, SLOPE_TIE,
		     true, at);
		break;
	}
}

/*
 * Passes over a link repeatedly; the output of each pass is the input of the
 * next.
 */
static void np_pass_slices(const struct np_compact *c, const struct np_pass *p,
			   np_pair *at, const np_pair *from, np_pair *to,
			   size_t times)
{
	for (; times; times--, from = to) {
		for (size_t i = 0; i < c->n_state; i++)
			if (c->in[i])
				at[c->in[i]] = from[i];
		pass_link(c, p, at);
		for (size_t i = 0; i < c->n_state; i++)
			to[i] = at[c->out[i]];
	}
}

/* Whether both steps add the same. */
static bool steady(const np_pair *a, const np_pair *b, const np_pair *c,
		   size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			if (!near(c[i][k] - b[i][k], b[i][k] - a[i][k],
				  c[i][k]))
				return false;
	return true;
}

/* A vertex, and one of the paths to it relative to the vertex. */
struct choice {
	np_pair at;   /* time and slope of the vertex */
	np_pair lack; /* by how much the path is shorter */
	np_pair gain; /* by how much that shrinks in one cycle */
};

/*
 * Number of cycles for which the path stays off the longest path. Sets *time
 * and *slope if the vertex takes its time or slope from this path and continues
 * as it does.
 */
static double cycles_until(const struct np_pass *p, const struct choice *c,
			   bool *time, bool *slope)
{
	double noise = NOISE * fabs(c->at[0]);
	double tie = p->tol > noise ? p->tol : noise;
	double lack = c->lack[1], gain = c->gain[1];

	if (c->gain[0] > noise)
		return c->lack[0] > tie ?
			       floor((c->lack[0] - tie) / c->gain[0]) :
			       0;
	if (c->lack[0] > tie || c->gain[0] < -noise)
		return INFINITY;
	*time |= c->lack[0] <= noise;
	if (near(gain, 0, c->at[1])) {
		*slope |= near(lack, 0, c->at[1]);
		return INFINITY;
	}
	if (p->which == NP_FLATTEST) {
		lack = -lack;
		gain = -gain;
	}
	return gain <= 0 ? INFINITY : lack <= 0 ? 0 : floor(lack / gain);
}

/*
 * Number of cycles for which all choices stay as they are between slices a and
 * b.
 */
static double steady_cycles(const struct np_compact *c, const struct np_pass *p,
			    const np_pair *a, const np_pair *b)
{
	double least = INFINITY;

	for (size_t v = 1 + c->n_given; v < c->n; v++) {
		bool time = false, slope = false;

		for (size_t i = c->first[v]; i < c->first[v + 1]; i++) {
			const struct np_edge *e = &c->edge[i];
			np_pair length = length_of(p, e);
			struct choice path = {
				.at = b[v],
				.lack = b[v] - (b[e->from] + length),
			};
			double n;

			path.gain = a[v] - (a[e->from] + length) - path.lack;
			n = cycles_until(p, &path, &time, &slope);
			least = n < least ? n : least;
		}
		if (!time || !slope)
			return 0;
	}
	return least;
}

/*
 * The same over all slices of a cycle: two cycles side by side, second after
 * first.
 */
static double cycles_ahead(const struct np_compact *c, const struct np_pass *p,
			   struct np_workspace *room, const np_pair *first,
			   const np_pair *second, uint32_t cycle)
{
	np_pair *a = room->state[3], *b = room->state[4];
	double least = INFINITY;

	for (uint32_t i = 0; i < cycle && least >= 1; i++) {
		double n;

		np_pass_slices(c, p, room->at, i ? a : first, a, 1);
		np_pass_slices(c, p, room->later, i ? b : second, b, 1);
		n = steady_cycles(c, p, room->at, room->later);
		least = n < least ? n : least;
	}
	return least;
}

/*
 * Passes over a slice that stands for many. Tests cycles of increasing length
 * until two in a row add the same, then skips as many as stay the same.
 */
static const np_pair *np_repeat(const struct np_compact *c,
				const struct np_pass *p,
				struct np_workspace *room, uint32_t times)
{
	np_pair *s[3] = { room->state[1], room->state[2], room->state[0] };
	uint32_t cycle = 2, known = 1, tries = 0;

	while (times >= cycle) {
		np_pair *oldest = s[0];
		double n = 0;

		s[0] = s[1];
		s[1] = s[2];
		s[2] = oldest;
		np_pass_slices(c, p, room->at, s[1], s[2], cycle);
		times -= cycle;
		if (++known >= 3 && times >= cycle &&
		    steady(s[0], s[1], s[2], c->n_state))
			n = cycles_ahead(c, p, room, s[0], s[1], cycle);
		if (n >= 1) {
			n = n < times / cycle ? n : times / cycle;
			for (size_t i = 0; i < c->n_state; i++)
				s[2][i] += n * (s[2][i] - s[1][i]);
			times -= (uint32_t)n * cycle;
			known = 1;
		} else if (++tries == TRIES) {
			cycle = next_cycle(cycle);
			tries = 0;
			known = 1;
		}
	}
	np_pass_slices(c, p, room->at, s[2], s[2], times);
	return s[2];
}

/*
 * Prefetches the edges and times of vertices further on. The hardware
 * prefetches within a page but not across pages. Addresses behind the end do no
 * harm.
 */
static inline void fetch(const struct np_edge *e, const void *t)
{
	__builtin_prefetch((const char *)e + 6144);
	__builtin_prefetch((const char *)t + 1024, 1);
}

/* Computes the times of all vertices of a graph without a loop. */
static void pass_times(const struct np_compact *c, double x,
		       struct np_workspace *room)
{
	const struct np_edge *e = c->edge;
	double *t = (double *)room->at;

	t[0] = 0;
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		double late = 0;

		fetch(e, &t[v]);
		for (; e != end; e++) {
			double at = t[e->from] + (e->a + e->b * x);

			late = late > at ? late : at;
		}
		t[v] = late;
	}
}

/*
 * Smallest and largest slope from a vertex to the end; stored behind the times.
 */
static np_pair *slopes(const struct np_compact *c,
		       const struct np_workspace *room)
{
	return room->at + (c->n + 1) / 2;
}

/* Passes the slopes of vertex v on to its predecessors on longest paths. */
static void pass_slopes(const struct np_compact *c, double x, double tol,
			struct np_workspace *room, uint32_t v)
{
	const struct np_edge *end = c->edge + c->first[v + 1];
	const double *t = (const double *)room->at;
	np_pair *s = slopes(c, room);

	for (const struct np_edge *e = c->edge + c->first[v]; e != end; e++) {
		np_pair slope = s[v] + e->b;

		/* This vertex may be the next, whatever is found below. */
		__builtin_prefetch(c->edge + c->first[e->from]);
		if (t[e->from] + (e->a + e->b * x) < t[v] - tol)
			continue;
		if (np_bits_test(room->reached, e->from)) {
			np_pair was = s[e->from];

			slope[0] = slope[0] < was[0] ? slope[0] : was[0];
			slope[1] = slope[1] > was[1] ? slope[1] : was[1];
		}
		np_bits_set(room->reached, e->from);
		s[e->from] = slope;
	}
}

/*
 * pass_both() for a chain of one link. Every edge leads to a higher number, so
 * no vertex is reached after its turn.
 */
static void pass_one(const struct np_compact *c, double x, double tol,
		     struct np_workspace *room, struct np_point side[2])
{
	const double *t = (const double *)room->at;
	uint64_t *reached = room->reached;
	np_pair *s = slopes(c, room);

	pass_times(c, x, room);
	s[0] = s[c->n - 1] = (np_pair){ 0, 0 };
	np_bits_set(reached, c->n - 1);
	for (size_t w = np_bits_words(c->n); w--;)
		while (reached[w]) {
			uint32_t bit = NP_BITS_WORD - 1 -
				       (uint32_t)__builtin_clzll(reached[w]);
			uint32_t v = (uint32_t)(NP_BITS_WORD * w) + bit;

			pass_slopes(c, x, tol, room, v);
			np_bits_clear(reached, v);
		}
	for (int k = 0; k < 2; k++)
		side[k] = (struct np_point){ t[c->n - 1], s[0][k] };
}

/* Compiles to one instruction where the machine has it. */
static inline np_pair later(np_pair a, np_pair b)
{
	return (np_pair){ a[0] > b[0] ? a[0] : b[0],
			  a[1] > b[1] ? a[1] : b[1] };
}

/* Two named variables: the elements of an array would be kept in memory. */
void np_pass_pairs(const struct np_compact *c, const double *x, np_pair *t)
{
	const np_pair x0 = { x[0], x[1] }, x1 = { x[2], x[3] };
	const struct np_edge *e = c->edge;

	t[0] = t[1] = (np_pair){ 0, 0 };
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		np_pair late0 = { 0, 0 }, late1 = { 0, 0 };

		fetch(e, &t[2 * v]);
		for (; e != end; e++) {
			const np_pair *from = t + 2 * (size_t)e->from;

			late0 = later(late0, from[0] + (e->a + e->b * x0));
			late1 = later(late1, from[1] + (e->a + e->b * x1));
		}
		t[2 * v] = late0;
		t[2 * v + 1] = late1;
	}
}

#ifdef __x86_64__
/* The same with registers of four; the results are equal. */
__attribute__((target("avx"))) static void pass_avx(const struct np_compact *c,
						    const double *x, double *t)
{
	const __m256d x4 = _mm256_loadu_pd(x);
	const struct np_edge *e = c->edge;

	_mm256_storeu_pd(t, _mm256_setzero_pd());
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		__m256d late = _mm256_setzero_pd();

		fetch(e, &t[4 * v]);
		for (; e != end; e++) {
			__m256d length = _mm256_set1_pd(e->a) +
					 _mm256_set1_pd(e->b) * x4;
			const double *from = t + 4 * (size_t)e->from;

			late = _mm256_max_pd(late,
					     _mm256_loadu_pd(from) + length);
		}
		_mm256_storeu_pd(t + 4 * v, late);
	}
}
#endif

/* np_pass_times() for a chain of one link. */
static void pass_four(const struct np_compact *c, const double *x,
		      struct np_workspace *room, double *out)
{
	const np_pair *t = room->at;

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx"))
		pass_avx(c, x, (double *)room->at);
	else
#endif
		np_pass_pairs(c, x, room->at);
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = t[2 * (c->n - 1) + k / 2][k % 2];
}

/* Passes over all links; the second of three is repeated. */
static struct np_point pass_chain(const struct np_chain *c,
				  const struct np_pass *p,
				  struct np_workspace *room)
{
	const np_pair *state = room->state[0];
	np_pair last;

	for (size_t i = 0; i < c->n; i++) {
		np_pass_slices(&c->link[i], p, room->at, state, room->state[0],
			       1);
		state = room->state[0];
		if (i == 0 && c->n > 1)
			state = np_repeat(&c->link[++i], p, room, c->times);
	}
	last = room->at[c->link[c->n - 1].n - 1];
	return p->which == NP_ASYMPTOTE ?
		       (struct np_point){ last[1], last[0] } :
		       (struct np_point){ last[0], last[1] };
}

struct np_point np_pass(const struct np_chain *c, const struct np_pass *p,
			struct np_workspace *room)
{
	struct np_point side[2];

	if (c->n > 1 || p->which == NP_ASYMPTOTE)
		return pass_chain(c, p, room);
	pass_one(&c->link[0], p->x, p->tol, room, side);
	return side[p->which == NP_STEEPEST];
}

/* The flattest and the steepest of the longest paths at x. */
static void pass_both(const struct np_chain *c, double x, double tol,
		      struct np_workspace *room, struct np_point side[2])
{
	struct np_pass p = { NP_FLATTEST, x, tol };

	if (c->n == 1) {
		pass_one(&c->link[0], x, tol, room, side);
		return;
	}
	side[0] = np_pass(c, &p, room);
	p.which = NP_STEEPEST;
	side[1] = np_pass(c, &p, room);
}

void np_pass_times(const struct np_chain *c, const double *x,
		   struct np_workspace *room, double *out)
{
	if (c->n == 1) {
		pass_four(&c->link[0], x, room, out);
		return;
	}
	/* With a loop, each value of x repeats in its own way. */
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = np_pass(c, &(struct np_pass){ NP_STEEPEST, x[k], 0 },
				 room)
				 .t;
}

/* The n times of vertices, in the memory of the other graph if it suffices. */
static np_pair *new_times(size_t n, struct np_compact *other)
{
	/* pass_four() needs two pairs for each vertex */
	const size_t size = NP_PASS_TIMES * sizeof(double);
	struct np_edge *room = other->edge;

	if (other->max_edges * sizeof(*room) < n * size)
		return np_large_alloc(n, size);
	other->edge = NULL;
	other->max_edges = 0;
	return np_large_cut(room, n, size);
}

/* other: a graph that is not needed any more, as in step(). */
static struct np_workspace *workspace_new(const struct np_chain *c,
					  struct np_compact *other)
{
	struct np_workspace *r = calloc(1, sizeof(*r));
	size_t n = 0, n_state = c->link[0].n_state;
	bool ok = r;

	for (size_t i = 0; i < c->n; i++)
		n = c->link[i].n > n ? c->link[i].n : n;
	if (ok) {
		r->at = new_times(n, other);
		r->reached = calloc(np_bits_words(n), sizeof(*r->reached));
		if (c->n > 1)
			r->later = malloc(c->link[1].n * sizeof(*r->later));
		ok = r->at && r->reached && (r->later || c->n == 1);
	}
	for (size_t k = 0; ok && k < NP_ARRAY_SIZE(r->state); k++) {
		r->state[k] = malloc((n_state + 1) * sizeof(**r->state));
		ok = r->state[k];
	}
	if (ok)
		return r;
	np_workspace_free(r);
	return NULL;
}

struct np_workspace *np_workspace_new(const struct np_chain *c)
{
	return workspace_new(c, &(struct np_compact){ .n = 0 });
}

void np_workspace_free(struct np_workspace *r)
{
	if (!r)
		return;
	free(r->at);
	free(r->later);
	free(r->reached);
	for (size_t k = 0; k < NP_ARRAY_SIZE(r->state); k++)
		free(r->state[k]);
	free(r);
}

/*
 * ---- Run times and slopes ----
 *
 * From passes over the compact graph. The searches below use that T is convex
 * and piecewise linear.
 */

#define TIE 0x1p-45	  /* relative to T: rounding of sums in another order */
#define MIN_EDGES 1000000 /* below which a second thread gains nothing */

/* Checks the network parameters. */
static int check(const struct np_loggps *net, struct np_err *err)
{
	const struct {
		const char *name;
		double value;
	} p[] = {
		{ "L", net->L_ns },
		{ "o", net->o_ns },
		{ "G", net->G_ns },
		{ "O", net->O_ns },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(p); i++)
		if (!(p[i].value >= 0) || p[i].value > NP_LOGGPS_MAX)
			return np_errf(err, -EINVAL,
				       "%s of %g, expected 0 to %g", p[i].name,
				       p[i].value, NP_LOGGPS_MAX);
	if (net->O_ns > net->G_ns)
		return np_errf(err, -EINVAL,
			       "O of %g, expected at most G, which is %g",
			       net->O_ns, net->G_ns);
	return 0;
}

int np_tolerance_new(const struct np_graph *g,
		     const struct np_tolerance_opt *opt,
		     struct np_tolerance **out, struct np_err *err)
{
	struct np_compact other = { .n = 0 };
	struct np_tolerance *t;
	int rc = check(&opt->net, err);

	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t)
		return np_errf(err, -ENOMEM, "no memory for a graph");
	rc = make_chain(g, opt, &t->c, &other, err);
	if (!rc) {
		for (size_t i = 0; !rc && i < t->c.n; i++)
			rc = order_compact(&t->c.link[i], &other);
		t->room[0] = rc ? NULL : workspace_new(&t->c, &other);
		if (!t->room[0])
			rc = np_errf(err, -ENOMEM, "no memory for %zu vertices",
				     np_tolerance_size(t).vertices);
	}
	compact_free(&other);
	if (rc) {
		np_tolerance_free(t);
		return rc;
	}
	t->threads = opt->threads;
	t->far = np_pass(&t->c, &(struct np_pass){ NP_ASYMPTOTE, 0, 0 },
			 t->room[0]);
	t->at_0 = np_pass(&t->c, &(struct np_pass){ NP_STEEPEST, 0, 0 },
			  t->room[0])
			  .t;
	*out = t;
	return 0;
}

void np_tolerance_free(struct np_tolerance *t)
{
	if (!t)
		return;
	np_chain_free(&t->c);
	for (size_t k = 0; k < NP_TOLERANCE_THREADS; k++)
		np_workspace_free(t->room[k]);
	free(t);
}

/* at_0 + far.s x is between T and 2 T. */
double np_tolerance_tie(const struct np_tolerance *t, double x)
{
	return TIE * (t->at_0 + t->far.s * x);
}

struct np_point np_tolerance_side(struct np_tolerance *t, double x, bool right)
{
	const struct np_pass p = { right ? NP_STEEPEST : NP_FLATTEST, x,
				   np_tolerance_tie(t, x) };

	return np_pass(&t->c, &p, t->room[0]);
}

void np_tolerance_at(struct np_tolerance *t, double x, struct np_runtime *out)
{
	struct np_point side[2];

	pass_both(&t->c, x, np_tolerance_tie(t, x), t->room[0], side);
	*out = (struct np_runtime){ side[0].t, side[0].s, side[1].s };
}

/* ---- Independent passes on several threads ---- */

typedef void work_on_one(const struct np_tolerance *t,
			 struct np_workspace *room, size_t i, void *arg);

struct job_set {
	struct np_tolerance *t;
	work_on_one *work;
	void *arg;
	size_t n;
	atomic_size_t next;
};

struct worker {
	struct job_set *job_set;
	struct np_workspace *room;
	pthread_t thread;
};

/* Number of threads for n independent passes. */
static size_t threads_for(const struct np_tolerance *t, size_t n)
{
	size_t most = t->threads;
	cpu_set_t mine;

	if (!most &&
	    (t->c.n > 1 || np_compact_edges(&t->c.link[0]) < MIN_EDGES ||
	     sched_getaffinity(0, sizeof(mine), &mine)))
		most = 1;
	if (!most)
		most = (size_t)CPU_COUNT(&mine);
	most = most < NP_TOLERANCE_THREADS ? most : NP_TOLERANCE_THREADS;
	return n < most ? n : most;
}

/* Body of a thread: takes the next index until none is left. */
static void *work_on(void *arg)
{
	struct worker *h = arg;
	struct job_set *c = h->job_set;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->n)
		c->work(c->t, h->room, i, c->arg);
	return NULL;
}

/*
 * Calls work() for each i < n, on several threads where that pays off
 * (np_tolerance.h). Each thread has its own memory for passes.
 */
static void each(struct np_tolerance *t, size_t n, work_on_one *work, void *arg)
{
	struct job_set job_set = { .t = t, .work = work, .arg = arg, .n = n };
	struct worker worker[NP_TOLERANCE_THREADS];
	size_t threads = threads_for(t, n), started = 1;

	for (; started < threads; started++) {
		struct worker *h = &worker[started];

		if (!t->room[started])
			t->room[started] = np_workspace_new(&t->c);
		*h = (struct worker){ &job_set, t->room[started], 0 };
		if (!h->room || pthread_create(&h->thread, NULL, work_on, h))
			break; /* go on with the threads that there are */
	}
	worker[0] = (struct worker){ &job_set, t->room[0], 0 };
	work_on(&worker[0]);
	while (--started)
		pthread_join(worker[started].thread, NULL);
}

struct times {
	const double *x;
	size_t n;
	double *ns;
};

/* Handles NP_PASS_TIMES values of x, from i * NP_PASS_TIMES on. */
static void times_of_group(const struct np_tolerance *t,
			   struct np_workspace *room, size_t i, void *arg)
{
	double some[NP_PASS_TIMES], late[NP_PASS_TIMES];
	const struct times *a = arg;

	i *= NP_PASS_TIMES;
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		some[k] = a->x[i + k < a->n ? i + k : a->n - 1];
	np_pass_times(&t->c, some, room, late);
	for (size_t k = 0; k < NP_PASS_TIMES && i + k < a->n; k++)
		a->ns[i + k] = late[k];
}

void np_tolerance_times(struct np_tolerance *t, const double *x, size_t n,
			double *ns)
{
	struct times a = { x, n, ns };

	each(t, (n + NP_PASS_TIMES - 1) / NP_PASS_TIMES, times_of_group, &a);
}

/* ---- Where T reaches a given time, and where its slope changes ---- */

/*
 * Newton's method from the right of the solution. A convex function lies above
 * its tangents, so no step goes past the solution and each step ends on another
 * linear piece.
 */
static double newton(struct np_tolerance *t, double ns, double x)
{
	for (;;) {
		struct np_point p = np_tolerance_side(t, x, false);
		double next = x - (p.t - ns) / p.s;

		if (p.t <= ns || !(p.s > 0) || !(next < x))
			return x;
		x = next > 0 ? next : 0;
	}
}

double np_tolerance_limit(struct np_tolerance *t, double x0, double share)
{
	struct np_point p = np_tolerance_side(t, x0, true);
	double ns = (1 + share) * p.t;

	if (p.s > 0)
		return newton(t, ns, x0 + (ns - p.t) / p.s);
	return t->far.s > 0 ? newton(t, ns, (ns - t->far.t) / t->far.s) :
			      INFINITY;
}

/*
 * An interval of x whose inside is unknown, with T and its slopes at both ends.
 */
struct span {
	double low, high;
	struct np_point at_low, at_high;
	/*
	 * Where the tangents of both ends intersect, and T to the left and
	 * right of it.
	 */
	double x;
	struct np_point side[2];
};

struct search {
	struct span *todo;
	size_t n_todo, max_todo;
	struct np_critical *found;
	size_t n, max;
};

static int add(struct search *s, double x, double slope)
{
	return NP_ARRAY_PUSH(s->found, s->n, s->max,
			     (struct np_critical){ x, slope });
}

/* Adds an interval, unless the slope is the same at both ends. */
static int push(struct search *s, double low, struct np_point at_low,
		double high, struct np_point at_high)
{
	return at_low.s < at_high.s ?
		       NP_ARRAY_PUSH(s->todo, s->n_todo, s->max_todo,
				     (struct span){ low, high, at_low,
						    at_high }) :
		       0;
}

/* Evaluates T where the tangents of an interval's ends meet. */
static void intersect(const struct np_tolerance *t, struct np_workspace *room,
		      size_t i, void *arg)
{
	struct span *a = (struct span *)arg + i;
	double rise = a->at_high.t - a->at_low.t, width = a->high - a->low;

	a->x = a->low +
	       (a->at_high.s * width - rise) / (a->at_high.s - a->at_low.s);
	if (a->x > a->low && a->x < a->high)
		pass_both(&t->c, a->x, np_tolerance_tie(t, a->x), room,
			  a->side);
}

/*
 * Where the tangents of both ends intersect, the slope changes; otherwise T
 * lies above that point and there are more pieces on one or both sides.
 */
static int split(struct search *s, const struct np_tolerance *t,
		 const struct span *a)
{
	double low = a->at_low.t + a->at_low.s * (a->x - a->low);

	if (!(a->low < a->high)) /* the slope changes exactly at the low end */
		return add(s, a->low, a->at_high.s);
	if (!(a->x > a->low) || !(a->x < a->high))
		return 0;
	if (a->side[1].t <= low + 2 * np_tolerance_tie(t, a->x))
		return add(s, a->x, a->at_high.s);
	if (push(s, a->low, a->at_low, a->x, a->side[0]) ||
	    push(s, a->x, a->side[0], a->x, a->side[1]))
		return -ENOMEM;
	return push(s, a->x, a->side[1], a->high, a->at_high);
}

/* Handles all known intervals in parallel, then those that result from them. */
static int search(struct search *s, struct np_tolerance *t)
{
	int rc = 0;

	while (!rc && s->n_todo) {
		struct span *all = s->todo;
		size_t n = s->n_todo;

		s->todo = NULL;
		s->n_todo = s->max_todo = 0;
		each(t, n, intersect, all);
		for (size_t i = 0; !rc && i < n; i++)
			rc = split(s, t, &all[i]);
		free(all);
	}
	return rc;
}

static int by_x(const void *a, const void *b)
{
	const struct np_critical *p = a, *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return (p->slope > q->slope) - (p->slope < q->slope);
}

int np_tolerance_critical(struct np_tolerance *t, double low, double high,
			  struct np_critical **out, size_t *n,
			  struct np_err *err)
{
	struct search s = { .n = 0 };
	int rc = push(&s, low, np_tolerance_side(t, low, true), high,
		      np_tolerance_side(t, high, false));

	if (!rc)
		rc = search(&s, t);
	free(s.todo);
	if (rc) {
		free(s.found);
		return np_errf(err, rc,
			       "no memory for %zu changes of the critical path",
			       s.n);
	}
	if (s.n)
		qsort(s.found, s.n, sizeof(*s.found), by_x);
	*out = s.found;
	*n = s.n;
	return 0;
}

struct np_tolerance_size np_tolerance_size(const struct np_tolerance *t)
{
	struct np_tolerance_size s = { .slices = t->c.n > 1 ? t->c.times : 0 };

	for (size_t i = 0; i < t->c.n; i++) {
		s.vertices += t->c.link[i].n;
		s.edges += np_compact_edges(&t->c.link[i]);
	}
	return s;
}

/* Run times over all added latencies with one gap. */
static int one_gap(const struct np_graph *g, const struct np_loggps *net,
		   double gap_times, double *ns, struct np_err *err)
{
	struct np_tolerance_opt opt = { .net = *net, .x = NP_LOGGPS_L };
	double L_ns[NP_RESPONSE_LATENCIES];
	struct np_tolerance *t;
	int rc;

	opt.net.G_ns *= gap_times;
	rc = np_tolerance_new(g, &opt, &t, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < NP_RESPONSE_LATENCIES; i++)
		L_ns[i] = net->L_ns + 1e9 * np_response_added_sec(i);
	np_tolerance_times(t, L_ns, NP_RESPONSE_LATENCIES, ns);
	np_tolerance_free(t);
	return 0;
}

int np_response_make(const struct np_graph *g, const struct np_loggps *net,
		     struct np_response *out, struct np_err *err)
{
	struct np_response r;
	double alone_ns;
	int rc = 0;

	if (np_graph_ops(g) > NP_RESPONSE_MAX_OPS)
		return np_errf(err, -E2BIG,
			       "%zu operations, expected at most %zu",
			       np_graph_ops(g), NP_RESPONSE_MAX_OPS);
	for (size_t k = 0; !rc && k < NP_RESPONSE_GAPS; k++)
		rc = one_gap(g, net, np_response_gap[k], r.times[k], err);
	if (rc)
		return rc;
	alone_ns = r.times[0][0];
	if (!(alone_ns > 0))
		return np_errf(err, -EINVAL, "the program takes no time");
	for (size_t k = 0; k < NP_RESPONSE_GAPS; k++)
		for (size_t i = 0; i < NP_RESPONSE_LATENCIES; i++)
			r.times[k][i] /= alone_ns;
	*out = r;
	return 0;
}

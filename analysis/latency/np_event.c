/*
 * Events of operations, their costs, and the simulation that determines the
 * order in which operations use exclusive resources. The critical path of a
 * simulated run is found by walking back along its events.
 */
#include "np_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

#define OTHER_NEEDS 3 /* most events that one waits for, but dependencies */

/*
 * Cost of paying a parameter several times: in terms of x if it is the
 * variable.
 */
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

/* Transmission time of the bytes of a message. */
static struct np_cost bytes_cost(const struct np_events *e, uint32_t send)
{
	uint64_t n = np_graph_size(e->g, send);

	return pay(e, NP_LOGGPS_G, n - (n && e->opt->net.first_byte_free));
}

/* Whether a send ends only when its receive does (rendezvous protocol). */
static bool is_rendezvous(const struct np_events *e, uint32_t node)
{
	return np_graph_size(e->g, node) > e->opt->net.S;
}

/* The event from which a node occupies its processor. */
static uint32_t busy_from(const struct np_events *e, uint32_t node)
{
	return node << 2 | (e->g->node[node].kind == NP_OP_RECV ?
				    NP_EVENT_ARRIVAL : NP_EVENT_BEGIN);
}

/*
 * Time for which a node occupies its processor, where processors are exclusive.
 */
static struct np_cost cpu_cost(const struct np_events *e, uint32_t node)
{
	const struct np_graph_node *n = &e->g->node[node];
	struct np_cost o = pay(e, NP_LOGGPS_o, 1);

	if (n->kind == NP_OP_CALC)
		return (struct np_cost){ (double)np_graph_size(e->g, node), 0 };
	if (n->kind == NP_OP_RECV && !e->opt->overlap)
		return sum(o, bytes_cost(e, n->peer));
	return o;
}

/* Time from the arrival of a message until it is completely received. */
static struct np_cost reception_cost(const struct np_events *e, uint32_t recv)
{
	struct np_cost whole = bytes_cost(e, e->g->node[recv].peer);

	return e->opt->one_cpu ? sum(whole, pay(e, NP_LOGGPS_o, 1)) : whole;
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

uint32_t np_event_end(const struct np_events *e, uint32_t node,
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

/* Appends the dependencies of a node. */
static void add_dependencies(const struct np_events *e, uint32_t node,
			     struct np_needs *to)
{
	uint32_t end = np_graph_deps_end(e->g, node);

	for (uint32_t i = e->g->node[node].first; i < end; i++) {
		uint32_t on = e->g->dep[i] >> 1;
		uint32_t event = on << 2 | NP_EVENT_BEGIN;
		struct np_cost cost = { 0, 0 };

		if ((e->g->dep[i] & 1) == NP_REQUIRES)
			event = np_event_end(e, on, &cost);
		add_need(to, event, cost);
	}
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

bool np_event_exists(const struct np_events *e, uint32_t event)
{
	uint32_t node = NP_EVENT_NODE(event);
	enum np_op_kind kind = (enum np_op_kind)e->g->node[node].kind;

	switch (NP_EVENT_WHICH(event)) {
	case NP_EVENT_BEGIN:
		return kind != NP_OP_RECV ||
		       (e->flags[node] & NP_EVENT_IREQUIRED);
	case NP_EVENT_COMPLETE:
		return kind == NP_OP_RECV ||
		       (kind == NP_OP_SEND && is_rendezvous(e, node));
	default:
		return kind == NP_OP_RECV && has_orders(e);
	}
}

int np_event_needs(const struct np_events *e, uint32_t event,
		   struct np_needs *to)
{
	uint32_t node = NP_EVENT_NODE(event), which = NP_EVENT_WHICH(event);
	const struct np_graph_node *n = &e->g->node[node];
	bool recv = n->kind == NP_OP_RECV;
	size_t most = to->n + OTHER_NEEDS + np_graph_deps_end(e->g, node) -
		      n->first;

	/* This runs for every event, so the call is avoided where possible. */
	if (most > to->max &&
	    np_array_room(&to->need, &to->max, most, sizeof(*to->need)))
		return -ENOMEM;
	if (which == NP_EVENT_COMPLETE) {
		add_other_side(e, node, to);
		/* A receive whose post is no event waits for its dependencies. */
		if (recv && !(e->flags[node] & NP_EVENT_IREQUIRED))
			add_dependencies(e, node, to);
		else
			add_need(to, node << 2 | NP_EVENT_BEGIN,
				 pay(e, NP_LOGGPS_o, !recv));
		return 0;
	}
	if (which == NP_EVENT_ARRIVAL)
		add_need(to, n->peer << 2 | NP_EVENT_BEGIN,
			 transit_cost(e, n->peer));
	else
		add_dependencies(e, node, to);
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
	double *begin, *complete, *arrival;
	uint32_t last; /* the node that ends last */
	double end_ns;
};

struct simulation {
	struct np_events *e;
	double x;
	const struct np_detours *detours; /* or NULL */
	struct pending *heap;
	size_t n_heap, max_heap;
	uint32_t n_queued;
	uint32_t *unmet; /* by node: number of unmet dependencies */
	double *ready;	 /* by node: time of the last met dependency */
	double *taken;	 /* by receive: time when its message is received */
	struct event_times t;
	uint32_t *first, *waiting; /* by node: node << 1 | kind */
	size_t *place; /* by part: index of its first resource */
	struct resource *cpu, *nic, *link;
	uint32_t *freed; /* nodes that the current event made ready */
	size_t n_freed, max_freed;
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
static void push(struct simulation *s, struct pending p)
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

/* Tells the nodes that wait for y. There is room in freed[] for all nodes. */
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
	return np_detours_end(s->detours, np_graph_part_of(s->e->g,
							   node)->rank,
			      t, length);
}

/* ---- Events ---- */

static void add(struct simulation *s, uint32_t item, double time)
{
	push(s, (struct pending){ time, s->n_queued++, item });
}

/* Completes a receive once it is posted and its message is there. */
static void receive(struct simulation *s, uint32_t recv)
{
	uint32_t send = s->e->g->node[recv].peer;
	double post = s->t.begin[recv], there = s->taken[recv];
	double end;

	if (post == NO_TIME || there == NO_TIME)
		return;
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
		add(s, n->peer << 1 | 1,
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
				      free_from(port_of(s, node)) : 0;

		t = cpu > t ? cpu : t;
		add(s, node << 1, port > t ? port : t);
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
		push(s, p);
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

/* ---- Allocation ---- */

static struct resource *resources(size_t n)
{
	/* Zeroed, so that processors that no operation uses take no memory. */
	return calloc(n + 1, sizeof(struct resource));
}

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

/* Allocates everything for the simulation and the orders that it produces. */
static int prepare(struct simulation *s)
{
	const struct np_tolerance_opt *opt = s->e->opt;
	struct np_orders *o = &s->e->orders;
	size_t n = s->e->g->n_nodes, places;

	s->heap = malloc((n + 1) * sizeof(*s->heap));
	s->unmet = malloc((n + 1) * sizeof(*s->unmet));
	s->freed = malloc((n + 1) * sizeof(*s->freed));
	s->ready = calloc(n + 1, sizeof(*s->ready));
	s->taken = malloc((n + 1) * sizeof(*s->taken));
	s->t.begin = malloc((n + 1) * sizeof(*s->t.begin));
	s->t.complete = malloc((n + 1) * sizeof(*s->t.complete));
	s->t.arrival = malloc((n + 1) * sizeof(*s->t.arrival));
	if (!s->heap || !s->unmet || !s->freed || !s->ready || !s->taken ||
	    !s->t.begin || !s->t.complete || !s->t.arrival ||
	    sort_dependencies(s) || count_places(s, &places))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		s->taken[i] = s->t.begin[i] = NO_TIME;
	if (opt->one_cpu) {
		s->cpu = resources(places);
		s->nic = resources(places);
		o->cpu = malloc((n + 1) * sizeof(*o->cpu));
		o->nic = malloc((n + 1) * sizeof(*o->nic));
	}
	if (opt->one_link) {
		s->link = resources(places);
		o->link = malloc((n + 1) * sizeof(*o->link));
	}
	for (size_t i = 0; i < n; i++) {
		if (o->cpu && o->nic)
			o->cpu[i] = o->nic[i] = NP_GRAPH_NONE;
		if (o->link)
			o->link[i] = NP_GRAPH_NONE;
	}
	return (!opt->one_cpu || (s->cpu && s->nic && o->cpu && o->nic)) &&
	       (!opt->one_link || (s->link && o->link)) ? 0 : -ENOMEM;
}

static void free_times(struct event_times *t)
{
	free(t->begin);
	free(t->complete);
	free(t->arrival);
}

/*
 * Simulates the program at x and sets e->orders. detours: of the processors; or
 * NULL. times: NULL, or set to the times of all events; free with free_times().
 * Returns 0, -EDEADLK or -ENOMEM.
 */
static int simulate(struct np_events *e, double x,
		   const struct np_detours *detours,
		   struct event_times *times)
{
	struct simulation s = { .e = e, .x = x, .detours = detours };
	int rc = prepare(&s);

	if (!rc) {
		begin_all(&s);
		if (s.n_done < e->g->n_nodes)
			rc = -EDEADLK;
	}
	if (rc)
		np_orders_free(&e->orders);
	if (rc || !times)
		free_times(&s.t);
	else
		*times = s.t;
	free(s.heap);
	free(s.unmet);
	free(s.freed);
	free(s.ready);
	free(s.taken);
	free(s.first);
	free(s.waiting);
	free(s.place);
	free(s.cpu);
	free(s.nic);
	free(s.link);
	return rc;
}

int np_orders_make(struct np_events *e, double x)
{
	return simulate(e, x, NULL, NULL);
}

void np_orders_free(struct np_orders *o)
{
	free(o->cpu);
	free(o->nic);
	free(o->link);
	*o = (struct np_orders){ NULL, NULL, NULL };
}

int np_tolerance_simulate(const struct np_graph *g,
			  const struct np_tolerance_opt *opt,
			  const struct np_detours *detours, double *ns,
			  struct np_err *err)
{
	struct np_events e = { .g = g, .opt = opt };
	struct event_times t;
	int rc = simulate(&e, np_loggps_value(&opt->net, opt->x),
				detours, &t);

	if (!rc) {
		*ns = t.end_ns;
		free_times(&t);
		np_orders_free(&e.orders);
	}
	if (rc == -EDEADLK)
		return np_errf(err, rc, "operations wait for each other");
	return rc ? np_errf(err, rc, "no memory to simulate %zu operations",
			    g->n_nodes) : 0;
}

/*
 * Between which ranks the messages of the critical path go: walks back from the
 * end of a simulated run along the event that each event waited for last.
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
	case NP_EVENT_BEGIN: return w->t.begin[node];
	case NP_EVENT_COMPLETE: return w->t.complete[node];
	default: return w->t.arrival[node];
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
	if (np_event_needs(&w->e, event, &w->needs))
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

	if (np_array_room(&w->pair, &w->max, w->n + 1, sizeof(*w->pair)))
		return -ENOMEM;
	w->pair[w->n++] = (struct np_pair){
		np_graph_part_of(g, send)->rank,
		np_graph_part_of(g, g->node[send].peer)->rank, 1,
		np_graph_size(g, send),
	};
	return 0;
}

/* Follows the critical path from the end of the run to its beginning. */
static int walk_back(struct walk *w)
{
	const struct np_graph *g = w->e.g;
	struct np_cost after;
	uint32_t event, need = 0;
	bool found;
	int rc;

	if (!g->n_nodes)
		return 0;
	event = np_event_end(&w->e, w->t.last, &after);
	rc = find_last(w, event, &need, &found);
	while (!rc && found) {
		uint32_t from = NP_EVENT_NODE(need), to = NP_EVENT_NODE(event);

		/*
		 * Only a message counts, not a rendezvous that waits for its
		 * receive.
		 */
		if (NP_EVENT_WHICH(event) != NP_EVENT_BEGIN &&
		    g->node[to].kind == NP_OP_RECV &&
		    g->node[from].kind == NP_OP_SEND &&
		    g->node[from].peer == to &&
		    NP_EVENT_WHICH(need) == NP_EVENT_BEGIN)
			rc = add_pair(w, from);
		event = need;
		if (!rc)
			rc = find_last(w, event, &need, &found);
	}
	return rc;
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
		       const struct np_tolerance_opt *opt,
		       struct np_pair **out, size_t *n, struct np_err *err)
{
	uint16_t *flags = malloc((g->n_nodes + 1) * sizeof(*flags));
	struct walk w = {
		.e = { .g = g, .opt = opt, .flags = flags },
		.x = np_loggps_value(&opt->net, opt->x) * (1 + RIGHT),
	};
	int rc = flags ? 0 : -ENOMEM;

	if (!rc) {
		for (size_t i = 0; i < g->n_nodes; i++)
			flags[i] = NP_EVENT_IREQUIRED;
		rc = simulate(&w.e, w.x, NULL, &w.t);
	}
	if (!rc) {
		rc = walk_back(&w);
		free_times(&w.t);
		np_orders_free(&w.e.orders);
	}
	free(flags);
	free(w.needs.need);
	if (rc) {
		free(w.pair);
		return rc == -EDEADLK ?
			np_errf(err, rc, "operations wait for each other") :
			np_errf(err, rc, "no memory for a path through %zu "
				"operations", g->n_nodes);
	}
	sum_pairs(&w);
	*out = w.pair;
	*n = w.n;
	return 0;
}

/*
 * From operations to vertices: events in an order of time (a search in depth,
 * so that what an event waits for has its place when its turn comes), where
 * an event that waits for one other alone is only a distance from it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_compact.h"
#include "np_event.h"

enum { /* of a node; the first two for each of its three events, by shift */
	DONE = 1, OPEN = 8, /* being looked at: what it waits for is above it */
	REQUIRED = 64, IREQUIRED = 128,
};

struct frame {
	uint32_t event;
	uint32_t next; /* what to look at of what it waits for */
};

struct contract {
	struct np_events e;
	struct np_compact *c;
	uint8_t *state;	      /* of nodes */
	struct np_edge *at;   /* of events: a + b x after vertex from */
	struct np_edge *arrival;
	/* If turns are to be found, of 2 * node + which: its time, and */
	double *time, x;
	uint32_t *turn, turns; /* who was closed when */
	struct frame *stack;
	size_t depth, max_depth;
	struct np_edge *in; /* what one event waits for */
	size_t n_in, max_in;
};

static struct np_edge *at(const struct contract *k, uint32_t event)
{
	size_t node = NP_EVENT_NODE(event), which = NP_EVENT_WHICH(event);

	return which == NP_EVENT_ARRIVAL ? &k->arrival[node] :
					   &k->at[2 * node + which];
}

/* The post of a receive has a place of its own only if someone asks for it. */
static bool inlined(const struct contract *k, uint32_t event)
{
	return !(k->state[NP_EVENT_NODE(event)] & IREQUIRED);
}

/* An edge has room for 32 bits of b: longer ones go by way of vertices. */
static int add_in(struct contract *k, const struct np_edge *from, double a,
		  uint64_t b)
{
	struct np_edge edge = *from;

	edge.a += a;
	for (b += from->b; b > UINT32_MAX; b -= UINT32_MAX) {
		int rc;

		edge.b = UINT32_MAX;
		rc = np_compact_add(k->c, &edge, 1);
		if (rc)
			return rc;
		edge = (struct np_edge){ 0, (uint32_t)k->c->n - 1, 0 };
	}
	edge.b = (uint32_t)b;
	if (np_graph_grow(&k->in, &k->max_in, k->n_in, sizeof(*k->in)))
		return -ENOMEM;
	k->in[k->n_in++] = edge;
	return 0;
}

/* A distance from a vertex if that is all that it is, else a new vertex. */
static int place(struct contract *k, struct np_edge *out)
{
	int rc;

	k->n_in = np_edge_thin(k->in, k->n_in);
	if (k->n_in == 1) {
		*out = k->in[0];
		return 0;
	}
	if (!k->n_in) { /* it waits for nothing: the beginning */
		*out = (struct np_edge){ 0, 0, 0 };
		return 0;
	}
	rc = np_compact_add(k->c, k->in, k->n_in);
	*out = (struct np_edge){ 0, (uint32_t)k->c->n - 1, 0 };
	return rc;
}

/* No sum is less than its parts, so that nobody is before what it needs. */
static void note_time(struct contract *k, uint32_t event, uint32_t need,
		      struct np_cost cost)
{
	size_t on = 2 * (size_t)NP_EVENT_NODE(need) + NP_EVENT_WHICH(need);
	double *time = &k->time[2 * (size_t)NP_EVENT_NODE(event) +
				NP_EVENT_WHICH(event)];
	double from = k->time[on] + (cost.a + (double)cost.b * k->x);

	if (from > *time)
		*time = from;
}

static int close_event(struct contract *k, uint32_t event)
{
	struct np_cost cost;
	uint32_t need;

	k->n_in = 0;
	for (size_t i = 0; np_event_needs(&k->e, event, i, inlined(k, event),
					  &need, &cost); i++) {
		int rc = add_in(k, at(k, need), cost.a, cost.b);

		if (rc)
			return rc;
		if (k->time)
			note_time(k, event, need, cost);
	}
	if (k->turn)
		k->turn[2 * (size_t)NP_EVENT_NODE(event) +
			NP_EVENT_WHICH(event)] = k->turns++;
	return place(k, at(k, event));
}

static int open_event(struct contract *k, uint32_t event)
{
	if (np_graph_grow(&k->stack, &k->max_depth, k->depth,
			  sizeof(*k->stack)))
		return -ENOMEM;
	k->stack[k->depth++] = (struct frame){ event, 0 };
	k->state[NP_EVENT_NODE(event)] |= OPEN << NP_EVENT_WHICH(event);
	return 0;
}

/* The events from need to the top of the stack wait for each other. */
static int deadlock(struct contract *k, uint32_t need)
{
	const struct np_graph *g = k->e.g;
	struct np_cycle cycle = { .n = 0 };
	size_t at = k->depth;
	uint32_t last = NP_GRAPH_NONE;

	while (at && k->stack[at - 1].event != need)
		at--;
	for (at--; at < k->depth; at++) {
		uint32_t node = NP_EVENT_NODE(k->stack[at].event);
		const struct np_graph_part *p = np_graph_part_of(g, node);

		if (node == last)
			continue;
		last = node;
		if (cycle.n < NP_CYCLE_OPS) {
			cycle.op[cycle.n].rank = p->rank;
			cycle.op[cycle.n].i = node - p->first;
		}
		cycle.n++;
	}
	if (k->e.opt->cycle)
		*k->e.opt->cycle = cycle;
	return -EDEADLK;
}

static int visit(struct contract *k, uint32_t root)
{
	int rc = open_event(k, root);

	while (!rc && k->depth) {
		struct frame *f = &k->stack[k->depth - 1];
		uint32_t event = f->event, need;
		uint32_t shift = NP_EVENT_WHICH(event);
		struct np_cost cost;

		if (np_event_needs(&k->e, event, f->next++, inlined(k, event),
				   &need, &cost)) {
			unsigned s = k->state[NP_EVENT_NODE(need)] >>
				     NP_EVENT_WHICH(need);

			if (s & OPEN)
				rc = deadlock(k, need);
			else if (!(s & DONE))
				rc = open_event(k, need);
			continue;
		}
		rc = close_event(k, event);
		k->state[NP_EVENT_NODE(event)] &= (uint8_t)~(OPEN << shift);
		k->state[NP_EVENT_NODE(event)] |= (uint8_t)(DONE << shift);
		k->depth--;
	}
	return rc;
}

static void mark_required(struct contract *k)
{
	const struct np_graph *g = k->e.g;

	for (size_t i = 0; i < g->n_deps; i++)
		k->state[g->dep[i] >> 1] |= g->dep[i] & 1 ? IREQUIRED :
							    REQUIRED;
}

/* The end of the program, after all that nobody waits for. */
static int end(struct contract *k)
{
	const struct np_graph *g = k->e.g;
	size_t room = 1024;
	int rc = 0;

	k->n_in = 0;
	for (uint32_t i = 0; !rc && i < g->n_nodes; i++) {
		struct np_cost after;
		uint32_t event = np_event_end(&k->e, i, &after);

		/* An eager send is over before its receive is. */
		if ((k->state[i] & REQUIRED) ||
		    (g->node[i].kind == NP_OP_SEND &&
		     !np_event_rendezvous(&k->e, i)))
			continue;
		rc = add_in(k, at(k, event), after.a, after.b);
		if (k->n_in > room) { /* many may be equally far */
			k->n_in = np_edge_thin(k->in, k->n_in);
			room = 1024 + 2 * k->n_in;
		}
	}
	k->n_in = np_edge_thin(k->in, k->n_in);
	return rc ? rc : np_compact_add(k->c, k->in, k->n_in);
}

static int contract(struct contract *k)
{
	const struct np_graph *g = k->e.g;
	int rc = np_compact_add(k->c, NULL, 0);

	mark_required(k);
	for (uint32_t i = 0; !rc && i < g->n_nodes; i++) {
		struct np_cost after;
		uint32_t event = np_event_end(&k->e, i, &after);

		if (!(k->state[i] & DONE << NP_EVENT_WHICH(event)))
			rc = visit(k, event);
	}
	return rc ? rc : end(k);
}

static int say(const struct contract *k, int rc, struct np_err *err)
{
	const struct np_graph *g = k->e.g;
	const struct np_cycle *cycle = k->e.opt->cycle;
	char buf[NP_ERR_LEN];

	switch (rc) {
	case 0:
		return 0;
	case -EDEADLK:
		return np_errf(err, rc, "%zu operations wait for each other "
			       "in a circle, one of them %s", cycle->n,
			       np_graph_say(g, cycle->op[0].rank,
					    cycle->op[0].i, buf, sizeof(buf)));
	case -ERANGE:
		return np_errf(err, rc, "%s: more than 2^32 edges", g->name);
	default:
		return np_errf(err, rc, "%s: no memory to contract %zu "
			       "operations", g->name, g->n_nodes);
	}
}

static int run(struct contract *k)
{
	size_t n = k->e.g->n_nodes + 1;
	int rc = -ENOMEM;

	k->state = calloc(n, 1);
	k->at = malloc(2 * n * sizeof(*k->at));
	if (k->e.orders.link)
		k->arrival = malloc(n * sizeof(*k->arrival));
	if (k->state && k->at && (k->arrival || !k->e.orders.link))
		rc = contract(k);
	free(k->state);
	free(k->at);
	free(k->arrival);
	free(k->stack);
	free(k->in);
	return rc;
}

static double value_of_x(const struct np_tolerance_opt *opt)
{
	return opt->x == NP_LOGGPS_L ? opt->net.L_ns :
	       opt->x == NP_LOGGPS_o ? opt->net.o_ns : opt->net.G_ns;
}

/* As if nobody were in the way, to find who comes after whom. */
static int find_orders(struct np_events *e)
{
	size_t n = 2 * e->g->n_nodes + 1;
	struct np_compact c = { .n = 0 };
	struct contract k = { .e = *e, .c = &c, .x = value_of_x(e->opt) };
	int rc = -ENOMEM;

	k.time = calloc(n, sizeof(*k.time));
	k.turn = calloc(n, sizeof(*k.turn));
	if (k.time && k.turn)
		rc = run(&k);
	np_compact_free(&c);
	if (!rc)
		rc = np_orders_make(e, k.x, k.time, k.turn);
	free(k.time);
	free(k.turn);
	return rc;
}

int np_contract(const struct np_graph *g, const struct np_tolerance_opt *opt,
		struct np_compact *out, struct np_err *err)
{
	struct np_tolerance_opt own = *opt;
	struct np_cycle cycle;
	struct contract k = { .e = { g, &own }, .c = out };
	int rc = 0;

	if (!own.cycle)
		own.cycle = &cycle;
	if (opt->one_cpu || opt->one_link)
		rc = find_orders(&k.e);
	if (!rc)
		rc = run(&k);
	np_orders_free(&k.e.orders);
	return say(&k, rc, err);
}

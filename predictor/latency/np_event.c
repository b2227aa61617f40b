#include "np_event.h"

#include <errno.h>
#include <stdlib.h>

/* How often a parameter is paid: in x if it is the one that is let go. */
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

/* From the start of a send until its first byte is at its receiver. */
static struct np_cost way_of(const struct np_events *e, uint32_t send)
{
	const struct np_placed *placed = &e->opt->placed;
	struct np_cost c = { 0, 0 };
	uint32_t times = 1;

	if (placed->t)
		np_placed_path(placed, np_graph_part_of(e->g, send)->rank,
			       np_graph_part_of(e->g,
						e->g->node[send].peer)->rank,
			       &c.a, &times);
	c = sum(c, pay(e, NP_LOGGPS_L, times));
	return sum(c, pay(e, NP_LOGGPS_o, 1));
}

/* The time that its bytes take on a link. */
static struct np_cost bytes(const struct np_events *e, uint32_t send)
{
	uint64_t n = np_graph_size(e->g, send);

	return pay(e, NP_LOGGPS_G, n - (n && e->opt->net.first_byte_free));
}

static bool rendezvous(const struct np_events *e, uint32_t node)
{
	return np_graph_size(e->g, node) > e->opt->net.S;
}

/* The event from which on it takes its processor, and for how long. */
static uint32_t busy_from(const struct np_events *e, uint32_t node)
{
	return node << 2 | (e->g->node[node].kind == NP_OP_RECV ?
				    NP_EVENT_THEN : NP_EVENT_BEGIN);
}

static struct np_cost busy_for(const struct np_events *e, uint32_t node)
{
	if (e->g->node[node].kind != NP_OP_CALC)
		return pay(e, NP_LOGGPS_o, 1);
	return (struct np_cost){ (double)np_graph_size(e->g, node), 0 };
}

uint32_t np_event_end(const struct np_events *e, uint32_t node,
		      struct np_cost *after)
{
	const struct np_graph_node *n = &e->g->node[node];

	if (n->kind == NP_OP_SEND && rendezvous(e, node)) {
		*after = (struct np_cost){ 0, 0 };
		return node << 2 | NP_EVENT_THEN;
	}
	*after = busy_for(e, node);
	return busy_from(e, node);
}

static bool dependency(const struct np_events *e, uint32_t node, size_t i,
		       uint32_t *need, struct np_cost *cost)
{
	size_t at = e->g->node[node].first + i;
	uint32_t on;

	if (at >= np_graph_deps_end(e->g, node))
		return false;
	on = e->g->dep[at] >> 1;
	if ((e->g->dep[at] & 1) == NP_REQUIRES) {
		*need = np_event_end(e, on, cost);
	} else {
		*need = on << 2 | NP_EVENT_BEGIN;
		*cost = (struct np_cost){ 0, 0 };
	}
	return true;
}

/* Who has the processor and the adapter before. */
static bool turn(const struct np_events *e, uint32_t node, size_t i,
		 uint32_t *need, struct np_cost *cost)
{
	const struct np_orders *o = &e->orders;
	uint32_t cpu = o->cpu ? o->cpu[node] : NP_GRAPH_NONE;
	uint32_t nic = o->nic ? o->nic[node] : NP_GRAPH_NONE;

	if (cpu != NP_GRAPH_NONE && i-- == 0) {
		*need = busy_from(e, cpu);
		*cost = busy_for(e, cpu);
		return true;
	}
	if (nic == NP_GRAPH_NONE || i)
		return false;
	*need = nic << 2 | NP_EVENT_BEGIN;
	*cost = sum(bytes(e, nic), (struct np_cost){ e->opt->net.g_ns, 0 });
	return true;
}

/* When a message is there, whole: its own way, or one after the other. */
static bool arrival(const struct np_events *e, uint32_t recv, size_t i,
		    uint32_t *need, struct np_cost *cost)
{
	uint32_t send = e->g->node[recv].peer, before;

	before = e->orders.link ? e->orders.link[recv] : NP_GRAPH_NONE;
	*cost = bytes(e, send);
	if (i) {
		*need = before << 2 | NP_EVENT_ARRIVAL;
		return i == 1 && before != NP_GRAPH_NONE;
	}
	*need = send << 2 | NP_EVENT_BEGIN;
	*cost = sum(*cost, way_of(e, send));
	return true;
}

/* What is done at the other side, for the start of one or the end of one. */
static void other_side(const struct np_events *e, uint32_t node,
		       uint32_t *need, struct np_cost *cost)
{
	if (e->g->node[node].kind == NP_OP_SEND) {
		*need = e->g->node[node].peer << 2 | NP_EVENT_THEN;
		*cost = pay(e, NP_LOGGPS_o, 1);
	} else if (e->orders.link) {
		*need = node << 2 | NP_EVENT_ARRIVAL;
		*cost = (struct np_cost){ 0, 0 };
	} else {
		arrival(e, node, 0, need, cost);
	}
}

bool np_event_exists(const struct np_events *e, uint32_t event)
{
	uint32_t node = NP_EVENT_NODE(event);
	enum np_op_kind kind = (enum np_op_kind)e->g->node[node].kind;

	switch (NP_EVENT_WHICH(event)) {
	case NP_EVENT_BEGIN:
		return kind != NP_OP_RECV ||
		       (e->asked[node] & NP_EVENT_IREQUIRED);
	case NP_EVENT_THEN:
		return kind == NP_OP_RECV ||
		       (kind == NP_OP_SEND && rendezvous(e, node));
	default:
		return kind == NP_OP_RECV && e->orders.link;
	}
}

bool np_event_needs(const struct np_events *e, uint32_t event, size_t i,
		    uint32_t *need, struct np_cost *cost)
{
	uint32_t node = NP_EVENT_NODE(event), which = NP_EVENT_WHICH(event);
	const struct np_graph_node *n = &e->g->node[node];
	bool recv = n->kind == NP_OP_RECV;
	bool inline_post = !(e->asked[node] & NP_EVENT_IREQUIRED);
	size_t deps = np_graph_deps_end(e->g, node) - n->first;

	if (which == NP_EVENT_ARRIVAL)
		return arrival(e, node, i, need, cost);
	if (which == NP_EVENT_BEGIN) {
		if (i < deps || recv)
			return dependency(e, node, i, need, cost);
		return turn(e, node, i - deps, need, cost);
	}
	if (i == 0) {
		other_side(e, node, need, cost);
		return true;
	}
	if (recv && inline_post && i - 1 < deps)
		return dependency(e, node, i - 1, need, cost);
	if (recv && inline_post)
		return turn(e, node, i - 1 - deps, need, cost);
	if (i == 1) {
		*need = node << 2 | NP_EVENT_BEGIN;
		*cost = recv ? (struct np_cost){ 0, 0 } :
			       pay(e, NP_LOGGPS_o, 1);
		return true;
	}
	return recv && turn(e, node, i - 2, need, cost);
}

/*
 * ---- who comes after whom ----
 *
 * Where there is one processor, one adapter or one link: by the time at which
 * each would start if nobody were in the way, and of equal times by the order
 * in which a search in depth came by.  What an event waits for is never later
 * and was passed before it, so that no order makes a circle.
 */

/* When events are. */
struct times {
	double x;
	const double *time; /* of 2 * node + which */
	const uint32_t *turn;
};

struct use {
	uint64_t what; /* the rank, and which of its */
	double when;
	uint32_t turn, node;
};

static int by_turn(const void *a, const void *b)
{
	const struct use *u = a, *v = b;

	if (u->what != v->what)
		return u->what < v->what ? -1 : 1;
	if (u->when != v->when)
		return u->when < v->when ? -1 : 1;
	return (u->turn > v->turn) - (u->turn < v->turn);
}

enum resource { CPU, NIC, LINK };

/* Does the node use it, and from when on? */
static bool uses(const struct np_events *e, enum resource r, uint32_t node,
		 const struct times *t, struct use *out)
{
	const struct np_graph_node *n = &e->g->node[node];
	size_t busy = 2 * (size_t)node + NP_EVENT_WHICH(busy_from(e, node));
	struct np_cost way;

	*out = (struct use){ .when = t->time[busy], .turn = t->turn[busy],
			     .node = node };
	if (r == NIC)
		out->what = n->nic;
	if (r == CPU)
		out->what = n->cpu;
	if (r != LINK)
		return r == CPU || n->kind == NP_OP_SEND;
	if (n->kind != NP_OP_RECV)
		return false;
	way = way_of(e, n->peer);
	out->when = t->time[2 * (size_t)n->peer] +
		    (way.a + (double)way.b * t->x);
	return true;
}

static uint32_t *order_of(const struct np_events *e, enum resource r,
			  const struct times *t, struct use *use)
{
	const struct np_graph *g = e->g;
	uint32_t *before = malloc((g->n_nodes + 1) * sizeof(*before));
	size_t n = 0;

	if (!before)
		return NULL;
	for (size_t p = 0; p < g->n_parts; p++) {
		uint32_t end = np_graph_part_end(g, p);

		for (uint32_t i = g->part[p].first; i < end; i++) {
			before[i] = NP_GRAPH_NONE;
			if (uses(e, r, i, t, &use[n]))
				use[n++].what |= (uint64_t)p << 8;
		}
	}
	qsort(use, n, sizeof(*use), by_turn);
	for (size_t i = 1; i < n; i++)
		if (use[i].what == use[i - 1].what)
			before[use[i].node] = use[i - 1].node;
	return before;
}

int np_orders_make(struct np_events *e, double x, const double *time,
		   const uint32_t *turn)
{
	const struct times t = { x, time, turn };
	struct use *use = malloc((e->g->n_nodes + 1) * sizeof(*use));
	struct np_orders *o = &e->orders;

	if (use && e->opt->one_cpu) {
		o->cpu = order_of(e, CPU, &t, use);
		o->nic = order_of(e, NIC, &t, use);
	}
	if (use && e->opt->one_link)
		o->link = order_of(e, LINK, &t, use);
	free(use);
	return use && (!e->opt->one_cpu || (o->cpu && o->nic)) &&
	       (!e->opt->one_link || o->link) ? 0 : -ENOMEM;
}

void np_orders_free(struct np_orders *o)
{
	free(o->cpu);
	free(o->nic);
	free(o->link);
}

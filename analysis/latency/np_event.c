#include "np_event.h"

#include <errno.h>
#include <stdlib.h>

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

struct np_cost np_event_transit(const struct np_events *e, uint32_t send)
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
struct np_cost np_event_bytes(const struct np_events *e, uint32_t send)
{
	uint64_t n = np_graph_size(e->g, send);

	return pay(e, NP_LOGGPS_G, n - (n && e->opt->net.first_byte_free));
}

bool np_event_rendezvous(const struct np_events *e, uint32_t node)
{
	return np_graph_size(e->g, node) > e->opt->net.S;
}

/* The event from which a node occupies its processor. */
static uint32_t busy_from(const struct np_events *e, uint32_t node)
{
	return node << 2 | (e->g->node[node].kind == NP_OP_RECV ?
				    NP_EVENT_ARRIVAL : NP_EVENT_BEGIN);
}

struct np_cost np_event_cpu_time(const struct np_events *e, uint32_t node)
{
	const struct np_graph_node *n = &e->g->node[node];
	struct np_cost o = pay(e, NP_LOGGPS_o, 1);

	if (n->kind == NP_OP_CALC)
		return (struct np_cost){ (double)np_graph_size(e->g, node), 0 };
	if (n->kind == NP_OP_RECV && !e->opt->overlap)
		return sum(o, np_event_bytes(e, n->peer));
	return o;
}

struct np_cost np_event_reception(const struct np_events *e, uint32_t recv)
{
	struct np_cost whole = np_event_bytes(e, e->g->node[recv].peer);

	return e->opt->one_cpu ? sum(whole, pay(e, NP_LOGGPS_o, 1)) : whole;
}

struct np_cost np_event_recv_overhead(const struct np_events *e)
{
	return pay(e, NP_LOGGPS_o, !e->opt->one_cpu);
}

struct np_cost np_event_gap(const struct np_events *e, uint32_t send)
{
	return sum(np_event_bytes(e, send),
		   (struct np_cost){ e->opt->net.g_ns, 0 });
}

uint32_t np_event_end(const struct np_events *e, uint32_t node,
		      struct np_cost *after)
{
	const struct np_graph_node *n = &e->g->node[node];

	if (n->kind == NP_OP_RECV) {
		*after = np_event_recv_overhead(e);
		return node << 2 | NP_EVENT_COMPLETE;
	}
	if (n->kind == NP_OP_SEND && np_event_rendezvous(e, node)) {
		*after = (struct np_cost){ 0, 0 };
		return node << 2 | NP_EVENT_COMPLETE;
	}
	*after = np_event_cpu_time(e, node);
	return node << 2 | NP_EVENT_BEGIN;
}

/* The i-th dependency of a node. */
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

/* The i-th node that uses a resource of this node directly before it. */
static bool turn(const struct np_events *e, uint32_t node, size_t i,
		 uint32_t *need, struct np_cost *cost)
{
	const struct np_orders *o = &e->orders;
	bool recv = e->g->node[node].kind == NP_OP_RECV;
	uint32_t cpu = o->cpu ? o->cpu[node] : NP_GRAPH_NONE;
	uint32_t *of = recv ? o->link : o->nic;
	uint32_t nic = of ? of[node] : NP_GRAPH_NONE;

	if (cpu != NP_GRAPH_NONE && i-- == 0) {
		*need = busy_from(e, cpu);
		*cost = np_event_cpu_time(e, cpu);
		return true;
	}
	if (nic == NP_GRAPH_NONE || i)
		return false;
	*need = busy_from(e, nic);
	*cost = np_event_gap(e, recv ? e->g->node[nic].peer : nic);
	return true;
}

/* What the arrival of a message waits for. */
static bool arrival(const struct np_events *e, uint32_t recv, size_t i,
		    uint32_t *need, struct np_cost *cost)
{
	uint32_t send = e->g->node[recv].peer;

	if (i)
		return turn(e, recv, i - 1, need, cost);
	*need = send << 2 | NP_EVENT_BEGIN;
	*cost = np_event_transit(e, send);
	return true;
}

static bool has_orders(const struct np_events *e)
{
	return e->orders.cpu || e->orders.link;
}

/* What a completion event waits for at the other end of the message. */
static void other_side(const struct np_events *e, uint32_t node,
		       uint32_t *need, struct np_cost *cost)
{
	if (e->g->node[node].kind == NP_OP_SEND) {
		*need = e->g->node[node].peer << 2 | NP_EVENT_COMPLETE;
		*cost = np_event_recv_overhead(e);
	} else if (has_orders(e)) {
		*need = node << 2 | NP_EVENT_ARRIVAL;
		*cost = np_event_reception(e, node);
	} else {
		arrival(e, node, 0, need, cost);
		*cost = sum(*cost, np_event_reception(e, node));
	}
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
		       (kind == NP_OP_SEND && np_event_rendezvous(e, node));
	default:
		return kind == NP_OP_RECV && has_orders(e);
	}
}

bool np_event_predecessor(const struct np_events *e, uint32_t event, size_t i,
		    uint32_t *need, struct np_cost *cost)
{
	uint32_t node = NP_EVENT_NODE(event), which = NP_EVENT_WHICH(event);
	const struct np_graph_node *n = &e->g->node[node];
	bool recv = n->kind == NP_OP_RECV;
	/* Without an event for its post, a receive waits for its dependencies. */
	bool inline_post = !(e->flags[node] & NP_EVENT_IREQUIRED);
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
	if (recv && inline_post)
		return dependency(e, node, i - 1, need, cost);
	if (i > 1)
		return false;
	*need = node << 2 | NP_EVENT_BEGIN;
	*cost = recv ? (struct np_cost){ 0, 0 } : pay(e, NP_LOGGPS_o, 1);
	return true;
}

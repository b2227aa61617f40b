#include "np_event.h"

/* How often a parameter is paid: in x if it is the one that is let go. */
static struct np_cost pay(const struct np_events *e, enum np_loggps_param p,
			  uint64_t times)
{
	const struct np_loggps *net = &e->opt->net;
	double each = p == NP_LOGGPS_L ? net->L_ns :
		      p == NP_LOGGPS_o ? net->o_ns : net->G_ns;

	if (p == e->opt->x)
		return (struct np_cost){ 0, times };
	return (struct np_cost){ (double)times * each, 0 };
}

static struct np_cost sum(struct np_cost c, struct np_cost d)
{
	return (struct np_cost){ c.a + d.a, c.b + d.b };
}

/* From the start of a send until its receive can begin. */
static struct np_cost way(const struct np_events *e, uint32_t send)
{
	const struct np_loggps *net = &e->opt->net;
	const struct np_paths *paths = e->opt->paths;
	uint64_t bytes = np_graph_size(e->g, send);
	struct np_cost c = { 0, 0 };
	uint32_t times = 1;

	if (paths)
		paths->get(paths->arg, np_graph_part_of(e->g, send)->rank,
			   np_graph_part_of(e->g, e->g->node[send].peer)->rank,
			   &c.a, &times);
	c = sum(c, pay(e, NP_LOGGPS_L, times));
	if (bytes && net->first_byte_free)
		bytes--;
	c = sum(c, pay(e, NP_LOGGPS_o, 1));
	return sum(c, pay(e, NP_LOGGPS_G, bytes));
}

bool np_event_rendezvous(const struct np_events *e, uint32_t node)
{
	return np_graph_size(e->g, node) > e->opt->net.S;
}

uint32_t np_event_end(const struct np_events *e, uint32_t node,
		      struct np_cost *after)
{
	const struct np_graph_node *n = &e->g->node[node];

	if (n->kind == NP_OP_SEND && np_event_rendezvous(e, node)) {
		*after = (struct np_cost){ 0, 0 };
		return node << 1 | NP_EVENT_THEN;
	}
	*after = n->kind == NP_OP_CALC ?
			 (struct np_cost){ (double)np_graph_size(e->g, node),
					   0 } :
			 pay(e, NP_LOGGPS_o, 1);
	return node << 1 | (n->kind == NP_OP_RECV ? NP_EVENT_THEN :
						    NP_EVENT_BEGIN);
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
		*need = on << 1 | NP_EVENT_BEGIN;
		*cost = (struct np_cost){ 0, 0 };
	}
	return true;
}

bool np_event_needs(const struct np_events *e, uint32_t event, size_t i,
		    bool inline_post, uint32_t *need, struct np_cost *cost)
{
	uint32_t node = event >> 1;
	const struct np_graph_node *n = &e->g->node[node];
	bool recv = n->kind == NP_OP_RECV;

	if ((event & 1) == NP_EVENT_BEGIN)
		return dependency(e, node, i, need, cost);
	if (i == 0) { /* the other side */
		*need = n->peer << 1 | (recv ? NP_EVENT_BEGIN : NP_EVENT_THEN);
		*cost = recv ? way(e, n->peer) : pay(e, NP_LOGGPS_o, 1);
		return true;
	}
	if (recv && inline_post)
		return dependency(e, node, i - 1, need, cost);
	*need = node << 1 | NP_EVENT_BEGIN;
	*cost = recv ? (struct np_cost){ 0, 0 } : pay(e, NP_LOGGPS_o, 1);
	return i == 1;
}

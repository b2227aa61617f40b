/*
 * Who comes after whom where there is one processor, one adapter or one link.
 *
 * By the time at which each would start if nobody were in the way, and of
 * equal times by the order in which a search in depth came by.  What an event
 * waits for is never later and was passed before it, so that no order makes a
 * circle.
 */
#include <errno.h>
#include <stdlib.h>

#include "np_event.h"

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
	size_t busy = 2 * (size_t)node + NP_EVENT_WHICH(np_event_busy(e, node));
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
	way = np_event_way(e, n->peer);
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

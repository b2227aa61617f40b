/*
 * Which send meets which receive.
 *
 * For one receiver after another: its sends are found by a counting sort on
 * the receiver, and wait in a queue for each channel (sender, tag, context).
 * While a send waits, its peer is the next of its queue.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_graph_match.h"

static int enqueue(struct np_match *m, uint32_t send, uint32_t from)
{
	struct np_graph_node *node = m->g->node;
	struct np_channel *c;

	if (np_match_room(m, m->n_channels + 1))
		return -ENOMEM;
	c = np_match_make(m, from, node[send].tag, node[send].context);
	node[send].peer = NP_GRAPH_NONE;
	if (c->head == NP_GRAPH_NONE)
		c->head = send;
	else
		node[c->tail].peer = send;
	c->tail = send;
	c->surplus++;
	return 0;
}

static void meet_all(struct np_match *m, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		const struct np_graph_node *r = &m->g->node[i];
		struct np_channel *c;

		if (r->kind != NP_OP_RECV)
			continue;
		c = np_match_find(m, r->peer, r->tag, r->context);
		if (c->used && c->head != NP_GRAPH_NONE)
			np_match_meet(m, c, i);
		else
			np_match_none(m, i);
	}
}

static void left_over(struct np_match *m)
{
	for (size_t i = 0; i < m->size; i++) {
		const struct np_channel *c = &m->channel[i];

		if (!c->used || c->peer == NP_ANY || c->tag == NP_ANY)
			continue;
		for (uint32_t s = c->head; s != NP_GRAPH_NONE;
		     s = m->g->node[s].peer)
			np_match_none(m, s);
	}
}

static uint32_t end_of(const struct np_graph *g, uint32_t part)
{
	return part + 1 < g->n_parts ? g->part[part + 1].first :
				       (uint32_t)g->n_nodes;
}

/* All sends to m->rank, from their senders. */
static int match_rank(struct np_match *m)
{
	const struct np_graph *g = m->g;
	size_t n = m->behind[m->rank] - (m->rank ? m->behind[m->rank - 1] : 0);
	const uint32_t *send = m->send + m->behind[m->rank] - n;
	uint32_t part = g->part_of[m->rank], first, end;
	const struct np_graph_part *from = NULL;
	bool any = false;

	first = part ? g->part[part - 1].first : 0;
	end = part ? end_of(g, part - 1) : 0;
	for (uint32_t i = first; g->n_any && i < end; i++)
		any |= g->node[i].kind == NP_OP_RECV &&
		       np_match_any(&g->node[i]);
	if (end == first && !n)
		return 0;
	free(m->channel); /* small again: that of the last one may be large */
	m->channel = NULL;
	m->size = m->n_channels = 0;
	if (np_match_room(m, 1))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!from || send[i] >= end_of(g, (uint32_t)(from - g->part)))
			from = np_graph_part_of(g, send[i]);
		if (enqueue(m, send[i], from->rank))
			return -ENOMEM;
	}
	if (any && np_match_wild(m, first, end))
		return -ENOMEM;
	if (!any)
		meet_all(m, first, end);
	left_over(m);
	return 0;
}

/* Sends by receiver, each receiver's in the order of the graph. */
static int sort_sends(struct np_match *m)
{
	struct np_graph *g = m->g;
	uint32_t sum = 0;

	m->behind = calloc(g->n_ranks, sizeof(*m->behind));
	m->send = malloc((g->n_messages + 1) * sizeof(*m->send));
	if (!m->behind || !m->send)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_nodes; i++)
		if (g->node[i].kind == NP_OP_SEND)
			m->behind[g->node[i].peer]++;
	for (size_t i = 0; i < g->n_ranks; i++) {
		uint32_t n = m->behind[i];

		m->behind[i] = sum;
		sum += n;
	}
	for (size_t i = 0; i < g->n_nodes; i++)
		if (g->node[i].kind == NP_OP_SEND)
			m->send[m->behind[g->node[i].peer]++] = (uint32_t)i;
	return 0;
}

static int say_unmatched(struct np_match *m, struct np_err *err)
{
	struct np_graph_node *n = &m->g->node[m->unmatched];
	char buf[NP_ERR_LEN];

	if (n->kind == NP_OP_SEND)
		n->peer = m->receiver;
	np_graph_say_node(m->g, m->unmatched, buf, sizeof(buf));
	if (m->n_unmatched == 1)
		return np_errf(err, -EINVAL, "%s meets no %s", buf,
			       n->kind == NP_OP_SEND ? "receive" : "send");
	return np_errf(err, -EINVAL, "%s meets no %s, nor do %zu other "
		       "messages", buf, n->kind == NP_OP_SEND ? "receive" :
		       "send", m->n_unmatched - 1);
}

int np_graph_match(struct np_graph *g, struct np_err *err)
{
	struct np_match m = { .g = g };
	int rc = sort_sends(&m);

	for (; !rc && m.rank < g->n_ranks; m.rank++)
		rc = match_rank(&m);
	free(m.behind);
	free(m.send);
	free(m.channel);
	if (rc)
		return np_errf(err, rc, "%s: no memory to match %zu messages",
			       g->name, g->n_messages);
	return m.n_unmatched ? say_unmatched(&m, err) : 0;
}

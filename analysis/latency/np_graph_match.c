/*
 * Which send meets which receive.
 *
 * For one receiver after another: its sends are found by a counting sort on
 * the receiver, and wait in a queue for each channel (sender, tag, context).
 * While a send waits, its peer is the next of its queue.
 *
 * Receives from any rank or with any tag: channels that one such receive may
 * take from are a class: one sender with any tag, one tag of any sender, or
 * all.  A class is a heap of its channels by how early the next send of the
 * channel is in its sender's operations.  A channel moves on when others take
 * from it; the heap learns of that only when the channel comes to its top (it
 * can only have become later).
 */
#include <errno.h>
#include <stdlib.h>

#include "np_graph_impl.h"

#define KINDS 3 /* classes that a channel is in */

/* Sends of one sender with one tag, or a class of such channels. */
struct channel {
	uint32_t peer, tag;
	uint32_t context : 31, used : 1;
	uint32_t head, tail; /* of its sends */
	uint32_t surplus;    /* sends that no receive without NP_ANY needs */
	uint32_t root;	     /* of a class: the heap of its channels */
};

struct item { /* a channel in one class: a node of a skew heap */
	uint32_t key, left, right;
};

struct match {
	struct np_graph *g;
	uint32_t *send;	  /* all sends, by receiver */
	uint32_t *behind; /* of a receiver: where its sends end */
	struct channel *channel; /* a hash table */
	size_t size, n_channels;
	struct item *item; /* KINDS of each place of the table; or NULL */
	uint32_t rank;	   /* the receiver */
	size_t n_unmatched;
	uint32_t unmatched, receiver; /* the first such operation */
};

static size_t hash(uint32_t peer, uint32_t tag, uint32_t context)
{
	uint64_t h = peer * 0x9e3779b97f4a7c15u;

	h = (h ^ tag ^ (uint64_t)context << 40) * 0xd6e8feb86659fd93u;
	return (size_t)(h >> 32);
}

/* The channel, or a place for it that is not used. */
static struct channel *find_channel(const struct match *m, uint32_t peer,
				    uint32_t tag, uint32_t context)
{
	size_t at = hash(peer, tag, context) & (m->size - 1);

	for (;; at = (at + 1) & (m->size - 1)) {
		struct channel *c = &m->channel[at];

		if (!c->used || (c->peer == peer && c->tag == tag &&
				 c->context == context))
			return c;
	}
}

/* Room for n channels; they may move. */
static int make_room(struct match *m, size_t n)
{
	struct match more = { .size = 16 };

	while (more.size < 2 * n)
		more.size *= 2;
	if (more.size <= m->size)
		return 0;
	more.channel = calloc(more.size, sizeof(*more.channel));
	if (!more.channel)
		return -ENOMEM;
	for (size_t i = 0; i < m->size; i++) {
		const struct channel *c = &m->channel[i];

		if (c->used)
			*find_channel(&more, c->peer, c->tag, c->context) = *c;
	}
	free(m->channel);
	m->channel = more.channel;
	m->size = more.size;
	return 0;
}

/* The channel, made if there is none; there must be room. */
static struct channel *make_channel(struct match *m, uint32_t peer,
				    uint32_t tag, uint32_t context)
{
	struct channel *c = find_channel(m, peer, tag, context);

	if (!c->used) {
		*c = (struct channel){
			.peer = peer, .tag = tag, .context = context,
			.used = 1, .head = NP_GRAPH_NONE,
			.tail = NP_GRAPH_NONE, .root = NP_GRAPH_NONE,
		};
		m->n_channels++;
	}
	return c;
}

/* The first send of a channel that has one meets recv. */
static void meet(struct match *m, struct channel *c, uint32_t recv)
{
	struct np_graph_node *node = m->g->node;
	uint32_t send = c->head;

	c->head = node[send].peer;
	node[send].peer = recv;
	node[recv].peer = send;
}

static void meets_none(struct match *m, uint32_t node)
{
	if (!m->n_unmatched++ || node < m->unmatched) {
		m->unmatched = node;
		m->receiver = m->rank;
	}
}

static bool is_any(const struct np_graph_node *recv)
{
	return recv->peer == NP_ANY || recv->tag == NP_ANY;
}

static int enqueue(struct match *m, uint32_t send, uint32_t from)
{
	struct np_graph_node *node = m->g->node;
	struct channel *c;

	if (make_room(m, m->n_channels + 1))
		return -ENOMEM;
	c = make_channel(m, from, node[send].tag, node[send].context);
	node[send].peer = NP_GRAPH_NONE;
	if (c->head == NP_GRAPH_NONE)
		c->head = send;
	else
		node[c->tail].peer = send;
	c->tail = send;
	c->surplus++;
	return 0;
}

static uint32_t key_of(const struct match *m, const struct channel *c)
{
	return c->head - np_graph_part_of(m->g, c->head)->first;
}

static bool before(const struct match *m, uint32_t a, uint32_t b)
{
	const struct channel *x = &m->channel[a / KINDS];
	const struct channel *y = &m->channel[b / KINDS];

	if (m->item[a].key != m->item[b].key)
		return m->item[a].key < m->item[b].key;
	return x->peer != y->peer ? x->peer < y->peer : x->tag < y->tag;
}

/* Two skew heaps become one; amortised logarithmic, without recursion. */
static uint32_t merge(struct match *m, uint32_t a, uint32_t b)
{
	uint32_t root = NP_GRAPH_NONE, *at = &root;

	while (a != NP_GRAPH_NONE && b != NP_GRAPH_NONE) {
		uint32_t rest;

		if (before(m, b, a)) {
			uint32_t t = a;

			a = b;
			b = t;
		}
		*at = a;
		rest = m->item[a].right;
		m->item[a].right = m->item[a].left;
		at = &m->item[a].left;
		a = rest;
	}
	*at = a == NP_GRAPH_NONE ? b : a;
	return root;
}

static void add(struct match *m, struct channel *class, uint32_t item)
{
	m->item[item].left = m->item[item].right = NP_GRAPH_NONE;
	class->root = merge(m, class->root, item);
}

/* Classes stand in the table, too; only channels have sends. */
static int fill(struct match *m)
{
	if (make_room(m, (KINDS + 1) * m->n_channels))
		return -ENOMEM;
	m->item = malloc(KINDS * m->size * sizeof(*m->item));
	if (!m->item)
		return -ENOMEM;
	for (size_t i = 0; i < m->size; i++) {
		const struct channel *c = &m->channel[i];

		for (unsigned kind = 0; c->surplus && kind < KINDS; kind++) {
			uint32_t item = (uint32_t)(KINDS * i + kind);

			m->item[item].key = key_of(m, c);
			add(m, make_channel(m, kind & 1 ? c->peer : NP_ANY,
					    kind & 2 ? c->tag : NP_ANY,
					    c->context), item);
		}
	}
	return 0;
}

/* What receives without NP_ANY will take is not for the others. */
static void reserve(struct match *m, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		const struct np_graph_node *r = &m->g->node[i];
		struct channel *c;

		if (r->kind != NP_OP_RECV || is_any(r))
			continue;
		c = find_channel(m, r->peer, r->tag, r->context);
		if (c->used && c->surplus)
			c->surplus--;
	}
}

/* The channel with the earliest send of a class, or NULL. */
static struct channel *take(struct match *m, struct channel *class)
{
	while (class->used && class->root != NP_GRAPH_NONE) {
		uint32_t top = class->root;
		struct channel *c = &m->channel[top / KINDS];
		struct item *it = &m->item[top];
		bool stale = c->surplus && it->key != key_of(m, c);

		if (c->surplus && !stale)
			return c;
		class->root = merge(m, it->left, it->right);
		if (stale) {
			it->key = key_of(m, c);
			add(m, class, top);
		}
	}
	return NULL;
}

/* The receives among these nodes, in their order. */
static void meet_all(struct match *m, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		const struct np_graph_node *r = &m->g->node[i];
		struct channel *c;

		if (r->kind != NP_OP_RECV)
			continue;
		c = find_channel(m, r->peer, r->tag, r->context);
		if (is_any(r)) {
			c = take(m, c);
			if (c)
				c->surplus--;
		} else if (!c->used || c->head == NP_GRAPH_NONE) {
			c = NULL;
		}
		if (c)
			meet(m, c, i);
		else
			meets_none(m, i);
	}
}

static void left_over(struct match *m)
{
	for (size_t i = 0; i < m->size; i++) {
		const struct channel *c = &m->channel[i];

		for (uint32_t s = c->used ? c->head : NP_GRAPH_NONE;
		     s != NP_GRAPH_NONE; s = m->g->node[s].peer)
			meets_none(m, s);
	}
}

/* All sends to m->rank, from their senders. */
static int match_rank(struct match *m)
{
	const struct np_graph *g = m->g;
	size_t n = m->behind[m->rank] - (m->rank ? m->behind[m->rank - 1] : 0);
	const uint32_t *send = m->send + m->behind[m->rank] - n;
	uint32_t part = g->part_of[m->rank], first, end;
	const struct np_graph_part *from = NULL;
	bool any = false;

	first = part ? g->part[part - 1].first : 0;
	end = part ? np_graph_part_end(g, part - 1) : 0;
	for (uint32_t i = first; g->n_any && i < end; i++)
		any |= g->node[i].kind == NP_OP_RECV && is_any(&g->node[i]);
	if (end == first && !n)
		return 0;
	free(m->channel); /* small again: that of the last one may be large */
	free(m->item);
	m->channel = NULL;
	m->item = NULL;
	m->size = m->n_channels = 0;
	if (make_room(m, 1))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!from || send[i] >= np_graph_part_end(g,
						(size_t)(from - g->part)))
			from = np_graph_part_of(g, send[i]);
		if (enqueue(m, send[i], from->rank))
			return -ENOMEM;
	}
	if (any) {
		reserve(m, first, end);
		if (fill(m))
			return -ENOMEM;
	}
	meet_all(m, first, end);
	left_over(m);
	return 0;
}

/* Sends by receiver, each receiver's in the order of the graph. */
static int sort_sends(struct match *m)
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

static int say_unmatched(struct match *m, struct np_err *err)
{
	struct np_graph_node *n = &m->g->node[m->unmatched];
	char buf[NP_ERR_LEN];

	if (n->kind == NP_OP_SEND)
		n->peer = m->receiver;
	np_graph_say(m->g, m->unmatched, buf, sizeof(buf));
	if (m->n_unmatched == 1)
		return np_errf(err, -EINVAL, "%s meets no %s", buf,
			       n->kind == NP_OP_SEND ? "receive" : "send");
	return np_errf(err, -EINVAL, "%s meets no %s, nor do %zu other "
		       "messages", buf, n->kind == NP_OP_SEND ? "receive" :
		       "send", m->n_unmatched - 1);
}

int np_graph_match(struct np_graph *g, struct np_err *err)
{
	struct match m = { .g = g };
	int rc = sort_sends(&m);

	for (; !rc && m.rank < g->n_ranks; m.rank++)
		rc = match_rank(&m);
	free(m.behind);
	free(m.send);
	free(m.channel);
	free(m.item);
	if (rc)
		return np_errf(err, rc, "%s: no memory to match %zu messages",
			       g->name, g->n_messages);
	return m.n_unmatched ? say_unmatched(&m, err) : 0;
}

/* Messages on their way to one receiver: sends that wait, in channels. */
#include <errno.h>
#include <stdlib.h>

#include "np_graph_match.h"

static size_t hash(uint32_t peer, uint32_t tag, uint32_t context)
{
	uint64_t h = peer * 0x9e3779b97f4a7c15u;

	h = (h ^ tag ^ (uint64_t)context << 40) * 0xd6e8feb86659fd93u;
	return (size_t)(h >> 32);
}

struct np_channel *np_match_find(const struct np_match *m, uint32_t peer,
				 uint32_t tag, uint32_t context)
{
	size_t at = hash(peer, tag, context) & (m->size - 1);

	for (;; at = (at + 1) & (m->size - 1)) {
		struct np_channel *c = &m->channel[at];

		if (!c->used || (c->peer == peer && c->tag == tag &&
				 c->context == context))
			return c;
	}
}

int np_match_room(struct np_match *m, size_t n)
{
	struct np_match more = { .size = 16 };

	while (more.size < 2 * n)
		more.size *= 2;
	if (more.size <= m->size)
		return 0;
	more.channel = calloc(more.size, sizeof(*more.channel));
	if (!more.channel)
		return -ENOMEM;
	for (size_t i = 0; i < m->size; i++) {
		const struct np_channel *c = &m->channel[i];

		if (c->used)
			*np_match_find(&more, c->peer, c->tag, c->context) = *c;
	}
	free(m->channel);
	m->channel = more.channel;
	m->size = more.size;
	return 0;
}

struct np_channel *np_match_make(struct np_match *m, uint32_t peer,
				 uint32_t tag, uint32_t context)
{
	struct np_channel *c = np_match_find(m, peer, tag, context);

	if (!c->used) {
		*c = (struct np_channel){
			.peer = peer, .tag = tag, .context = context,
			.used = 1, .head = NP_GRAPH_NONE,
			.tail = NP_GRAPH_NONE, .root = NP_GRAPH_NONE,
		};
		m->n_channels++;
	}
	return c;
}

void np_match_meet(struct np_match *m, struct np_channel *c, uint32_t recv)
{
	struct np_graph_node *node = m->g->node;
	uint32_t send = c->head;

	c->head = node[send].peer;
	node[send].peer = recv;
	node[recv].peer = send;
}

void np_match_none(struct np_match *m, uint32_t node)
{
	if (!m->n_unmatched++ || node < m->unmatched) {
		m->unmatched = node;
		m->receiver = m->rank;
	}
}

bool np_match_any(const struct np_graph_node *recv)
{
	return recv->peer == NP_ANY || recv->tag == NP_ANY;
}

/*
 * Receives from any rank or with any tag.
 *
 * Channels that one such receive may take from are a class: one sender with
 * any tag, one tag of any sender, or all.  A class is a heap of its channels
 * by how early the next send of the channel is in its sender's operations.
 * A channel moves on when others take from it; the heap learns of that only
 * when the channel comes to its top (it can only have become later).
 */
#include <errno.h>
#include <stdlib.h>

#include "np_graph_match.h"

#define KINDS 3 /* classes that a channel is in */

struct item { /* a channel in one class: a node of a skew heap */
	uint32_t key, left, right;
};

struct wild {
	struct np_match *m;
	struct item *item; /* KINDS of each place of the table */
};

static uint32_t key_of(const struct np_match *m, const struct np_channel *c)
{
	return c->head - np_graph_part_of(m->g, c->head)->first;
}

static bool before(const struct wild *w, uint32_t a, uint32_t b)
{
	const struct np_channel *x = &w->m->channel[a / KINDS];
	const struct np_channel *y = &w->m->channel[b / KINDS];

	if (w->item[a].key != w->item[b].key)
		return w->item[a].key < w->item[b].key;
	return x->peer != y->peer ? x->peer < y->peer : x->tag < y->tag;
}

/* Two skew heaps become one; amortised logarithmic, without recursion. */
static uint32_t merge(struct wild *w, uint32_t a, uint32_t b)
{
	uint32_t root = NP_GRAPH_NONE, *at = &root;

	while (a != NP_GRAPH_NONE && b != NP_GRAPH_NONE) {
		uint32_t rest;

		if (before(w, b, a)) {
			uint32_t t = a;

			a = b;
			b = t;
		}
		*at = a;
		rest = w->item[a].right;
		w->item[a].right = w->item[a].left;
		at = &w->item[a].left;
		a = rest;
	}
	*at = a == NP_GRAPH_NONE ? b : a;
	return root;
}

static struct np_channel *class_of(struct np_match *m, unsigned kind,
				   uint32_t peer, uint32_t tag,
				   uint32_t context)
{
	return np_match_make(m, kind & 1 ? peer : NP_ANY,
			     kind & 2 ? tag : NP_ANY, context);
}

static void add(struct wild *w, struct np_channel *class, uint32_t item)
{
	w->item[item].left = w->item[item].right = NP_GRAPH_NONE;
	class->root = merge(w, class->root, item);
}

/* Classes stand in the table, too; only channels have sends. */
static int fill(struct wild *w)
{
	struct np_match *m = w->m;

	if (np_match_room(m, (KINDS + 1) * m->n_channels))
		return -ENOMEM;
	w->item = malloc(KINDS * m->size * sizeof(*w->item));
	if (!w->item)
		return -ENOMEM;
	for (size_t i = 0; i < m->size; i++) {
		const struct np_channel *c = &m->channel[i];

		if (!c->used || c->peer == NP_ANY || c->tag == NP_ANY ||
		    !c->surplus)
			continue;
		for (unsigned kind = 0; kind < KINDS; kind++) {
			uint32_t item = (uint32_t)(KINDS * i + kind);

			w->item[item].key = key_of(m, c);
			add(w, class_of(m, kind, c->peer, c->tag, c->context),
			    item);
		}
	}
	return 0;
}

/* What receives without NP_ANY will take is not for the others. */
static void reserve(struct np_match *m, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		const struct np_graph_node *r = &m->g->node[i];
		struct np_channel *c;

		if (r->kind != NP_OP_RECV || np_match_any(r))
			continue;
		c = np_match_find(m, r->peer, r->tag, r->context);
		if (c->used && c->surplus)
			c->surplus--;
	}
}

/* The channel with the earliest send of a class, or NULL. */
static struct np_channel *take(struct wild *w, struct np_channel *class)
{
	while (class->used && class->root != NP_GRAPH_NONE) {
		uint32_t top = class->root;
		struct np_channel *c = &w->m->channel[top / KINDS];
		struct item *it = &w->item[top];
		bool stale = c->surplus && it->key != key_of(w->m, c);

		if (c->surplus && !stale)
			return c;
		class->root = merge(w, it->left, it->right);
		if (stale) {
			it->key = key_of(w->m, c);
			add(w, class, top);
		}
	}
	return NULL;
}

int np_match_wild(struct np_match *m, uint32_t first, uint32_t end)
{
	struct wild w = { .m = m };

	reserve(m, first, end);
	if (fill(&w))
		return -ENOMEM;
	for (uint32_t i = first; i < end; i++) {
		const struct np_graph_node *r = &m->g->node[i];
		struct np_channel *c;

		if (r->kind != NP_OP_RECV)
			continue;
		c = np_match_find(m, r->peer, r->tag, r->context);
		if (np_match_any(r)) {
			c = take(&w, c);
			if (c)
				c->surplus--;
		} else if (!c->used || c->head == NP_GRAPH_NONE) {
			c = NULL;
		}
		if (c)
			np_match_meet(m, c, i);
		else
			np_match_none(m, i);
	}
	free(w.item);
	return 0;
}

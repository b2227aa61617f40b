/*
 * The period of the rank with the most operations is found from the borders of
 * a string (Knuth, Morris, Pratt, 1977), where each operation is a character.
 * The periods of the other ranks follow from the messages between them. Then
 * every operation is compared with its successor one period later.
 */
#include "np_iterations.h"

#include <errno.h>
#include <stdlib.h>

#include "np_text.h"

#define TRIES 8	     /* periods tried of one rank */
#define MIN_TIMES 16 /* fewer iterations are not worth it */

struct find {
	const struct np_graph *g;
	struct np_iterations_part *part;
	uint32_t *anchor; /* by part: a node of about the same iteration */
	uint32_t *todo;	  /* parts whose peers are to be found */
	size_t n_todo;
};

static size_t part_of(const struct np_graph *g, uint32_t node)
{
	return (size_t)(np_graph_part_of(g, node) - g->part);
}

/* Hash of all that equal operations have in common, except their match. */
static uint64_t word_of(const struct np_graph *g, uint32_t i)
{
	const struct np_graph_node *n = &g->node[i];
	uint64_t word[4] = {
		np_graph_size(g, i), (uint64_t)n->tag << 32 | n->where,
		(uint64_t)n->kind << 8 | n->nic,
		n->kind == NP_OP_CALC ? 0 : 1 + part_of(g, n->peer),
	};
	uint64_t h = np_hash(NP_HASH, word, sizeof(word));

	for (uint32_t d = n->first; d < np_graph_deps_end(g, i); d++) {
		uint32_t back[2] = { i - (g->dep[d] >> 1), g->dep[d] & 1 };

		h = np_hash(h, back, sizeof(back));
	}
	return h;
}

/* Whether node i and the one a period later are equal. */
static bool same(const struct find *f, size_t part, uint32_t i)
{
	const struct np_graph *g = f->g;
	uint32_t p = f->part[part].period;
	const struct np_graph_node *a = &g->node[i], *b = a + p;
	uint32_t n = np_graph_deps_end(g, i) - a->first;

	if (a->kind != b->kind || a->tag != b->tag || a->nic != b->nic ||
	    a->where != b->where ||
	    np_graph_size(g, i) != np_graph_size(g, i + p) ||
	    np_graph_deps_end(g, i + p) - b->first != n)
		return false;
	for (uint32_t d = 0; d < n; d++)
		if (g->dep[b->first + d] - g->dep[a->first + d] != 2 * p)
			return false;
	return a->kind == NP_OP_CALC ||
	       b->peer - a->peer == f->part[part_of(g, a->peer)].period;
}

/* Derives the periods of all ranks with which this one exchanges messages. */
static bool find_peer_periods(struct find *f, size_t part)
{
	const struct np_graph *g = f->g;
	uint32_t p = f->part[part].period, from = f->anchor[part];

	if (from + 2 * (uint64_t)p > np_graph_part_end(g, part))
		return false;
	for (uint32_t i = from; i < from + p; i++) {
		const struct np_graph_node *a = &g->node[i], *b = a + p;
		struct np_iterations_part *to;
		size_t other;

		if (a->kind != b->kind)
			return false;
		if (a->kind == NP_OP_CALC)
			continue;
		other = part_of(g, a->peer);
		to = &f->part[other];
		if (b->peer <= a->peer ||
		    b->peer >= np_graph_part_end(g, other))
			return false;
		if (!to->period) {
			to->period = b->peer - a->peer;
			f->anchor[other] = a->peer;
			f->todo[f->n_todo++] = (uint32_t)other;
		} else if (to->period != b->peer - a->peer) {
			return false;
		}
	}
	return true;
}

/* Counts the equal iterations of a part before and after its anchor. */
static void extend(const struct find *f, size_t part, uint32_t *down,
		   uint32_t *up)
{
	uint32_t p = f->part[part].period, low = f->anchor[part], high = low;

	while (low > f->g->part[part].first && same(f, part, low - 1))
		low--;
	while (high + p < np_graph_part_end(f->g, part) && same(f, part, high))
		high++;
	if ((f->anchor[part] - low) / p < *down)
		*down = (f->anchor[part] - low) / p;
	/* The node that the last one was compared with is equal too. */
	if ((high + p - f->anchor[part]) / p < *up)
		*up = (high + p - f->anchor[part]) / p;
}

/*
 * Whether this period of the lead rank gives a loop of at least half the graph.
 */
static bool try_period(struct find *f, size_t lead, uint32_t anchor,
		       uint32_t period, struct np_iterations *out)
{
	const struct np_graph *g = f->g;
	uint32_t down = UINT32_MAX, up = UINT32_MAX;
	uint64_t ops = 0;

	for (size_t p = 0; p < g->n_parts; p++)
		f->part[p].period = 0;
	f->part[lead].period = period;
	f->anchor[lead] = anchor;
	f->todo[0] = (uint32_t)lead;
	f->n_todo = 1;
	for (size_t k = 0; k < f->n_todo; k++)
		if (!find_peer_periods(f, f->todo[k]))
			return false;
	for (size_t k = 0; k < f->n_todo; k++) {
		extend(f, f->todo[k], &down, &up);
		if ((uint64_t)down + up < MIN_TIMES)
			return false;
	}
	for (size_t p = 0; p < g->n_parts; p++) {
		f->part[p].base = (uint32_t)ops;
		f->part[p].first = f->anchor[p] - down * f->part[p].period;
		ops += f->part[p].period;
	}
	if (2 * ops * (down + up) < g->n_nodes)
		return false;
	*out = (struct np_iterations){ f->part, down + up, (uint32_t)ops };
	return true;
}

/*
 * Tries the periods of a range of the lead rank's operations, the shortest
 * first. border[i]: length of the longest proper prefix of the first i + 1
 * words that is also their suffix.
 */
static bool search(struct find *f, size_t lead, uint32_t first, uint32_t n,
		   uint64_t *word, uint32_t *border, struct np_iterations *out)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		word[i] = word_of(f->g, first + i);
	border[0] = 0;
	for (uint32_t i = 1; i < n; i++) {
		while (k && word[i] != word[k])
			k = border[k - 1];
		k += word[i] == word[k];
		border[i] = k;
	}
	for (int i = 0; i < TRIES && n - k <= n / 2; i++) {
		if (try_period(f, lead, first, n - k, out))
			return true;
		if (!k)
			break;
		k = border[k - 1];
	}
	return false;
}

int np_iterations_find(const struct np_graph *g, struct np_iterations *out)
{
	struct find f = { .g = g };
	size_t lead = 0;
	uint32_t n = 0, *border;
	uint64_t *word;
	int rc = -ENOMEM;

	*out = (struct np_iterations){ .part = NULL };
	for (size_t p = 1; p < g->n_parts; p++)
		if (np_graph_part_end(g, p) - g->part[p].first >
		    np_graph_part_end(g, lead) - g->part[lead].first)
			lead = p;
	if (g->n_parts)
		n = (np_graph_part_end(g, lead) - g->part[lead].first) / 4;
	if (!n)
		return 0;
	f.part = calloc(g->n_parts, sizeof(*f.part));
	f.anchor = calloc(2 * g->n_parts, sizeof(*f.anchor));
	word = malloc(n * sizeof(*word));
	border = malloc(n * sizeof(*border));
	if (f.part && f.anchor && word && border) {
		f.todo = f.anchor + g->n_parts;
		/*
		 * A loop that is most of the graph covers the quarter in its
		 * middle.
		 */
		search(&f, lead, g->part[lead].first + n / 2 * 3, n, word,
		       border, out);
		rc = 0;
	}
	free(f.anchor);
	free(word);
	free(border);
	if (!out->part)
		free(f.part);
	return rc;
}

void np_iterations_free(struct np_iterations *l)
{
	free(l->part);
	*l = (struct np_iterations){ .part = NULL };
}

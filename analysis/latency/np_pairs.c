/*
 * Between which ranks the messages of the critical path go: from the end of a
 * simulated run back along what each event waited for last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_event.h"

#define RIGHT 0x1p-30 /* of x: where paths that are equally long at x differ */

struct walk {
	struct np_events e;
	struct np_event_times t;
	double x;
	struct np_pair *pair;
	size_t n, max;
};

static double time_of(const struct walk *w, uint32_t event)
{
	uint32_t node = NP_EVENT_NODE(event);

	switch (NP_EVENT_WHICH(event)) {
	case NP_EVENT_BEGIN: return w->t.begin[node];
	case NP_EVENT_THEN: return w->t.then[node];
	default: return w->t.arrival[node];
	}
}

/* What an event waited for last; false: for nothing. */
static bool last_of(const struct walk *w, uint32_t event, uint32_t *last)
{
	struct np_cost cost;
	uint32_t need;
	double latest = -1;

	for (size_t i = 0; np_event_needs(&w->e, event, i, &need, &cost);
	     i++) {
		double t = time_of(w, need) + cost.a + (double)cost.b * w->x;

		if (t > latest) {
			latest = t;
			*last = need;
		}
	}
	return latest >= 0;
}

static int add(struct walk *w, uint32_t send)
{
	const struct np_graph *g = w->e.g;

	if (np_array_room(&w->pair, &w->max, w->n + 1, sizeof(*w->pair)))
		return -ENOMEM;
	w->pair[w->n++] = (struct np_pair){
		np_graph_part_of(g, send)->rank,
		np_graph_part_of(g, g->node[send].peer)->rank, 1,
		np_graph_size(g, send),
	};
	return 0;
}

static int walk_back(struct walk *w)
{
	const struct np_graph *g = w->e.g;
	struct np_cost after;
	uint32_t event, need = 0;
	int rc = 0;

	if (!g->n_nodes)
		return 0;
	event = np_event_end(&w->e, w->t.last, &after);
	while (!rc && last_of(w, event, &need)) {
		uint32_t from = NP_EVENT_NODE(need), to = NP_EVENT_NODE(event);

		/* A message, and not that its receive is posted after it. */
		if (NP_EVENT_WHICH(event) != NP_EVENT_BEGIN &&
		    g->node[to].kind == NP_OP_RECV &&
		    g->node[from].kind == NP_OP_SEND &&
		    g->node[from].peer == to &&
		    NP_EVENT_WHICH(need) == NP_EVENT_BEGIN)
			rc = add(w, from);
		event = need;
	}
	return rc;
}

static int by_ranks(const void *a, const void *b)
{
	const struct np_pair *p = a, *q = b;

	if (p->from != q->from)
		return p->from < q->from ? -1 : 1;
	return (p->to > q->to) - (p->to < q->to);
}

static int by_messages(const void *a, const void *b)
{
	const struct np_pair *p = a, *q = b;

	if (p->messages != q->messages)
		return p->messages > q->messages ? -1 : 1;
	return by_ranks(a, b);
}

static void sum_up(struct walk *w)
{
	size_t n = 0;

	if (w->n)
		qsort(w->pair, w->n, sizeof(*w->pair), by_ranks);
	for (size_t i = 0; i < w->n; i++) {
		if (n && !by_ranks(&w->pair[n - 1], &w->pair[i])) {
			w->pair[n - 1].messages++;
			w->pair[n - 1].bytes += w->pair[i].bytes;
		} else {
			w->pair[n++] = w->pair[i];
		}
	}
	w->n = n;
	if (n)
		qsort(w->pair, n, sizeof(*w->pair), by_messages);
}

int np_tolerance_pairs(const struct np_graph *g,
		       const struct np_tolerance_opt *opt,
		       struct np_pair **out, size_t *n, struct np_err *err)
{
	uint8_t *asked = malloc(g->n_nodes + 1);
	struct walk w = {
		.e = { .g = g, .opt = opt, .asked = asked },
		.x = np_loggps_value(&opt->net, opt->x) * (1 + RIGHT),
	};
	int rc = asked ? 0 : -ENOMEM;

	if (!rc) {
		memset(asked, NP_EVENT_IREQUIRED, g->n_nodes);
		rc = np_orders_make(&w.e, w.x, NULL, &w.t);
	}
	if (!rc) {
		rc = walk_back(&w);
		np_event_times_free(&w.t);
		np_orders_free(&w.e.orders);
	}
	free(asked);
	if (rc) {
		free(w.pair);
		return rc == -EDEADLK ?
			np_errf(err, rc, "operations wait for each other") :
			np_errf(err, rc, "no memory for a path through %zu "
				"operations", g->n_nodes);
	}
	sum_up(&w);
	*out = w.pair;
	*n = w.n;
	return 0;
}

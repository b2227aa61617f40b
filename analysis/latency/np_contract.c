/*
 * From operations to the vertices of a compact graph. Events are visited in
 * depth-first order, so that everything an event waits for has its place before
 * the event itself. An event that waits for only one other is not a vertex but
 * a distance from that one, and the edges of an event that a single operation
 * waits for become edges of that operation.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_compact.h"
#include "np_event.h"
#include "np_iterations.h"

/*
 * Laps of a loop. The events of a loop are divided into laps such that an event
 * waits only for events of its own lap or of the lap before. The events of one
 * operation may belong to different laps, and so may those of one iteration on
 * different ranks.
 */

/* Events before lap `first`, those up to lap `end`, and all later ones. */
enum np_stage { NP_BEFORE, NP_WITHIN, NP_AFTER, NP_STAGES };

/* An event that a later stage or the next lap waits for. */
struct np_carried {
	uint32_t event; /* if moves is set, that of lap first - 1 */
	bool moves;	/* each lap has its own */
};

/* An operation of an iteration. */
struct np_lap_op {
	/* in the first iteration; nodes to the next one */
	uint32_t node, period;
};

struct np_laps {
	const struct np_events *e; /* borrowed */
	struct np_needs needs;	   /* of the current event */
	struct np_iterations loop;
	struct np_lap_op *op;
	uint32_t *lag; /* laps behind its iteration; by op << 1 | which */
	uint32_t max_lag;
	uint32_t first, end; /* range of equal laps */
	struct np_carried *carried;
	size_t n_carried, max_carried;
};

#define SWEEPS 64
#define MIN_LAPS 8
#define GROUPINGS 4 /* attempts to group iterations into longer ones */
#define MARGIN 2 /* laps at both ends that are left out, as they may differ */

struct place_event {
	uint32_t op; /* index within an iteration */
	uint32_t iteration;
};

static const struct np_iterations_part *part_of(const struct np_laps *r,
						uint32_t node)
{
	return &r->loop.part[np_graph_part_of(r->e->g, node) - r->e->g->part];
}

/*
 * Finds the place of a node in the loop. Returns false if it is not in the
 * loop.
 */
static bool locate(const struct np_laps *r, uint32_t node,
		   struct place_event *out)
{
	const struct np_iterations_part *p = part_of(r, node);

	if (!p->period || node < p->first)
		return false;
	out->op = p->base + (node - p->first) % p->period;
	out->iteration = (node - p->first) / p->period;
	return out->iteration < r->loop.times;
}

/* Stage of an event; for NP_WITHIN, *lap is its lap. */
static enum np_stage np_laps_stage(const struct np_laps *r, uint32_t event,
			    uint32_t *lap)
{
	uint32_t node = NP_EVENT_NODE(event);
	const struct np_iterations_part *p = part_of(r, node);
	struct place_event at;

	if (!p->period || node < p->first)
		return NP_BEFORE;
	if (!locate(r, node, &at))
		return NP_AFTER;
	*lap = at.iteration + r->lag[at.op << 1 | NP_EVENT_WHICH(event)];
	return *lap < r->first ? NP_BEFORE :
	       *lap < r->end ? NP_WITHIN : NP_AFTER;
}

/* The same event `laps` laps later. */
static uint32_t np_laps_move(const struct np_laps *r, uint32_t event,
			     uint32_t laps)
{
	return event + (laps * part_of(r, NP_EVENT_NODE(event))->period << 2);
}

/*
 * A range of nodes [from, to) of a part that contains all events of a stage,
 * and some others. For NP_WITHIN it covers the lap `first`.
 */
static void np_laps_range(const struct np_laps *r, size_t part,
			  enum np_stage stage, uint32_t *from, uint32_t *to)
{
	const struct np_iterations_part *p = &r->loop.part[part];
	uint32_t begin = r->e->g->part[part].first;
	uint32_t end = np_graph_part_end(r->e->g, part);

	*from = stage == NP_BEFORE ? begin : end;
	*to = end;
	if (!p->period)
		return;
	if (stage == NP_BEFORE)
		*to = p->first + r->first * p->period;
	if (stage == NP_WITHIN) {
		*from = p->first + (r->first - r->max_lag) * p->period;
		*to = p->first + (r->first + 1) * p->period;
	}
	if (stage == NP_AFTER)
		*from = p->first + (r->end - r->max_lag) * p->period;
}

/* Event k of an iteration belongs to its operation k >> 1. */
static uint32_t event_of(const struct np_laps *r, uint32_t k,
			 uint32_t iteration)
{
	const struct np_lap_op *op = &r->op[k >> 1];

	return (op->node + iteration * op->period) << 2 | (k & 1);
}

/*
 * How many laps event k of an iteration is behind an event that it needs;
 * negative if it is before it. Returns false if the needed event is not in the
 * loop.
 */
static bool laps_behind(const struct np_laps *r, uint32_t k, uint32_t iteration,
		   uint32_t need, int64_t *laps)
{
	struct place_event on;

	if (!locate(r, NP_EVENT_NODE(need), &on))
		return false;
	*laps = (int64_t)iteration + r->lag[k] - on.iteration -
		  r->lag[on.op << 1 | NP_EVENT_WHICH(need)];
	return true;
}

/* Lists what an event waits for in r->needs. */
static int list_needs(struct np_laps *r, uint32_t event)
{
	r->needs.n = 0;
	return np_event_needs(r->e, event, &r->needs);
}

/*
 * Delays event k of an iteration until it is in no earlier lap than the events
 * it needs. *changed is set if that changes its lag; *most is raised to the
 * largest distance in laps. Returns -EDOM if that is impossible, or -ENOMEM.
 */
static int delay_event(struct np_laps *r, uint32_t k, uint32_t iteration,
		       int64_t *most, bool *changed)
{
	uint32_t event = event_of(r, k, iteration);
	int64_t laps;

	if (!np_event_exists(r->e, event))
		return 0;
	if (list_needs(r, event))
		return -ENOMEM;
	for (size_t i = 0; i < r->needs.n; i++) {
		if (!laps_behind(r, k, iteration, r->needs.need[i].event,
				 &laps))
			return -EDOM;
		if (laps > *most)
			*most = laps;
		if (laps >= 0)
			continue;
		r->lag[k] += (uint32_t)-laps;
		*changed = true;
		if (r->lag[k] > r->loop.times / 4)
			return -EDOM;
	}
	return 0;
}

/*
 * Computes lags with which no event is in an earlier lap than one it needs.
 * *most: the largest distance in laps between the two. Returns -EDOM if there
 * are no such lags, or -ENOMEM.
 */
static int compute_lags(struct np_laps *r, int64_t *most)
{
	uint32_t middle = r->loop.times / 2, sweeps = 0;
	bool changed = true;
	int rc = 0;

	while (!rc && changed && sweeps++ < SWEEPS) {
		changed = false;
		*most = 0;
		for (uint32_t k = 0; !rc && k < 2 * r->loop.ops; k++)
			rc = delay_event(r, k, middle, most, &changed);
	}
	return !rc && changed ? -EDOM : rc;
}

/* Lists the operations of an iteration and sets all lags to 0. */
static int list_ops(struct np_laps *r, size_t n_parts)
{
	size_t n = 0;

	free(r->op);
	free(r->lag);
	r->op = malloc(r->loop.ops * sizeof(*r->op));
	r->lag = calloc(2 * (size_t)r->loop.ops, sizeof(*r->lag));
	if (!r->op || !r->lag)
		return -ENOMEM;
	for (size_t i = 0; i < n_parts; i++) {
		const struct np_iterations_part *p = &r->loop.part[i];

		for (uint32_t k = 0; k < p->period; k++)
			r->op[n++] = (struct np_lap_op){ p->first + k,
							   p->period };
	}
	return 0;
}

/* Makes n iterations into one. */
static void group_iterations(struct np_iterations *l, size_t n_parts,
			     uint32_t n)
{
	for (size_t i = 0; i < n_parts; i++) {
		l->part[i].period *= n;
		l->part[i].base *= n;
	}
	l->ops *= n;
	l->times /= n;
}

/* Returns -EDOM if the loop cannot be divided into laps. */
static int find_laps(struct np_laps *r)
{
	size_t n_parts = r->e->g->n_parts;
	int64_t most = 2;
	int rc;

	for (int i = 0; i < GROUPINGS && most > 1; i++) {
		if (i)
			group_iterations(&r->loop, n_parts, (uint32_t)most);
		if (list_ops(r, n_parts))
			return -ENOMEM;
		rc = compute_lags(r, &most);
		if (rc || most > r->loop.times)
			return rc ? rc : -EDOM;
	}
	r->max_lag = 0;
	for (uint32_t k = 0; k < 2 * r->loop.ops; k++)
		if (r->lag[k] > r->max_lag)
			r->max_lag = r->lag[k];
	if (most > 1 || r->loop.times < r->max_lag + 2 * MARGIN + MIN_LAPS)
		return -EDOM;
	r->first = r->max_lag + MARGIN;
	r->end = r->loop.times - MARGIN;
	return 2 * (uint64_t)(r->end - r->first) * r->loop.ops <
	       r->e->g->n_nodes ? -EDOM : 0;
}

/* Adds an event to the carried ones; duplicates are removed later. */
static int add_carried(struct np_laps *r, uint32_t event, bool moves)
{
	if (np_array_room(&r->carried, &r->max_carried, r->n_carried + 1,
			  sizeof(*r->carried)))
		return -ENOMEM;
	r->carried[r->n_carried++] = (struct np_carried){ event, moves };
	return 0;
}

/*
 * Records what an event needs of earlier stages, or of the lap before its own.
 */
static int carry_needs(struct np_laps *r, uint32_t event,
		       enum np_stage stage)
{
	int rc = list_needs(r, event);

	for (size_t i = 0; !rc && i < r->needs.n; i++) {
		uint32_t need = r->needs.need[i].event, lap = 0;
		enum np_stage from = np_laps_stage(r, need, &lap);

		if (from == NP_BEFORE)
			rc = add_carried(r, need, stage == NP_WITHIN);
		else if (from == NP_WITHIN && stage == NP_AFTER)
			rc = lap + 1 == r->end ?
				     add_carried(
					     r,
					     np_laps_move(r, need,
							  r->first - r->end),
					     true) :
				     -EDOM;
		else if (from > stage)
			rc = -EDOM;
	}
	return rc;
}

static int by_event(const void *a, const void *b)
{
	const struct np_carried *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->moves > y->moves) - (x->moves < y->moves);
}

/* Sorts the carried events and removes duplicates. */
static void remove_duplicates(struct np_laps *r)
{
	size_t n = 0;

	if (r->n_carried)
		qsort(r->carried, r->n_carried, sizeof(*r->carried), by_event);
	for (size_t i = 0; i < r->n_carried; i++)
		if (!n || by_event(&r->carried[n - 1], &r->carried[i]))
			r->carried[n++] = r->carried[i];
	r->n_carried = n;
}

/* Finds all events that cross a boundary between laps or stages. */
static int find_carried(struct np_laps *r)
{
	uint32_t lap;
	int rc = 0;

	for (uint32_t k = 0; !rc && k < 2 * r->loop.ops; k++) {
		uint32_t event = event_of(r, k, r->first - r->lag[k]);

		if (np_event_exists(r->e, event))
			rc = carry_needs(r, event, NP_WITHIN);
	}
	for (size_t part = 0; !rc && part < r->e->g->n_parts; part++) {
		uint32_t i, to;

		np_laps_range(r, part, NP_AFTER, &i, &to);
		for (; !rc && i < to; i++)
			for (uint32_t which = 0; !rc && which < 2; which++) {
				uint32_t event = i << 2 | which;

				if (np_event_exists(r->e, event) &&
				    np_laps_stage(r, event, &lap) == NP_AFTER)
					rc = carry_needs(r, event, NP_AFTER);
			}
	}
	remove_duplicates(r);
	return rc;
}

static void np_laps_free(struct np_laps *r)
{
	np_iterations_free(&r->loop);
	free(r->op);
	free(r->lag);
	free(r->carried);
	free(r->needs.need);
	*r = (struct np_laps){ .first = 0 };
}

/*
 * Divides the loop of a graph into laps. out->loop.part is NULL if there is no
 * such loop, or if it is less than most of the graph. Free with np_laps_free().
 * Returns 0 or -ENOMEM.
 */
static int np_laps_find(const struct np_events *e, struct np_laps *out)
{
	struct np_laps r = { .e = e };
	int rc = np_iterations_find(e->g, &r.loop);

	if (!rc && r.loop.part)
		rc = find_laps(&r);
	if (!rc && r.loop.part)
		rc = find_carried(&r);
	if (rc)
		np_laps_free(&r);
	*out = r;
	return rc == -EDOM ? 0 : rc;
}

#define LIST_MAX 8 /* most edges of an event that is not a vertex */

enum { /* by node; DONE and OPEN for each of its three events, by shift */
	/* being visited: what it waits for is above it on the stack */
	DONE = 1, OPEN = 8,
	REQUIRED_OFTEN = 256, /* by more than one operation */
};

/* In the place of an event: its edges are -b from list[from] on. */
#define IS_LIST(edge) ((edge)->b < 0)

struct frame {
	uint32_t event;
	/* of needs: what it waits for; the first that may have no place yet */
	size_t first, next;
};

struct contract {
	struct np_events e;
	struct np_chain *chain;
	struct np_compact *c; /* current link */
	/* by node: the bits above, and NP_EVENT_REQUIRED, NP_EVENT_IREQUIRED */
	uint16_t *state;
	/*
	 * By node: the time of an event is that of vertex from, + a + b x. Few
	 * nodes have more than one event, so the one that most nodes of a kind
	 * have is in `usual`, and memory of `other` is rarely touched.
	 */
	struct np_edge *usual, *other, *arrival;
	struct frame *stack;
	size_t depth, max_depth;
	struct np_needs needs; /* of all events on the stack */
	struct np_edge *in; /* edges of the event that is being closed */
	size_t n_in, max_in, thin_at;
	struct np_edge *list; /* places of LIST_MAX edges */
	size_t n_list, max_list;
	uint32_t unused; /* a free place, of which `from` is the next one */
	/*
	 * With a loop: the current stage, and what earlier stages give to it.
	 */
	struct np_laps r;
	enum np_stage stage;
	uint32_t *given; /* events; given[i] is vertex i + 2 */
};

static inline struct np_edge *at(const struct contract *k, uint32_t event)
{
	size_t node = NP_EVENT_NODE(event), which = NP_EVENT_WHICH(event);
	bool recv = k->e.g->node[node].kind == NP_OP_RECV;

	if (which == NP_EVENT_ARRIVAL)
		return &k->arrival[node];
	return recv == (which == NP_EVENT_COMPLETE) ? &k->usual[node] :
						      &k->other[node];
}

/* Appends an edge to k->in. */
static int append(struct contract *k, double a, uint32_t from, int32_t b)
{
	/* This runs for every edge, so the call is avoided where possible. */
	if (k->n_in == k->max_in &&
	    np_array_room(&k->in, &k->max_in, k->n_in + 1, sizeof(*k->in)))
		return -ENOMEM;
	k->in[k->n_in++] = (struct np_edge){ a, from, b };
	return 0;
}

/* Splits an edge that is too long for 31 bits by extra vertices. */
static int add_long(struct contract *k, struct np_edge edge, uint64_t b)
{
	for (; b > INT32_MAX; b -= INT32_MAX) {
		int rc;

		edge.b = INT32_MAX;
		rc = np_compact_add(k->c, &edge, 1);
		if (rc)
			return rc;
		edge = (struct np_edge){ 0, (uint32_t)k->c->n - 1, 0 };
	}
	return append(k, edge.a, edge.from, (int32_t)b);
}

/* Appends what leads to an event, made longer by a + b x, to k->in. */
static int add_in(struct contract *k, const struct np_edge *from, double a,
		  uint64_t b)
{
	const struct np_edge *e = from;
	uint32_t n = 1;
	int rc = 0;

	if (IS_LIST(from)) {
		e = k->list + from->from;
		n = (uint32_t)-from->b;
	}
	for (uint32_t i = 0; !rc && i < n; i++) {
		uint64_t sum = b + (uint64_t)e[i].b;

		rc = sum > INT32_MAX ?
		     add_long(k, (struct np_edge){ e[i].a + a, e[i].from, 0 },
			      sum) :
		     append(k, e[i].a + a, e[i].from, (int32_t)sum);
	}
	if (IS_LIST(from)) { /* nothing else needs it */
		k->list[from->from].from = k->unused;
		k->unused = from->from;
	}
	return rc;
}

/*
 * Whether a single operation waits for this event and nothing else does, so
 * that its edges can become edges of that operation.
 */
static bool has_one_use(const struct contract *k, uint32_t event)
{
	uint32_t node = NP_EVENT_NODE(event);
	const struct np_graph_node *n = &k->e.g->node[node];
	unsigned s = k->state[node];

	if (k->r.loop.part || k->e.orders.cpu || k->e.orders.link ||
	    !(s & NP_EVENT_REQUIRED) || s & REQUIRED_OFTEN)
		return false;
	if (n->kind == NP_OP_CALC)
		return !(s & NP_EVENT_IREQUIRED);
	return n->kind == NP_OP_RECV &&
	       NP_EVENT_WHICH(event) == NP_EVENT_COMPLETE &&
	       !np_event_exists(&k->e, n->peer << 2 | NP_EVENT_COMPLETE);
}

/* Keeps the edges in k->in until the operation that waits for them. */
static int keep_list(struct contract *k, struct np_edge *out)
{
	uint32_t first = k->unused;

	if (first != NP_GRAPH_NONE) {
		k->unused = k->list[first].from;
	} else {
		if (k->n_list + LIST_MAX > UINT32_MAX)
			return -ERANGE;
		if (np_array_room(&k->list, &k->max_list,
				  k->n_list + LIST_MAX, sizeof(*k->list)))
			return -ENOMEM;
		first = (uint32_t)k->n_list;
		k->n_list += LIST_MAX;
	}
	memcpy(k->list + first, k->in, k->n_in * sizeof(*k->in));
	*out = (struct np_edge){ 0, first, -(int32_t)k->n_in };
	return 0;
}

/*
 * Places an event that waits for these n, which are placed: at a distance from
 * one vertex if possible, else as a list of edges or a vertex.
 */
static int place_event(struct contract *k, uint32_t event,
		       const struct np_need *need, size_t n)
{
	struct np_edge *out = at(k, event);
	int rc = 0;

	*out = (struct np_edge){ 0, 0, 0 };
	if (!n) /* it is at the beginning */
		return 0;
	if (n == 1) {
		const struct np_edge *from = at(k, need->event);
		uint64_t b = need->cost.b + (uint64_t)from->b;

		if (!IS_LIST(from) && b <= INT32_MAX) {
			*out = (struct np_edge){ from->a + need->cost.a,
						 from->from, (int32_t)b };
			return 0;
		}
	}
	k->n_in = 0;
	for (size_t i = 0; !rc && i < n; i++)
		rc = add_in(k, at(k, need[i].event), need[i].cost.a,
			    need[i].cost.b);
	if (rc)
		return rc;
	k->n_in = np_edge_thin(k->in, k->n_in);
	if (k->n_in == 1) {
		*out = k->in[0];
		return 0;
	}
	if (k->n_in <= LIST_MAX && has_one_use(k, event))
		return keep_list(k, out);
	out->from = (uint32_t)k->c->n;
	return np_compact_add(k->c, k->in, k->n_in);
}

/* Puts an event and all that it waits for on the stack. */
static int open_event(struct contract *k, uint32_t event)
{
	size_t first = k->needs.n;

	if (k->depth == k->max_depth &&
	    np_array_room(&k->stack, &k->max_depth, k->depth + 1,
			  sizeof(*k->stack)))
		return -ENOMEM;
	if (np_event_needs(&k->e, event, &k->needs))
		return -ENOMEM;
	k->stack[k->depth++] = (struct frame){ event, first, first };
	k->state[NP_EVENT_NODE(event)] |= OPEN << NP_EVENT_WHICH(event);
	return 0;
}

/* Records the events from need to the top of the stack, which form a cycle. */
static int deadlock(struct contract *k, uint32_t need)
{
	struct np_cycle cycle = { .n = 0 };
	size_t at = k->depth;
	uint32_t last = NP_GRAPH_NONE;

	while (at && k->stack[at - 1].event != need)
		at--;
	for (at--; at < k->depth; at++) {
		uint32_t node = NP_EVENT_NODE(k->stack[at].event);

		if (node == last)
			continue;
		last = node;
		if (cycle.n < NP_CYCLE_OPS)
			cycle.node[cycle.n] = node;
		cycle.n++;
	}
	if (k->e.opt->cycle)
		*k->e.opt->cycle = cycle;
	return -EDEADLK;
}

/* Whether an event belongs to the current stage. */
static bool here(const struct contract *k, uint32_t event)
{
	uint32_t lap = 0;

	return !k->r.loop.part ||
	       (np_laps_stage(&k->r, event, &lap) == k->stage &&
		(k->stage != NP_WITHIN || lap == k->r.first));
}

/* Whether an event was given to this stage by an earlier one. */
static bool given(const struct contract *k, uint32_t event)
{
	uint32_t from;

	if (!(k->state[NP_EVENT_NODE(event)] & DONE << NP_EVENT_WHICH(event)))
		return false;
	from = at(k, event)->from;
	return k->stage && from > 1 && from - 2 < k->r.n_carried &&
	       k->given[from - 2] == event;
}

/*
 * Checks an event that another one waits for. If it is not placed yet, puts it
 * on the stack and sets *opened.
 */
static int check_need(struct contract *k, uint32_t need, bool *opened)
{
	unsigned s = k->state[NP_EVENT_NODE(need)] >> NP_EVENT_WHICH(need);

	if (!here(k, need) && !given(k, need))
		return -EAGAIN;
	if (s & OPEN)
		return deadlock(k, need);
	*opened = !(s & DONE);
	return *opened ? open_event(k, need) : 0;
}

/*
 * Places the event on top of the stack if everything that it waits for is
 * placed; otherwise puts the first such event that is not on top of it.
 */
static int visit_top(struct contract *k)
{
	struct frame *f = &k->stack[k->depth - 1];
	uint32_t event = f->event, shift = NP_EVENT_WHICH(event);
	bool opened = false;
	uint16_t *state;
	int rc = 0;

	while (f->next < k->needs.n) {
		rc = check_need(k, k->needs.need[f->next++].event, &opened);
		if (rc || opened)
			return rc;
	}
	rc = place_event(k, event, k->needs.need + f->first,
			 k->needs.n - f->first);
	state = &k->state[NP_EVENT_NODE(event)];
	*state = (uint16_t)((*state & ~(OPEN << shift)) | DONE << shift);
	k->needs.n = f->first;
	k->depth--;
	return rc;
}

/* Places an event and everything that it waits for (depth-first). */
static int visit(struct contract *k, uint32_t root)
{
	int rc = 0;

	if (k->state[NP_EVENT_NODE(root)] & DONE << NP_EVENT_WHICH(root))
		return 0;
	rc = open_event(k, root);
	while (!rc && k->depth)
		rc = visit_top(k);
	return rc;
}

/* Marks the nodes that other nodes require or irequire. */
static void mark_required(struct contract *k)
{
	const struct np_graph *g = k->e.g;

	memset(k->state, 0, g->n_nodes * sizeof(*k->state));
	for (size_t i = 0; i < g->n_deps; i++) {
		uint16_t *s = &k->state[g->dep[i] >> 1];

		if (g->dep[i] & 1)
			*s |= NP_EVENT_IREQUIRED;
		else
			*s |= *s & NP_EVENT_REQUIRED ? REQUIRED_OFTEN :
						       NP_EVENT_REQUIRED;
	}
}

/*
 * Calls look() for each node, or with a loop for those that may belong to the
 * current stage.
 */
static int each_node(struct contract *k,
		     int (*look)(struct contract *k, uint32_t node))
{
	const struct np_graph *g = k->e.g;
	uint32_t from = 0, to = (uint32_t)g->n_nodes;
	int rc = 0;

	for (size_t part = 0; !rc && part < g->n_parts; part++) {
		if (k->r.loop.part)
			np_laps_range(&k->r, part, k->stage, &from, &to);
		for (uint32_t i = from; !rc && i < to; i++)
			rc = look(k, i);
		from = to;
	}
	return rc;
}

/* Places the end of a node. */
static int visit_end(struct contract *k, uint32_t node)
{
	struct np_cost after;
	uint32_t event = np_event_end(&k->e, node, &after);

	return here(k, event) ? visit(k, event) : 0;
}

/* Adds the end of a node if no other operation waits for it. */
static int add_end(struct contract *k, uint32_t node)
{
	struct np_cost after;
	uint32_t event;
	int rc;

	if (k->state[node] & NP_EVENT_REQUIRED)
		return 0;
	event = np_event_end(&k->e, node, &after);
	/* An eager send ends before its receive does. */
	if (!here(k, event) ||
	    (k->e.g->node[node].kind == NP_OP_SEND &&
	     NP_EVENT_WHICH(event) != NP_EVENT_COMPLETE))
		return 0;
	rc = add_in(k, at(k, event), after.a, after.b);
	if (k->n_in >= k->thin_at) { /* many may be equally far */
		k->n_in = np_edge_thin(k->in, k->n_in);
		k->thin_at = 1024 + 2 * k->n_in;
	}
	return rc;
}

/* Adds the end of the program as far as this stage knows it. */
static int add_program_end(struct contract *k)
{
	int rc = 0;

	k->n_in = 0;
	k->thin_at = 1024;
	if (k->stage)
		rc = add_in(k, &(struct np_edge){ 0, 1, 0 }, 0, 0);
	if (!rc)
		rc = each_node(k, add_end);
	k->n_in = np_edge_thin(k->in, k->n_in);
	return rc ? rc : np_compact_add(k->c, k->in, k->n_in);
}

/* A carried event as the current stage receives it, or as it passes it on. */
static uint32_t carried(const struct contract *k, size_t i, bool handed_on)
{
	const struct np_carried *c = &k->r.carried[i];
	uint32_t laps = k->stage == NP_AFTER ? k->r.end - k->r.first : 0;

	if (handed_on && k->stage == NP_WITHIN)
		laps = 1;
	return c->moves ? np_laps_move(&k->r, c->event, laps) : c->event;
}

/*
 * Vertex 1 is the end of everything before this stage; then the carried events.
 */
static int receive_carried(struct contract *k)
{
	int rc = np_compact_add(k->c, NULL, 0);

	for (size_t i = 0; !rc && i < k->c->n_state; i++) {
		uint32_t event;

		k->c->in[i] = (uint32_t)k->c->n;
		rc = np_compact_add(k->c, NULL, 0);
		if (!i)
			continue;
		event = k->given[i - 1] = carried(k, i - 1, false);
		/*
		 * A moving and a fixed event may be the same one in the first
		 * lap.
		 */
		if (k->stage == NP_WITHIN && !k->r.carried[i - 1].moves)
			continue;
		*at(k, event) = (struct np_edge){ 0, (uint32_t)i + 1, 0 };
		k->state[NP_EVENT_NODE(event)] |=
			(uint16_t)(DONE << NP_EVENT_WHICH(event));
	}
	return rc;
}

/*
 * Gives each carried event a vertex. One that only passes through has one
 * already.
 */
static int pass_on(struct contract *k)
{
	int rc = 0;

	for (size_t i = 1; !rc && i < k->c->n_state; i++) {
		uint32_t event = carried(k, i - 1, true);

		k->c->out[i] = (uint32_t)i + 1;
		if (k->stage == NP_WITHIN && !k->r.carried[i - 1].moves)
			continue;
		rc = here(k, event) ? visit(k, event) : -EAGAIN;
		k->c->out[i] = (uint32_t)k->c->n;
		if (!rc)
			rc = np_compact_add(k->c, at(k, event), 1);
	}
	return rc;
}

/*
 * Contracts one stage of a loop, or the whole graph, into a link of the chain.
 */
static int contract_stage(struct contract *k)
{
	int rc = 0;

	k->c = &k->chain->link[k->stage];
	k->chain->n = k->stage + 1;
	if (k->stage != NP_BEFORE)
		rc = np_compact_state(k->c, k->r.n_carried + 1);
	if (!rc)
		rc = receive_carried(k);
	if (!rc && k->stage == NP_BEFORE && k->r.loop.part)
		rc = np_compact_state(k->c, k->r.n_carried + 1);
	if (!rc)
		rc = each_node(k, visit_end);
	if (!rc && k->stage != NP_AFTER)
		rc = pass_on(k);
	if (!rc)
		rc = add_program_end(k);
	if (!rc && k->c->n_state)
		k->c->out[0] = (uint32_t)k->c->n - 1;
	return rc;
}

/* Returns -EAGAIN if some dependency does not fit the division into laps. */
static int contract_loop(struct contract *k)
{
	int rc = 0;

	k->given = malloc((k->r.n_carried + 1) * sizeof(*k->given));
	if (!k->given)
		return -ENOMEM;
	for (int stage = NP_BEFORE; !rc && stage < NP_STAGES; stage++) {
		k->stage = (enum np_stage)stage;
		rc = contract_stage(k);
	}
	k->chain->times = k->r.end - k->r.first;
	return rc;
}

/*
 * Contracts the graph by laps if it has a suitable loop, otherwise as a whole.
 */
static int contract(struct contract *k)
{
	int rc = 0;

	mark_required(k);
	if (!k->e.opt->unfold && !k->e.opt->one_cpu && !k->e.opt->one_link)
		rc = np_laps_find(&k->e, &k->r);
	if (!rc && k->r.loop.part) {
		rc = contract_loop(k);
		np_laps_free(&k->r);
		if (rc != -EAGAIN)
			return rc;
		np_chain_free(k->chain);
		mark_required(k);
		k->depth = k->needs.n = 0;
		rc = 0;
	}
	k->stage = NP_BEFORE;
	return rc ? rc : contract_stage(k);
}

/* Turns an error into a message. */
static int contract_error(const struct contract *k, int rc, struct np_err *err)
{
	const struct np_graph *g = k->e.g;
	const struct np_cycle *cycle = k->e.opt->cycle;
	char buf[NP_ERR_LEN];

	switch (rc) {
	case 0:
		return 0;
	case -EDEADLK:
		return np_errf(err, rc, "%zu operations wait for each other "
			       "in a circle, one of them %s", cycle->n,
			       np_graph_describe(g, cycle->node[0], buf,
					    sizeof(buf)));
	case -ERANGE:
		return np_errf(err, rc, "%s: more than 2^32 edges", g->name);
	default:
		return np_errf(err, rc, "%s: no memory to contract %zu "
			       "operations", g->name, g->n_nodes);
	}
}

/* Allocates what a contraction needs, and contracts. */
static int run(struct contract *k)
{
	bool turns = k->e.orders.cpu || k->e.orders.link;
	size_t n = k->e.g->n_nodes + 1;
	int rc = -ENOMEM;

	k->state = np_compact_alloc(n, sizeof(*k->state));
	k->unused = NP_GRAPH_NONE;
	k->e.flags = k->state;
	k->usual = np_compact_alloc(n, sizeof(*k->usual));
	k->other = np_compact_alloc(n, sizeof(*k->other));
	if (turns)
		k->arrival = malloc(n * sizeof(*k->arrival));
	if (k->state && k->usual && k->other && (k->arrival || !turns))
		rc = contract(k);
	free(k->state);
	free(k->usual);
	free(k->other);
	free(k->arrival);
	free(k->stack);
	free(k->needs.need);
	free(k->list);
	free(k->in);
	free(k->given);
	return rc;
}

int np_contract(const struct np_graph *g, const struct np_tolerance_opt *opt,
		struct np_chain *out, struct np_err *err)
{
	struct np_tolerance_opt own = *opt;
	struct np_cycle cycle;
	struct contract k = { .e = { .g = g, .opt = &own }, .chain = out };
	int rc = 0;

	if (!own.cycle)
		own.cycle = &cycle;
	if (opt->one_cpu || opt->one_link)
		rc = np_orders_make(&k.e, np_loggps_value(&own.net, own.x));
	/*
	 * -EDEADLK: contraction without resource orders finds the cycle and
	 * names it
	 */
	if (!rc || rc == -EDEADLK)
		rc = run(&k);
	np_orders_free(&k.e.orders);
	return contract_error(&k, rc, err);
}

/*
 * From operations to vertices: events in an order of time (a search in depth,
 * so that what an event waits for has its place when its turn comes), where
 * an event that waits for one other alone is only a distance from it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_compact.h"
#include "np_lap.h"

enum { /* of a node, for each of its three events, by shift */
	DONE = 1, OPEN = 8, /* being looked at: what it waits for is above it */
};

struct frame {
	uint32_t event;
	uint32_t next; /* what to look at of what it waits for */
};

struct contract {
	struct np_events e;
	struct np_chain *chain;
	struct np_compact *c; /* the present link */
	uint8_t *state;	      /* of nodes; and who asks for them */
	struct np_edge *at;   /* of events: a + b x after vertex from */
	struct np_edge *arrival;
	struct frame *stack;
	size_t depth, max_depth;
	struct np_edge *in; /* what one event waits for */
	size_t n_in, max_in, thin_at;
	/* If there is a loop: the present stage, and what earlier ones give */
	struct np_laps r;
	enum np_stage stage;
	uint32_t *given; /* events; given[i] is vertex i + 2 */
};

static struct np_edge *at(const struct contract *k, uint32_t event)
{
	size_t node = NP_EVENT_NODE(event), which = NP_EVENT_WHICH(event);

	return which == NP_EVENT_ARRIVAL ? &k->arrival[node] :
					   &k->at[2 * node + which];
}

/* An edge has room for 31 bits of b: longer ones go by way of vertices. */
static int add_in(struct contract *k, const struct np_edge *from, double a,
		  uint64_t b)
{
	struct np_edge edge = *from;

	edge.a += a;
	for (b += (uint64_t)from->b; b > INT32_MAX; b -= INT32_MAX) {
		int rc;

		edge.b = INT32_MAX;
		rc = np_compact_add(k->c, &edge, 1);
		if (rc)
			return rc;
		edge = (struct np_edge){ 0, (uint32_t)k->c->n - 1, 0 };
	}
	edge.b = (int32_t)b;
	if (np_array_room(&k->in, &k->max_in, k->n_in + 1, sizeof(*k->in)))
		return -ENOMEM;
	k->in[k->n_in++] = edge;
	return 0;
}

/* A distance from a vertex if that is all that it is, else a new vertex. */
static int place(struct contract *k, struct np_edge *out)
{
	int rc;

	k->n_in = np_edge_thin(k->in, k->n_in);
	if (k->n_in == 1) {
		*out = k->in[0];
		return 0;
	}
	if (!k->n_in) { /* it waits for nothing: the beginning */
		*out = (struct np_edge){ 0, 0, 0 };
		return 0;
	}
	rc = np_compact_add(k->c, k->in, k->n_in);
	*out = (struct np_edge){ 0, (uint32_t)k->c->n - 1, 0 };
	return rc;
}

static int close_event(struct contract *k, uint32_t event)
{
	struct np_cost cost;
	uint32_t need;

	k->n_in = 0;
	for (size_t i = 0; np_event_needs(&k->e, event, i, &need, &cost);
	     i++) {
		int rc = add_in(k, at(k, need), cost.a, cost.b);

		if (rc)
			return rc;
	}
	return place(k, at(k, event));
}

static int open_event(struct contract *k, uint32_t event)
{
	if (np_array_room(&k->stack, &k->max_depth, k->depth + 1,
			  sizeof(*k->stack)))
		return -ENOMEM;
	k->stack[k->depth++] = (struct frame){ event, 0 };
	k->state[NP_EVENT_NODE(event)] |= OPEN << NP_EVENT_WHICH(event);
	return 0;
}

/* The events from need to the top of the stack wait for each other. */
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

/* Is this event of the present stage? */
static bool here(const struct contract *k, uint32_t event)
{
	uint32_t lap = 0;

	return !k->r.loop.part ||
	       (np_laps_stage(&k->r, event, &lap) == k->stage &&
		(k->stage != NP_WITHIN || lap == k->r.first));
}

static bool given(const struct contract *k, uint32_t event)
{
	uint32_t from;

	if (!(k->state[NP_EVENT_NODE(event)] & DONE << NP_EVENT_WHICH(event)))
		return false;
	from = at(k, event)->from;
	return k->stage && from > 1 && from - 2 < k->r.n_carried &&
	       k->given[from - 2] == event;
}

static int visit(struct contract *k, uint32_t root)
{
	int rc = 0;

	if (k->state[NP_EVENT_NODE(root)] & DONE << NP_EVENT_WHICH(root))
		return 0;
	rc = open_event(k, root);

	while (!rc && k->depth) {
		struct frame *f = &k->stack[k->depth - 1];
		uint32_t event = f->event, need;
		uint32_t shift = NP_EVENT_WHICH(event);
		struct np_cost cost;

		if (np_event_needs(&k->e, event, f->next++, &need, &cost)) {
			unsigned s = k->state[NP_EVENT_NODE(need)] >>
				     NP_EVENT_WHICH(need);

			if (!here(k, need) && !given(k, need))
				rc = -EAGAIN;
			else if (s & OPEN)
				rc = deadlock(k, need);
			else if (!(s & DONE))
				rc = open_event(k, need);
			continue;
		}
		rc = close_event(k, event);
		k->state[NP_EVENT_NODE(event)] &= (uint8_t)~(OPEN << shift);
		k->state[NP_EVENT_NODE(event)] |= (uint8_t)(DONE << shift);
		k->depth--;
	}
	return rc;
}

static void mark_required(struct contract *k)
{
	const struct np_graph *g = k->e.g;

	memset(k->state, 0, g->n_nodes);
	for (size_t i = 0; i < g->n_deps; i++)
		k->state[g->dep[i] >> 1] |= g->dep[i] & 1 ?
						    NP_EVENT_IREQUIRED :
						    NP_EVENT_REQUIRED;
}

/* The ends of all nodes, of the present stage if there are some. */
static int each_end(struct contract *k,
		    int (*look)(struct contract *k, uint32_t node,
				uint32_t event, struct np_cost after))
{
	const struct np_graph *g = k->e.g;
	uint32_t from = 0, to = (uint32_t)g->n_nodes;
	int rc = 0;

	for (size_t part = 0; !rc && part < g->n_parts; part++) {
		if (k->r.loop.part)
			np_laps_range(&k->r, part, k->stage, &from, &to);
		for (uint32_t i = from; !rc && i < to; i++) {
			struct np_cost after;
			uint32_t event = np_event_end(&k->e, i, &after);

			if (here(k, event))
				rc = look(k, i, event, after);
		}
		from = to;
	}
	return rc;
}

static int visit_end(struct contract *k, uint32_t node, uint32_t event,
		     struct np_cost after)
{
	(void)node, (void)after;
	return visit(k, event);
}

/* Of those that nobody waits for. */
static int add_end(struct contract *k, uint32_t node, uint32_t event,
		   struct np_cost after)
{
	int rc;

	/* An eager send is over before its receive is. */
	if ((k->state[node] & NP_EVENT_REQUIRED) ||
	    (k->e.g->node[node].kind == NP_OP_SEND &&
	     !np_event_exists(&k->e, node << 2 | NP_EVENT_THEN)))
		return 0;
	rc = add_in(k, at(k, event), after.a, after.b);
	if (k->n_in >= k->thin_at) { /* many may be equally far */
		k->n_in = np_edge_thin(k->in, k->n_in);
		k->thin_at = 1024 + 2 * k->n_in;
	}
	return rc;
}

/* The end of the program as far as it is known, after what was before. */
static int end(struct contract *k)
{
	int rc = 0;

	k->n_in = 0;
	k->thin_at = 1024;
	if (k->stage)
		rc = add_in(k, &(struct np_edge){ 0, 1, 0 }, 0, 0);
	if (!rc)
		rc = each_end(k, add_end);
	k->n_in = np_edge_thin(k->in, k->n_in);
	return rc ? rc : np_compact_add(k->c, k->in, k->n_in);
}

/* A carried event as the present stage is given it, or as it hands it on. */
static uint32_t carried(const struct contract *k, size_t i, bool handed_on)
{
	const struct np_carried *c = &k->r.carried[i];
	uint32_t laps = k->stage == NP_AFTER ? k->r.end - k->r.first : 0;

	if (handed_on && k->stage == NP_WITHIN)
		laps = 1;
	return c->moves ? np_laps_move(&k->r, c->event, laps) : c->event;
}

/* Vertex 1 is the end of all that was before, then comes what is carried. */
static int take_over(struct contract *k)
{
	int rc = np_compact_add(k->c, NULL, 0);

	for (size_t i = 0; !rc && i < k->c->n_state; i++) {
		uint32_t event;

		k->c->in[i] = (uint32_t)k->c->n;
		rc = np_compact_add(k->c, NULL, 0);
		if (!i)
			continue;
		event = k->given[i - 1] = carried(k, i - 1, false);
		/* Who moves and who stays may be the same at first. */
		if (k->stage == NP_WITHIN && !k->r.carried[i - 1].moves)
			continue;
		*at(k, event) = (struct np_edge){ 0, (uint32_t)i + 1, 0 };
		k->state[NP_EVENT_NODE(event)] |=
			(uint8_t)(DONE << NP_EVENT_WHICH(event));
	}
	return rc;
}

/* What is carried gets a vertex of its own; what only passes by has one. */
static int hand_on(struct contract *k)
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

static int contract_stage(struct contract *k)
{
	int rc = 0;

	k->c = &k->chain->link[k->stage];
	k->chain->n = k->stage + 1;
	if (k->stage != NP_BEFORE)
		rc = np_compact_state(k->c, k->r.n_carried + 1);
	if (!rc)
		rc = take_over(k);
	if (!rc && k->stage == NP_BEFORE && k->r.loop.part)
		rc = np_compact_state(k->c, k->r.n_carried + 1);
	if (!rc)
		rc = each_end(k, visit_end);
	if (!rc && k->stage != NP_AFTER)
		rc = hand_on(k);
	if (!rc)
		rc = end(k);
	if (!rc && k->c->n_state)
		k->c->out[0] = (uint32_t)k->c->n - 1;
	return rc;
}

/* -EAGAIN: not all is in the loop's laps as it has to be. */
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
		k->depth = 0;
		rc = 0;
	}
	k->stage = NP_BEFORE;
	return rc ? rc : contract_stage(k);
}

static int say(const struct contract *k, int rc, struct np_err *err)
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
			       np_graph_say(g, cycle->node[0], buf,
					    sizeof(buf)));
	case -ERANGE:
		return np_errf(err, rc, "%s: more than 2^32 edges", g->name);
	default:
		return np_errf(err, rc, "%s: no memory to contract %zu "
			       "operations", g->name, g->n_nodes);
	}
}

static int run(struct contract *k)
{
	bool turns = k->e.orders.cpu || k->e.orders.link;
	size_t n = k->e.g->n_nodes + 1;
	int rc = -ENOMEM;

	k->state = malloc(n);
	k->e.asked = k->state;
	k->at = malloc(2 * n * sizeof(*k->at));
	if (turns)
		k->arrival = malloc(n * sizeof(*k->arrival));
	if (k->state && k->at && (k->arrival || !turns))
		rc = contract(k);
	free(k->state);
	free(k->at);
	free(k->arrival);
	free(k->stack);
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
		rc = np_orders_make(&k.e, np_loggps_value(&own.net, own.x),
				    NULL, NULL);
	if (!rc || rc == -EDEADLK) /* whose circle is found without turns */
		rc = run(&k);
	np_orders_free(&k.e.orders);
	return say(&k, rc, err);
}

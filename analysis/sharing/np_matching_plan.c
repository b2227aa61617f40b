#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_matching_impl.h"

#define NONE UINT32_MAX

/* Edges of each source, sorted, and what is known of each destination. */
struct graph {
	const struct np_ports *p;
	uint32_t *edge;	 /* by source, then by destination */
	size_t *first;	 /* of each source in edge[]; one more at the end */
	uint32_t *left;	 /* of each destination: sources to come */
	uint32_t *slot;	 /* NONE: it was not opened yet */
	bool *done;	 /* sources: taken */
};

/* Is edge[i] the first of its parallel ones? */
static bool is_first(const struct graph *g, size_t source, size_t i)
{
	return i == g->first[source] ||
	       g->p->in[g->edge[i]] != g->p->in[g->edge[i - 1]];
}

static void graph_free(struct graph *g)
{
	free(g->edge);
	free(g->first);
	free(g->left);
	free(g->slot);
	free(g->done);
}

static int graph_new(const struct np_ports *p, struct graph *g)
{
	*g = (struct graph){
		.p = p, .edge = calloc(p->n, sizeof(*g->edge)),
		.first = calloc(p->n_out + 1, sizeof(*g->first)),
		.left = calloc(p->n_in, sizeof(*g->left)),
		.slot = calloc(p->n_in, sizeof(*g->slot)),
		.done = calloc(p->n_out, sizeof(*g->done)),
	};
	if (!g->edge || !g->first || !g->left || !g->slot || !g->done)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		g->first[p->out[i] + 1]++;
	for (size_t s = 0; s < p->n_out; s++)
		g->first[s + 1] += g->first[s];
	np_ports_sort(p, g->edge);
	memset(g->slot, 0xff, p->n_in * sizeof(*g->slot));
	for (size_t s = 0; s < p->n_out; s++)
		for (size_t i = g->first[s]; i < g->first[s + 1]; i++)
			g->left[p->in[g->edge[i]]] += is_first(g, s, i);
	return 0;
}

/* Destinations that it opens less those that it closes; then, those to come. */
struct cost {
	long open;
	size_t later;
	bool near; /* it shares a destination with those before it */
};

static struct cost cost_of(const struct graph *g, size_t s)
{
	struct cost c = { 0, 0, false };

	for (size_t i = g->first[s]; i < g->first[s + 1]; i++) {
		uint32_t d = g->p->in[g->edge[i]];

		if (!is_first(g, s, i))
			continue;
		if (g->slot[d] == NONE)
			c.open += g->left[d] > 1;
		else
			c.open -= g->left[d] == 1;
		c.later += g->left[d] - 1;
		c.near |= g->slot[d] != NONE;
	}
	return c;
}

static bool is_less(struct cost a, struct cost b)
{
	return a.open != b.open ? a.open < b.open : a.later < b.later;
}

static size_t first_source(const struct graph *g, enum np_matching_order order)
{
	size_t best = 0;

	for (size_t s = 1; s < g->p->n_out; s++)
		if (order == NP_MATCHING_MOST ?
		    g->p->n_of_out[s] > g->p->n_of_out[best] :
		    g->p->n_of_out[s] < g->p->n_of_out[best])
			best = s;
	return best;
}

static size_t next_source(const struct graph *g)
{
	struct cost least = { 0, 0, false };
	size_t best = g->p->n_out;

	for (size_t s = 0; s < g->p->n_out; s++) {
		struct cost c;

		if (g->done[s])
			continue;
		c = cost_of(g, s);
		if (c.near && (best == g->p->n_out || is_less(c, least))) {
			best = s;
			least = c;
		}
	}
	return best;
}

/* Slots are used again once their destination is closed. */
struct slots {
	uint32_t *free;
	size_t n_free, n;
};

static uint32_t take_slot(struct slots *s)
{
	return s->n_free ? s->free[--s->n_free] : (uint32_t)s->n++;
}

static void take(struct graph *g, size_t s, struct slots *slots,
		 struct np_matching_plan *plan, size_t *n_choices)
{
	struct np_matching_step *step = &plan->step[plan->n_steps++];

	*step = (struct np_matching_step){ (uint32_t)s, *n_choices, 0 };
	g->done[s] = true;
	for (size_t i = g->first[s]; i < g->first[s + 1]; i++) {
		uint32_t d = g->p->in[g->edge[i]];
		struct np_matching_choice *c;

		if (is_first(g, s, i)) {
			if (g->slot[d] == NONE)
				g->slot[d] = take_slot(slots);
			g->left[d]--;
			plan->choice[(*n_choices)++] =
				(struct np_matching_choice){
					g->slot[d], 0, !g->left[d] };
			step->n++;
		}
		c = &plan->choice[*n_choices - 1];
		c->times++;
		plan->choice_of[g->edge[i]] = (uint32_t)(*n_choices - 1);
	}
	for (size_t i = 0; i < step->n; i++)
		if (plan->choice[step->first + i].closes)
			slots->free[slots->n_free++] =
				plan->choice[step->first + i].slot;
}

int np_matching_plan(const struct np_ports *p, enum np_matching_order order,
		     struct np_matching_plan *out)
{
	struct np_matching_plan plan = {
		.step = calloc(p->n_out, sizeof(*plan.step)),
		.choice = calloc(p->n, sizeof(*plan.choice)),
		.choice_of = calloc(p->n, sizeof(*plan.choice_of)),
	};
	struct slots slots = { .free = calloc(p->n_in, sizeof(uint32_t)) };
	struct graph g;
	size_t n_choices = 0;
	int rc = graph_new(p, &g);

	if (!plan.step || !plan.choice || !plan.choice_of || !slots.free)
		rc = -ENOMEM;
	for (size_t s = 0; !rc && plan.n_steps < p->n_out;) {
		s = plan.n_steps ? next_source(&g) : first_source(&g, order);
		take(&g, s, &slots, &plan, &n_choices);
	}
	plan.n_slots = slots.n;
	graph_free(&g);
	free(slots.free);
	if (rc)
		np_matching_plan_free(&plan);
	else
		*out = plan;
	return rc;
}

void np_matching_plan_free(struct np_matching_plan *plan)
{
	free(plan->step);
	free(plan->choice);
	free(plan->choice_of);
	memset(plan, 0, sizeof(*plan));
}

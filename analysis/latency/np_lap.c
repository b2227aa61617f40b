#include "np_lap.h"

#include <errno.h>
#include <stdlib.h>

#include "np_array.h"

#define SWEEPS 64
#define MIN_LAPS 8
#define GROUPINGS 4 /* of iterations into longer ones */
#define MARGIN 2    /* laps at both ends, where others may look different */

struct place {
	uint32_t op; /* of an iteration */
	uint32_t iteration;
};

static const struct np_iterations_part *part_of(const struct np_laps *r,
						uint32_t node)
{
	return &r->loop.part[np_graph_part_of(r->e->g, node) - r->e->g->part];
}

/* Where in the loop a node is; false if it is not. */
static bool locate(const struct np_laps *r, uint32_t node,
		   struct place *out)
{
	const struct np_iterations_part *p = part_of(r, node);

	if (!p->period || node < p->first)
		return false;
	out->op = p->base + (node - p->first) % p->period;
	out->iteration = (node - p->first) / p->period;
	return out->iteration < r->loop.times;
}

enum np_stage np_laps_stage(const struct np_laps *r, uint32_t event,
			    uint32_t *lap)
{
	uint32_t node = NP_EVENT_NODE(event);
	const struct np_iterations_part *p = part_of(r, node);
	struct place at;

	if (!p->period || node < p->first)
		return NP_BEFORE;
	if (!locate(r, node, &at))
		return NP_AFTER;
	*lap = at.iteration + r->lag[at.op << 1 | NP_EVENT_WHICH(event)];
	return *lap < r->first ? NP_BEFORE :
	       *lap < r->end ? NP_WITHIN : NP_AFTER;
}

uint32_t np_laps_move(const struct np_laps *r, uint32_t event, uint32_t laps)
{
	return event + (laps * part_of(r, NP_EVENT_NODE(event))->period << 2);
}

void np_laps_range(const struct np_laps *r, size_t part, enum np_stage stage,
		   uint32_t *from, uint32_t *to)
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

/* Event k of an iteration: of its operation k >> 1. */
static uint32_t event_of(const struct np_laps *r, uint32_t k,
			 uint32_t iteration)
{
	const struct np_lap_op *op = &r->op[k >> 1];

	return (op->node + iteration * op->period) << 2 | (k & 1);
}

/*
 * How many laps event k of an iteration is behind what it needs, or before
 * it if that is negative.  False if what it needs is not in the loop.
 */
static bool behind(const struct np_laps *r, uint32_t k, uint32_t iteration,
		   uint32_t need, int64_t *laps)
{
	struct place on;

	if (!locate(r, NP_EVENT_NODE(need), &on))
		return false;
	*laps = (int64_t)iteration + r->lag[k] - on.iteration -
		  r->lag[on.op << 1 | NP_EVENT_WHICH(need)];
	return true;
}

/*
 * Lags with which no event is of an earlier lap than what it needs; *most:
 * how many laps later it is at most.  False if there are none.
 */
static bool find_lags(struct np_laps *r, int64_t *most)
{
	uint32_t middle = r->loop.times / 2, sweeps = 0;
	bool changed = true;

	while (changed && sweeps++ < SWEEPS) {
		changed = false;
		*most = 0;
		for (uint32_t k = 0; k < 2 * r->loop.ops; k++) {
			uint32_t event = event_of(r, k, middle), need;
			struct np_cost cost;
			int64_t laps;

			if (!np_event_exists(r->e, event))
				continue;
			for (size_t i = 0; np_event_needs(r->e, event, i, &need,
							  &cost); i++) {
				if (!behind(r, k, middle, need, &laps))
					return false;
				if (laps > *most)
					*most = laps;
				if (laps >= 0)
					continue;
				r->lag[k] += (uint32_t)-laps;
				changed = true;
				if (r->lag[k] > r->loop.times / 4)
					return false;
			}
		}
	}
	return !changed;
}

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

/* So many iterations are one. */
static void group(struct np_iterations *l, size_t n_parts, uint32_t n)
{
	for (size_t i = 0; i < n_parts; i++) {
		l->part[i].period *= n;
		l->part[i].base *= n;
	}
	l->ops *= n;
	l->times /= n;
}

/* Returns -EDOM if there are no such laps. */
static int find_laps(struct np_laps *r)
{
	size_t n_parts = r->e->g->n_parts;
	int64_t most = 2;

	for (int i = 0; i < GROUPINGS && most > 1; i++) {
		if (i)
			group(&r->loop, n_parts, (uint32_t)most);
		if (list_ops(r, n_parts))
			return -ENOMEM;
		if (!find_lags(r, &most) || most > r->loop.times)
			return -EDOM;
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

static int carry(struct np_laps *r, uint32_t event, bool moves)
{
	if (np_array_room(&r->carried, &r->max_carried, r->n_carried + 1,
			  sizeof(*r->carried)))
		return -ENOMEM;
	r->carried[r->n_carried++] = (struct np_carried){ event, moves };
	return 0;
}

/* What an event needs of earlier stages, or of the lap before its own. */
static int carry_needs(struct np_laps *r, uint32_t event,
		       enum np_stage stage)
{
	struct np_cost cost;
	uint32_t need;
	int rc = 0;

	for (size_t i = 0; !rc && np_event_needs(r->e, event, i, &need, &cost);
	     i++) {
		uint32_t lap = 0;
		enum np_stage from = np_laps_stage(r, need, &lap);

		if (from == NP_BEFORE)
			rc = carry(r, need, stage == NP_WITHIN);
		else if (from == NP_WITHIN && stage == NP_AFTER)
			rc = lap + 1 == r->end ?
				     carry(r, np_laps_move(r, need, r->first -
							   r->end), true) :
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

static void each_once(struct np_laps *r)
{
	size_t n = 0;

	if (r->n_carried)
		qsort(r->carried, r->n_carried, sizeof(*r->carried), by_event);
	for (size_t i = 0; i < r->n_carried; i++)
		if (!n || by_event(&r->carried[n - 1], &r->carried[i]))
			r->carried[n++] = r->carried[i];
	r->n_carried = n;
}

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
	each_once(r);
	return rc;
}

int np_laps_find(const struct np_events *e, struct np_laps *out)
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

void np_laps_free(struct np_laps *r)
{
	np_iterations_free(&r->loop);
	free(r->op);
	free(r->lag);
	free(r->carried);
	*r = (struct np_laps){ .first = 0 };
}

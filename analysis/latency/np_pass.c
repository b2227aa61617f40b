/*
 * Through a single graph go times alone, and slopes from them.  A pass that
 * carries slopes asks at each edge which of two it keeps, and fetches twice as
 * much.  So slopes come afterwards, from the end backwards along what is on a
 * longest path: mostly a few vertices of very many.
 */
#include "np_pass.h"

#include <stdlib.h>

#include "np_bits.h"

/*
 * Edges and times of some vertices later: a processor fetches ahead by itself,
 * but not from one page into the next.  Behind the last one nothing happens.
 */
static inline void fetch(const struct np_edge *e, const void *t)
{
	__builtin_prefetch((const char *)e + 6144);
	__builtin_prefetch((const char *)t + 1024, 1);
}

static void times(const struct np_compact *c, double x, struct np_room *room)
{
	const struct np_edge *e = c->edge;
	double *t = (double *)room->at;

	t[0] = 0;
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		double late = 0;

		fetch(e, &t[v]);
		for (; e != end; e++) {
			double at = t[e->from] + (e->a + e->b * x);

			late = late > at ? late : at;
		}
		t[v] = late;
	}
}

/* From a vertex to the end, the least and the greatest: behind the times. */
static np_pair *slopes(const struct np_compact *c, const struct np_room *room)
{
	return room->at + (c->n + 1) / 2;
}

/*
 * From vertex v, which some of the longest paths to the end pass: to those
 * before it on them.
 */
static void follow(const struct np_compact *c, double x, double tol,
		   struct np_room *room, uint32_t v)
{
	const struct np_edge *end = c->edge + c->first[v + 1];
	const double *t = (const double *)room->at;
	np_pair *s = slopes(c, room);

	for (const struct np_edge *e = c->edge + c->first[v]; e != end; e++) {
		np_pair slope = s[v] + e->b;

		/* It may be next, whatever is found below. */
		__builtin_prefetch(c->edge + c->first[e->from]);
		if (t[e->from] + (e->a + e->b * x) < t[v] - tol)
			continue;
		if (np_bits_test(room->reached, e->from)) {
			np_pair was = s[e->from];

			slope[0] = slope[0] < was[0] ? slope[0] : was[0];
			slope[1] = slope[1] > was[1] ? slope[1] : was[1];
		}
		np_bits_set(room->reached, e->from);
		s[e->from] = slope;
	}
}

/*
 * Of a graph that is no chain, as np_pass_both().  All from are below v, so
 * that nobody is reached after its turn.
 */
static void pass_one(const struct np_compact *c, double x, double tol,
		     struct np_room *room, struct np_point side[2])
{
	const double *t = (const double *)room->at;
	uint64_t *reached = room->reached;
	np_pair *s = slopes(c, room);

	times(c, x, room);
	s[0] = s[c->n - 1] = (np_pair){ 0, 0 };
	np_bits_set(reached, c->n - 1);
	for (size_t w = np_bits_words(c->n); w--;)
		while (reached[w]) {
			uint32_t bit = NP_BITS_WORD - 1 - (uint32_t)
				__builtin_clzll(reached[w]);
			uint32_t v = (uint32_t)(NP_BITS_WORD * w) + bit;

			follow(c, x, tol, room, v);
			np_bits_clear(reached, v);
		}
	for (int k = 0; k < 2; k++)
		side[k] = (struct np_point){ t[c->n - 1], s[0][k] };
}

/* One instruction, where there is one. */
static inline np_pair later(np_pair a, np_pair b)
{
	return (np_pair){ a[0] > b[0] ? a[0] : b[0],
			  a[1] > b[1] ? a[1] : b[1] };
}

/*
 * Of such a graph, as np_pass_times().  By name and not in a loop, as what is
 * in an array goes through memory.
 */
static void pass_four(const struct np_compact *c, const double *x,
		      struct np_room *room, double *out)
{
	const np_pair x0 = { x[0], x[1] }, x1 = { x[2], x[3] };
	const struct np_edge *e = c->edge;
	np_pair *t = room->at;

	t[0] = t[1] = (np_pair){ 0, 0 };
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		np_pair late0 = { 0, 0 }, late1 = { 0, 0 };

		fetch(e, &t[2 * v]);
		for (; e != end; e++) {
			const np_pair *from = t + 2 * (size_t)e->from;

			late0 = later(late0, from[0] + (e->a + e->b * x0));
			late1 = later(late1, from[1] + (e->a + e->b * x1));
		}
		t[2 * v] = late0;
		t[2 * v + 1] = late1;
	}
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = t[2 * (c->n - 1) + k / 2][k % 2];
}

static struct np_point pass_chain(const struct np_chain *c,
				  const struct np_pass *p,
				  struct np_room *room)
{
	const np_pair *state = room->state[0];
	np_pair last;

	for (size_t i = 0; i < c->n; i++) {
		np_pass_laps(&c->link[i], p, room->at, state,
			     room->state[0], 1);
		state = room->state[0];
		if (i == 0 && c->n > 1)
			state = np_repeat(&c->link[++i], p, room, c->times);
	}
	last = room->at[c->link[c->n - 1].n - 1];
	return p->which == NP_FAR ? (struct np_point){ last[1], last[0] } :
				    (struct np_point){ last[0], last[1] };
}

struct np_point np_pass(const struct np_chain *c, const struct np_pass *p,
			struct np_room *room)
{
	struct np_point side[2];

	if (c->n > 1 || p->which == NP_FAR)
		return pass_chain(c, p, room);
	pass_one(&c->link[0], p->x, p->tol, room, side);
	return side[p->which == NP_STEEPEST];
}

void np_pass_both(const struct np_chain *c, double x, double tol,
		  struct np_room *room, struct np_point side[2])
{
	struct np_pass p = { NP_FLATTEST, x, tol };

	if (c->n == 1) {
		pass_one(&c->link[0], x, tol, room, side);
		return;
	}
	side[0] = np_pass(c, &p, room);
	p.which = NP_STEEPEST;
	side[1] = np_pass(c, &p, room);
}

void np_pass_times(const struct np_chain *c, const double *x,
		   struct np_room *room, double *out)
{
	if (c->n == 1) {
		pass_four(&c->link[0], x, room, out);
		return;
	}
	/* Each goes on in its own way. */
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = np_pass(c, &(struct np_pass){ NP_STEEPEST, x[k], 0 },
				 room).t;
}

struct np_room *np_room_new(const struct np_chain *c)
{
	struct np_room *r = calloc(1, sizeof(*r));
	size_t n = 0, n_state = c->link[0].n_state;
	bool ok = r;

	for (size_t i = 0; i < c->n; i++)
		n = c->link[i].n > n ? c->link[i].n : n;
	if (ok) { /* for pass_four(), two of each */
		r->at = np_compact_room(n, NP_PASS_TIMES * sizeof(double));
		r->reached = calloc(np_bits_words(n), sizeof(*r->reached));
		if (c->n > 1)
			r->later = malloc(c->link[1].n * sizeof(*r->later));
		ok = r->at && r->reached && (r->later || c->n == 1);
	}
	for (size_t k = 0; ok && k < NP_ARRAY_SIZE(r->state); k++) {
		r->state[k] = malloc((n_state + 1) * sizeof(**r->state));
		ok = r->state[k];
	}
	if (ok)
		return r;
	np_room_free(r);
	return NULL;
}

void np_room_free(struct np_room *r)
{
	if (!r)
		return;
	free(r->at);
	free(r->later);
	free(r->reached);
	for (size_t k = 0; k < NP_ARRAY_SIZE(r->state); k++)
		free(r->state[k]);
	free(r);
}

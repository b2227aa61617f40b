#include "np_pass_impl.h"

#include <stdlib.h>

#include "np_bits.h"

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
	np_pass_one(&c->link[0], p->x, p->tol, room, side);
	return side[p->which == NP_STEEPEST];
}

void np_pass_both(const struct np_chain *c, double x, double tol,
		  struct np_room *room, struct np_point side[2])
{
	struct np_pass p = { NP_FLATTEST, x, tol };

	if (c->n == 1) {
		np_pass_one(&c->link[0], x, tol, room, side);
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
		np_pass_four(&c->link[0], x, room, out);
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
	if (ok) { /* for np_pass_four(), two of each */
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

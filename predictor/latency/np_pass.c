#include "np_pass_impl.h"

#include <stdlib.h>

struct np_point np_pass(const struct np_chain *c, const struct np_pass *p,
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

static void times_of(const struct np_compact *c, const double *x, double *t,
		     double *out)
{
	const struct np_edge *e = c->edge;

	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		t[k] = 0;
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		double late[NP_PASS_TIMES] = { 0 };

		for (; e < end; e++) {
			const double *from = t + NP_PASS_TIMES * e->from;

			for (size_t k = 0; k < NP_PASS_TIMES; k++) {
				double at = from[k] + (e->a + e->b * x[k]);

				late[k] = at > late[k] ? at : late[k];
			}
		}
		for (size_t k = 0; k < NP_PASS_TIMES; k++)
			t[NP_PASS_TIMES * v + k] = late[k];
	}
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = t[NP_PASS_TIMES * (c->n - 1) + k];
}

void np_pass_times(const struct np_chain *c, const double *x,
		   struct np_room *room, double *out)
{
	if (c->n == 1) {
		times_of(&c->link[0], x, (double *)room->at, out);
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
	if (ok) { /* for times_of(), two of each */
		r->at = malloc(n * NP_PASS_TIMES * sizeof(double));
		if (c->n > 1)
			r->later = malloc(c->link[1].n * sizeof(*r->later));
		ok = r->at && (r->later || c->n == 1);
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
	for (size_t k = 0; k < NP_ARRAY_SIZE(r->state); k++)
		free(r->state[k]);
	free(r);
}

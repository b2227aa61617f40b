#include "np_pass_impl.h"

/*
 * The later time, and its slope; of times that are equal the slope that is
 * wanted.
 */
static inline void walk(const struct np_compact *c, const struct np_pass *p,
			double tol, bool steepest, np_pair *at)
{
	const struct np_edge *e = c->edge;

	at[0] = (np_pair){ 0, 0 };
	for (size_t v = 1 + c->n_given; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		np_pair last = { 0, 0 };

		if (e < end) {
			last = at[e->from] + np_pass_edge(p, e);
			e++;
		}
		for (; e < end; e++) {
			np_pair q = at[e->from] + np_pass_edge(p, e);
			bool wanted = steepest ? q[1] > last[1] :
						 q[1] < last[1];
			double more = q[0] - last[0];

			last[0] = more > 0 ? q[0] : last[0];
			last[1] = more > (wanted ? -tol : tol) ? q[1] :
								 last[1];
		}
		at[v] = last;
	}
}

/* One loop for each, without a question in it that has one answer. */
void np_pass_link(const struct np_compact *c, const struct np_pass *p,
		  np_pair *at)
{
	switch (p->which) {
	case NP_STEEPEST:
		walk(c, &(struct np_pass){ NP_STEEPEST, p->x, 0 }, p->tol,
		     true, at);
		break;
	case NP_FLATTEST:
		walk(c, &(struct np_pass){ NP_STEEPEST, p->x, 0 }, p->tol,
		     false, at);
		break;
	case NP_FAR:
		walk(c, &(struct np_pass){ .which = NP_FAR }, 0, true, at);
		break;
	}
}

void np_pass_laps(const struct np_compact *c, const struct np_pass *p,
		  np_pair *at, const np_pair *from, np_pair *to,
		  size_t times)
{
	for (; times; times--, from = to) {
		for (size_t i = 0; i < c->n_state; i++)
			if (c->in[i])
				at[c->in[i]] = from[i];
		np_pass_link(c, p, at);
		for (size_t i = 0; i < c->n_state; i++)
			to[i] = at[c->out[i]];
	}
}

/* For np_pass*.c and np_repeat.c. */
#ifndef NP_PASS_IMPL_H
#define NP_PASS_IMPL_H

#include "np_pass.h"

struct np_room {
	np_pair *at, *later; /* of vertices, and those some laps later */
	np_pair *state[5];   /* what goes from link to link */
	uint64_t *reached;   /* bits of vertices, between passes 0 */
};

/* How long an edge is, and how steep. */
static inline np_pair np_pass_edge(const struct np_pass *p,
				   const struct np_edge *e)
{
	return p->which == NP_FAR ? (np_pair){ e->b, e->a } :
				    (np_pair){ e->a + e->b * p->x, e->b };
}

/*
 * Of a graph that is no chain (np_pass_times.c): as np_pass_both(), and as
 * np_pass_times().
 */
void np_pass_one(const struct np_compact *c, double x, double tol,
		 struct np_room *room, struct np_point side[2]);
void np_pass_four(const struct np_compact *c, const double *x,
		  struct np_room *room, double *out);

/* The times of all vertices of a link, where those given are there. */
void np_pass_link(const struct np_compact *c, const struct np_pass *p,
		  np_pair *at);

/* The same from state to state, so many times; they may be one. */
void np_pass_laps(const struct np_compact *c, const struct np_pass *p,
		  np_pair *at, const np_pair *from, np_pair *to,
		  size_t times);

/*
 * The state after so many laps, from room->state[0]; returns where it is
 * among room->state.
 */
const np_pair *np_repeat(const struct np_compact *c, const struct np_pass *p,
			 struct np_room *room, uint32_t times);

#endif

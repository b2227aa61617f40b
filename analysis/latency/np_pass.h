/*
 * A pass over a chain of compact graphs: its longest path for one x, or for
 * several.
 *
 * What a chain repeats is passed again and again only until it is plain how
 * it goes on.
 */
#ifndef NP_PASS_H
#define NP_PASS_H

#include <stdbool.h>

#include "np_compact.h"

#define NP_PASS_TIMES 4 /* values of x that go through a graph together */

/*
 * Of a vertex: its time, and the slope of that; for x without bound the slope
 * comes first, as it decides.
 */
typedef double np_pair __attribute__((vector_size(16), may_alias));

/* Which of two paths is taken. */
struct np_pass {
	enum { NP_STEEPEST, NP_FLATTEST, NP_FAR } which;
	double x;
	double tol; /* of paths that differ by less the steepest, flattest */
};

struct np_point {
	double t, s;
};

/* Room for passes, for the chain that it was made for. */
struct np_room {
	np_pair *at, *later; /* of vertices, and those some laps later */
	np_pair *state[5];   /* what goes from link to link */
	uint64_t *reached;   /* bits of vertices, between passes 0 */
};

struct np_room *np_room_new(const struct np_chain *c);
void np_room_free(struct np_room *r); /* NULL is allowed */

/*
 * For NP_FAR: the steepest path for x without bound, of those the longest at
 * x = 0.
 */
struct np_point np_pass(const struct np_chain *c, const struct np_pass *p,
			struct np_room *room);

/* Those at x of the flattest and of the steepest path. */
void np_pass_both(const struct np_chain *c, double x, double tol,
		  struct np_room *room, struct np_point side[2]);

/* Times alone, for NP_PASS_TIMES values. */
void np_pass_times(const struct np_chain *c, const double *x,
		   struct np_room *room, double *out);

#endif

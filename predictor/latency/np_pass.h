/*
 * A pass over a compact graph: its longest path for one x, or for several.
 * Room for what is written to is the caller's.
 */
#ifndef NP_PASS_H
#define NP_PASS_H

#include <stdbool.h>

#include "np_compact.h"

#define NP_PASS_TIMES 4 /* values of x that go through the graph together */

/* Of a vertex: its time, and the slope of that. */
struct np_point {
	double t, s;
};

/*
 * Of paths whose times differ by less than tol, the steepest or the flattest.
 * point: of all vertices; returns that of the last.
 */
struct np_point np_pass_at(const struct np_compact *c, double x, double tol,
			   bool steepest, struct np_point *point);

/* For x without bound: the steepest path, of those the longest at x = 0. */
struct np_point np_pass_far(const struct np_compact *c,
			    struct np_point *point);

/* Times alone, for NP_PASS_TIMES values; t: so many of each vertex. */
void np_pass_times(const struct np_compact *c, const double *x, double *t,
		   double *out);

#endif

/* Internals of np_tolerance.c, for its benchmarks. */
#ifndef NP_TOLERANCE_IMPL_H
#define NP_TOLERANCE_IMPL_H

#include "np_pass.h"

#define NP_TOLERANCE_THREADS 8

struct np_tolerance {
	struct np_chain c;
	/* one for each thread so far */
	struct np_workspace *room[NP_TOLERANCE_THREADS];
	unsigned threads;     /* as in np_tolerance_opt */
	struct np_point far;	/* T approaches far.t + far.s x from above */
	double at_0;
};

/* T at x and its slope to the left or right. */
struct np_point np_tolerance_side(struct np_tolerance *t, double x,
				  bool right);

/* Times that differ by less than this are treated as equal. */
double np_tolerance_tie(const struct np_tolerance *t, double x);

#endif

/* For np_tolerance*.c. */
#ifndef NP_TOLERANCE_IMPL_H
#define NP_TOLERANCE_IMPL_H

#include "np_compact.h"
#include "np_pass.h"
#include "np_tolerance.h"

#define NP_TOLERANCE_THREADS 8

struct np_tolerance {
	struct np_chain c;
	struct np_room *room[NP_TOLERANCE_THREADS]; /* the first, or more */
	unsigned threads;     /* as in np_tolerance_opt */
	struct np_point far;	/* T comes near far.t + far.s x from above */
	double at_0;
};

/* T at x, and its slope on one side. */
struct np_point np_tolerance_side(struct np_tolerance *t, double x,
				  bool right);

/*
 * work() for each i < n, on several threads where that pays (np_tolerance.h),
 * each of which has a room of its own.
 */
typedef void np_tolerance_work(const struct np_tolerance *t,
			       struct np_room *room, size_t i, void *arg);
void np_tolerance_each(struct np_tolerance *t, size_t n,
		       np_tolerance_work *work, void *arg);

/* Times that differ by less are equal. */
double np_tolerance_tie(const struct np_tolerance *t, double x);

#endif

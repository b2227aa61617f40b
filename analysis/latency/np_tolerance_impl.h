/* Internals of np_tolerance.c, for its benchmarks. */
#ifndef NP_TOLERANCE_IMPL_H
#define NP_TOLERANCE_IMPL_H

#include <stdbool.h>

#include "np_contract.h"

/*
 * ---- A pass over a chain of compact graphs ----
 *
 * The length of its longest path at one x, or at several. The slice that stands
 * for many equal ones is passed repeatedly only until its further course is
 * certain.
 */

#define NP_PASS_TIMES 4 /* values of x that one pass serves */

/*
 * Time of a vertex and the slope of that time. For x without bound the slope
 * comes first, because it decides.
 */
typedef double np_pair __attribute__((vector_size(16), may_alias));

/* What a pass computes. */
struct np_pass {
	enum { NP_STEEPEST, NP_FLATTEST, NP_ASYMPTOTE } which;
	double x;
	/* among paths whose times differ by less, the slope decides */
	double tol;
};

struct np_point {
	double t, s;
};

/* Memory for passes over one particular chain. */
struct np_workspace {
	np_pair *at, *later; /* by vertex; and the same some slices later */
	np_pair *state[5];   /* values passed from link to link */
	uint64_t *reached;   /* one bit for each vertex; 0 between passes */
};

struct np_workspace *np_workspace_new(const struct np_chain *c);
void np_workspace_free(struct np_workspace *r); /* NULL is allowed */

/*
 * Passes once over the chain. With NP_ASYMPTOTE: the steepest path for x without
 * bound, and of several such paths the one that is longest at x = 0.
 */
struct np_point np_pass(const struct np_chain *c, const struct np_pass *p,
			struct np_workspace *room);

/* The flattest and the steepest of the longest paths at x. */
void np_pass_both(const struct np_chain *c, double x, double tol,
		  struct np_workspace *room, struct np_point side[2]);

/* Only times, for NP_PASS_TIMES values of x. */
void np_pass_times(const struct np_chain *c, const double *x,
		   struct np_workspace *room, double *out);

/* ---- Tolerance ---- */

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

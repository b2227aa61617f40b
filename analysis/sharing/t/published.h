/*
 * Published examples of penalties: small graphs computed by hand, and figure 5
 * and the graphs MK1 and MK2 of Vienne et al. 2008, whose pictures are lost and
 * whose arcs follow from the printed numbers (doc/validation/methods.md).
 */
#ifndef NP_T_PUBLISHED_H
#define NP_T_PUBLISHED_H

#include "np_sharing.h"

/* Models of np_sharing.h. */
enum { GIGE, MYRINET, INFINIBAND, MAXMIN, T_N_MODELS };

#define T_COMMS 10 /* most communications of one example */

struct t_published {
	const char *name;
	size_t n; /* communications; all arrays below have n values */
	struct np_comm c[T_COMMS];
	/* Of the Myrinet model: state sets, and those with each c[]. */
	double sets, emission[T_COMMS];
	/* Time over the time alone while all communicate. */
	double penalty[T_N_MODELS][T_COMMS];
	/* The same over whole transfers of one size that start together. */
	double myrinet_dynamic[T_COMMS], maxmin_dynamic[T_COMMS];
};

extern const struct t_published t_published[]; /* ends with a NULL name */

#endif

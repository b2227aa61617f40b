/*
 * Published examples of penalties: small graphs computed by hand, and figure 5
 * and the graphs MK1 and MK2 of Vienne et al. 2008, whose pictures are lost and
 * whose arcs follow from the printed numbers (doc/validation/methods.md).
 */
#ifndef NP_T_PUBLISHED_H
#define NP_T_PUBLISHED_H

#include "np_sharing.h"

enum { GIGE, MYRINET, INFINIBAND, MAXMIN, T_N_MODELS };

#define T_COMMS 10

struct t_published {
	const char *name;
	size_t n;
	struct np_comm c[T_COMMS];
	/* number of state sets, and of those with each communication */
	double sets, emission[T_COMMS];
	double penalty[T_N_MODELS][T_COMMS];
	/* simultaneous transfers of one size, relative to the time alone */
	double myrinet_dynamic[T_COMMS], maxmin_dynamic[T_COMMS];
};

extern const struct t_published t_published[]; /* ends with a NULL name */

#endif

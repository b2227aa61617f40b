/*
 * The published examples of penalties: small graphs by hand, figure 5 and the
 * graphs MK1 and MK2 of Vienne et al. 2008, whose pictures are lost and whose
 * arcs follow from the printed numbers (doc/validation/methods.md).
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
	double sets, emission[T_COMMS]; /* state sets, and those with each */
	double penalty[T_N_MODELS][T_COMMS];
	/* all of one size, together; in times alone */
	double myrinet_dynamic[T_COMMS], maxmin_dynamic[T_COMMS];
};

extern const struct t_published t_published[]; /* ends with a NULL name */

#endif

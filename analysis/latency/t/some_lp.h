/* The run time of a graph, from a linear programming solver (Clp). */
#ifndef NP_T_SOME_LP_H
#define NP_T_SOME_LP_H

#include "np_tolerance.h"

/* T at x and a slope between the two one-sided slopes. */
void some_lp(const struct np_graph *g, const struct np_tolerance_opt *opt,
	     double x, double *ns, double *slope);

#endif

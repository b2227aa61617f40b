/* Internals of np_sharing.c, for np_flows.c. */
#ifndef NP_SHARING_IMPL_H
#define NP_SHARING_IMPL_H

#include "np_sharing.h"

/* Penalties of a model, raised to at least 1. */
int np_sharing_penalties(const struct np_sharing_model *m,
		   const struct np_sharing_param *p, const struct np_comm *c,
		   size_t n, double *penalty, struct np_err *err);

/*
 * The rate to which a switch of capacity `fabric` limits these n; INFINITY: no
 * limit. Sorts rate[].
 */
double np_sharing_limit_rate(double fabric, double *rate, size_t n);

/* Returns 0, or -EINVAL for an invalid communication. */
int np_sharing_check_comm(const struct np_sharing_param *p, struct np_comm c,
			  size_t n_nodes, struct np_err *err);

#endif

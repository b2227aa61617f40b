/* What np_sharing.c has for others in this room. */
#ifndef NP_SHARING_IMPL_H
#define NP_SHARING_IMPL_H

#include "np_sharing.h"

/* Penalties as the model has them, clamped at 1. */
int np_sharing_ask(const struct np_sharing_model *m,
		   const struct np_sharing_param *p, const struct np_comm *c,
		   size_t n, double *penalty, struct np_err *err);

/*
 * The rate to which a switch that carries `fabric` cuts these n; INFINITY: it
 * carries them all.  Sorts rate[].
 */
double np_sharing_cut(double fabric, double *rate, size_t n);

/* Returns 0 or -EINVAL: such a communication cannot be. */
int np_sharing_check_comm(const struct np_sharing_param *p, struct np_comm c,
			  size_t n_nodes, struct np_err *err);

#endif

/*
 * What the models give: penalties of n > 0 communications, from != to, whose
 * nodes may be any numbers.  Parameters were checked.  They need not clamp at
 * 1.  Return 0, -ENOMEM or -E2BIG with err.
 *
 * Each depends only on what is connected to a communication by others with the
 * same source or the same destination; np_flows.c relies on it.
 */
#ifndef NP_SHARING_IMPL_H
#define NP_SHARING_IMPL_H

#include "np_sharing.h"

int np_sharing_gige(const struct np_sharing_param *p, const struct np_comm *c,
		    size_t n, double *penalty, struct np_err *err);
int np_sharing_myrinet(const struct np_sharing_param *p,
		       const struct np_comm *c, size_t n, double *penalty,
		       struct np_err *err);
int np_sharing_infiniband(const struct np_sharing_param *p,
			  const struct np_comm *c, size_t n, double *penalty,
			  struct np_err *err);
int np_sharing_maxmin(const struct np_sharing_param *p,
		      const struct np_comm *c, size_t n, double *penalty,
		      struct np_err *err);

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

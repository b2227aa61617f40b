/*
 * Fits the parameters of a penalty model to measured times.
 *
 * Minimises the sum of squared relative errors over all measured
 * communications, with each case simulated over time (np_sharing.h). For the
 * measurements that [V] uses, the result agrees with the formulas there: beta =
 * P / k for k communications of one node, gamma_o = 1 - ta / (3 beta Tref),
 * gamma_i = 1 - tf / (3 beta Tref) for the weak one of three that leave or
 * enter a node.
 *
 * A parameter that no measured communication depends on keeps its value. The
 * search is a Nelder-Mead simplex from several starting points; it ends early
 * if the measured times are met exactly.
 */
#ifndef NP_SHARING_FIT_H
#define NP_SHARING_FIT_H

#include "np_scheme.h"

enum { NP_SHARING_FIT_MAX = 3 }; /* maximum number of parameters of a model */

struct np_sharing_fit {
	size_t n_param;			      /* of the model; may be 0 */
	const char *name[NP_SHARING_FIT_MAX]; /* "beta", ... */
	double value[NP_SHARING_FIT_MAX];
	/* False: not changed, because no measurement depends on it. */
	bool fitted[NP_SHARING_FIT_MAX];
	size_t n;	    /* number of measured communications */
	double mean_error;  /* mean |modelled / measured - 1|, after fitting */
	double mean_before; /* the same with the initial parameters */
};

/*
 * Fit the parameters of a model to n schemes, of which the communications, the
 * numbers of nodes and the times are used. param: initial parameters; on
 * success the fitted ones. Returns 0; -ENODATA (nothing was measured); -EINVAL
 * (a measured time that is not above 0, or an error of np_sharing_dynamic());
 * -E2BIG or -ENOMEM.
 */
int np_sharing_fit(const struct np_sharing_model *model,
		   const struct np_scheme *schemes, size_t n,
		   struct np_sharing_param *param, struct np_sharing_fit *out,
		   struct np_err *err);

#endif

/*
 * Parameters of a penalty model from measured times.
 *
 * Least squares of the relative errors over all measured communications, each
 * case played dynamically (np_sharing.h).  Where the measurements are those of
 * [V] the answer is that of its formulas: beta = P / k of k communications of
 * one node, gamma_o = 1 - ta / (3 beta Tref), gamma_i = 1 - tf / (3 beta Tref)
 * for the weak one of three that leave or enter a node.
 *
 * A parameter that no measured communication depends on keeps its value.
 * The search is by the simplex of Nelder and Mead from several starts, which ends
 * where the measured times are met exactly.
 */
#ifndef NP_SHARING_FIT_H
#define NP_SHARING_FIT_H

#include "np_sharing.h"

/* Communications that were measured together. */
struct np_sharing_case {
	const struct np_comm *c;
	size_t n, n_nodes;
	const double *start_sec, *alone_sec;
	const double *took_sec; /* from start to end; NAN: not measured */
};

enum { NP_SHARING_FIT_MAX = 3 }; /* most parameters of a model */

struct np_sharing_fit {
	size_t n_param; /* of the model; 0: it has none */
	const char *name[NP_SHARING_FIT_MAX]; /* "beta", ... */
	double value[NP_SHARING_FIT_MAX];
	bool fitted[NP_SHARING_FIT_MAX]; /* false: kept, as nothing depends */
	size_t n;	     /* measured communications */
	double mean_error;   /* mean |modelled / measured - 1|, after */
	double mean_before;  /* the same with the parameters as they were */
};

/*
 * p: where to begin; the fitted parameters on success.  Returns 0; -ENODATA:
 * nothing was measured; -EINVAL: a measured time that is not more than 0, or
 * what np_sharing_dynamic() says; -E2BIG, -ENOMEM.
 */
int np_sharing_fit(const struct np_sharing_model *m,
		   const struct np_sharing_case *s, size_t n,
		   struct np_sharing_param *p, struct np_sharing_fit *out,
		   struct np_err *err);

#endif

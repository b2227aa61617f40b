/* What the methods of np_qn.h share; private to this directory. */
#ifndef NP_QN_IMPL_H
#define NP_QN_IMPL_H

#include "np_qn.h"

/*
 * A network for mean value analysis: single-server queues, plus the part of a
 * cycle that does not depend on other customers.
 */
struct np_qn_flat {
	size_t n_queues;
	double *demand;	   /* [c * n_queues + q] */
	double *r;	   /* same index: residence times, set by the method */
	double *fixed_sec; /* by class: think time and delays */
};

/* A method and its restrictions. */
struct np_qn_solver {
	const char *name;
	/* what to use for too large a network; NULL: linearizer */
	const char *instead;
	/* Message for load-dependent stations; NULL: supported. */
	const char *refusal;
	bool servers; /* multi-server queues are supported */
	struct np_qn_cost (*cost)(const struct np_qn *net);
	/*
	 * Computes the throughputs in out, and f->r. A method that supports
	 * load-dependent stations gets no f, which cannot represent them, and
	 * fills all of out. Returns 0, -ENOMEM, or -ELOOP with err.
	 */
	int (*run)(const struct np_qn *net, const struct np_qn_flat *f,
		   const struct np_qn_cost *max, struct np_qn_solution *out,
		   struct np_err *err);
};

/* Solves a network with a method; returns as np_qn_method. */
int np_qn_solve(const struct np_qn_solver *way, const struct np_qn *net,
		const struct np_qn_cost *max, struct np_qn_solution *out,
		struct np_err *err);

/* Mean time between departures from a station with n customers. */
double np_qn_at_load(const struct np_qn_station *st, uint64_t n);

#endif

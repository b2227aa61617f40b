/* What the methods of np_qn.h share.  Private to this room. */
#ifndef NP_QN_IMPL_H
#define NP_QN_IMPL_H

#include "np_qn.h"

/*
 * The network as mean value analysis sees it: queues of one server, and all
 * else that a cycle takes, whoever is there.
 */
struct np_qn_flat {
	size_t n_queues;
	size_t *queue;	   /* station of each */
	double *demand;	   /* [c * n_queues + q] */
	double *fixed_sec; /* of each class: think time, delays */
};

/* Returns 0 or -ENOMEM; free with np_qn_flat_free() either way. */
int np_qn_flatten(const struct np_qn *net, struct np_qn_flat *f);
void np_qn_flat_free(struct np_qn_flat *f);

/* Zeroes; 0 or -ENOMEM. */
int np_qn_solution_make(const struct np_qn *net, struct np_qn_solution *s);

/*
 * All the rest, from throughputs and the residence times at the queues
 * r[c * n_queues + q].
 */
void np_qn_solution_fill(const struct np_qn *net, const struct np_qn_flat *f,
			 const double *r, struct np_qn_solution *s);

/* np_qn_check(), and -ENOTSUP for load-dependent stations. */
int np_qn_check_fixed(const struct np_qn *net, const char *method,
		      struct np_err *err);

/* -E2BIG and what it would take, if that is more than max. */
int np_qn_afford(const struct np_qn_cost *cost, const struct np_qn_cost *max,
		 const char *what, const char *instead, struct np_err *err);

/* For that: which method takes the network if it is too large. */
const char *np_qn_instead(const struct np_qn *net);

/* All customers of all classes. */
uint64_t np_qn_customers(const struct np_qn *net);

/* The time that n customers at a station take for each that leaves. */
double np_qn_at_load(const struct np_qn_station *st, uint64_t n);

#endif

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
	double *demand;	   /* [c * n_queues + q] */
	double *r;	   /* the same: residence times, found by the method */
	double *fixed_sec; /* of each class: think time, delays */
};

/* A method, and what it cannot do. */
struct np_qn_way {
	const char *name;
	const char *instead; /* of too large a network; NULL: linearizer */
	/* What it says of load-dependent stations; NULL: it takes them. */
	const char *refusal;
	bool servers; /* else it says so of queues of several, too */
	struct np_qn_cost (*cost)(const struct np_qn *net);
	/*
	 * Throughputs into out, and f->r.  One that takes load-dependent
	 * stations has no f, which cannot say them, and fills all of out.
	 * Returns 0, -ENOMEM, or -ELOOP with err.
	 */
	int (*run)(const struct np_qn *net, const struct np_qn_flat *f,
		   const struct np_qn_cost *max, struct np_qn_solution *out,
		   struct np_err *err);
};

/* What np_qn_method says. */
int np_qn_solve(const struct np_qn_way *way, const struct np_qn *net,
		const struct np_qn_cost *max, struct np_qn_solution *out,
		struct np_err *err);

/* The time that n customers at a station take for each that leaves. */
double np_qn_at_load(const struct np_qn_station *st, uint64_t n);

#endif

/*
 * How concurrent transfers share a network: penalties.
 *
 * A communication goes from a node to another one.  Its penalty is the time
 * that it takes over the time that it takes alone (Tref): 1 or more, constant
 * as long as the same communications are active.  Nodes are full duplex: what
 * enters a node does not conflict with what leaves it.
 *
 * Models
 *	gige		Gigabit Ethernet [V, equations for p_o and p_i]
 *	myrinet		Stop & Go: state sets of the conflict graph [V]
 *	infiniband	[VT], as the simulator SimGrid states it
 *	maxmin		max-min fair sharing of unit ports, as of flows
 *	conflicts	1 + those with its source or its destination: a baseline
 *	none		1: a baseline
 *
 * [V]  Vienne, Martinasso, Vincent, Mehaut: Predictive models for bandwidth
 *	sharing in high performance clusters, IEEE Cluster 2008.
 * [VT] Vienne, thesis, Grenoble 2010.
 *
 * [V] lost how p_o and p_i make one penalty; their maximum is used, as the
 * successor model does.
 */
#ifndef NP_SHARING_H
#define NP_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

struct np_comm {
	uint32_t from, to; /* nodes, 0 .. */
};

/* What the models are made of; NP_SHARING_DEFAULTS has the published values. */
struct np_sharing_param {
	double beta, gamma_out, gamma_in; /* gige: > 0, [0, 1), [0, 1) */
	double ib_in, ib_out, ib_many;	  /* infiniband: be, bs, gs: > 0 */
	/* What has to be > 0 is at most 1e6 in these. */
	/*
	 * What the switch carries, in transfers alone; INFINITY: all that
	 * its ports do.  If the rates of all exceed it, the fastest are cut to
	 * one common rate (our own addition, to all models alike).
	 */
	double fabric;
	bool local; /* from == to has penalty 1; an error otherwise */
};

#define NP_SHARING_DEFAULTS { \
	.beta = 0.75, .gamma_out = 0.115, .gamma_in = 0.036, \
	.ib_in = 0.965, .ib_out = 0.925, .ib_many = 1.35, \
	.fabric = __builtin_inf() }

/* One of these, and of which model: "" of all, which may be infinite. */
struct np_sharing_member {
	const char *model, *name; /* "gige", "gamma_o" */
	size_t at;
	bool below_one; /* [0, 1); > 0 otherwise */
	double step;	/* how far a search for it goes first */
};

extern const struct np_sharing_member np_sharing_members[];
extern const size_t np_sharing_n_members;
double *np_sharing_value(struct np_sharing_param *p,
			 const struct np_sharing_member *m);

struct np_ports;

struct np_sharing_model {
	const char *name, *title;
	/*
	 * n > 0 communications, from != to, whose nodes may be any numbers
	 * (np_ports.h).  It need not clamp at 1, and each depends only on what
	 * is connected to it by others with the same source or the same
	 * destination; np_flows.c relies on it.  Returns 0, -ENOMEM or -E2BIG
	 * with err.  NULL: all are 1.
	 */
	int (*penalties)(const struct np_sharing_param *p,
			 const struct np_ports *port, double *penalty,
			 struct np_err *err);
	/* That of maxmin, which np_flows.c need not find anew for all. */
	bool fills;
};

extern const struct np_sharing_model np_sharing_models[];
extern const size_t np_sharing_n_models;

/* NULL: no such model; err says which there are. */
const struct np_sharing_model *np_sharing_find(const char *name,
					       struct np_err *err);

/* Returns 0 or -EINVAL: a parameter is not finite or out of its range. */
int np_sharing_check(const struct np_sharing_param *p, struct np_err *err);

/*
 * Penalties of n communications, all active, between n_nodes nodes.
 * n = 0 is no error.  Returns 0; -EINVAL: a parameter, a node that is not in
 * the cluster, from == to; -E2BIG: model myrinet, a component of the conflict
 * graph has too many states (np_matching.h); -ENOMEM.
 */
int np_sharing_static(const struct np_sharing_model *m,
		      const struct np_sharing_param *p,
		      const struct np_comm *c, size_t n, size_t n_nodes,
		      double *penalty, struct np_err *err);

/*
 * The same while they come and go: communication i starts at start_sec[i] and
 * takes alone_sec[i] >= 0 alone; the penalties of the active ones are found
 * anew whenever one starts or ends.  end_sec[i]: when it ends.
 * Returns as np_sharing_static(); -EINVAL also for a time that is negative or
 * not finite.
 */
int np_sharing_dynamic(const struct np_sharing_model *m,
		       const struct np_sharing_param *p,
		       const struct np_comm *c, const double *start_sec,
		       const double *alone_sec, size_t n, size_t n_nodes,
		       double *end_sec, struct np_err *err);

#endif

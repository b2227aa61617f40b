/*
 * How concurrent transfers share a network: penalties.
 *
 * The penalty of a communication between two nodes is the time that it takes
 * divided by the time that it takes alone (Tref): 1 or more, constant as long
 * as the set of active communications is the same. Nodes are full duplex:
 * incoming and outgoing communications do not conflict.
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
 * The text of [V] lacks the rule that combines p_o and p_i into one penalty;
 * their maximum is used, as in the successor model.
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

/* Parameters of the models; NP_SHARING_DEFAULTS are the published values. */
struct np_sharing_param {
	double beta, gamma_out, gamma_in; /* gige: > 0, [0, 1), [0, 1) */
	double ib_in, ib_out, ib_many;	  /* infiniband: be, bs, gs: > 0 */
	/* Parameters that must be > 0 may be at most 1e6. */
	/*
	 * Capacity of the switch in concurrent transfers; INFINITY: it carries
	 * whatever its ports do. If the sum of all rates exceeds it, the
	 * fastest are reduced to a common rate (our addition, for all models).
	 */
	double fabric;
	bool local; /* from == to has penalty 1; without local it is an error */
};

/* clang-format off */
#define NP_SHARING_DEFAULTS { \
	.beta = 0.75, .gamma_out = 0.115, .gamma_in = 0.036, \
	.ib_in = 0.965, .ib_out = 0.925, .ib_many = 1.35, \
	.fabric = __builtin_inf() }
/* clang-format on */

/*
 * A parameter and its model; model is "" for one that all have and that may be
 * infinite.
 */
struct np_sharing_member {
	const char *model, *name; /* "gige", "gamma_o" */
	size_t at;
	bool below_one; /* range [0, 1) instead of > 0 */
	double step;	/* first step of a search */
};

extern const struct np_sharing_member np_sharing_members[];
extern const size_t np_sharing_n_members;
double *np_sharing_value(struct np_sharing_param *p,
			 const struct np_sharing_member *m);

struct np_ports;

struct np_sharing_model {
	const char *name;
	/*
	 * Computes the penalties of n > 0 communications with from != to; node
	 * numbers are arbitrary. Results below 1 are allowed. Each
	 * result depends only on communications that are connected by common
	 * ports; np_flows_next() relies on it. Returns 0, -ENOMEM or -E2BIG with
	 * err. NULL: all penalties are 1.
	 */
	int (*penalties)(const struct np_sharing_param *p,
			 const struct np_ports *port, double *penalty,
			 struct np_err *err);
	/* max-min fairness, which np_flows_next() updates incrementally */
	bool fills;
};

extern const struct np_sharing_model np_sharing_models[];
extern const size_t np_sharing_n_models;

/* Returns NULL if there is no such model; err then lists all models. */
const struct np_sharing_model *np_sharing_find(const char *name,
					       struct np_err *err);

/* Returns 0, or -EINVAL for a parameter that is out of its range. */
int np_sharing_check(const struct np_sharing_param *p, struct np_err *err);

/*
 * Penalties of n simultaneous communications between n_nodes nodes; n may be 0.
 * Returns 0; -EINVAL (parameter or node out of range, or from == to); -E2BIG
 * (model myrinet: a component of the conflict graph has too many states); or
 * -ENOMEM.
 */
int np_sharing_static(const struct np_sharing_model *m,
		      const struct np_sharing_param *p, const struct np_comm *c,
		      size_t n, size_t n_nodes, double *penalty,
		      struct np_err *err);

/*
 * The same over time: communication i starts at start_sec[i] and takes
 * alone_sec[i] >= 0 alone. Penalties are recomputed whenever one starts or
 * ends. end_sec[i]: when it ends. Returns as np_sharing_static(); -EINVAL also
 * for a time that is negative or not finite.
 */
int np_sharing_dynamic(const struct np_sharing_model *m,
		       const struct np_sharing_param *p,
		       const struct np_comm *c, const double *start_sec,
		       const double *alone_sec, size_t n, size_t n_nodes,
		       double *end_sec, struct np_err *err);

/*
 * Concurrent transfers that start and end over time, for np_sharing_dynamic()
 * and np_replay.c.
 *
 * After each change, only the transfers that are connected to it by common
 * ports get new penalties, and a heap finds the next end. Thus the cost of an
 * event depends only on its own conflicts. A switch with limited capacity
 * (parameter fabric) couples all transfers.
 */
struct np_flows;

/*
 * Makes an empty set of transfers between nodes 0 .. n_nodes - 1. p is copied.
 * Returns 0, -EINVAL or -ENOMEM with err.
 */
int np_flows_new(const struct np_sharing_model *m,
		 const struct np_sharing_param *p, size_t n_nodes,
		 struct np_flows **out, struct np_err *err);
void np_flows_free(struct np_flows *f); /* NULL is allowed */

/*
 * Starts a transfer that takes alone_sec >= 0 without others. now_sec: never
 * before that of an earlier call, nor after the time of the next end. id: the
 * caller's, returned when it ends. Returns 0; -EINVAL (a node out of range, from == to
 * without the parameter local, a time that is negative or not finite); -ENOMEM.
 */
int np_flows_start(struct np_flows *f, double now_sec, struct np_comm c,
		   double alone_sec, size_t id, struct np_err *err);

/*
 * Time of the next end; INFINITY if no transfer is active. Returns 0, or an
 * error of the model.
 */
int np_flows_next(struct np_flows *f, double *at_sec, struct np_err *err);

struct np_flow_end {
	size_t id;
	/* maximum number of other transfers at its two ports at a time */
	uint32_t conflicts;
};

/*
 * Removes a transfer that has ended by now_sec, which is as in np_flows_start().
 * Returns false if there is none.
 */
bool np_flows_ended(struct np_flows *f, double now_sec,
		    struct np_flow_end *end);

/*
 * ---- For np_sharing.c and unit tests ----
 *
 * The ports that communications use, numbered consecutively, so that time and
 * memory depend on their number and not on that of the nodes.
 */
struct np_ports {
	const struct np_comm *c; /* borrowed */
	size_t n, n_out, n_in;
	uint32_t *out, *in; /* by communication: its two ports */
	uint32_t *n_of_out; /* by sending port: number of communications */
	uint32_t *n_of_in;  /* by receiving port */
};

/* Returns 0 or -ENOMEM with err. Free with np_ports_free(). */
int np_ports_new(const struct np_comm *c, size_t n, struct np_ports *out,
		 struct np_err *err);
void np_ports_free(struct np_ports *p);

/*
 * Counts the maximal matchings of a bipartite multigraph: the state sets of the
 * Myrinet model. Sources form one side, destinations the other, and
 * communications are edges. A matching is maximal if no edge can be added to
 * it.
 *
 * Sources are processed one after the other. A state records for each open
 * destination (one that has both an earlier and a later source) whether it is
 * free, used, or must still be used: the last if a source that could have used
 * it uses nothing. Sums over states in both directions give the number of
 * matchings, and of those that contain a given edge. Counting is #P-hard. The
 * number of states is at most 3^(maximum of open destinations), which is tiny
 * for trees and paths.
 */

/* Maximum number of states in memory, at 16 to about 100 bytes each. */
#define NP_MATCHING_MAX_STATES ((size_t)1 << 22)

/*
 * share[i]: share of the maximal matchings that contain edge i (> 0). *ln_sets
 * (may be NULL): logarithm of their number. The graph need not be connected.
 * Returns 0; -E2BIG, with err naming the size of a component that needs more
 * than max_states in every order tried; or -ENOMEM with err.
 */
int np_matching_all(const struct np_ports *p, size_t max_states, double *share,
		    double *ln_sets, struct np_err *err);

#endif

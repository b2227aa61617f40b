/*
 * Communications that come and go, and when each ends: for
 * np_sharing_dynamic() and for np_replay.c.
 *
 * After every change only what is connected to it by common ports gets new
 * penalties, and the next end is found by a heap: an event costs what its own
 * conflicts cost, whatever else is active.  A switch that is full (the
 * parameter fabric) couples all with all.
 */
#ifndef NP_FLOWS_H
#define NP_FLOWS_H

#include "np_sharing.h"

struct np_flows;

/*
 * Between nodes 0 .. n_nodes - 1.  p is borrowed, and checked.
 * Returns 0, -EINVAL or -ENOMEM with err.
 */
int np_flows_new(const struct np_sharing_model *m,
		 const struct np_sharing_param *p, size_t n_nodes,
		 struct np_flows **out, struct np_err *err);
void np_flows_free(struct np_flows *f); /* NULL is allowed */

/*
 * One that takes alone_sec >= 0 alone starts now.  id: the caller's, told when
 * it ends.  Returns 0; -EINVAL: a node that is not in the cluster, from == to
 * without the parameter local, a time that is negative or not finite; -ENOMEM.
 */
int np_flows_start(struct np_flows *f, struct np_comm c, double alone_sec,
		   size_t id, struct np_err *err);

/*
 * When the next one ends: INFINITY if none is active.  Returns 0 or what the
 * model returns.
 */
int np_flows_next(struct np_flows *f, double *at_sec, struct np_err *err);

/* Let time pass to at_sec, which is not beyond the next end. */
void np_flows_advance(struct np_flows *f, double at_sec);

struct np_flow_end {
	size_t id;
	/* Most others at its source, and at its destination, at one time. */
	uint32_t conflicts;
};

/* One that has ended by now; false: no more. */
bool np_flows_ended(struct np_flows *f, struct np_flow_end *end);

#endif

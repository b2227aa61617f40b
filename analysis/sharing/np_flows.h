/*
 * Concurrent transfers that start and end over time, for np_sharing_dynamic()
 * and np_replay.c.
 *
 * After each change, only the transfers that are connected to it by common
 * ports get new penalties, and a heap finds the next end. Thus the cost of an
 * event depends only on its own conflicts. A switch with limited capacity
 * (parameter fabric) couples all transfers.
 */
#ifndef NP_FLOWS_H
#define NP_FLOWS_H

#include "np_sharing.h"

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
 * Starts a transfer that takes alone_sec >= 0 without others. id: the caller's,
 * returned when it ends. Returns 0; -EINVAL (a node out of range, from == to
 * without the parameter local, a time that is negative or not finite); -ENOMEM.
 */
int np_flows_start(struct np_flows *f, struct np_comm c, double alone_sec,
		   size_t id, struct np_err *err);

/*
 * Time of the next end; INFINITY if no transfer is active. Returns 0, or an
 * error of the model.
 */
int np_flows_next(struct np_flows *f, double *at_sec, struct np_err *err);

/* Advances time to at_sec, which must not exceed the time of the next end. */
void np_flows_advance(struct np_flows *f, double at_sec);

struct np_flow_end {
	size_t id;
	/* maximum number of other transfers at its two ports at a time */
	uint32_t conflicts;
};

/* Removes a transfer that has ended by now. Returns false if there is none. */
bool np_flows_ended(struct np_flows *f, struct np_flow_end *end);

#endif

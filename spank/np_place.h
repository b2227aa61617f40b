/*
 * Where the probes of a step and its interference level run: a pure function
 * of the leaves of the allocation's nodes.
 */
#ifndef NP_PLACE_H
#define NP_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"
#include "np_fabric.h"

struct np_place_node {
	const char *name, *leaf; /* leaf "": no topology, one leaf for all */
	bool in_step;	/* the measured step runs here */
	bool busy;	/* another step of the job runs here */
	bool probe;	/* out: probes run here */
	bool level;	/* out: the interference level runs here */
};

/*
 * Probes run on every node of the step that shares its leaf with another one.
 * The level runs on idle nodes of the allocation under the probed leaves,
 * where there are two or more on one, so that only the switch is shared;
 * otherwise on the probed nodes themselves.
 * *scope: NP_SCOPE_NODE or NP_SCOPE_LEAF.
 * Returns the number of probe nodes; 0 with why set if there is no pair.
 */
size_t np_place(struct np_place_node *node, size_t n, enum np_scope *scope,
		struct np_err *why);

#endif

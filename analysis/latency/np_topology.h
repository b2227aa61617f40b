/*
 * How many switches lie between two nodes, and what that makes of a latency:
 * a message over h switches takes (h + 1) wires and h switches.
 *
 * Routes are shortest ones.  Sources: M. Al-Fares et al., SIGCOMM 2008 (fat
 * tree); J. Kim et al., ISCA 2008 (dragonfly); the sum is that of LLAMP
 * (np_tolerance.h).
 */
#ifndef NP_TOPOLOGY_H
#define NP_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "np_err.h"

#define NP_TOPOLOGY_MAX (1u << 22) /* nodes, and switches */
#define NP_TOPOLOGY_ROOT UINT32_MAX
#define NP_TOPOLOGY_APART UINT32_MAX /* switches between nodes of two trees */
#define NP_TOPOLOGY_APART_NS 1e15 /* latency there: longer than any run */

struct np_topology;

/*
 * "fat-tree:K": three levels of switches with K ports, K even: K^3 / 4 nodes.
 * "dragonfly:GxAxP": G groups of A switches with P nodes each, all groups of
 * switches complete, each pair of groups joined by one wire; the wires of a
 * group are dealt to its switches in turn.
 * "torus:XxYx...": up to 6 dimensions, a switch and a node at each place.
 * Returns 0, -EINVAL, -ERANGE or -ENOMEM; free *out with np_topology_free().
 */
int np_topology_parse(const char *spec, struct np_topology **out,
		      struct np_err *err);

/*
 * Trees: parent[] of each of n_switches, or NP_TOPOLOGY_ROOT; leaf[] is the
 * switch of each of n_nodes.  Both are copied.  -EINVAL: a number is beyond,
 * or switches are above themselves.
 */
int np_topology_tree(const uint32_t *parent, uint32_t n_switches,
		     const uint32_t *leaf, uint32_t n_nodes,
		     struct np_topology **out, struct np_err *err);
void np_topology_free(struct np_topology *t); /* NULL is allowed */

uint32_t np_topology_nodes(const struct np_topology *t);

/*
 * Switches between two nodes; 0 if they are one, NP_TOPOLOGY_APART if they are
 * in different trees.
 */
uint32_t np_topology_hops(const struct np_topology *t, uint32_t a, uint32_t b);

/* Ranks on a topology. */
struct np_placed {
	const struct np_topology *t; /* NULL: all are equally far */
	const uint32_t *node; /* of each rank */
	double wire_ns, switch_ns;
	bool switch_is_x; /* else the wire is; what is x is not used */
};

/*
 * The latency between two ranks is fixed_ns + times * x, where x stands in the
 * place of L.  On one node: 0.  In different trees: NP_TOPOLOGY_APART_NS, so
 * that no placement of ranks that has it is better than one that has not.
 */
void np_placed_path(const struct np_placed *p, uint32_t from, uint32_t to,
		    double *fixed_ns, uint32_t *times);

#endif

/*
 * The leaf switch of a node, from what Slurm tells every task.
 */
#ifndef NP_LEAF_H
#define NP_LEAF_H

#include <stddef.h>

/*
 * SLURM_TOPOLOGY_ADDR is "spine.leaf0.n1" with topology/tree: switches from
 * the top down, then the node; "leaf0.n1" with topology/block, the node's base
 * block.  Writes what is next to the node ("leaf0") into leaf; "" where address
 * is NULL or names no switch ("n1" with flat, "ring0:2.n1" with ring and
 * "torus0:0:1:0.n1" with torus3d), or where the name does not fit.  A node name may itself contain
 * dots if node is given; NULL is allowed.
 */
void np_leaf_from_address(const char *address, const char *node, char *leaf,
			  size_t size);

#endif

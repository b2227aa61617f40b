/*
 * Leaf switches out of Slurm's topology.
 *
 * The answer of slurm_load_topo() is opaque from Slurm 25.05 on; what every
 * release can do is print it.  This reads that text: one switch a line,
 * "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-3]".  With topology/block
 * (23.11) a base block is what its nodes share, and counts as a leaf switch:
 * "BlockName=leaf0 BlockIndex=0 Nodes=n[0-3] BlockSize=4".  No Slurm here.
 *
 * A site may have several topologies (25.05), one of which is the cluster's;
 * partitions have that one, or another.  The text of a site is that of the
 * cluster's topology, then for each other one a line of ours,
 * "Partitions=a,b", and its text.
 */
#ifndef NP_TOPO_H
#define NP_TOPO_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

#define NP_TOPO_MAX_LEAVES 65536

struct np_topo_leaf {
	char *name;  /* of the switch */
	char *nodes; /* hostlist expression */
	size_t topology;
};

struct np_topo {
	struct np_topo_leaf *leaf;
	size_t n; /* 0: the cluster has no topology */
	char **partitions; /* "a,b": of each topology; [0]: NULL, the cluster's */
	size_t n_topologies;
};

/*
 * Switches of level 0, and base blocks, that have nodes, in the order of the
 * text.  Lines that are neither are passed over.  Returns 0, -ENOMEM or -E2BIG.
 * Free with np_topo_free().
 */
int np_topo_parse(const char *text, struct np_topo *out, struct np_err *err);
void np_topo_free(struct np_topo *t);

/* The topology that a partition has: 0, the cluster's, unless one names it. */
size_t np_topo_of_partition(const struct np_topo *t, const char *partition);
bool np_topo_has_leaves(const struct np_topo *t, size_t topology);

/*
 * The leaf switch of a node, from what Slurm tells every task.
 */

/*
 * SLURM_TOPOLOGY_ADDR is "spine.leaf0.n1" with topology/tree: switches from
 * the top down, then the node; "leaf0.n1" with topology/block, the node's base
 * block.  Writes what is next to the node ("leaf0") into leaf; "" where address
 * is NULL or names no switch ("n1" with flat, "ring0:2.n1" with ring and
 * "torus0:0:1:0.n1" with torus3d), or where the name does not fit.  A node name
 * may itself contain dots if node is given; NULL is allowed.
 *
 * pattern, SLURM_TOPOLOGY_ADDR_PATTERN, has a word for each name,
 * "switch.switch.node".  Where the address has more dots, switches have dots in
 * their names, and nothing says where one ends: leaf is then the whole address
 * without the node, or its end if that does not fit.  It is the same for nodes
 * of one leaf and differs between leaves; slurmctld knows the name (above).
 * NULL: names have no dots.
 */
void np_leaf_from_address(const char *address, const char *pattern,
			  const char *node, char *leaf, size_t size);

#endif

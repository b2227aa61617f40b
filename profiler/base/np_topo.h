/*
 * Leaf switches from Slurm's topology.
 *
 * The answer of slurm_load_topo() is opaque since Slurm 25.05, but every
 * release can print it. This module parses the printed text: one switch per
 * line, "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-3]". With
 * topology/block (23.11) the nodes of a base block share a switch, so it counts
 * as a leaf: "BlockName=leaf0 BlockIndex=0 Nodes=n[0-3] BlockSize=4". No Slurm
 * headers here.
 *
 * A site may have several topologies (25.05): that of the cluster, and others
 * that partitions may use instead. The text of a site consists of
 *
 *	the text of the cluster's topology
 *	for each other topology: a line "Partitions=a,b" (ours), and its text
 *	for placement only: NP_TOPO_RAILS and the value of NetDevices; a line
 *	with the path of the Rails file; and that file's text, which may be
 *	empty or damaged
 */
#ifndef NP_TOPO_H
#define NP_TOPO_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

struct np_slurm_line;

#define NP_TOPO_MAX_LEAVES 65536

struct np_topo_leaf {
	char *name;	 /* of the switch */
	char *nodes;	 /* hostlist expression */
	size_t topology; /* index into np_topo.partitions */
	char *rail; /* of the switch; NULL: Slurm's topology has no rails */
	char *nic;  /* of these nodes that leads to it; NULL with rail */
};

struct np_topo {
	struct np_topo_leaf *leaf;
	size_t n; /* 0: the cluster has no topology */
	/* "a,b" for each topology; [0]: NULL, the cluster's */
	char **partitions;
	size_t n_topologies;
};

/*
 * Parse the text. Collects the switches of level 0, and the base blocks, that
 * have nodes, in the order of the text; other lines are skipped. Returns 0,
 * -ENOMEM or -E2BIG. Free with np_topo_free().
 */
int np_topo_parse(const char *text, struct np_topo *out, struct np_err *err);
void np_topo_free(struct np_topo *t);

/* ---- topology.conf(5) ---- */

/* A switch as a line defines it, or a base block. */
struct np_topo_switch {
	const char *name; /* NULL: the line defines none, only of blocks */
	const char *nodes, *below; /* lists; NULL: none */
	/* A name has text after its last bracket, as n[0-3]-ib: slurmctld
	   rejects that before Slurm 23.11. */
	bool suffix;
	/* A line of topology.conf names neither: slurmctld rejects that. */
	bool childless;
};

/*
 * Read a line of a topology.conf as slurmctld does, or one that scontrol
 * printed, in which a switch above others has the nodes below them; these are
 * left out. The texts are in the line, which is modified. Returns 0, or -EINVAL
 * with err: file, line, word and what was expected.
 */
int np_topo_switch(const struct np_slurm_line *line, struct np_topo_switch *out,
		   struct np_err *err);

/* The same for a line of topology/tree or topology/block. */
int np_topo_any(const struct np_slurm_line *line, struct np_topo_switch *out,
		struct np_err *err);

/* ---- rails ---- */

/*
 * A rail is a tree of switches to which each node is connected by one of its
 * network adapters (NICs). Slurm's topology may list a node under several leaf
 * switches, but cannot say which adapter leads to which. The file of
 * netprof.conf's Rails does, in lines
 *
 *	Rail=NAME NIC=DEVICE Leaf=SWITCH Nodes=HOSTLIST
 *
 * with "#" for comments. A switch may have several lines, for nodes whose
 * adapters have other names, but belongs to one rail; a node has one line for
 * each of its rails.
 */
#define NP_RAILS_MAX 8 /* rails of a cluster */
#define NP_TOPO_RAILS "\nNetDevices="
#define NP_RAILS_MAX_BYTES (16u << 20)

/*
 * Parse the text of such a file, which is modified; source names it in
 * messages. *out has a leaf for each line, in the order of the text. Returns
 * 0, -EINVAL (a line is wrong), -E2BIG (too many leaf switches, rails or nodes)
 * or -ENOMEM, with err. Free with np_topo_free().
 */
int np_rails_parse(char *text, const char *source, struct np_topo *out,
		   struct np_err *err);

/* The same for a file. Also returns errors of reading it. */
int np_rails_load(const char *path, struct np_topo *out, struct np_err *err);

/* ---- the leaf switch of a node, from the environment of a task ---- */

/*
 * SLURM_TOPOLOGY_ADDR is "spine.leaf0.n1" with topology/tree: switches from the
 * top down, then the node. It is "leaf0.n1" with topology/block, with the
 * node's base block. Writes the name next to the node ("leaf0") into leaf; ""
 * if address is NULL or names no switch ("n1" with flat, "ring0:2.n1" with ring
 * and "torus0:0:1:0.n1" with torus3d), or if the name does not fit. A node name
 * may itself contain dots if node is given; NULL is allowed.
 *
 * pattern, SLURM_TOPOLOGY_ADDR_PATTERN, has one word for each name,
 * "switch.switch.node". If the address has more dots than that, names of
 * switches contain dots, and nothing marks where one ends. leaf is then the
 * whole address without the node, or the end of it that fits. That is the same
 * for all nodes of a leaf and differs between leaves; the real name is known to
 * slurmctld (above). NULL: names have no dots.
 */
void np_leaf_from_address(const char *address, const char *pattern,
			  const char *node, char *leaf, size_t size);

#endif

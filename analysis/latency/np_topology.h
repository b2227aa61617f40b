/*
 * The number of switches between two nodes, and the latency that follows from
 * it: a message over h switches passes h + 1 wires and h switches.
 *
 * Routes are shortest ones; in a dragonfly, among those with at most one wire
 * between groups. Sources: M. Al-Fares et al., SIGCOMM 2008 (fat tree); J. Kim
 * et al., ISCA 2008 (dragonfly); the sum is that of LLAMP (np_tolerance.h).
 */
#ifndef NP_TOPOLOGY_H
#define NP_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "np_array.h"
#include "np_err.h"

#define NP_TOPOLOGY_MAX (1u << 22)  /* nodes of np_topology_parse() */
#define NP_TOPOLOGY_ROOT UINT32_MAX /* in place of a parent: there is none */
/* Number of switches between nodes of different trees: there is no route. */
#define NP_TOPOLOGY_APART UINT32_MAX
/* Latency between such nodes: longer than any run. */
#define NP_TOPOLOGY_APART_NS 1e15

struct np_topology;

/*
 * Parses a specification: "fat-tree:K": three levels of switches with K ports,
 * K even; K^3 / 4 nodes. "dragonfly:GxAxP": G groups of A switches with P nodes
 * each. The switches of a group are fully connected; each pair of groups is
 * joined by one wire, and the wires of a group are assigned to its switches in
 * turn. "torus:XxYx...": up to 6 dimensions, one switch and one node at each
 * position.
 *
 * Returns 0 (free *out with np_topology_free()), or with err -EINVAL (another
 * text), -ERANGE (more than NP_TOPOLOGY_MAX nodes, or K is odd) or -ENOMEM.
 */
int np_topology_parse(const char *spec, struct np_topology **out,
		      struct np_err *err);

/*
 * Makes a topology of one or more trees. parent[i]: the switch above switch i,
 * or NP_TOPOLOGY_ROOT; leaf[i]: the switch of node i. Both are copied. Returns
 * 0 (free *out with np_topology_free()), or with err -EINVAL (a number out of
 * range, or a switch above itself) or -ENOMEM.
 */
int np_topology_tree(const uint32_t *parent, uint32_t n_switches,
		     const uint32_t *leaf, uint32_t n_nodes,
		     struct np_topology **out, struct np_err *err);
void np_topology_free(struct np_topology *topology); /* NULL is allowed */

uint32_t np_topology_nodes(const struct np_topology *topology);

/*
 * Number of switches between two nodes: 0 if they are the same,
 * NP_TOPOLOGY_APART if they are in different trees.
 */
uint32_t np_topology_hops(const struct np_topology *topology, uint32_t a,
			  uint32_t b);

/* Ranks placed on a topology. */
struct np_placed {
	/* Borrowed; NULL: all pairs have the same latency. */
	const struct np_topology *t;
	const uint32_t *node; /* number of the node of each rank; borrowed */
	/*
	 * Latency of one wire and of one switch. x replaces the second if
	 * switch_is_x is set, and otherwise the first.
	 */
	double wire_ns, switch_ns;
	bool switch_is_x;
};

/*
 * The latency between two ranks is fixed_ns + times * x. It replaces L, and is
 * 0 on one node. In different trees it is NP_TOPOLOGY_APART_NS, so that any
 * placement that avoids such pairs is better. placed->t must not be NULL.
 */
void np_placed_path(const struct np_placed *placed, uint32_t from, uint32_t to,
		    double *fixed_ns, uint32_t *times);

/*
 * ---- The switches of a cluster ----
 *
 * From Slurm's topology.conf(5), or from the output of "scontrol show
 * topology": one or more trees.
 */

/* A topology with the names of its nodes. */
struct np_topology_conf {
	struct np_topology *topology;
	struct np_index nodes; /* by name; numbered in the order of the file */
	/*
	 * What warn() received about a node on several switches, and about a
	 * switch below several; "" if there is none.
	 */
	struct np_err several_leaves, several_parents;
};

/*
 * Reads the file. A node on several switches belongs to the first of them, and
 * so does a switch below several others. warn() receives one line for each of
 * these two kinds, which names the first case, and one if Slurm may interpret
 * the file in another way (np_slurm_file.h). A file with which slurmctld would not
 * start is rejected, except for a switch that has neither nodes nor switches,
 * which releases after 22.05 accept. The file is untrusted input, see
 * np_slurm_file.h.
 *
 * Returns 0 (free *out with np_topology_conf_free()), or with err -EINVAL (err
 * has file and line), -E2BIG (more than 65536 nodes or switches), -ENOMEM or
 * -errno of opening and reading.
 */
int np_topology_conf_read(const char *path,
			  void (*warn)(const char *line, void *arg), void *arg,
			  struct np_topology_conf *out, struct np_err *err);
void np_topology_conf_free(struct np_topology_conf *conf);

/*
 * Copies the name of a node, cut to len - 1 bytes; "?" if there is no such
 * node. Returns buf.
 */
const char *np_topology_conf_node(const struct np_topology_conf *conf,
				  uint32_t node, char *buf, size_t len);

#endif

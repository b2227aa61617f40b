/*
 * The switches of a cluster as Slurm's topology.conf(5) has them, or as
 * scontrol show topology prints them: one or more trees.
 */
#ifndef NP_TOPOLOGY_CONF_H
#define NP_TOPOLOGY_CONF_H

#include "np_numbers.h"
#include "np_topology.h"

/* A topology with the names of its nodes. */
struct np_topology_conf {
	struct np_topology *topology;
	struct np_numbers nodes; /* names, numbered in the order of the file */
};

/*
 * A node that is on several switches is on the first, and a switch that is
 * below several is below the first; warn() gets one line for each of the two
 * kinds, with the first of them.  What slurmctld does not start with is refused,
 * except for a switch without nodes and switches, which releases after 22.05
 * take.  path: hostile input, np_slurm_file.h.  Free *out with
 * np_topology_conf_free().  Returns 0, -EINVAL with file and line, -E2BIG,
 * -ENOMEM or -errno.
 */
int np_topology_conf_read(const char *path,
			  void (*warn)(const char *line, void *arg), void *arg,
			  struct np_topology_conf *out, struct np_err *err);
void np_topology_conf_free(struct np_topology_conf *c);

/* The name of a node, cut at len - 1 bytes; "?" of none.  Returns buf. */
const char *np_topology_conf_node(const struct np_topology_conf *c,
				  uint32_t node, char *buf, size_t len);

#endif

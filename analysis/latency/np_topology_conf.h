/*
 * The switches of a cluster from Slurm's topology.conf(5), or from the output
 * of "scontrol show topology": one or more trees.
 */
#ifndef NP_TOPOLOGY_CONF_H
#define NP_TOPOLOGY_CONF_H

#include "np_array.h"
#include "np_topology.h"

/* A topology with the names of its nodes. */
struct np_topology_conf {
	struct np_topology *topology;
	struct np_index nodes; /* names, numbered in the order of the file */
};

/*
 * A node on several switches counts for the first of them, and so does a switch
 * below several others; warn() receives one line for each of the two kinds,
 * which names the first case. A file that slurmctld would not start with is
 * rejected, except for a switch that has neither nodes nor switches, which
 * releases after 22.05 accept. path: untrusted input, see np_slurm_file.h. Free
 * *out with np_topology_conf_free(). Returns 0, -EINVAL with file and line,
 * -E2BIG, -ENOMEM or -errno.
 */
int np_topology_conf_read(const char *path,
			  void (*warn)(const char *line, void *arg), void *arg,
			  struct np_topology_conf *out, struct np_err *err);
void np_topology_conf_free(struct np_topology_conf *c);

/*
 * Copies the name of a node, at most len - 1 bytes; "?" if there is none.
 * Returns buf.
 */
const char *np_topology_conf_node(const struct np_topology_conf *c,
				  uint32_t node, char *buf, size_t len);

#endif

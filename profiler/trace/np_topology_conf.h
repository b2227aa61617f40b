/* The switches of a cluster as Slurm's topology.conf(5) has them: a tree. */
#ifndef NP_TOPOLOGY_CONF_H
#define NP_TOPOLOGY_CONF_H

#include "np_topology.h"

/*
 * Read lines "SwitchName=... Nodes=..." and "SwitchName=... Switches=...";
 * others are left alone.  Nodes are numbered in the order of the file.  path:
 * hostile input of up to 16 MiB.  *out: free with np_topology_free().
 * Returns 0, -EINVAL with file and line, -E2BIG, -ENOMEM or -errno.
 */
int np_topology_conf(const char *path, struct np_topology **out,
		     struct np_err *err);

#endif

/* Mapping of tasks to nodes. */
#ifndef NP_MAPPING_H
#define NP_MAPPING_H

#include <stdint.h>

#include "np_err.h"

enum np_mapping {
	NP_MAPPING_NODE,   /* task i on node i modulo nodes */
	NP_MAPPING_CORE,   /* fills each node before the next one */
	NP_MAPPING_RANDOM, /* any free core; reproducible by seed */
};

/*
 * Maps n_tasks tasks to n_nodes nodes with the given number of cores each, into
 * node_of[n_tasks]. Returns 0, -EINVAL (more tasks than cores) or -ENOMEM, with
 * err.
 */
int np_mapping_make(enum np_mapping how, uint32_t n_tasks, uint32_t n_nodes,
		    uint32_t cores, uint64_t seed, uint32_t *node_of,
		    struct np_err *err);

#endif

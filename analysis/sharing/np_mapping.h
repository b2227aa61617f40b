/* Which task runs on which node. */
#ifndef NP_MAPPING_H
#define NP_MAPPING_H

#include <stdint.h>

#include "np_err.h"

enum np_mapping {
	NP_MAPPING_NODE,   /* task i on node i modulo nodes */
	NP_MAPPING_CORE,   /* a node is filled before the next one is begun */
	NP_MAPPING_RANDOM, /* any free core; the same for the same seed */
};

/*
 * n_tasks on n_nodes nodes of cores each, into node_of[n_tasks].  Returns 0 or
 * -EINVAL with err: more tasks than cores; -ENOMEM.
 */
int np_mapping_make(enum np_mapping how, uint32_t n_tasks, uint32_t n_nodes,
		    uint32_t cores, uint64_t seed, uint32_t *node_of,
		    struct np_err *err);

#endif

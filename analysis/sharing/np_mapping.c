#include "np_mapping.h"

#include <errno.h>
#include <stdlib.h>

#include "np_rng.h"

/* Draws from the remaining cores (Fisher-Yates shuffle). */
static int map_randomly(uint32_t n_tasks, uint32_t n_nodes, uint32_t cores,
		     uint64_t seed, uint32_t *node_of, struct np_err *err)
{
	size_t n = (size_t)n_nodes * cores;
	uint32_t *core = calloc(n, sizeof(*core));
	struct np_rng *r = np_rng_new(seed, "mapping");
	int rc = core && r ? 0 : np_errf(err, -ENOMEM, "out of memory");

	for (size_t i = 0; !rc && i < n; i++)
		core[i] = (uint32_t)i;
	for (uint32_t t = 0; !rc && t < n_tasks; t++) {
		size_t at = t + np_rng_below(r, n - t);
		uint32_t taken = core[at];

		core[at] = core[t];
		node_of[t] = taken / cores;
	}
	np_rng_free(r);
	free(core);
	return rc;
}

int np_mapping_make(enum np_mapping how, uint32_t n_tasks, uint32_t n_nodes,
		    uint32_t cores, uint64_t seed, uint32_t *node_of,
		    struct np_err *err)
{
	if (n_tasks > (uint64_t)n_nodes * cores)
		return np_errf(err, -EINVAL, "%u tasks, and %u nodes of %u "
			       "cores: expected no more tasks than cores",
			       n_tasks, n_nodes, cores);
	if (how == NP_MAPPING_RANDOM)
		return map_randomly(n_tasks, n_nodes, cores, seed, node_of,
				    err);
	for (uint32_t t = 0; t < n_tasks; t++)
		node_of[t] = how == NP_MAPPING_NODE ? t % n_nodes : t / cores;
	return 0;
}

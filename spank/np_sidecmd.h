/* The command lines of our own steps.  Pure. */
#ifndef NP_SIDECMD_H
#define NP_SIDECMD_H

#include <stddef.h>

#include "np_conf.h"
#include "np_order.h"

struct np_sidecmd {
	char *argv[40]; /* NULL-terminated; all strings are in text */
	size_t argc;
	char *text;
};

/*
 * srun of per_node processes of ImpactB on each of n_nodes nodes.
 * Returns 0 or -ENOMEM; free with np_sidecmd_free().
 */
int np_sidecmd_impact(struct np_sidecmd *c, const struct np_order *o,
		      const struct np_conf *conf, const char *nodes,
		      size_t n_nodes);

/* srun of one process of CompressionB on each of n_nodes nodes. */
int np_sidecmd_level(struct np_sidecmd *c, const struct np_order *o,
		     const struct np_conf *conf, const char *nodes,
		     size_t n_nodes);

void np_sidecmd_free(struct np_sidecmd *c);

#endif

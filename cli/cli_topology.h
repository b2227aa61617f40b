/* Which node is on which leaf switch: of whatever says it. */
#ifndef CLI_TOPOLOGY_H
#define CLI_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_topo.h"

#define CLI_TOPOLOGY_MAX_FILE (64u << 20)
#define CLI_TOPOLOGY_NONE UINT32_MAX /* no leaf */

struct cli_places {
	struct cli_place {
		char *node;
		uint32_t leaf; /* of the first adapter that was seen */
		uint32_t other; /* of another one, or CLI_TOPOLOGY_NONE */
	} *place;
	size_t n;
	char **leaf; /* names; "": none is known */
	size_t n_leaves;
	double within, between; /* latencies; 0: not by latencies */
};

void cli_places_free(struct cli_places *p);

/*
 * What is found is added to *p, which is to be freed in any case.  Each returns 0
 * or -errno with err, which says where.
 *
 * What ibnetdiscover prints; node descriptions begin with the node's name.
 */
int cli_places_ib(const char *path, struct cli_places *p, struct np_err *err);
/* A directory with a file NODE.json for each node: lldpctl -f json. */
int cli_places_lldp(const char *dir, struct cli_places *p,
		    struct np_err *err);
/* Lines "NODE NODE SECONDS". */
int cli_places_latencies(const char *path, struct cli_places *p,
			 struct np_err *err);
/* The same of a measurement: sec[i * n + j], NaN: not known. */
int cli_places_measured(char *const node[], const double *sec, size_t n,
			struct cli_places *p, struct np_err *err);

/* By node, as Slurm has them: sorted. */
void cli_places_sort(struct cli_places *p);

/*
 * Beside Slurm's topology: slurm[i] gets the place in t of the leaf that Slurm
 * has place i on, as[l] that of the one that found leaf l is; CLI_TOPOLOGY_NONE
 * where there is none.  p is sorted.  Returns how many nodes are on another leaf
 * than Slurm says, or -ENOMEM.
 */
long cli_places_compare(const struct cli_places *p, const struct np_topo *t,
			uint32_t *slurm, uint32_t *as);

#endif

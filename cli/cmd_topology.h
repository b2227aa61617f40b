/* Which node is on which leaf switch, from InfiniBand, LLDP or latencies. */
#ifndef CMD_TOPOLOGY_H
#define CMD_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_topo.h"

#define CLI_TOPOLOGY_MAX_FILE (64u << 20)
#define CLI_TOPOLOGY_NONE UINT32_MAX /* no leaf */

struct cli_places {
	struct cli_place {
		char *node;
		uint32_t leaf; /* leaf of the first adapter */
		uint32_t other; /* of an adapter on another, or NONE */
	} *place;
	size_t n;
	char **leaf; /* names; "": not known */
	size_t n_leaves;
	/* Latencies within and between leaves, seconds; 0: not used. */
	double within, between;
};

void cli_places_free(struct cli_places *p);

/*
 * These functions are exported for the unit tests; only `netprof topology`
 * uses them.  The readers add what they find to *p, which the caller frees in
 * any case. Each returns 0 or -errno with err, which names file and line.
 */

/* Output of ibnetdiscover; node descriptions begin with the node's name. */
int cli_places_ib(const char *path, struct cli_places *p, struct np_err *err);
/* A directory with the output of lldpctl -f json of each node in NODE.json. */
int cli_places_lldp(const char *dir, struct cli_places *p,
		    struct np_err *err);
/* Lines "NODE NODE SECONDS". */
int cli_places_latencies(const char *path, struct cli_places *p,
			 struct np_err *err);
/* A matrix of latencies, seconds: sec[i * n + j], NaN if not known. */
int cli_places_measured(char *const node[], const double *sec, size_t n,
			struct cli_places *p, struct np_err *err);

/* Sort by node, in Slurm's order of names. */
void cli_places_sort(struct cli_places *p);

/*
 * Compare the sorted places p with Slurm's topology t.  slurm[i]: the leaf in t
 * that Slurm has place i on; as[l]: the leaf in t that found leaf l corresponds
 * to; CLI_TOPOLOGY_NONE if there is none.
 * Returns how many nodes are on another leaf than Slurm says, or -ENOMEM.
 */
long cli_places_compare(const struct cli_places *p, const struct np_topo *t,
			uint32_t *slurm, uint32_t *as);

#endif

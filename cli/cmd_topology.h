/*
 * Which node is on which leaf switch, from InfiniBand, LLDP or latencies.
 *
 * These functions are exported for the unit tests; only `netprof topology`
 * uses them.
 */
#ifndef CMD_TOPOLOGY_H
#define CMD_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_array.h"
#include "np_err.h"
#include "np_topo.h"

#define CLI_TOPOLOGY_MAX_FILE (64u << 20)
#define CLI_TOPOLOGY_NONE UINT32_MAX /* no leaf */

#define CLI_PLACE_OTHERS 15 /* further leaves of a node */

struct cli_places {
	struct cli_place {
		char *node;
		char *adapter; /* the first in the order of names */
		uint32_t leaf; /* of that adapter */
		uint32_t other[CLI_PLACE_OTHERS]; /* of others */
		size_t n_others;
	} * place;
	size_t n;
	char **leaf; /* names; "": not known */
	size_t n_leaves;
	char **alone; /* nodes whose files have no switch */
	size_t n_alone;
	/* Latencies within and between leaves, seconds; 0: not measured. */
	double within, between;
};

void cli_places_free(struct cli_places *places);

/*
 * The readers add what they find to *places, which the caller frees in any
 * case. Each returns 0 or -errno with err, which names file and line.
 */

/* Read output of ibnetdiscover; descriptions begin with the node's name. */
int cli_places_ib(const char *path, struct cli_places *places,
		  struct np_err *err);
/* Read DIR/NODE.json, the output of lldpctl -f json, of each node. */
int cli_places_lldp(const char *dir, struct cli_places *places,
		    struct np_err *err);
/* Read lines "NODE NODE SECONDS". */
int cli_places_latencies(const char *path, struct cli_places *places,
			 struct np_err *err);
/* Group nodes by latencies, seconds: sec[i * n + j], NaN if not known. */
int cli_places_measured(char *const node[], const double *sec, size_t n,
			struct cli_places *places, struct np_err *err);

/* Sort by node, in Slurm's order of names. */
void cli_places_sort(struct cli_places *places);

/*
 * Is one of the node's adapters on this leaf of Slurm's? A pair of switches that
 * nodes are connected to may be one leaf there. match: as below.
 */
bool cli_place_agrees(const struct cli_place *place, uint32_t slurm_leaf,
		      const uint32_t *match);

/*
 * Compare sorted places with topo, Slurm's topology. slurm_leaf[i]: the leaf of
 * topo that place i is on; match[l]: the leaf of topo to which leaf l of places
 * corresponds; CLI_TOPOLOGY_NONE: there is none. The nodes of topo that are in
 * no place are added to missing.
 * Returns how many nodes are on another leaf than Slurm says.
 */
long cli_places_compare(const struct cli_places *places,
			const struct np_topo *topo, uint32_t *slurm_leaf,
			uint32_t *match, struct np_index *missing);

#endif

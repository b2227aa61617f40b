/* The blocks of runs (np_record.h) as np_blocks.h takes them.  No I/O. */
#ifndef NP_RUN_BLOCKS_H
#define NP_RUN_BLOCKS_H

#include "np_blocks.h"
#include "np_evidence.h"

/*
 * Those of the runs that are used as NP_RUN_BLOCKS, of the levels of these names
 * at these scopes, oldest run first; blocks beside other levels are left out,
 * with which those next to them lose a neighbour.  scope NULL: any.
 * *out: free() it.  Returns 0 or -ENOMEM.
 */
int np_run_blocks(const struct np_runs *runs, const enum np_run_use *use,
		  const char *const *name, const char *const *scope,
		  size_t n_names, struct np_block **out, size_t *n);

/*
 * A level's rounds on so many nodes, before the program of such a run started:
 * those of r, or else of the newest run.  NULL: there are none.
 */
const struct np_moments *np_run_blocks_alone(const struct np_runs *runs,
					     const enum np_run_use *use,
					     const struct np_record *r,
					     const char *level,
					     uint32_t n_nodes);

/* The level's rounds in all blocks of r beside it. */
struct np_moments np_run_blocks_beside(const struct np_record *r,
				       const char *level);

#endif

/* What a run record says of the interference level that runs beside the step. */
#ifndef NP_LEVEL_RUN_H
#define NP_LEVEL_RUN_H

#include "np_record.h"

/*
 * Note in r the level of that name, and where it runs: scope is "leaf" or
 * "node", nodes a hostlist expression.  Returns 0, or -errno with err.
 */
int np_level_run_note(struct np_record *r, const char *name, const char *scope,
		      const char *nodes, struct np_err *err);

#endif

/* The part of a profile that runs beside interference levels give. */
#ifndef NP_PROFILE_LEVELS_H
#define NP_PROFILE_LEVELS_H

#include "np_profile.h"

/*
 * One result per level among the runs in use[] == NP_RUN_LEVEL, by name.
 * *levels: free() it.  Returns 0 or -ENOMEM.
 */
int np_profile_levels(const struct np_runs *runs, const enum np_run_use *use,
		      struct np_level_result **levels, size_t *n);

#endif

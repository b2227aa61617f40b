/*
 * The environment of the steps that we start beside the user's: a copy of
 * srun's without what would change their layout, their program or their
 * transport.
 */
#ifndef NP_SIDEENV_H
#define NP_SIDEENV_H

#include "np_conf.h"

/* Set in the environment of our own steps, which are not measured in turn. */
#define NP_SIDE_ENV "NETPROF_SIDE"

/*
 * NULL-terminated, one block: free() it.  env is borrowed and must outlive
 * the result.  NULL: out of memory.
 */
char **np_sideenv_make(char *const env[], const struct np_conf *conf);

#endif

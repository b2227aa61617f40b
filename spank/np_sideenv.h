/*
 * The environment of the steps that we start beside the user's: a copy of
 * srun's without what would change their layout, their program or their
 * transport.
 */
#ifndef NP_SIDEENV_H
#define NP_SIDEENV_H

#include "np_conf.h"

/*
 * NULL-terminated, one block: free() it.  env is borrowed and must outlive
 * the result.  NULL: out of memory.
 */
char **np_sideenv_make(char *const env[], const struct np_conf *conf);

#endif

/* What messages cost, as netprof loggps measured it. */
#ifndef CLI_LOGGPS_H
#define CLI_LOGGPS_H

#include "np_loggps_store.h"

/*
 * The newest of any cluster in the store, with a line on
 * standard error that says so; out stays as it is if there is none.
 */
void cli_loggps_net(struct np_loggps *out);

/* The same of a cluster (NULL: any), without a word: is there one? */
bool cli_loggps_of(struct np_store *s, const char *cluster,
		   struct np_loggps *out);

#endif

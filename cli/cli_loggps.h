/* What a message costs on the network, as netprof loggps measured it. */
#ifndef CLI_LOGGPS_H
#define CLI_LOGGPS_H

#include <stdbool.h>

#include "np_loggps.h"
#include "np_store.h"

/*
 * The newest of any cluster in the store, with a line on
 * standard error that says so; out stays as it is if there is none.
 */
void cli_loggps_net(struct np_loggps *out);

/* The same of a cluster (NULL: any), without a word: is there one? */
bool cli_loggps_of(struct np_store *s, const char *cluster,
		   struct np_loggps *out);

#endif

/* The LogGPS parameters of the network, as netprof loggps measured them. */
#ifndef CLI_LOGGPS_H
#define CLI_LOGGPS_H

#include <stdbool.h>

#include "np_err.h"
#include "np_loggps.h"
#include "np_store.h"

/*
 * Load the newest parameters of any cluster. *note gets the line that says so,
 * which the caller prints before its results. Without parameters both are
 * unchanged.
 */
void cli_loggps_net(struct np_loggps *out, struct np_err *note);

/*
 * Load the newest parameters of a cluster (NULL: any) and print nothing.
 * Returns false, and *out is unchanged, if there are none.
 */
bool cli_loggps_of(struct np_store *store, const char *cluster,
		   struct np_loggps *out);

#endif

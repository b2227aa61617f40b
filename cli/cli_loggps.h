/* The work of `netprof loggps`. */
#ifndef CLI_LOGGPS_H
#define CLI_LOGGPS_H

#include "cli.h"
#include "np_loggps_store.h"

struct cli_loggps_opt {
	uint32_t blocks, max_bytes;
	double max_trip_sec;
	bool across, show, json, dry_run;
	const char *output;  /* NULL: into the store */
	const char *cluster; /* of show; NULL: the newest of any */
};

/* cli_loggps_measure.c: *r is the caller's then; returns 0 or -errno. */
int cli_loggps_measure(const struct cli_loggps_opt *o,
		       struct np_loggps_record *r, struct np_err *err);

/*
 * cli_loggps_net.c: the newest of any cluster in the store, with a line on
 * standard error that says so; out stays as it is if there is none.
 */
void cli_loggps_net(struct np_loggps *out);

/* The same of a cluster (NULL: any), without a word: is there one? */
bool cli_loggps_of(struct np_store *s, const char *cluster,
		   struct np_loggps *out);

#endif

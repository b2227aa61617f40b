/* How much latency an application stands, in short: for `netprof show`. */
#ifndef CLI_ZONES_H
#define CLI_ZONES_H

#include "cli_profile.h"
#include "cli_tolerance.h"

struct cli_zones {
	bool traced;	   /* there is a trace */
	struct np_err why; /* which tells nothing: the reason, or "" */
	double L_ns;	   /* of the network */
	struct cli_tolerance_zone zone[TOLERANCE_ZONES];
};

/*
 * From the newest trace of the profile's owner.  Without one this costs a look
 * into a directory; of one that is too large for a page, it only says so.
 */
void cli_zones_find(struct cli_store *s, const struct cli_profile *p,
		    struct cli_zones *out);

/* The latency that can be added, in seconds; INFINITY: any. */
double cli_zones_added_sec(const struct cli_zones *z, size_t i);

/* One line for a page; "" where there is no trace. */
void cli_zones_say(const struct cli_zones *z, char *buf, size_t len);

#endif

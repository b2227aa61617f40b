/* How much latency an application stands, in short: for `netprof show`. */
#ifndef CLI_ZONES_H
#define CLI_ZONES_H

#include "cli_profile.h"
#include "np_traced.h"

struct cli_zones {
	bool traced;	   /* there is a trace */
	struct np_err why; /* which tells nothing: the reason, or "" */
	struct np_traced_zone zone[NP_TRACED_ZONES];
};

/*
 * From the newest trace of the profile's owner.  Without one this costs a look
 * into a directory; of one that is too large for a page, it only says so.
 */
void cli_zones_find(struct cli_store *s, const struct cli_profile *p,
		    struct cli_zones *out);

/* One line for a page; "" where there is no trace. */
void cli_zones_say(const struct cli_zones *z, char *buf, size_t len);

#endif

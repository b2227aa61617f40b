#include "cli_zones.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include <string.h>

#include "cli_loggps.h"
#include "cli_text.h"
#include "cli_traced.h"
#include "np_store.h"

#define MAX_BYTES (16u << 20) /* some tenths of a second */

/* The network where nothing is known of it: that of netprof tolerance. */
#define UNKNOWN_NET { .L_ns = 3000, .G_ns = 0.1, .S = NP_LOGGPS_NO_RENDEZVOUS }

void cli_zones_find(struct cli_store *s, const struct cli_profile *p,
		    struct cli_zones *out)
{
	struct np_loggps net = UNKNOWN_NET;
	char path[PATH_MAX + 2 * NAME_MAX];
	struct np_traced t;

	*out = (struct cli_zones){ .traced = false };
	if (p->r.owner != NP_STORE_USER ||
	    np_store_trace(s->store, p->r.uid, p->r.runs.app, path,
			   sizeof(path), NULL))
		return;
	out->traced = true;
	cli_loggps_of(s->store, NULL, &net);
	if (cli_traced_ask(path, p->r.uid, CLI_TRACED_ZONES, &net, MAX_BYTES,
			   &t, &out->why))
		return;
	memcpy(out->zone, t.zone, sizeof(out->zone));
	np_traced_free(&t);
}

void cli_zones_say(const struct cli_zones *z, char *buf, size_t len)
{
	buf[0] = '\0';
	if (!z->traced)
		return;
	if (z->why.text[0]) {
		snprintf(buf, len, "not known, as of its trace: %s",
			 z->why.text);
		return;
	}
	for (size_t i = 0; i < NP_TRACED_ZONES; i++) {
		double sec = z->zone[i].added_sec;
		char added[CLI_NUMBER];

		if (isfinite(sec))
			cli_add(buf, len, "%s+%s%s: %.0f %%%s", *buf ? ", " :
				"", cli_sec(sec, added), *buf ? "" : " latency",
				100 * z->zone[i].longer, *buf ? "" : " longer");
	}
	if (!*buf)
		snprintf(buf, len, "stands any latency");
}

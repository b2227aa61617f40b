#include "cli_zones.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "cli_graph.h"
#include "cli_text.h"
#include "cli_traced.h"
#include "np_store.h"

#define MAX_BYTES (16u << 20) /* some tenths of a second */

static int read_zones(const char *path, const struct np_loggps *net,
		      struct cli_zones *z)
{
	const struct np_tolerance_opt opt = { .net = *net, .x = NP_LOGGPS_L };
	double bytes = cli_traced_bytes(path);
	struct np_tolerance *t;
	struct np_graph *g;
	int rc;

	if (bytes > MAX_BYTES)
		return np_errf(&z->why, -E2BIG, "%.0f MB, \"netprof "
			       "tolerance\" reads them", bytes / (1 << 20));
	rc = cli_graph_load(path, NULL, &g, &z->why);
	if (rc)
		return rc;
	rc = np_tolerance_new(g, &opt, &t, &z->why);
	np_graph_free(g);
	if (rc)
		return rc;
	cli_tolerance_zones(t, net->L_ns, cli_tolerance_shares, TOLERANCE_ZONES,
			    z->zone);
	np_tolerance_free(t);
	return 0;
}

void cli_zones_find(struct cli_store *s, const struct cli_profile *p,
		    struct cli_zones *out)
{
	struct np_loggps net = CLI_TOLERANCE_NET;
	char path[PATH_MAX + 2 * NAME_MAX];

	*out = (struct cli_zones){ .traced = false };
	if (p->r.owner != NP_STORE_USER ||
	    np_store_trace(s->store, p->r.uid, p->r.runs.app, path,
			   sizeof(path), NULL))
		return;
	out->traced = true;
	cli_loggps_of(s->store, NULL, &net);
	out->L_ns = net.L_ns;
	read_zones(path, &net, out);
}

double cli_zones_added_sec(const struct cli_zones *z, size_t i)
{
	return 1e-9 * (z->zone[i].limit - z->L_ns);
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
	for (size_t i = 0; i < TOLERANCE_ZONES; i++) {
		double sec = cli_zones_added_sec(z, i);
		char added[CLI_NUMBER];

		if (isfinite(sec))
			cli_add(buf, len, "%s+%s%s: %.0f %%%s", *buf ? ", " :
				"", cli_sec(sec, added), *buf ? "" : " latency",
				100 * z->zone[i].share, *buf ? "" : " longer");
	}
	if (!*buf)
		snprintf(buf, len, "stands any latency");
}

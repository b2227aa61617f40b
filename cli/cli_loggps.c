/*
 * The LogGPS parameters that netprof loggps left in the store.
 */
#include "cli_loggps.h"

#include <stdio.h>

#include "cli_text.h"
#include "np_conf.h"
#include "np_loggps_store.h"

/* Used by predictions and pages, which say themselves what is missing. */
bool cli_loggps_of(struct np_store *s, const char *cluster,
		   struct np_loggps *out)
{
	struct np_loggps_record r;

	if (np_loggps_store_load(s, cluster, false, &r, NULL))
		return false;
	np_loggps_of_fit(&r.fit, out);
	np_loggps_record_free(&r);
	return true;
}

/*
 * Used by commands whose result depends on the network, so they tell which one
 * they used.
 */
void cli_loggps_net(struct np_loggps *out)
{
	struct np_loggps_record r;
	struct np_store *store;
	struct np_conf conf;
	char day[CLI_NUMBER];

	if (np_conf_from_environment(&conf, NULL) ||
	    np_store_open(conf.store, &store, NULL))
		return;
	if (!np_loggps_store_load(store, NULL, false, &r, NULL)) {
		np_loggps_of_fit(&r.fit, out);
		fprintf(stderr, "netprof: using the network parameters "
			"measured%s%s on %s\n", *r.cluster ? " on cluster " :
			"", r.cluster, cli_day(r.date, day));
		np_loggps_record_free(&r);
	}
	np_store_close(store);
}

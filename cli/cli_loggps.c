/* Loads the LogGPS parameters that netprof loggps has stored. */
#include "cli_loggps.h"

#include "cli_text.h"
#include "np_conf.h"
#include "np_loggps_store.h"

/* Callers report missing parameters in their own words. */
bool cli_loggps_of(struct np_store *store, const char *cluster,
		   struct np_loggps *out)
{
	struct np_loggps_record record;

	if (np_loggps_store_load(store, cluster, false, &record, NULL))
		return false;
	np_loggps_of_fit(&record.fit, out);
	np_loggps_record_free(&record);
	return true;
}

void cli_loggps_net(struct np_loggps *out, struct np_err *note)
{
	struct np_loggps_record record;
	struct np_store *store;
	struct np_conf conf;

	if (np_conf_from_environment(&conf, NULL) ||
	    np_store_open(conf.store, &store, NULL))
		return;
	if (!np_loggps_store_load(store, NULL, false, &record, NULL)) {
		np_loggps_of_fit(&record.fit, out);
		np_errf(note, 0,
			"using the network parameters measured%s%s on %s",
			*record.cluster ? " on cluster " : "", record.cluster,
			cli_day(record.date));
		np_loggps_record_free(&record);
	}
	np_store_close(store);
}

/*
 * LogGPS parameters of fabrics, as netprof loggps writes them next to the
 * calibrations (np_fabric_store.h):
 *
 *	STORE/fabric/CLUSTER/DATE.loggps	(DATE as 20261121T031320Z)
 *
 * one JSON object each, trusted and read like calibrations. The newest one of
 * its scope counts; earlier ones stay.
 */
#ifndef NP_LOGGPS_STORE_H
#define NP_LOGGPS_STORE_H

#include <stdbool.h>

#include "np_loggps.h"
#include "np_store.h"

#define NP_LOGGPS_SCHEMA 1
#define NP_LOGGPS_MAX_BYTES 65536

/* All texts are owned, and "" if the file lacks them. */
struct np_loggps_record {
	double date; /* of the measurement, seconds since 1970 */
	char *cluster, *from, *to, *leaf, *transport;
	char *ucx_version, *netprof_version;
	bool across; /* between nodes of two leaf switches */
	struct np_loggps_fit fit;
};

/*
 * Load the newest usable one of a cluster: under a leaf switch, or across leaf
 * switches. cluster: NULL or "": of any cluster.
 * Returns 0 (free with np_loggps_record_free()), or with err: -ENOENT (there is
 * none, or none is usable: err then says why the newest is not), -EACCES,
 * -ENOMEM or what reading the directory returned.
 */
int np_loggps_store_load(struct np_store *store, const char *cluster,
			 bool across, struct np_loggps_record *out,
			 struct np_err *err);

/*
 * Write a record for cluster (NULL or "": "cluster") at record->date, as
 * np_fabric_store_save() does. Returns 0 or -errno with err.
 */
int np_loggps_store_save(struct np_store *store, const char *cluster,
			 const struct np_loggps_record *record,
			 struct np_err *err);

/*
 * Would a save be possible? Returns 0, or what np_loggps_store_save() would.
 */
int np_loggps_store_check(struct np_store *store, const char *cluster,
			  struct np_err *err);

/* As text, one line, malloc'ed. Returns 0, or -ENOMEM, -EINVAL with err. */
int np_loggps_record_put(const struct np_loggps_record *record, char **out,
			 struct np_err *err);

/*
 * Parse hostile text; where names it in messages. Returns 0, or with err
 * -EINVAL, -EPROTONOSUPPORT (a newer schema) or -ENOMEM.
 */
int np_loggps_record_get(const char *text, size_t len, const char *where,
			 struct np_loggps_record *out, struct np_err *err);
void np_loggps_record_free(struct np_loggps_record *record);

/*
 * The parameters for execution graphs: o is the mean of both sides, and a size
 * between S and S_above counts as rendezvous.
 */
void np_loggps_of_fit(const struct np_loggps_fit *fit, struct np_loggps *out);

#endif

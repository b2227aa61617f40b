/*
 * Calibrations of fabrics, as netprof calibrate writes them:
 *
 *	STORE/fabric/CLUSTER/DATE.json	(DATE as 20261121T031320Z)
 *
 * Each file is one set of netprof-pairs(5) without programs, and also says
 * when, where and with which probes it was measured. Earlier calibrations
 * stay; the newest usable one counts.
 *
 * fabric/ and what is below it is trusted like published/: only if root or the
 * owner of STORE owns it. No symbolic link is followed, and every file is
 * checked (regular, owner, size) and then parsed as hostile input.
 */
#ifndef NP_FABRIC_STORE_H
#define NP_FABRIC_STORE_H

#include "np_measured.h"
#include "np_store.h"

/*
 * Load the newest usable calibration.
 * cluster: its name; NULL or "": any cluster.
 * scope: "node" or "leaf"; NULL: any, with leaf preferred to node regardless of
 * age.
 * Returns 0 (free with np_calibration_free()), or with err: -ENOENT (there is
 * none, or none is usable: err then says why the newest is not), -EACCES,
 * -ENOMEM or what reading the directory returned.
 */
int np_fabric_store_load(struct np_store *store, const char *cluster,
			 const char *scope, struct np_calibration *out,
			 struct np_err *err);

/*
 * The same, but whatever its age and scope, one of the same fabric is preferred
 * where a cluster has several: of the same rail, or else, if rail is NULL, of
 * the same transport. NULL: not known.
 */
struct np_fabric_of {
	const char *rail, *transport;
};
int np_fabric_store_load_of(struct np_store *store, const char *cluster,
			    const char *scope, const struct np_fabric_of *of,
			    struct np_calibration *out, struct np_err *err);

/* Is a calibration of that fabric? True if neither member is known. */
bool np_fabric_is_of(const struct np_calibration *calibration,
		     const struct np_fabric_of *of);

/*
 * The stamp of the directory of a cluster's calibrations. While it stays the
 * same, so does the result of np_fabric_store_load() for that cluster.
 * Returns 0, or with err -ENOENT (there is none), -EACCES or another -errno.
 */
int np_fabric_store_stamp(struct np_store *store, const char *cluster,
			  struct np_store_stamp *out, struct np_err *err);

/*
 * The same for the directories of all clusters, as np_cache_state() hashes
 * them. Directories that cannot be read are left out.
 */
uint64_t np_fabric_store_state(struct np_store *store);

/*
 * Write json_text as the calibration of cluster (NULL or "": "cluster") at
 * date, after np_calibration_parse() accepted it; completely or not at all,
 * mode 0644. One of the same second is replaced. For administrators. Returns 0
 * or -errno with err.
 */
int np_fabric_store_save(struct np_store *store, const char *cluster,
			 double date, const char *json_text,
			 struct np_err *err);

#endif

/*
 * Calibrations of fabrics, as netprof calibrate leaves them:
 *
 *	STORE/fabric/CLUSTER/DATE.json	(DATE as 20261121T031320Z)
 *
 * Each file is one set of netprof-pairs(5) without programs, and says besides
 * when, where and with which probes it was measured.  A later calibration
 * stands beside the earlier ones; the newest that can be used counts.
 *
 * fabric/ and what is below it is trusted as published/ is: only if owned by
 * root or by the owner of STORE.  No symbolic link is followed, and every file
 * is checked (regular, owner, size) and then parsed as hostile input.
 */
#ifndef NP_FABRIC_STORE_H
#define NP_FABRIC_STORE_H

#include <stdint.h>

#include "np_level.h"
#include "np_measured.h"
#include "np_store.h"

#define NP_CALIBRATION_MAX_LEAVES 4096

/* The idle probes of one leaf switch. */
struct np_calibration_leaf {
	const char *name;
	struct np_latency idle; /* all.n 0: not measured */
};

/* What was measured of a level that is not in the tables. */
struct np_calibration_other {
	const char *name;
	struct np_mean slows_by; /* the middle level */
	struct np_latency probes;
};

/*
 * One calibration.  All is owned by it.  Texts that the file does not have are
 * "", numbers are 0.
 */
struct np_calibration {
	char *path;  /* of the file, for messages */
	double date; /* of the measurement, seconds since 1970 */
	char *cluster, *transport, *netprof_version, *ucx_version;
	enum np_scope scope; /* where the interferers were: curves and tables
				are of this scope; leaf if not said */
	uint32_t message_bytes; /* of the probes */
	double period_sec;
	/* Where it was measured, how long and how often each. */
	char *leaf_name, *victim_nodes, *level_nodes;
	double seconds;
	uint32_t repeats;

	struct np_measured measured; /* one set, without programs */
	/* Its fabric; for the models.  coupling[scope] is 1 where the file
	 * does not say it. */
	const struct np_fabric *fabric;
	/* What each level of the fabric was; partners 0: not said. */
	struct np_level *level;
	size_t n_levels;
	/*
	 * How long a round of each level takes when it runs alone, in seconds:
	 * n measurements, one before each of the level beside another, and
	 * their scatter.  NULL: written before this was kept.
	 */
	struct np_mean *alone_round_sec;
	size_t n_alone_nodes; /* on which these ran; 0: not known */
	struct np_mean loss[NP_N_SCOPES]; /* of speed, behind the coupling */
	struct np_calibration_leaf *leaf;
	size_t n_leaves;
	struct np_calibration_other *other;
	size_t n_others;

	/* Newer files that could not be used, and why of the newest. */
	size_t n_skipped;
	struct np_err skipped;
};

/*
 * Load the newest calibration that can be used.
 * cluster: its name; NULL or "": the newest of any cluster.
 * scope: "node" or "leaf": only of that scope.  NULL: of any, leaf preferred
 * to node however old it is.
 * Returns 0 (free with np_calibration_free()), or with err: -ENOENT (there is
 * none, or none that can be used: err then says why of the newest), -EACCES,
 * -ENOMEM or what reading the directory gave.
 */
int np_fabric_store_load(struct np_store *s, const char *cluster,
			 const char *scope, struct np_calibration *out,
			 struct np_err *err);

/*
 * The stamp of the directory of a cluster's calibrations: as long as it is the
 * same, so is what np_fabric_store_load() of that cluster gives.
 * Returns 0, or with err -ENOENT (there is none), -EACCES or another -errno.
 */
int np_fabric_store_look(struct np_store *s, const char *cluster,
			 struct np_store_stamp *out, struct np_err *err);

/*
 * Parse one calibration; path names it in messages.  Returns 0, or with err
 * what np_measured_parse() gives, also for programs in it, a scope, level,
 * leaf or number that cannot be.
 */
int np_calibration_parse(const char *text, size_t len, const char *path,
			 struct np_calibration *out, struct np_err *err);
/* The reverse; *out is malloc'ed.  Returns 0, -ENOMEM or -EINVAL with err. */
int np_calibration_write(const struct np_calibration *c, char **out,
			 struct np_err *err);

/* An empty one, for who measures it.  Returns 0 or -ENOMEM. */
int np_calibration_init(struct np_calibration *c, const char *path);
void np_calibration_free(struct np_calibration *c);

/*
 * Write json_text as the calibration of cluster (NULL or "": "cluster") at
 * date: checked by np_calibration_parse(), temporary file, fsync, rename, mode
 * 0644.  One of the same second is replaced.  For administrators: as
 * np_store_publish().  Returns 0 or -errno with err.
 */
int np_fabric_store_save(struct np_store *s, const char *cluster, double date,
			 const char *json_text, struct np_err *err);

#endif

/*
 * What the placement in slurmctld knows and has decided, for netprof status and
 * netprof explain:
 *
 *	STORE/placement/state.json	the latest decision
 *	STORE/placement/ended-YYYYMMDD.jsonl	jobs that ended, one per line
 *
 * The thread in slurmctld writes both, the first by replacing the file, the
 * second by appending whole lines; the commands read them. The members are
 * described in netprof-placement(5). placement/ belongs to SlurmUser.
 * Texts are owned by the structure that they are in; NULL counts as "".
 */
#ifndef NP_STATE_H
#define NP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_err.h"

#define NP_STATE_SCHEMA 1
#define NP_STATE_MAX_BYTES (64u << 20)	 /* read of one file */
#define NP_STATE_MAX_CAUSES 16		 /* of one job */
#define NP_STATE_MAX_DENIALS 64		 /* denied names */
#define NP_STATE_WHY_MAX 191		 /* bytes of the reason of a denial */
#define NP_ACCOUNTING_MAX_NEIGHBOURS 256 /* of one job, when reading */
#define NP_ACCOUNTING_PUT_NEIGHBOURS 32	 /* the same, when writing */
#define NP_ACCOUNTING_PUT_LINE 16384	 /* bytes; fewer neighbours then */
#define NP_ACCOUNTING_MAX_DAY \
	NP_STATE_MAX_BYTES /* written to the file of a day */
#define NP_ACCOUNTING_KEEP_DAYS 30
#define NP_ACCOUNTING_KEEP_FILES 40

/* Why a leaf switch is not allowed to a job. */
struct np_state_cause {
	char *leaf;
	uint32_t other; /* id of the job to be kept apart from */
	char *other_app;
	uint32_t victim; /* id of the job that would be slowed; 0: this one */
	double slowdown; /* predicted, fraction */
};

struct np_state_job {
	uint32_t id;
	uint32_t array, task; /* array 0: not part of an array */
	uint32_t uid;
	char *app;  /* "": unknown */
	bool known; /* a usable profile exists */
	char *partition;
	char *mode;   /* of placement, for example "enforce" */
	bool pending; /* else running */
	uint32_t n_nodes;
	char *leaves; /* hostlist expression of leaf switches: where a running
			   job is, or where a restricted one may go; "": any */
	char *action; /* pending: "none", "unrestricted", "restricted", "held" */
	bool applied;	 /* false: advice only */
	double until;	 /* date until which the job is held; 0: not held */
	double held_sec; /* how long it was held so far */
	double start;	 /* date; of a running job */
	char *text;	 /* the decision in one line */
	struct np_state_cause *cause;
	size_t n_causes;
};

/* A user whose jobs use a published name without authorisation. */
struct np_state_denial {
	uint32_t uid;
	char *app;
	uint32_t n_jobs; /* jobs that count as unknown because of it */
	bool refuted;	 /* by the user's own runs; else denied by Claim= */
	char *why;
};

struct np_state_leaf {
	char *name;
	uint32_t n_nodes, n_idle,
		n_unavailable;	  /* n_unavailable: down or drained nodes */
	uint32_t n_jobs, n_known; /* running jobs; those with profile */
	double worst_slowdown; /* worst predicted slowdown of a job there, fraction */
};

struct np_state {
	double date;	     /* of the decision */
	double interval_sec; /* between two decisions */
	char *cluster;
	char *slurm_version, *netprof_version;
	char *controller; /* host name */
	char *mode;	  /* of partitions that have none of their own */
	char *fabric;	  /* np_catalog_fabric() */
	char *trouble;	  /* why it does not work fully, or "" */
	double max_slowdown, max_hold_sec;
	uint32_t n_profiles;
	double decide_sec; /* duration of the latest decision */
	struct np_state_leaf *leaf;
	size_t n_leaves;
	struct np_state_job *job; /* with a profile, or with a decision */
	size_t n_jobs;
	struct np_state_denial *denial; /* denied names */
	size_t n_denials;
	uint32_t more_denied; /* jobs with denied names beyond these */
};

/* A job that shared leaf switches with an ended job. */
struct np_accounting_neighbour {
	uint32_t id;
	char *app;    /* "": unknown */
	char *leaves; /* that both used */
	double overlap_sec;
	double slowdown; /* of the ended job, predicted for the pair alone */
};

/* A job that ended, with its neighbours. */
struct np_accounting_record {
	uint32_t id, array, task, uid;
	char *app, *partition, *leaves;
	uint32_t n_nodes;
	double submit, start, end; /* dates */
	double held_sec; /* how long placement held it before its start */
	double slowdown; /* predicted over the whole run, fraction */
	struct np_accounting_neighbour *neighbour;
	size_t n_neighbours;
	uint32_t more_neighbours; /* left out of the line */
};

/*
 * Write state.json. mode: of the file (0644, or 0640 where jobs are private).
 * The directory is made if missing. Returns 0 or -errno with err.
 */
int np_state_save(const char *store_dir, const struct np_state *state,
		  mode_t mode, struct np_err *err);

/*
 * Read state.json. Returns 0 (free with np_state_free()), or with err -ENOENT:
 * never written; -EACCES; -EINVAL or -EFBIG: damaged, too large, or of a newer
 * schema; -ENOMEM or another -errno.
 */
int np_state_load(const char *store_dir, struct np_state *out,
		  struct np_err *err);
void np_state_free(struct np_state *state);

/*
 * Change the mode of all existing files. Returns 0, also if there are none, or
 * the last failure with err.
 */
int np_state_set_mode(const char *store_dir, mode_t mode, struct np_err *err);

/*
 * How much of a day's file the jobs of each user fill. A user may take at most
 * as many of its NP_ACCOUNTING_MAX_DAY bytes as stay free (np_array.h).
 */
struct np_accounting_day;
int np_accounting_day_new(struct np_accounting_day **out);  /* 0 or -ENOMEM */
void np_accounting_day_free(struct np_accounting_day *day); /* NULL is allowed */

/*
 * Append one job. At the first job of a day, files older than
 * NP_ACCOUNTING_KEEP_DAYS are removed, except the newest
 * NP_ACCOUNTING_KEEP_FILES, which stay whatever the clock says. If the clock
 * is behind all existing files, the line goes into the newest one. Returns 0;
 * -ENOBUFS: the user's share of that file is used up (err is set only the first
 * time for a user and file, and is empty afterwards); or another -errno with
 * err.
 */
int np_accounting_append(const char *store_dir, struct np_accounting_day *day,
			 const struct np_accounting_record *record, mode_t mode,
			 struct np_err *err);

/*
 * Find the latest entry of a job, or of a task of an array job: array id and
 * task; NP_ACCOUNTING_NO_TASK: id is a job id. Damaged or incomplete lines are
 * ignored. Returns 0 (free with np_accounting_record_free()), -ENOENT, -EACCES
 * or another -errno.
 */
#define NP_ACCOUNTING_NO_TASK UINT32_MAX
int np_accounting_find(const char *store_dir, uint32_t id, uint32_t task,
		       struct np_accounting_record *out, struct np_err *err);
void np_accounting_record_free(struct np_accounting_record *record);

/* ---- the same as JSON text ---- */

#define NP_STATE_MAX_LEAVES 65536
#define NP_STATE_MAX_JOBS 262144
#define NP_ACCOUNTING_MAX_LINE (1u << 20) /* bytes, when reading */

/*
 * The whole state as text, one leaf switch or job per line; *out is malloc'ed.
 * Numbers above a reader's limit are written as that limit. Returns 0,
 * -ENOMEM, or -EINVAL with err (a number that is not finite). Exported for the
 * tests.
 */
int np_state_put(const struct np_state *state, char **out, struct np_err *err);

/*
 * text[len] is hostile. Returns 0, -ENOMEM, or -EINVAL with err. Exported for
 * the tests.
 */
int np_state_get(const char *text, size_t len, const char *where,
		 struct np_state *out, struct np_err *err);

/* One line of a day's file; hostile, too. Exported for the fuzz target. */
int np_accounting_parse(const char *text, size_t len,
			struct np_accounting_record *out);

#endif

/*
 * What the placement in slurmctld knows and decided, for netprof status and
 * netprof explain:
 *
 *	STORE/placement/state.json	the last decision
 *	STORE/placement/ended-YYYYMMDD.jsonl	jobs that ended, one a line
 *
 * The thread in slurmctld writes them (temporary file, fsync, rename; the
 * second one by appending whole lines), the CLI reads them; see
 * netprof-placement(5).  placement/ belongs to SlurmUser.  Texts are owned by
 * the structures they are in; NULL counts as "".
 */
#ifndef NP_STATE_H
#define NP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_err.h"

#define NP_STATE_SCHEMA 1
#define NP_STATE_MAX_BYTES (64u << 20) /* of a file that is read */
#define NP_STATE_MAX_CAUSES 16	       /* of one job */
#define NP_STATE_MAX_CLAIMS 64	       /* that do not hold */
#define NP_STATE_WHY_MAX 191	       /* of one, in words */
#define NP_ENDED_MAX_NEIGHBOURS 256    /* of one job, in what is read */
#define NP_ENDED_PUT_NEIGHBOURS 32     /* in what is written: the first ones */
#define NP_ENDED_PUT_LINE 16384	       /* bytes with them; fewer then */
#define NP_ENDED_MAX_DAY NP_STATE_MAX_BYTES /* of a file that is written */
#define NP_ENDED_KEEP_DAYS 30
#define NP_ENDED_KEEP_FILES 40

/* Why a leaf is closed to a job. */
struct np_state_cause {
	char *leaf;
	uint32_t other;	   /* job id it is kept away from */
	char *other_app;
	uint32_t victim;   /* job id that would be slowed; 0: itself, new */
	double slowdown;   /* predicted, fraction */
};

struct np_state_job {
	uint32_t id;
	uint32_t array, task; /* array 0: no array */
	uint32_t uid;
	char *app;	/* "": not known */
	bool known;	/* there is a usable profile */
	char *partition;
	char *mode;	/* "enforce" */
	bool pending;	/* else it runs */
	uint32_t n_nodes;
	char *leaves;	/* running: where it is; confined: where it may go;
			   a hostlist expression of switches; "": any */
	char *action;	/* pending: "none", "anywhere", "confine", "defer" */
	bool applied;	/* false: advice */
	double until;	/* deferred: date; 0: not */
	double held_sec;
	double start;	/* running: date */
	char *text;	/* the decision in one line */
	struct np_state_cause *cause;
	size_t n_causes;
};

/* A published name that a user's jobs go by and may not. */
struct np_state_claim {
	uint32_t uid;
	char *app;
	uint32_t n_jobs; /* that count as unknown */
	bool refuted;	 /* by own runs, else barred by Claim= */
	char *why;
};

struct np_state_leaf {
	char *name;
	uint32_t n_nodes, n_idle, n_away; /* away: down, drained */
	uint32_t n_jobs, n_known;	  /* that run on it */
	double strain; /* worst predicted slowdown of a job there, fraction */
};

struct np_state {
	double date;	      /* when the decision was taken */
	double interval_sec;  /* between two of them */
	char *cluster;
	char *slurm_version, *netprof_version;
	char *controller;     /* host */
	char *mode;	      /* of the default partition */
	char *fabric;	      /* np_catalog_fabric() */
	char *trouble;	      /* "", or what keeps it from working fully */
	double max_slowdown, max_defer_sec;
	uint32_t n_profiles;
	double decide_sec;    /* the last decision took */
	struct np_state_leaf *leaf;
	size_t n_leaves;
	struct np_state_job *job; /* known, or decided about */
	size_t n_jobs;
	struct np_state_claim *claim; /* that do not hold */
	size_t n_claims;
	uint32_t more_denied; /* jobs with claims beyond these */
};

/* A neighbour that a job had. */
struct np_ended_neighbour {
	uint32_t id;
	char *app;	    /* "": not known */
	char *leaves;	    /* that they shared */
	double overlap_sec;
	double slowdown;    /* predicted of the job beside it alone */
};

/* A job that ended, with who was beside it. */
struct np_ended {
	uint32_t id, array, task, uid;
	char *app, *partition, *leaves;
	uint32_t n_nodes;
	double submit, start, end; /* dates */
	double held_sec; /* how long placement held it back */
	double slowdown; /* predicted over its whole run, fraction */
	struct np_ended_neighbour *neighbour;
	size_t n_neighbours;
	uint32_t more_neighbours; /* that the line has no room for */
};

/*
 * Write state.json; mode: of the file (0644, or 0640 where jobs are private).
 * The directory is made if it can be.  Returns 0 or -errno with err.
 */
int np_state_save(const char *store_dir, const struct np_state *s, mode_t mode,
		  struct np_err *err);

/*
 * Read it.  Returns 0 (np_state_free()); -ENOENT: never written; -EACCES;
 * -EINVAL or -EFBIG: damaged, too large, or of a newer schema; with err.
 */
int np_state_load(const char *store_dir, struct np_state *out,
		  struct np_err *err);
void np_state_free(struct np_state *s);

/*
 * Give all that was written so far this mode.  Returns 0, also where nothing
 * was, or what went wrong last, with err.
 */
int np_state_set_mode(const char *store_dir, mode_t mode, struct np_err *err);

/*
 * How much of the file of one day the jobs of each user fill: of
 * NP_ENDED_MAX_DAY bytes no user gets more than stays free (np_shares.h).
 */
struct np_ended_day;
int np_ended_day_new(struct np_ended_day **out); /* 0 or -ENOMEM */
void np_ended_day_free(struct np_ended_day *day); /* NULL is allowed */

/*
 * Append one job.  When a day begins, files older than NP_ENDED_KEEP_DAYS are
 * removed, but the newest NP_ENDED_KEEP_FILES stay whatever the clock says; and
 * where it is before all of several files, the line goes into the newest.
 * Returns 0; -ENOBUFS: the user's share of that file is used up, which err says
 * the first time of a user and a file and is empty afterwards; or another
 * -errno with err.
 */
int np_ended_append(const char *store_dir, struct np_ended_day *day,
		    const struct np_ended *e, mode_t mode, struct np_err *err);

/*
 * Find the latest entry of a job, or of a task of an array (array id and task;
 * task NO_TASK: id is a job id).  A damaged or half-written line is passed
 * over.  Returns 0 (np_ended_free()), -ENOENT, -EACCES or another -errno.
 */
#define NP_ENDED_NO_TASK UINT32_MAX
int np_ended_find(const char *store_dir, uint32_t id, uint32_t task,
		  struct np_ended *out, struct np_err *err);
void np_ended_free(struct np_ended *e);

/* ---- as JSON, for the files above ---- */

#define NP_STATE_MAX_LEAVES 65536
#define NP_STATE_MAX_JOBS 262144
#define NP_ENDED_MAX_LINE (1u << 20)

/*
 * All of it as text, one leaf or job a line; *out is malloc'ed.  Numbers beyond
 * what a reader takes are written as the last one it does.  Returns 0, -ENOMEM,
 * or -EINVAL with err (a number that is none).
 */
int np_state_put(const struct np_state *s, char **out, struct np_err *err);

/* text[len] is hostile.  Returns 0, -ENOMEM, or -EINVAL with err. */
int np_state_get(const char *text, size_t len, const char *where,
		 struct np_state *out, struct np_err *err);

/* One line; *out is malloc'ed.  A reader takes NP_ENDED_MAX_LINE bytes. */
int np_ended_put(const struct np_ended *e, char **out, struct np_err *err);
int np_ended_get(const char *text, size_t len, struct np_ended *out);

#endif

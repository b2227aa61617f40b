/*
 * Job snapshot: Slurm's nodes and jobs at one moment. It consists of the sealed
 * snapshot that the decision reads (np_snapshot.h), and for each job what is
 * needed to update and to report it.
 */
#ifndef NP_JOB_SNAPSHOT_H
#define NP_JOB_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "np_annotation.h"
#include "np_catalog.h"
#include "np_cluster_map.h"
#include "np_shared.h"
#include "np_snapshot.h"

/*
 * ---- Job cache ----
 *
 * What the thread remembers of jobs from one pass to the next, beyond what is
 * stored in the jobs.
 */

struct np_cached_job {
	uint32_t id;	   /* first: np_order_u32() */
	double held_sec;   /* how long placement has held it back; exact, while
			      the annotation has a rounded number */
	uint64_t logged;   /* digest of the decision that was logged last */
	unsigned n_logged; /* log lines about the job in logged_hour */
	int64_t logged_hour; /* hours since the epoch */
	char *comment;	     /* AdminComment with the last annotation, in case
			      somebody overwrites it; NULL: none */
	unsigned failures;   /* consecutive updates that Slurm refused */
	bool in_snapshot;    /* it is in the last job snapshot */
	bool all_user;	     /* all its excluded nodes are the user's, as they
			      were set while the user's jobs were ignored */
};

struct np_job_cache;

/* Returns 0 or -ENOMEM. */
int np_job_cache_new(struct np_job_cache **out);
void np_job_cache_free(struct np_job_cache *cache); /* NULL is allowed */

/*
 * Return the entry of a job, which is made if needed, or NULL when out of
 * memory. It is valid until the next call.
 */
struct np_cached_job *np_job_cache_add(struct np_job_cache *cache, uint32_t id);

/* Return the entry of a job, or NULL if it has none. */
struct np_cached_job *np_job_cache_find(struct np_job_cache *cache,
					uint32_t id);

/* Remove the jobs that were not added again since the last sweep. */
void np_job_cache_sweep(struct np_job_cache *cache);

/*
 * The thread loses a race against a user who changes a job between the snapshot
 * and the update, or who changes more jobs than are updated in a pass. After
 * NP_LOST_RACES consecutive passes with a lost race, whoever won it, each user
 * who won two of them is ignored for NP_IGNORE_USER_SEC, so that updates of the
 * jobs of other users are not held up.
 */
#define NP_LOST_RACES 5
#define NP_IGNORE_USER_SEC 60

/* Record that the thread has lost a race against the user in this pass. */
void np_job_cache_lost_race(struct np_job_cache *cache, uint32_t uid);

/*
 * Record that Slurm refused an update in this pass. Jobs that conflict with the
 * refused one have to wait. Returns true, and records nothing, after
 * NP_LOST_RACES such passes in a row: they must no longer wait.
 */
bool np_job_cache_refused(struct np_job_cache *cache);

/*
 * End the pass. on_ignored(uid), unless NULL, is called for each user whose
 * jobs are ignored from now on.
 */
void np_job_cache_end_pass(struct np_job_cache *cache, int64_t now_sec,
			   void (*on_ignored)(uint32_t uid));

/* Whether the user's jobs are ignored now. */
bool np_job_cache_ignores(const struct np_job_cache *cache, uint32_t uid,
			  int64_t now_sec);

/* ---- Loading from Slurm ---- */

/* Slurm's nodes, partitions, jobs and switches. */
struct np_ctld_info {
	node_info_msg_t *nodes;
	partition_info_msg_t *parts;
	job_info_msg_t *jobs;
	char *topology; /* text as np_topo.h describes it, malloc'ed */
};

/* Load them by RPC, for the thread only. Returns 0 or -EIO with err. */
int np_ctld_info_load(struct np_ctld_info *info, struct np_err *err);
/*
 * The same without the topology, which some releases do not load into programs
 * other than their own.
 */
int np_ctld_info_load_jobs(struct np_ctld_info *info, struct np_err *err);
void np_ctld_info_free(struct np_ctld_info *info);

/*
 * Find the jobs that were submitted since since_sec, were not found before, and
 * were not held, as their annotations say. *last_id: highest job id of the load
 * before, 0 at first; it becomes that of this load. The caller frees out->of.
 * Returns 0 or -ENOMEM.
 */
int np_ctld_info_arrivals(const struct np_ctld_info *info, int64_t since_sec,
			  uint32_t *last_id, struct np_arrivals *out);

/* ---- The job snapshot ---- */

/* One job, in the order of the snapshot's jobs. */
struct np_job_entry {
	/* The job as the decision reads it. Its profile is unknown if its user
	   may not use the name; its start is 0 while it is pending or
	   requeued. */
	const struct np_job *in;
	uint32_t id;
	uint64_t sluid; /* 0: none */
	uint32_t array; /* 0: none */
	uint32_t task;	/* NP_JOB_ENTRY_NO_TASK: a record of several tasks */
	char app[NP_APP_MAX + 1]; /* "": none given */
	enum np_auth auth;
	int partition;	  /* index in the map; -1: unknown */
	uint32_t n_nodes; /* that it has or requests */
	/* Of a pending job: updated with what the user wants at present. */
	struct np_annotation annotation;
	uint32_t *tasks; /* record of several tasks: the lowest ones, at most
			    NP_PLACEMENT_MAX_TASKS */
	uint32_t n_tasks;

	/* Pending jobs that placement may update, or has updated. */
	bool managed;
	char *comment; /* AdminComment; NULL: none */
	/* Bitmaps of excluded nodes: those that the user wants, those that
	   placement added, and those that the job has at present. Equal ones
	   may share memory. */
	const uint64_t *user, *written, *present;
	uint64_t *bits;	   /* the memory of these */
	int64_t begin_sec; /* begin time that the job has; 0: none */
	bool in_effect;	   /* the job contains what the annotation says */
	bool changed;	   /* by its user, since the last snapshot */
};
#define NP_JOB_ENTRY_NO_TASK UINT32_MAX

struct np_job_snapshot {
	struct np_cluster_map *map;
	struct np_snapshot *snapshot;
	int64_t now_sec;
	uint32_t *set; /* nodes of each partition, as in struct np_decision */
	enum np_node_state *node; /* state of each node */
	uint64_t *none;		  /* an empty bitmap of nodes */
	struct np_job_entry *job;
	size_t n_jobs;
};

/* What a job snapshot is made from. */
struct np_job_snapshot_input {
	const struct np_ctld_info *info;
	struct np_cluster_map *map;
	const struct np_app_index *index; /* NULL: no application is known */
	const struct np_place_conf *conf;
	struct np_job_cache *cache;
	const struct np_change *change; /* since the last snapshot */
	size_t n_changes;
	int64_t now_sec;
	int64_t last_sec; /* time of the last decision, 0 if none */
};

/*
 * Make a job snapshot. Free it with np_job_snapshot_free(). Returns 0 or -errno
 * with err.
 */
int np_job_snapshot_make(const struct np_job_snapshot_input *in,
			 struct np_job_snapshot *out, struct np_err *err);
void np_job_snapshot_free(struct np_job_snapshot *snapshot);

/*
 * Find the application of a job: the one in its annotation, or the one that a
 * rule of netprof.conf gives it. Returns whether there is one.
 */
bool np_job_snapshot_app(const struct np_place_conf *conf,
			 const slurm_job_info_t *job, char app[NP_APP_MAX + 1]);

#endif

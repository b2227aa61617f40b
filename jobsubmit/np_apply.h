/*
 * Writes decisions into pending jobs: excluded nodes, begin time, annotation.
 * Each job gets at most one update, and only if something differs, so a
 * decision can be written repeatedly. Uses RPCs: for the placement thread only,
 * and with no lock held.
 */
#ifndef NP_APPLY_H
#define NP_APPLY_H

#include <stdbool.h>

#include "np_job_snapshot.h"
#include "np_placement.h"

/* ---- One update ---- */

/* Values to set in a job. Texts are malloc'ed; NULL: leave unchanged. */
struct np_update {
	char *exc_nodes;   /* "": clear */
	char *comment;	   /* AdminComment; "": clear */
	int64_t begin_sec; /* 0: leave unchanged */
	char *ours;	   /* what placement excludes, a hostlist; NULL: none */
};

/*
 * Compute the update after which a pending job contains the user's settings
 * combined with an outcome. One that is not applied removes what placement
 * wrote. job: index in the snapshot. force: set all values, whatever the job
 * has now.
 *
 * Returns 1 and fills *update, 0 if the job is up to date (only update->ours is
 * set), or -ENOMEM. Free with np_update_clear(). No RPC.
 */
int np_update_make(const struct np_job_snapshot *jobs, size_t job,
		   const struct np_outcome *outcome, bool force,
		   struct np_update *update);
void np_update_clear(struct np_update *update);

/*
 * Send an update. job_id_str: an array task such as "12_3", or NULL to use
 * job_id. Returns 0 or a Slurm error number.
 */
int np_update_send(uint32_t job_id, const char *job_id_str,
		   const struct np_update *update);

/*
 * Whether an error of np_update_send() means that the job has started or ended
 * meanwhile.
 */
bool np_update_too_late(int rc);

/* ---- All updates of a decision ---- */

/* Result of writing a decision. */
struct np_applied {
	size_t updates;	 /* made */
	size_t failures; /* updates that Slurm refused */
	bool incomplete; /* not all restrictions were written: until the next
			    decision it is unknown which leaves jobs may use */
	bool needs_another_pass;    /* soon: there is more to write */
	struct np_written *written; /* what the jobs contain now; malloc'ed */
	size_t n_written;
};

/*
 * Write restrictions first, as np_outcome requires, and then the rest. If a job
 * changed meanwhile, or Slurm refused its update, the jobs that conflict with
 * it are not given more leaves, but all others are: the job is reported to the
 * placement (np_placement_update_failed()), and its user to the cache.
 *
 * Each owner has a share (np_array.h) of max_updates. may_continue(arg) is
 * called before each update; once it returns false, no job is given more
 * leaves. shared records each update, so that job_modify recognises it. Returns
 * 0 or -ENOMEM.
 */
int np_apply(const struct np_job_snapshot *jobs, struct np_placement *placement,
	     struct np_job_cache *cache, struct np_shared *shared,
	     size_t max_updates, bool (*may_continue)(void *arg), void *arg,
	     struct np_applied *out);

#endif

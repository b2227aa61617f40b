/*
 * Write a decision into the pending jobs: exclusions, begin time, note; one
 * update a job, only where something differs, so that a decision can be
 * written again.  RPCs: for the thread only, and with no lock held.
 */
#ifndef NP_APPLY_H
#define NP_APPLY_H

#include <stdbool.h>

#include "np_placement.h"
#include "np_view.h"

/*
 * What should stand in a pending job: the user's part of it and ours, and the
 * update that gets it there.  No RPC.
 */

/* The update; texts are malloc'ed, NULL where nothing is to be changed. */
struct np_update {
	char *exc_nodes;   /* "": none */
	char *comment;	   /* "": none */
	int64_t begin_sec; /* 0: not to be changed */
	char *ours;	   /* hostlist of what we exclude; NULL: none */
};

/*
 * Returns 1 and fills *u (np_update_clear()) if there is something to write,
 * 0 if all of it stands there already (only u->ours is set), or -ENOMEM.
 * An outcome that is not applied lets go of the job.  force: write all of it,
 * whatever stands there.
 */
int np_update_make(const struct np_view *v, size_t job,
		   const struct np_outcome *outcome, bool force,
		   struct np_update *u);
void np_update_clear(struct np_update *u);

struct np_applied {
	size_t updates, failures;
	bool cut;  /* not all that narrows is written: nobody knows where jobs
		      may go until the next decision is */
	bool more; /* there is more to write: look again, soon */
	struct np_written *written; /* what stands in jobs now */
	size_t n_written;
};

/*
 * Write what narrows first, as np_placement.h says, and then the rest.  A job
 * that was not written as it changed meanwhile, or as Slurm refused, keeps those
 * from opening that conflict with it, and no others; p knows of it from then on,
 * and cache which user was faster.  Of max_updates each owner has a share
 * (np_shares.h).  go_on() is asked before each update: once it says no, nothing
 * is opened.  shared is told of each update.  Returns 0 or -ENOMEM.
 */
int np_apply(const struct np_view *v, struct np_placement *p,
	     struct np_job_cache *cache, struct np_shared *shared,
	     size_t max_updates, bool (*go_on)(void *arg), void *arg,
	     struct np_applied *out);

/* Send one update.  job_id_str: "12_3", or NULL: job_id.  Returns 0 or a Slurm
 * error number. */
int np_update_send(uint32_t job_id, const char *job_id_str,
		   const struct np_update *u);

#endif

/*
 * Write a decision into the pending jobs: exclusions, begin time, note; one
 * update a job, only where something differs, so that a decision can be
 * written again.  RPCs: for the thread only, and with no lock held.
 */
#ifndef NP_APPLY_H
#define NP_APPLY_H

#include <stdbool.h>

#include "np_update.h"

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

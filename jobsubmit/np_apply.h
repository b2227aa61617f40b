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
	bool cut; /* there is more to write: look again, soon */
	struct np_written *written; /* what stands in jobs now */
	size_t n_written;
};

/*
 * At most max_updates; what narrows first, as np_placement.h says, and others
 * only if all of that is done.  go_on() is asked before each; shared
 * is told of each.
 * Returns 0 or -ENOMEM.
 */
int np_apply(const struct np_view *v, const struct np_placement *p,
	     struct np_job_cache *cache, struct np_shared *shared,
	     size_t max_updates, bool (*go_on)(void *arg), void *arg,
	     struct np_applied *out);

/* Send one update.  job_id_str: "12_3", or NULL: job_id.  Returns 0 or a Slurm
 * error number. */
int np_update_send(uint32_t job_id, const char *job_id_str,
		   const struct np_update *u);

#endif

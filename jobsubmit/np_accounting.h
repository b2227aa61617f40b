/*
 * Accounting records of which jobs ran concurrently on the same leaf switch:
 * remembers jobs while they run and for some time after, and appends a record
 * of each job with its neighbours to the store when it ends.
 */
#ifndef NP_ACCOUNTING_H
#define NP_ACCOUNTING_H

#include <sys/types.h>

#include "np_conflict.h"
#include "np_err.h"
#include "np_job_snapshot.h"

/* Runs remembered. Beyond it, ended runs with low job ids are dropped first. */
#define NP_ACCOUNTING_MAX 50000
/*
 * Limits of one call: records written, and steps of the search for neighbours
 * (about 0.1 s; the job that exceeds it is the last).
 */
#define NP_ACCOUNTING_MAX_WRITTEN 200
#define NP_ACCOUNTING_MAX_STEPS 20000000

struct np_accounting;

/* Returns 0 or -ENOMEM. */
int np_accounting_new(struct np_accounting **out);
void np_accounting_free(struct np_accounting *p); /* NULL is allowed */

/* Whether jobs ended whose records are still to be written. */
bool np_accounting_has_more(const struct np_accounting *p);

/*
 * Take note of the jobs that run now. A job that ran at the last call and does
 * not any more has ended, at the time in a->jobs or otherwise now; so has one
 * that was requeued and runs again. Jobs with an application are then appended
 * to the store, in store_dir with file permissions mode. If too many ended, the
 * next calls write the rest. Jobs left out because of a size limit of the file
 * are logged once per user.
 *
 * t, index: profiles, both from the same moment. Returns 0; or, with err, the
 * last error of np_ended_append(), or -ENOBUFS: more ended jobs were waiting
 * than can be remembered, and some are lost.
 */
int np_accounting_update(struct np_accounting *p,
			 const struct np_job_snapshot *v,
			 const struct np_answers *a, const struct np_slowdowns *t,
			 const struct np_app_index *index,
			 const char *store_dir, mode_t mode,
			 struct np_err *err);

#endif

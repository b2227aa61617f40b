/*
 * Who was beside whom: remembers jobs while they run and some time after, and
 * writes down a job with its neighbours when it ends.
 */
#ifndef NP_HISTORY_H
#define NP_HISTORY_H

#include <sys/types.h>

#include "np_conflict.h"
#include "np_err.h"
#include "np_view.h"

/* Runs remembered; of those that ended, low job ids go first. */
#define NP_HISTORY_MAX 50000
/*
 * What one call does at most: jobs written down, and steps to find who was
 * beside them (some 0.1 s; a job that takes more is the last).
 */
#define NP_HISTORY_MAX_WRITTEN 200
#define NP_HISTORY_MAX_STEPS 20000000

struct np_history;

int np_history_new(struct np_history **out);
void np_history_free(struct np_history *p); /* NULL is allowed */

/* Did jobs end that are still to be written down? */
bool np_history_has_more(const struct np_history *p);

/*
 * The jobs that run now; those that ran at the last call and do not any more
 * have ended, as a->jobs says or by now, and those with an application are
 * appended to the store.  So has one that runs anew, after a requeue.  index:
 * of the same moment as t.  Where too many ended, the rest is written by the
 * next calls.  Jobs that a limit of the file leaves out are logged once for each
 * user.  Returns 0, or with err what np_ended_append() gave last; -ENOBUFS: more
 * of them wait than are remembered, and some are lost.
 */
int np_history_update(struct np_history *p, const struct np_view *v,
		      const struct np_answers *a, const struct np_press *t,
		      const struct np_app_index *index, const char *store_dir,
		      mode_t mode, struct np_err *err);

#endif

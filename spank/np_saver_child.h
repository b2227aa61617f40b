/* The process of netprof-saver that waits for the store, for one request. */
#ifndef NP_SAVER_CHILD_H
#define NP_SAVER_CHILD_H

#include <stdbool.h>

#include "np_saver_queue.h"

/*
 * Start a child that does what r asks (np_saver_work.h), as r->who if as_user,
 * which takes root.  It writes the fields of a reply to the pipe whose end *fd
 * is, which does not block, and ends; it has no other descriptor of ours.
 * It is not to be waited for: the caller ignores SIGCHLD.  Returns 0 or -errno.
 */
int np_saver_child(const struct np_saver_request *r, bool as_user, int *fd);

#endif

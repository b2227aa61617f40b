/*
 * Traces of MPI programs in a store: directories STORE/users/UID/APP/
 * JOB.STEP.trace, which the programs themselves write (np_trace_dir.h).
 */
#ifndef NP_STORE_TRACE_H
#define NP_STORE_TRACE_H

#include <stddef.h>
#include <sys/types.h>

#include "np_store.h"

/*
 * The newest of an application of a user: its path, into buf.  Returns 0;
 * -ENOENT: there is none, without err; or another -errno with err.
 */
int np_store_trace(const struct np_store *s, uid_t uid, const char *app,
		   char *buf, size_t len, struct np_err *err);

#endif

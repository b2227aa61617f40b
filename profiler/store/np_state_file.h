/*
 * The directory placement/ and its files.  Private to np_state.c and
 * np_ended.c.
 */
#ifndef NP_STATE_FILE_H
#define NP_STATE_FILE_H

#include "np_store_dir.h"

/* A file of jobs that ended. */
bool np_is_ended_name(const char *name);

/* Open placement/ of a store; with make it is made.  0 or -errno with err. */
int np_placement_dir(const char *store_dir, bool make, struct np_dir *out,
		     struct np_err *err);

/*
 * The last max bytes of a file of it, checked first.  *cut: there were more
 * before.  *text is malloc'ed, not terminated.
 * Returns the length, or with err: -ENOENT, -EACCES (also: no regular file, or
 * a foreign owner's), -ENOMEM or another -errno.
 */
ssize_t np_placement_read(const struct np_dir *d, const char *name, size_t max,
			  char **text, bool *cut, struct np_err *err);

#endif

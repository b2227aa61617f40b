/*
 * The directory placement/, and the JSON form of what is in it; see
 * netprof-placement(5).  Private to np_state.c and np_ended.c.
 */
#ifndef NP_STATE_JSON_H
#define NP_STATE_JSON_H

#include "np_state.h"
#include "np_store_dir.h"

#define NP_STATE_MAX_LEAVES 65536
#define NP_STATE_MAX_JOBS 262144
#define NP_ENDED_MAX_LINE (1u << 20)

/*
 * All of it as text, one leaf or job a line; *out is malloc'ed.  Numbers beyond
 * what a reader takes are written as the last one it does.  Returns 0, -ENOMEM,
 * or -EINVAL with err (a number that is none).
 */
int np_state_put(const struct np_state *s, char **out, struct np_err *err);

/* text[len] is hostile.  Returns 0, -ENOMEM, or -EINVAL with err. */
int np_state_get(const char *text, size_t len, const char *where,
		 struct np_state *out, struct np_err *err);

/* One line of at most NP_ENDED_MAX_LINE; *out is malloc'ed. */
int np_ended_put(const struct np_ended *e, char **out, struct np_err *err);
int np_ended_get(const char *text, size_t len, struct np_ended *out);

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

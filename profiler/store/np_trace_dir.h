/*
 * Where a run's trace goes: a directory that is made, below a user's directory
 * of the store perhaps, where others could have put something.
 */
#ifndef NP_TRACE_DIR_H
#define NP_TRACE_DIR_H

#include <limits.h>
#include <sys/types.h>

/* The name of a trace's directory in the store ends so: "JOB.STEP.trace". */
#define NP_TRACE_SUFFIX ".trace"

/*
 * Open dir, which is made if sub is NULL and it is not there; if it is a
 * symbolic link, it must be root's or the caller's (else -ELOOP).  sub: then one
 * step after the other, each made if it is not there; only what the calling
 * user owns is stepped into, and no symbolic link.
 * Returns a descriptor or -errno.
 */
int np_trace_dir_open(const char *dir, const char *sub);

/*
 * Remove all but the newest traces, keep >= 1 of them, from the directory of
 * an application: those that are beside the open one.  What else is there, or
 * what others own, stays.
 */
void np_trace_dir_prune(int dir, unsigned keep);

/* Remove all traces of the caller's from the open directory of an application. */
void np_trace_dir_clear(int app);

/*
 * As np_trace_dir_prune(), of all applications of the user, whose directories are beside that
 * of the open one.  Returns how many were removed.
 */
size_t np_trace_dir_prune_user(int dir, unsigned keep);

/* The newest that uid owns in the open directory.  0, -ENOENT or -ENOMEM. */
int np_trace_dir_newest(int fd, uid_t uid, char name[NAME_MAX + 1]);

#endif

/*
 * Directories of MPI traces.  One is made for each traced run, usually below a
 * user's directory in the store, where other users may have put something in
 * the way.
 */
#ifndef NP_TRACE_DIR_H
#define NP_TRACE_DIR_H

#include <limits.h>
#include <sys/types.h>

/* Suffix of the directory of one trace in the store: "JOB.STEP.trace". */
#define NP_TRACE_SUFFIX ".trace"

/*
 * Open dir.  With sub NULL it is made if missing.  A symbolic link is followed
 * only if root or the caller owns it (else -ELOOP).  With sub, go down its
 * components from there: each is made if missing, must belong to the calling
 * user and must not be a symbolic link.
 * Returns a descriptor or -errno.
 */
int np_trace_dir_open(const char *dir, const char *sub);

/*
 * Create the file of one rank in the open directory of a trace.  An existing
 * one is replaced.  Returns a descriptor for reading and writing, or -errno.
 */
int np_trace_dir_create(int trace_fd, unsigned rank);

/*
 * Of the caller's traces in the open directory of an application, keep the
 * newest and remove the rest.  Other files are not touched.
 */
void np_trace_dir_prune(int app_fd, unsigned keep);

/*
 * Of the user's traces of all applications, keep the newest and remove the
 * rest.  trace_fd is the open directory of one of them; keep is at least 1.
 * Returns how many traces were removed.
 */
size_t np_trace_dir_prune_user(int trace_fd, unsigned keep);

/* The newest trace of uid in an open directory.  0, -ENOENT or -ENOMEM. */
int np_trace_dir_newest(int fd, uid_t uid, char name[NAME_MAX + 1]);

#endif

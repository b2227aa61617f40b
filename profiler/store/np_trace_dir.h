/*
 * Directories of MPI traces. One is made for each traced run, usually below a
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
 * Open dir, or with sub a directory below it. root: where absolute paths begin,
 * "/" or that of another process ("/proc/PID/root").
 *
 * sub NULL: make dir if it is missing. Symbolic links in its path are followed
 * only if root or the calling user owns them (else -ELOOP).
 *
 * sub: dir is users/ of the store, which must not be a symbolic link. Each
 * component of the relative path sub is made if it is missing, must belong to
 * the calling user (else -EACCES) and must not be a symbolic link.
 *
 * Returns a descriptor, which the caller closes, or -errno.
 */
int np_trace_dir_open(const char *root, const char *dir, const char *sub);

/*
 * Create the file of one rank in the open directory of a trace. An existing
 * one is replaced. Returns a descriptor for reading and writing, which the
 * caller closes, or -errno.
 */
int np_trace_dir_create(int trace_fd, unsigned rank);

/*
 * Of the calling user's traces in the open directory of an application, keep
 * this many of the newest and remove the rest, with their analyses. A trace
 * with other files than those of ranks keeps these.
 */
void np_trace_dir_prune(int app_fd, unsigned keep);

/*
 * The same for the calling user's traces of all applications. trace_fd is the
 * open directory of one of them, APP/JOB.STEP.trace; nothing is removed unless
 * the user owns the directory in which APP is. keep is at least 1, so that
 * this trace remains. Returns how many traces were removed.
 */
size_t np_trace_dir_prune_user(int trace_fd, unsigned keep);

/*
 * Find the name of the newest trace of user uid in the open directory of an
 * application. Returns 0, -ENOENT (there is none) or -ENOMEM.
 */
int np_trace_dir_newest(int fd, uid_t uid, char name[NAME_MAX + 1]);

#endif

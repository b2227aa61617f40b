/*
 * Child processes that keep nothing of their parent open, so that they can
 * outlive it, or wait for a file system that does not answer.
 */
#ifndef NP_DETACH_H
#define NP_DETACH_H

#include <sys/types.h>

/*
 * Called in a child, between fork and exec. It consists of plain system calls,
 * so the parent may have threads.
 *
 * Makes the child the leader of a session of its own (Ctrl-C and signals to the
 * parent's process group do not reach it), with "/" as its directory, no signal
 * blocked, and no descriptors but the n_keep of keep[], which become 0, 1, 2,
 * ...; -1 means /dev/null. Every descriptor in keep[] must be at least
 * n_keep. Returns 0 or -errno.
 */
int np_detach(const int keep[], int n_keep);

/*
 * Called in a child as well: execute a program, detached in this way, in a
 * child of its own, and end with the error of that fork(). init then adopts the
 * program. Its process is stored in *pid unless pid is NULL.
 */
_Noreturn void np_exec_detached(const int keep[], int n_keep,
				char *const argv[], char *const env[],
				pid_t *pid);

/*
 * Duplicate a descriptor to a number that is large enough for keep[]: 10 or
 * more, close-on-exec. fd is closed. Returns -1 if fd is -1 or there are no
 * more descriptors.
 */
int np_fd_above(int fd);

/*
 * Do the same with both ends of a pipe or socket pair. Returns 0, or -EMFILE,
 * in which case both are closed.
 */
int np_fds_above(int fd[2]);

/*
 * Called in a child of a process without threads: let it use no more than so
 * many bytes of memory beyond what it has. Returns 0 or -EIO.
 */
int np_limit_memory(double more_bytes);

#endif

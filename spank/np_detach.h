/*
 * Child processes that hold nothing of their parent's, and that may wait for a
 * file system which does not answer.  Everything here consists of plain system
 * calls, so it may run between fork and exec in a threaded program.
 */
#ifndef NP_DETACH_H
#define NP_DETACH_H

#include <stdbool.h>

/*
 * Called in the child: makes it the leader of a session of its own (Ctrl-C and
 * signals to the parent's process group do not reach it), with "/" as its
 * directory, no signal blocked, and no descriptors but the n_keep of keep[],
 * which become 0, 1, 2, ...; -1 stands for /dev/null.  Every descriptor in
 * keep[] must be at least n_keep.  Returns 0 or -errno.
 */
int np_detach(const int keep[], int n_keep);

/*
 * At most one detached process of each user on a host waits for a file system.
 * Become that process, until this process ends, whatever ends it.  Returns
 * false if another process has held the place for the last 0.2 s.
 */
bool np_turn_take(void);

#endif

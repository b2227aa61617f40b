/*
 * Where a node's netprof-saver is reached: at abstract sockets, which exist
 * once for each network namespace.  The saver that slurmd starts serves every
 * user of the node.  Elsewhere, such as on a login host, each user has one,
 * started on demand.  Nothing here waits.
 */
#ifndef NP_SAVER_FIND_H
#define NP_SAVER_FIND_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Connect to the saver of root, or else to the calling user's own.  A socket
 * that anybody else has bound is passed over, and *taken is set to that user
 * if there is no saver; it stays as it is otherwise.  Returns the descriptor,
 * numbered 10 or more, that does not block and closes on exec; or -ENOENT.
 */
int np_saver_find(uid_t *taken);

/*
 * Listen as the saver of root (uid 0) or of one user.  Returns the descriptor,
 * which does not block and closes on exec, or -errno; -EADDRINUSE: all names
 * are taken, one of them by *taken.
 */
int np_saver_listen(uid_t uid, uid_t *taken);

/*
 * Does Slurm track this process as a part of a job?  One that cannot be killed
 * keeps the job from ending then.
 */
bool np_saver_in_job(void);

#endif

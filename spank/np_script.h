/*
 * The end of a batch script, told to the job's attendants on its node.
 *
 * What a script leaves behind Slurm kills at once (proctrack/cgroup), and
 * mpirun does not wait for the srun of its daemons: the attendant beside that
 * would go with it, unheard.  So slurmstepd, as root, tells the attendants
 * that the script has ended, and waits for them a moment.
 *
 * Each attendant listens at one of NP_SCRIPT_SLOTS abstract sockets, named by
 * the job; slurmstepd connects to those that are there, says "exit N\n" as
 * srun does (np_attach.h), and waits until they are closed.
 */
#ifndef NP_SCRIPT_H
#define NP_SCRIPT_H

#include <stdint.h>
#include <sys/types.h>

#define NP_SCRIPT_SLOTS 64 /* most attendants of a job that are told */

/*
 * A socket that does not block, for np_script_accept().  Returns it, or -errno;
 * -EADDRINUSE: all are taken.
 */
int np_script_listen(uint32_t job_id);

/*
 * Who comes, if it is root or this process's own user: a connection to read
 * from, which does not block.  Returns it, or -errno; -EPERM: somebody else.
 */
int np_script_accept(int fd);

/*
 * Tell attendants of that user the script's exit code, 128 and more of a
 * signal, and wait until all have closed, timeout_ms at most.
 */
void np_script_tell(uint32_t job_id, uid_t user, int code, int timeout_ms);

#endif

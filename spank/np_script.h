/*
 * Announces the end of a batch script to the job's collectors on its node.
 *
 * Slurm kills at once what a script leaves behind (proctrack/cgroup), and
 * mpirun does not wait for the srun of its daemons: the collector next to that
 * srun would be killed without having saved its record.  Therefore slurmstepd,
 * as root, notifies the collectors that the script has ended, and briefly waits
 * for them.
 *
 * Each collector listens at one of NP_SCRIPT_SLOTS abstract sockets, named for
 * the job.  slurmstepd connects to those that exist, sends "exit N\n" as srun
 * does (np_launch.h), and waits until the collectors have ended.
 */
#ifndef NP_SCRIPT_H
#define NP_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NP_SCRIPT_SLOTS 64 /* most collectors of a job */

struct np_script {
	int fd;		/* to poll(2) for POLLIN; -1: none */
	bool connected; /* to slurmstepd, and no longer listening */
};

#define NP_SCRIPT_INIT { .fd = -1 }

/*
 * Listen for the end of a job's batch script.  Returns 0; or -errno, and fd
 * stays -1.  -EADDRINUSE: all slots are taken.
 */
int np_script_listen(struct np_script *script, uint32_t job_id);

/*
 * Read what has arrived; nothing blocks.  Returns true, with *code, if the
 * script has ended.  Only root and this process's own user are believed.
 */
bool np_script_read(struct np_script *script, int *code);

/* For unit tests; np_script_read() closes at end of file. */
void np_script_close(struct np_script *script);

/*
 * Tell that user's collectors the script's exit code, 128 plus the number of a
 * signal, and wait until all have ended, at most timeout_ms.
 */
void np_script_announce(uint32_t job_id, uid_t user, int code, int timeout_ms);

#endif

/*
 * Announces the end of a batch script to the job's collectors on its node.
 *
 * Slurm kills the remaining processes of a script at once (proctrack/cgroup),
 * and mpirun does not wait for the srun of its daemons. The collector of that
 * srun would be killed before it has saved its record. Therefore slurmstepd,
 * as root, notifies the collectors that the script has ended, and briefly waits
 * for them.
 *
 * Each collector listens on one of NP_SCRIPT_SLOTS abstract sockets, named
 * after the job. slurmstepd connects to those that exist, sends "exit N\n" as
 * srun does (np_launch.h), and waits until the collectors have ended.
 */
#ifndef NP_SCRIPT_H
#define NP_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NP_SCRIPT_SLOTS 64 /* most collectors of a job */

struct np_script {
	int fd;			/* -1: none */
	bool connected;		/* to slurmstepd, and no longer listening */
	double pause_until_sec; /* CLOCK_MONOTONIC: accept nothing before */
};

/* clang-format off */
#define NP_SCRIPT_INIT { .fd = -1 }
/* clang-format on */

/*
 * Listen for the end of a job's batch script. Returns 0; or -errno, and fd
 * stays -1. -EADDRINUSE: all slots are taken.
 */
int np_script_listen(struct np_script *script, uint32_t job_id);

/*
 * The descriptor to poll(2) for POLLIN, or -1. Everybody on the host can connect,
 * so after connections of other users it pauses, for a tenth of a second, in
 * order not to use up a processor of the job.
 */
int np_script_fd(const struct np_script *script, double now_sec);

/*
 * Read from slurmstepd without blocking. Returns true, with *code, if the
 * script has ended. Only root and this process's own user may say so.
 */
bool np_script_read(struct np_script *script, int *code);

/* For unit tests; np_script_read() closes at end of file. */
void np_script_close(struct np_script *script);

/*
 * Send the script's exit code, or 128 plus the number of a signal, to the
 * user's collectors, and wait until all have ended, for at most timeout_ms.
 */
void np_script_announce(uint32_t job_id, uid_t user, int code, int timeout_ms);

#endif

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
 * srun does (np_attach.h), and waits until they are gone.
 */
#ifndef NP_SCRIPT_H
#define NP_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NP_SCRIPT_SLOTS 64 /* most attendants of a job that are told */

struct np_script {
	int fd; /* to poll(2) for POLLIN; -1: none */
	bool connected; /* to slurmstepd, and no longer listening */
};

#define NP_SCRIPT_INIT { .fd = -1 }

/* Returns 0, or -errno, and fd stays -1; -EADDRINUSE: all slots are taken. */
int np_script_listen(struct np_script *s, uint32_t job_id);

/*
 * Called when there is something to read; nothing blocks.  True: the script has
 * ended, with *code.  Nobody is heard but root and this process's own user.
 */
bool np_script_hear(struct np_script *s, int *code);

void np_script_close(struct np_script *s);

/*
 * Tell attendants of that user the script's exit code, 128 and more of a
 * signal, and wait until all are gone, timeout_ms at most.
 */
void np_script_tell(uint32_t job_id, uid_t user, int code, int timeout_ms);

#endif

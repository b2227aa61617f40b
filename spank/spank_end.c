#include "spank_end.h"

#include <poll.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "np_script.h"

#define SCRIPT_WAIT_MS 1000 /* for records, before Slurm kills */
#define JOIN_WAIT_MS 400    /* less than Slurm's own pause */

static pid_t *joiner; /* in a page that slurmstepd shares with its tasks */

void spank_end_prepare(spank_t sp)
{
	void *page;

	if (spank_remote(sp) != 1)
		return;
	page = mmap(NULL, sizeof(*joiner), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	joiner = page == MAP_FAILED ? NULL : page;
}

pid_t *spank_end_joiner(void)
{
	return joiner;
}

/*
 * By its pidfd, which tells when it has left its cgroup; its sockets close
 * before that.  Without one (Linux before 5.3) nothing is waited for.
 */
static void wait_for_joiner(void)
{
	struct pollfd p = { .events = POLLIN };

	if (!joiner || !*joiner)
		return;
	p.fd = (int)syscall(SYS_pidfd_open, *joiner, 0);
	if (p.fd < 0)
		return;
	poll(&p, 1, JOIN_WAIT_MS);
	close(p.fd);
}

static void tell_attendants(spank_t sp)
{
	uint32_t job_id;
	uid_t user;
	int status;

	if (spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &user) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
		return;
	np_script_tell(job_id, user, WIFSIGNALED(status) ?
		       128 + WTERMSIG(status) : WEXITSTATUS(status),
		       SCRIPT_WAIT_MS);
}

void spank_end_task(spank_t sp)
{
	static uint32_t n_ended;
	uint32_t step_id, n_local;

	n_ended++;
	if (spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS)
		return;
	if (step_id == SLURM_BATCH_SCRIPT)
		tell_attendants(sp);
	else if (spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &n_local) ==
		 ESPANK_SUCCESS && n_ended == n_local)
		wait_for_joiner();
}

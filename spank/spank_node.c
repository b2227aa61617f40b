#include "spank_node.h"

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "np_invite.h"
#include "np_joiner.h"
#include "np_script.h"

#define SCRIPT_WAIT_MS 1000 /* for records, before Slurm kills */
#define JOIN_WAIT_MS 400    /* less than Slurm's own pause */

static pid_t *joiner; /* in a page that slurmstepd shares with its tasks */

void spank_node_prepare(spank_t sp)
{
	void *page;

	if (spank_remote(sp) != 1)
		return;
	page = mmap(NULL, sizeof(*joiner), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	joiner = page == MAP_FAILED ? NULL : page;
}

/*
 * Which of a heterogeneous job's components this is, else 0: of the tasks'
 * variables SLURM_JOB_ID is the first one's, whatever this one's is.
 */
static size_t component_of(spank_t sp, uint32_t job_id)
{
	char first[16];

	if (spank_getenv(sp, "SLURM_JOB_ID", first, sizeof(first)) !=
	    ESPANK_SUCCESS)
		return 0;
	return job_id - (uint32_t)strtoul(first, NULL, 10);
}

/* A member of the attendant, if this task and node are the ones to have it. */
static void join(spank_t sp, const char *invites)
{
	uint32_t job_id = 0, local = 1, n_local = 0, n_nodes = 0;
	struct np_invite v;
	struct np_joiner j = {
		.invite = &v, .task = getpid(), .pid = joiner,
	};
	char host[256], **env;

	if (spank_get_item(sp, S_TASK_ID, &local) != ESPANK_SUCCESS || local ||
	    spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    component_of(sp, job_id) >= NP_INVITE_COMPONENTS ||
	    np_invite_find(invites, component_of(sp, job_id), &v) ||
	    spank_get_item(sp, S_JOB_NODEID, &j.node) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_NNODES, &n_nodes) != ESPANK_SUCCESS ||
	    !np_invite_takes(&v, j.node, n_nodes) ||
	    spank_getenv(sp, "SLURM_SRUN_COMM_HOST", host, sizeof(host)) !=
			ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_ENV, &env) != ESPANK_SUCCESS)
		return;
	spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &n_local);
	/* A task alone has no others to look for when it ends. */
	j.parent = n_local == 1 ? 0 : getppid();
	j.host = host;
	j.after_sec = np_invite_after_sec(&v, n_nodes);
	if (np_joiner_start(&j, env))
		slurm_verbose("netprof: no probe on this node");
}

void spank_node_task_starts(spank_t sp)
{
	char invites[NP_INVITE_COMPONENTS * NP_INVITE_TEXT];

	if (spank_getenv(sp, NP_INVITE_ENV, invites, sizeof(invites)) !=
	    ESPANK_SUCCESS)
		return;
	spank_unsetenv(sp, NP_INVITE_ENV);
	join(sp, invites);
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

void spank_node_task_ends(spank_t sp)
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

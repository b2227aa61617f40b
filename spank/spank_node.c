#include "spank_node.h"

#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "np_invite.h"
#include "np_joiner.h"
#include "np_log.h"
#include "np_plan.h"
#include "np_program.h"
#include "np_script.h"
#include "np_tracing.h"

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

/* ---- --netprofile-trace ---- */

/* The application's name by what the task runs, as in srun. */
static void name_of_task(spank_t sp, char app[NP_APP_MAX + 1])
{
	char job_name[256] = "";
	struct np_facts f = { .job_name = job_name };
	int argc = 0;

	spank_getenv(sp, "SLURM_JOB_NAME", job_name, sizeof(job_name));
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &f.argv) == ESPANK_SUCCESS)
		f.argc = argc;
	if (np_plan_app(&f, app, NULL))
		strcpy(app, "unnamed");
}

/* Once on each node, to the system's log: the store is not for tasks. */
static void say_untraced(spank_t sp, const char *what, const char *why)
{
	uint32_t local = 1, job_id = 0, step_id = 0;
	char line[NP_LOG_LINE];

	spank_get_item(sp, S_TASK_ID, &local);
	spank_get_item(sp, S_JOB_ID, &job_id);
	spank_get_item(sp, S_JOB_STEPID, &step_id);
	slurm_verbose("netprof: not traced: %s %s", what, why);
	if (local)
		return;
	snprintf(line, sizeof(line), "step %u.%u is not traced: %.200s %s",
		 job_id, step_id, what, why);
	np_log_system(line);
}

/*
 * A program that would be no use of the library, or whose processes would each
 * have its loader complain that it is not there.
 */
static bool may_preload(spank_t sp, const struct np_tracing *t)
{
	char path[PATH_MAX] = "", container[PATH_MAX];
	const char *why = NULL;
	char **argv;
	int argc = 0;

	if (access(t->library, R_OK)) {
		say_untraced(sp, t->library, "is not there: the package "
			     "netprof-analysis has it");
		return false;
	}
	if (spank_getenv(sp, "SLURM_CONTAINER", container,
			 sizeof(container)) != ESPANK_ENV_NOEXIST) {
		say_untraced(sp, "srun --container", "has other files");
		return false;
	}
	spank_getenv(sp, "PATH", path, sizeof(path));
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS &&
	    argc > 0)
		why = np_program_refuses(argv[0], path);
	if (why)
		say_untraced(sp, argv[0], why);
	return !why;
}

/* The library that traces, before others, and where its files go. */
static void set_tracing(spank_t sp, const struct np_tracing *t)
{
	char app[NP_APP_MAX + 1], was[PATH_MAX], buf[2 * PATH_MAX];
	uint32_t job_id = 0, step_id = 0;
	spank_err_t rc = spank_getenv(sp, "LD_PRELOAD", was, sizeof(was));

	spank_get_item(sp, S_JOB_ID, &job_id);
	spank_get_item(sp, S_JOB_STEPID, &step_id);
	if (!may_preload(sp, t))
		return;
	if (rc == ESPANK_NOSPACE ||
	    np_tracing_preload(t, rc == ESPANK_SUCCESS ? was : NULL, buf,
			       sizeof(buf))) {
		say_untraced(sp, "LD_PRELOAD", "is too long");
		return;
	}
	spank_setenv(sp, "LD_PRELOAD", buf, 1);
	spank_setenv(sp, "NETPROF_TRACE", t->dir, 1);
	snprintf(buf, sizeof(buf), "%llu", (unsigned long long)t->bytes);
	spank_setenv(sp, "NETPROF_TRACE_SIZE", buf, 1);
	if (!t->keep)
		return;
	snprintf(buf, sizeof(buf), "%u", t->keep);
	spank_setenv(sp, "NETPROF_TRACE_KEEP", buf, 1);
	name_of_task(sp, app);
	np_tracing_sub(t, getuid(), app, job_id, step_id, buf, sizeof(buf));
	spank_setenv(sp, "NETPROF_TRACE_SUB", buf, 1);
}

static void trace(spank_t sp)
{
	char text[NP_TRACING_TEXT];
	struct np_tracing t;

	if (spank_getenv(sp, NP_TRACING_ENV, text, sizeof(text)) !=
	    ESPANK_SUCCESS)
		return;
	spank_unsetenv(sp, NP_TRACING_ENV);
	if (!np_tracing_get(text, &t))
		set_tracing(sp, &t);
}

void spank_node_task_starts(spank_t sp)
{
	char invites[NP_INVITE_COMPONENTS * NP_INVITE_TEXT];

	trace(sp);
	if (spank_getenv(sp, NP_INVITE_ENV, invites, sizeof(invites)) !=
	    ESPANK_SUCCESS)
		return;
	spank_unsetenv(sp, NP_INVITE_ENV);
	join(sp, invites);
}

/* ---- the end ---- */

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

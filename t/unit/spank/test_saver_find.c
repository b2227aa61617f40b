#include "t.h"
#include "np_notice.h"
#include "np_saver_proto.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#define ALICE 20001
#define MALLORY 20002

/* As that user, until killed or the test ends: it holds so many names. */
static pid_t squat(uid_t uid, uid_t names_of, int names)
{
	int ready[2], hold[2];
	char c;
	pid_t pid;

	if (pipe(ready) || pipe(hold))
		return -1;
	pid = fork();
	if (!pid) {
		uid_t holder;

		close(hold[1]);
		if (setuid(uid))
			_exit(1);
		while (names--)
			np_saver_listen(names_of, &holder);
		if (write(ready[1], "", 1) == 1 && read(hold[0], &c, 1))
			_exit(1);
		_exit(0); /* with the test */
	}
	close(hold[0]);
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

/* With names of its own, if root is who runs the tests. */
static bool alone(void)
{
	return !getuid() && !unshare(CLONE_NEWNET);
}

static int find_root_saver(void)
{
	uid_t holder = 0;
	int one, two;

	if (!alone())
		return 0;
	if (np_saver_connect(&holder) != -ENOENT)
		return 1;
	one = np_saver_listen(0, &holder);
	two = np_saver_listen(0, &holder); /* slurmd was started anew */
	if (one < 10 || two < 10 || np_saver_connect(&holder) < 10)
		return 2;
	close(one);
	if (np_saver_connect(&holder) < 10)
		return 3;
	close(two);
	return np_saver_connect(&holder) == -ENOENT ? 0 : 4;
}

static int pass_over_squatters(void)
{
	uid_t holder = 0;
	pid_t pid;
	int fd;

	if (!alone())
		return 0;
	pid = squat(MALLORY, 0, 3);
	fd = np_saver_listen(0, &holder); /* one name is left */
	if (pid < 0 || fd < 0 || np_saver_connect(&holder) < 0)
		return 1;
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pid = squat(MALLORY, 0, 4);
	if (pid < 0 || np_saver_listen(0, &holder) != -EADDRINUSE ||
	    holder != MALLORY)
		return 2;
	holder = 0;
	if (np_saver_connect(&holder) != -ENOENT || holder != MALLORY)
		return 3;
	kill(pid, SIGKILL);
	return 0;
}

static int find_own_saver(void)
{
	uid_t holder = 0;
	pid_t own, other;

	if (!alone())
		return 0;
	other = squat(MALLORY, MALLORY, 1);
	if (other < 0 || setuid(ALICE))
		return 1;
	if (np_saver_connect(&holder) != -ENOENT)
		return 2;
	own = squat(ALICE, ALICE, 1);
	return own > 0 && np_saver_connect(&holder) >= 10 &&
			       !kill(own, SIGKILL) ?
		       0 :
		       3;
}

static int responds(void)
{
	if (!alone())
		return 0;
	unsetenv("SLURMD_NODENAME");
	if (!np_dir_responds("/", 60000) || !np_dir_responds("/nowhere", 60000))
		return 1;
	setenv("SLURMD_NODENAME", "n0", 1); /* a child would hold the job */
	return np_dir_responds("/", 60000);
}

static int is_silent(void)
{
	uid_t holder;

	return alone() && np_saver_listen(0, &holder) >= 0 &&
	       np_dir_responds("/", 50);
}

static const struct {
	const char *name, *cgroups;
	bool in_job;
} cgroups[] = {
	{ "none", "" },
	{ "a login", "0::/user.slice/user-20001.slice/session-3.scope\n" },
	{ "slurmd", "0::/system.slice/slurmd.service\n" },
	{ "version 1",
	  "12:pids:/\n11:memory:/slurm/uid_20001/job_7/step_0/task_0\n", true },
	{ "version 2",
	  "0::/system.slice/slurmstepd.scope/job_7/step_batch/user/task_0\n",
	  true },
	{ "version 2 since Slurm 26.05",
	  "0::/system.slice/slurmstepd.scope/s01ARZ3NDEKTSV/step_extern/user\n",
	  true },
};

T_TEST("processes of a job are recognised by their cgroups")
{
	T_EACH(r, cgroups)
		T_ROW(r->name, np_cgroups_are_of_job(r->cgroups) == r->in_job);
}

T_TEST("a node's saver is found, and the next one when slurmd is restarted")
{
	T_CHECK(!t_in_child(find_root_saver));
}

T_TEST("names that another user has taken are skipped, and reported")
{
	T_CHECK(!t_in_child(pass_over_squatters));
}

T_TEST("without one the user's own is found, and nobody else's")
{
	T_CHECK(!t_in_child(find_own_saver));
}

T_TEST("a file system responds, also if it refuses; nobody waits for long")
{
	T_CHECK(!t_in_child(responds));
	T_CHECK(!t_in_child(is_silent));
}

#include "np_saver_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "np_attach.h"
#include "np_saver_work.h"

static void become(const struct np_saver_who *w)
{
	if (setgroups(w->n_groups, w->group) ||
	    setresgid(w->gid, w->gid, w->gid) ||
	    setresuid(w->uid, w->uid, w->uid))
		_exit(1);
}

/* Limits of the shell that srun was started in are not those of the store. */
static void lift_limits(void)
{
	struct rlimit l;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &l))
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_FSIZE, &l);
}

/* It holds nobody's connection, however long it may take. */
static void work(const struct np_saver_request *r, bool as_user, int out)
{
	const int keep[] = { -1, -1, -1, out };

	if (np_detach(keep, NP_ARRAY_SIZE(keep)))
		_exit(1);
	signal(SIGCHLD, SIG_DFL);
	if (as_user)
		become(r->who);
	lift_limits();
	np_saver_work(r->kind, r->text, r->len, NP_ARRAY_SIZE(keep) - 1);
	_exit(0);
}

/* Above the descriptors of the child. */
static int open_pipe(int fd[2])
{
	int low[2];

	if (pipe2(low, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	for (int i = 0; i < 2; i++) {
		fd[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
		close(low[i]);
	}
	if (fd[0] >= 0 && fd[1] >= 0) {
		fcntl(fd[1], F_SETFL, 0);
		return 0;
	}
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return -EMFILE;
}

int np_saver_child(const struct np_saver_request *r, bool as_user, int *fd)
{
	int end[2] = { -1, -1 }, rc = open_pipe(end);
	pid_t pid;

	if (rc)
		return rc;
	pid = fork();
	if (!pid)
		work(r, as_user, end[1]);
	rc = pid < 0 ? -errno : 0;
	close(end[1]);
	if (rc)
		close(end[0]);
	*fd = end[0];
	return rc;
}

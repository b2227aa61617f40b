#include "spank_slurmd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_attach.h"

/*
 * In a child of slurmd, which is a threaded program: plain system calls only.
 * The grandchild is init's, so that slurmd need not wait for it.
 */
static void child(char *path, int control)
{
	const int keep[] = { control, -1, -1 };
	char *argv[] = { path, NULL }, *env[] = { NULL };
	pid_t pid = fork();

	if (pid)
		_exit(pid < 0 ? errno : 0);
	if (!np_detach(keep, NP_ARRAY_SIZE(keep)))
		execve(path, argv, env);
	_exit(127);
}

/* Its other end stays open in slurmd. */
static int open_control(void)
{
	static int end = -1;
	int low[2], fd;

	if (end >= 0)
		close(end);
	if (pipe2(low, O_CLOEXEC))
		return -errno;
	fd = fcntl(low[0], F_DUPFD_CLOEXEC, 10);
	end = fcntl(low[1], F_DUPFD_CLOEXEC, 10);
	close(low[0]);
	close(low[1]);
	return fd < 0 ? -EMFILE : fd;
}

int spank_slurmd_start_saver(const char *libexecdir, struct np_err *err)
{
	char path[PATH_MAX + 32];
	int control = open_control(), status = 0;
	pid_t pid = control < 0 ? -1 : 0;

	snprintf(path, sizeof(path), "%s/netprof-saver", libexecdir);
	if (!pid && access(path, X_OK)) {
		status = errno;
		close(control);
		return np_errf(err, -status, "%s: %s", path, strerror(status));
	}
	if (!pid && !(pid = fork()))
		child(path, control);
	if (control >= 0)
		close(control);
	if (pid < 0)
		return np_errf(err, -EAGAIN, "netprof-saver: %s",
			       strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

#include "np_detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FDS 65536 /* closed one by one, without close_range() */

/* Close all descriptors from first on. Before Linux 5.9, do so one by one. */
static void close_from(int first)
{
	long limit;

	if (!syscall(SYS_close_range, first, ~0u, 0))
		return;
	limit = sysconf(_SC_OPEN_MAX);
	for (long fd = limit < MAX_FDS ? limit : MAX_FDS; fd >= first; fd--)
		close((int)fd);
}

int np_detach(const int keep[], int n_keep)
{
	sigset_t no_signals;
	int null_fd;

	setsid();
	if (chdir("/"))
		return -errno;
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd >= 0 && null_fd < n_keep) /* dup2() would close it below */
		null_fd = fcntl(null_fd, F_DUPFD_CLOEXEC, n_keep);
	if (null_fd < 0)
		return -errno;
	for (int i = 0; i < n_keep; i++)
		if (dup2(keep[i] < 0 ? null_fd : keep[i], i) < 0)
			return -errno;
	close_from(n_keep);
	sigemptyset(&no_signals);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);
	return 0;
}

void np_exec_detached(const int keep[], int n_keep, char *const argv[],
		      char *const env[], pid_t *pid)
{
	pid_t child = fork();

	if (child == 0) {
		if (!np_detach(keep, n_keep))
			execve(argv[0], argv, env);
		_exit(127);
	}
	if (child > 0 && pid)
		*pid = child;
	_exit(child < 0 ? errno : 0);
}

int np_fd_above(int fd)
{
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);

	if (fd >= 0)
		close(fd);
	return copy;
}

int np_fds_above(int fd[2])
{
	for (int i = 0; i < 2; i++)
		fd[i] = np_fd_above(fd[i]);
	if (fd[0] >= 0 && fd[1] >= 0)
		return 0;
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		fd[i] = -1;
	}
	errno = EMFILE;
	return -EMFILE;
}

int np_limit_memory(double more_bytes)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	bool known = f && fscanf(f, "%lu", &pages) == 1;
	struct rlimit most;

	if (f)
		fclose(f);
	most.rlim_cur = most.rlim_max =
		(rlim_t)((double)pages * (double)sysconf(_SC_PAGESIZE) +
			 more_bytes);
	return known && !setrlimit(RLIMIT_AS, &most) ? 0 : -EIO;
}

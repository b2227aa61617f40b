#include "np_detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FDS 65536 /* closed one by one where close_range() is missing */

/* Linux before 5.9 (RHEL 8) has no close_range(). */
static void close_from(int first)
{
	if (!syscall(SYS_close_range, first, ~0u, 0))
		return;
	for (long fd = sysconf(_SC_OPEN_MAX) < MOST_FDS ?
		     sysconf(_SC_OPEN_MAX) : MOST_FDS; fd >= first; fd--)
		close((int)fd);
}

int np_detach(const int keep[], int n_keep)
{
	sigset_t none;
	int null;

	setsid();
	if (chdir("/"))
		return -errno;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0 && null < n_keep) /* dup2() below would close it */
		null = fcntl(null, F_DUPFD_CLOEXEC, n_keep);
	if (null < 0)
		return -errno;
	for (int i = 0; i < n_keep; i++)
		if (dup2(keep[i] < 0 ? null : keep[i], i) < 0)
			return -errno;
	close_from(n_keep);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return 0;
}

int np_fd_above(int fd)
{
	int above = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);

	if (fd >= 0)
		close(fd);
	return above;
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

#include "np_detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
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

#define ATTEMPTS 20	 /* attempts to take the place */
#define RETRY_NS 10000000 /* between two attempts */

/*
 * The abstract socket name is free again as soon as the process that has bound
 * it ends.
 */
bool np_turn_take(void)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1,
			 "netprof/line/%lu", (unsigned long)geteuid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				    1 + (size_t)n);

	for (int i = 0; fd >= 0 && i < ATTEMPTS; i++) {
		if (!bind(fd, (struct sockaddr *)&a, len))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

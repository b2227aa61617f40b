#include "cli_slurm.h"
#include "np_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* In a process group of its own, so that its children end with it. */
static int start(char *const argv[], int out, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int rc = -posix_spawn_file_actions_init(&files);

	if (rc)
		return rc;
	rc = -posix_spawnattr_init(&attr);
	if (!rc) {
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null",
						 O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&files, out, 1);
		posix_spawn_file_actions_addopen(&files, 2, "/dev/null",
						 O_WRONLY, 0);
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
		rc = -posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Until the end of its output; what does not fit is read and dropped. */
static int read_all(int fd, double until, char *buf, size_t len)
{
	size_t used = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		double left = until - np_mono_sec();
		char rest[4096];
		bool room = used + 1 < len;
		ssize_t got;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(1000 * left) + 1) <= 0)
			continue;
		got = read(fd, room ? buf + used : rest, room ?
			   len - 1 - used : sizeof(rest));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			buf[used] = '\0';
			return (int)got;
		}
		used += room ? (size_t)got : 0;
		buf[used] = '\0';
	}
}

/* Some close their output long before they end. */
static int reap(pid_t pid, double until, int rc)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	int status;

	while (!rc && !waitpid(pid, &status, WNOHANG)) {
		if (np_mono_sec() > until)
			rc = -ETIMEDOUT;
		else
			nanosleep(&nap, NULL);
	}
	if (rc) {
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		return rc;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

int cli_spawn(char *const argv[], double sec, char *buf, size_t len)
{
	double until = np_mono_sec() + sec;
	int fd[2], rc;
	pid_t pid;

	buf[0] = '\0';
	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	rc = start(argv, fd[1], &pid);
	close(fd[1]);
	if (!rc) {
		rc = read_all(fd[0], until, buf, len);
		rc = reap(pid, until, rc);
	}
	close(fd[0]);
	return rc;
}

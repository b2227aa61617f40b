#include "np_notice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "np_detach.h"
#include "np_log.h"
#include "np_saver_proto.h"
#include "np_text.h"

/* Attempts to take the place, and the pause between two of them. */
#define ATTEMPTS 20
#define RETRY_NS 10000000

/*
 * At most one child of each user on a host waits for a file system.  Become
 * that one, until this process ends.  The place is an abstract socket name,
 * which is free again as soon as the process that has bound it ends, whatever
 * ends it.  Returns false if another process has held the place for the last
 * 0.2 s.
 */
static bool take_turn(void)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	struct sockaddr_un place = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n = snprintf(place.sun_path + 1, sizeof(place.sun_path) - 1,
			 "netprof/line/%lu", (unsigned long)geteuid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				    1 + (size_t)n);

	for (int i = 0; fd >= 0 && i < ATTEMPTS; i++) {
		if (!bind(fd, (struct sockaddr *)&place, len))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* ---- a line for the log ---- */

/* Let the saver write a line.  Returns whether there is a saver. */
static bool notify_saver(const char *store, const char *line)
{
	const char *field[] = { store, line };
	int fd = np_saver_send(NP_SAVER_LOG, field, NP_ARRAY_SIZE(field));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * Write a line in a child.  This runs between fork and exit in a threaded
 * program, so that only plain system calls are allowed.
 */
static void write_line(const char *store, const char *line, const char *text)
{
	static const int keep[] = { -1, -1, -1 };

	signal(SIGXFSZ, SIG_IGN);
	if (np_detach(keep, 3) || !take_turn() ||
	    np_log_append(store, line))
		np_log_system(text);
	_exit(0);
}

void np_notice(const char *store, const char *fmt, ...)
{
	char text[512], line[NP_LOG_LINE];
	va_list ap;
	pid_t pid;

	va_start(ap, fmt);
	np_text_print(text, sizeof(text), fmt, ap);
	va_end(ap);
	np_log_line(line, text);
	if (notify_saver(store, line))
		return;
	pid = np_process_is_in_job() ? -1 : fork();
	if (!pid)
		write_line(store, line, text);
	if (pid < 0)
		np_log_system(text);
}

/* ---- does a directory answer? ---- */

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

/* Open a directory in a child, for which the same holds. */
static void open_dir(const char *dir, int reply)
{
	const int keep[] = { -1, -1, -1, reply };

	if (np_detach(keep, NP_ARRAY_SIZE(keep)) || !take_turn())
		_exit(1);
	if (open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0 &&
	    (errno == ESTALE || errno == EIO || errno == ENOTCONN))
		_exit(1);
	_exit(write(NP_ARRAY_SIZE(keep) - 1, "", 1) != 1);
}

static bool responds_to_child(const char *dir, int timeout_ms)
{
	bool responds;
	int end[2];
	pid_t pid;
	char c;

	if (pipe2(end, O_CLOEXEC) || np_fds_above(end))
		return false;
	pid = fork();
	if (!pid)
		open_dir(dir, end[1]);
	close(end[1]);
	responds = pid > 0 && is_readable(end[0], timeout_ms) &&
		  read(end[0], &c, 1) == 1;
	close(end[0]);
	return responds;
}

/* Any reply counts but that of a lost file server, which has an errno. */
bool np_dir_responds(const char *dir, int timeout_ms)
{
	char reply[sizeof(struct np_saver_header) + 2];
	int fd = np_saver_send(NP_SAVER_CHECK, &dir, 1);
	bool responds;

	if (fd < 0)
		return fd == -ENOENT && !np_process_is_in_job() &&
		       responds_to_child(dir, timeout_ms);
	responds = is_readable(fd, timeout_ms) &&
		   recv(fd, reply, sizeof(reply), MSG_DONTWAIT) ==
			   (ssize_t)sizeof(reply) &&
		   reply[sizeof(struct np_saver_header)] == '0';
	close(fd);
	return responds;
}

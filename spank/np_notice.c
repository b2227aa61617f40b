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

#include "np_clock.h"
#include "np_detach.h"
#include "np_log.h"
#include "np_saver_proto.h"
#include "np_text.h"

/* Attempts to bind the address, and the pause between two of them. */
#define MAX_ATTEMPTS 20
#define RETRY_NS 10000000

/*
 * Become the only child of this user on the host that waits for a file system,
 * until this process ends. To ensure that, bind an abstract socket address,
 * which the kernel releases when the process ends. Returns false if another
 * process has been bound to it for the last 0.2 s.
 */
static bool become_only_child(void)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int name_len = snprintf(address.sun_path + 1,
				sizeof(address.sun_path) - 1,
				"netprof/line/%lu", (unsigned long)geteuid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)name_len);

	for (int i = 0; fd >= 0 && i < MAX_ATTEMPTS; i++) {
		if (!bind(fd, (struct sockaddr *)&address, len))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* ---- a line for the log ---- */

/* Ask the saver to write a line. Returns whether there is a saver. */
static bool notify_saver(const char *store, const char *line)
{
	const char *field[] = { store, line };
	int fd = np_saver_send(NP_SAVER_LOG, field, NP_ARRAY_SIZE(field));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * Write a line in a child. This runs between fork and exit in a threaded
 * program, so that only plain system calls are allowed.
 */
static void write_line(const char *store, const char *line, const char *text)
{
	static const int keep[] = { -1, -1, -1 };

	signal(SIGXFSZ, SIG_IGN);
	if (np_detach(keep, 3) || !become_only_child() ||
	    np_log_append(store, line))
		np_log_system(text);
	_exit(0);
}

void np_notice(const char *store, const char *fmt, ...)
{
	char text[512], line[NP_LOG_LINE];
	va_list args;
	pid_t pid;

	va_start(args, fmt);
	np_text_print(text, sizeof(text), fmt, args);
	va_end(args);
	np_log_line(line, text);
	if (notify_saver(store, line))
		return;
	pid = np_process_is_in_job() ? -1 : fork();
	if (!pid)
		write_line(store, line, text);
	if (pid < 0)
		np_log_system(text);
}

/* ---- checking whether a directory answers ---- */

static bool is_readable(int fd, int timeout_ms)
{
	return np_fd_wait(fd, POLLIN, np_mono_sec() + 1e-3 * timeout_ms);
}

/* Open a directory in a child, with the restrictions of write_line(). */
static void open_dir_in_child(const char *dir, int reply)
{
	const int keep[] = { -1, -1, -1, reply };

	if (np_detach(keep, NP_ARRAY_SIZE(keep)) || !become_only_child())
		_exit(1);
	if (open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0 &&
	    (errno == ESTALE || errno == EIO || errno == ENOTCONN))
		_exit(1);
	_exit(write(NP_ARRAY_SIZE(keep) - 1, "", 1) != 1);
}

static bool responds_to_child(const char *dir, int timeout_ms)
{
	bool responds;
	int fd[2];
	pid_t pid;
	char byte;

	if (pipe2(fd, O_CLOEXEC) || np_fds_above(fd))
		return false;
	pid = fork();
	if (!pid)
		open_dir_in_child(dir, fd[1]);
	close(fd[1]);
	responds = pid > 0 && is_readable(fd[0], timeout_ms) &&
		   read(fd[0], &byte, 1) == 1;
	close(fd[0]);
	return responds;
}

/* The saver replies 0 unless the file system has lost its server. */
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

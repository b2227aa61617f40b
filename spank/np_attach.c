#include "np_attach.h"
#include "np_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- where it can be reached ---- */

#define BACKLOG NP_INVITE_MAX_NODES

static int bind_to(int fd, int family, uint16_t port)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons(port),
		.sin6_addr = IN6ADDR_ANY_INIT,
	};
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = htons(port),
	};

	return family == AF_INET6 ?
		bind(fd, (struct sockaddr *)&six, sizeof(six)) :
		bind(fd, (struct sockaddr *)&four, sizeof(four));
}

static int open_socket(int family)
{
	int low = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int no = 0, fd;

	if (low < 0)
		return -1;
	fd = fcntl(low, F_DUPFD_CLOEXEC, 10);
	close(low);
	if (fd >= 0 && family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	return fd;
}

/* Begins somewhere in the range, as many sruns start at once on one host. */
static int bind_in_range(int fd, int family, const uint16_t range[2])
{
	unsigned n = range ? range[1] - range[0] + 1u : 1;
	unsigned first = (unsigned)getpid() % n;

	for (unsigned i = 0; i < n; i++) {
		unsigned port = range ? range[0] + (first + i) % n : 0;

		if (!bind_to(fd, family, (uint16_t)port))
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	return -1;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len))
		return 0;
	return ntohs(a.ss_family == AF_INET6 ?
		     ((struct sockaddr_in6 *)&a)->sin6_port :
		     ((struct sockaddr_in *)&a)->sin_port);
}

int np_listen(const uint16_t range[2], uint16_t *port, struct np_err *err)
{
	static const int families[] = { AF_INET6, AF_INET };
	int rc = EAFNOSUPPORT;

	if (range && (!range[0] || range[1] < range[0]))
		range = NULL;
	for (size_t i = 0; i < NP_ARRAY_SIZE(families); i++) {
		int fd = open_socket(families[i]);

		if (fd >= 0 && !bind_in_range(fd, families[i], range) &&
		    !listen(fd, BACKLOG) && (*port = port_of(fd)))
			return fd;
		rc = errno;
		if (fd >= 0)
			close(fd);
	}
	return np_errf(err, -rc, "no port to listen on: %s", strerror(rc));
}

int np_listen_tokens(struct np_invite *v, struct np_err *err)
{
	unsigned char bytes[NP_INVITE_TOKEN - 1]; /* half for each */
	size_t half = sizeof(bytes) / 2;

	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(bytes) ||
	    getrandom(&v->seed, sizeof(v->seed), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(v->seed))
		return np_errf(err, -EAGAIN, "no random numbers: %s",
			       strerror(errno));
	for (size_t i = 0; i < half; i++) {
		sprintf(v->member + 2 * i, "%02x", bytes[i]);
		sprintf(v->host + 2 * i, "%02x", bytes[half + i]);
	}
	return 0;
}

/* ---- a child that holds nothing of its parent's ---- */

#define MOST_FDS 65536 /* closed one by one where the kernel cannot */

/* Linux before 5.9 (RHEL 8) has no such call. */
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

/* ---- the attendant ---- */

/* stdin, stdout, stderr, NP_ATTACH_LISTEN_FD, and one that exec closes. */
#define NP_ATTACH_FDS 5

/* Runs between fork and exec in a threaded program: plain system calls only. */
static void child(const int keep[NP_ATTACH_FDS], char *const argv[])
{
	int status = NP_ATTACH_FDS - 1, e;

	e = -np_detach(keep, NP_ATTACH_FDS);
	if (e) {
		status = keep[status]; /* it is still there */
	} else {
		fcntl(status, F_SETFD, FD_CLOEXEC);
		execv(argv[0], argv);
		e = errno;
	}
	if (write(status, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

/*
 * Two ends above the numbers that child() hands out, so that dup2() there
 * never closes one that it still needs.
 */
static int pair_above(int fd[2])
{
	int low[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low))
		return -errno;
	for (int i = 0; i < 2; i++) {
		fd[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
		close(low[i]);
	}
	return fd[0] < 0 || fd[1] < 0 ? -EMFILE : 0;
}

static int ms_left(double until_sec)
{
	return (int)(1e3 * (until_sec - np_mono_sec()));
}

/* Something to read, or the end, before that. */
static bool readable(int fd, double until_sec)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int left;

	while ((left = ms_left(until_sec)) > 0)
		if (poll(&p, 1, left) > 0)
			return true;
	return false;
}

/* The error of a failed exec; 0 when exec closed the other end. */
static int exec_error(int fd, int timeout_ms)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;
	int e = 0;

	if (!readable(fd, until_sec))
		return ETIMEDOUT;
	while (read(fd, &e, sizeof(e)) < 0 && errno == EINTR)
		;
	return e;
}

int np_attach_start(struct np_attach *a, char *const argv[], int listen_fd,
		    int timeout_ms, struct np_err *err)
{
	int talk[2] = { -1, -1 }, status[2] = { -1, -1 };
	pid_t pid = -1;
	int e;

	if (pair_above(talk) || pair_above(status)) {
		e = EMFILE;
	} else {
		const int keep[NP_ATTACH_FDS] = { talk[1], talk[1], -1,
						  listen_fd, status[1] };

		pid = fork();
		if (pid == 0)
			child(keep, argv);
		e = pid < 0 ? errno : 0;
	}
	close(talk[1]);
	close(status[1]);
	if (!e && (e = exec_error(status[0], timeout_ms)) == ETIMEDOUT)
		kill(pid, SIGKILL); /* lest it begins when srun has gone on */
	close(status[0]);
	if (e) {
		close(talk[0]);
		return e != ETIMEDOUT ?
			np_errf(err, -e, "%s: %s", argv[0], strerror(e)) :
			np_errf(err, -e, "%s: not loaded within %d ms: its "
				"file system does not answer", argv[0],
				timeout_ms);
	}
	*a = (struct np_attach){ getpid(), talk[0] };
	return 0;
}

void np_attach_say(struct np_attach *a, const char *line)
{
	if (a->fd >= 0)
		send(a->fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int np_attach_wait(struct np_attach *a, char first, int timeout_ms)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;
	char buf[64];
	ssize_t got;

	if (a->fd < 0)
		return -EPIPE;
	while (readable(a->fd, until_sec)) {
		got = recv(a->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return -EPIPE;
		if (memchr(buf, first, (size_t)got))
			return 0;
	}
	return -ETIMEDOUT;
}

void np_attach_close(struct np_attach *a)
{
	if (a->fd >= 0)
		close(a->fd);
	*a = (struct np_attach)NP_ATTACH_INIT;
}

#include "np_collector.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_detach.h"

/* ---- the rendezvous socket ---- */

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

/*
 * Start somewhere in the range, because many sruns start at once on one host.
 */
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

int np_listen(const uint16_t range[2], uint16_t *port,
			 struct np_err *err)
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

int np_listen_tokens(struct np_invite *v,
			       struct np_err *err)
{
	/* Half of them for each cookie. */
	unsigned char bytes[NP_INVITE_TOKEN - 1];
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

int np_collector_listen(const struct np_conf *conf, const uint16_t range[2],
			char *invites, size_t size, struct np_err *err)
{
	struct np_invite v = {
		.after_sec = conf->probe_after_sec,
		.max_nodes = conf->probe_nodes,
	};
	int fd;

	if (snprintf(v.join, sizeof(v.join), "%s/netprof-join",
		     conf->libexecdir) >= (int)sizeof(v.join))
		return np_errf(err, -ENAMETOOLONG,
			       "LibexecDir=%.40s...: "
			       "expected a shorter path",
			       conf->libexecdir);
	if (np_listen_tokens(&v, err))
		return -EAGAIN;
	fd = np_listen(range, &v.port, err);
	if (fd < 0)
		return fd;
	if (np_invite_add(&v, invites, size, err)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/* ---- the collector process ---- */

/* stdin, stdout, stderr, NP_ATTACH_LISTEN_FD, and one that exec closes */
#define N_FDS 5

/* Runs between fork and exec in a threaded program: plain system calls only. */
static void child(const int keep[N_FDS], char *const argv[])
{
	int status = N_FDS - 1, e;

	e = -np_detach(keep, N_FDS);
	if (e) {
		status = keep[status]; /* not moved yet */
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
 * A socket pair above the numbers that child() assigns, so that dup2() there
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

/* True: data or end of file before until_sec. */
static bool readable(int fd, double until_sec)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int left;

	while ((left = ms_left(until_sec)) > 0)
		if (poll(&p, 1, left) > 0)
			return true;
	return false;
}

/* The errno of a failed exec; 0 when exec closed the other end. */
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

int np_attach_start(struct np_attach *a, char *const argv[],
		      int listen_fd, int timeout_ms, struct np_err *err)
{
	int link[2] = { -1, -1 }, status[2] = { -1, -1 };
	pid_t pid = -1;
	int e;

	if (pair_above(link) || pair_above(status)) {
		e = EMFILE;
	} else {
		const int keep[N_FDS] = { link[1], link[1], -1,
						  listen_fd, status[1] };

		pid = fork();
		if (pid == 0)
			child(keep, argv);
		e = pid < 0 ? errno : 0;
	}
	close(link[1]);
	close(status[1]);
	if (!e && (e = exec_error(status[0], timeout_ms)) == ETIMEDOUT)
		kill(pid, SIGKILL); /* so that it does not begin later */
	close(status[0]);
	if (e) {
		close(link[0]);
		return e != ETIMEDOUT ?
			np_errf(err, -e, "%s: %s", argv[0], strerror(e)) :
			np_errf(err, -e, "%s: not loaded within %d ms: its "
				"file system does not answer", argv[0],
				timeout_ms);
	}
	*a = (struct np_attach){ getpid(), link[0] };
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

int np_collector_start(struct np_attach *a,
		       const struct np_launch_request *request,
		       const char *libexecdir, int listen_fd, int timeout_ms,
		       struct np_err *err)
{
	char path[PATH_MAX + 32];
	struct np_args args;
	int rc;

	snprintf(path, sizeof(path), "%s/netprof-attend", libexecdir);
	np_order_to_args(request, path, &args);
	rc = args.rc ? np_errf(err, args.rc, "out of memory") :
		       np_attach_start(a, args.argv, listen_fd, timeout_ms,
					 err);
	np_args_free(&args);
	return rc;
}

int np_collector_wait_ready(struct np_attach *a, int timeout_ms)
{
	int rc = np_attach_wait(a, 'r', timeout_ms);

	np_attach_say(a, "start\n");
	return rc;
}

void np_collector_end(struct np_attach *a, int status, int save_ms)
{
	char line[32];

	if (a->owner != getpid())
		return; /* a fork of srun ends, not srun */
	snprintf(line, sizeof(line), "exit %d\n", status & 0xff);
	np_attach_say(a, line);
	if (save_ms)
		np_attach_wait(a, 's', save_ms);
	np_attach_close(a);
}

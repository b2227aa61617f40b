#include "np_script.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "np_clock.h"

/* Connections accepted at a time, and the pause after those of other users. */
#define ACCEPT_TURN 16
#define PAUSE_SEC 0.1

/* One of the addresses on which a collector of a job may listen. */
struct slot {
	struct sockaddr_un name; /* abstract */
	socklen_t len;
};

static struct slot make_slot(uint32_t job_id, int i)
{
	struct slot slot = { .name.sun_family = AF_UNIX };
	int name_len = snprintf(slot.name.sun_path + 1,
				sizeof(slot.name.sun_path) - 1, "netprof/%u/%d",
				job_id, i);

	slot.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       (size_t)name_len);
	return slot;
}

static int open_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/*
 * Find the process at the other end of a connection. Returns 0 if it does not
 * belong to that user.
 */
static pid_t find_peer(int fd, uid_t user)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    peer.uid != user)
		return 0;
	return peer.pid;
}

int np_script_listen(struct np_script *script, uint32_t job_id)
{
	int fd = open_socket(), rc = -EADDRINUSE;

	*script = (struct np_script)NP_SCRIPT_INIT;
	if (fd < 0)
		return -errno;
	for (int i = 0; rc == -EADDRINUSE && i < NP_SCRIPT_SLOTS; i++) {
		struct slot slot = make_slot(job_id, i);

		rc = bind(fd, (struct sockaddr *)&slot.name, slot.len) ?
			   -errno :
			   0;
	}
	if (!rc && listen(fd, ACCEPT_TURN))
		rc = -errno;
	if (rc)
		close(fd);
	else
		script->fd = fd;
	return rc;
}

/*
 * Accept a connection of slurmstepd, which replaces the listening socket. Those
 * of other users are closed.
 */
static void accept_caller(struct np_script *script)
{
	for (int i = 0; i < ACCEPT_TURN; i++) {
		int fd = accept4(script->fd, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (find_peer(fd, 0) || find_peer(fd, getuid())) {
			close(script->fd);
			script->fd = fd;
			script->connected = true;
			return;
		}
		close(fd);
		script->pause_until_sec = np_mono_sec() + PAUSE_SEC;
	}
}

int np_script_fd(const struct np_script *script, double now_sec)
{
	return !script->connected && now_sec < script->pause_until_sec ?
		     -1 :
		     script->fd;
}

bool np_script_read(struct np_script *script, int *code)
{
	char line[32];
	ssize_t len;

	if (!script->connected) {
		accept_caller(script);
		if (!script->connected)
			return false;
	}
	len = read(script->fd, line, sizeof(line) - 1);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	line[len < 0 ? 0 : len] = '\0';
	if (len <= 0)
		np_script_close(script);
	return sscanf(line, "exit %d", code) == 1;
}

void np_script_close(struct np_script *script)
{
	if (script->fd >= 0)
		close(script->fd);
	*script = (struct np_script)NP_SCRIPT_INIT;
}

/*
 * Return a descriptor that becomes readable when a process has ended. This is
 * its pidfd, because a process closes its sockets before it leaves its cgroup:
 * Slurm would still find it there, and check again only a second later.
 * Without pidfds (Linux before 5.3), it is the connection.
 */
static int open_end_fd(pid_t peer, int connection)
{
	int fd = (int)syscall(SYS_pidfd_open, peer, 0);

	if (fd < 0)
		return connection;
	close(connection);
	return fd;
}

/*
 * Notify all collectors of the job, and return their number. As most slots are
 * unused, a socket is tried with one slot after another until it connects.
 */
static int notify_all(uint32_t job_id, uid_t user, int code,
		      struct pollfd *notified)
{
	int n_notified = 0, fd = -1, len;
	char line[32];
	pid_t peer;

	len = snprintf(line, sizeof(line), "exit %d\n", code);
	for (int i = 0; i < NP_SCRIPT_SLOTS; i++) {
		struct slot slot = make_slot(job_id, i);

		if (fd < 0)
			fd = open_socket();
		if (fd < 0 ||
		    connect(fd, (struct sockaddr *)&slot.name, slot.len))
			continue;
		peer = find_peer(fd, user);
		if (peer && send(fd, line, (size_t)len, MSG_NOSIGNAL) == len)
			notified[n_notified++] =
				(struct pollfd){ .fd = open_end_fd(peer, fd),
						 .events = POLLIN };
		else
			close(fd);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
	return n_notified;
}

void np_script_announce(uint32_t job_id, uid_t user, int code, int timeout_ms)
{
	double until_sec = np_mono_sec() + 1e-3 * timeout_ms;
	struct pollfd notified[NP_SCRIPT_SLOTS];
	int n_notified = notify_all(job_id, user, code, notified),
	    n_running = n_notified, left_ms;

	while (n_running &&
	       (left_ms = (int)(1e3 * (until_sec - np_mono_sec()))) > 0) {
		if (poll(notified, (nfds_t)n_notified, left_ms) <= 0)
			continue;
		for (int i = 0; i < n_notified; i++)
			if (notified[i].fd >= 0 && notified[i].revents) {
				close(notified[i].fd);
				notified[i].fd = -1;
				n_running--;
			}
	}
	for (int i = 0; i < n_notified; i++)
		if (notified[i].fd >= 0)
			close(notified[i].fd);
}

#include "np_saver_proto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- messages ---- */

bool np_saver_head_ok(const struct np_saver_head *h)
{
	return h->version == NP_SAVER_VERSION && h->kind >= NP_SAVER_LOG &&
	       h->kind < NP_SAVER_N_KINDS && h->len > 0 &&
	       h->len <= NP_SAVER_MAX_BYTES;
}

long np_saver_pack(enum np_saver_kind kind, uint32_t seq,
		   const char *const field[], size_t n, char **out)
{
	struct np_saver_head h = { NP_SAVER_VERSION, kind, seq, 0 };
	size_t len = 0;
	char *to;

	for (size_t i = 0; i < n; i++)
		len += strlen(field[i]) + 1;
	if (n > NP_SAVER_MAX_FIELDS || len > NP_SAVER_MAX_BYTES)
		return -E2BIG;
	h.len = (uint32_t)len;
	*out = malloc(sizeof(h) + len);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, &h, sizeof(h));
	to = *out + sizeof(h);
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, field[i]) + 1;
	return (long)(sizeof(h) + len);
}

size_t np_saver_fields(char *text, size_t len,
		       char *field[NP_SAVER_MAX_FIELDS])
{
	size_t n = 0;

	if (!len || text[len - 1])
		return 0;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		if (n == NP_SAVER_MAX_FIELDS)
			return 0;
		field[n++] = text + at;
	}
	return n;
}

/* ---- sockets ---- */

/*
 * Names that one saver may have: a user may have taken some before it starts.
 */
#define N_NAMES 4

struct name {
	struct sockaddr_un addr;
	socklen_t len;
};

static struct name name_of(uid_t uid, int i)
{
	struct name n = { .addr.sun_family = AF_UNIX };
	char *text = n.addr.sun_path + 1;
	size_t size = sizeof(n.addr.sun_path) - 1;
	int len = uid ? snprintf(text, size, "netprof/saver/%lu/%d",
				 (unsigned long)uid, i) :
			snprintf(text, size, "netprof/saver/%d", i);

	n.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			    (size_t)len);
	return n;
}

/* Numbered above the descriptors that a detached child assigns. */
static int open_socket(void)
{
	int low = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			 0), fd;

	if (low < 0)
		return -1;
	fd = fcntl(low, F_DUPFD_CLOEXEC, 10);
	close(low);
	return fd;
}

/* Connect, and tell which user listens there. -1: nobody does. */
static int connect_to(const struct name *n, uid_t *listener)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd = open_socket();

	if (fd >= 0 &&
	    !connect(fd, (const struct sockaddr *)&n->addr, n->len) &&
	    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
		*listener = peer.uid;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int find(uid_t uid, uid_t *taken)
{
	for (int i = 0; i < N_NAMES; i++) {
		struct name n = name_of(uid, i);
		uid_t listener;
		int fd = connect_to(&n, &listener);

		if (fd < 0)
			continue;
		if (listener == uid)
			return fd;
		*taken = listener;
		close(fd);
	}
	return -ENOENT;
}

int np_saver_find(uid_t *taken)
{
	int fd = find(0, taken);

	return fd < 0 && geteuid() ? find(geteuid(), taken) : fd;
}

int np_saver_send(enum np_saver_kind kind, const char *const field[], size_t n)
{
	uid_t taken;
	int fd = np_saver_find(&taken);
	char *msg = NULL;
	long len = fd < 0 ? fd : np_saver_pack(kind, 1, field, n, &msg);
	bool sent = len > 0 && send(fd, msg, (size_t)len, MSG_DONTWAIT |
				    MSG_NOSIGNAL) == len;

	free(msg);
	if (fd < 0 || sent)
		return fd;
	close(fd);
	return -EAGAIN;
}

int np_saver_listen(uid_t uid, uid_t *taken)
{
	int fd = open_socket(), rc = -EADDRINUSE;

	if (fd < 0)
		return -errno;
	for (int i = 0; rc == -EADDRINUSE && i < N_NAMES; i++) {
		struct name n = name_of(uid, i);
		int other;

		rc = bind(fd, (struct sockaddr *)&n.addr, n.len) ? -errno : 0;
		if (rc == -EADDRINUSE && (other = connect_to(&n, taken)) >= 0)
			close(other);
	}
	if (!rc && listen(fd, SOMAXCONN))
		rc = -errno;
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

bool np_saver_in_job(void)
{
	char text[4096];
	ssize_t len = -1;
	int fd;

	if (getenv("SLURMD_NODENAME"))
		return true;
	fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[len > 0 ? len : 0] = '\0';
	return strstr(text, "/job_") != NULL;
}

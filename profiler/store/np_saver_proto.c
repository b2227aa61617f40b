/* Messages to and from netprof-saver, and the sockets that carry them. */
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

bool np_saver_header_is_valid(const struct np_saver_header *header)
{
	return header->version == NP_SAVER_VERSION &&
	       header->kind >= NP_SAVER_LOG &&
	       header->kind < NP_SAVER_N_KINDS && header->len > 0 &&
	       header->len <= NP_SAVER_MAX_BYTES;
}

long np_saver_pack(enum np_saver_kind kind, uint32_t seq,
		   const char *const field[], size_t n, char **out)
{
	struct np_saver_header header = { NP_SAVER_VERSION, kind, seq, 0 };
	size_t len = 0;
	char *end;

	for (size_t i = 0; i < n; i++)
		len += strlen(field[i]) + 1;
	if (n > NP_SAVER_MAX_FIELDS || len > NP_SAVER_MAX_BYTES)
		return -E2BIG;
	header.len = (uint32_t)len;
	*out = malloc(sizeof(header) + len);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, &header, sizeof(header));
	end = *out + sizeof(header);
	for (size_t i = 0; i < n; i++)
		end = stpcpy(end, field[i]) + 1;
	return (long)(sizeof(header) + len);
}

size_t np_saver_unpack(char *text, size_t len, char *field[NP_SAVER_MAX_FIELDS])
{
	size_t n_fields = 0;

	/* Without a NUL at the end, strlen() would read beyond the text. */
	if (!len || text[len - 1])
		return 0;
	for (size_t begin = 0; begin < len; begin += strlen(text + begin) + 1) {
		if (n_fields == NP_SAVER_MAX_FIELDS)
			return 0;
		field[n_fields++] = text + begin;
	}
	return n_fields;
}

/* ---- sockets ---- */

/*
 * Number of addresses of a saver, which listens on the first free one. A single
 * one would not do: anybody can bind an abstract address and so keep the saver
 * from starting; and when slurmd restarts, the old and the new saver overlap.
 */
#define N_ADDRESSES 4

#define FIRST_SEQ 1 /* np_saver_send() makes only one request */

struct saver_address {
	struct sockaddr_un un;
	socklen_t len;
};

/*
 * Address i of a user's saver. The leading NUL makes it abstract. Root's saver
 * serves all users, so its name has no uid.
 */
static struct saver_address make_saver_address(uid_t uid, int i)
{
	struct saver_address address = { .un.sun_family = AF_UNIX };
	char *name = address.un.sun_path + 1;
	size_t size = sizeof(address.un.sun_path) - 1;
	int len = uid ? snprintf(name, size, "netprof/saver/%lu/%d",
				 (unsigned long)uid, i) :
			snprintf(name, size, "netprof/saver/%d", i);

	address.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				  (size_t)len);
	return address;
}

#define LOWEST_FD 10

/*
 * Open a socket whose descriptor is LOWEST_FD or higher, because a process that
 * becomes a daemon closes and reuses the lowest ones.
 */
static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int high_fd;

	if (fd < 0)
		return -1;
	high_fd = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
	close(fd);
	return high_fd;
}

/*
 * Connect to an address, and get the uid of the process that listens on it.
 * Returns the descriptor, or -1 on failure.
 */
static int connect_to(const struct saver_address *address, uid_t *listener_uid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd = open_socket();

	if (fd >= 0 &&
	    !connect(fd, (const struct sockaddr *)&address->un, address->len) &&
	    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
		*listener_uid = peer.uid;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Connect to the saver of one user, as np_saver_connect() does. */
static int connect_to_user(uid_t uid, uid_t *foreign_uid)
{
	for (int i = 0; i < N_ADDRESSES; i++) {
		struct saver_address address = make_saver_address(uid, i);
		uid_t listener_uid;
		int fd = connect_to(&address, &listener_uid);

		if (fd < 0)
			continue;
		if (listener_uid == uid)
			return fd;
		/* Never send records to a process of another user. */
		*foreign_uid = listener_uid;
		close(fd);
	}
	return -ENOENT;
}

int np_saver_connect(uid_t *foreign_uid)
{
	int fd = connect_to_user(0, foreign_uid);

	return fd < 0 && geteuid() ? connect_to_user(geteuid(), foreign_uid) :
				     fd;
}

int np_saver_send(enum np_saver_kind kind, const char *const field[], size_t n)
{
	uid_t foreign_uid;
	int fd = np_saver_connect(&foreign_uid);
	char *message = NULL;
	bool sent;
	long len;

	if (fd < 0)
		return fd;
	len = np_saver_pack(kind, FIRST_SEQ, field, n, &message);
	sent = len > 0 && send(fd, message, (size_t)len,
			       MSG_DONTWAIT | MSG_NOSIGNAL) == len;
	free(message);
	if (sent)
		return fd;
	close(fd);
	return -EAGAIN;
}

int np_saver_listen(uid_t uid, uid_t *foreign_uid)
{
	int fd = open_socket(), rc = -EADDRINUSE;

	if (fd < 0)
		return -errno;
	for (int i = 0; i < N_ADDRESSES; i++) {
		struct saver_address address = make_saver_address(uid, i);
		int other_fd;

		if (!bind(fd, (struct sockaddr *)&address.un, address.len)) {
			rc = 0;
			break;
		}
		rc = -errno;
		if (rc != -EADDRINUSE)
			break;
		other_fd = connect_to(&address, foreign_uid);
		if (other_fd >= 0)
			close(other_fd);
	}
	if (!rc && listen(fd, SOMAXCONN))
		rc = -errno;
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

/* ---- without a saver ---- */

/*
 * The path contains /job_ID/step_ID/. With cgroups of version 2, Slurm 26.05
 * has the job's SLUID in place of job_ID, unless CgroupJobIdPaths=yes.
 */
bool np_cgroups_are_of_job(const char *cgroups)
{
	return strstr(cgroups, "/job_") || strstr(cgroups, "/step_");
}

/*
 * Slurm sets SLURMD_NODENAME in the tasks of a job. If Slurm uses cgroups, a
 * process that cleared its environment, or came by ssh (pam_slurm_adopt), is
 * still in the cgroup of its job.
 */
bool np_process_is_in_job(void)
{
	char cgroups[4096];
	ssize_t len = -1;
	int fd;

	if (getenv("SLURMD_NODENAME"))
		return true;
	fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, cgroups, sizeof(cgroups) - 1);
		close(fd);
	}
	cgroups[len > 0 ? len : 0] = '\0';
	return np_cgroups_are_of_job(cgroups);
}

/*
 * libnetprof-delay.so: delays the delivery of data that a program receives over
 * TCP.
 *
 *	LD_PRELOAD=.../libnetprof-delay.so NETPROF_DELAY_US=200 PROGRAM...
 *
 * Preloaded into the processes of an MPI program, it adds latency to all
 * messages between nodes, including those of collectives, with any MPI that
 * uses TCP sockets and without root. It delays the delivery, not the sender: a
 * send takes as long as before, and each byte becomes readable a fixed time
 * after the kernel received it (SO_TIMESTAMPING). A program that computes in
 * the meantime does not wait. S. Shen et al. did the same in the receive path
 * of one MPI (LLAMP, SC 2024).
 *
 * Data waits in the kernel's buffer. A read that finds none due fails with
 * EAGAIN, or sleeps if the socket blocks; a read that finds some returns only
 * these. poll(2) may report a socket as readable too early, as it may for any
 * socket. Edge-triggered epoll(7) would miss events; no MPI is known to use it.
 * Sockets that existed before, or came from another process, are not delayed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "old_glibc.h"

FROM_LIBDL(dlsym);

#define EXPORT __attribute__((visibility("default")))
#define MAX_FD 65536
#define MAX_IOV 1024 /* as in the kernel */
#define MAX_US 1e7

static long long delay_ns; /* 0: no delay */
/* TCP sockets; an entry is written before the descriptor is shared */
static bool delayed[MAX_FD];

static long long now_ns(void)
{
	struct timespec t;

	/* the clock of the kernel's timestamps */
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("NETPROF_DELAY_US");
	char *end = "";
	double us = text ? strtod(text, &end) : 0;

	if (text && (end == text || *end || !(us >= 0 && us <= MAX_US)))
		fprintf(stderr,
			"netprof: NETPROF_DELAY_US=%.40s: expected 0 to %.0f "
			"microseconds; nothing is delayed\n",
			text, MAX_US);
	else
		delay_ns = llround(1000 * us);
}

/* The C library's function; concurrent first calls store the same value. */
#define REAL(name) \
	({ \
		static __typeof__(name) *real_; \
		if (!real_) \
			real_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
		real_; \
	})

/* Whether reads from this descriptor are delayed. */
static bool is_delayed(int fd)
{
	return delay_ns && fd >= 0 && fd < MAX_FD && delayed[fd];
}

/*
 * Remembers a TCP socket and makes the kernel timestamp what it receives. A
 * descriptor that is reused for something else is forgotten.
 */
static void add_socket(int fd, int domain)
{
	const int stamps = SOF_TIMESTAMPING_RX_SOFTWARE |
			   SOF_TIMESTAMPING_SOFTWARE;

	if (delay_ns && fd >= 0 && fd < MAX_FD)
		delayed[fd] = (domain == AF_INET || domain == AF_INET6) &&
			      !setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING,
					  &stamps, sizeof(stamps));
}

/* When the last byte of the received data arrived; 0 if unknown. */
static long long stamp_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct scm_timestamping t;

		if (c->cmsg_level != SOL_SOCKET ||
		    c->cmsg_type != SO_TIMESTAMPING)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof(t));
		return t.ts[0].tv_sec * 1000000000ll + t.ts[0].tv_nsec;
	}
	return 0;
}

/*
 * Examines up to len bytes without copying any (MSG_TRUNC). Returns how many
 * there are, and when the last of them is due; or what recvmsg(2) returns.
 */
static ssize_t peek(int fd, size_t len, int flags, long long *due_ns)
{
	char room[512], none;
	struct iovec to = { &none, len };
	struct msghdr m = {
		.msg_iov = &to,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = sizeof(room),
	};
	ssize_t n = REAL(recvmsg)(fd, &m, MSG_PEEK | MSG_TRUNC | flags);

	if (n > 0)
		*due_ns = stamp_of(&m) + delay_ns;
	/* The clock was set back since the data arrived. */
	if (n > 0 && *due_ns > now_ns() + delay_ns)
		*due_ns = 0;
	return n;
}

/* Sleeps until a time of CLOCK_REALTIME. */
static void sleep_until(long long due_ns)
{
	struct timespec t = { due_ns / 1000000000, due_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) ==
	       EINTR)
		;
}

/*
 * Number of bytes, up to len > 0, that are due; -1 if none is; 0 if the call
 * should proceed unchanged (error or end of file).
 */
static ssize_t due_of(int fd, size_t len)
{
	long long due_ns = 0, now = now_ns();
	ssize_t n = peek(fd, len, MSG_DONTWAIT, &due_ns);

	while (n > 1 && due_ns > now)
		n = peek(fd, (size_t)n / 2, MSG_DONTWAIT, &due_ns);
	return n > 0 && due_ns > now ? -1 : n > 0 ? n : 0;
}

/* The same for a blocking socket: waits for the first byte. */
static ssize_t wait_due(int fd, size_t len)
{
	long long due_ns;
	ssize_t n = peek(fd, 1, 0, &due_ns);

	if (n <= 0)
		return 0;
	sleep_until(due_ns);
	n = due_of(fd, len);
	return n > 0 ? n : 1;
}

/*
 * Number of bytes that a read of len may return: len itself if nothing is
 * delayed, -1 with errno set if none are due.
 */
static ssize_t due_bytes(int fd, size_t len, int flags)
{
	int errno_before = errno;
	ssize_t n;

	if (!is_delayed(fd) || !len || flags & (MSG_OOB | MSG_ERRQUEUE))
		return (ssize_t)len;
	if (flags & MSG_DONTWAIT || fcntl(fd, F_GETFL) & O_NONBLOCK)
		n = due_of(fd, len);
	else
		n = wait_due(fd, len);
	if (n < 0) {
		errno = EAGAIN;
		return -1;
	}
	errno = errno_before;
	return n ? n : (ssize_t)len;
}

/* Copies a list of buffers, limited to len bytes; returns its new length. */
static int truncate_iov(const struct iovec *v, int n, size_t len,
			struct iovec *out)
{
	int i;

	for (i = 0; i < n && len; i++) {
		out[i] = v[i];
		if (out[i].iov_len > len)
			out[i].iov_len = len;
		len -= out[i].iov_len;
	}
	return i;
}

static size_t bytes_of(const struct iovec *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i].iov_len;
	return sum;
}

EXPORT ssize_t read(int fd, void *buf, size_t len)
{
	ssize_t n = due_bytes(fd, len, 0);

	return n < 0 ? n : REAL(read)(fd, buf, (size_t)n);
}

/*
 * A caller of MSG_WAITALL gets all bytes. They are received as they become due,
 * as they may not fit into the kernel's buffer together.
 */
static bool wants_all(int fd, int flags)
{
	return is_delayed(fd) && flags & MSG_WAITALL &&
	       !(flags & (MSG_DONTWAIT | MSG_PEEK | MSG_OOB | MSG_ERRQUEUE |
			  MSG_TRUNC)) &&
	       !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static ssize_t receive_all(int fd, char *buf, size_t len, int flags)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = due_bytes(fd, len - got, flags);

		n = REAL(recv)(fd, buf + got, (size_t)n, flags);
		if (n <= 0)
			return got ? (ssize_t)got : n;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

EXPORT ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t n;

	if (wants_all(fd, flags))
		return receive_all(fd, buf, len, flags);
	n = due_bytes(fd, len, flags);
	return n < 0 ? n : REAL(recv)(fd, buf, (size_t)n, flags);
}

EXPORT ssize_t recvfrom(int fd, void *restrict buf, size_t len, int flags,
			struct sockaddr *restrict from,
			socklen_t *restrict from_len)
{
	ssize_t n;

	if (wants_all(fd, flags) && !from)
		return receive_all(fd, buf, len, flags);
	if (wants_all(fd, flags) && due_bytes(fd, 1, flags) >= 0)
		n = (ssize_t)len; /* the rest as it comes */
	else
		n = due_bytes(fd, len, flags);
	return n < 0 ? n :
		       REAL(recvfrom)(fd, buf, (size_t)n, flags, from,
				      from_len);
}

EXPORT ssize_t readv(int fd, const struct iovec *v, int n_v)
{
	struct iovec few[MAX_IOV];
	ssize_t n;

	if (!is_delayed(fd) || n_v < 1 || n_v > MAX_IOV)
		return REAL(readv)(fd, v, n_v);
	n = due_bytes(fd, bytes_of(v, (size_t)n_v), 0);
	if (n < 0)
		return n;
	n_v = truncate_iov(v, n_v, (size_t)n, few);
	return REAL(readv)(fd, few, n_v);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct iovec few[MAX_IOV], *v = m->msg_iov;
	size_t n_v = m->msg_iovlen;
	ssize_t n;

	if (!is_delayed(fd) || n_v < 1 || n_v > MAX_IOV)
		return REAL(recvmsg)(fd, m, flags);
	if (wants_all(fd, flags) && due_bytes(fd, 1, flags) >= 0)
		return REAL(recvmsg)(fd, m, flags); /* the rest as it comes */
	n = due_bytes(fd, bytes_of(v, n_v), flags);
	if (n < 0)
		return n;
	m->msg_iov = few;
	m->msg_iovlen = (size_t)truncate_iov(v, (int)n_v, (size_t)n, few);
	n = REAL(recvmsg)(fd, m, flags);
	m->msg_iov = v;
	m->msg_iovlen = n_v;
	return n;
}

/* Variants that programs with checked buffer sizes call (_FORTIFY_SOURCE). */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags,
		       struct sockaddr *from, socklen_t *from_len);

/* Fails like the C library if a buffer is too small. */
static void check(size_t len, size_t room)
{
	if (len > room)
		abort();
}

EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	check(len, room);
	return read(fd, buf, len);
}

EXPORT ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
	check(len, room);
	return recv(fd, buf, len, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room,
			      int flags, struct sockaddr *from,
			      socklen_t *from_len)
{
	check(len, room);
	return recvfrom(fd, buf, len, flags, from, from_len);
}

EXPORT int socket(int domain, int type, int protocol)
{
	int fd = REAL(socket)(domain, type, protocol);

	add_socket(fd, (type & 0xf) == SOCK_STREAM ? domain : AF_UNSPEC);
	return fd;
}

/* Adds an accepted connection. */
static int accepted(int fd)
{
	int domain = AF_UNSPEC;
	socklen_t len = sizeof(domain);

	if (fd >= 0)
		getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	add_socket(fd, domain);
	return fd;
}

EXPORT int accept(int fd, struct sockaddr *restrict addr,
		  socklen_t *restrict len)
{
	return accepted(REAL(accept)(fd, addr, len));
}

EXPORT int accept4(int fd, struct sockaddr *restrict addr,
		   socklen_t *restrict len, int flags)
{
	return accepted(REAL(accept4)(fd, addr, len, flags));
}

EXPORT int close(int fd)
{
	if (fd >= 0 && fd < MAX_FD)
		delayed[fd] = false;
	return REAL(close)(fd);
}

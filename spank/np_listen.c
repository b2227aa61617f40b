#include "np_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

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

#include "np_rendezvous.h"
#include "some_registry.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* 0: somebody listens there. */
static int knock(int family, uint16_t port)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	struct sockaddr_in four = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -1;
	rc = family == AF_INET6 ?
		     connect(fd, (struct sockaddr *)&six, sizeof(six)) :
		     connect(fd, (struct sockaddr *)&four, sizeof(four));
	close(fd);
	return rc;
}

static int has_loopback_six(void)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	rc = fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any));
	if (fd >= 0)
		close(fd);
	return !rc;
}

T_TEST("the nodes reach the socket that srun opens")
{
	struct np_rendezvous_entry v = { .port = 0 };
	int fd = some_rendezvous(NULL, &v, NULL);

	T_CHECK(fd >= 10 && v.port);
	T_CHECK(knock(AF_INET, v.port) == 0);
	T_CHECK(!has_loopback_six() || knock(AF_INET6, v.port) == 0);
	T_CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	T_CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	T_CHECK(knock(AF_INET, v.port) != 0);
}

#define RANGE 8

/* So many ports up to one that was free just now. */
static void some_range(uint16_t range[2])
{
	struct np_rendezvous_entry v;

	close(some_rendezvous(NULL, &v, NULL));
	range[1] = v.port;
	range[0] = (uint16_t)(range[1] - RANGE + 1);
}

static int taken_before(const struct np_rendezvous_entry *v, int n)
{
	for (int i = 0; i < n; i++)
		if (v[i].port == v[n].port)
			return 1;
	return 0;
}

T_TEST("a port in SrunPortRange that is taken is passed over")
{
	struct np_err err = NP_ERR_INIT;
	struct np_rendezvous_entry v[RANGE + 1];
	int fd[RANGE + 1], n = 0;
	uint16_t range[2];

	some_range(range);
	while (n <= RANGE &&
	       (fd[n] = some_rendezvous(range, &v[n], &err)) >= 0) {
		T_CHECK(v[n].port >= range[0] && v[n].port <= range[1]);
		T_CHECK(!taken_before(v, n));
		n++;
	}
	/* Others on this machine may have some of them. */
	T_CHECK(n >= 1 && n <= RANGE && fd[n] == -EADDRINUSE);
	T_CHECK(strstr(err.text, "Address already in use"));
	range[0] = range[1] = v[0].port;
	T_CHECK(some_rendezvous(range, &v[1], NULL) == -EADDRINUSE);
	while (n)
		close(fd[--n]);
}

static const struct {
	const char *name;
	uint16_t range[2];
} impossible[] = {
	{ "no port", { 0, 0 } },
	{ "from port 0", { 0, 5 } },
	{ "backwards", { 60001, 60000 } },
};

T_TEST("a range that makes no sense is any port")
{
	T_EACH(r, impossible) {
		struct np_rendezvous_entry v = { .port = 0 };
		int fd = some_rendezvous(r->range, &v, NULL);

		T_ROW(r->name,
		      fd >= 0 && v.port && knock(AF_INET, v.port) == 0);
		if (fd >= 0)
			close(fd);
	}
}

static int is_cookie(const char *t)
{
	return strspn(t, "0123456789abcdef") == NP_RENDEZVOUS_COOKIE - 1 &&
	       !t[NP_RENDEZVOUS_COOKIE - 1];
}

T_TEST("every step has secrets of its own")
{
	struct np_rendezvous_entry a, b;
	int fd[2] = { some_rendezvous(NULL, &a, NULL),
		      some_rendezvous(NULL, &b, NULL) };

	T_CHECK(is_cookie(a.agent_cookie) && is_cookie(a.collector_cookie) &&
		is_cookie(b.agent_cookie));
	T_CHECK(strcmp(a.agent_cookie, a.collector_cookie) &&
		strcmp(a.agent_cookie, b.agent_cookie) &&
		strcmp(a.collector_cookie, b.collector_cookie) &&
		a.seed != b.seed);
	close(fd[0]);
	close(fd[1]);
}

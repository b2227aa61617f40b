/* Connections that do not authenticate, and more than fit. */
#include "some_registry.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const struct {
	const char *name, *says;
} unauthenticated[] = {
	{ "another step's token", "0011223344556677"
				  "8899aabbccddeef0 "
				  "probe 0 n0\n" },
	{ "what the collector says first", H " probe 0 n0\n" },
	{ "half a token", "0011223344556677 probe 0 n0\n" },
	{ "more than the token", G "0 probe 0 n0\n" },
	{ "no token", "probe 0 n0\n" },
	{ "an empty line", "\n" },
	{ "nothing but the token", G "\n" },
	{ "a kind that there is not", G " spy 0 n0\n" },
	{ "no node", G " probe\n" },
	{ "a node that is no number", G " probe n0 n0\n" },
	{ "no name", G " probe 0\n" },
	{ "a report", "np1 bye 0\n" },
	{ "a browser", "GET / HTTP/1.1\r\nHost: login1\r\n\r\n" },
	{ "formats", "%n%n%n%n%s%s%s%s %s %s %s\n" },
	{ "bytes", "\x16\x03\x01\x02\xff\xfe\n" },
};

T_FIXTURE(registry_begin, registry_end);

T_TEST("a connection without the cookie is closed")
{
	T_EACH(r, unauthenticated) {
		int fd = connect_client();

		send_text(fd, r->says);
		for (int k = 0; k < PATIENCE && !is_shut(fd); k++) {
			serve();
			usleep(2000);
		}
		T_ROW(r->name, is_shut(fd));
		T_ROW(r->name, np_registry_size(w.p) == 0);
		leave(fd);
	}
	T_CHECK(!w.reports[0]);
}

T_TEST("nor is a line without end kept")
{
	static char text[3 * NP_PEER_LINE];
	int fd;

	fd = connect_client();
	memset(text, '0', sizeof(text));
	T_CHECK(send(fd, text, sizeof(text), MSG_NOSIGNAL) > NP_PEER_LINE);
	UNTIL(is_shut(fd));
}

/* By the caller's clock: a busy machine shuts nobody out. */
T_TEST("a connection that says nothing is closed in time")
{
	struct pollfd p[NP_REGISTRY_FDS];
	int silent, slow, member;

	silent = connect_client();
	slow = connect_client();
	UNTIL(np_registry_poll(w.p, p) == 3);
	member = connect_agent("probe");
	w.now_sec += 4;
	send_text(slow, G);
	serve();
	usleep(2000);
	serve();
	T_CHECK(!is_shut(silent) && !is_shut(slow) && !is_shut(member));
	w.now_sec += 2;
	serve();
	UNTIL(is_shut(silent) && is_shut(slow));
	w.now_sec += 1e6;
	serve();
	T_CHECK(!is_shut(member) && probes().waiting == 1);
}

T_TEST("many connections that send nothing keep no agent out")
{
	struct pollfd p[NP_REGISTRY_FDS];
	int fd[NP_REGISTRY_PENDING + 8], member;

	for (size_t i = 0; i < NP_ARRAY_SIZE(fd); i++)
		fd[i] = connect_client();
	UNTIL(np_registry_poll(w.p, p) == 1 + NP_REGISTRY_PENDING);
	serve();
	/* Connections that do not fit must not wake the collector. */
	np_registry_poll(w.p, p);
	T_CHECK(poll(p, 1 + NP_REGISTRY_PENDING, 0) == 0);
	member = connect_client();
	send_text(member, G " probe 7 n7\n");
	w.now_sec += 0.3; /* long before they are shut out for their silence */
	UNTIL(np_registry_size(w.p) == 1);
	T_CHECK(context(0)->node == 7 && !is_shut(member));
	T_CHECK(np_registry_poll(w.p, p) <= NP_REGISTRY_FDS && p[0].fd >= 0);
}

static size_t n_shut(const int fd[], size_t n)
{
	size_t shut = 0;

	for (size_t i = 0; i < n; i++)
		shut += is_shut(fd[i]);
	return shut;
}

/* Empty lines, each from a connection of its own. */
T_TEST("of a flood of connections some are read each second, and agents are")
{
	enum { MANY = 250, A_SECOND = 100 };
	struct pollfd p[NP_REGISTRY_FDS];
	int fd[MANY], member;
	size_t shut = 0;

	for (size_t i = 0; i < MANY; i++) {
		fd[i] = connect_client();
		send_text(fd[i], "\n");
	}
	for (int i = 0; i < PATIENCE && shut < A_SECOND; i++) {
		serve();
		usleep(2000);
		shut = n_shut(fd, MANY);
	}
	for (int i = 0; i < 50; i++) {
		serve();
		usleep(2000);
	}
	T_CHECK(n_shut(fd, MANY) == A_SECOND);
	T_CHECK(np_registry_poll(w.p, p) == 1 && p[0].fd < 0);
	member = connect_client();
	send_text(member, G " probe 7 n7\n");
	for (int i = 0; i < 5; i++) {
		usleep(2000);
		serve();
		w.now_sec += 0.5;
	}
	/* The kernel may deliver it later than all others. */
	UNTIL(np_registry_size(w.p) == 1);
	T_CHECK(!is_shut(member));
}

/* So that nobody can open one more; returns what was allowed before. */
static rlim_t no_descriptors(void)
{
	struct rlimit now;
	rlim_t before;
	int lowest = dup(0);

	close(lowest);
	T_CHECK(!getrlimit(RLIMIT_NOFILE, &now));
	before = now.rlim_cur;
	now.rlim_cur = (rlim_t)lowest;
	T_CHECK(!setrlimit(RLIMIT_NOFILE, &now));
	return before;
}

T_TEST("with no descriptors left nobody spins, and who waits comes later")
{
	struct pollfd p[NP_REGISTRY_FDS];
	struct rlimit limit;
	rlim_t before;
	int fd;

	fd = connect_client();
	send_text(fd, G " probe 3 n3\n");
	T_CHECK(poll(&(struct pollfd){ w.listening, POLLIN, 0 }, 1, 60000) ==
		1);
	T_CHECK(!np_registry_accept_error(w.p));
	before = no_descriptors();
	serve();
	/* Connections that are not accepted must not wake the collector. */
	T_CHECK(np_registry_poll(w.p, p) == 1 && p[0].fd < 0);
	T_CHECK(np_registry_accept_error(w.p) == EMFILE);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = before;
	setrlimit(RLIMIT_NOFILE, &limit);
	w.now_sec += 1;
	UNTIL(np_registry_size(w.p) == 1);
	T_CHECK(context(0)->node == 3 && np_registry_poll(w.p, p) == 2 &&
		p[0].fd >= 0);
}

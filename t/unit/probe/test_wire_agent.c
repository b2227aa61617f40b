/* The test plays the collector at the other end of a socket. */
#include "t.h"
#include "np_wire.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct ends {
	struct np_wire *w;
	int probe, collector;
};

static void open_ends(struct ends *e, uint32_t rank, uint32_t size)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		exit(1);
	e->probe = fd[0];
	e->collector = fd[1];
	T_CHECK(np_wire_agent_open(fd[0], fd[0], rank, size, &e->w, NULL) == 0);
	T_CHECK(e->w->rank == rank && e->w->size == size);
}

static void close_ends(struct ends *e)
{
	e->w->ops->close(e->w);
	T_CHECK(write(e->probe, "x", 1) == 1); /* it was borrowed */
	close(e->probe);
	close(e->collector);
}

static void say_some(const struct ends *e, const char *text, size_t len)
{
	T_CHECK(send(e->collector, text, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static void say(const struct ends *e, const char *text)
{
	say_some(e, text, strlen(text));
}

/* All that the probe has said. */
static const char *received(const struct ends *e)
{
	static char text[2 * NP_WIRE_MAX_BYTES + 64];
	ssize_t got = recv(e->collector, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[got < 0 ? 0 : got] = '\0';
	return text;
}

static int fence(const struct ends *e, double timeout_sec, struct np_err *err)
{
	return e->w->ops->fence(e->w, timeout_sec, err);
}

/* "ENOENT" for who has published nothing. */
static int has(const struct ends *e, uint32_t rank, const char *want)
{
	void *data = NULL;
	size_t len = 0;
	int rc = e->w->ops->get(e->w, rank, &data, &len, NULL), same;

	same = rc ? rc == -ENOENT && !strcmp(want, "ENOENT") :
		    len == strlen(want) && !memcmp(data, want, len);
	free(data);
	return same;
}

T_TEST("the processes of a group find each other")
{
	struct ends e;

	open_ends(&e, 1, 3);
	T_CHECK(e.w->ops->put(e.w, "a\0\xff", 3, NULL) == 0);
	T_CHECK(!strcmp(received(&e), "put 6100ff\n"));
	say(&e, "place 0 6869\nplace 1 6100ff\ngo\n");
	T_CHECK(fence(&e, 60, NULL) == 0);
	T_CHECK(!strcmp(received(&e), "fence\n"));
	T_CHECK(has(&e, 0, "hi") && has(&e, 2, "ENOENT"));
	T_CHECK(has(&e, 3, "ENOENT") && has(&e, ~0u, "ENOENT"));
	say(&e, "go\n");
	T_CHECK(fence(&e, 60, NULL) == 0);
	say(&e, "place 2 31\nplace 2 32\nplace 0 \ngo\n");
	T_CHECK(fence(&e, 60, NULL) == 0);
	T_CHECK(has(&e, 2, "2") && has(&e, 0, ""));
	close_ends(&e);
}

/* What follows is not swallowed: the connection goes on to carry reports. */
T_TEST("what follows a fence is left for others")
{
	char rest[8] = "";
	struct ends e;

	open_ends(&e, 0, 1);
	say(&e, "go\nrest");
	T_CHECK(fence(&e, 60, NULL) == 0);
	T_CHECK(read(e.probe, rest, sizeof(rest)) == 4 &&
		!strcmp(rest, "rest"));
	close_ends(&e);
}

static const struct {
	const char *name;
	size_t len;
	int rc;
} sizes[] = {
	{ "nothing", 0, 0 },
	{ "the longest", NP_WIRE_MAX_BYTES, 0 },
	{ "too long", NP_WIRE_MAX_BYTES + 1, -EMSGSIZE },
};

T_TEST("addresses of any length that is allowed")
{
	static char data[NP_WIRE_MAX_BYTES + 1];
	static char line[2 * NP_WIRE_MAX_BYTES + 64];

	memset(data, '\xa5', sizeof(data));
	T_EACH(r, sizes) {
		struct np_err err = NP_ERR_INIT;
		size_t len = r->len, got;
		struct ends e;
		void *back;

		open_ends(&e, 0, NP_WIRE_MAX_SIZE);
		T_ROW(r->name, e.w->ops->put(e.w, data, len, &err) == r->rc &&
				       !err.text[0] == !r->rc);
		strcpy(line, received(&e));
		T_ROW(r->name, strlen(line) == (r->rc ? 0 : 2 * len + 5));
		if (!r->rc) { /* as the collector informs the others */
			say(&e, "place 1023 ");
			say_some(&e, line + 4, 2 * len + 1);
			say(&e, "go\n");
			T_ROW(r->name, fence(&e, 60, NULL) == 0);
			T_ROW(r->name,
			      !e.w->ops->get(e.w, 1023, &back, &got, NULL));
			T_ROW(r->name, got == len && !memcmp(back, data, len));
			free(back);
		}
		close_ends(&e);
	}
}

static const struct {
	const char *name, *line;
	int rc;
} damaged[] = {
	{ "a word", "hello\n", -EPROTO },
	{ "an empty line", "\n", -EPROTO },
	{ "almost the end of a fence", "go \n", -EPROTO },
	{ "a rank beyond the group", "place 2 00\n", -EPROTO },
	{ "a rank below 0", "place -1 00\n", -EPROTO },
	{ "a rank in words", "place one 00\n", -EPROTO },
	{ "no rank", "place\n", -EPROTO },
	{ "no number", "place 1 0g\n", -EPROTO },
	{ "half a byte", "place 1 00a\n", -EPROTO },
	{ "capitals", "place 1 AB\n", -EPROTO },
	{ "more words", "place 1 00 00\n", -EPROTO },
	{ "formats", "%n%n%s%s%s\n", -EPROTO },
	{ "half a line, then end of file", "place 1 00", -EPIPE },
	{ "end of file", "", -EPIPE },
};

T_TEST("damaged lines are reported")
{
	T_EACH(r, damaged) {
		struct np_err err = NP_ERR_INIT;
		struct ends e;

		open_ends(&e, 0, 2);
		say(&e, r->line);
		shutdown(e.collector, SHUT_WR);
		T_ROW(r->name, fence(&e, 60, &err) == r->rc);
		T_ROW(r->name, strstr(err.text, "the collector"));
		T_ROW(r->name, has(&e, 1, "ENOENT"));
		close_ends(&e);
	}
}

T_TEST("a line too long is not kept")
{
	static char line[2 * NP_WIRE_MAX_BYTES + 1000];
	struct np_err err = NP_ERR_INIT;
	struct ends e;

	open_ends(&e, 0, 2);
	memset(line, '0', sizeof(line));
	memcpy(line, "place 1 ", 8);
	say_some(&e, line, sizeof(line));
	T_CHECK(fence(&e, 60, &err) == -EPROTO);
	T_CHECK(strstr(err.text, "a line of over"));
	close_ends(&e);
}

static double cpu_sec(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

#define MANY 200 /* 6.5 MB of lines, all of the longest */

/* With the user's program on one of its processors. */
T_TEST("long replies cost little")
{
	static char line[2 * NP_WIRE_MAX_BYTES + 16] = "place 1 ";
	double before;
	struct ends e;
	pid_t pid;

	memset(line + 8, '0', 2 * NP_WIRE_MAX_BYTES);
	strcat(line, "\n");
	open_ends(&e, 0, 2);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < MANY; i++)
			send(e.collector, line, strlen(line), MSG_NOSIGNAL);
		send(e.collector, "go\n", 3, MSG_NOSIGNAL);
		_exit(0);
	}
	before = cpu_sec();
	T_CHECK(fence(&e, 60, NULL) == 0);
	T_CHECK(cpu_sec() - before < 1);
	T_CHECK(waitpid(pid, NULL, 0) == pid);
	close_ends(&e);
}

T_TEST("a probe waits no longer than it may")
{
	struct np_err err = NP_ERR_INIT;
	struct ends e;

	open_ends(&e, 0, 2);
	T_CHECK(fence(&e, 0.02, &err) == -ETIMEDOUT);
	T_CHECK(strstr(err.text, "other processes"));
	say(&e, "place 1 00\ng");
	T_CHECK(fence(&e, 0.02, NULL) == -ETIMEDOUT);
	T_CHECK(fence(&e, 0, NULL) == -ETIMEDOUT);
	close_ends(&e);
}

T_TEST("a collector that disconnects is reported")
{
	void (*old)(int) = signal(SIGPIPE, SIG_IGN); /* as the probes do */
	struct np_err err = NP_ERR_INIT;
	struct ends e;

	open_ends(&e, 0, 2);
	close(e.collector);
	T_CHECK(e.w->ops->put(e.w, "a", 1, &err) == -EPIPE && err.text[0]);
	T_CHECK(fence(&e, 60, NULL) == -EPIPE);
	e.w->ops->close(e.w);
	close(e.probe);
	signal(SIGPIPE, old);
}

static const struct {
	const char *name, *text;
	int rc;
	uint32_t rank, size;
} texts[] = {
	{ "the first process of two", "0/2", 0, 0, 2 },
	{ "the last process of many", "1023/1024", 0, 1023, 1024 },
	{ "a group of one", "0/1", 0, 0, 1 },
	{ "a rank beyond the group", "2/2", -EINVAL },
	{ "a group of none", "0/0", -EINVAL },
	{ "too large a group", "0/1025", -EINVAL },
	{ "a rank below 0", "-1/2", -EINVAL },
	{ "more words", "0/2 ", -EINVAL },
	{ "no slash", "1", -EINVAL },
	{ "no number of processes", "1/", -EINVAL },
	{ "words", "one/two", -EINVAL },
	{ "nothing", "", -EINVAL },
};

T_TEST("RANK/SIZE")
{
	T_EACH(r, texts) {
		struct np_wire *w = NULL;
		int rc = np_wire_open(r->text, &w, NULL);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name,
		      rc || (w->rank == r->rank && w->size == r->size));
		if (!rc)
			w->ops->close(w);
	}
}

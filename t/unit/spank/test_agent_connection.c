#include "t.h"
#include "np_agents.h"

#include <sys/socket.h>

struct listener {
	struct np_peer *g;
	char text[256]; /* every line, each with a '|' */
	size_t lines, longest, close_after;
};

static void on_line(char *line, void *arg)
{
	struct listener *h = arg;
	size_t used = strlen(h->text), len = strlen(line);

	snprintf(h->text + used, sizeof(h->text) - used, "%.40s|", line);
	h->lines++;
	h->longest = len > h->longest ? len : h->longest;
	memset(line, 'x', len); /* it may be changed */
	if (h->lines == h->close_after)
		np_peer_close(h->g);
}

/* Returns the other end, which does not block. */
static int open_pair(struct np_peer *g)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       fd))
		exit(1);
	np_peer_open(g, fd[0]);
	return fd[1];
}

/* Pieces end with '^'; after each the peer is read. '$' ends it all. */
static const struct {
	const char *name, *pieces, *want;
	int stays;
	size_t close_after;
} rows[] = {
	{ "a line", "one\n", "one|", 1 },
	{ "lines at once", "one\ntwo\n\nthree\n", "one|two||three|", 1 },
	{ "a line in pieces", "o^n^e^\n", "one|", 1 },
	{ "the end of one and the begin of another", "on^e\ntw^o\n", "one|two|",
	  1 },
	{ "no line yet", "one", "", 1 },
	{ "its last line, then it goes", "one\n$", "one|", 0 },
	{ "it goes in the middle of a line", "one\ntw$", "one|", 0 },
	{ "it goes at once", "$", "", 0 },
	{ "it is closed for what it says", "one\ntwo\nthree\n", "one|two|", 0,
	  2 },
	{ "it is closed for its last line", "one\n", "one|", 0, 1 },
	{ "it is closed for its first one, more to come", "one\ntw^o\n", "one|",
	  0, 1 },
};

static void send_pieces(struct np_peer *g, int fd, const char *pieces,
			struct listener *h)
{
	for (; *pieces; pieces++) {
		if (*pieces == '^')
			np_peer_read(g, on_line, h);
		else if (*pieces == '$')
			shutdown(fd, SHUT_WR);
		else if (send(fd, pieces, 1, MSG_NOSIGNAL) < 0)
			break; /* closed before its last word */
	}
	np_peer_read(g, on_line, h);
}

T_TEST("each whole line is handed on, however it came")
{
	T_EACH(r, rows) {
		struct np_peer g;
		struct listener h = { &g, "", 0, 0, r->close_after };
		int fd = open_pair(&g);

		send_pieces(&g, fd, r->pieces, &h);
		T_ROW(r->name, !strcmp(h.text, r->want));
		T_ROW(r->name, (g.fd >= 0) == r->stays);
		np_peer_close(&g);
		np_peer_close(&g); /* twice is no harm */
		T_ROW(r->name, g.fd == -1 && !g.in_len && !g.out);
		close(fd);
	}
}

static const struct {
	const char *name;
	size_t len; /* of a line, without its end */
	int ends, stays;
	size_t received;
} lengths[] = {
	{ "the longest that one may publish", 2 * NP_WIRE_MAX_BYTES + 4, 1, 1,
	  1 },
	{ "the longest line", NP_PEER_LINE, 1, 1, 1 },
	{ "the longest line, unfinished", NP_PEER_LINE, 0, 1, 0 },
	{ "a line too long", NP_PEER_LINE + 1, 1, 0, 0 },
	{ "a line too long, unfinished", NP_PEER_LINE + 1, 0, 0, 0 },
	{ "a line much too long", 2 * NP_PEER_LINE, 1, 0, 0 },
};

T_TEST("a line too long ends the connection")
{
	char *text = malloc(2 * NP_PEER_LINE + 1);

	T_EACH(r, lengths) {
		size_t len = r->len;
		struct np_peer g;
		struct listener h = { .g = &g };
		int fd = open_pair(&g);

		memset(text, 'a', len);
		text[len] = '\n';
		T_ROW(r->name, send(fd, text, len + 1 - !r->ends, 0) > 0);
		np_peer_read(&g, on_line, &h);
		np_peer_read(&g, on_line, &h);
		T_ROW(r->name, (g.fd >= 0) == r->stays);
		T_ROW(r->name,
		      h.lines == r->received && (!h.lines || h.longest == len));
		np_peer_close(&g);
		close(fd);
	}
	free(text);
}

T_TEST("one that sends without end is read in turns")
{
	char text[16384];
	struct np_peer g;
	struct listener h = { .g = &g };
	int fd = open_pair(&g);
	size_t sent = 0, before = 0;
	ssize_t put;

	memset(text, '\n', sizeof(text));
	while (sent < 160000 && (put = send(fd, text, sizeof(text), 0)) > 0)
		sent += (size_t)put;
	T_CHECK(sent > 70000);
	for (int i = 0; i < 100 && h.lines < sent; i++) {
		np_peer_read(&g, on_line, &h);
		T_CHECK(h.lines > before && h.lines - before <= 65536);
		before = h.lines;
	}
	T_CHECK(h.lines == sent && g.fd >= 0);
	np_peer_close(&g);
	close(fd);
}

/* What is sent to a slow one arrives whole and in order. */
T_TEST("a slow reader gets everything, in order")
{
	size_t sent = 0, received = 0, wrong = 0;
	struct np_peer g;
	int fd = open_pair(&g);
	char buf[4000];
	ssize_t got;

	while (sent < 100000)
		np_peer_say(&g, t_text("%9zu\n", sent++));
	T_CHECK(g.fd >= 0 && g.out_len > 0); /* more than a socket holds */
	while ((got = recv(fd, buf, sizeof(buf), 0)) > 0) {
		for (ssize_t i = 0; i + 10 <= got; i += 10)
			wrong += strtoul(buf + i, NULL, 10) != received++;
		wrong += got % 10 != 0;
		np_peer_flush(&g);
	}
	T_CHECK(received == sent && !wrong && !g.out_len);
	np_peer_close(&g);
	close(fd);
}

T_TEST("an agent that never reads is disconnected")
{
	char *text = malloc(1u << 20);
	struct np_peer g;
	int fd = open_pair(&g);

	memset(text, 'a', (1u << 20) - 1);
	text[(1u << 20) - 1] = '\0';
	for (int i = 0; i < 3; i++)
		np_peer_say(&g, text);
	T_CHECK(g.fd >= 0);
	for (int i = 0; i < 4; i++)
		np_peer_say(&g, text);
	T_CHECK(g.fd == -1 && !g.out);
	np_peer_say(&g, text); /* nobody there: no harm */
	np_peer_flush(&g);
	free(text);
	close(fd);
}

T_TEST("an agent that disconnects does no harm")
{
	struct np_peer g;
	struct listener h = { .g = &g };

	close(open_pair(&g));
	np_peer_say(&g, "hello\n"); /* SIGPIPE would end this test */
	np_peer_read(&g, on_line, &h);
	T_CHECK(g.fd == -1 && h.lines == 0);
}

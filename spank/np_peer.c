#include "np_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READS_A_TURN 16
#define FIRST_SIZE 4096

void np_peer_open(struct np_peer *g, int fd)
{
	*g = (struct np_peer){ .fd = fd };
}

void np_peer_close(struct np_peer *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
	free(g->out);
	g->out = NULL;
	g->out_len = g->out_size = 0;
	if (g->reading) /* np_peer_read() does the rest */
		return;
	free(g->in);
	g->in = NULL;
	g->in_len = g->in_size = 0;
}

/* Room for more bytes; false: more than most, or out of memory. */
static bool grow(char **buf, size_t *size, size_t need, size_t most)
{
	size_t more = *size ? *size : FIRST_SIZE;
	char *p;

	if (need <= *size)
		return true;
	while (more < need)
		more *= 2;
	p = need <= most ? realloc(*buf, more) : NULL;
	if (!p)
		return false;
	*buf = p;
	*size = more;
	return true;
}

static void take_lines(struct np_peer *g, np_peer_line_f *f, void *arg)
{
	char *start = g->in, *end = g->in + g->in_len, *nl;

	g->reading = true;
	while (g->fd >= 0 && (nl = memchr(start, '\n', (size_t)(end - start)))) {
		*nl = '\0';
		f(start, arg);
		start = nl + 1;
	}
	g->reading = false;
	if (g->fd < 0) {
		np_peer_close(g);
		return;
	}
	g->in_len = (size_t)(end - start);
	memmove(g->in, start, g->in_len);
}

void np_peer_read(struct np_peer *g, np_peer_line_f *f, void *arg)
{
	for (int i = 0; i < READS_A_TURN && g->fd >= 0; i++) {
		size_t room = NP_PEER_LINE + 1 - g->in_len; /* and its end */
		ssize_t got;

		if (room > FIRST_SIZE)
			room = FIRST_SIZE;
		if (!room || !grow(&g->in, &g->in_size, g->in_len + room,
				   NP_PEER_LINE + 1)) {
			np_peer_close(g);
			return;
		}
		got = recv(g->fd, g->in + g->in_len, room, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			np_peer_close(g);
			return;
		}
		g->in_len += (size_t)got;
		take_lines(g, f, arg);
	}
}

void np_peer_flush(struct np_peer *g)
{
	ssize_t put;

	if (g->fd < 0 || !g->out_len)
		return;
	put = send(g->fd, g->out, g->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (put < 0) { /* it does not listen any more, but may still speak */
		g->out_len = 0;
		return;
	}
	g->out_len -= (size_t)put;
	memmove(g->out, g->out + put, g->out_len);
}

void np_peer_say(struct np_peer *g, const char *text)
{
	size_t len = strlen(text);

	if (g->fd < 0)
		return;
	if (!grow(&g->out, &g->out_size, g->out_len + len, NP_PEER_OUT)) {
		np_peer_close(g);
		return;
	}
	memcpy(g->out + g->out_len, text, len);
	g->out_len += len;
	np_peer_flush(g);
}

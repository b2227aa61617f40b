#include "np_peer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READS_A_TURN 16
#define READ_SIZE 4096

void np_peer_open(struct np_peer *g, int fd)
{
	g->fd = fd;
	g->out = NULL;
	g->in_len = g->out_len = g->out_size = 0;
}

void np_peer_close(struct np_peer *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
	free(g->out);
	g->out = NULL;
	g->in_len = g->out_len = g->out_size = 0;
}

static void take_lines(struct np_peer *g, np_peer_line_f *f, void *arg)
{
	char *start = g->in, *end = g->in + g->in_len, *nl;

	while (g->fd >= 0 && (nl = memchr(start, '\n', (size_t)(end - start)))) {
		*nl = '\0';
		f(start, arg);
		start = nl + 1;
	}
	if (g->fd < 0)
		return;
	g->in_len = (size_t)(end - start);
	memmove(g->in, start, g->in_len);
}

void np_peer_read(struct np_peer *g, np_peer_line_f *f, void *arg)
{
	for (int i = 0; i < READS_A_TURN && g->fd >= 0; i++) {
		size_t left = sizeof(g->in) - g->in_len;
		size_t room = left < READ_SIZE ? left : READ_SIZE;
		ssize_t got = room ? recv(g->fd, g->in + g->in_len, room,
					  MSG_DONTWAIT) : 0;

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

/* False: it leaves too much unread, or out of memory. */
static bool make_room(struct np_peer *g, size_t len)
{
	size_t need = g->out_len + len, size = 2 * need;
	char *grown;

	if (need <= g->out_size)
		return true;
	grown = need <= NP_PEER_OUT ? realloc(g->out, size) : NULL;
	if (!grown)
		return false;
	g->out = grown;
	g->out_size = size;
	return true;
}

void np_peer_say(struct np_peer *g, const char *text)
{
	size_t len = strlen(text);

	if (g->fd < 0)
		return;
	if (!make_room(g, len)) {
		np_peer_close(g);
		return;
	}
	memcpy(g->out + g->out_len, text, len);
	g->out_len += len;
	np_peer_flush(g);
}

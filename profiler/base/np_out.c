#include "np_out.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_read.h"
#include "np_text.h"

#define PIECE 8 /* most bytes of a character or of a colour sequence */

struct out {
	int fd;
	bool colours;
	char piece[PIECE]; /* an incomplete character or colour sequence */
	size_t n_piece;
	char *buf; /* output of the current write */
	size_t n;
};

/*
 * Length of a colour sequence, "\033[1m" or "\033[31m"; 0: not a colour
 * sequence; -1: incomplete.
 */
static int colour_len(const char *p, size_t n)
{
	size_t i = 2;

	if (n > 1 && p[1] != '[')
		return 0;
	while (i < n && i < 4 && p[i] >= '0' && p[i] <= '9')
		i++;
	if (i >= n)
		return -1;
	return i > 2 && p[i] == 'm' ? (int)i + 1 : 0;
}

static bool may_pass(const struct out *o, const char *p)
{
	return *p == '\n' || *p == '\r' || (*p == '\033' && o->colours) ||
	       np_text_char_is_plain(p);
}

/* Add one byte, and write out what is complete. */
static void put_byte(struct out *o, char c)
{
	o->piece[o->n_piece++] = c;
	while (o->n_piece) {
		const char *p = o->piece;
		int len = *p == '\033' && o->colours ?
				  colour_len(p, o->n_piece) :
				  np_text_char_len(p, o->n_piece);
		size_t used = len ? (size_t)len : 1;

		if (len < 0)
			return;
		if (len && may_pass(o, p)) {
			memcpy(o->buf + o->n, p, used);
			o->n += used;
		} else {
			o->buf[o->n++] = '?';
		}
		o->n_piece -= used;
		memmove(o->piece, o->piece + used, o->n_piece);
	}
}

/*
 * Length of the beginning of the text that is plain ASCII, as nearly all of it
 * is. A shortcut.
 */
static size_t plain_prefix(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len &&
	       ((text[n] >= ' ' && text[n] <= '~') || text[n] == '\n'))
		n++;
	return n;
}

static ssize_t write_out(void *cookie, const char *text, size_t len)
{
	struct out *o = cookie;
	int rc;

	o->buf = malloc(len + PIECE);
	if (!o->buf)
		return 0;
	o->n = 0;
	for (size_t i = 0, n; i < len; i += n + 1) {
		n = o->n_piece ? 0 : plain_prefix(text + i, len - i);
		memcpy(o->buf + o->n, text + i, n);
		o->n += n;
		if (i + n < len)
			put_byte(o, text[i + n]);
	}
	rc = np_write_all(o->fd, o->buf, o->n);
	free(o->buf);
	return rc ? 0 : (ssize_t)len; /* errno has the reason */
}

static int close_out(void *cookie)
{
	free(cookie);
	return 0;
}

static FILE *open_as(struct out *o, int fd, bool colours,
		     cookie_close_function_t *close)
{
	const cookie_io_functions_t io = { .write = write_out, .close = close };

	*o = (struct out){ .fd = fd, .colours = colours };
	return fopencookie(o, "w", io);
}

FILE *np_out_open(int fd, bool colours)
{
	struct out *o = malloc(sizeof(*o));
	FILE *f = o ? open_as(o, fd, colours, close_out) : NULL;

	if (!f)
		free(o);
	return f;
}

/* These streams are never closed; their memory is static. */
static FILE *filter(struct out *o, FILE *f, int fd, int mode)
{
	FILE *p = open_as(o, fd, isatty(fd), NULL);

	if (!p)
		return f;
	setvbuf(p, NULL, mode, 0);
	return p;
}

void np_out_plain(void)
{
	static struct out out, err;

	stdout = filter(&out, stdout, STDOUT_FILENO,
			isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	stderr = filter(&err, stderr, STDERR_FILENO, _IONBF);
}

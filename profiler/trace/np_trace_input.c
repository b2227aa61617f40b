#include "np_trace_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_array.h"

#define PIECE 65536

int np_input_open(struct np_input *in, const char *path, struct np_err *err)
{
	struct stat st;

	*in = (struct np_input){ .fd = open(path, O_RDONLY | O_CLOEXEC |
					    O_NONBLOCK | O_NOCTTY) };
	if (in->fd < 0)
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(in->fd, &st) || !S_ISREG(st.st_mode)) {
		close(in->fd);
		return np_errf(err, -EINVAL, "%s: expected a regular file",
			       path);
	}
	in->size = (uint64_t)st.st_size;
	in->path = strdup(path);
	in->buf = malloc(PIECE);
	in->at = in->end = in->buf;
	if (in->path && in->buf)
		return 0;
	np_input_close(in);
	return np_errf(err, -ENOMEM, "out of memory");
}

void np_input_close(struct np_input *in)
{
	if (in->buf || in->path)
		close(in->fd);
	free(in->path);
	free(in->buf);
	*in = (struct np_input){ .fd = -1 };
}

void np_input_seek(struct np_input *in, uint64_t offset)
{
	in->at = in->end = in->buf;
	in->offset = offset;
	in->error = 0;
}

bool np_input_more(struct np_input *in)
{
	ssize_t n;

	do {
		n = pread(in->fd, in->buf, PIECE, (off_t)in->offset);
	} while (n < 0 && errno == EINTR);
	in->at = in->end = in->buf;
	if (n < 0)
		in->error = -errno;
	if (n <= 0)
		return false;
	in->end += n;
	in->offset += (uint64_t)n;
	return true;
}

int np_input_line(struct np_input *in, char **line, size_t *room)
{
	size_t len = 0;

	if (in->at == in->end && !np_input_more(in))
		return in->error;
	for (;;) {
		size_t left = (size_t)(in->end - in->at);
		uint8_t *stop = memchr(in->at, '\n', left);
		size_t n = stop ? (size_t)(stop - in->at) : left;

		if (len + n > NP_INPUT_LINE)
			return -EFBIG;
		if (np_array_room(line, room, len + n + 1, 1))
			return -ENOMEM;
		memcpy(*line + len, in->at, n);
		len += n;
		in->at += n + (stop != NULL);
		if (stop || !np_input_more(in))
			break;
	}
	(*line)[len] = '\0';
	return in->error ? in->error : 1;
}

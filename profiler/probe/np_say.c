#include "np_say.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* A pipe that poll() calls writable takes PIPE_BUF bytes, more than a line. */
static int has_room(const struct np_say *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };
	int rc;

	do
		rc = poll(&p, 1, s->wait_ms);
	while (rc < 0 && errno == EINTR);
	return rc > 0;
}

int np_say(struct np_say *s, const struct np_report *r)
{
	char line[NP_REPORT_LINE];
	int len = np_report_format(r, line);
	ssize_t put;

	if (len < 0)
		return len;
	if (!has_room(s)) {
		s->dropped++;
		return -EAGAIN;
	}
	do
		put = write(s->fd, line, (size_t)len);
	while (put < 0 && errno == EINTR);
	return put < 0 ? -errno : 0;
}

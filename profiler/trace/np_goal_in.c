#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_goal_text.h"
#include "np_read.h"

#define ROOM (1u << 16)

int np_goal_in_open(struct np_goal_in *in, int fd, const char *name,
		    struct np_err *err)
{
	*in = (struct np_goal_in){ .fd = fd, .name = name };
	in->buf = malloc(ROOM + 1);
	if (!in->buf)
		return np_errf(err, -ENOMEM, "%s: no memory to read", name);
	in->buf[0] = '\0';
	return np_goal_in_fill(in, ROOM, err);
}

void np_goal_in_close(struct np_goal_in *in)
{
	free(in->buf);
}

int np_goal_in_fill(struct np_goal_in *in, size_t n, struct np_err *err)
{
	ssize_t got;

	if (in->over || in->end - in->at >= n)
		return 0;
	memmove(in->buf, in->buf + in->at, in->end - in->at);
	in->base += in->at;
	in->end -= in->at;
	in->at = 0;
	got = np_read_up_to(in->fd, in->buf + in->end, ROOM - in->end);
	if (got < 0)
		return np_errf(err, (int)got, "%s: %s", in->name,
			       strerror((int)-got));
	in->over = (size_t)got < ROOM - in->end;
	in->end += (size_t)got;
	in->buf[in->end] = '\0';
	return 0;
}

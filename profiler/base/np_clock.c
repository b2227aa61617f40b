#include "np_clock.h"

#include <math.h>
#include <poll.h>
#include <time.h>

static double now_sec(const struct np_clock *c)
{
	(void)c;
	return np_mono_sec();
}

/* ppoll() and not poll(): a millisecond is ten times what we wait for. */
static void wait(const struct np_clock *c, int fd, double until_sec)
{
	struct pollfd fds[2] = {
		{ .fd = c->attention_fd, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};
	double left = until_sec - now_sec(c);
	struct timespec ts;

	if (left <= 0)
		return;
	if (left > 86400)
		left = 86400;
	ts.tv_sec = (time_t)floor(left);
	ts.tv_nsec = (long)((left - floor(left)) * 1e9);
	ppoll(fds, 2, &ts, NULL);
}

void np_clock_init(struct np_clock *c, int attention_fd)
{
	*c = (struct np_clock){ now_sec, wait, attention_fd };
}

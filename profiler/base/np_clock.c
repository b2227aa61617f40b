#include "np_clock.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- the real clock ---- */

static double now_sec(const struct np_clock *c)
{
	(void)c;
	return np_mono_sec();
}

/*
 * ppoll(), because a millisecond, the unit of poll(), is ten times as long as
 * the times waited for.
 */
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

/* ---- being asked to stop ---- */

static const int signals[] = { SIGUSR1, SIGTERM, SIGINT };
static volatile sig_atomic_t requested, stop_at_next_poll;
static int stop_fd = -1;

static void on_signal(int sig)
{
	(void)sig;
	if (!stop_at_next_poll)
		_exit(0);
	np_stop_request();
}

void np_stop_request(void)
{
	int saved = errno;

	requested = 1;
	if (stop_fd >= 0)
		eventfd_write(stop_fd, 1);
	errno = saved;
}

int np_stop_init(struct np_err *err)
{
	struct sigaction act = { .sa_handler = on_signal };

	requested = stop_at_next_poll = 0;
	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0)
		return np_errf(err, -errno, "eventfd: %s", strerror(errno));
	for (size_t i = 0; i < NP_ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

void np_stop_on_signal(void)
{
	stop_at_next_poll = 1;
}

bool np_stop_requested(void)
{
	return requested;
}

int np_stop_fd(void)
{
	return stop_fd;
}

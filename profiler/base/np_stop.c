#include "np_stop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const int signals[] = { SIGUSR1, SIGTERM, SIGINT };
static volatile sig_atomic_t asked, deferred;
static int fd = -1;

static void on_signal(int sig)
{
	(void)sig;
	if (!deferred)
		_exit(0);
	np_stop_ask();
}

void np_stop_ask(void)
{
	int saved = errno;

	asked = 1;
	if (fd >= 0)
		eventfd_write(fd, 1);
	errno = saved;
}

int np_stop_init(struct np_err *err)
{
	struct sigaction act = { .sa_handler = on_signal };

	asked = deferred = 0;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return np_errf(err, -errno, "eventfd: %s", strerror(errno));
	for (size_t i = 0; i < NP_ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

void np_stop_defer(void)
{
	deferred = 1;
}

bool np_stop_asked(void)
{
	return asked;
}

int np_stop_fd(void)
{
	return fd;
}

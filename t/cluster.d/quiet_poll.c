/*
 * LD_PRELOAD for MPI programs on machines with fewer cores than ranks: after
 * a run of polls with a zero timeout that found nothing, the next one waits
 * in the kernel, for a bounded time, instead of returning at once.  A rank
 * that waits for a message then leaves the core to others, and the network,
 * not the processor, decides how fast the program is.
 *
 * A progress engine may poll several sources in turn; the bound is what a
 * message on another source can be late, so it stays near a timer tick.
 * Counters are per thread: a busy thread does not reset an idle one.
 */
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>

#define QUIET_AFTER 12	 /* empty polls in a row */
#define QUIET_WAIT_MS 1	 /* the most that one poll waits */

typedef int poll_fn(struct pollfd *, nfds_t, int);
typedef int epoll_wait_fn(int, struct epoll_event *, int, int);

static __thread unsigned int empty_polls;

static int timeout_of(int timeout_ms)
{
	if (timeout_ms != 0 || empty_polls < QUIET_AFTER)
		return timeout_ms;
	return QUIET_WAIT_MS;
}

/* Only polls that did not want to wait count as a spin. */
static void note(int timeout_ms, int found)
{
	if (timeout_ms != 0 || found != 0)
		empty_polls = 0;
	else if (empty_polls < QUIET_AFTER)
		empty_polls++;
}

/* Concurrent first calls store the same pointer. */
static void *next(void **slot, const char *name)
{
	void *f = __atomic_load_n(slot, __ATOMIC_RELAXED);

	if (!f) {
		f = dlsym(RTLD_NEXT, name);
		__atomic_store_n(slot, f, __ATOMIC_RELAXED);
	}
	return f;
}

__attribute__((visibility("default")))
int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	static void *slot;
	poll_fn *real = (poll_fn *)next(&slot, "poll");
	int rc = real(fds, n, timeout_of(timeout_ms));

	note(timeout_ms, rc);
	return rc;
}

__attribute__((visibility("default")))
int epoll_wait(int fd, struct epoll_event *ev, int n, int timeout_ms)
{
	static void *slot;
	epoll_wait_fn *real = (epoll_wait_fn *)next(&slot, "epoll_wait");
	int rc = real(fd, ev, n, timeout_of(timeout_ms));

	note(timeout_ms, rc);
	return rc;
}

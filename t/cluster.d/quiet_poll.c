/*
 * LD_PRELOAD for MPI programs on machines with fewer cores than ranks: after
 * a run of polls with a zero timeout that found nothing, one waits in the
 * kernel, for a bounded time, instead of returning at once. A rank that waits
 * for a message then leaves the core to others, and the network, not the
 * processor, decides how fast the program is.
 *
 * After such a wait the count starts anew: a program that calls MPI_Test
 * between pieces of work polls as often as one that waits, and would be held
 * up by each call. 32 and 1 ms, measured with Open MPI's four ranks on two
 * cores: lammps as fast as with any other choice, at 9 % of a core per rank
 * (13 % with 64); hpcc's random access, all MPI_Test, takes 1.0 s (2.8 s with
 * 12, 34 s if the count is kept, 0.5 s if nothing ever waits).
 *
 * A progress engine may poll several sources in turn, and what arrives on
 * another one than that which waits is late by at most the bound. Counters
 * are per thread, so that a busy thread does not keep an idle one spinning.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>

#define QUIET_AFTER 32	/* empty polls in a row */
#define QUIET_WAIT_MS 1 /* the most that one poll waits */

typedef int poll_fn(struct pollfd *, nfds_t, int);
typedef int epoll_wait_fn(int, struct epoll_event *, int, int);

static __thread unsigned int empty_polls;

/* Does this poll wait, although it was asked not to? */
static bool waits(int timeout_ms)
{
	return timeout_ms == 0 && empty_polls >= QUIET_AFTER;
}

/* Only polls that did not want to wait, and did not, count as a spin. */
static int note(int timeout_ms, bool waited, int rc)
{
	if (timeout_ms != 0 || rc != 0 || waited)
		empty_polls = 0;
	else
		empty_polls++;
	/* A poll that does not wait is never interrupted: so say "nothing". */
	return waited && rc < 0 && errno == EINTR ? 0 : rc;
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

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	static void *slot;
	poll_fn *real = (poll_fn *)next(&slot, "poll");
	bool wait = waits(timeout_ms);

	return note(timeout_ms, wait,
		    real(fds, n, wait ? QUIET_WAIT_MS : timeout_ms));
}

int epoll_wait(int fd, struct epoll_event *ev, int n, int timeout_ms)
{
	static void *slot;
	epoll_wait_fn *real = (epoll_wait_fn *)next(&slot, "epoll_wait");
	bool wait = waits(timeout_ms);

	return note(timeout_ms, wait,
		    real(fd, ev, n, wait ? QUIET_WAIT_MS : timeout_ms));
}

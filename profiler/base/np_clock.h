/*
 * Time, waiting, and being asked to stop.
 *
 * struct np_clock is a table of functions, so that the unit tests can run the
 * measurement engines on a simulated clock.
 */
#ifndef NP_CLOCK_H
#define NP_CLOCK_H

#include <poll.h>
#include <stdbool.h>
#include <time.h>

#include "np_err.h"

static inline double np_clock_sec(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds since an arbitrary moment; never goes back. */
static inline double np_mono_sec(void)
{
	return np_clock_sec(CLOCK_MONOTONIC);
}

/* Seconds since 1970. */
static inline double np_date_sec(void)
{
	return np_clock_sec(CLOCK_REALTIME);
}

/* The time sec seconds from now, on CLOCK_MONOTONIC. */
static inline struct timespec np_mono_after(double sec)
{
	double at = np_mono_sec() + sec;
	time_t whole = (time_t)at;

	return (struct timespec){ whole, (long)(1e9 * (at - (double)whole)) };
}

/*
 * Wait for events of poll(2) on a descriptor until a time of np_mono_sec().
 * False: there was none.
 */
static inline bool np_fd_wait(int fd, short events, double until_sec)
{
	struct pollfd p = { .fd = fd, .events = events };
	double left;

	while ((left = until_sec - np_mono_sec()) > 0)
		if (poll(&p, 1, (int)(left * 1000) + 1) > 0)
			return true;
	return false;
}

struct np_clock {
	/* Seconds since an arbitrary moment; never goes back. */
	double (*now_sec)(const struct np_clock *c);
	/*
	 * Sleep until that time (INFINITY: forever), until fd is readable (-1:
	 * none), or until attention_fd is. May return early for no reason.
	 */
	void (*wait)(const struct np_clock *c, int fd, double until_sec);
	int attention_fd; /* of the real clock: ends a wait; or -1 */
};

/*
 * The real clock: CLOCK_MONOTONIC and ppoll(2). attention_fd: np_stop_fd(), or
 * -1.
 */
void np_clock_init(struct np_clock *c, int attention_fd);

/* ---- being asked to stop, by SIGUSR1, SIGTERM or SIGINT ---- */

/*
 * Install the signal handlers; SIGPIPE is ignored. Until np_stop_on_signal() a
 * signal ends the process at once with exit code 0. Nothing is lost by that,
 * and the process may be stuck in a library that waits for other processes.
 * Returns 0 or -errno with err.
 */
int np_stop_init(struct np_err *err);

/* From now on a signal only makes np_stop_requested() true. */
void np_stop_on_signal(void);
bool np_stop_requested(void);

/* Stop as if a signal had arrived. */
void np_stop_request(void);

/* Becomes readable once the process is asked to stop: for np_clock_init(). */
int np_stop_fd(void);

#endif

/*
 * Time, and waiting for it, as a table, so that tests can run the engines on
 * a clock of their own.
 */
#ifndef NP_CLOCK_H
#define NP_CLOCK_H

#include <time.h>

static inline double np_clock_sec(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds since an arbitrary start; never goes back. */
static inline double np_mono_sec(void)
{
	return np_clock_sec(CLOCK_MONOTONIC);
}

/* Seconds since 1970. */
static inline double np_date_sec(void)
{
	return np_clock_sec(CLOCK_REALTIME);
}

/* That clock's, so long from now. */
static inline struct timespec np_mono_after(double sec)
{
	double at = np_mono_sec() + sec;
	time_t whole = (time_t)at;

	return (struct timespec){ whole, (long)(1e9 * (at - (double)whole)) };
}

struct np_clock {
	/* Seconds since an arbitrary start; never goes back. */
	double (*now_sec)(const struct np_clock *c);
	/*
	 * Sleep until that time (INFINITY: for ever), until fd is readable
	 * (-1: none), or until somebody wants the program's attention.
	 * May return early for no reason.
	 */
	void (*wait)(const struct np_clock *c, int fd, double until_sec);
	int attention_fd; /* of the real clock: readable ends a wait; or -1 */
};

/*
 * The real thing: CLOCK_MONOTONIC and ppoll(2).
 * attention_fd: np_stop_fd(), or -1.
 */
void np_clock_init(struct np_clock *c, int attention_fd);

#endif

/*
 * Time, and waiting for it, as a table, so that tests can run the engines on
 * a clock of their own.
 */
#ifndef NP_CLOCK_H
#define NP_CLOCK_H

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

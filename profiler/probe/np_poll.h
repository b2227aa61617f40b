/*
 * How long to poll for an answer before falling asleep.
 *
 * To fall asleep and be woken costs several microseconds, which matters beside
 * an answer in 2 us and not beside one in 200.  So polls are a little longer
 * than the fastest answer that a poll has caught; and short where they catch
 * none, as when both processes share a core and one can only answer once the
 * other sleeps.  Now and then a poll is longer, to find out.
 */
#ifndef NP_POLL_H
#define NP_POLL_H

#include <stdbool.h>
#include <stdint.h>

#define NP_POLL_LEAST_SEC 20e-6
#define NP_POLL_MOST_SEC 100e-6

struct np_poll { /* zero: nothing known yet */
	double fastest_sec; /* 0: none caught */
	uint32_t tries;
};

/* How long to poll: from NP_POLL_LEAST_SEC to NP_POLL_MOST_SEC. */
double np_poll_sec(const struct np_poll *p);

/*
 * The same where a long poll does no harm, as nothing is being timed: the
 * first ones and every 16th are NP_POLL_MOST_SEC.
 */
double np_poll_try_sec(struct np_poll *p);

/* A poll caught an answer that came after answer_sec. */
void np_poll_caught(struct np_poll *p, double answer_sec);

#endif

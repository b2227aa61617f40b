/*
 * A queue of timers (heap); among equal times, the one set first comes first.
 */
#ifndef NP_TIMERS_H
#define NP_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_timer {
	double at_sec;
	uint64_t order; /* set by np_timers_set() */
	size_t id;	/* the caller's */
};

struct np_timers { /* initialise with zero */
	struct np_timer *t;
	size_t n, room;
	uint64_t set;
};

/* Returns 0 or -ENOMEM. */
int np_timers_set(struct np_timers *h, double at_sec, size_t id);

/* INFINITY if the queue is empty. */
double np_timers_next(const struct np_timers *h);

/* Removes a timer that is due at now_sec. Returns false if there is none. */
bool np_timers_due(struct np_timers *h, double now_sec, size_t *id);

void np_timers_free(struct np_timers *h);

#endif

/* What is to happen when: a heap; of equal times, the first that was set. */
#ifndef NP_TIMERS_H
#define NP_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_timer {
	double at_sec;
	uint64_t order; /* np_timers_set() gives it */
	size_t id;	/* the caller's */
};

struct np_timers { /* zero-initialised is empty */
	struct np_timer *t;
	size_t n, room;
	uint64_t set;
};

/* Returns 0 or -ENOMEM. */
int np_timers_set(struct np_timers *h, double at_sec, size_t id);

/* INFINITY if there is none. */
double np_timers_next(const struct np_timers *h);

/* One that is due by now_sec; false: none is. */
bool np_timers_due(struct np_timers *h, double now_sec, size_t *id);

void np_timers_free(struct np_timers *h);

#endif

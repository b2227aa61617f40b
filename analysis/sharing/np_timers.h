/*
 * A queue of timers, for simulations: the earliest is due first, and of those
 * for the same time the one that was set first.
 */
#ifndef NP_TIMERS_H
#define NP_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_timer {
	double at_sec;	/* on the caller's clock */
	uint64_t order; /* of setting; decides between equal times */
	size_t id;	/* chosen by the caller */
};

struct np_timers {		/* initialise with zero */
	struct np_timer *timer; /* a binary heap, earliest first */
	size_t n, capacity;
	uint64_t n_set; /* timers set so far */
};

/* Returns 0 or -ENOMEM. Free with np_timers_free(). */
int np_timers_set(struct np_timers *timers, double at_sec, size_t id);

/* Time of the earliest timer; INFINITY if there is none. */
double np_timers_next(const struct np_timers *timers);

/*
 * Removes the earliest timer if it is due at now_sec, and sets *id to its id.
 * Returns false if none is due.
 */
bool np_timers_due(struct np_timers *timers, double now_sec, size_t *id);

void np_timers_free(struct np_timers *timers);

#endif

/*
 * One round of the thread: look, decide, write, tell.  And all that the thread
 * keeps from one round to the next.
 */
#ifndef NP_CYCLE_H
#define NP_CYCLE_H

#include <stdbool.h>

#include "np_shared.h"

struct np_cycle;

/* shared is borrowed.  Returns 0 or -ENOMEM. */
int np_cycle_new(struct np_shared *shared, struct np_cycle **out);
void np_cycle_free(struct np_cycle *c); /* NULL is allowed */

struct np_cycle_next {
	double rest_sec; /* at least until the next round (np_gap_sec()) */
	double wait_sec; /* and then, if nobody wakes the thread */
};

/* One round.  go_on() is asked before every update. */
void np_cycle_run(struct np_cycle *c, bool (*go_on)(void *arg), void *arg,
		  struct np_cycle_next *next);

/*
 * How long the thread rests between two rounds, however often it is woken.
 *
 * A round takes the longer the more jobs Slurm has, and part of it holds
 * Slurm's locks.  So it works for a twentieth of the time; but it does not rest
 * longer than PlacementInterval for that, as users wait for it, and never less
 * than it worked.  Work is what slurmctld may feel, not the writing of files
 * afterwards: decisions need not age because a disk is slow.
 */

#define NP_GAP_LEAST_SEC 0.2

double np_gap_sec(double took_sec, double interval_sec);

#endif

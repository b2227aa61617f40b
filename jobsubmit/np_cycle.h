/*
 * One scheduling pass of the placement thread: read the store and Slurm's
 * state, decide, update jobs, write state.json. Holds all that the thread keeps
 * from one pass to the next.
 */
#ifndef NP_CYCLE_H
#define NP_CYCLE_H

#include <stdbool.h>

#include "np_shared.h"

struct np_cycle;

/* shared is borrowed. Returns 0 or -ENOMEM. */
int np_cycle_new(struct np_shared *shared, struct np_cycle **out);
void np_cycle_free(struct np_cycle *c); /* NULL is allowed */

/* When to start the next pass. */
struct np_cycle_next {
	double rest_sec; /* not before this time has passed; np_gap_sec() */
	double wait_sec; /* then after this time, or when the thread is woken */
};

/*
 * Make one pass. go_on(arg) is called before every update of a job; once it
 * returns false the pass ends early.
 */
void np_cycle_run(struct np_cycle *c, bool (*go_on)(void *arg), void *arg,
		  struct np_cycle_next *next);

/*
 * Minimum time between two passes, seconds, however often the thread is woken.
 *
 * The more jobs Slurm has, the longer a pass takes, and part of it holds
 * Slurm's locks. The thread therefore works at most a twentieth of the time.
 * But it never rests longer than PlacementInterval, as users wait for its
 * decisions, and never shorter than the pass took. took_sec counts only the
 * work that slurmctld may notice, not the writing of files afterwards, so that
 * a slow disk does not make decisions out of date.
 */

#define NP_GAP_LEAST_SEC 0.2

double np_gap_sec(double took_sec, double interval_sec);

#endif

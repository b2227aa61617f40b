/*
 * The placer: makes the scheduling passes of the placement thread, and holds
 * all that the thread keeps from one pass to the next. A pass reads the store
 * and Slurm's state, decides, updates jobs, and writes state.json.
 */
#ifndef NP_PLACER_H
#define NP_PLACER_H

#include <stdbool.h>

#include "np_shared.h"

struct np_placer;

/* shared is borrowed. Returns 0 or -ENOMEM. */
int np_placer_new(struct np_shared *shared, struct np_placer **out);
void np_placer_free(struct np_placer *c); /* NULL is allowed */

/* When to start the next pass. */
struct np_placer_next {
	double rest_sec; /* not before this time; np_placer_gap_sec() */
	double wait_sec; /* after it, at this time or when woken */
};

/*
 * Make one pass. go_on(arg) is called before every update of a job; once it
 * returns false the pass ends early.
 */
void np_placer_run(struct np_placer *c, bool (*go_on)(void *arg), void *arg,
		   struct np_placer_next *next);

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

#define NP_PLACER_LEAST_GAP_SEC 0.2

double np_placer_gap_sec(double took_sec, double interval_sec);

#endif

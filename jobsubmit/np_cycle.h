/*
 * One round of the thread: look, decide, write, tell.  And all that the thread
 * keeps from one round to the next.
 */
#ifndef NP_CYCLE_H
#define NP_CYCLE_H

#include <stdbool.h>

#include "np_desk.h"

struct np_cycle;

/* desk is borrowed.  Returns 0 or -ENOMEM. */
int np_cycle_new(struct np_desk *desk, struct np_cycle **out);
void np_cycle_free(struct np_cycle *c); /* NULL is allowed */

/*
 * One round.  go_on() is asked before every update.  *next_sec: when to come
 * again if nobody wakes the thread.
 */
void np_cycle_run(struct np_cycle *c, bool (*go_on)(void *arg), void *arg,
		  double *next_sec);

#endif

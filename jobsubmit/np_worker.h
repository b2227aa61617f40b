/*
 * A thread for what may hang, as a file system does whose server went: who
 * gives it something to do waits for so long and no longer.
 */
#ifndef NP_WORKER_H
#define NP_WORKER_H

#include <stdbool.h>

struct np_worker;

/* Something to do. */
struct np_work {
	void (*run)(void *arg);
	/* Called after run, in the thread, if nobody waited for it; or NULL. */
	void (*drop)(void *arg);
	void *arg;
};

/* Returns 0, -ENOMEM or what pthread_create() says. */
int np_worker_new(struct np_worker **out);

/*
 * The thread ends when it has nothing to do any more; nobody waits for it.  It
 * then calls leave, which frees what its work used.  If c is NULL, leave is
 * called at once.
 */
void np_worker_free(struct np_worker *c, void (*leave)(void *arg), void *arg);

/*
 * Returns true when it is done within sec.  Else it goes on, and arg is the
 * thread's: until np_worker_busy_sec() is 0 there is nothing else it can do.
 */
bool np_worker_do(struct np_worker *c, const struct np_work *e, double sec);

/* For how long it has been at what nobody waits for any more; 0: it is not. */
double np_worker_busy_sec(struct np_worker *c);

/* A thread that nobody joins, within slurmctld. */

/* Returns 0 or what pthread_create() says, negated. */
int np_thread_start(void *(*run)(void *arg), void *arg);

#endif

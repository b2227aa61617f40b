/*
 * A thread for what may hang, as a file system does whose server went: who
 * gives it something to do waits for so long and no longer.
 */
#ifndef NP_CLERK_H
#define NP_CLERK_H

#include <stdbool.h>

struct np_clerk;

/* Something to do. */
struct np_errand {
	void (*run)(void *arg);
	/* Called after run, in the thread, if nobody waited for it; or NULL. */
	void (*drop)(void *arg);
	void *arg;
};

/* Returns 0, -ENOMEM or what pthread_create() says. */
int np_clerk_new(struct np_clerk **out);

/*
 * The thread ends when it has nothing to do any more; nobody waits for it.
 * NULL is allowed.
 */
void np_clerk_free(struct np_clerk *c);

/*
 * Returns true when it is done within sec.  Else it goes on, and arg is the
 * thread's: until np_clerk_busy_sec() is 0 there is nothing else it can do.
 */
bool np_clerk_do(struct np_clerk *c, const struct np_errand *e, double sec);

/* For how long it has been at what nobody waits for any more; 0: it is not. */
double np_clerk_busy_sec(struct np_clerk *c);

#endif

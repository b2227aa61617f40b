/* A thread that nobody joins, within slurmctld. */
#ifndef NP_THREAD_H
#define NP_THREAD_H

/* Returns 0 or what pthread_create() says, negated. */
int np_thread_start(void *(*run)(void *arg), void *arg);

#endif

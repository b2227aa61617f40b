/* Threads that leave all signals to the other threads of their program. */
#ifndef NP_THREAD_H
#define NP_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Start a thread in which all signals are blocked. stack_bytes: size of its
 * stack; 0: the usual. *thread: to be joined; NULL: it is detached. Returns 0
 * or an error of pthread_create(), negated.
 */
int np_thread_start(void *(*run)(void *arg), void *arg, size_t stack_bytes,
		    pthread_t *thread);

#endif

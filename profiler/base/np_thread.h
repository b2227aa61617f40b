/*
 * Threads that leave all signals, and if they wish all files, to the other
 * threads of their program.
 */
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

/*
 * Give the calling thread a table of file descriptors of its own, in which only
 * 0, 1 and 2 are open, on /dev/null. A thread in uninterruptible sleep then
 * keeps no socket, pipe or lock of the program when that ends, even if it is
 * killed. From then on the thread must not use descriptors of the program, nor
 * functions that cache descriptors for all threads, such as those for users and
 * groups and those that log. Returns 0, or -errno if the thread keeps the
 * descriptors of the program.
 */
int np_thread_own_files(void);

#endif

/*
 * How many MPI calls a process has made, read from outside while it runs.
 *
 * What traces the process counts them in a page of memory that it shares under
 * a name (memfd_create(2)), which others of the same user find among its open
 * files.  It is gone with the process, however that ends.
 */
#ifndef NP_CALLS_H
#define NP_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The caller's own count, which is 0: for one thread at a time.  NULL: there
 * cannot be any.
 */
volatile uint64_t *np_calls_new(void);

/* The same page is another process's after fork(2): let go of it. */
void np_calls_forget(volatile uint64_t *calls);

/*
 * The count of a process, or of the first of those that it has started.  False:
 * none of them has one, or it must not be looked at.
 */
bool np_calls_find(pid_t pid, uint64_t *calls);

#endif

/*
 * Count of the MPI calls of a process, read by another process while it runs.
 *
 * The tracing library in the process counts the calls in a page of memory that
 * it shares under a name (memfd_create(2)). Other processes of the same user
 * find the page among its open files. It disappears with the process, however
 * that ends.
 */
#ifndef NP_CALLS_H
#define NP_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Create the count of this process, starting at 0, to be incremented by one
 * thread at a time. NULL: not possible.
 */
volatile uint64_t *np_calls_new(void);

/* Call this in a child after fork(2): the page counts its parent's calls. */
void np_calls_forget(volatile uint64_t *calls);

/*
 * Read the count of a process, or else of the first of its descendants that has
 * one. False: none has a count, or they may not be inspected.
 */
bool np_calls_find(pid_t pid, uint64_t *calls);

#endif

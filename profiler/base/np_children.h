/* The children of a process, as Linux lists them (CONFIG_PROC_CHILDREN). */
#ifndef NP_CHILDREN_H
#define NP_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Asks about one after the other, whichever thread of the process made it,
 * until the answer is true.  Returns that child; 0: there is none, or they
 * are not listed.
 */
pid_t np_children_find(pid_t of, bool (*ask)(pid_t child, void *arg),
		       void *arg);

#define NP_CHILDREN_MOST 64 /* a script's, or those of mpirun's daemon */

/*
 * The same of a process and of all that it has started, nearest first, of which
 * no more than NP_CHILDREN_MOST are asked about.
 */
pid_t np_children_all(pid_t first, bool (*ask)(pid_t pid, void *arg), void *arg);

#endif

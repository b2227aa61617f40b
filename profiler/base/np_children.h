/*
 * Descendants of a process, as Linux lists them (CONFIG_PROC_CHILDREN), and
 * their states.
 */
#ifndef NP_CHILDREN_H
#define NP_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The state of a process as in /proc/PID/stat, such as 'R' or 'Z', and its
 * parent; '\0': unknown.
 */
char np_process_state(pid_t pid, pid_t *parent);

/*
 * Call is_it() for the children of a process, whichever of its threads started
 * them, until it returns true. Returns that child; 0: there is none, or
 * children are not listed.
 */
pid_t np_children_find(pid_t of, bool (*is_it)(pid_t child, void *arg),
		       void *arg);

#define NP_CHILDREN_MOST 64 /* enough for a script, or for mpirun's daemon */

/*
 * The same for the process `first` and all its descendants, nearest first.
 * Inspects at most NP_CHILDREN_MOST processes.
 */
pid_t np_children_all(pid_t first, bool (*is_it)(pid_t pid, void *arg),
		      void *arg);

#endif

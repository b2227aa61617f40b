/*
 * Whether a step's tasks on this node still run.  Somebody who is neither
 * their parent nor their child can watch them end, and at once.
 */
#ifndef NP_WATCH_H
#define NP_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

struct np_watch {
	pid_t task, parent;
	int fd; /* of the task; -1: none (Linux before 5.3), look now and then */
};

/*
 * task 0: nobody is watched, and it is never over.  parent 0: the task's end is
 * all.
 */
void np_watch_open(struct np_watch *w, pid_t task, pid_t parent);

/*
 * The task has ended, and so have all other children of its parent, of which
 * one is watched from now on.  For poll(2): fd is readable when to ask.  Where
 * Linux does not list children (CONFIG_PROC_CHILDREN) the task's end is all.
 */
bool np_watch_over(struct np_watch *w);

#endif

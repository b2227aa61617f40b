/*
 * Watches whether a step's tasks on this node still run, and notices at once
 * when they end, in a process that is neither their parent nor their child.
 */
#ifndef NP_WATCH_H
#define NP_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

struct np_watch {
	pid_t task, parent;
	int fd; /* pidfd of the task; -1: none (Linux before 5.3), so poll */
};

/*
 * Begin to watch.  task 0: nothing is watched, and it never ends.  parent 0:
 * only the task is watched.
 */
void np_watch_open(struct np_watch *watch, pid_t task, pid_t parent);

/*
 * Return whether the task and all other children of its parent have ended.
 * While any of them runs, that one is watched.  For poll(2): fd becomes
 * readable when it is time to ask.  Where Linux does not list children
 * (CONFIG_PROC_CHILDREN), only the task counts.
 */
bool np_watch_over(struct np_watch *watch);

#endif

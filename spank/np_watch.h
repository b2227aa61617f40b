/*
 * Lets a process that is not the parent of a step's tasks notice at once when
 * all of those on this node have ended.
 */
#ifndef NP_WATCH_H
#define NP_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

struct np_watch {
	pid_t task;   /* the task being watched; 0 if there is none */
	pid_t parent; /* of all tasks, i.e. slurmstepd; 0 if only task counts */
	/*
	 * pidfd of the task, which becomes readable when it ends; then call
	 * np_watch_poll(). It is -1 if there is no pidfd (Linux before 5.3);
	 * then call np_watch_poll() from time to time.
	 */
	int fd;
};

/*
 * Begin to watch a task and, unless parent is 0, all other children of parent.
 * If task is 0, nothing is watched, and np_watch_poll() always returns false.
 * There is no close function: the last pidfd stays open until the process ends.
 */
void np_watch_start(struct np_watch *watch, pid_t task, pid_t parent);

/*
 * Returns whether all tasks have ended. While any task runs, fd refers to a
 * task that is running. Where Linux does not list children
 * (CONFIG_PROC_CHILDREN), only the task given to np_watch_start() counts.
 */
bool np_watch_poll(struct np_watch *watch);

#endif

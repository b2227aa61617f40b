/*
 * Notices at once when the tasks of a step on this node have ended, in a
 * process that is neither their parent nor their child.
 */
#ifndef NP_WATCH_H
#define NP_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

struct np_watch {
	pid_t task;   /* that is watched at present; 0: none */
	pid_t parent; /* of all tasks, i.e. slurmstepd; 0: there is one task */
	/*
	 * pidfd of the task, which becomes readable when it ends: then call
	 * np_watch_all_ended(). -1: there is none (Linux before 5.3), so the
	 * caller has to call it from time to time.
	 */
	int fd;
};

/*
 * Begin to watch a task, and with a parent all its other children, too. parent
 * 0: only the task. task 0: nothing is watched, and nothing ever ends.
 */
void np_watch_open(struct np_watch *watch, pid_t task, pid_t parent);

/*
 * Whether all tasks have ended. While one of them runs, fd is of that one.
 * Where Linux does not list children (CONFIG_PROC_CHILDREN), only the task that
 * was given counts.
 */
bool np_watch_all_ended(struct np_watch *watch);

#endif

/*
 * Detects the end of a step's tasks on this node. One task is watched at a
 * time, through a pidfd. When it ends, another running child of its parent is
 * watched, until there are no more.
 */
#include "np_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "np_children.h"

/* Watch this task from now on, or none if it is 0. */
static void watch_task(struct np_watch *watch, pid_t task)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->task = task;
	watch->fd = task ? (int)syscall(SYS_pidfd_open, task, 0) : -1;
}

void np_watch_start(struct np_watch *watch, pid_t task, pid_t parent)
{
	*watch = (struct np_watch){ .parent = parent, .fd = -1 };
	watch_task(watch, task);
}

/*
 * Whether a child of slurmstepd is a running task. A zombie is not. Nor is the
 * calling process, which is a child of slurmstepd if slurmstepd is a subreaper.
 */
static bool is_running_task(pid_t pid, void *unused)
{
	pid_t parent;
	char state;

	(void)unused;
	if (pid == getpid())
		return false;
	state = np_process_state(pid, &parent);
	return state && state != 'Z' && state != 'X';
}

/* Without a pidfd, a zombie still counts as running until it is reaped. */
static bool has_task_ended(const struct np_watch *watch)
{
	struct pollfd poll_fd = { .fd = watch->fd, .events = POLLIN };

	if (watch->fd >= 0)
		return poll(&poll_fd, 1, 0) > 0;
	return kill(watch->task, 0) && errno == ESRCH;
}

bool np_watch_poll(struct np_watch *watch)
{
	/* The next task may have ended meanwhile, so check it too. */
	while (watch->task && has_task_ended(watch)) {
		pid_t next_task = watch->parent ?
					  np_children_find(watch->parent,
							   is_running_task,
							   NULL) :
					  0;

		if (!next_task)
			return true;
		watch_task(watch, next_task);
	}
	return false;
}

/*
 * Waiting for the end of a step's tasks. One task is watched at a time, by a
 * pidfd. When it ends, another running child of its parent takes its place, so
 * that the step counts as ended only when all its tasks on this node have.
 */
#include "np_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "np_children.h"

/* Watch this task from now on; 0: none. */
static void set_task(struct np_watch *watch, pid_t task)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->task = task;
	watch->fd = task ? (int)syscall(SYS_pidfd_open, task, 0) : -1;
}

void np_watch_open(struct np_watch *watch, pid_t task, pid_t parent)
{
	*watch = (struct np_watch){ .parent = parent, .fd = -1 };
	set_task(watch, task);
}

/*
 * Whether a child of slurmstepd is a running task. A zombie is not, nor is this
 * process itself: where slurmstepd adopts orphans, it is a child as well.
 */
static bool is_running_task(pid_t pid, void *arg)
{
	char path[64], stat[512], state = 'X';
	const char *name_end;
	size_t len;
	FILE *file;

	(void)arg;
	if (pid == getpid())
		return false;
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	len = fread(stat, 1, sizeof(stat) - 1, file);
	fclose(file);
	stat[len] = '\0';
	/* "PID (NAME) STATE ...", where NAME may itself contain ")". */
	name_end = strrchr(stat, ')');
	return name_end && sscanf(name_end + 1, " %c", &state) == 1 &&
	       state != 'Z' && state != 'X';
}

/* Without a pidfd, a zombie still counts as running until it is reaped. */
static bool has_task_ended(const struct np_watch *watch)
{
	struct pollfd pidfd = { .fd = watch->fd, .events = POLLIN };

	if (watch->fd >= 0)
		return poll(&pidfd, 1, 0) > 0;
	return kill(watch->task, 0) && errno == ESRCH;
}

bool np_watch_all_ended(struct np_watch *watch)
{
	/* The task that is found may have ended already: check it as well. */
	while (watch->task && has_task_ended(watch)) {
		pid_t other = watch->parent ?
				      np_children_find(watch->parent,
						       is_running_task, NULL) :
				      0;

		if (!other)
			return true;
		set_task(watch, other);
	}
	return false;
}

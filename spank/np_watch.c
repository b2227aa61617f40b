#include "np_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "np_children.h"

/* Watch another task, or none (0). */
static void follow(struct np_watch *watch, pid_t task)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->task = task;
	watch->fd = task ? (int)syscall(SYS_pidfd_open, task, 0) : -1;
}

void np_watch_open(struct np_watch *watch, pid_t task, pid_t parent)
{
	*watch = (struct np_watch){ .parent = parent, .fd = -1 };
	follow(watch, task);
}

/*
 * Return whether a process runs and is not this one: where slurmstepd adopts
 * orphans, this process is a child of slurmstepd as well.
 */
static bool is_other_task(pid_t pid, void *arg)
{
	char path[64], text[512], state = 'X';
	const char *end;
	size_t got;
	FILE *f;

	(void)arg;
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	f = pid == getpid() ? NULL : fopen(path, "re");
	if (!f)
		return false;
	got = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[got] = '\0';
	end = strrchr(text, ')'); /* end of the name, which may hold anything */
	return end && sscanf(end + 1, " %c", &state) == 1 && state != 'Z' &&
	       state != 'X';
}

static bool has_ended(const struct np_watch *watch)
{
	struct pollfd p = { .fd = watch->fd, .events = POLLIN };

	if (watch->fd >= 0)
		return poll(&p, 1, 0) > 0;
	return kill(watch->task, 0) && errno == ESRCH;
}

bool np_watch_over(struct np_watch *watch)
{
	while (watch->task && has_ended(watch)) {
		pid_t other = watch->parent ?
				      np_children_find(watch->parent,
						       is_other_task, NULL) :
				      0;

		if (!other)
			return true;
		follow(watch, other);
	}
	return false;
}

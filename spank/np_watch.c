#include "np_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "np_children.h"

static void follow(struct np_watch *w, pid_t task)
{
	if (w->fd >= 0)
		close(w->fd);
	w->task = task;
	w->fd = task ? (int)syscall(SYS_pidfd_open, task, 0) : -1;
}

void np_watch_open(struct np_watch *w, pid_t task, pid_t parent)
{
	*w = (struct np_watch){ .parent = parent, .fd = -1 };
	follow(w, task);
}

/*
 * Not this process: where slurmstepd adopts orphans, it is a child of
 * slurmstepd as well.
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

static bool has_ended(const struct np_watch *w)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	if (w->fd >= 0)
		return poll(&p, 1, 0) > 0;
	return kill(w->task, 0) && errno == ESRCH;
}

bool np_watch_over(struct np_watch *w)
{
	while (w->task && has_ended(w)) {
		pid_t other = w->parent ?
				      np_children_find(w->parent, is_other_task,
						       NULL) :
				      0;

		if (!other)
			return true;
		follow(w, other);
	}
	return false;
}

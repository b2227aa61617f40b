#include "np_watch.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* What /proc/PID/stat says; false: it is gone, or a zombie. */
static bool parent_of(const char *pid, long *parent)
{
	char path[64], text[512], state;
	const char *end;
	size_t got;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	got = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[got] = '\0';
	end = strrchr(text, ')'); /* of the name, which may hold anything */
	return end && sscanf(end + 1, " %c %ld", &state, parent) == 2 &&
	       state != 'Z' && state != 'X';
}

/*
 * A child of the parent that lives, or 0.  Where orphans fall to the parent
 * (PR_SET_CHILD_SUBREAPER) we are one ourselves.
 */
static pid_t any_child(const struct np_watch *w)
{
	DIR *proc = opendir("/proc");
	pid_t found = 0, me = getpid();
	struct dirent *d;
	long parent;

	while (proc && !found && (d = readdir(proc))) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0 && pid != me && parent_of(d->d_name, &parent) &&
		    parent == w->parent)
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
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
		pid_t other = any_child(w);

		if (!other)
			return true;
		follow(w, other);
	}
	return false;
}

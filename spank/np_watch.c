#include "np_watch.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
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

static bool lives(long pid)
{
	char path[64], text[512], state = 'X';
	const char *end;
	size_t got;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	got = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[got] = '\0';
	end = strrchr(text, ')'); /* of the name, which may hold anything */
	return end && sscanf(end + 1, " %c", &state) == 1 && state != 'Z' &&
	       state != 'X';
}

/* Where orphans fall to the parent (PR_SET_CHILD_SUBREAPER) we are one. */
static pid_t child_of_thread(pid_t parent, const char *tid)
{
	char path[96];
	pid_t found = 0;
	long pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/children",
		 (long)parent, tid);
	f = fopen(path, "re");
	while (f && !found && fscanf(f, "%ld", &pid) == 1)
		if (pid != getpid() && lives(pid))
			found = (pid_t)pid;
	if (f)
		fclose(f);
	return found;
}

/* A child of the parent, whichever of its threads made it, that lives; or 0. */
static pid_t any_child(const struct np_watch *w)
{
	pid_t found = 0;
	struct dirent *d;
	char path[64];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%ld/task", (long)w->parent);
	threads = opendir(path);
	while (threads && !found && (d = readdir(threads)))
		found = child_of_thread(w->parent, d->d_name);
	if (threads)
		closedir(threads);
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

#include "np_children.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pid_t find_of_thread(const char *path, bool (*is_it)(pid_t, void *),
			    void *arg)
{
	FILE *f = fopen(path, "re");
	pid_t found = 0;
	long pid;

	while (f && !found && fscanf(f, "%ld", &pid) == 1)
		if (is_it((pid_t)pid, arg))
			found = (pid_t)pid;
	if (f)
		fclose(f);
	return found;
}

char np_process_state(pid_t pid, pid_t *parent)
{
	char path[64], text[512], state;
	const char *name_end;
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	f = fopen(path, "re");
	if (!f)
		return '\0';
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	/* "PID (NAME) STATE PARENT ...", where NAME may contain ")". */
	name_end = strrchr(text, ')');
	return name_end && sscanf(name_end + 1, " %c %d", &state, parent) == 2 ?
		       state :
		       '\0';
}

/*
 * Find children of another user's process that are the caller's own: where /proc
 * is mounted with hidepid=, only these show their parent.
 */
static pid_t find_by_parent(pid_t of, bool (*is_it)(pid_t, void *), void *arg)
{
	DIR *processes = opendir("/proc");
	struct dirent *d;
	pid_t found = 0, parent;

	while (processes && !found && (d = readdir(processes))) {
		pid_t pid = isdigit((unsigned char)d->d_name[0]) ?
				    (pid_t)strtol(d->d_name, NULL, 10) :
				    0;

		if (pid && np_process_state(pid, &parent) && parent == of &&
		    is_it(pid, arg))
			found = pid;
	}
	if (processes)
		closedir(processes);
	return found;
}

pid_t np_children_find(pid_t of, bool (*is_it)(pid_t child, void *arg),
		       void *arg)
{
	pid_t found = 0;
	struct dirent *d;
	char path[96];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%ld/task", (long)of);
	threads = opendir(path);
	while (threads && !found && (d = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/children",
			 (long)of, d->d_name);
		found = find_of_thread(path, is_it, arg);
	}
	if (threads)
		closedir(threads);
	else if (kill(of, 0) && errno == EPERM) /* it runs, but is hidden */
		found = find_by_parent(of, is_it, arg);
	return found;
}

struct all {
	pid_t pid[NP_CHILDREN_MOST];
	size_t n;
};

static bool collect_child(pid_t child, void *arg)
{
	struct all *a = arg;

	if (a->n == NP_CHILDREN_MOST)
		return true;
	a->pid[a->n++] = child;
	return false;
}

pid_t np_children_all(pid_t first, bool (*is_it)(pid_t pid, void *arg),
		      void *arg)
{
	struct all a = { { first }, 1 };

	for (size_t i = 0; i < a.n; i++) {
		if (is_it(a.pid[i], arg))
			return a.pid[i];
		np_children_find(a.pid[i], collect_child, &a);
	}
	return 0;
}

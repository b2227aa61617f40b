#include "np_children.h"

#include <dirent.h>
#include <stdio.h>

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

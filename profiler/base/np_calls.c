#include "np_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "np_children.h"

#define NAME "netprof-calls"
#define MOST_FDS 4096 /* most descriptors inspected */
/* as readlink(2) shows it, followed by " (deleted)" */
#define SEEN_AS "/memfd:" NAME

volatile uint64_t *np_calls_new(void)
{
	int fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map = MAP_FAILED;

	if (fd < 0)
		return NULL;
	/*
	 * Keep other processes that open the page from shrinking it, which
	 * would make the next call end in SIGBUS.
	 */
	if (!ftruncate(fd, sizeof(uint64_t)) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		map = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	return map; /* the descriptor stays open, for others to find */
}

void np_calls_forget(volatile uint64_t *calls)
{
	if (calls)
		munmap((void *)calls, sizeof(*calls));
}

static bool is_count(int fds, const char *name)
{
	char text[sizeof(SEEN_AS)];

	return readlinkat(fds, name, text, sizeof(text)) ==
		       (ssize_t)sizeof(text) &&
	       !memcmp(text, SEEN_AS " ", sizeof(text));
}

static bool read_count(int fds, const char *name, uint64_t *calls)
{
	int fd = openat(fds, name, O_RDONLY | O_CLOEXEC);
	bool got = fd >= 0 && pread(fd, calls, sizeof(*calls), 0) ==
				      (ssize_t)sizeof(*calls);

	if (fd >= 0)
		close(fd);
	return got;
}

static bool find_count(pid_t pid, void *calls)
{
	char path[32];
	struct dirent *d;
	bool found = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	fds = opendir(path);
	for (int i = 0; fds && !found && i < MOST_FDS && (d = readdir(fds));
	     i++)
		found = is_count(dirfd(fds), d->d_name) &&
			read_count(dirfd(fds), d->d_name, calls);
	if (fds)
		closedir(fds);
	return found;
}

bool np_calls_find(pid_t pid, uint64_t *calls)
{
	return np_children_all(pid, find_count, calls);
}

#include "np_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int np_thread_start(void *(*run)(void *arg), void *arg, size_t stack_bytes,
		    pthread_t *thread)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t detached;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return -rc;
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	if (!thread)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread ? thread : &detached, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

#define FIRST_CLOSED 3 /* after the standard input, output and error */

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

/* Unshare the table without its descriptors, in one call. */
static int unshare_empty(void)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, FIRST_CLOSED, ~0u, CLOSE_RANGE_UNSHARE))
		return 0;
	return -errno;
#else
	return -ENOSYS;
#endif
}

/* The same where the kernel has no close_range(2), before Linux 5.9. */
static int unshare_and_close(void)
{
	char path[64];
	struct dirent *entry;
	DIR *fds;

	if (unshare(CLONE_FILES))
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/task/%ld/fd",
		 syscall(SYS_gettid));
	fds = opendir(path);
	if (!fds)
		return -errno;
	while ((entry = readdir(fds))) {
		int fd = atoi(entry->d_name);

		if (fd >= FIRST_CLOSED && fd != dirfd(fds))
			close(fd);
	}
	closedir(fds);
	return 0;
}

int np_thread_own_files(void)
{
	int null, rc = unshare_empty();

	/* A container may forbid one of the calls and allow the other. */
	if (rc)
		rc = unshare_and_close();
	if (rc)
		return rc;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < FIRST_CLOSED; fd++)
		dup2(null, fd);
	if (null >= FIRST_CLOSED)
		close(null);
	return 0;
}

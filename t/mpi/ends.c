/*
 * A program of one rank that ends, or treats its process, in a way of its own:
 * ends WAY. Its status and its output are the same when it is traced.
 */
#define _GNU_SOURCE /* _Fork() */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE (16 << 20)
#define MANY 100000 /* calls, whose records are longer than 1 MiB */

static void call(int n)
{
	int got;

	for (int i = 0; i < n; i++)
		MPI_Sendrecv(&n, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0,
			     MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void *call_for_ever(void *arg)
{
	for (;;)
		call(1000);
	return arg;
}

static void end_now(int sig)
{
	_exit(sig == SIGALRM ? 7 : 1);
}

/* A child that ends as programs do, without exec(). */
static int wait_for(pid_t pid)
{
	int status = 0;

	if (!pid)
		exit(0);
	waitpid(pid, &status, 0);
	call(MANY);
	return pid < 0 || status;
}

/* Opens a file in place of all descriptors of a trace. */
static int reuse_descriptors(void)
{
	char path[PATH_MAX], target[PATH_MAX];
	int own = open("own", O_RDWR | O_CREAT | O_TRUNC, 0600);
	DIR *fds = opendir("/proc/self/fd");
	struct dirent *d;
	struct stat st;
	ssize_t len;

	while ((d = readdir(fds))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", d->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (strstr(target, "/rank."))
			dup2(own, atoi(d->d_name));
	}
	closedir(fds);
	call(MANY);
	if (fstat(own, &st) || st.st_size || ftruncate(own, LARGE))
		return 1;
	MPI_Finalize();
	return fstat(own, &st) || st.st_size != LARGE;
}

static int end(const char *way)
{
	const struct itimerval soon = { .it_value.tv_usec = 50000 };
	pthread_t thread;

	if (!strcmp(way, "exit"))
		exit(3);
	if (!strcmp(way, "_exit"))
		_exit(4);
	if (!strcmp(way, "MPI_Abort"))
		MPI_Abort(MPI_COMM_WORLD, 5);
	if (!strcmp(way, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 6", NULL);
	if (!strcmp(way, "signal")) {
		signal(SIGALRM, end_now);
		setitimer(ITIMER_REAL, &soon, NULL);
		call_for_ever(NULL);
	}
	if (!strcmp(way, "killed"))
		raise(SIGUSR1);
	if (!strcmp(way, "threads")) {
		for (int i = 0; i < 3; i++)
			pthread_create(&thread, NULL, call_for_ever, NULL);
		usleep(50000);
		exit(8);
	}
	if (!strcmp(way, "fork"))
		return wait_for(fork());
	if (!strcmp(way, "_Fork"))
		return wait_for(_Fork());
	if (!strcmp(way, "reuse"))
		return reuse_descriptors();
	if (!strcmp(way, "chdir") && chdir("/"))
		return 1;
	if (!strcmp(way, "environment"))
		clearenv();
	call(MANY);
	MPI_Finalize();
	return 0;
}

int main(int argc, char **argv)
{
	int level;

	MPI_Init_thread(&argc, &argv,
			strcmp(argv[1], "threads") ? MPI_THREAD_SINGLE :
						     MPI_THREAD_MULTIPLE,
			&level);
	call(10);
	puts("began");
	fflush(stdout);
	return end(argv[1]);
}

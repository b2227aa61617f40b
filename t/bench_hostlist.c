/*
 * Our reader of host lists compared with libslurm's: how long each takes for
 * all names of a list (mean of some readings), how much memory that touches at
 * most, and what either makes of a list that somebody wrote to do harm.
 *
 * Each case runs in a process of its own, for what it leaves in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_hostlist.h"
#include "np_slurm_compat.h"

#define REPEATS 20   /* the clock may be coarse */
#define LIMIT_SEC 20 /* of processor time; what takes longer is ended */

struct result {
	double sec;
	long names, kib; /* kib: growth of the largest resident set */
};

/* As who reads lists of users does: NP_HOSTLIST_MAX names are enough. */
static int count(void *n, const char *name)
{
	(void)name;
	return ++*(long *)n > NP_HOSTLIST_MAX;
}

static long walk(const char *list)
{
	long n = 0;
	size_t len;

	while ((len = np_hostlist_word(&list))) {
		if (np_hostlist_walk(list, len, count, &n))
			return -1;
		list += len;
	}
	return n;
}

static long slurm(const char *list)
{
	np_hostlist_t all = slurm_hostlist_create(list);
	long n = 0;
	char *name;

	if (!all)
		return -1;
	while ((name = slurm_hostlist_shift(all))) {
		n++;
		free(name);
	}
	slurm_hostlist_destroy(all);
	return n;
}

static void measure(long (*read_list)(const char *), const char *list, int to)
{
	const struct rlimit limit = { LIMIT_SEC, LIMIT_SEC };
	struct rusage before, after;
	struct result r;
	double start;

	setrlimit(RLIMIT_CPU, &limit);
	getrusage(RUSAGE_SELF, &before);
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < REPEATS; i++)
		r.names = read_list(list);
	r.sec = (np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start) / REPEATS;
	getrusage(RUSAGE_SELF, &after);
	r.kib = after.ru_maxrss - before.ru_maxrss;
	_exit(write(to, &r, sizeof(r)) != sizeof(r));
}

static void one(const char *who, long (*read_list)(const char *),
		const char *list)
{
	struct result r;
	int fd[2];
	pid_t child;

	fflush(stdout);
	if (pipe(fd) || (child = fork()) < 0)
		exit(1);
	if (!child)
		measure(read_list, list, fd[1]);
	close(fd[1]);
	if (read(fd[0], &r, sizeof(r)) != sizeof(r))
		printf("  %-9s ended after %d s\n", who, LIMIT_SEC);
	else if (r.names < 0)
		printf("  %-9s refused in %.3f ms, %ld KiB\n", who, 1e3 * r.sec,
		       r.kib);
	else
		printf("  %-9s %ld names in %.3f ms, %ld KiB\n", who, r.names,
		       1e3 * r.sec, r.kib);
	close(fd[0]);
	waitpid(child, NULL, 0);
}

/* "n0,n2,n4 ...", of which no two make a range. */
static char *singles(size_t n)
{
	size_t room = 12 * n, at = 0;
	char *list = malloc(room);

	for (size_t i = 0; list && i < n; i++)
		at += (size_t)snprintf(list + at, room - at, "%sn%zu",
				       i ? "," : "", 2 * i);
	return list;
}

int main(void)
{
	const struct {
		const char *what, *list;
	} cases[] = {
		{ "one range of 10,000", "n[0-9999]" },
		{ "two dimensions", "rack[0-99]n[0-99]" },
		{ "10,000 single names", singles(10000) },
		{ "a range of 100 million", "n[0-99999999]" },
		{ "ranges of 10^12 names", "a[0-9999]b[0-9999]c[0-9999]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		printf("%s\n", cases[i].what);
		one("ours", walk, cases[i].list);
		one("libslurm", slurm, cases[i].list);
	}
	return 0;
}

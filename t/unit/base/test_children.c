#include "t.h"
#include "np_children.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CHILDREN 3

static pid_t child[CHILDREN];

static pid_t start(void)
{
	pid_t me = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == me)
			pause();
		_exit(0);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is(pid_t pid, void *arg)
{
	return pid == *(pid_t *)arg;
}

static bool count(pid_t pid, void *arg)
{
	for (size_t i = 0; i < CHILDREN; i++)
		*(size_t *)arg += pid == child[i];
	return false;
}

T_TEST("all children are tried, until one is it")
{
	size_t n = 0;

	for (size_t i = 0; i < CHILDREN; i++)
		child[i] = start();
	T_CHECK(np_children_find(getpid(), count, &n) == 0);
	T_CHECK(n == CHILDREN);
	T_CHECK(np_children_find(getpid(), is, &child[1]) == child[1]);
	for (size_t i = 0; i < CHILDREN; i++)
		end(child[i]);
	T_CHECK(np_children_find(getpid(), is, &child[1]) == 0);
}

static int started[2], leave[2];

static void *start_one(void *arg)
{
	pid_t pid = start();
	char c;

	if (write(started[1], &pid, sizeof(pid)) != sizeof(pid) ||
	    read(leave[0], &c, 1) != 1)
		abort();
	return arg;
}

T_TEST("a child that a thread has made is one")
{
	pthread_t thread;
	pid_t pid = 0;

	T_CHECK(!pipe(started) && !pipe(leave));
	T_CHECK(!pthread_create(&thread, NULL, start_one, NULL));
	T_CHECK(read(started[0], &pid, sizeof(pid)) == sizeof(pid));
	T_CHECK(np_children_find(getpid(), is, &pid) == pid);
	end(pid);
	T_CHECK(write(leave[1], "", 1) == 1);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++) {
		close(started[i]);
		close(leave[i]);
	}
}

T_TEST("who has no children, or has ended, has none")
{
	pid_t pid = start(), any = 0;

	T_CHECK(np_children_find(pid, is, &any) == 0);
	end(pid);
	T_CHECK(np_children_find(pid, is, &any) == 0);
}

T_TEST("a process is tried before what it has started")
{
	size_t n = 0;
	pid_t me = getpid(), pid;

	for (size_t i = 0; i < CHILDREN; i++)
		child[i] = start();
	pid = child[1];
	T_CHECK(np_children_all(me, is, &me) == me);
	T_CHECK(np_children_all(me, is, &pid) == pid);
	T_CHECK(np_children_all(me, count, &n) == 0 && n == CHILDREN);
	T_CHECK(np_children_all(pid, is, &me) == 0);
	for (size_t i = 0; i < CHILDREN; i++)
		end(child[i]);
}

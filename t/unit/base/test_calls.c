#include "t.h"
#include "np_calls.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* A child that has made so many calls when it says so; 0: it counts none. */
static pid_t start(uint64_t n)
{
	pid_t me = getpid(), pid;
	int pipe_fd[2];
	char c = 0;

	T_CHECK(!pipe(pipe_fd));
	pid = fork();
	if (pid == 0) {
		volatile uint64_t *calls = n ? np_calls_new() : NULL;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (calls)
			*calls = n;
		if (write(pipe_fd[1], &c, 1) != 1)
			_exit(1);
		while (getppid() == me)
			pause();
		_exit(0);
	}
	T_CHECK(read(pipe_fd[0], &c, 1) == 1);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

T_TEST("a process's calls are read from outside while it runs")
{
	pid_t none = start(0), some = start(4242);
	uint64_t n = 7;

	T_ROW("a process that counts", np_calls_find(some, &n) && n == 4242);
	T_ROW("one that does not", !np_calls_find(none, &n) && n == 4242);
	end(none);
	n = 7;
	T_ROW("one that the process has started",
	      np_calls_find(getpid(), &n) && n == 4242);
	end(some);
	T_ROW("one that has ended", !np_calls_find(some, &n));
	T_ROW("none of ours any more", !np_calls_find(getpid(), &n));
}

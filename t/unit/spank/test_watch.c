/*
 * A process of the test's stands for slurmstepd: the parent of the tasks.
 * It never asks how they ended, unless requested, and they end with it.
 */
#include "t.h"
#include "np_watch.h"

#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define TASKS 3
#define PATIENCE 30000 /* times 2 ms: a minute, on a busy machine */

#define USER 65533

struct step {
	pid_t stepd;
	pid_t task[TASKS];
};

static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static bool become_user(void)
{
	/* setuid() makes a process that no other of the user may look at. */
	return !setgroups(0, NULL) && !setgid(USER) && !setuid(USER) &&
	       !prctl(PR_SET_DUMPABLE, 1);
}

static void be_stepd(int out, size_t n, int reaps, bool of_user)
{
	pid_t me = getpid(), task[TASKS] = { 0 };

	for (size_t i = 0; i < n; i++) {
		task[i] = fork();
		if (!task[i]) {
			if (of_user && !become_user())
				_exit(1);
			die_with_parent(me);
			for (;;)
				pause();
		}
	}
	if (write(out, task, sizeof(task)) != sizeof(task))
		_exit(1);
	while (reaps && wait(NULL) > 0)
		;
	for (;;)
		pause();
}

static void start_step_of(struct step *s, size_t n, int reaps, bool of_user)
{
	pid_t me = getpid();
	int fd[2];

	if (pipe(fd))
		exit(1);
	s->stepd = fork();
	if (!s->stepd) {
		die_with_parent(me);
		be_stepd(fd[1], n, reaps, of_user);
	}
	close(fd[1]);
	T_CHECK(read(fd[0], s->task, sizeof(s->task)) == sizeof(s->task));
	close(fd[0]);
}

static void start_step(struct step *s, size_t n, int reaps)
{
	start_step_of(s, n, reaps, false);
}

static void end_step(const struct step *s)
{
	kill(s->stepd, SIGKILL);
	waitpid(s->stepd, NULL, 0);
}

static bool is_over(struct np_watch *w)
{
	for (int i = 0; i < PATIENCE && !np_watch_poll(w); i++)
		usleep(2000);
	return np_watch_poll(w);
}

/* As on Linux before 5.3. */
static void forget_fd(struct np_watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

static void close_watch(struct np_watch *w)
{
	forget_fd(w);
	w->task = 0;
}

static const struct {
	const char *name;
	int reaps, no_fd, alone;
} rows[] = {
	{ "nobody has asked how it ended", 0, 0 },
	{ "its parent has", 1, 0 },
	{ "an old kernel", 1, 1 },
	{ "there are no others to look for", 0, 0, 1 },
};

T_TEST("a task is watched until it ends")
{
	T_EACH(r, rows) {
		struct np_watch w;
		struct step s;

		start_step(&s, 1, r->reaps);
		np_watch_start(&w, s.task[0], r->alone ? 0 : s.stepd);
		if (r->no_fd)
			forget_fd(&w);
		T_ROW(r->name, !np_watch_poll(&w));
		usleep(2000);
		T_ROW(r->name, !np_watch_poll(&w));
		kill(s.task[0], SIGKILL);
		T_ROW(r->name, is_over(&w));
		T_ROW(r->name, np_watch_poll(&w)); /* and stays so */
		close_watch(&w);
		end_step(&s);
	}
}

T_TEST("its end wakes a waiting poll()")
{
	struct np_watch w;
	struct pollfd p;
	struct step s;

	start_step(&s, 1, 0);
	np_watch_start(&w, s.task[0], s.stepd);
	p = (struct pollfd){ .fd = w.fd, .events = POLLIN };
	if (w.fd >= 0) { /* else this kernel is old */
		T_CHECK(poll(&p, 1, 0) == 0);
		kill(s.task[0], SIGKILL);
		T_CHECK(poll(&p, 1, 60000) == 1 && p.revents & POLLIN);
		T_CHECK(np_watch_poll(&w));
	}
	close_watch(&w);
	end_step(&s);
}

T_TEST("then its siblings are watched until the last one ends")
{
	struct np_watch w;
	struct step s;
	size_t left = TASKS;

	start_step(&s, TASKS, 0);
	np_watch_start(&w, s.task[0], s.stepd);
	while (left) {
		pid_t watched = w.task;

		T_CHECK(!np_watch_poll(&w));
		T_CHECK(watched == s.task[0] || watched == s.task[1] ||
			watched == s.task[2]);
		kill(watched, SIGKILL);
		left--;
		for (int i = 0;
		     i < PATIENCE && w.task == watched && !np_watch_poll(&w);
		     i++)
			usleep(2000);
		T_CHECK(left ? w.task != watched : np_watch_poll(&w));
	}
	close_watch(&w);
	end_step(&s);
}

/* Whether a user who sees only own processes finds the second task. */
static bool finds_sibling(const struct step *s)
{
	struct np_watch w;

	np_watch_start(&w, s->task[0], s->stepd);
	kill(s->task[0], SIGKILL);
	for (int i = 0; i < PATIENCE && w.task == s->task[0]; i++) {
		if (np_watch_poll(&w))
			return false;
		usleep(2000);
	}
	return w.task == s->task[1];
}

#define CANNOT 77

T_TEST("and where /proc hides other users' processes")
{
	struct step s;
	int status = 0;
	pid_t pid;

	if (getuid())
		return;
	start_step_of(&s, 2, 1, true);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNS) ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("proc", "/proc", "proc", 0, "hidepid=2") ||
		    !become_user())
			_exit(CANNOT);
		_exit(finds_sibling(&s) ? 0 : 1);
	}
	T_CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	T_CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == CANNOT);
	end_step(&s);
}

/* Another one ends first: nothing to see yet. */
T_TEST("siblings that end first do not matter")
{
	struct np_watch w;
	struct step s;

	start_step(&s, 2, 1);
	np_watch_start(&w, s.task[0], s.stepd);
	kill(s.task[1], SIGKILL);
	for (int i = 0; i < PATIENCE && !kill(s.task[1], 0); i++)
		usleep(2000);
	T_CHECK(!np_watch_poll(&w) && w.task == s.task[0]);
	kill(s.task[0], SIGKILL);
	T_CHECK(is_over(&w));
	close_watch(&w);
	end_step(&s);
}

T_TEST("a task that had ended before")
{
	pid_t gone = fork();
	struct np_watch w;
	struct step s;

	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	start_step(&s, 0, 0);
	np_watch_start(&w, gone, s.stepd);
	T_CHECK(is_over(&w));
	close_watch(&w);
	end_step(&s);
}

T_TEST("where nobody is watched it is never over")
{
	struct np_watch w;

	np_watch_start(&w, 0, 0);
	T_CHECK(w.fd == -1 && !np_watch_poll(&w));
	np_watch_start(&w, 0, getppid());
	T_CHECK(w.fd == -1 && !np_watch_poll(&w));
}

/*
 * Where orphans fall to slurmstepd, whoever watches is a child of the tasks'
 * parent, too.
 */
T_TEST("who watches is none of them")
{
	pid_t stepd = fork();
	int status = 0;

	if (!stepd) {
		pid_t me = getpid(), task = fork(), watcher;
		struct np_watch w;

		if (!task)
			_exit(0);
		watcher = fork();
		if (!watcher) {
			die_with_parent(me);
			np_watch_start(&w, task, me);
			_exit(is_over(&w) ? 3 : 4);
		}
		waitpid(watcher, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
	}
	waitpid(stepd, &status, 0);
	T_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

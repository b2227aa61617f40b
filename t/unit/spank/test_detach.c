#include "t.h"
#include "np_detach.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* What a child of the test finds out about itself, once detached. */
enum {
	OWN_SESSION = 1,
	ROOT_DIRECTORY = 2,
	NO_SIGNAL_BLOCKED = 4,
	FDS_IN_ORDER = 8,
	NO_OTHERS = 16,
	DETACHED = 32,
	ALL = 63,
};

static const struct {
	const char *name;
	int bit;
} context[] = {
	{ "it can be done", DETACHED },
	{ "a session of its own", OWN_SESSION },
	{ "the root directory", ROOT_DIRECTORY },
	{ "no signal blocked", NO_SIGNAL_BLOCKED },
	{ "the descriptors asked for, which exec leaves open", FDS_IN_ORDER },
	{ "and no others", NO_OTHERS },
};

/* 'n': /dev/null, 'p': the end of a pipe. */
static const struct {
	const char *name, *keep;
	int close_std; /* as cron and daemons do */
} rows[] = {
	{ "nothing but /dev/null", "nnn", 0 },
	{ "pipes for a collector", "ppnpp", 0 },
	{ "a pipe in between", "npn", 0 },
	{ "none", "", 0 },
	{ "none of the standard ones open before", "nnn", 1 },
	{ "nor with pipes", "ppnpp", 1 },
};

static bool is_null(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(1, 3);
}

static bool is_pipe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode);
}

static bool in_order(const char *keep)
{
	for (int i = 0; keep[i]; i++)
		if (!(keep[i] == 'n' ? is_null(i) : is_pipe(i)) ||
		    fcntl(i, F_GETFD) & FD_CLOEXEC)
			return false;
	return true;
}

static bool no_others(int first)
{
	for (int fd = first; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return false;
	return true;
}

static int look(const char *keep)
{
	sigset_t blocked;
	char dir[64];
	int found = DETACHED;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	found |= getsid(0) == getpid() ? OWN_SESSION : 0;
	found |= getcwd(dir, sizeof(dir)) && !strcmp(dir, "/") ?
			 ROOT_DIRECTORY :
			 0;
	found |= !sigismember(&blocked, SIGTERM) &&
				 !sigismember(&blocked, SIGUSR1) ?
			 NO_SIGNAL_BLOCKED :
			 0;
	found |= in_order(keep) ? FDS_IN_ORDER : 0;
	found |= no_others((int)strlen(keep)) ? NO_OTHERS : 0;
	return found;
}

/* Everything that it is to be rid of. */
static void burden(int close_std, int pipes[2])
{
	sigset_t some;
	int low[2];

	sigemptyset(&some);
	sigaddset(&some, SIGTERM);
	sigaddset(&some, SIGUSR1);
	sigprocmask(SIG_BLOCK, &some, NULL);
	if (chdir(t_tmpdir()) || pipe(low))
		_exit(0);
	for (int i = 0; i < 2; i++)
		pipes[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
	dup2(low[0], 20); /* inherited by a careless exec */
	dup2(low[0], 700);
	for (int fd = 0; close_std && fd < 10; fd++)
		close(fd);
}

static int detached(const char *keep, int close_std)
{
	int fd[8], pipes[2] = { -1, -1 }, n = 0;

	burden(close_std, pipes);
	for (; keep[n]; n++)
		fd[n] = keep[n] == 'n' ? -1 : pipes[n % 2];
	return np_detach(fd, n) ? 0 : look(keep);
}

T_TEST("a child that holds nothing of its parent's")
{
	t_tmpdir(); /* made here, not by the children */
	T_EACH(r, rows) {
		int status = 0, found;
		pid_t pid = fork();

		if (!pid)
			_exit(detached(r->keep, r->close_std));
		waitpid(pid, &status, 0);
		found = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
		T_ROW(r->name, found == ALL);
		T_EACH(c, context)
			T_ROW(c->name, found & c->bit);
	}
}

/* A descriptor that is not open is an error. */
T_TEST("a descriptor that is not open is an error")
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		static const int keep[] = { -1, 999 };

		close(999);
		_exit(-np_detach(keep, 2));
	}
	waitpid(pid, &status, 0);
	T_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EBADF);
}

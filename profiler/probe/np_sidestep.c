#include "np_sidestep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(int out, char *const argv[], char *const envp[],
		  pid_t parent)
{
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);

	/* Ctrl-C is for whoever started us, who ends the step in order. */
	setpgid(0, 0);
	/* However the attendant ends, its steps end too. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || null < 0)
		_exit(126);
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execve(argv[0], argv, envp);
	_exit(127);
}

int np_sidestep_start(struct np_sidestep *s, char *const argv[], char *const envp[],
		  struct np_err *err)
{
	pid_t parent = getpid();
	int fd[2];

	*s = (struct np_sidestep)NP_SIDESTEP_INIT;
	if (pipe2(fd, O_CLOEXEC))
		return np_errf(err, -errno, "pipe: %s", strerror(errno));
	s->pid = fork();
	if (s->pid == 0)
		child(fd[1], argv, envp, parent);
	close(fd[1]);
	if (s->pid < 0) {
		int rc = -errno;

		s->pid = 0;
		close(fd[0]);
		return np_errf(err, rc, "fork: %s", strerror(-rc));
	}
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	s->fd = fd[0];
	return 0;
}

/* srun tells of each task how it ended, before or after the task's why. */
static bool says_only_how(const char *line)
{
	return !strncmp(line, "srun: error: ", 13) &&
	       strstr(line, ": Exited with exit code ");
}

static void take_line(struct np_sidestep *s, char *line, np_sidestep_line_f *f,
		      void *arg)
{
	if (!strncmp(line, "np1 ", 4))
		f(line, arg);
	else if (*line && !(s->last[0] && says_only_how(line)))
		snprintf(s->last, sizeof(s->last), "%.*s",
			 (int)sizeof(s->last) - 1, line);
}

static void take_lines(struct np_sidestep *s, np_sidestep_line_f *f, void *arg)
{
	char *start = s->buf, *nl;

	while ((nl = memchr(start, '\n', s->len - (size_t)(start - s->buf)))) {
		*nl = '\0';
		take_line(s, start, f, arg);
		start = nl + 1;
	}
	s->len -= (size_t)(start - s->buf);
	memmove(s->buf, start, s->len);
	if (s->len == sizeof(s->buf) - 1) /* no newline in sight */
		s->len = 0;
}

void np_sidestep_read(struct np_sidestep *s, np_sidestep_line_f *f, void *arg)
{
	/* Bounded, so that a flood of lines cannot starve the caller. */
	for (int i = 0; i < 64 && s->fd >= 0; i++) {
		ssize_t got = read(s->fd, s->buf + s->len,
				   sizeof(s->buf) - 1 - s->len);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			close(s->fd);
			s->fd = -1;
			return;
		}
		s->len += (size_t)got;
		take_lines(s, f, arg);
	}
}

bool np_sidestep_reap(struct np_sidestep *s)
{
	if (s->pid && waitpid(s->pid, &s->status, WNOHANG) == s->pid) {
		s->pid = 0;
		s->ended = true;
	}
	return s->pid == 0;
}

void np_sidestep_signal(const struct np_sidestep *s, int sig)
{
	if (s->pid)
		kill(s->pid, sig);
}

int np_sidestep_end_due(struct np_sidestep_end *e, double now_sec)
{
	static const struct {
		double after_sec;
		int sig;
	} due[] = { { 2, SIGTERM }, { 4, SIGKILL }, { 6, -1 } };

	if (e->n_sent == NP_ARRAY_SIZE(due))
		return -1;
	if (now_sec < e->asked_sec + due[e->n_sent].after_sec)
		return 0;
	return due[e->n_sent++].sig;
}

void np_sidestep_cause(const struct np_sidestep *s, char *buf, size_t len)
{
	if (!s->ended)
		snprintf(buf, len, "did not end");
	else if (WIFSIGNALED(s->status))
		snprintf(buf, len, "signal %d%s%s", WTERMSIG(s->status),
			 s->last[0] ? ": " : "", s->last);
	else
		snprintf(buf, len, "exit %d%s%s", WEXITSTATUS(s->status),
			 s->last[0] ? ": " : "", s->last);
}

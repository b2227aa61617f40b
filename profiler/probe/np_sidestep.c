#include "np_sidestep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_wire_join.h"

#define TELL_SEC 10 /* patience with a step that does not listen */

static void child(int in, int out, char *const argv[], char *const envp[],
		  pid_t parent)
{
	sigset_t none;

	/* Ctrl-C is for whoever started us, who ends the step in order. */
	setpgid(0, 0);
	/* However the attendant ends, its steps end too. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(126);
	dup2(in, 0);
	dup2(out, 1);
	dup2(out, 2);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execve(argv[0], argv, envp);
	_exit(127);
}

/*
 * Its stdin: theirs[0], and ours, s->in.  A socket, to write to a step that
 * has ended without a signal, and for a bounded time.
 */
static int open_in(struct np_sidestep *s, uint32_t n, int *theirs)
{
	const struct timeval patience = { .tv_sec = TELL_SEC };
	int end[2];

	if (!n) {
		*theirs = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return *theirs < 0 ? -errno : 0;
	}
	s->wire = np_wire_host_new(n);
	if (!s->wire)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end))
		return -errno;
	setsockopt(end[0], SOL_SOCKET, SO_SNDTIMEO, &patience,
		   sizeof(patience));
	s->in = end[0];
	*theirs = end[1];
	return 0;
}

static int start(struct np_sidestep *s, char *const argv[],
		 char *const envp[], int in)
{
	pid_t parent = getpid();
	int out[2], rc;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	s->pid = fork();
	rc = s->pid < 0 ? -errno : 0;
	if (s->pid == 0)
		child(in, out[1], argv, envp, parent);
	close(out[1]);
	s->fd = out[0];
	if (rc)
		s->pid = 0;
	else
		fcntl(s->fd, F_SETFL, O_NONBLOCK);
	return rc;
}

int np_sidestep_start(struct np_sidestep *s, const struct np_args *args,
		      char *const envp[], uint32_t n, struct np_err *err)
{
	int in = -1, rc = args->rc;

	*s = (struct np_sidestep)NP_SIDESTEP_INIT;
	if (!rc)
		rc = open_in(s, n, &in);
	if (!rc)
		rc = start(s, args->argv, envp, in);
	if (in >= 0)
		close(in);
	if (!rc)
		return 0;
	np_sidestep_close(s);
	return np_errf(err, rc, "cannot start %s: %s", args->n ? args->argv[0] :
		       "srun", strerror(-rc));
}

void np_sidestep_close(struct np_sidestep *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->in >= 0)
		close(s->in);
	np_wire_host_free(s->wire);
	s->fd = s->in = -1;
	s->wire = NULL;
}

static int tell(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t put = send(fd, text, len, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		len -= (size_t)put;
	}
	return 0;
}

/* A step whose processes do not find each other does nothing any more. */
static void take_wire(struct np_sidestep *s, const char *line)
{
	char *text = NULL;
	int rc = np_wire_host_take(s->wire, line, &text);

	if (!rc && text)
		rc = tell(s->in, text);
	free(text);
	if (!rc)
		return;
	snprintf(s->last, sizeof(s->last), "its processes could not be told "
		 "of each other: %s", strerror(-rc));
	np_sidestep_signal(s, SIGTERM);
}

/* srun tells of each task how it ended, before or after the task's why. */
static bool says_only_how(const char *line)
{
	return !strncmp(line, "srun: error: ", 13) && strstr(line, ": task");
}

static void take_line(struct np_sidestep *s, char *line,
		      np_sidestep_report_f *f, void *arg)
{
	struct np_report r;
	int rc = np_report_parse(line, &r);

	if (!rc && f)
		f(&r, arg);
	if (rc != -ENOMSG)
		return;
	if (s->wire && np_wire_host_is_for(line))
		take_wire(s, line);
	else if (*line && !(s->last[0] && says_only_how(line)))
		snprintf(s->last, sizeof(s->last), "%.*s",
			 (int)sizeof(s->last) - 1, line);
}

static void take_lines(struct np_sidestep *s, np_sidestep_report_f *f,
		       void *arg)
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

void np_sidestep_read(struct np_sidestep *s, np_sidestep_report_f *f, void *arg)
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

#include "np_helper.h"

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

#include "np_wire.h"

/* ---- command lines ---- */

/*
 * A step that takes nothing away from the user's steps: it overlaps their
 * cores, asks for no memory, binds to no processors, and survives the loss of
 * one of its nodes.
 */
static void add_srun(struct np_args *c, const struct np_helper_job *job,
		     const char *nodes, size_t n_nodes, unsigned per_node,
		     const char *input)
{
	*c = (struct np_args){ .n = 0 };
	np_args_add(c, "%s", job->srun);
	np_args_add(c, "--jobid=%u", job->het_job_id ? job->het_job_id :
							  job->job_id);
	if (job->het_component >= 0)
		np_args_add(c, "--het-group=%ld", job->het_component);
	np_args_add(c, "--job-name=netprof");
	np_args_add(c, "--overlap");
	np_args_add(c, "--mem=0"); /* otherwise the step waits for memory */
	np_args_add(c, "--mpi=none");
	np_args_add(c, "--nodelist=%s", nodes);
	np_args_add(c, "--nodes=%zu", n_nodes);
	np_args_add(c, "--ntasks=%zu", n_nodes * per_node);
	np_args_add(c, "--ntasks-per-node=%u", per_node);
	np_args_add(c, "--distribution=block");
	np_args_add(c, "--cpu-bind=none");
	np_args_add(c, "--no-kill");
	np_args_add(c, "--kill-on-bad-exit=0");
	np_args_add(c, "--wait=0");
	np_args_add(c, "--input=%s", input);
	np_args_add(c, "--quiet");
	np_args_add(c, "--propagate=NONE");
	np_args_add(c, "--chdir=/");
}

static void add_probe(struct np_args *c, const struct np_helper_job *job,
		      const struct np_conf *conf, const char *program,
		      const char *nodes, size_t n_nodes, unsigned per_node)
{
	add_srun(c, job, nodes, n_nodes, per_node, "all");
	np_args_add(c, "%s/%s", conf->bindir, program);
	np_args_add(c, "--join=srun");
}

void np_helper_cmd_impact(struct np_args *c, const struct np_helper_job *job,
		       const struct np_conf *conf, const char *nodes,
		       size_t n_nodes)
{
	add_probe(c, job, conf, "netprof-impactb", nodes, n_nodes,
		  conf->per_node);
	np_args_add(c, "--bytes=%u", conf->message_bytes);
	np_args_add(c, "--period=%.9gs", conf->period_sec);
}

void np_helper_cmd_probe(struct np_args *c, const struct np_helper_job *job,
			 const struct np_conf *conf, const char *program,
			 const char *nodes, size_t n_nodes)
{
	add_probe(c, job, conf, program, nodes, n_nodes, 1);
}

void np_helper_cmd_join(struct np_args *c, const struct np_helper_job *job,
		     const struct np_conf *conf, const char *node,
		     uint16_t port, bool again)
{
	add_srun(c, job, node, 1, 1, "none");
	np_args_add(c, "%s/netprof-agent", conf->libexecdir);
	np_args_add(c, "--port=%u", port);
	np_args_add(c, "--kind=level");
	if (again)
		np_args_add(c, "--again");
}

/* ---- the process ---- */

/* longest wait for a step that does not read */
#define SEND_SEC 10

static void run_child(int in, int out, char *const argv[], char *const envp[],
		      pid_t parent)
{
	sigset_t none;

	/*
	 * Ctrl-C is meant for our parent, which ends the step in an orderly
	 * way.
	 */
	setpgid(0, 0);
	/* The step ends even if the process that started it is killed. */
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
 * Open standard input: *child_end is srun's end, s->in is ours. A socket, so
 * that writing to a step that has ended raises no signal, and takes a bounded
 * time.
 */
static int open_stdin(struct np_helper_step *s, uint32_t n, int *child_end)
{
	const struct timeval patience = { .tv_sec = SEND_SEC };
	int end[2];

	if (!n) {
		*child_end = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return *child_end < 0 ? -errno : 0;
	}
	s->wire = np_wire_host_new(n);
	if (!s->wire)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end))
		return -errno;
	setsockopt(end[0], SOL_SOCKET, SO_SNDTIMEO, &patience,
		   sizeof(patience));
	s->in = end[0];
	*child_end = end[1];
	return 0;
}

static int fork_srun(struct np_helper_step *s, char *const argv[],
		     char *const envp[], int in)
{
	pid_t parent = getpid();
	int out[2], rc;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	s->pid = fork();
	rc = s->pid < 0 ? -errno : 0;
	if (s->pid == 0)
		run_child(in, out[1], argv, envp, parent);
	close(out[1]);
	s->fd = out[0];
	if (rc)
		s->pid = 0;
	else
		fcntl(s->fd, F_SETFL, O_NONBLOCK);
	return rc;
}

int np_helper_start(struct np_helper_step *s, const struct np_args *args,
		      char *const envp[], uint32_t n, struct np_err *err)
{
	int in = -1, rc = args->rc;

	*s = (struct np_helper_step)NP_HELPER_INIT;
	if (!rc)
		rc = open_stdin(s, n, &in);
	if (!rc)
		rc = fork_srun(s, args->argv, envp, in);
	if (in >= 0)
		close(in);
	if (!rc)
		return 0;
	np_helper_close(s);
	return np_errf(err, rc, "cannot start %s: %s", args->n ? args->argv[0] :
		       "srun", strerror(-rc));
}

void np_helper_close(struct np_helper_step *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->in >= 0)
		close(s->in);
	np_wire_host_free(s->wire);
	s->fd = s->in = -1;
	s->wire = NULL;
}

static int send_text(int fd, const char *text)
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

/*
 * Take a line if it is for the host of the exchange of addresses. A step whose
 * processes cannot find each other is ended. Returns whether it was.
 */
static bool take_wire_line(struct np_helper_step *s, const char *line)
{
	char *text = NULL;
	int rc = s->wire ? np_wire_host_take(s->wire, NULL, line, &text) :
			   -ENOMSG;

	if (!rc && text)
		rc = send_text(s->in, text);
	free(text);
	if (!rc || rc == -ENOMSG)
		return !rc;
	snprintf(s->last, sizeof(s->last), "its processes could not find "
		 "each other: %s", strerror(-rc));
	np_helper_signal(s, SIGTERM);
	return true;
}

/*
 * srun reports how each task ended, before or after the reason that the task
 * itself gave.
 */
static bool is_exit_notice(const char *line)
{
	return !strncmp(line, "srun: error: ", 13) && strstr(line, ": task");
}

static void on_line(struct np_helper_step *s, char *line,
		    np_helper_report_f *f, void *arg)
{
	struct np_report r;
	int rc = np_report_parse(line, &r);

	if (!rc && f)
		f(&r, arg);
	if (rc != -ENOMSG)
		return;
	if (take_wire_line(s, line))
		return;
	if (*line && !(s->last[0] && is_exit_notice(line)))
		snprintf(s->last, sizeof(s->last), "%.*s",
			 (int)sizeof(s->last) - 1, line);
}

static void split_lines(struct np_helper_step *s, np_helper_report_f *f,
			void *arg)
{
	char *start = s->buf, *nl;

	while ((nl = memchr(start, '\n', s->len - (size_t)(start - s->buf)))) {
		*nl = '\0';
		on_line(s, start, f, arg);
		start = nl + 1;
	}
	s->len -= (size_t)(start - s->buf);
	memmove(s->buf, start, s->len);
	/* the line is longer than the buffer */
	if (s->len == sizeof(s->buf) - 1)
		s->len = 0;
}

void np_helper_read(struct np_helper_step *s, np_helper_report_f *f, void *arg)
{
	/* Bounded, so that endless output cannot starve the caller. */
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
		split_lines(s, f, arg);
	}
}

bool np_helper_reap(struct np_helper_step *s)
{
	if (s->pid && waitpid(s->pid, &s->status, WNOHANG) == s->pid) {
		s->pid = 0;
		s->ended = true;
	}
	return s->pid == 0;
}

void np_helper_signal(const struct np_helper_step *s, int sig)
{
	if (s->pid)
		kill(s->pid, sig);
}

int np_helper_end_due(struct np_helper_end *e, double now_sec)
{
	static const struct {
		double after_sec;
		int sig;
	} due[] = { { 2, SIGTERM }, { 4, SIGKILL }, { 6, -1 } };

	if (e->n_sent == NP_ARRAY_SIZE(due))
		return -1;
	if (now_sec < e->requested_sec + due[e->n_sent].after_sec)
		return 0;
	return due[e->n_sent++].sig;
}

void np_helper_cause(const struct np_helper_step *s, char *buf, size_t len)
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

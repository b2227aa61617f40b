#include "np_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_wire.h"

/* ---- command lines ---- */

/*
 * A step that takes nothing away from the user's steps: it overlaps their
 * cores, asks for no memory, binds to no processors, and survives the loss of
 * one of its nodes.
 */
static void add_srun(struct np_args *args, const struct np_helper_job *job,
		     const char *nodes, size_t n_nodes, unsigned per_node,
		     const char *input)
{
	*args = (struct np_args){ .n = 0 };
	np_args_add(args, "%s", job->srun);
	np_args_add(args, "--jobid=%u",
		    job->het_job_id ? job->het_job_id : job->job_id);
	if (job->het_component >= 0)
		np_args_add(args, "--het-group=%ld", job->het_component);
	np_args_add(args, "--job-name=netprof");
	np_args_add(args, "--overlap");
	np_args_add(args, "--mem=0"); /* otherwise the step waits for memory */
	np_args_add(args, "--mpi=none");
	np_args_add(args, "--nodelist=%s", nodes);
	np_args_add(args, "--nodes=%zu", n_nodes);
	np_args_add(args, "--ntasks=%zu", n_nodes * per_node);
	np_args_add(args, "--ntasks-per-node=%u", per_node);
	np_args_add(args, "--distribution=block");
	np_args_add(args, "--cpu-bind=none");
	np_args_add(args, "--no-kill");
	np_args_add(args, "--kill-on-bad-exit=0");
	np_args_add(args, "--wait=0");
	np_args_add(args, "--input=%s", input);
	np_args_add(args, "--quiet");
	np_args_add(args, "--propagate=NONE");
	np_args_add(args, "--chdir=/");
}

static void add_probe(struct np_args *args, const struct np_helper_job *job,
		      const struct np_conf *conf, const char *program,
		      const char *nodes, size_t n_nodes, unsigned per_node)
{
	add_srun(args, job, nodes, n_nodes, per_node, "all");
	np_args_add(args, "%s/%s", conf->bindir, program);
	np_args_add(args, "--join=srun");
}

void np_helper_cmd_impact(struct np_args *args, const struct np_helper_job *job,
			  const struct np_conf *conf, const char *nodes,
			  size_t n_nodes)
{
	add_probe(args, job, conf, "netprof-impactb", nodes, n_nodes,
		  conf->per_node);
	np_args_add(args, "--bytes=%u", conf->message_bytes);
	np_args_add(args, "--period=%.9gs", conf->period_sec);
}

void np_helper_cmd_probe(struct np_args *args, const struct np_helper_job *job,
			 const struct np_conf *conf, const char *program,
			 const char *nodes, size_t n_nodes)
{
	add_probe(args, job, conf, program, nodes, n_nodes, 1);
}

void np_helper_cmd_agent(struct np_args *args, const struct np_helper_job *job,
			 const struct np_conf *conf, const char *node,
			 uint16_t port, bool again)
{
	add_srun(args, job, node, 1, 1, "none");
	np_args_add(args, "%s/netprof-agent", conf->libexecdir);
	np_args_add(args, "--port=%u", port);
	np_args_add(args, "--kind=level");
	if (again)
		np_args_add(args, "--again");
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
static int open_stdin(struct np_helper_step *step, uint32_t n, int *child_end)
{
	const struct timeval patience = { .tv_sec = SEND_SEC };
	int end[2];

	if (!n) {
		*child_end = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return *child_end < 0 ? -errno : 0;
	}
	step->wire = np_wire_host_new(n);
	if (!step->wire)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end))
		return -errno;
	setsockopt(end[0], SOL_SOCKET, SO_SNDTIMEO, &patience,
		   sizeof(patience));
	step->in = end[0];
	*child_end = end[1];
	return 0;
}

static int fork_srun(struct np_helper_step *step, char *const argv[],
		     char *const envp[], int in)
{
	pid_t parent = getpid();
	int out[2], rc;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	step->pid = fork();
	rc = step->pid < 0 ? -errno : 0;
	if (step->pid == 0)
		run_child(in, out[1], argv, envp, parent);
	close(out[1]);
	step->fd = out[0];
	if (rc)
		step->pid = 0;
	else
		fcntl(step->fd, F_SETFL, O_NONBLOCK);
	return rc;
}

int np_helper_start(struct np_helper_step *step, const struct np_args *args,
		    char *const envp[], uint32_t n, struct np_err *err)
{
	int in = -1, rc = args->rc;

	*step = (struct np_helper_step)NP_HELPER_INIT;
	if (!rc)
		rc = open_stdin(step, n, &in);
	if (!rc)
		rc = fork_srun(step, args->argv, envp, in);
	if (in >= 0)
		close(in);
	if (!rc)
		return 0;
	np_helper_close(step);
	return np_errf(err, rc, "cannot start %s: %s",
		       args->n ? args->argv[0] : "srun", strerror(-rc));
}

void np_helper_close(struct np_helper_step *step)
{
	if (step->fd >= 0)
		close(step->fd);
	if (step->in >= 0)
		close(step->in);
	np_wire_host_free(step->wire);
	step->fd = step->in = -1;
	step->wire = NULL;
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
static bool take_wire_line(struct np_helper_step *step, const char *line)
{
	char *text = NULL;
	int rc = step->wire ? np_wire_host_take(step->wire, NULL, line, &text) :
			      -ENOMSG;

	if (!rc && text)
		rc = send_text(step->in, text);
	free(text);
	if (!rc || rc == -ENOMSG)
		return !rc;
	snprintf(step->last, sizeof(step->last),
		 "its processes could not find each other: %s", strerror(-rc));
	np_helper_signal(step, SIGTERM);
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

static void on_line(struct np_helper_step *step, char *line,
		    np_helper_report_f *f, void *arg)
{
	struct np_report report;
	int rc = np_report_parse(line, &report);

	if (!rc && f)
		f(&report, arg);
	if (rc != -ENOMSG)
		return;
	if (take_wire_line(step, line))
		return;
	if (*line && !(step->last[0] && is_exit_notice(line)))
		snprintf(step->last, sizeof(step->last), "%.*s",
			 (int)sizeof(step->last) - 1, line);
}

static void split_lines(struct np_helper_step *step, np_helper_report_f *f,
			void *arg)
{
	char *start = step->buf, *nl;

	while ((nl = memchr(start, '\n',
			    step->len - (size_t)(start - step->buf)))) {
		*nl = '\0';
		on_line(step, start, f, arg);
		start = nl + 1;
	}
	step->len -= (size_t)(start - step->buf);
	memmove(step->buf, start, step->len);
	/* the line is longer than the buffer */
	if (step->len == sizeof(step->buf) - 1)
		step->len = 0;
}

void np_helper_read(struct np_helper_step *step, np_helper_report_f *f,
		    void *arg)
{
	/* Bounded, so that endless output cannot starve the caller. */
	for (int i = 0; i < 64 && step->fd >= 0; i++) {
		ssize_t got = read(step->fd, step->buf + step->len,
				   sizeof(step->buf) - 1 - step->len);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			close(step->fd);
			step->fd = -1;
			return;
		}
		step->len += (size_t)got;
		split_lines(step, f, arg);
	}
}

bool np_helper_reap(struct np_helper_step *step)
{
	if (step->pid &&
	    waitpid(step->pid, &step->status, WNOHANG) == step->pid) {
		step->pid = 0;
		step->ended = true;
	}
	return step->pid == 0;
}

void np_helper_signal(const struct np_helper_step *step, int sig)
{
	if (step->pid)
		kill(step->pid, sig);
}

int np_helper_end_due(struct np_helper_end *end, double now_sec)
{
	static const struct {
		double after_sec;
		int sig;
	} due[] = { { 2, SIGTERM }, { 4, SIGKILL }, { 6, -1 } };

	if (end->n_sent == NP_ARRAY_SIZE(due))
		return -1;
	if (now_sec < end->requested_sec + due[end->n_sent].after_sec)
		return 0;
	return due[end->n_sent++].sig;
}

void np_helper_wait(struct np_helper_step *step, double sec,
		    np_helper_report_f *f, void *arg)
{
	struct pollfd output = { step->fd, POLLIN, 0 };

	poll(&output, 1, (int)(sec * 1000));
	np_helper_read(step, f, arg);
}

void np_helper_stop(struct np_helper_step *step, int sig, np_helper_report_f *f,
		    void *arg)
{
	struct np_helper_end end = { .requested_sec = np_mono_sec() };

	while (!np_helper_reap(step) && sig >= 0) {
		if (sig)
			np_helper_signal(step, sig);
		np_helper_wait(step, 0.01, f, arg);
		sig = np_helper_end_due(&end, np_mono_sec());
	}
	np_helper_close(step);
}

void np_helper_cause(const struct np_helper_step *step, char *buf, size_t len)
{
	if (!step->ended)
		snprintf(buf, len, "did not end");
	else if (WIFSIGNALED(step->status))
		snprintf(buf, len, "signal %d%s%s", WTERMSIG(step->status),
			 step->last[0] ? ": " : "", step->last);
	else
		snprintf(buf, len, "exit %d%s%s", WEXITSTATUS(step->status),
			 step->last[0] ? ": " : "", step->last);
}

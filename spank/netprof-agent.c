/*
 * netprof-agent: the probe agent, which runs one process of a probe on a node
 * of a flagged step.
 *
 * It is started on the node as the user, in addition to the step's tasks
 * (np_rendezvous.h), or as a step of one node (np_helper.h).  It sleeps until
 * the step has reached a certain age, connects to the collector, and runs the
 * probe that the collector dispatches, with the connection as the probe's
 * standard input and output.  It ends the probe when the tasks end, when the
 * collector goes away, when the step's memory is nearly used up, or on a
 * signal, whichever comes first.  Whatever fails, it ends without disturbing
 * the step.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "np_clock.h"
#include "np_memory.h"
#include "np_rendezvous.h"
#include "np_helper.h"
#include "np_topo.h"
#include "np_watch.h"

#define CONNECT_SEC 5.0
#define DISPATCH_SEC 60.0 /* for the collector to dispatch or release us */
#define LAST_REPORT_SEC 0.3 /* for the probe to write its last report */
#define MPI_END_SEC 0.05  /* for a killed process to end */
#define POLL_SEC 0.1 /* interval for conditions without a file descriptor */
#define COMMAND_SIZE 4096
#define COMMAND_WORDS 64

struct agent {
	const char *self, *host, *port, *kind, *node;
	double after_sec;
	bool again; /* connect again when a probe has ended */
	struct np_watch watch;
	struct np_memory memory;
	double memory_sec; /* when memory is checked next */
	char why[NP_MEMORY_TEXT]; /* why memory is short; "": it is not */
	char cookie[NP_RENDEZVOUS_COOKIE]; /* that we send */
	char expect[NP_RENDEZVOUS_COOKIE]; /* that the collector sends */
	int fd; /* connection to the collector; -1: none */
	pid_t probe, mpi;
	/* For other rails of the node. */
	pid_t copy[NP_RAILS_MAX - 1];
	size_t n_copies;
	bool is_copy;
};

static volatile sig_atomic_t stop_requested;

static void on_signal(int sig)
{
	stop_requested |= sig != SIGCHLD; /* which only interrupts poll(2) */
}

static bool probe_ended(struct agent *a)
{
	if (a->probe && waitpid(a->probe, NULL, WNOHANG) == a->probe)
		a->probe = 0;
	return !a->probe;
}

static bool memory_is_short(struct agent *a)
{
	double now = np_mono_sec();

	if (a->why[0])
		return true;
	if (!a->memory.dir[0] || now < a->memory_sec)
		return false;
	a->memory_sec = now + POLL_SEC;
	return np_memory_short(&a->memory, 0, a->why);
}

static bool must_end(struct agent *a)
{
	return stop_requested || np_watch_over(&a->watch) ||
	       (a->probe && probe_ended(a)) ||
	       (a->fd >= 0 && memory_is_short(a));
}

/* Wait at most until conditions without a file descriptor must be checked. */
static double poll_sec(const struct agent *a, double sec)
{
	bool must_poll = (a->fd >= 0 && a->memory.dir[0]) ||
			 (a->watch.task && a->watch.fd < 0);
	double longest = must_poll ? POLL_SEC : 60;

	return sec < longest ? sec : longest;
}

/* False: the step is over, or until_sec came before fd was ready for events. */
static bool wait_for(struct agent *a, int fd, short events, double until_sec)
{
	while (!must_end(a)) {
		struct pollfd p[] = {
			{ .fd = fd, .events = events },
			{ .fd = a->watch.fd, .events = POLLIN },
		};
		double left = until_sec - np_mono_sec();

		if (left <= 0)
			return false;
		if (poll(p, 2, (int)(poll_sec(a, left) * 1000) + 1) < 0 &&
		    errno != EINTR)
			return false;
		if (p[0].revents)
			return true;
	}
	return false;
}

static int try_address(struct agent *a, const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
	    e = 0;
	socklen_t len = sizeof(e);

	if (fd < 0)
		return -1;
	if (!connect(fd, ai->ai_addr, ai->ai_addrlen) ||
	    (errno == EINPROGRESS &&
	     wait_for(a, fd, POLLOUT, np_mono_sec() + CONNECT_SEC) &&
	     !getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) && !e))
		return fd;
	close(fd);
	return -1;
}

static int connect_to(struct agent *a)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	int fd = -1;

	if (getaddrinfo(a->host, a->port, &want, &list))
		return -1;
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = try_address(a, ai);
	freeaddrinfo(list);
	return fd;
}

/*
 * Send "MEMBER KIND NODE NAME", and why the agent leaves at once, if it does.
 */
static bool send_handshake(struct agent *a)
{
	char line[512];
	int len;

	memory_is_short(a);
	len = snprintf(line, sizeof(line), "%s %s %s %s %s\n", a->cookie,
		       a->kind, a->node, np_node_name(), a->why);
	return len < (int)sizeof(line) &&
	       send(a->fd, line, (size_t)len, MSG_NOSIGNAL) == len;
}

/*
 * Asked for "more": fork a copy of this process, which connects as an agent of
 * its own.  False: this is the copy, and it has no connection.
 */
static bool make_copy(struct agent *a)
{
	pid_t pid = a->n_copies < NP_RAILS_MAX - 1 ? fork() : -1;

	if (pid > 0)
		a->copy[a->n_copies++] = pid;
	if (pid)
		return true;
	a->n_copies = 0;
	a->is_copy = true;
	close(a->fd);
	a->fd = connect_to(a);
	return a->fd >= 0 && send_handshake(a);
}

/*
 * Slurm, and whoever waits for this process, find that all has ended when it
 * ends.
 */
static void wait_for_copies(struct agent *a)
{
	for (size_t i = 0; i < a->n_copies; i++)
		do {
			if (stop_requested)
				kill(a->copy[i], SIGTERM);
		} while (waitpid(a->copy[i], NULL, 0) < 0 && errno == EINTR);
}

/*
 * Read one line, "HOST WORD...", byte by byte, because what follows is for the
 * probe.  Copies are made as asked for.  False: released, or the other end is
 * not the collector.
 */
static bool read_command(struct agent *a, char command[COMMAND_SIZE])
{
	double until = a->again ? INFINITY : np_mono_sec() + DISPATCH_SEC;
	size_t len = 0;

	while (len < COMMAND_SIZE - 1 && wait_for(a, a->fd, POLLIN, until)) {
		ssize_t got = recv(a->fd, command + len, 1, 0);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return false;
		if (command[len] == '\n') {
			command[len] = '\0';
			if (strncmp(command, a->expect, strlen(a->expect)))
				return false;
			if (strcmp(command + strlen(a->expect), " more"))
				return true;
			if (!make_copy(a))
				return false;
			len = 0;
			continue;
		}
		len++;
	}
	return false;
}

/*
 * The words are as for env(1): variables, then the program and its arguments.
 */
static void exec_probe(const struct agent *a, char *command)
{
	const char *var[COMMAND_WORDS + 2];
	char task[sizeof(NP_TASK_ENV) + 24];
	char *argv[COMMAND_WORDS + 1], *save = NULL, *word;
	size_t n_var = 0, argc = 0;
	char **env;

	strtok_r(command, " ", &save); /* the cookie */
	while ((word = strtok_r(NULL, " ", &save)) && argc < COMMAND_WORDS &&
	       n_var < COMMAND_WORDS) {
		if (!argc && strchr(word, '='))
			var[n_var++] = word;
		else
			argv[argc++] = word;
	}
	snprintf(task, sizeof(task), NP_TASK_ENV "=%ld", (long)a->watch.task);
	if (getenv("NETPROF_TRACE") && a->watch.task)
		var[n_var++] = task;
	var[n_var] = NULL;
	argv[argc] = NULL;
	env = np_helper_env(environ, var);
	if (!env || !argc || dup2(a->fd, 0) < 0 || dup2(a->fd, 1) < 0 ||
	    dup2(a->fd, 2) < 0)
		_exit(126);
	execve(argv[0], argv, env);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/*
 * Start a child that ends with this process and calls run, which does not
 * return.  Returns its process id, or 0 on failure.
 */
static pid_t start_child(const struct agent *a, char *command,
			 void (*run)(const struct agent *, char *))
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == parent)
			run(a, command);
		_exit(126);
	}
	return pid > 0 ? pid : 0;
}

static bool start_probe(struct agent *a, char *command)
{
	int flags = fcntl(a->fd, F_GETFL);

	fcntl(a->fd, F_SETFL, flags & ~O_NONBLOCK);
	a->probe = start_child(a, command, exec_probe);
	return a->probe != 0;
}

/*
 * Run netprof-mpi, which tells the collector the tasks' MPI library.  It is in
 * the directory of this program.
 */
static void exec_mpi(const struct agent *a, char *command)
{
	const char *slash = strrchr(a->self, '/');
	char path[PATH_MAX], pid[24];
	char *argv[] = { path, pid, NULL };
	char **env = np_helper_env(environ, NULL);

	(void)command;
	snprintf(path, sizeof(path), "%.*s/netprof-mpi",
		 slash ? (int)(slash - a->self) : 0, a->self);
	snprintf(pid, sizeof(pid), "%ld", (long)a->watch.task);
	if (env && dup2(a->fd, 1) == 1)
		execve(path, argv, env);
	_exit(127);
}

/* Wait until the tasks end, the collector goes away, or the probe ends. */
static void wait_for_probe(struct agent *a)
{
	while (a->probe && !must_end(a))
		if (wait_for(a, a->fd, POLLRDHUP, np_mono_sec() + 1))
			break;
}

/* Has a child ended, now or within sec? */
static bool wait_child(pid_t pid, double sec)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	double until = np_mono_sec() + sec;

	while (!waitpid(pid, NULL, WNOHANG)) {
		if (np_mono_sec() >= until)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

static void end_probe(struct agent *a)
{
	if (!a->probe)
		return;
	kill(a->probe, SIGUSR1);
	if (!wait_child(a->probe, LAST_REPORT_SEC)) {
		kill(a->probe, SIGKILL);
		waitpid(a->probe, NULL, 0);
	}
	a->probe = 0;
}

/* It may be waiting for a file server that does not answer. */
static void end_mpi(struct agent *a)
{
	if (a->mpi) {
		kill(a->mpi, SIGKILL);
		wait_child(a->mpi, MPI_END_SEC);
	}
	a->mpi = 0;
}

/* A child may keep the connection open a moment longer. */
static void disconnect(struct agent *a)
{
	char line[sizeof(a->why) + sizeof("short \n")];
	int len = snprintf(line, sizeof(line), "short %s\n", a->why);

	if (a->why[0])
		send(a->fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(a->fd, SHUT_WR);
	close(a->fd);
	a->fd = -1;
}

/*
 * The program may be bound to a few processors and use them fully; a probe
 * should wake up where there is room.
 */
static void yield_resources(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	np_memory_yield();
}

static void catch_signals(void)
{
	struct sigaction stop = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGCHLD, &stop, NULL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static bool read_cookies(struct agent *a)
{
	const char *text = getenv(NP_COOKIES_ENV);

	return text && sscanf(text, "%32s %32s", a->cookie, a->expect) == 2 &&
	       strlen(a->expect) == NP_RENDEZVOUS_COOKIE - 1;
}

static bool parse_options(struct agent *a, int argc, char **argv)
{
	static const struct option options[] = {
		{ "host", required_argument, NULL, 'h' },
		{ "port", required_argument, NULL, 'p' },
		{ "node", required_argument, NULL, 'n' },
		{ "kind", required_argument, NULL, 'k' },
		{ "after", required_argument, NULL, 'a' },
		{ "task", required_argument, NULL, 't' },
		{ "parent", required_argument, NULL, 'q' },
		{ "again", no_argument, NULL, 'g' },
		{ NULL },
	};
	pid_t task = 0, parent = 0;
	int opt;

	*a = (struct agent){ .self = argv[0],
			     .host = getenv("SLURM_SRUN_COMM_HOST"),
			     .kind = "probe",
			     .node = "0",
			     .fd = -1 };
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) >= 0)
		switch (opt) {
		case 'h': a->host = optarg; break;
		case 'p': a->port = optarg; break;
		case 'n': a->node = optarg; break;
		case 'k': a->kind = optarg; break;
		case 'g': a->again = true; break;
		case 'a': a->after_sec = strtod(optarg, NULL); break;
		case 't': task = (pid_t)strtol(optarg, NULL, 10); break;
		case 'q': parent = (pid_t)strtol(optarg, NULL, 10); break;
		default: return false;
		}
	np_watch_open(&a->watch, task, parent);
	return a->host && a->port && read_cookies(a);
}

/* Run one probe.  False: the collector wants none. */
static bool serve_once(struct agent *a)
{
	char command[COMMAND_SIZE];
	bool dispatched;

	a->fd = connect_to(a);
	if (a->fd < 0)
		return false;
	dispatched = send_handshake(a) && read_command(a, command) &&
		     start_probe(a, command);
	if (dispatched) {
		if (a->watch.task && !a->is_copy)
			a->mpi = start_child(a, NULL, exec_mpi);
		wait_for_probe(a);
		end_probe(a);
		end_mpi(a);
	}
	disconnect(a);
	return dispatched;
}

int main(int argc, char **argv)
{
	struct agent a;

	if (!parse_options(&a, argc, argv)) {
		fprintf(stderr, "netprof-agent is started by the SPANK plugin, "
				"not by hand\n");
		return 2;
	}
	catch_signals();
	yield_resources();
	if (a.after_sec > 0)
		wait_for(&a, -1, 0, np_mono_sec() + a.after_sec);
	np_memory_open(&a.memory, "/proc/self");
	/* If the step is over already, it is too short to be measured. */
	while (!must_end(&a) && serve_once(&a) && a.again) {
	}
	wait_for_copies(&a);
	/*
	 * Skip exit handlers: a sanitizer's search for leaks waits for a
	 * SIGSTOP, which the SIGCONT that Slurm ends steps with cancels.
	 */
	_exit(0);
}

/*
 * netprof-agent: the probe agent, which runs one process of a probe on a node
 * of a flagged step.
 *
 * It is started on the node as the user, in addition to the step's tasks
 * (np_rendezvous.h), or as a step of one node (np_helper.h). It sleeps until
 * the step has reached a certain age, connects to the collector, and runs the
 * probe that the collector dispatches, with the connection as the probe's
 * standard input and output. It ends the probe when the tasks end, when the
 * collector goes away, when the step's memory is nearly used up, or on a
 * signal, whichever comes first. Whatever fails, it ends without disturbing
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
#include "np_helper.h"
#include "np_memory.h"
#include "np_rendezvous.h"
#include "np_topo.h"
#include "np_watch.h"

/* Longest waits. */
#define CONNECT_SEC 5.0	    /* for one address of the collector */
#define DISPATCH_SEC 60.0   /* for the collector to dispatch or release us */
#define LAST_REPORT_SEC 0.3 /* for the probe to write its last report */
#define END_SEC 0.05 /* for one that is killed, or whose memory is needed */

#define POLL_SEC 0.1 /* interval for conditions without a file descriptor */
/* Bytes of a command, with its NUL: the path of a probe, and what follows. */
#define COMMAND_SIZE (PATH_MAX + 2048)
#define COMMAND_WORDS 64

struct agent {
	/* From the command line. */
	const char *self;	 /* path of this program */
	const char *host, *port; /* of the collector */
	const char *kind, *node; /* for the handshake */
	double after_sec;	 /* to sleep before connecting */
	bool again;		 /* connect again when a probe has ended */

	struct np_watch watch;
	struct np_memory memory;
	double next_memory_sec;		   /* when memory is checked next */
	char memory_cause[NP_MEMORY_TEXT]; /* "": memory is not short */
	char agent_cookie[NP_RENDEZVOUS_COOKIE];
	char collector_cookie[NP_RENDEZVOUS_COOKIE];
	int fd;		  /* connection to the collector; -1: none */
	pid_t probe, mpi; /* children; 0: none */
	pid_t copy[NP_RAILS_MAX - 1]; /* children, for other rails */
	size_t n_copies;
	bool is_copy; /* of another agent */
};

static volatile sig_atomic_t stop_requested;

static void on_signal(int sig)
{
	stop_requested |= sig != SIGCHLD; /* which only interrupts poll(2) */
}

static bool probe_ended(struct agent *agent)
{
	if (agent->probe &&
	    waitpid(agent->probe, NULL, WNOHANG) == agent->probe)
		agent->probe = 0;
	return !agent->probe;
}

/* Check memory, but not too often. */
static bool memory_is_short(struct agent *agent)
{
	double now = np_mono_sec();

	if (agent->memory_cause[0])
		return true;
	if (!agent->memory.dir[0] || now < agent->next_memory_sec)
		return false;
	agent->next_memory_sec = now + POLL_SEC;
	return np_memory_short(&agent->memory, 0, agent->memory_cause);
}

/* Return whether this process, or its probe, must end. */
static bool must_end(struct agent *agent)
{
	return stop_requested || np_watch_poll(&agent->watch) ||
	       (agent->probe && probe_ended(agent)) ||
	       (agent->fd >= 0 && memory_is_short(agent));
}

/*
 * Shorten a wait, so that it ends when conditions without a file descriptor
 * must be checked.
 */
static double poll_sec(const struct agent *agent, double sec)
{
	bool must_poll = (agent->fd >= 0 && agent->memory.dir[0]) ||
			 (agent->watch.task && agent->watch.fd < 0);
	double longest = must_poll ? POLL_SEC : 60;

	return sec < longest ? sec : longest;
}

/*
 * Wait until fd is ready for events. Returns false if this process must end,
 * or until_sec comes first.
 */
static bool wait_for(struct agent *agent, int fd, short events,
		     double until_sec)
{
	while (!must_end(agent)) {
		struct pollfd p[] = {
			{ .fd = fd, .events = events },
			{ .fd = agent->watch.fd, .events = POLLIN },
		};
		double left_sec = until_sec - np_mono_sec();
		int wait_ms = (int)(poll_sec(agent, left_sec) * 1000) + 1;

		if (left_sec <= 0)
			return false;
		if (poll(p, 2, wait_ms) < 0 && errno != EINTR)
			return false;
		if (p[0].revents)
			return true;
	}
	return false;
}

/* Connect to one address of the collector. Returns a socket or -1. */
static int try_address(struct agent *agent, const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
	    error = 0;
	socklen_t len = sizeof(error);

	if (fd < 0)
		return -1;
	if (!connect(fd, ai->ai_addr, ai->ai_addrlen) ||
	    (errno == EINPROGRESS &&
	     wait_for(agent, fd, POLLOUT, np_mono_sec() + CONNECT_SEC) &&
	     !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) && !error))
		return fd;
	close(fd);
	return -1;
}

/* Connect to the collector. Returns a socket or -1. */
static int connect_to_collector(struct agent *agent)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	int fd = -1;

	if (getaddrinfo(agent->host, agent->port, &want, &list))
		return -1;
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = try_address(agent, ai);
	freeaddrinfo(list);
	return fd;
}

/*
 * Send "COOKIE KIND NODE NAME", followed by the reason if the agent leaves at
 * once.
 */
static bool send_handshake(struct agent *agent)
{
	char line[512];
	int len;

	memory_is_short(agent);
	len = snprintf(line, sizeof(line), "%s %s %s %s %s\n",
		       agent->agent_cookie, agent->kind, agent->node,
		       np_node_name(), agent->memory_cause);
	return len < (int)sizeof(line) &&
	       send(agent->fd, line, (size_t)len, MSG_NOSIGNAL) == len;
}

/*
 * Fork a copy of this process, which connects as an agent of its own. Returns
 * false in the copy if it has no connection.
 */
static bool make_copy(struct agent *agent)
{
	pid_t pid = agent->n_copies < NP_RAILS_MAX - 1 ? fork() : -1;

	if (pid > 0)
		agent->copy[agent->n_copies++] = pid;
	if (pid)
		return true;
	agent->n_copies = 0;
	agent->is_copy = true;
	close(agent->fd);
	agent->fd = connect_to_collector(agent);
	return agent->fd >= 0 && send_handshake(agent);
}

/*
 * Wait for the copies: whoever waits for this process, such as Slurm, expects
 * that nothing is left when it ends.
 */
static void wait_for_copies(struct agent *agent)
{
	for (size_t i = 0; i < agent->n_copies; i++)
		do {
			if (stop_requested)
				kill(agent->copy[i], SIGTERM);
		} while (waitpid(agent->copy[i], NULL, 0) < 0 &&
			 errno == EINTR);
}

/*
 * Read one line, "COOKIE WORD...", byte by byte, because what follows is for
 * the probe. If it is "COOKIE more", make a copy and read the next line.
 * Returns false if the agent is released, or the other end is not the
 * collector.
 */
static bool read_command(struct agent *agent, char command[COMMAND_SIZE])
{
	double until_sec = agent->again ? INFINITY :
					  np_mono_sec() + DISPATCH_SEC;
	size_t len = 0;

	while (len < COMMAND_SIZE - 1 &&
	       wait_for(agent, agent->fd, POLLIN, until_sec)) {
		ssize_t got = recv(agent->fd, command + len, 1, 0);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return false;
		if (command[len] == '\n') {
			command[len] = '\0';
			if (strncmp(command, agent->collector_cookie,
				    strlen(agent->collector_cookie)))
				return false;
			if (strcmp(command + strlen(agent->collector_cookie),
				   " more"))
				return true;
			if (!make_copy(agent))
				return false;
			len = 0;
			continue;
		}
		len++;
	}
	return false;
}

/*
 * Become the probe. After the cookie, the words of the command are as for
 * env(1): variables, then the program and its arguments.
 */
static void exec_probe(const struct agent *agent, char *command)
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
	snprintf(task, sizeof(task), NP_TASK_ENV "=%ld",
		 (long)agent->watch.task);
	if (getenv("NETPROF_TRACE") && agent->watch.task)
		var[n_var++] = task;
	var[n_var] = NULL;
	argv[argc] = NULL;
	env = np_helper_env(environ, var);
	if (!env || !argc || dup2(agent->fd, 0) < 0 || dup2(agent->fd, 1) < 0 ||
	    dup2(agent->fd, 2) < 0)
		_exit(126);
	execve(argv[0], argv, env);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/*
 * Start a child that ends with this process and calls run, which does not
 * return. Returns its process id, or 0 on failure.
 */
static pid_t start_child(const struct agent *agent, char *command,
			 void (*run)(const struct agent *, char *))
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == parent)
			run(agent, command);
		_exit(126);
	}
	return pid > 0 ? pid : 0;
}

static bool start_probe(struct agent *agent, char *command)
{
	int flags = fcntl(agent->fd, F_GETFL);

	fcntl(agent->fd, F_SETFL, flags & ~O_NONBLOCK);
	agent->probe = start_child(agent, command, exec_probe);
	return agent->probe != 0;
}

/*
 * Run netprof-mpi, which reports the tasks' MPI library to the collector. It is
 * in the directory of this program.
 */
static void exec_mpi(const struct agent *agent, char *command)
{
	const char *slash = strrchr(agent->self, '/');
	char path[PATH_MAX], pid[24];
	char *argv[] = { path, pid, NULL };
	char **env = np_helper_env(environ, NULL);

	(void)command;
	snprintf(path, sizeof(path), "%.*s/netprof-mpi",
		 slash ? (int)(slash - agent->self) : 0, agent->self);
	snprintf(pid, sizeof(pid), "%ld", (long)agent->watch.task);
	if (env && dup2(agent->fd, 1) == 1)
		execve(path, argv, env);
	_exit(127);
}

/* Wait until the tasks end, the collector goes away, or the probe ends. */
static void wait_for_probe(struct agent *agent)
{
	while (agent->probe && !must_end(agent))
		if (wait_for(agent, agent->fd, POLLRDHUP, np_mono_sec() + 1))
			break;
}

/* Wait for a child to end, at most sec seconds. Returns whether it has. */
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

/* End the probe after its last report, or kill it. */
static void end_probe(struct agent *agent)
{
	double sec = agent->memory_cause[0] ? END_SEC : LAST_REPORT_SEC;

	if (!agent->probe)
		return;
	kill(agent->probe, SIGUSR1);
	if (!wait_child(agent->probe, sec)) {
		kill(agent->probe, SIGKILL);
		waitpid(agent->probe, NULL, 0);
	}
	agent->probe = 0;
}

/* Kill netprof-mpi, which may be waiting for a file server without end. */
static void end_mpi(struct agent *agent)
{
	if (agent->mpi) {
		kill(agent->mpi, SIGKILL);
		wait_child(agent->mpi, END_SEC);
	}
	agent->mpi = 0;
}

/*
 * Close the connection. shutdown() sends end of file even while a child still
 * has the socket open.
 */
static void disconnect(struct agent *agent)
{
	char line[sizeof(agent->memory_cause) + sizeof("short \n")];
	int len =
		snprintf(line, sizeof(line), "short %s\n", agent->memory_cause);

	if (agent->memory_cause[0])
		send(agent->fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(agent->fd, SHUT_WR);
	close(agent->fd);
	agent->fd = -1;
}

/*
 * Use all processors: the program may be bound to a few and use them fully, and
 * a probe should wake up where a processor is free. If memory runs out, let
 * this process be killed first.
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

static bool read_cookies(struct agent *agent)
{
	const char *text = getenv(NP_COOKIES_ENV);

	return text &&
	       sscanf(text, "%32s %32s", agent->agent_cookie,
		      agent->collector_cookie) == 2 &&
	       strlen(agent->collector_cookie) == NP_RENDEZVOUS_COOKIE - 1;
}

static bool parse_options(struct agent *agent, int argc, char **argv)
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
	/* By the letter of the option. */
	const char *value['z'] = {
		['h'] = getenv("SLURM_SRUN_COMM_HOST"),
		['n'] = "0",
		['k'] = "probe",
		['a'] = "0",
		['t'] = "0",
		['q'] = "0",
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (opt == '?')
			return false;
		value[opt] = optarg ? optarg : "";
	}
	*agent = (struct agent){ .self = argv[0],
				 .host = value['h'],
				 .port = value['p'],
				 .kind = value['k'],
				 .node = value['n'],
				 .after_sec = strtod(value['a'], NULL),
				 .again = value['g'],
				 .fd = -1 };
	np_watch_start(&agent->watch, (pid_t)strtol(value['t'], NULL, 10),
		       (pid_t)strtol(value['q'], NULL, 10));
	return agent->host && agent->port && read_cookies(agent);
}

/* Run one probe. Returns false if the collector wants none. */
static bool serve_once(struct agent *agent)
{
	char command[COMMAND_SIZE];
	bool dispatched;

	agent->fd = connect_to_collector(agent);
	if (agent->fd < 0)
		return false;
	dispatched = send_handshake(agent) && read_command(agent, command) &&
		     start_probe(agent, command);
	if (dispatched) {
		if (agent->watch.task && !agent->is_copy)
			agent->mpi = start_child(agent, NULL, exec_mpi);
		wait_for_probe(agent);
		/* The program may at once take what the probe leaves. */
		if (agent->memory_cause[0])
			end_mpi(agent);
		end_probe(agent);
		end_mpi(agent);
	}
	disconnect(agent);
	return dispatched;
}

int main(int argc, char **argv)
{
	struct agent agent;

	if (!parse_options(&agent, argc, argv)) {
		fprintf(stderr, "netprof-agent is started by the SPANK plugin, "
				"not by hand\n");
		return 2;
	}
	catch_signals();
	yield_resources();
	if (agent.after_sec > 0)
		wait_for(&agent, -1, 0, np_mono_sec() + agent.after_sec);
	np_memory_open(&agent.memory, "/proc/self");
	/* If the step is over already, it is too short to be measured. */
	while (!must_end(&agent) && serve_once(&agent) && agent.again) {}
	wait_for_copies(&agent);
	/*
	 * Skip exit handlers: a sanitizer's search for leaks waits for a
	 * SIGSTOP, which the SIGCONT that Slurm ends steps with cancels.
	 */
	_exit(0);
}

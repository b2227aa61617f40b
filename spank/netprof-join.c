/*
 * netprof-join: brings one process of a probe to a node of a flagged step.
 *
 * Started on the node as the user, beside the step's tasks (np_joiner.h), or
 * as a step of one node (np_sidecmd.h).  It sleeps until the step has lived for
 * a while, tells the attendant that it is there, and runs the probe that it is
 * told to, with the connection as its standard input and output.  It ends the
 * probe when the tasks end, when the attendant goes, when the step's memory is
 * nearly used, or on a signal, whichever is first; whatever fails, it ends and
 * nobody notices.
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

#include "np_invite.h"
#include "np_clock.h"
#include "np_memory.h"
#include "np_sideenv.h"
#include "np_watch.h"

#define CONNECT_SEC 5.0
#define CALL_SEC 60.0	  /* to be called or dismissed */
#define LAST_WORDS_SEC 0.3 /* for the probe to say its last */
#define MPI_END_SEC 0.05  /* for what was killed to be gone */
#define LOOK_SEC 0.1	  /* at what no descriptor tells */
#define CALL_SIZE 4096
#define CALL_WORDS 64

struct join {
	const char *self, *host, *port, *kind, *node;
	double after_sec;
	bool again; /* come again when a probe has ended */
	struct np_watch watch;
	struct np_memory memory;
	double memory_sec; /* when to look at it again */
	char why[NP_MEMORY_TEXT]; /* it is too short for us; "": it is not */
	char member[NP_INVITE_TOKEN], expect[NP_INVITE_TOKEN];
	int fd; /* the attendant */
	pid_t probe, mpi;
};

static volatile sig_atomic_t stop_asked;

static void on_signal(int sig)
{
	stop_asked |= sig != SIGCHLD; /* which only ends a poll(2) */
}

static bool probe_ended(struct join *j)
{
	if (j->probe && waitpid(j->probe, NULL, WNOHANG) == j->probe)
		j->probe = 0;
	return !j->probe;
}

static bool memory_is_short(struct join *j)
{
	double now = np_mono_sec();

	if (j->why[0])
		return true;
	if (!j->memory.dir[0] || now < j->memory_sec)
		return false;
	j->memory_sec = now + LOOK_SEC;
	return np_memory_short(&j->memory, 0, j->why);
}

static bool is_over(struct join *j)
{
	return stop_asked || np_watch_over(&j->watch) ||
	       (j->probe && probe_ended(j)) ||
	       (j->fd >= 0 && memory_is_short(j));
}

/* No longer than until what no descriptor tells is to be looked at. */
static double most_sec(const struct join *j, double sec)
{
	bool looks = (j->fd >= 0 && j->memory.dir[0]) ||
		     (j->watch.task && j->watch.fd < 0);
	double most = looks ? LOOK_SEC : 60;

	return sec < most ? sec : most;
}

/* False: over, or until_sec has come before fd was ready for events. */
static bool wait_for(struct join *j, int fd, short events, double until_sec)
{
	while (!is_over(j)) {
		struct pollfd p[] = {
			{ .fd = fd, .events = events },
			{ .fd = j->watch.fd, .events = POLLIN },
		};
		double left = until_sec - np_mono_sec();

		if (left <= 0)
			return false;
		if (poll(p, 2, (int)(most_sec(j, left) * 1000) + 1) < 0 &&
		    errno != EINTR)
			return false;
		if (p[0].revents)
			return true;
	}
	return false;
}

static int try_address(struct join *j, const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0), e = 0;
	socklen_t len = sizeof(e);

	if (fd < 0)
		return -1;
	if (!connect(fd, a->ai_addr, a->ai_addrlen) ||
	    (errno == EINPROGRESS &&
	     wait_for(j, fd, POLLOUT, np_mono_sec() + CONNECT_SEC) &&
	     !getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) && !e))
		return fd;
	close(fd);
	return -1;
}

static int connect_to(struct join *j)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	int fd = -1;

	if (getaddrinfo(j->host, j->port, &want, &list))
		return -1;
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		fd = try_address(j, a);
	freeaddrinfo(list);
	return fd;
}

/* "MEMBER KIND NODE NAME", and why we leave at once. */
static bool say_hello(struct join *j)
{
	const char *name = getenv("SLURMD_NODENAME");
	char line[512], host[256] = "";
	int len;

	gethostname(host, sizeof(host) - 1);
	memory_is_short(j);
	len = snprintf(line, sizeof(line), "%s %s %s %s %s\n", j->member,
		       j->kind, j->node, name && *name ? name : host, j->why);
	return len < (int)sizeof(line) &&
	       send(j->fd, line, (size_t)len, MSG_NOSIGNAL) == len;
}

/*
 * One line, byte by byte, as what follows is for the probe: "HOST WORD...".
 * False: dismissed, or this is not the attendant.
 */
static bool hear_call(struct join *j, char call[CALL_SIZE])
{
	double until = j->again ? INFINITY : np_mono_sec() + CALL_SEC;
	size_t len = 0;

	while (len < CALL_SIZE - 1 && wait_for(j, j->fd, POLLIN, until)) {
		ssize_t got = recv(j->fd, call + len, 1, 0);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return false;
		if (call[len] == '\n') {
			call[len] = '\0';
			return !strncmp(call, j->expect, strlen(j->expect));
		}
		len++;
	}
	return false;
}

/* As env(1) takes them: variables, then the program and its arguments. */
static void run_call(const struct join *j, char *call)
{
	const char *var[CALL_WORDS + 2];
	char task[sizeof(NP_TASK_ENV) + 24];
	char *argv[CALL_WORDS + 1], *save = NULL, *word;
	size_t n_var = 0, argc = 0;
	char **env;

	strtok_r(call, " ", &save); /* the token */
	while ((word = strtok_r(NULL, " ", &save)) && argc < CALL_WORDS &&
	       n_var < CALL_WORDS) {
		if (!argc && strchr(word, '='))
			var[n_var++] = word;
		else
			argv[argc++] = word;
	}
	snprintf(task, sizeof(task), NP_TASK_ENV "=%ld", (long)j->watch.task);
	if (getenv("NETPROF_TRACE") && j->watch.task)
		var[n_var++] = task;
	var[n_var] = NULL;
	argv[argc] = NULL;
	env = np_sideenv_make(environ, var);
	if (!env || !argc || dup2(j->fd, 0) < 0 || dup2(j->fd, 1) < 0 ||
	    dup2(j->fd, 2) < 0)
		_exit(126);
	execve(argv[0], argv, env);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/*
 * A child that ends with us and does what run does, which does not return.
 * Returns its process id, or 0: there is none.
 */
static pid_t start_child(const struct join *j, char *call,
			 void (*run)(const struct join *, char *))
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == parent)
			run(j, call);
		_exit(126);
	}
	return pid > 0 ? pid : 0;
}

static bool start_probe(struct join *j, char *call)
{
	int flags = fcntl(j->fd, F_GETFL);

	fcntl(j->fd, F_SETFL, flags & ~O_NONBLOCK);
	j->probe = start_child(j, call, run_call);
	return j->probe != 0;
}

/* Which tells the attendant of the tasks' MPI; it lies where we do. */
static void run_mpi(const struct join *j, char *call)
{
	const char *slash = strrchr(j->self, '/');
	char path[PATH_MAX], pid[24];
	char *argv[] = { path, pid, NULL };
	char **env = np_sideenv_make(environ, NULL);

	(void)call;
	snprintf(path, sizeof(path), "%.*s/netprof-mpi",
		 slash ? (int)(slash - j->self) : 0, j->self);
	snprintf(pid, sizeof(pid), "%ld", (long)j->watch.task);
	if (env && dup2(j->fd, 1) == 1)
		execve(path, argv, env);
	_exit(127);
}

/* Until the tasks end, the attendant goes, or the probe does. */
static void attend_probe(struct join *j)
{
	while (j->probe && !is_over(j))
		if (wait_for(j, j->fd, POLLRDHUP, np_mono_sec() + 1))
			break;
}

/* Is a child of ours gone, now or within sec? */
static bool ended_within(pid_t pid, double sec)
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

static void end_probe(struct join *j)
{
	if (!j->probe)
		return;
	kill(j->probe, SIGUSR1);
	if (!ended_within(j->probe, LAST_WORDS_SEC)) {
		kill(j->probe, SIGKILL);
		waitpid(j->probe, NULL, 0);
	}
	j->probe = 0;
}

/* It may be at a file server that does not answer. */
static void end_mpi(struct join *j)
{
	if (j->mpi) {
		kill(j->mpi, SIGKILL);
		ended_within(j->mpi, MPI_END_SEC);
	}
	j->mpi = 0;
}

/* Whatever was started may have the connection a moment longer. */
static void leave(struct join *j)
{
	char line[sizeof(j->why) + sizeof("short \n")];
	int len = snprintf(line, sizeof(line), "short %s\n", j->why);

	if (j->why[0])
		send(j->fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(j->fd, SHUT_WR);
	close(j->fd);
	j->fd = -1;
}

/*
 * The program may have been bound to a few processors and share them all; a
 * probe is to wake where there is room.
 */
static void make_way(void)
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

static bool take_tokens(struct join *j)
{
	const char *text = getenv(NP_TOKENS_ENV);

	return text && sscanf(text, "%32s %32s", j->member, j->expect) == 2 &&
	       strlen(j->expect) == NP_INVITE_TOKEN - 1;
}

static bool take_options(struct join *j, int argc, char **argv)
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

	*j = (struct join){ .self = argv[0],
			    .host = getenv("SLURM_SRUN_COMM_HOST"),
			    .kind = "probe", .node = "0", .fd = -1 };
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) >= 0)
		switch (opt) {
		case 'h': j->host = optarg; break;
		case 'p': j->port = optarg; break;
		case 'n': j->node = optarg; break;
		case 'k': j->kind = optarg; break;
		case 'g': j->again = true; break;
		case 'a': j->after_sec = strtod(optarg, NULL); break;
		case 't': task = (pid_t)strtol(optarg, NULL, 10); break;
		case 'q': parent = (pid_t)strtol(optarg, NULL, 10); break;
		default: return false;
		}
	np_watch_open(&j->watch, task, parent);
	return j->host && j->port && take_tokens(j);
}

/* One probe.  False: nobody wants any. */
static bool take_part(struct join *j)
{
	char call[CALL_SIZE];
	bool called;

	j->fd = connect_to(j);
	if (j->fd < 0)
		return false;
	called = say_hello(j) && hear_call(j, call) && start_probe(j, call);
	if (called) {
		if (j->watch.task)
			j->mpi = start_child(j, NULL, run_mpi);
		attend_probe(j);
		end_probe(j);
		end_mpi(j);
	}
	leave(j);
	return called;
}

int main(int argc, char **argv)
{
	struct join j;

	if (!take_options(&j, argc, argv)) {
		fprintf(stderr, "netprof-join is started by the SPANK plugin, "
			"not by hand\n");
		return 2;
	}
	catch_signals();
	make_way();
	if (j.after_sec > 0)
		wait_for(&j, -1, 0, np_mono_sec() + j.after_sec);
	np_memory_open(&j.memory, "/proc/self");
	/* Over already: too short to be measured. */
	while (!is_over(&j) && take_part(&j) && j.again) {
	}
	/*
	 * Without what runs at exit: a sanitizer's search for leaks waits for a
	 * SIGSTOP, which the SIGCONT that Slurm ends steps with takes away.
	 */
	_exit(0);
}

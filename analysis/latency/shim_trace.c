/*
 * The trace of this rank, from MPI_Init() to MPI_Finalize().
 *
 * A wrapper calls shim_enter(), the MPI, shim_end(), the function that records
 * the call, and shim_leave(). Whatever fails, the program's own call is made
 * and its result returned; at worst the trace ends early.
 */
#include "shim.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "np_calls.h"
#include "np_log.h"
#include "np_saver_proto.h"
#include "np_trace_dir.h"

#define DIR_DEFAULT "netprof-trace"
#define RUN_BYTES (4ull << 30) /* of all ranks together */
#define RANK_BYTES 65536       /* minimum of one rank */
#define MAX_NAMES 128	       /* of unsupported calls */
#define NO_SAVER (-ECHILD)     /* nobody writes the file for us */
#define HIDDEN_UID 65534       /* whoever has no name in a user namespace */

struct np_trace_out shim_out = { .fd = -1 };

/* threaded: calls may come from several threads at the same time */
static bool recording, threaded;
static pid_t owner;		 /* the process that records */
static volatile uint64_t *calls; /* successful calls */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Set while the MPI is called: it may call itself by the names we replace. */
static __thread bool inside __attribute__((tls_model("initial-exec")));

/* The time of a clock, in ns. */
static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Writes a line to standard error. Neither a pipe that nobody reads nor a limit
 * on the size of files ends the program.
 */
static void print_error(const char *text)
{
	const struct timespec no_time = { 0 };
	sigset_t raised, before;

	sigemptyset(&raised);
	sigaddset(&raised, SIGPIPE);
	sigaddset(&raised, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &raised, &before);
	if (dprintf(STDERR_FILENO, "netprof: %s\n", text) < 0)
		while (sigtimedwait(&raised, NULL, &no_time) > 0)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Traces in the store were not started by the user: complain to the log only.
 * Others are complained about once for each node, as the ranks of a node
 * have the same reason.
 */
static void complain(int rank, const char *dir, int rc)
{
	const char *why = rc == NO_SAVER   ? "netprof-saver is not running" :
			  rc == -ETIMEDOUT ? "does not answer" :
					     strerror(-rc);
	const char *on_node = getenv("SLURM_LOCALID");
	char text[512];

	snprintf(text, sizeof(text), "rank %d is not traced: %.200s: %s", rank,
		 dir, why);
	if (getenv("NETPROF_TRACE_SUB"))
		np_log_system(text);
	else if (!on_node || !strcmp(on_node, "0"))
		print_error(text);
}

/* This rank's share of the size cap of the run. */
static uint64_t max_bytes(int size)
{
	const char *text = getenv("NETPROF_TRACE_SIZE");
	uint64_t n = text ? strtoull(text, NULL, 10) : 0;

	n = (n ? n : RUN_BYTES) / (uint64_t)size;
	return n < RANK_BYTES ? RANK_BYTES : n;
}

/*
 * This process writes the file itself, because no saver runs here. It does not
 * do so in a job: a process that waits for a lost file server cannot be killed,
 * and Slurm would drain the node. In a container it does, because there root's
 * saver cannot be distinguished from that of another user, who must not get the
 * trace.
 */
static int open_file(const char *dir, const struct np_trace_header *h)
{
	int fd = np_trace_dir_open("/", dir, NULL), rc;

	if (fd < 0)
		return fd;
	rc = np_trace_out_open(&shim_out, fd, h, max_bytes((int)h->size),
			       now_ns(CLOCK_MONOTONIC));
	if (!rc)
		np_trace_guard(&shim_out);
	close(fd);
	return rc;
}

/* Creates the trace of this rank and writes its header. */
static int open_trace(int rank, int size, const char *dir)
{
	struct np_trace_header h = {
		.rank = (uint32_t)rank,
		.size = (uint32_t)size,
		.flags = threaded ? NP_TRACE_THREADS : 0,
		.start_ns = now_ns(CLOCK_REALTIME),
	};
	const char *sub = getenv("NETPROF_TRACE_SUB");
	const char *keep = getenv("NETPROF_TRACE_KEEP");
	bool in_job = np_process_is_in_job();
	char cwd[PATH_MAX], path[2 * PATH_MAX];
	uid_t holder = 0;
	int saver;

	if (dir[0] != '/' && in_job && getcwd(cwd, sizeof(cwd)) &&
	    snprintf(path, sizeof(path), "%s/%s", cwd, dir) < PATH_MAX)
		dir = path;
	saver = dir[0] == '/' ? np_saver_connect(&holder) : -1;
	strncpy(h.program, program_invocation_short_name,
		sizeof(h.program) - 1);
	if (saver >= 0)
		return np_trace_out_pass(&shim_out, saver, dir, sub ? sub : "",
					 keep ? keep : "", &h, max_bytes(size),
					 now_ns(CLOCK_MONOTONIC));
	return sub || (in_job && holder != HIDDEN_UID) ? NO_SAVER :
							 open_file(dir, &h);
}

/* In the child of fork(): the file is mapped by the parent. */
static void in_child(void)
{
	recording = false;
	np_calls_forget(calls);
	calls = NULL;
	np_trace_out_forget(&shim_out);
}

/* Its ranks have the numbers of those of the program that started it. */
static bool is_spawned(void)
{
	MPI_Comm parent = MPI_COMM_NULL;

	return !PMPI_Comm_get_parent(&parent) && parent != MPI_COMM_NULL;
}

bool shim_start(int threads)
{
	const char *dir = getenv("NETPROF_TRACE");
	int rank, size, rc;

	if (recording || is_spawned() ||
	    PMPI_Comm_rank(MPI_COMM_WORLD, &rank) ||
	    PMPI_Comm_size(MPI_COMM_WORLD, &size))
		return false;
	threaded = threads == MPI_THREAD_MULTIPLE;
	if (!dir || !*dir)
		dir = DIR_DEFAULT;
	rc = open_trace(rank, size, dir);
	if (rc) {
		complain(rank, dir, rc);
		return false;
	}
	pthread_atfork(NULL, NULL, in_child);
	calls = np_calls_new();
	owner = getpid();
	return recording = true;
}

void shim_stop(const struct shim_call *c)
{
	if (threaded)
		pthread_mutex_lock(&lock); /* shim_leave() follows */
	if (!recording)
		return;
	np_trace_out_put(&shim_out, NP_TRACE_FINALIZE, c->start_ns, c->start_ns,
			 NULL, 0);
	recording = false;
	np_trace_out_close(&shim_out);
}

/*
 * A program that ends without MPI_Finalize() leaves no zeros at the end. Its
 * other threads may be in any call. A child for which in_child() did not run, as
 * after _Fork(), leaves the trace to its parent.
 */
__attribute__((destructor)) static void at_end(void)
{
	if (recording && getpid() == owner)
		np_trace_out_end(&shim_out);
	recording = false;
}

bool shim_enter(struct shim_call *c)
{
	if (!recording || inside)
		return false;
	inside = true;
	c->start_ns = now_ns(CLOCK_MONOTONIC);
	return true;
}

bool shim_end(struct shim_call *c, int rc)
{
	c->end_ns = now_ns(CLOCK_MONOTONIC);
	if (threaded)
		pthread_mutex_lock(&lock);
	if (shim_out.lost)
		np_trace_out_close(&shim_out);
	if (!shim_out.map)
		recording = false; /* the file is full or was truncated */
	if (calls)
		*calls = recording ? *calls + 1 : 0;
	if (recording && rc == MPI_SUCCESS)
		return true;
	if (recording)
		shim_local(c);
	shim_leave();
	return false;
}

void shim_leave(void)
{
	if (threaded)
		pthread_mutex_unlock(&lock);
	inside = false;
}

bool shim_lock(void)
{
	if (threaded)
		pthread_mutex_lock(&lock);
	return threaded;
}

void shim_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* A buffer for the numbers of one record, which grows as needed. */
static uint64_t *list;
static size_t list_room;

uint64_t *shim_list(size_t n)
{
	uint64_t *wider;

	if (n <= list_room)
		return list;
	wider = realloc(list, n * sizeof(*list));
	if (!wider)
		return NULL;
	list = wider;
	list_room = n;
	return list;
}

void shim_local(const struct shim_call *c)
{
	shim_put(c, NP_TRACE_LOCAL, NULL, NULL);
}

void shim_poll(const struct shim_call *c)
{
	np_trace_out_poll(&shim_out, c->start_ns, c->end_ns);
	if (calls)
		--*calls;
}

void shim_unsupported(const struct shim_call *c, const char *name)
{
	static const char *recorded[MAX_NAMES];
	size_t n = strlen(name), i = 0;
	uint64_t *number;

	while (i < MAX_NAMES && recorded[i] && strcmp(recorded[i], name))
		i++;
	number = i < MAX_NAMES && !recorded[i] ? shim_list(n + 1) : NULL;
	if (!number) {
		shim_local(c);
		return;
	}
	recorded[i] = name;
	number[0] = n;
	for (i = 0; i < n; i++)
		/* below 128, so one byte each */
		number[i + 1] = (uint8_t)name[i];
	shim_put(c, NP_TRACE_UNSUPPORTED, number, number + n + 1);
}

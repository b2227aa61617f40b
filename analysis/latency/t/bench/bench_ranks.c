#include "bench_ranks.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_pass.h"
#include "np_array.h"
#include "np_clock.h"
#include "np_place_ranks.h"
#include "np_trace.h"
#include "np_trace_write.h"
#include "some_exchange.h"

#define STEPS 100	      /* of each rank in a trace */
#define MAX_SEC_PER_CALL 1e-5 /* read, matched and prepared */
#define MAX_BYTES_PER_CALL 500
#define TRIALS 3000

/* ---- Traces of many ranks ---- */

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static void put(struct np_trace_out *o, enum np_trace_kind kind,
		uint64_t gap_ns, uint64_t length_ns, const uint64_t *number,
		size_t n)
{
	uint64_t from = o->end_ns + gap_ns;

	np_trace_out_put(o, kind, from, from + length_ns, number, n);
}

/* A step: halo exchange on a torus by nonblocking calls, then a reduction. */
static void put_step(struct np_trace_out *o, uint32_t rank, uint32_t side)
{
	uint32_t x = rank % side, y = rank / side;
	const uint32_t peer[4] = {
		(x + 1) % side + y * side,
		(x + side - 1) % side + y * side,
		x + (y + 1) % side * side,
		x + (y + side - 1) % side * side,
	};

	for (uint32_t k = 0; k < 4; k++)
		put(o, NP_TRACE_IRECV, 100, 200,
		    (uint64_t[]){ k, 0, peer[k] + 1u, (k ^ 1) + 1, 4096 }, 5);
	for (uint32_t k = 0; k < 4; k++)
		put(o, NP_TRACE_ISEND, 100, 300,
		    (uint64_t[]){ 4 + k, 0, peer[k], k, 4096 }, 5);
	put(o, NP_TRACE_WAIT, 15000 + 97 * rank % 5000, 4000,
	    (uint64_t[]){ 4, 8, 12, 16, 20, 24, 28, 32, 0 }, 9);
	put(o, NP_TRACE_COLLECTIVE, 2000, 9000,
	    (uint64_t[]){ NP_ALLREDUCE, 0, 0, 0, 8, 8, 0 }, 7);
}

/* Writes the traces; returns their bytes and counts the calls. */
static double write_traces(const char *dir, uint32_t side, size_t *calls)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	uint32_t size = side * side;
	double bytes = 0;
	struct stat st;

	must(fd >= 0, "cannot open the directory for traces");
	for (uint32_t rank = 0; rank < size; rank++) {
		struct np_trace_header h = { .rank = rank, .size = size };
		struct np_trace_out o;
		char name[32];

		must(!np_trace_out_open(&o, fd, &h, 16 << 20, 1000),
		     "cannot write a trace");
		put(&o, NP_TRACE_COMM, 0, 0,
		    (uint64_t[]){ 0, rank, size, 1, 0, 2, size }, 7);
		for (size_t s = 0; s < STEPS; s++)
			put_step(&o, rank, side);
		put(&o, NP_TRACE_FINALIZE, 0, 0, NULL, 0);
		np_trace_out_close(&o);
		snprintf(name, sizeof(name), "rank.%u", rank);
		must(!fstatat(fd, name, &st, 0), "no trace");
		bytes += (double)st.st_size;
	}
	close(fd);
	*calls = (size_t)size * STEPS * 10;
	return bytes;
}

static void remove_traces(const char *dir, uint32_t size)
{
	char path[64];

	for (uint32_t rank = 0; rank < size; rank++) {
		snprintf(path, sizeof(path), "%s/rank.%u", dir, rank);
		unlink(path);
	}
	rmdir(dir);
}

struct result {
	double read_sec, made_sec, ops, run_sec, bytes;
};

/* Runs in a process of its own, whose peak of memory is visible. */
static void measure(const char *dir, int to)
{
	static const struct np_tolerance_opt opt = {
		.net = { .L_ns = 3000,
			 .o_ns = 500,
			 .G_ns = 0.1,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
		.x = NP_LOGGPS_L,
		.threads = 1,
	};
	const struct np_trace_options options = { NULL };
	long before = bench_peak_bytes();
	double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	struct np_err err = NP_ERR_INIT;
	struct np_trace_files files;
	struct np_tolerance *t;
	struct np_runtime run;
	struct np_graph *g;
	struct result result;

	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	must(!np_trace_files_find(dir, &files, &err), err.text);
	must(!np_trace_graph(&files, &options, &g, &err), err.text);
	result.read_sec = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	must(!np_tolerance_new(g, &opt, &t, &err), err.text);
	result.made_sec = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	np_tolerance_at(t, opt.net.L_ns, &run);
	result.ops = (double)np_graph_ops(g);
	result.run_sec = 1e-9 * run.ns;
	result.bytes = (double)(bench_peak_bytes() - before);
	_exit(write(to, &result, sizeof(result)) != sizeof(result));
}

static int bench_trace(uint32_t side)
{
	char dir[] = "/tmp/bench-traces-XXXXXX";
	struct result result;
	double bytes;
	size_t calls;
	int fd[2];
	pid_t pid;

	must(mkdtemp(dir) && !pipe(fd), "no directory for traces");
	bytes = write_traces(dir, side, &calls);
	fflush(stdout);
	pid = fork();
	if (!pid)
		measure(dir, fd[1]);
	close(fd[1]);
	must(read(fd[0], &result, sizeof(result)) == sizeof(result) &&
		     waitpid(pid, NULL, 0) == pid,
	     "a trace cannot be read");
	close(fd[0]);
	remove_traces(dir, side * side);
	printf("%8u %9zu %8.1f %10.0f %8.2f %8.2f %9.0f %9.0f %9.4f\n",
	       side * side, calls, 1e-6 * bytes, result.ops, result.read_sec,
	       result.made_sec, 1e-6 * result.bytes,
	       result.bytes / (double)calls, result.run_sec);
	return result.read_sec + result.made_sec >
		       MAX_SEC_PER_CALL * (double)calls ||
	       result.bytes > MAX_BYTES_PER_CALL * (double)calls;
}

int bench_traces(void)
{
	static const uint32_t side[] = { 8, 16, 32 };
	int failed = 0;

	printf("traces of %d steps: halo exchange on a torus, and a reduction\n"
	       "%8s %9s %8s %10s %8s %8s %9s %9s %9s\n",
	       STEPS, "ranks", "calls", "MB", "operations", "read s", "prep. s",
	       "memory MB", "B / call", "run s");
	for (size_t i = 0; i < NP_ARRAY_SIZE(side); i++)
		failed |= bench_trace(side[i]);
	if (failed)
		printf("  not as asked: at most %g us and %d bytes a call\n",
		       1e6 * MAX_SEC_PER_CALL, MAX_BYTES_PER_CALL);
	return failed;
}

/* ---- Placement of 64 ranks ---- */

static bool bench_exchange(size_t i, const struct np_topology *t)
{
	struct np_graph *g = some_exchange(i, 3);
	uint32_t node[SOME_EXCHANGE_RANKS], greedy[SOME_EXCHANGE_RANKS];
	struct np_tolerance_opt opt = {
		.net = { .o_ns = 100,
			 .G_ns = 0.04,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
		.placed = { t, greedy, 300, 100, false },
	};
	double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID), greedy_ns = 0;
	struct np_err err = { "out of memory" };
	struct np_place_result r;

	for (uint32_t k = 0; k < SOME_EXCHANGE_RANKS; k++)
		node[k] = k;
	some_exchange_greedy(i, t, greedy);
	must(g && !np_tolerance_simulate(g, &opt, NULL, &greedy_ns, &err),
	     err.text);
	opt.placed.node = node;
	must(!np_place_ranks(g, &opt, node, 1, TRIALS, &r, &err), err.text);
	np_graph_free(g);
	printf("%-28s %9.2f %9.2f %9.2f %7.1f %% %7zu %6.1f\n",
	       some_exchange_names[i], 1e-3 * r.before_ns, 1e-3 * greedy_ns,
	       1e-3 * r.after_ns, 100 * (1 - r.after_ns / r.before_ns),
	       r.trials, np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start);
	return r.after_ns < r.before_ns && r.after_ns < greedy_ns;
}

int bench_placement(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_topology *t;
	size_t better = 0;

	must(!np_topology_parse("fat-tree:8", &t, &err), err.text);
	printf("run time of 64 ranks on a fat tree of 128 nodes, us\n"
	       "%-28s %9s %9s %9s %9s %7s %6s\n",
	       "", "in order", "greedy", "searched", "gain", "trials", "s");
	for (size_t i = 0; i < SOME_EXCHANGES; i++)
		better += bench_exchange(i, t);
	np_topology_free(t);
	return better < 3;
}

/*
 * Cost of execution graphs: reading them, a pass compared with the memory
 * bandwidth, and tolerances compared with Clp, which solves the same contracted
 * problem as a linear program. The program is synthetic: ranks on a torus
 * exchange borders, compute in the meantime, and reduce every tenth time step.
 * Times are processor times, because others may use the machine.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_clp.h"
#include "bench_pass.h"
#include "bench_ranks.h"
#include "np_clock.h"
#include "np_goal.h"
#include "np_tolerance_impl.h"

#define MEMORY 256 /* bytes an operation that a contraction uses, at most */
#define SIDE 16	   /* of the torus */
#define LOOP_SIDE 4
#define LOOP_STEPS 100000
#define READ_OPS 2000000
#define MIN_BANDWIDTH_SHARE 0.7
#define MIN_READ_MB_PER_SEC 250.0
#define MAX_BYTES_PER_OP 60.0
#define MIN_TIMES_FASTER 1000.0
#define MIN_CLP_SEC 20.0
#define MAX_LOOP_SHARE 0.01
#define ROUNDS 15

static const struct np_tolerance_opt opt = {
	.net = { .L_ns = 3000,
		 .o_ns = 500,
		 .G_ns = 0.1,
		 .S = NP_LOGGPS_NO_RENDEZVOUS },
	.x = NP_LOGGPS_L,
	.threads = 1,
};

static unsigned long long seed;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / (double)(1ull << 53);
}

static void must(int rc, const struct np_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s\n", err->text);
	exit(1);
}

/* Adds an operation that depends on the n listed ones. */
static uint32_t op(struct np_graph *g, enum np_op_kind kind, uint64_t size,
		   uint32_t peer, uint32_t tag, const uint32_t *on, size_t n)
{
	struct np_graph_op o = {
		.kind = kind, .size = size, .peer = peer, .tag = tag
	};
	struct np_err err;
	uint32_t i;

	must(np_graph_add(g, &o, &i, &err), &err);
	for (size_t k = 0; k < n; k++)
		must(np_graph_depend(g, i, on[k], NP_REQUIRES, &err), &err);
	return i;
}

struct shape {
	uint32_t side; /* of the torus */
	size_t steps;
	bool equal; /* all steps of a rank are equal */
};

static uint64_t some_ns(double mean)
{
	return (uint64_t)(mean * (0.5 - log(1 - uniform())));
}

static uint32_t exchange(struct np_graph *g, uint32_t side, uint32_t rank,
			 uint32_t prev, const uint64_t ns[2])
{
	uint32_t x = rank % side, y = rank / side, on[9], start;
	uint32_t peer[4] = {
		(x + 1) % side + y * side,
		(x + side - 1) % side + y * side,
		x + (y + 1) % side * side,
		x + (y + side - 1) % side * side,
	};

	start = op(g, NP_OP_CALC, ns[0], 0, 0, &prev, 1);
	for (uint32_t k = 0; k < 4; k++)
		on[k] = op(g, NP_OP_RECV, 4096, peer[k], k ^ 1, &start, 1);
	for (uint32_t k = 0; k < 4; k++)
		on[4 + k] = op(g, NP_OP_SEND, 4096, peer[k], k, &start, 1);
	on[8] = op(g, NP_OP_CALC, ns[1], 0, 0, &start, 1);
	return op(g, NP_OP_CALC, 0, 0, 0, on, 9);
}

static uint32_t reduce(struct np_graph *g, uint32_t ranks, uint32_t rank,
		       uint32_t prev)
{
	for (uint32_t k = 1; k < ranks; k *= 2) {
		uint32_t on[2] = {
			op(g, NP_OP_SEND, 8, rank ^ k, 9, &prev, 1),
			op(g, NP_OP_RECV, 8, rank ^ k, 9, &prev, 1),
		};

		prev = op(g, NP_OP_CALC, 10, 0, 0, on, 2);
	}
	return prev;
}

static struct np_graph *program(struct shape s)
{
	uint32_t ranks = s.side * s.side;
	struct np_err err;
	struct np_graph *g;

	seed = 88172645463325252u; /* the same program in every run */
	must(np_graph_new("bench", ranks, &g, &err), &err);
	for (uint32_t r = 0; r < ranks; r++) {
		uint64_t ns[2] = { 0, 0 };
		uint32_t prev;

		must(np_graph_rank(g, r, NULL, &err), &err);
		prev = op(g, NP_OP_CALC, 100, 0, 0, NULL, 0);
		for (size_t i = 0; i < s.steps; i++) {
			if (!i || !s.equal) {
				ns[0] = some_ns(20000);
				ns[1] = some_ns(10000);
			}
			prev = exchange(g, s.side, r, prev, ns);
			if (i % 10 == 9)
				prev = reduce(g, ranks, r, prev);
		}
	}
	must(np_graph_finish(g, &err), &err);
	return g;
}

/* A graph of about this many operations with different steps. */
static struct np_graph *uneven(size_t ops)
{
	return program(
		(struct shape){ SIDE, ops / (SIDE * SIDE) / 13 + 1, false });
}

/* In a process of its own, because only the first peak of memory is visible. */
static void read_and_report(FILE *f, int to)
{
	long before = bench_peak_bytes();
	double start, result[2];
	struct np_err err;
	struct np_graph *g;

	/*
	 * As in a new process; the history of the parent has raised this
	 * threshold.
	 */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	must(lseek(fileno(f), 0, SEEK_SET) ? -1 : 0,
	     &(struct np_err){ "lseek" });
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	must(np_goal_read(fileno(f), "bench", &g, &err), &err);
	result[0] = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	result[1] = (double)(bench_peak_bytes() - before);
	if (write(to, result, sizeof(result)) != sizeof(result))
		_exit(1);
	_exit(0);
}

static int bench_read(void)
{
	struct np_graph *g = uneven(READ_OPS);
	size_t ops = np_graph_ops(g);
	FILE *f = tmpfile();
	double result[2], mb, per_op, rate;
	struct np_err err;
	int fd[2];
	pid_t pid;

	must(!f || pipe(fd), &(struct np_err){ "no file" });
	must(np_goal_write(g, f, &err) || fflush(f), &err);
	np_graph_free(g);
	mb = 1e-6 * (double)ftell(f);
	pid = fork();
	if (!pid)
		read_and_report(f, fd[1]);
	must(read(fd[0], result, sizeof(result)) != sizeof(result) ||
		     waitpid(pid, NULL, 0) != pid,
	     &(struct np_err){ "no answer" });
	fclose(f);
	close(fd[0]);
	close(fd[1]);
	rate = mb / result[0];
	per_op = result[1] / (double)ops;
	printf("GOAL text: %zu operations, %.0f MB, read and matched at %.0f "
	       "MB/s, in %.1f bytes an operation at most\n",
	       ops, mb, rate, per_op);
	return rate < MIN_READ_MB_PER_SEC || per_op > MAX_BYTES_PER_OP;
}

/*
 * Compares with the solver, which is stopped once it is clearly too slow.
 * Returns whether the advantage is too small. To find all critical latencies,
 * the solver would have to run at least once for each.
 */
static int after_clp(struct np_tolerance *t, size_t ops, double limit_sec,
		     double all_sec, double limit)
{
	struct np_point base = np_tolerance_side(t, 3000, true);
	double enough = 1.1 * MIN_TIMES_FASTER * fmax(limit_sec, all_sec);
	struct bench_solved clp = bench_clp(&t->c.link[0], 1.05 * base.t,
					    fmax(enough, MIN_CLP_SEC));
	const char *more = clp.ended ? "" : "at least ";

	printf("%10zu  Clp: one tolerance in %s%.2f s, %s%.0f times as long\n"
	       "%10s  as that and %s%.0f times as long as all critical "
	       "latencies\n",
	       ops, more, clp.sec, more, clp.sec / limit_sec, "", more,
	       clp.sec / all_sec);
	if (clp.ended && fabs(clp.x - limit) > 1e-6 * limit) {
		printf("  Clp finds %.9g, not %.9g\n", clp.x, limit);
		return 1;
	}
	return ops >= 1000000 && (clp.sec / limit_sec < MIN_TIMES_FASTER ||
				  clp.sec / all_sec < MIN_TIMES_FASTER);
}

/* Wall-clock time with one thread, and with one per processor. */
static void bench_threads(struct np_tolerance *t, double limit)
{
	const double x[2 * NP_PASS_TIMES] = { 1e3, 2e3, 3e3, 4e3,
					      5e3, 6e3, 7e3, 8e3 };
	double some[2] = { INFINITY, INFINITY }, all[2], out[NP_ARRAY_SIZE(x)];

	for (int round = 0; round < 2 * ROUNDS; round++) {
		double start = np_mono_sec();

		t->threads = !(round % 2);
		np_tolerance_times(t, x, NP_ARRAY_SIZE(x), out);
		some[round % 2] = fmin(np_mono_sec() - start, some[round % 2]);
	}
	for (int k = 0; k < 2; k++) {
		double start = np_mono_sec();
		struct np_critical *c;
		struct np_err err;
		size_t n;

		t->threads = !k;
		must(np_tolerance_critical(t, 3000, limit, &c, &n, &err), &err);
		all[k] = np_mono_sec() - start;
		free(c);
	}
	printf("%10s  on the wall: T at 8 values in %.2f ms, by threads in "
	       "%.2f; all critical\n%10s  latencies in %.1f ms, by threads in "
	       "%.1f\n",
	       "", 1e3 * some[0], 1e3 * some[1], "", 1e3 * all[0],
	       1e3 * all[1]);
}

/*
 * The host of a virtual machine takes back free memory, and provides it at its
 * first use, at up to 3 ms a MB: have it do so before anything is timed.
 */
static void use_memory(size_t bytes)
{
	/* not malloc(), which would behave differently afterwards */
	volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	madvise((void *)memory, bytes, MADV_HUGEPAGE);
	for (size_t i = 0; i < bytes; i += 4096)
		memory[i] = 1;
	munmap((void *)memory, bytes);
}

static int bench_size(size_t ops)
{
	struct np_graph *g = uneven(ops);
	struct np_critical *critical;
	struct np_tolerance *t;
	double start, made, limit, limit_sec, all_sec;
	struct bench_pass best;
	struct np_err err;
	size_t n;
	int failed = 0;

	ops = np_graph_ops(g);
	use_memory(ops * MEMORY);
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	must(np_tolerance_new(g, &opt, &t, &err), &err);
	made = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	np_graph_free(g);
	best = bench_pass(t);
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	limit = np_tolerance_limit(t, 3000, 0.05);
	limit_sec = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	must(np_tolerance_critical(t, 3000, limit, &critical, &n, &err), &err);
	all_sec = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	free(critical);
	printf("%10zu %9zu %9zu %6.0f %5.1f %8.3f %5.0f %% %8.3f %5.0f %% "
	       "%8.2f %9.2f %4zu\n",
	       ops, np_tolerance_size(t).vertices, np_tolerance_size(t).edges,
	       1e9 * made / (double)ops, 1e-9 * best.bytes_per_sec,
	       1e3 * best.one_sec, 100 * best.one, 1e3 * best.four_sec,
	       100 * best.four, 1e3 * limit_sec, 1e3 * all_sec, n);
	if (ops >= 1000000)
		bench_threads(t, limit);
	/* Smaller graphs fit into the cache, which has another bandwidth. */
	if (ops >= 10000000)
		failed = fmin(best.one, best.four) < MIN_BANDWIDTH_SHARE;
	if (ops < 2000000)
		failed |= after_clp(t, ops, limit_sec, all_sec, limit);
	np_tolerance_free(t);
	return failed;
}

/*
 * A program of equal steps compared with one of a tenth as many: with all
 * steps, and with one that stands for all.
 */
static int bench_loop(void)
{
	struct np_graph *g =
		program((struct shape){ LOOP_SIDE, LOOP_STEPS, true });
	double ns[2], limit[2], made[2], pass[2], sec[2];
	int failed = 0;

	printf("%d equal steps of %d ranks, %zu operations\n", LOOP_STEPS,
	       LOOP_SIDE * LOOP_SIDE, np_graph_ops(g));
	for (int unfold = 0; unfold < 2; unfold++) {
		struct np_tolerance_opt own = opt;
		struct np_critical *critical;
		struct np_tolerance *t;
		struct np_runtime r;
		struct np_err err;
		double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID), all;
		size_t n;

		own.unfold = unfold;
		must(np_tolerance_new(g, &own, &t, &err), &err);
		made[unfold] = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
		pass[unfold] = bench_pass(t).one_sec;
		np_tolerance_at(t, 3000, &r);
		ns[unfold] = r.ns;
		start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
		limit[unfold] = np_tolerance_limit(t, 3000, 0.05);
		sec[unfold] = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
		start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
		must(np_tolerance_critical(t, 3000, limit[unfold], &critical,
					   &n, &err),
		     &err);
		all = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
		free(critical);
		printf("%12s: %9zu vertices, made in %6.2f s, a pass %9.3f ms, "
		       "5 %% %9.3f ms,\n%22zu critical latencies %9.3f ms\n",
		       unfold ? "each itself" : "one for all",
		       np_tolerance_size(t).vertices, made[unfold],
		       1e3 * pass[unfold], 1e3 * sec[unfold], n, 1e3 * all);
		np_tolerance_free(t);
	}
	np_graph_free(g);
	failed = fabs(ns[0] - ns[1]) > 1e-11 * ns[1] ||
		 fabs(limit[0] - limit[1]) > 1e-9 * limit[1] ||
		 pass[0] > MAX_LOOP_SHARE * pass[1];
	printf("%14s T differs by %.1g, the tolerance by %.1g\n", "",
	       fabs(ns[0] - ns[1]) / ns[1],
	       fabs(limit[0] - limit[1]) / limit[1]);
	return failed;
}

/* Arguments: numbers of operations; without arguments, all benchmarks. */
int main(int argc, char **argv)
{
	static const size_t sizes[] = { 10000, 100000, 1000000, 10000000 };
	int n = argc > 1 ? argc - 1 : (int)(NP_ARRAY_SIZE(sizes));
	int failed = argc > 1 ? 0 : bench_read();

	printf("%10s %9s %9s %6s %5s %8s %7s %8s %7s %8s %9s %4s\n",
	       "operations", "vertices", "edges", "ns/op", "GB/s", "pass ms",
	       "memory", "4 x ms", "memory", "5 % ms", "all ms", "n");
	for (int i = 0; i < n; i++)
		failed |= bench_size(argc > 1 ? strtoul(argv[i + 1], NULL, 10) :
						sizes[i]);
	if (argc < 2)
		failed |= bench_loop() | bench_traces() | bench_placement();
	printf("ns/op: contracted; GB/s: of the memory, read by one processor; "
	       "pass: T and its\nslope at one x; 4 x: T at four; memory: part "
	       "of that bandwidth; 5 %%: that\ntolerance; all: n critical "
	       "latencies up to it\n");
	if (failed)
		printf("  not as asked: at least %.0f %% of the bandwidth and "
		       "%.0f times Clp, %.0f MB/s,\n  at most %.0f bytes an "
		       "operation\n",
		       100 * MIN_BANDWIDTH_SHARE, MIN_TIMES_FASTER,
		       MIN_READ_MB_PER_SEC, MAX_BYTES_PER_OP);
	return failed;
}

/*
 * What execution graphs cost: reading them, a pass beside the bandwidth of the
 * memory, and tolerances beside Clp, which solves the same contracted problem
 * as a linear program.  A made-up program: ranks on a torus that exchange
 * borders, compute meanwhile, and reduce every tenth time.  Times are of one
 * processor, not of the clock on the wall, as others may use the machine.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <coin/Clp_C_Interface.h>

#include "np_goal.h"
#include "np_tolerance_impl.h"

#define SIDE 16 /* of the torus */
#define RANKS (SIDE * SIDE)
#define CLP_MAX_SEC 60
#define READ_OPS 2000000
#define MIN_BANDWIDTH_SHARE 0.7
#define MIN_READ_MB_PER_SEC 100.0
#define MAX_BYTES_PER_OP 60.0
#define MIN_TIMES_FASTER 1000.0

static const struct np_tolerance_opt opt = {
	.net = { .L_ns = 3000, .o_ns = 500, .G_ns = 0.1,
		 .S = NP_LOGGPS_NO_RENDEZVOUS },
	.x = NP_LOGGPS_L,
};

static double now_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(void)
{
	static unsigned long long x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (double)(x >> 11) / (double)(1ull << 53);
}

static void must(int rc, const struct np_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s\n", err->text);
	exit(1);
}

/* An operation that waits for the n that are named. */
static uint32_t op(struct np_graph *g, enum np_op_kind kind, uint64_t size,
		   uint32_t peer, uint32_t tag, const uint32_t *on, size_t n)
{
	struct np_graph_op o = { .kind = kind, .size = size, .peer = peer,
			   .tag = tag };
	struct np_err err;
	uint32_t i;

	must(np_graph_add(g, &o, &i, &err), &err);
	for (size_t k = 0; k < n; k++)
		must(np_graph_depend(g, i, on[k], NP_REQUIRES, &err), &err);
	return i;
}

static uint32_t calc(struct np_graph *g, double mean, const uint32_t *on,
		     size_t n)
{
	double ns = mean * (0.5 - log(1 - uniform()));

	return op(g, NP_OP_CALC, (uint64_t)ns, 0, 0, on, n);
}

static uint32_t exchange(struct np_graph *g, uint32_t rank, uint32_t prev)
{
	uint32_t x = rank % SIDE, y = rank / SIDE, on[9], start, inner;
	uint32_t peer[4] = {
		(x + 1) % SIDE + y * SIDE, (x + SIDE - 1) % SIDE + y * SIDE,
		x + (y + 1) % SIDE * SIDE, x + (y + SIDE - 1) % SIDE * SIDE,
	};

	start = calc(g, 20000, &prev, 1);
	for (uint32_t k = 0; k < 4; k++)
		on[k] = op(g, NP_OP_RECV, 4096, peer[k], k ^ 1, &start, 1);
	for (uint32_t k = 0; k < 4; k++)
		on[4 + k] = op(g, NP_OP_SEND, 4096, peer[k], k, &start, 1);
	inner = calc(g, 10000, &start, 1);
	on[8] = inner;
	return op(g, NP_OP_CALC, 0, 0, 0, on, 9);
}

static uint32_t reduce(struct np_graph *g, uint32_t rank, uint32_t prev)
{
	for (uint32_t k = 1; k < RANKS; k *= 2) {
		uint32_t on[2] = {
			op(g, NP_OP_SEND, 8, rank ^ k, 9, &prev, 1),
			op(g, NP_OP_RECV, 8, rank ^ k, 9, &prev, 1),
		};

		prev = op(g, NP_OP_CALC, 10, 0, 0, on, 2);
	}
	return prev;
}

static struct np_graph *program(size_t ops)
{
	size_t steps = ops / RANKS / 13 + 1;
	struct np_err err;
	struct np_graph *g;

	must(np_graph_new("bench", RANKS, &g, &err), &err);
	for (uint32_t r = 0; r < RANKS; r++) {
		uint32_t prev;

		must(np_graph_rank(g, r, NULL, &err), &err);
		prev = op(g, NP_OP_CALC, 100, 0, 0, NULL, 0);
		for (size_t i = 0; i < steps; i++) {
			prev = exchange(g, r, prev);
			if (i % 10 == 9)
				prev = reduce(g, r, prev);
		}
	}
	must(np_graph_finish(g, &err), &err);
	return g;
}

static long peak_bytes(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss * 1024;
}

/* In a process of its own, as only the first peak can be seen. */
static void read_and_tell(FILE *f, int to)
{
	long before = peak_bytes();
	double start, told[2];
	struct np_err err;
	struct np_graph *g;

	/* As in a new process: the parent's history has raised that. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	must(lseek(fileno(f), 0, SEEK_SET) ? -1 : 0,
	     &(struct np_err){ "lseek" });
	start = now_sec();
	must(np_goal_read(fileno(f), "bench", &g, &err), &err);
	told[0] = now_sec() - start;
	told[1] = (double)(peak_bytes() - before);
	if (write(to, told, sizeof(told)) != sizeof(told))
		_exit(1);
	_exit(0);
}

static int bench_read(void)
{
	struct np_graph *g = program(READ_OPS);
	size_t ops = np_graph_ops(g);
	FILE *f = tmpfile();
	double told[2], mb, per_op, rate;
	struct np_err err;
	int fd[2];
	pid_t pid;

	must(!f || pipe(fd), &(struct np_err){ "no file" });
	must(np_goal_write(g, f, &err) || fflush(f), &err);
	np_graph_free(g);
	mb = 1e-6 * (double)ftell(f);
	pid = fork();
	if (!pid)
		read_and_tell(f, fd[1]);
	must(read(fd[0], told, sizeof(told)) != sizeof(told) ||
	     waitpid(pid, NULL, 0) != pid, &(struct np_err){ "no answer" });
	fclose(f);
	close(fd[0]);
	close(fd[1]);
	rate = mb / told[0];
	per_op = told[1] / (double)ops;
	printf("GOAL text: %zu operations, %.0f MB, read and matched at %.0f "
	       "MB/s, in %.1f bytes an operation at most\n", ops, mb, rate,
	       per_op);
	return rate < MIN_READ_MB_PER_SEC || per_op > MAX_BYTES_PER_OP;
}

static volatile double bench_keep; /* so that nothing is computed for nobody */

/* Bytes a second of reading a large array from one end to the other. */
static double bandwidth(size_t bytes)
{
	size_t n = bytes / sizeof(double) & ~(size_t)7;
	double *a = malloc(n * sizeof(*a)), best = INFINITY;

	for (size_t i = 0; i < n; i++)
		a[i] = 1;
	for (int round = 0; round < 7; round++) {
		double start = now_sec(), s[8] = { 0 }, sec;

		for (size_t i = 0; i < n; i += 8)
			for (size_t k = 0; k < 8; k++)
				s[k] += a[i + k];
		sec = now_sec() - start;
		for (size_t k = 0; k < 8; k++)
			bench_keep += s[k];
		best = sec < best ? sec : best;
	}
	free(a);
	return (double)n * sizeof(double) / best;
}

/* All that a pass has to fetch and to store, each once. */
static double pass_bytes(const struct np_tolerance *t, size_t per_vertex)
{
	return (double)np_compact_edges(&t->c) * sizeof(struct np_edge) +
	       (double)t->c.n * (double)(sizeof(uint32_t) + per_vertex);
}

static double best_of(struct np_tolerance *t, bool times)
{
	const double x[NP_PASS_TIMES] = { 3000, 4000, 5000, 6000 };
	double best = INFINITY, out[NP_PASS_TIMES];

	for (int round = 0; round < 7; round++) {
		double start = now_sec(), sec;

		if (times)
			np_pass_times(&t->c, x, (double *)t->point, out);
		else
			np_tolerance_side(t, 3000, true);
		sec = now_sec() - start;
		best = sec < best ? sec : best;
	}
	return best;
}

struct solved {
	double x, sec;
	bool ended;
};

/* The contracted graph as a linear program: the largest x with T <= ns. */
static struct solved solve(const struct np_compact *c, double ns)
{
	size_t n = np_compact_edges(c), at = 0;
	int *start = calloc(n + 1, sizeof(int)), X = (int)c->n;
	int *col = calloc(3 * n, sizeof(int));
	double *value = calloc(3 * n, sizeof(double));
	double *low = calloc(n, sizeof(double)), began;
	double *high = malloc(n * sizeof(double));
	Clp_Simplex *clp = Clp_newModel();

	Clp_setLogLevel(clp, 0);
	for (int v = 0; v <= X; v++) {
		double from = 0, target = v == X ? -1 : 0;
		double to = v == 0 ? 0 : v == X - 1 ? ns : 1e300;

		Clp_addColumns(clp, 1, &from, &to, &target, (int[]){ 0, 0 },
			       NULL, NULL);
	}
	for (size_t v = 0; v < c->n; v++)
		for (size_t i = c->first[v]; i < c->first[v + 1]; i++) {
			const int on[3] = { (int)v, (int)c->edge[i].from, X };
			const double by[3] = { 1, -1, -(double)c->edge[i].b };

			start[i] = (int)at;
			memcpy(col + at, on, sizeof(on));
			memcpy(value + at, by, sizeof(by));
			low[i] = c->edge[i].a;
			high[i] = 1e300;
			at += 3;
		}
	start[n] = (int)at;
	Clp_addRows(clp, (int)n, low, high, start, col, value);
	began = now_sec();
	Clp_dual(clp, 0);
	/* In a process of its own: nothing is freed. */
	return (struct solved){ Clp_getColSolution(clp)[X],
				now_sec() - began, Clp_status(clp) == 0 };
}

/*
 * The same for a bounded time.  Clp's own limit is looked at between steps,
 * one of which may take minutes on a large problem.
 */
static struct solved solve_within(const struct np_compact *c, double ns)
{
	const struct rlimit limit = { CLP_MAX_SEC, CLP_MAX_SEC + 1 };
	struct solved s = { 0, CLP_MAX_SEC, false };
	int end[2];

	fflush(stdout);
	if (pipe(end))
		exit(1);
	if (!fork()) {
		setrlimit(RLIMIT_CPU, &limit);
		s = solve(c, ns);
		_exit(write(end[1], &s, sizeof(s)) != sizeof(s));
	}
	close(end[1]);
	if (read(end[0], &s, sizeof(s)) != sizeof(s))
		s = (struct solved){ 0, CLP_MAX_SEC, false };
	close(end[0]);
	wait(NULL);
	return s;
}

/* Beside the solver; returns whether that is too little faster. */
static int beside_clp(struct np_tolerance *t, size_t ops, double sec,
		      double limit)
{
	struct np_point base = np_tolerance_side(t, 3000, true);
	struct solved clp = solve_within(&t->c, 1.05 * base.t);

	printf("%10zu  Clp: the same tolerance in %s%.2f s, %s%.0f times as "
	       "long\n", ops, clp.ended ? "" : "more than ", clp.sec,
	       clp.ended ? "" : "more than ", clp.sec / sec);
	if (clp.ended && fabs(clp.x - limit) > 1e-6 * limit) {
		printf("  Clp finds %.9g, not %.9g\n", clp.x, limit);
		return 1;
	}
	return ops >= 1000000 && clp.sec / sec < MIN_TIMES_FASTER;
}

static int bench_size(size_t ops, double memory)
{
	struct np_graph *g = program(ops);
	struct np_critical *critical;
	struct np_tolerance *t;
	double start = now_sec(), made, limit, limit_sec, all_sec, pass, four;
	struct np_err err;
	size_t n;
	int failed = 0;

	ops = np_graph_ops(g);
	must(np_tolerance_new(g, &opt, &t, &err), &err);
	np_graph_free(g);
	made = now_sec() - start;
	pass = best_of(t, false);
	four = best_of(t, true);
	start = now_sec();
	limit = np_tolerance_limit(t, 3000, 0.05);
	limit_sec = now_sec() - start;
	start = now_sec();
	must(np_tolerance_critical(t, 3000, limit, &critical, &n, &err), &err);
	all_sec = now_sec() - start;
	free(critical);
	printf("%10zu %9zu %9zu %9.1f %9.3f %5.0f %% %9.3f %5.0f %% %9.2f "
	       "%8.2f %5zu\n", ops, np_tolerance_vertices(t),
	       np_tolerance_edges(t), 1e9 * made / (double)ops, 1e3 * pass,
	       100 * pass_bytes(t, 16) / pass / memory, 1e3 * four,
	       100 * pass_bytes(t, 32) / four / memory, 1e3 * limit_sec,
	       all_sec, n);
	/* In the cache of a processor it is another bandwidth. */
	if (ops >= 10000000)
		failed = pass_bytes(t, 32) / four / memory <
			 MIN_BANDWIDTH_SHARE;
	if (ops < 2000000)
		failed |= beside_clp(t, ops, limit_sec, limit);
	np_tolerance_free(t);
	return failed;
}

int main(void)
{
	static const size_t sizes[] = { 10000, 100000, 1000000, 10000000 };
	double memory = bandwidth((size_t)1 << 28);
	int failed = bench_read();

	printf("memory: %.1f GB/s, read by one processor\n"
	       "%10s %9s %9s %9s %9s %7s %9s %7s %9s %8s %5s\n", 1e-9 * memory,
	       "operations", "vertices", "edges", "ns/op", "pass ms",
	       "memory", "4 x ms", "memory", "5 % ms", "all s", "n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		failed |= bench_size(sizes[i], memory);
	printf("ns/op: contracted; pass: T and its slope at one x; 4 x: T at "
	       "four; memory: part\nof the bandwidth; 5 %%: that tolerance; "
	       "all s: n critical latencies up to it\n");
	if (failed)
		printf("  not as asked: at least %.0f %% of the bandwidth and "
		       "%.0f times Clp, %.0f MB/s,\n  at most %.0f bytes an "
		       "operation\n", 100 * MIN_BANDWIDTH_SHARE,
		       MIN_TIMES_FASTER, MIN_READ_MB_PER_SEC,
		       MAX_BYTES_PER_OP);
	return failed;
}

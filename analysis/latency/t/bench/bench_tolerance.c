/*
 * Cost of execution graphs: reading them, a pass compared with the memory
 * bandwidth, and tolerances compared with Clp, which solves the same contracted
 * problem as a linear program. The program is synthetic: ranks on a torus
 * exchange borders, compute in the meantime, and reduce every tenth time step.
 * Times are processor times, because others may use the machine.
 */
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coin/Clp_C_Interface.h>

#include "np_array.h"
#include "np_clock.h"
#include "np_goal.h"
#include "np_large.h"
#include "np_place_ranks.h"
#include "np_tolerance_impl.h"
#include "np_trace.h"
#include "np_trace_write.h"
#include "some_exchange.h"

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

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

/* Most memory that this process has had. */
static long bench_peak_bytes(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss * 1024;
}

/* ---- Clp: a contracted graph as a linear program ---- */

struct bench_solved {
	double x, sec; /* sec: processor time; the limit if it was exceeded */
	bool ended;
};

/*
 * Columns for the times of n vertices, of which the last may be at most ns, and
 * x.
 */
static void add_columns(Clp_Simplex *clp, int n, double ns)
{
	double *low = calloc((size_t)n + 1, sizeof(double));
	double *high = malloc(((size_t)n + 1) * sizeof(double));
	double *target = calloc((size_t)n + 1, sizeof(double));
	int *start = calloc((size_t)n + 2, sizeof(int));

	for (int v = 0; v <= n; v++)
		high[v] = v == 0 ? 0 : v == n - 1 ? ns : 1e300;
	target[n] = -1;
	Clp_addColumns(clp, n + 1, low, high, target, start, NULL, NULL);
	free(low);
	free(high);
	free(target);
	free(start);
}

/*
 * Solves the contracted graph as a linear program: the largest x with T <= ns.
 */
static struct bench_solved solve(const struct np_compact *c, double ns,
				 double max_sec)
{
	size_t n = np_compact_edges(c), at = 0;
	int *start = calloc(n + 1, sizeof(int)), X = (int)c->n;
	int *col = calloc(3 * n, sizeof(int));
	double *value = calloc(3 * n, sizeof(double));
	double *low = calloc(n, sizeof(double)), began;
	double *high = malloc(n * sizeof(double));
	Clp_Simplex *clp = Clp_newModel();
	struct rlimit limit;

	Clp_setLogLevel(clp, 0);
	add_columns(clp, X, ns);
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
	began = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	limit.rlim_cur = (rlim_t)ceil(began + max_sec);
	limit.rlim_max = limit.rlim_cur + 1;
	setrlimit(RLIMIT_CPU, &limit);
	Clp_dual(clp, 0);
	/* Nothing is freed, because this runs in a process of its own. */
	return (struct bench_solved){ Clp_getColSolution(clp)[X],
				      np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) -
					      began,
				      Clp_status(clp) == 0 };
}

/*
 * The same with a time limit. Clp checks its own limit only between steps,
 * which may take minutes on a large problem.
 */
static struct bench_solved bench_clp(const struct np_compact *c, double ns,
				     double max_sec)
{
	const struct bench_solved none = { 0, max_sec, false };
	struct bench_solved s;
	int end[2];

	fflush(stdout);
	if (pipe(end))
		exit(1);
	if (!fork()) {
		s = solve(c, ns, max_sec);
		_exit(write(end[1], &s, sizeof(s)) != sizeof(s));
	}
	close(end[1]);
	if (read(end[0], &s, sizeof(s)) != sizeof(s))
		s = none;
	close(end[0]);
	wait(NULL);
	return s;
}

/* ---- A pass over a contracted graph and the memory bandwidth ---- */

#define READ_BYTES ((size_t)1 << 27)
#define COPIES_BYTES 4e6
#define MAX_COPIES 128
#define AHEAD 128 /* prefetch distance */

/*
 * T and slope at one x, and T at four. Other data replaces the graph in all
 * caches before each measurement.
 */
struct bench_pass {
	double bytes_per_sec;	  /* memory bandwidth of one processor */
	double one_sec, four_sec; /* processor time */
	double one, four;	  /* share of that bandwidth */
};

/* keeps the compiler from removing the computation */
static volatile double keep;

/*
 * Seconds to read a large array sequentially, in the same kind of memory and
 * with the same prefetching as a pass.
 */
static double read_all(const double *a, size_t n)
{
	double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID), s0 = 0, s1 = 0,
	       s2 = 0, s3 = 0, sec;

	/* Several sums, because each addition waits for the one before. */
	for (size_t i = 0; i < n; i += 4) {
		__builtin_prefetch(a + i + AHEAD);
		s0 += a[i];
		s1 += a[i + 1];
		s2 += a[i + 2];
		s3 += a[i + 3];
	}
	sec = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	keep = s0 + s1 + s2 + s3;
	return sec;
}

/* Bytes that a pass reads and writes, each counted once. */
static double pass_bytes(const struct np_tolerance *t, size_t per_vertex)
{
	return (double)np_tolerance_size(t).edges * sizeof(struct np_edge) +
	       (double)np_tolerance_size(t).vertices *
		       (double)(sizeof(uint32_t) + per_vertex);
}

/*
 * The graph and copies of it, as many as make a pass over all of them longer
 * than reading the clock.
 */
struct copies {
	struct np_chain c[MAX_COPIES]; /* the first is that of the graph */
	struct np_workspace *room[MAX_COPIES];
	size_t n;
};

static void copy(const struct np_compact *from, struct np_compact *to)
{
	size_t edges = np_compact_edges(from);

	must(!np_compact_reserve(to, from->n, edges), "out of memory");
	memcpy(to->edge, from->edge, edges * sizeof(*to->edge));
	memcpy(to->first, from->first, (from->n + 1) * sizeof(*to->first));
	to->n = from->n;
}

static struct copies *make_copies(struct np_tolerance *t)
{
	struct copies *k = calloc(1, sizeof(*k));
	size_t n = t->c.n > 1 ? 1 :
				1 + (size_t)(COPIES_BYTES / pass_bytes(t, 8));

	must(k, "out of memory");
	k->n = n < MAX_COPIES ? n : MAX_COPIES;
	k->c[0] = t->c;
	k->room[0] = t->room[0];
	for (size_t i = 1; i < k->n; i++) {
		k->c[i].n = 1;
		copy(&t->c.link[0], &k->c[i].link[0]);
		k->room[i] = np_workspace_new(&k->c[i]);
		must(k->room[i], "out of memory");
	}
	return k;
}

static void free_copies(struct copies *k)
{
	for (size_t i = 1; i < k->n; i++) {
		np_workspace_free(k->room[i]);
		np_chain_free(&k->c[i]);
	}
	free(k);
}

static double one_sec(struct copies *k, const struct np_pass *p)
{
	double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);

	for (size_t i = 0; i < k->n; i++)
		keep = np_pass(&k->c[i], p, k->room[i]).t;
	return (np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)k->n;
}

static double four_sec(struct copies *k)
{
	const double x[NP_PASS_TIMES] = { 3000, 4000, 5000, 6000 };
	double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID),
	       out[NP_PASS_TIMES];

	for (size_t i = 0; i < k->n; i++)
		np_pass_times(&k->c[i], x, k->room[i], out);
	return (np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)k->n;
}

/* Minimum times, measured alternately, because others use the memory too. */
static struct bench_pass bench_pass(struct np_tolerance *t)
{
	const struct np_pass p = { NP_STEEPEST, 3000,
				   np_tolerance_tie(t, 3000) };
	struct bench_pass b = { .one_sec = INFINITY, .four_sec = INFINITY };
	struct copies *k = make_copies(t);
	double *a = np_large_alloc(READ_BYTES, 1), sec = INFINITY;
	size_t n = READ_BYTES / sizeof(*a);

	must(a, "out of memory");
	for (size_t i = 0; i < n; i++)
		a[i] = 1;
	for (int round = 0; round < ROUNDS; round++) {
		sec = fmin(read_all(a, n), sec);
		b.one_sec = fmin(one_sec(k, &p), b.one_sec);
		sec = fmin(read_all(a, n), sec);
		b.four_sec = fmin(four_sec(k), b.four_sec);
	}
	free(a);
	free_copies(k);
	b.bytes_per_sec = READ_BYTES / sec;
	b.one = pass_bytes(t, 8) / b.one_sec / b.bytes_per_sec;
	b.four = pass_bytes(t, 32) / b.four_sec / b.bytes_per_sec;
	return b;
}

/* ---- Execution graphs ---- */

/* Adds an operation that depends on the n listed ones. */
static uint32_t op(struct np_graph *g, enum np_op_kind kind, uint64_t size,
		   uint32_t peer, uint32_t tag, const uint32_t *on, size_t n)
{
	struct np_graph_op o = {
		.kind = kind, .size = size, .peer = peer, .tag = tag
	};
	struct np_err err;
	uint32_t i;

	must(!np_graph_add(g, &o, &i, &err), err.text);
	for (size_t k = 0; k < n; k++)
		must(!np_graph_depend(g, i, on[k], NP_REQUIRES, &err),
		     err.text);
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

/* The neighbours of a rank on a torus. */
static void find_peers(uint32_t rank, uint32_t side, uint32_t peer[4])
{
	uint32_t x = rank % side, y = rank / side;

	peer[0] = (x + 1) % side + y * side;
	peer[1] = (x + side - 1) % side + y * side;
	peer[2] = x + (y + 1) % side * side;
	peer[3] = x + (y + side - 1) % side * side;
}

static uint32_t exchange(struct np_graph *g, uint32_t side, uint32_t rank,
			 uint32_t prev, const uint64_t ns[2])
{
	uint32_t on[9], start, peer[4];

	find_peers(rank, side, peer);
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
	must(!np_graph_new("bench", ranks, &g, &err), err.text);
	for (uint32_t r = 0; r < ranks; r++) {
		uint64_t ns[2] = { 0, 0 };
		uint32_t prev;

		must(!np_graph_rank(g, r, NULL, &err), err.text);
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
	must(!np_graph_finish(g, &err), err.text);
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
	must(!lseek(fileno(f), 0, SEEK_SET), "lseek");
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	must(!np_goal_read(fileno(f), "bench", &g, &err), err.text);
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

	must(f && !pipe(fd), "no file");
	must(!np_goal_write(g, f, &err) && !fflush(f), err.text);
	np_graph_free(g);
	mb = 1e-6 * (double)ftell(f);
	pid = fork();
	if (!pid)
		read_and_report(f, fd[1]);
	must(read(fd[0], result, sizeof(result)) == sizeof(result) &&
		     waitpid(pid, NULL, 0) == pid,
	     "no answer");
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
		must(!np_tolerance_critical(t, 3000, limit, &c, &n, &err),
		     err.text);
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
	must(!np_tolerance_new(g, &opt, &t, &err), err.text);
	made = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	np_graph_free(g);
	best = bench_pass(t);
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	limit = np_tolerance_limit(t, 3000, 0.05);
	limit_sec = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
	start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	must(!np_tolerance_critical(t, 3000, limit, &critical, &n, &err),
	     err.text);
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
		must(!np_tolerance_new(g, &own, &t, &err), err.text);
		made[unfold] = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
		pass[unfold] = bench_pass(t).one_sec;
		np_tolerance_at(t, 3000, &r);
		ns[unfold] = r.ns;
		start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
		limit[unfold] = np_tolerance_limit(t, 3000, 0.05);
		sec[unfold] = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
		start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
		must(!np_tolerance_critical(t, 3000, limit[unfold], &critical,
					    &n, &err),
		     err.text);
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

/* ---- Traces of many ranks ---- */

#define STEPS 100	      /* of each rank in a trace */
#define MAX_SEC_PER_CALL 1e-5 /* read, matched and prepared */
#define MAX_BYTES_PER_CALL 500
#define TRIALS 3000

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
	uint32_t peer[4];

	find_peers(rank, side, peer);
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

/* Up to 1,024 ranks: time and memory. Returns 1 if these fail. */
static int bench_traces(void)
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
	struct np_tolerance_opt own = {
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
	must(g && !np_tolerance_simulate(g, &own, NULL, &greedy_ns, &err),
	     err.text);
	own.placed.node = node;
	must(!np_place_ranks(g, &own, node, 1, TRIALS, &r, &err), err.text);
	np_graph_free(g);
	printf("%-28s %9.2f %9.2f %9.2f %7.1f %% %7zu %6.1f\n",
	       some_exchange_names[i], 1e-3 * r.before_ns, 1e-3 * greedy_ns,
	       1e-3 * r.after_ns, 100 * (1 - r.after_ns / r.before_ns),
	       r.trials, np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start);
	return r.after_ns < r.before_ns && r.after_ns < greedy_ns;
}

/*
 * Exchanges of 64 ranks: the search for a placement, compared with the order of
 * the ranks and with a greedy placement. Returns 1 if fewer than 3 are better
 * than both.
 */
static int bench_placement(void)
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

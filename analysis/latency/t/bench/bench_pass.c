#include "bench_pass.h"
#include "np_clock.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "np_large.h"

#define READ_BYTES ((size_t)1 << 27)
#define COPIES_BYTES 4e6
#define MAX_COPIES 128
#define AHEAD 128 /* prefetch distance */
#define ROUNDS 15

long bench_peak_bytes(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss * 1024;
}

static void must(bool has)
{
	if (has)
		return;
	fprintf(stderr, "bench: out of memory\n");
	exit(1);
}

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

	must(!np_compact_reserve(to, from->n, edges));
	memcpy(to->edge, from->edge, edges * sizeof(*to->edge));
	memcpy(to->first, from->first, (from->n + 1) * sizeof(*to->first));
	to->n = from->n;
}

static struct copies *make_copies(struct np_tolerance *t)
{
	struct copies *k = calloc(1, sizeof(*k));
	size_t n = t->c.n > 1 ? 1 :
				1 + (size_t)(COPIES_BYTES / pass_bytes(t, 8));

	must(k);
	k->n = n < MAX_COPIES ? n : MAX_COPIES;
	k->c[0] = t->c;
	k->room[0] = t->room[0];
	for (size_t i = 1; i < k->n; i++) {
		k->c[i].n = 1;
		copy(&t->c.link[0], &k->c[i].link[0]);
		k->room[i] = np_workspace_new(&k->c[i]);
		must(k->room[i]);
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
struct bench_pass bench_pass(struct np_tolerance *t)
{
	const struct np_pass p = { NP_STEEPEST, 3000,
				   np_tolerance_tie(t, 3000) };
	struct bench_pass b = { .one_sec = INFINITY, .four_sec = INFINITY };
	struct copies *k = make_copies(t);
	double *a = np_large_alloc(READ_BYTES, 1), sec = INFINITY;
	size_t n = READ_BYTES / sizeof(*a);

	must(a);
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

#include "bench_big.h"

#include <stdio.h>
#include <stdlib.h>

#include "np_clock.h"
#include "np_rng.h"
#include "np_snapshot.h"

const struct bench_mix bench_mixes[] = {
	{ "usual", 200, .3, .7, .6, 1u << NP_MODE_ENFORCE, 1 },
	{ "prefer and advise", 200, .3, .7, .6,
	  1u << NP_MODE_ENFORCE | 1u << NP_MODE_PREFER | 1u << NP_MODE_ADVISE,
	  3 },
	{ "all in conflict", 200, 1, 1, 2, 1u << NP_MODE_ENFORCE, 1.5 },
	{ "all untrusted", 200, .3, 0, .6, 1u << NP_MODE_ENFORCE, 1.6 },
	{ "1000 applications", 1000, .3, .7, .6, 1u << NP_MODE_ENFORCE, 3 },
};
const size_t bench_n_mixes = NP_ARRAY_SIZE(bench_mixes);

double bench_random(void)
{
	static uint64_t seed = 1;

	return np_rng_unit(np_rng_next(&seed));
}

uint32_t bench_below(uint32_t n)
{
	return (uint32_t)(bench_random() * n);
}

struct bench_span bench_now(void)
{
	return (struct bench_span){ np_clock_sec(CLOCK_MONOTONIC),
				    np_clock_sec(CLOCK_THREAD_CPUTIME_ID) };
}

struct bench_span bench_since(struct bench_span begin)
{
	struct bench_span end = bench_now();

	return (struct bench_span){ end.wall_sec - begin.wall_sec,
				    end.cpu_sec - begin.cpu_sec };
}

void bench_must(int rc, const struct np_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s\n", err->text);
	exit(1);
}

struct loudness {
	double slows[NP_CONFLICT_MAX_PROFILES];
	double feel[NP_CONFLICT_MAX_PROFILES];
};

static int slowdown_of(void *arg, uint32_t victim, uint32_t co,
		       enum np_contact contact, double *slowdown)
{
	static const double sharing[] = { 1.5, 1, .5 };
	const struct loudness *l = arg;

	*slowdown = sharing[contact] * l->feel[victim] * l->slows[co];
	return 0;
}

struct np_slowdowns *bench_slowdowns(const struct bench_mix *m)
{
	static struct loudness l;
	struct np_oracle o = { slowdown_of, &l };
	struct np_conflict *c = np_conflict_new(&o);
	struct np_slowdowns *t;
	struct np_err err;

	for (uint32_t i = 0; i < m->profiles; i++) {
		bool loud = bench_random() < m->loud;
		uint32_t handle;

		l.slows[i] = loud ? bench_random() : .02 * bench_random();
		l.feel[i] = m->most * bench_random();
		bench_must(np_conflict_add(c, i % BENCH_USERS,
					   bench_random() < m->trusted, &handle,
					   &err),
			   &err);
	}
	np_conflict_predict(c, NULL, 0, SIZE_MAX);
	bench_must(np_conflict_table(c, .01, &t, &err), &err);
	np_conflict_free(c);
	return t;
}

uint32_t bench_first_node(uint32_t leaf)
{
	return (uint32_t)((uint64_t)leaf * BENCH_NODES / BENCH_LEAVES);
}

struct np_leaves *bench_leaves(void)
{
	static char name[BENCH_LEAVES][12];
	static uint32_t node[BENCH_NODES];
	struct np_leaf leaf[BENCH_LEAVES];
	struct np_leaves *l;
	struct np_err err;

	for (uint32_t i = 0; i < BENCH_NODES; i++)
		node[i] = i;
	for (uint32_t i = 0; i < BENCH_LEAVES; i++) {
		uint32_t first = bench_first_node(i);

		snprintf(name[i], sizeof(name[i]), "leaf%u", i);
		leaf[i] = (struct np_leaf){ name[i], node + first,
					    bench_first_node(i + 1) - first };
	}
	bench_must(np_leaves_new(BENCH_NODES, leaf, BENCH_LEAVES, &l, &err),
		   &err);
	return l;
}

static int by_wall(const void *a, const void *b)
{
	const struct bench_span *x = a, *y = b;

	return x->wall_sec < y->wall_sec ? -1 : x->wall_sec > y->wall_sec;
}

static int by_cpu(const void *a, const void *b)
{
	const struct bench_span *x = a, *y = b;

	return x->cpu_sec < y->cpu_sec ? -1 : x->cpu_sec > y->cpu_sec;
}

double bench_report(const char *mix, const char *what, struct bench_span *t,
		    size_t n, double unit_sec, const char *unit)
{
	size_t p99 = (n * 99 + 99) / 100 - 1;

	qsort(t, n, sizeof(*t), by_wall);
	printf("%-18s %-15s n %6zu  median %7.1f p99 %7.1f max %7.1f %s", mix,
	       what, n, t[n / 2].wall_sec / unit_sec,
	       t[p99].wall_sec / unit_sec, t[n - 1].wall_sec / unit_sec, unit);
	qsort(t, n, sizeof(*t), by_cpu);
	printf("  CPU median %7.1f p99 %7.1f max %7.1f %s\n",
	       t[n / 2].cpu_sec / unit_sec, t[p99].cpu_sec / unit_sec,
	       t[n - 1].cpu_sec / unit_sec, unit);
	return t[p99].cpu_sec;
}

#include "bench_baseline.h"
#include "np_clock.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (1u << 24) /* 64 MB, a power of two */
#define STEPS 1000
#define TERMS 10000
#define MOST 1001 /* measurements that count; later ones replace old ones */

/* One round through all of it, in an order that no prefetcher guesses. */
static const uint32_t *memory(void)
{
	static uint32_t *next;

	if (next)
		return next;
	next = malloc(WORDS * sizeof(*next));
	if (!next)
		exit(1);
	/* Full period: odd increment, multiplier 1 modulo 4. */
	for (uint32_t i = 0; i < WORDS; i++)
		next[i] = (i * 1664525u + 1013904223u) % WORDS;
	return next;
}

static double baseline(void)
{
	static uint32_t at;
	static volatile double kept;
	const uint32_t *next = memory();
	double begin = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID), x = 1;

	for (int i = 0; i < STEPS; i++)
		at = next[at];
	for (int i = 0; i < TERMS; i++)
		x = 1.5 * x / (x + 0.25 + (double)(at & 1));
	kept = x;
	(void)kept;
	return np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

int bench_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_baseline(void)
{
	static double sec[MOST];
	static size_t n;
	double sorted[MOST];
	size_t used;

	sec[n++ % MOST] = baseline();
	used = n < MOST ? n : MOST;
	memcpy(sorted, sec, used * sizeof(*sec));
	qsort(sorted, used, sizeof(*sorted), bench_by_size);
	return sorted[used / 2];
}

bool bench_within(const char *what, double sec, double baselines)
{
	double unit = bench_baseline();

	if (sec <= baselines * unit)
		return true;
	printf("%-18s too slow: %.3g baselines of %.3g us, at most %g\n", what,
	       sec / unit, 1e6 * unit, baselines);
	return false;
}

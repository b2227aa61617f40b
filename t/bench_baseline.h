/*
 * A yardstick for benches: work that is always the same, so that bounds are
 * ratios, which hold on a machine that is half as fast, too.
 *
 * A baseline of the machine is a thousand steps through memory that no cache holds, each from
 * where the last one led, and ten thousand multiplications and divisions, each
 * of what the last one gave: the two things that the code under test waits for.
 */
#ifndef NP_BENCH_BASELINE_H
#define NP_BENCH_BASELINE_H

#include <stdbool.h>

/*
 * CPU seconds of a baseline: the median of those of this process so far, after one
 * more. To be called all along, as machines change their speed.
 */
double bench_baseline(void);

/*
 * Is it at most so many baselines? If not, says so. what: of the line.
 */
bool bench_within(const char *what, double cpu_sec, double baselines);

/* Compares two numbers, for qsort(3). */
int bench_by_size(const void *a, const void *b);

#endif

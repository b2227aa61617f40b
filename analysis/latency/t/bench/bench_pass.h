/* Compares a pass over a contracted graph with the memory bandwidth. */
#ifndef NP_BENCH_PASS_H
#define NP_BENCH_PASS_H

#include "np_tolerance_impl.h"

/*
 * T and slope at one x, and T at four. Other data replaces the graph in all
 * caches before each measurement.
 */
struct bench_pass {
	double bytes_per_sec;	  /* memory bandwidth of one processor */
	double one_sec, four_sec; /* processor time */
	double one, four;	  /* share of that bandwidth */
};

struct bench_pass bench_pass(struct np_tolerance *t);

/* Most memory that this process has had. */
long bench_peak_bytes(void);

#endif

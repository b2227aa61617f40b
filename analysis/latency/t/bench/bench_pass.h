/* A pass over a contracted graph beside the bandwidth of the memory. */
#ifndef NP_BENCH_PASS_H
#define NP_BENCH_PASS_H

#include "np_tolerance_impl.h"

/*
 * Of T and its slope at one x, and of T at four.  Each comes after so much
 * else that no cache has anything of the graph.
 */
struct bench_pass {
	double bytes_per_sec;	  /* of the memory, read by one processor */
	double one_sec, four_sec; /* processor time */
	double one, four;	  /* share of that bandwidth */
};

struct bench_pass bench_pass(struct np_tolerance *t);

/* Of this process. */
double bench_cpu_sec(void);

#endif

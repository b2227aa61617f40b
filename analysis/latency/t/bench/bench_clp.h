/* A contracted graph as a linear program, solved by Clp. */
#ifndef NP_BENCH_CLP_H
#define NP_BENCH_CLP_H

#include <stdbool.h>

#include "np_tolerance_impl.h"

struct bench_solved {
	double x, sec; /* sec: processor time; the limit if it was exceeded */
	bool ended;
};

/* The largest x with T <= ns, if it is found within the time limit. */
struct bench_solved bench_clp(const struct np_compact *c, double ns,
			      double max_sec);

#endif

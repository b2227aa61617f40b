/* A contracted graph as a linear program, solved by Clp. */
#ifndef NP_BENCH_CLP_H
#define NP_BENCH_CLP_H

#include <stdbool.h>

#include "np_compact.h"

#define BENCH_CLP_MAX_SEC 180 /* of processor time */

struct bench_solved {
	double x, sec;
	bool ended;
};

/* The largest x with T <= ns, if that is found in time. */
struct bench_solved bench_clp(const struct np_compact *c, double ns);

#endif

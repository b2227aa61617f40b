#include "bench_clp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coin/Clp_C_Interface.h>

#include "bench_pass.h"
#include "np_clock.h"

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
struct bench_solved bench_clp(const struct np_compact *c, double ns,
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

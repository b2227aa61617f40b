/* What measured runs say of pairs: pure functions of the runs. */
#ifndef NP_VALIDATE_RESULT_H
#define NP_VALIDATE_RESULT_H

#include <stdbool.h>

#include "np_pairs.h"

/*
 * A pair under two leaves shares no switch, so its slowdown there is not that
 * of the network: up to this much of it is taken off, of a pair with more
 * nothing is believed.
 */
#define NP_VALIDATE_CONTROL_MOST 0.05

/*
 * Two runs of a pair that differ by more are told: one of them may have been
 * disturbed, or its co-runner may not have come up.
 */
#define NP_VALIDATE_REPEAT_MOST 0.20

struct np_validate_pair {
	struct np_mean slowdown; /* on one leaf, less that under two */
	struct np_mean apart;	 /* under two leaves; n 0: not measured */
	double between; /* how its first two runs differ; NaN: there are none */
	bool refused; /* slowed too much there: slowdown has n 0 */
};

struct np_validate_app {
	double launch_sec; /* of srun without the program: taken off all runs */
	struct np_mean alone_sec;
	double drift; /* of runs alone: longest less shortest, over the mean */
};

/* Programs by their order in p. */
struct np_validate_result {
	size_t n_programs;
	struct np_validate_app *app;
	struct np_validate_pair *pair; /* [victim * n_programs + co-runner] */
	size_t n_pairs, n_refused, n_controls; /* that have a slowdown; ... */
	/* Pairs that ran more than once, and how two such runs differ. */
	size_t n_repeated;
	double repeat_points; /* mean, in points of slowdown; NaN: none */
	double control_mean, control_most; /* absolute, fractions; NaN: none */
};

/*
 * A run's time is compared with that run of its victim alone that was nearest
 * in time.  Returns 0 (free with np_validate_result_free()) or -ENOMEM.
 */
int np_validate_result_make(const struct np_pairs *p,
			    struct np_validate_result *out);
void np_validate_result_free(struct np_validate_result *r);

/* The results as tables of p, which owns them.  Returns 0 or -ENOMEM. */
int np_validate_result_give(const struct np_validate_result *r,
			    struct np_pairs *p);

#endif

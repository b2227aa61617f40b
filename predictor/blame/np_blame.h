/*
 * Blame: which of several suspected causes made a run slower than comparable
 * runs.
 *
 * Each run has a run time and, for each cause, an exposure in seconds: how much
 * of its time the cause was active and how strongly, times the usual run time.
 * Examples are the share of time in which processes waited for a processor, or
 * the traffic of other jobs on the leaf switch relative to its maximum. The
 * model of the run times is
 *
 *	run time = time alone + sum of cost * exposure + noise
 *
 * where costs are not negative, the time alone and the costs are the same in
 * all comparable runs, and the noise is proportional to the run time. Each cost
 * has a prior, which decides where the comparable runs say little: a second of
 * waiting for a processor is expected to cost about a second. The run in
 * question has one more cause, unknown to us, so that what the others do not
 * account for stays unexplained.
 *
 * Results are taken from samples of the posterior distribution: each sample
 * perturbs run times and priors by their own uncertainty and solves again.
 * Intervals hold 90 % of the samples. Pure: no clock, no input, no output.
 */
#ifndef NP_BLAME_H
#define NP_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_BLAME_MAX_CAUSES 16
#define NP_BLAME_LEAST_RUNS 3	  /* comparable runs needed for a verdict */
#define NP_BLAME_LEAST_SHARE 0.05 /* least relative excess of a slow run */
#define NP_BLAME_INTERVAL 0.9	  /* probability of the intervals */

/* Expected cost of one second of exposure, seconds. */
struct np_blame_prior {
	double mean, sd;
};

struct np_blame_range {
	double mean, low, high;
};

struct np_blame_cause {
	struct np_blame_range sec; /* run time that it cost, seconds */
	double confidence;	   /* probability that this is not negligible */
	bool examined;		   /* its exposure in the run is known */
	bool blamed;
};

enum np_blame_verdict {
	NP_BLAME_TOO_FEW, /* too few comparable runs */
	NP_BLAME_NOT_SLOW,
	NP_BLAME_CAUSE,	      /* at least one cause is blamed */
	NP_BLAME_UNEXPLAINED, /* slow, but no cause is blamed */
};

struct np_blame {
	enum np_blame_verdict verdict;
	double confidence;		  /* in the verdict, 0 to 1 */
	size_t n_runs;			  /* comparable runs */
	double usual_sec;		  /* median of the comparable runs */
	double noise;			  /* of a single run, relative */
	struct np_blame_range alone_sec;  /* run time without any cause */
	struct np_blame_range excess_sec; /* of the run over alone_sec */
	struct np_blame_cause cause[NP_BLAME_MAX_CAUSES];
	size_t n_causes;
	struct np_blame_range unexplained_sec;
};

/*
 * Judge one run. sec: run times of n_runs comparable runs, then of the run in
 * question; all > 0. exposure: n_causes exposures of each of these n_runs + 1
 * runs, >= 0; NaN: unknown. Returns 0; or, with err, -EINVAL (an invalid
 * number, or too many causes) or -ENOMEM.
 */
int np_blame_run(const double *sec, const double *exposure, size_t n_runs,
		 size_t n_causes, const struct np_blame_prior *prior,
		 struct np_blame *out, struct np_err *err);

/*
 * Only the costs, from n comparable runs: cost[] per second of exposure, and
 * total[], the seconds that each cause accounts for in all runs together.
 * Returns as np_blame_run() does.
 */
int np_blame_costs(const double *sec, const double *exposure, size_t n,
		   size_t n_causes, const struct np_blame_prior *prior,
		   struct np_blame_range *cost, struct np_blame_range *total);

#endif

/*
 * Which of several suspects made a run slower than its comparable runs?
 *
 * Each run has a run time and, for each suspect, an exposure in seconds: for
 * how much of its time the suspect was at work, and how strongly, times the
 * usual run time, such as the share of time in which processes waited for a
 * processor, or the traffic of other jobs on the leaf switch over the most it
 * ever was.  The run times are taken to be
 *
 *	run time = time alone + sum of cost * exposure + noise
 *
 * where no cost is negative, the time alone and the costs are the same in all
 * comparable runs, and the noise is proportional to the run time.  A cost has a
 * prior, which decides where comparable runs say little: a second of waiting
 * for a processor is expected to cost about a second.  The run that is asked
 * about has one more suspect, something that nobody looked at, so that what the
 * others do not account for stays unexplained.
 *
 * Answers are drawn from the posterior distribution (each draw perturbs the run
 * times and the priors by their own uncertainty and solves again), and
 * intervals hold 90 % of the draws.  Pure: no clock, no input, no output.
 */
#ifndef NP_BLAME_H
#define NP_BLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_BLAME_MAX_CAUSES 16
#define NP_BLAME_LEAST_RUNS 3	/* comparable runs without which we are silent */
#define NP_BLAME_LEAST_SHARE 0.05 /* of the time alone: a run is called slow */
#define NP_BLAME_INTERVAL 0.9	/* probability that intervals hold */

/* What one second of exposure is expected to cost, seconds. */
struct np_blame_prior {
	double mean, sd;
};

struct np_blame_range {
	double mean, low, high;
};

struct np_blame_cause {
	struct np_blame_range sec; /* what it cost the run */
	double confidence; /* probability that this is more than a little */
	bool examined;	   /* its exposure in the run is known */
	bool blamed;
};

enum np_blame_verdict {
	NP_BLAME_TOO_FEW,     /* comparable runs */
	NP_BLAME_NOT_SLOW,
	NP_BLAME_CAUSE,	      /* at least one suspect is blamed */
	NP_BLAME_UNEXPLAINED, /* slow, and no suspect is blamed */
};

struct np_blame {
	enum np_blame_verdict verdict;
	double confidence;	     /* of the verdict, 0 .. 1 */
	size_t n_runs;		     /* comparable ones */
	double usual_sec;	     /* median of the comparable runs */
	double noise;		     /* relative, of one run */
	struct np_blame_range alone_sec; /* run time without any suspect */
	struct np_blame_range excess_sec; /* of the run over that */
	struct np_blame_cause cause[NP_BLAME_MAX_CAUSES];
	size_t n_causes;
	struct np_blame_range unexplained_sec;
};

/*
 * sec: run times of n_runs comparable runs and, as the last one, of the run
 * that is asked about; all > 0.  exposure: for each of these n_runs + 1 the
 * n_causes exposures, >= 0; NaN: not known.  Returns 0, -EINVAL (a number that
 * is none, too many causes) or -ENOMEM, with err.
 */
int np_blame_run(const double *sec, const double *exposure, size_t n_runs,
		 size_t n_causes, const struct np_blame_prior *prior,
		 uint64_t seed, struct np_blame *out, struct np_err *err);

/*
 * The costs alone, of n runs that are alike: cost[] per second of exposure, and
 * in total[] the seconds of all runs together that each cause accounts for.
 */
int np_blame_costs(const double *sec, const double *exposure, size_t n,
		   size_t n_causes, const struct np_blame_prior *prior,
		   uint64_t seed, struct np_blame_range *cost,
		   struct np_blame_range *total, struct np_err *err);

#endif

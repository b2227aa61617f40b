/*
 * How the four components of np_four.h change with the number of processes P,
 * fitted to several runs of one program and problem (strong scaling):
 *
 *	mean size of a message		c P^e, a line in logarithms
 *	messages, active time (of all)	b0 + b1 P + b2 P^2
 *	compute time (of all)		between the runs a line, as caches make
 *					it irregular; beyond them the last one's
 *
 * Fits minimise relative errors, as walls are compared so.
 */
#ifndef NP_SCALING_H
#define NP_SCALING_H

#include <stddef.h>
#include <stdint.h>

#include "np_four.h"

#define NP_SCALING_MAX_RUNS 1024

enum np_scaling_flag {
	NP_SCALING_BEYOND = 1,	  /* more or fewer processes than any run */
	NP_SCALING_NEGATIVE = 2,  /* a fit is below 0 there: taken as 0 */
	NP_SCALING_NO_INTERVAL = 4, /* no more runs than a fit has numbers */
};

struct np_scaling;

/*
 * Fit n runs and their components, as np_four() gave them for that link; both
 * borrowed for the call.  There may be several of the same number of processes.
 * Returns 0 (free with np_scaling_free()), or with err: -EINVAL, more than
 * NP_SCALING_MAX_RUNS; -EDOM, fewer than 3 different numbers of processes; or
 * -ENOMEM.
 */
int np_scaling_fit(const struct np_run *run, const struct np_four *four,
		   size_t n, const struct np_link *link,
		   struct np_scaling **out, struct np_err *err);
void np_scaling_free(struct np_scaling *s); /* NULL is allowed */

/* Processors are so many times as fast as those of the runs: 1 at first. */
void np_scaling_set_speed(struct np_scaling *s, double speed);

struct np_scaled_run {
	struct np_four four;
	/*
	 * 90 % of the wall: what the misses of the fits, and of compute time
	 * when a run is interpolated from its neighbours, say.  They are taken
	 * to be independent.  NaN with NP_SCALING_NO_INTERVAL.
	 */
	double low_sec, high_sec;
	unsigned flags; /* enum np_scaling_flag */
};

/*
 * What a run of that many processes would take.  Returns 0, -EINVAL (no such number of processes) or -ENOMEM.
 */
int np_scaling_at(const struct np_scaling *s, double processes,
		  struct np_scaled_run *out, struct np_err *err);

/* What is known without any model, of n > 0 runs. */
enum np_scaling_baseline {
	NP_BASELINE_NEAREST, /* as the run of the nearest P, in logarithms */
	NP_BASELINE_IDEAL,   /* that, P times the time staying the same */
	NP_BASELINE_AMDAHL,  /* s + p / P, fitted relatively, s and p >= 0 */
};
double np_scaling_baseline(enum np_scaling_baseline which,
			   const struct np_run *run, size_t n,
			   double processes);

#endif

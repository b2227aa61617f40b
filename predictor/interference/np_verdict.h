/*
 * The verdict on a profile: from the numbers to what a user is told.
 * A pure function; the words are the caller's.
 *
 * A probe counts as delayed if it is slower than 95 % of the idle probes and
 * 1.25 times their median.  delayed_share is the share of such probes beyond
 * the share that idle itself has, (P - P_idle) / (1 - P_idle).  It alone would
 * call a shift of 3 % heavy where idle is very quiet, and the mean alone would
 * do so for one lost packet in a thousand.  So both the share of the delayed
 * and the size of the delay have to say so:
 *
 *			delayed_share	rho (np_queue.h, 1/mu = mean of idle)
 *	moderately	>= 0.10		>= 0.10
 *	heavily		>= 0.35		>= 0.30
 *	saturating	>= 0.90		>= 0.95
 *
 * and lightly otherwise.  The thresholds come from real packets on one leaf
 * with 14 loads of known utilisation (t/data/leaf-latencies.txt): delayed_share
 * grew with the utilisation (0.22 at 9 %, about 0.35 at half, 0.9 when full),
 * while rho, which takes arrivals for Poisson, was above 0.6 for all of them.
 */
#ifndef NP_VERDICT_H
#define NP_VERDICT_H

#include <stdbool.h>

#include "np_err.h"
#include "np_hist.h"
#include "np_moments.h"
#include "np_phase.h"

#define NP_VERDICT_PROBES 30 /* fewer say nothing, of program or idle */

enum np_use {
	NP_USE_UNKNOWN,
	NP_USE_LIGHT,
	NP_USE_MODERATE,
	NP_USE_HEAVY,
	NP_USE_SATURATED,
};

/* What the program was compared with. */
enum np_against {
	NP_AGAINST_NOTHING, /* too few probes */
	NP_AGAINST_IDLE,
	/*
	 * No idle run: its own fastest tenth, taken for idle.  Delayed is then
	 * slower than twice that.  A guess, to be called one.
	 */
	NP_AGAINST_SELF,
};

struct np_verdict_in {
	/* Samples of runs without interference; moments.n is 0 if none. */
	const struct np_hist *hist;
	struct np_moments moments;
	/* The idle network; idle_moments.n is 0 if not measured. */
	const struct np_hist *idle_hist;
	struct np_moments idle_moments;
	struct np_phases phases;
	size_t n_level_runs; /* runs beside an interference level */
};

struct np_verdict {
	enum np_use use;
	enum np_against against;
	double delayed_sec;   /* a probe is delayed if slower than this */
	double delayed_share; /* 0 .. 1 */
	/* Share of probes slower than idle's p95 (0.05 if idle) and p99
	 * (0.01); against NP_AGAINST_IDLE only. */
	double beyond_p95, beyond_p99;
	double excess;	      /* mean / reference - 1 */
	double rho;	      /* the index, 0 .. 1 */
	enum np_phase_kind phases;
	double busy_share; /* of the time; NP_PHASE_PHASES only */
	bool interference; /* measured beside a level, too */
};

/* in is borrowed.  Always gives an answer; NP_USE_UNKNOWN is one. */
void np_verdict_make(const struct np_verdict_in *in, struct np_verdict *out);

/* The share of the samples that are slower than sec; 0 for an empty one. */
double np_verdict_slower(const struct np_hist *h, double sec);

#endif

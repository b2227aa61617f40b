/*
 * Divides the wall-clock time of an MPI program into four components
 * (Buckwalter, LLNL subcontract B546340):
 *
 *	switch		m (L / BW + Lat), of m messages of mean size L
 *	contention	waiting for others in MPI
 *	active		the rest of the time in MPI
 *	compute		all other time
 *
 * Contention comes from a closed queueing network with P customers, one for
 * each process. A cycle consists of compute / m of thinking, the switch delay
 * of a message, and a service of a = active / m at one of P equally likely
 * stations. Contention is R(P) - a for each message, where R(P) is the time at
 * the station, waiting included. The structure of this network is our
 * reconstruction, because the figure of the source is lost.
 *
 * Times are in seconds, per process, unless they are called totals.
 */
#ifndef NP_FOUR_H
#define NP_FOUR_H

#include <stddef.h>

#include "np_err.h"

#define NP_FOUR_MAX_PROCESSES 4194304

/* Measurements of a run; means over processes. */
struct np_run {
	double processes;
	double app_sec, mpi_sec; /* whole time, and the part spent in MPI */
	double messages;
	double mean_bytes;
};

/* What a message of b bytes takes: b / bytes_per_sec + latency_sec. */
struct np_link {
	double bytes_per_sec;
	double latency_sec;
};

enum np_four_variant {
	/*
	 * As published: time in MPI consists of active and contention. The
	 * switch time is added, so that the wall-clock time exceeds the
	 * measured one.
	 */
	NP_FOUR_PUBLISHED,
	/* Time in MPI includes the switch. */
	NP_FOUR_CONSISTENT,
};

struct np_four {
	double switch_sec, contention_sec, active_sec, compute_sec;
	double wall_sec; /* sum of the components */
};

/*
 * Computes the components of a measured run. Without messages, or with a single
 * process, all time in MPI is active (for NP_FOUR_CONSISTENT, all but the
 * switch). Otherwise active time and contention depend on each other; their sum
 * is that time, and active is found by bisection.
 * Returns 0, or -EINVAL with err naming the value: processes not a whole number
 * from 1 to NP_FOUR_MAX_PROCESSES; a time, count or size that is negative or
 * not finite; more time in MPI than in total; bandwidth not above 0.
 */
int np_four(const struct np_run *run, const struct np_link *link,
	    enum np_four_variant variant, struct np_four *out,
	    struct np_err *err);

/*
 * The reverse: contention from known active_sec and compute_sec. Uses only
 * processes, messages and mean_bytes of run. Returns 0 or -EINVAL with err.
 * Exported for the unit tests.
 */
int np_four_forward(const struct np_run *run, const struct np_link *link,
		    double active_sec, double compute_sec, struct np_four *out,
		    struct np_err *err);

/*
 * ---- how the components depend on the number of processes P ----
 *
 * They are fitted to several runs of the same program and problem (strong
 * scaling):
 *
 *	mean size of a message		c P^e, a line in logarithms
 *	messages, active time (total)	b0 + b1 P + b2 P^2
 *	compute time (total)		linear in log P between the runs, as
 *					caches make it irregular; constant
 *					beyond them
 *
 * Fits minimise relative errors, because wall-clock times are compared that
 * way.
 */

#define NP_SCALING_MAX_RUNS 1024

enum np_scaling_flag {
	NP_SCALING_BEYOND = 1,	 /* more or fewer processes than in any run */
	NP_SCALING_NEGATIVE = 2, /* a fit is negative there; 0 is used */
	/* No more runs than a fit has coefficients, so no interval. */
	NP_SCALING_NO_INTERVAL = 4,
};

struct np_scaling;

/*
 * Fits n runs and their components, as np_four() computed them for this link;
 * all are borrowed for the call. Several runs may have the same number of
 * processes. Returns 0 (free with np_scaling_free()), or with err -EINVAL (more
 * than NP_SCALING_MAX_RUNS), -EDOM (fewer than 3 different numbers of
 * processes) or -ENOMEM.
 */
int np_scaling_fit(const struct np_run *run, const struct np_four *four,
		   size_t n, const struct np_link *link,
		   struct np_scaling **out, struct np_err *err);
void np_scaling_free(struct np_scaling *s); /* NULL is allowed */

struct np_scaled_run {
	struct np_four four;
	/*
	 * 90 % interval of the wall-clock time, from the residuals of the fits
	 * and of interpolated compute times, which are assumed to be
	 * independent. NaN with NP_SCALING_NO_INTERVAL.
	 */
	double low_sec, high_sec;
	unsigned flags; /* enum np_scaling_flag */
};

/*
 * Predicts a run with this number of processes, on processors of this speed
 * relative to those of the runs (1: equal). Returns 0, or with err -EINVAL
 * (invalid number) or -ENOMEM.
 */
int np_scaling_at(const struct np_scaling *s, double processes, double speed,
		  struct np_scaled_run *out, struct np_err *err);

/* Predictions without a model, in seconds, from n > 0 runs. */
enum np_scaling_baseline {
	/* time of the run whose P is nearest by ratio */
	NP_BASELINE_NEAREST,
	NP_BASELINE_IDEAL, /* that run, with P times the time constant */
	/* s + p / P, fitted to relative errors, s and p >= 0 */
	NP_BASELINE_AMDAHL,
};
double np_scaling_baseline(enum np_scaling_baseline which,
			   const struct np_run *run, size_t n,
			   double processes);

#endif

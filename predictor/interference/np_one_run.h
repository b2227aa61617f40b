/*
 * The sensitivity curve of a program from a single run. Pure.
 *
 * The run is divided into measurement intervals of a few seconds, every second
 * one of them under a load level. ("Interval" means these here, and confidence
 * intervals are always called so.) The speed of the program in an interval
 * follows from its own traffic: an iterative program sends the same amount in
 * every iteration, so its bytes per second are proportional to its progress. A
 * loaded interval lies between two unloaded ones with rates r1 and r2, which
 * show how fast the program would have been without load. With its own rate r,
 *	x = (log r1 + log r2) / 2 - log r
 * is the log(1 + slowdown) of the interval, unaffected by a steady drift.
 *
 * A program with phases has several rates. The rates of the unloaded intervals
 * are sorted, and a new phase begins where two neighbours differ by more than
 * NP_ONE_RUN_APART; a phase has at least two unloaded intervals. A loaded
 * interval belongs to the phase of both its neighbours, and is dropped if
 * these differ. Intervals have equal lengths, so their speeds exp(-x) are
 * averaged: the inverse of the mean is the factor by which a run under that
 * level takes longer. The slowdown by a level is the mean over the phases,
 * weighted by the time of each phase without load. A phase with almost no
 * traffic cannot be slowed down.
 *
 * The number of MPI calls per second, if counted, serves in the same way. If
 * bytes and calls both give usable results, they must agree, and the one that
 * varies less is used. Where whole runs under two or more levels were measured
 * as well, their run times, which need no such assumption, must also agree.
 *
 * How much x varies within a run is estimated from repeated intervals of a
 * level. Until there are enough of these, it is estimated from the unloaded
 * intervals: one between two others has an x as well, which would be 0 without
 * noise.
 *
 * Own derivation. x varies between the intervals of a run, and its mean
 * between runs. The latter cannot be estimated from the intervals of one run,
 * see np_one_run.c. The confidence intervals are Student's and include both.
 */
#ifndef NP_ONE_RUN_H
#define NP_ONE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_moments.h"

#define NP_INTERVAL_NO_LEVEL ((size_t)-1)
#define NP_ONE_RUN_APART 0.22 /* gap in log(rate) between phases: 25 % */
#define NP_ONE_RUN_QUIET 0.01 /* share of the top rate: almost no traffic */
#define NP_ONE_RUN_PHASES 8   /* maximum number of phases */
#define NP_ONE_RUN_SHARE 0.1  /* phases of a smaller share need no intervals */
#define NP_ONE_RUN_DISAGREE 0.25 /* sd of x above which intervals disagree */
#define NP_ONE_RUN_DIFFER_BY 0.1 /* largest mean |x by bytes - x by calls| */
#define NP_ONE_RUN_MIN 2	 /* per level and phase, of all runs together */
#define NP_ONE_RUN_MAX 8	 /* maximum number of these */
#define NP_ONE_RUN_HALF_WIDTH 0.05 /* of x's interval that suffices */

struct np_interval {
	uint32_t run; /* the intervals of a run are adjacent, in order of time */
	size_t level; /* index of the load level, or NP_INTERVAL_NO_LEVEL */
	double sec;   /* duration with the pause before it, > 0 */
	double rate;  /* the program's own traffic, bytes/s, >= 0 */
	double calls; /* MPI calls per second, >= 0; NaN: not counted */
};

enum np_one_run_verdict {
	NP_ONE_RUN_FEW,	   /* too few intervals to know how much they scatter */
	NP_ONE_RUN_SILENT, /* the program sends almost nothing */
	NP_ONE_RUN_RESTLESS, /* the traffic changes within a few intervals */
	NP_ONE_RUN_SCATTER,  /* the intervals of a level disagree */
	NP_ONE_RUN_DIFFER,   /* bytes and MPI calls disagree */
	NP_ONE_RUN_REFUTED, /* whole runs under the levels disagree with both */
	NP_ONE_RUN_USABLE,
};

/* The verdict in words, for output. */
const char *np_one_run_words(enum np_one_run_verdict verdict);

struct np_one_run_phase {
	double rate;  /* mean of the unloaded intervals, bytes/s; 0: quiet */
	double share; /* of the run time without load, 0 .. 1 */
};

struct np_one_run_level {
	/*
	 * Mean over n intervals. sd / sqrt(n) is the standard error, with the
	 * variation between runs. n is 0 until the level has an interval in
	 * every phase of at least NP_ONE_RUN_SHARE.
	 */
	struct np_mean slowdown;
	double error, df;  /* log(1 + slowdown): sd, degrees of freedom */
	double low, high;  /* 95 % confidence interval of the slowdown */
	double half_width; /* of log(1 + slowdown)'s interval, without
			      the variation between runs */
	size_t least;	   /* least number of intervals in a phase */
};

struct np_one_run {
	enum np_one_run_verdict verdict;
	size_t n_runs, n_loaded;
	size_t n_dropped; /* loaded intervals that could not be used */
	double sec;	  /* duration of all intervals */
	double lost_sec;  /* time by which the load prolonged the runs */
	double scatter;	  /* sd of x; NaN: no level was repeated */
	double between;	  /* sd of log(1 + slowdown) between runs */
	bool by_calls;	  /* MPI calls were used instead of bytes */
	double apart; /* mean difference of log(1 + slowdown) by bytes and by
			    calls; NaN: one of them is unknown */
	struct np_one_run_phase phase[NP_ONE_RUN_PHASES];
	size_t n_phases;
};

/*
 * Estimate the slowdown by each level from the intervals interval[n] of all
 * runs of a workload. whole[n_levels] holds slowdowns of whole runs, which
 * show how much runs differ, and may refute the intervals; it may be NULL. MPI
 * calls are used from runs in which every interval has them. level[n_levels]
 * is always filled in, but must not be relied upon unless the verdict is
 * NP_ONE_RUN_USABLE. Returns 0, -EINVAL (a level, time or rate out of range)
 * or -ENOMEM.
 */
int np_one_run_estimate(const struct np_interval *interval, size_t n,
			const struct np_mean *whole,
			struct np_one_run_level *level, size_t n_levels,
			struct np_one_run *out);

/* ---- selection of the next interval ---- */

struct np_one_run_schedule {
	size_t n_levels;
	double interval_sec; /* duration of an interval with the pause before it */
	double share;	     /* share by which a run may be prolonged, 0 .. 1 */
};

struct np_one_run_next {
	size_t level;  /* or NP_INTERVAL_NO_LEVEL */
	bool complete; /* no level needs another interval in this run */
};

/*
 * Select the next interval of a run that is run_sec old and that interval[n]'s
 * last n_here intervals belong to. Every loaded interval is followed by an
 * unloaded one. Levels with the fewest intervals are preferred, and of these
 * the level that has followed the previous one least often. The first
 * intervals cover the range of the levels: the last level, the first, one in
 * the middle, and so on.
 *
 * A level needs intervals until the confidence interval of log(1 + slowdown),
 * from the scatter within runs, is +-NP_ONE_RUN_HALF_WIDTH, or it has
 * NP_ONE_RUN_MAX. If that takes fewer than NP_ONE_RUN_MIN, the others are left
 * to later runs: the run is complete, and n_here 0 asks whether a further run
 * would be.
 *
 * An interval is assumed to cost its whole duration if its level is unknown,
 * and what the level cost before otherwise. This cost and what the run has
 * already lost must not exceed share of the run time without load. Returns as
 * np_one_run_estimate() does.
 */
int np_one_run_next_interval(const struct np_one_run_schedule *schedule,
			     const struct np_interval *interval, size_t n,
			     size_t n_here, double run_sec,
			     struct np_one_run_next *out);

#endif

/*
 * The sensitivity curve of a program from a single run.  Pure.
 *
 * The run is divided into blocks: measurement intervals of a few seconds, every
 * second one of them under a load level.  (They are not called intervals, since
 * confidence intervals are also computed here.)  The speed of the program in a
 * block follows from its own traffic: an iterative program sends the same amount
 * in every iteration, so its bytes per second are proportional to its progress.
 * A loaded block lies between two unloaded ones with rates r1 and r2, which tell
 * how fast the program would have been without load.  With its own rate r,
 *	x = (log r1 + log r2) / 2 - log r
 * is the log(1 + slowdown) of the block, unaffected by a steady drift.
 *
 * A program with phases has several rates.  The rates of the unloaded blocks are
 * sorted, and a new phase begins where two neighbours differ by more than
 * NP_BLOCKS_APART; a phase has at least two unloaded blocks.  A loaded block
 * belongs to the phase of both its neighbours, and is dropped if these differ.
 * Blocks have equal lengths, so their speeds exp(-x) are averaged: the inverse
 * of the mean is the factor by which a run under that level takes longer.  The
 * slowdown by a level is the mean over the phases, weighted by the time of each
 * phase without load.  A phase with almost no traffic cannot be slowed down.
 *
 * The number of MPI calls per second, if counted, serves in the same way.  If
 * bytes and calls both give usable results, they must agree, and the one that
 * varies less is used.
 *
 * How much x varies within a run is estimated from repeated blocks of a level.
 * Until there are enough of these, it is estimated from the unloaded blocks: one
 * between two others has an x as well, which would be 0 without noise.
 *
 * Own derivation.  x varies between the blocks of a run, and its mean between
 * runs.  The latter cannot be estimated from the blocks of one run, see
 * np_blocks.c.  The confidence intervals are Student's and include both.
 */
#ifndef NP_BLOCKS_H
#define NP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_moments.h"

#define NP_BLOCKS_NO_LEVEL ((size_t)-1)
#define NP_BLOCKS_APART 0.22	/* gap in log(rate) between phases: 25 % */
#define NP_BLOCKS_QUIET 0.01	/* share of the top rate: almost no traffic */
#define NP_BLOCKS_PHASES 8	/* maximum number of phases */
#define NP_BLOCKS_SHARE 0.1	/* phases of a smaller share need no blocks */
#define NP_BLOCKS_DISAGREE 0.25 /* sd of x above which blocks disagree */
#define NP_BLOCKS_DIFFER_BY 0.1 /* largest mean |x by bytes - x by calls| */
#define NP_BLOCKS_LEAST 2	/* per level and phase, of all runs together */
#define NP_BLOCKS_MOST 8	/* maximum number of these */
#define NP_BLOCKS_GOOD 0.05	/* half width of x's interval that suffices */

struct np_block {
	uint32_t run; /* the blocks of a run are adjacent, in order of time */
	size_t level; /* index of the load level, or NP_BLOCKS_NO_LEVEL */
	double sec;   /* duration with the pause before it, > 0 */
	double rate;  /* the program's own traffic, bytes/s, >= 0 */
	double calls; /* MPI calls per second, >= 0; NaN: not counted */
};

enum np_blocks_verdict {
	NP_BLOCKS_FEW,	    /* too few blocks to know how much they scatter */
	NP_BLOCKS_SILENT,   /* the program sends almost nothing */
	NP_BLOCKS_RESTLESS, /* the traffic changes within a few blocks */
	NP_BLOCKS_SCATTER,  /* the blocks of a level disagree */
	NP_BLOCKS_DIFFER,   /* bytes and MPI calls disagree */
	NP_BLOCKS_USABLE,
};

/* The verdict in words, for output. */
const char *np_blocks_words(enum np_blocks_verdict verdict);

struct np_blocks_phase {
	double rate;  /* mean of the unloaded blocks, bytes/s; 0: quiet */
	double share; /* of the run time without load, 0 .. 1 */
};

struct np_blocks_level {
	/*
	 * Mean over n blocks.  sd / sqrt(n) is the standard error, with the
	 * variation between runs.  n is 0 until the level has a block in every
	 * phase of at least NP_BLOCKS_SHARE.
	 */
	struct np_mean slowdown;
	double error, df; /* log(1 + slowdown): sd, degrees of freedom */
	double low, high; /* 95 % confidence interval of the slowdown */
	double half;	  /* half width of log(1 + slowdown)'s interval, without
			     the variation between runs */
	size_t least;	  /* least number of blocks in a phase */
};

struct np_blocks {
	enum np_blocks_verdict verdict;
	size_t n_runs, n_loaded;
	size_t n_dropped; /* loaded blocks that could not be used */
	double sec;	  /* duration of all blocks */
	double lost_sec;  /* time by which the load prolonged the runs */
	double scatter;	  /* sd of x; NaN: no level was repeated */
	double between;	 /* sd of log(1 + slowdown) between runs */
	bool by_calls;	 /* MPI calls were used instead of bytes */
	double apart;	 /* mean difference of log(1 + slowdown) by bytes and by
			    calls; NaN: one of them is unknown */
	struct np_blocks_phase phase[NP_BLOCKS_PHASES];
	size_t n_phases;
};

/*
 * Estimate the slowdown by each level from the blocks b[n] of all runs of a
 * workload.  whole[n_levels] holds slowdowns of whole runs, which show how much
 * runs differ; it may be NULL.  MPI calls are used from runs in which every block
 * has them.  level[n_levels] is always filled in, but must not be relied upon
 * unless the verdict is NP_BLOCKS_USABLE.  Returns 0, -EINVAL (a level, time or
 * rate out of range) or -ENOMEM.
 */
int np_blocks_estimate(const struct np_block *b, size_t n,
		       const struct np_mean *whole,
		       struct np_blocks_level *level, size_t n_levels,
		       struct np_blocks *out);

/* ---- selection of the next block ---- */

struct np_blocks_plan {
	size_t n_levels;
	double block_sec; /* duration of a block with the pause before it */
	double share;	  /* share by which a run may be prolonged, 0 .. 1 */
};

struct np_blocks_next {
	size_t level;  /* or NP_BLOCKS_NO_LEVEL */
	bool complete; /* no level needs another block in this run */
	bool waits;    /* no load now, because the share is used up */
};

/*
 * Select the next block of a run that is run_sec old and that b[n]'s last n_here
 * blocks belong to.  Every loaded block is followed by an unloaded one.  Levels
 * with the fewest blocks are preferred, and of these the level that has followed
 * the previous one least often.  The first blocks cover the range of the levels:
 * the last level, the first, one in the middle, and so on.
 *
 * A level needs blocks until the confidence interval of log(1 + slowdown), from
 * the scatter within runs, is +-NP_BLOCKS_GOOD, or it has NP_BLOCKS_MOST.  If
 * that takes fewer than NP_BLOCKS_LEAST, the others are left to later runs: the
 * run is complete, and n_here 0 asks whether a further run would be.
 *
 * A block is assumed to cost its whole duration if its level is unknown, and
 * what the level cost before otherwise.  This cost and what the run has already
 * lost must not exceed share of the run time without load.  Returns as
 * np_blocks_estimate() does.
 */
int np_blocks_plan_next(const struct np_blocks_plan *p,
			const struct np_block *b, size_t n, size_t n_here,
			double run_sec, struct np_blocks_next *out);

#endif

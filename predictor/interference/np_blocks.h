/*
 * A degradation curve from inside a run: the run is cut into blocks of a few
 * seconds, every second one beside an interference level, and the speed of the
 * program in each is read off its own traffic.  Pure.
 *
 * An iterative program sends the same in every iteration, so that the bytes a
 * second that it moves are proportional to its progress.  A block beside a
 * level lies between two without one, whose rates r1 and r2 say how fast the
 * program would have been:
 *	x = (log r1 + log r2) / 2 - log r
 * is the block's log(1 + slowdown), free of any steady drift.
 *
 * Programs that do different things in turn have different rates: the rates
 * of unloaded blocks, sorted, fall into phases where neighbours are further
 * apart than NP_BLOCKS_APART; a phase has two such blocks at least.  A loaded
 * block belongs to the phase of both its neighbours, and counts for nothing
 * where these differ.  Blocks are equal pieces of time, in which the speeds
 * exp(-x) add up: one over their mean is how much longer a run beside the level
 * would take.  A level's slowdown is the mean of its slowdowns in the phases,
 * weighted with the time that each would take without levels; a phase with next
 * to no traffic cannot be slowed.
 *
 * MPI calls say the same as bytes do, where they are counted.  Where both can be
 * believed they have to agree, and that counts whose repeats scatter less.
 *
 * Own derivation.  x scatters around the means of level and phase within a run,
 * and these from run to run, which no number of blocks of one run tells
 * (np_blocks.c); intervals are Student's, of both.
 */
#ifndef NP_BLOCKS_H
#define NP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_mean.h"

#define NP_BLOCKS_NO_LEVEL ((size_t)-1)
#define NP_BLOCKS_APART 0.22	/* log of rates: a quarter more */
#define NP_BLOCKS_QUIET 0.01	/* of the highest rate: next to no traffic */
#define NP_BLOCKS_PHASES 8	/* at most */
#define NP_BLOCKS_SHARE 0.1	/* of the time: less is no phase to wait for */
#define NP_BLOCKS_DISAGREE 0.25 /* scatter of x: repeats do not agree */
#define NP_BLOCKS_DIFFER_BY 0.1 /* mean distance of x by bytes and by calls */
#define NP_BLOCKS_LEAST 2	/* blocks of each level */
#define NP_BLOCKS_MOST 8	/* and in each phase, however they scatter */
#define NP_BLOCKS_GOOD 0.05	/* half an interval of x that is good enough */

struct np_block {
	uint32_t run; /* blocks of one run stand together, in order of time */
	size_t level; /* its number, or NP_BLOCKS_NO_LEVEL */
	double sec;   /* that it took, with the pause before; > 0 */
	double rate;  /* of the program's own traffic, bytes/s, >= 0 */
	double calls; /* of MPI, per second, >= 0; NaN: not counted */
};

enum np_blocks_verdict {
	NP_BLOCKS_FEW,	    /* no level has been repeated yet */
	NP_BLOCKS_SILENT,   /* the program sends next to nothing */
	NP_BLOCKS_RESTLESS, /* its traffic changes faster than blocks do */
	NP_BLOCKS_SCATTER,  /* blocks of one level do not agree */
	NP_BLOCKS_DIFFER,   /* bytes and calls do not agree */
	NP_BLOCKS_USABLE,
};

/* One sentence for pages. */
const char *np_blocks_words(enum np_blocks_verdict verdict);

struct np_blocks_phase {
	double rate;  /* mean of unloaded blocks, bytes/s; 0: quiet */
	double share; /* of the time without levels, 0 .. 1 */
};

struct np_blocks_level {
	/*
	 * Of n blocks that counted; sd / sqrt(n) is the error of the mean, that
	 * between runs included.  Not measured (n == 0) until it has been in
	 * every phase of at least NP_BLOCKS_SHARE.
	 */
	struct np_mean slowdown;
	double error, df; /* of log(1 + slowdown): sd, degrees of freedom */
	double low, high; /* the 95 % interval of these */
	double half;	  /* half of one by the blocks alone, in the same */
	size_t least;	  /* blocks in the phase where it has fewest */
};

struct np_blocks {
	enum np_blocks_verdict verdict;
	size_t n_runs, n_loaded, n_dropped; /* dropped: of the loaded */
	double sec;	 /* of all blocks */
	double lost_sec; /* by which levels made runs longer */
	double scatter;	 /* sd of x; NaN: nothing was repeated */
	double between;	 /* sd of log(1 + slowdown) between runs */
	bool by_calls;	 /* not by bytes */
	double apart;	 /* mean distance of log(1 + slowdown) by bytes and by
			    calls; NaN: not both are known */
	struct np_blocks_phase phase[NP_BLOCKS_PHASES];
	size_t n_phases;
};

/*
 * b[n]: of all runs of the workload; level[n_levels] is filled, also where the
 * verdict is not NP_BLOCKS_USABLE: then for the curious only.
 * whole[n_levels]: slowdowns of whole runs, whose repeats tell how much runs
 * differ; NULL: there are none.
 * Calls count where all blocks of a run have them.
 * Returns 0, -EINVAL (a level, time or rate out of range) or -ENOMEM.
 */
int np_blocks_estimate(const struct np_block *b, size_t n,
		       const struct np_mean *whole,
		       struct np_blocks_level *level, size_t n_levels,
		       struct np_blocks *out);

/* ---- which block comes next ---- */

struct np_blocks_plan {
	size_t n_levels;
	double block_sec; /* what one takes, with the pause that goes before */
	double share;	  /* of a run by which it may become longer, 0 .. 1 */
};

struct np_blocks_next {
	size_t level;  /* or NP_BLOCKS_NO_LEVEL */
	bool complete; /* no level needs more: the picture is good enough */
	bool waits;    /* for the run to last, as its share is used up */
};

/*
 * The block that follows b[n], the last n_here of which are of the run that is
 * under way, run_sec old.  Every loaded block lies between unloaded ones.
 * Levels with fewest blocks come first, of these one that has seldom followed
 * the one before, itself last of all.
 *
 * A loaded block may cost all its time where its level is not known yet, else
 * what it has cost before; with what the run has lost, that stays within share
 * of what it would have taken alone.
 * Returns as np_blocks_estimate().
 */
int np_blocks_plan_next(const struct np_blocks_plan *p,
			const struct np_block *b, size_t n, size_t n_here,
			double run_sec, struct np_blocks_next *out);

#endif

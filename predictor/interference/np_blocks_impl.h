/* Between the files of np_blocks.h. */
#ifndef NP_BLOCKS_IMPL_H
#define NP_BLOCKS_IMPL_H

#include "np_blocks.h"
#include "np_moments.h"

#define NP_BLOCKS_NO_PHASE ((size_t)-1)

enum np_blocks_use {
	NP_BLOCK_ALONE,	  /* without a level */
	NP_BLOCK_COUNTS,  /* its x is known */
	NP_BLOCK_QUIET,	  /* where there was nothing to slow */
	NP_BLOCK_DROPPED, /* its neighbours, or it, are not of one phase */
	NP_BLOCK_EDGE,	  /* it has not both neighbours */
};

struct np_blocks_point {
	enum np_blocks_use use;
	size_t phase; /* or NP_BLOCKS_NO_PHASE */
	double x;     /* log(1 + slowdown); 0 where that is not known */
};

/* The blocks of a level in a phase. */
struct np_blocks_cell {
	struct np_moments x;
	double speed;	/* sum of exp(-x) */
	double within;	/* squares of x around the means of its runs */
	double squares; /* sum of squared numbers of blocks of a run */
	size_t n_runs;
};

/* Everything about n blocks; free with np_blocks_sorted_free(). */
struct np_blocks_sorted {
	struct np_blocks_point *point; /* of each block */
	struct np_blocks_cell *cell;   /* of level, phase after phase */
	struct np_blocks_phase phase[NP_BLOCKS_PHASES];
	size_t n_phases;
	double top_rate; /* of unloaded blocks; 0: there are none */
	size_t n_alone;	 /* unloaded blocks */
};

int np_blocks_sort(const struct np_block *b, size_t n, size_t n_levels,
		   struct np_blocks_sorted *out);
void np_blocks_sorted_free(struct np_blocks_sorted *s);

/* By how much a block made the run longer, at most; seconds. */
double np_blocks_lost_sec(const struct np_block *b,
			  const struct np_blocks_point *p);

/* np_blocks_estimate() of what is sorted. */
void np_blocks_judge(const struct np_block *b, size_t n,
		     const struct np_mean *whole,
		     const struct np_blocks_sorted *s,
		     struct np_blocks_level *level, size_t n_levels,
		     struct np_blocks *out);

#endif

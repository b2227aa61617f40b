/* Cost of large numbers of ranks, and what the placement of 64 ranks gains. */
#ifndef NP_BENCH_RANKS_H
#define NP_BENCH_RANKS_H

/* Traces of up to 1,024 ranks: time and memory. Returns 1 if these fail. */
int bench_traces(void);

/*
 * Exchanges of 64 ranks: the search for a placement, compared with the order of
 * the ranks and with a greedy placement. Returns 1 if fewer than 3 are better
 * than both.
 */
int bench_placement(void);

#endif

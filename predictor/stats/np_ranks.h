/*
 * The rank-sum test of Wilcoxon, and of Mann and Whitney: are some of the values
 * larger than the others?  Only the order of the values counts, so an outlier
 * has no more weight than the next largest value would have in its place.
 */
#ifndef NP_RANKS_H
#define NP_RANKS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The probability that, if any n_marked of the n values were marked at random,
 * these had at least the sum of ranks that the marked ones have; 1 if none or
 * all are marked.  Equal values share their mean rank.  Exact if at most 16
 * values are marked, or not marked; otherwise by the normal distribution.
 * Returns 0 or -ENOMEM.
 */
int np_ranks_test(const double *v, const bool *marked, size_t n, double *p);

#endif

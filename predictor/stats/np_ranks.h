/*
 * The rank-sum test of Wilcoxon, and of Mann and Whitney, of whether some
 * values are larger than the others. Only the order of the values counts, so
 * an outlier has no more weight than any other largest value.
 */
#ifndef NP_RANKS_H
#define NP_RANKS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Compute the probability that as many values, marked at random, have at least
 * the sum of ranks of the marked ones. It is 1 if none or all are marked.
 * Equal values share their mean rank. The result is exact if at most 16 values
 * are marked, or not marked; otherwise the normal distribution is used.
 * Returns 0 or -ENOMEM.
 */
int np_ranks_test(const double *value, const bool *marked, size_t n, double *p);

#endif

/*
 * Non-negative least squares: minimise |A x - b|^2 subject to x >= 0.
 *
 * Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23, on the
 * normal equations (Bro and de Jong 1997), so that one matrix A'A serves many
 * right-hand sides.  Working with A'A squares the condition number: columns
 * that agree to about 7 digits count as dependent, and only one of them is
 * used.  That is far beyond the 2 to 3 digits of a measurement.
 */
#ifndef NP_NNLS_H
#define NP_NNLS_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

#define NP_NNLS_MAX 4096 /* most unknowns */

struct np_nnls; /* working memory; serves one call at a time */

/* For up to n (1 .. NP_NNLS_MAX) unknowns; NULL: n out of range, no memory. */
struct np_nnls *np_nnls_new(size_t n);
void np_nnls_free(struct np_nnls *s); /* NULL is allowed */

/*
 * gram: A'A, n x n, symmetric, row after row, stride doubles apart; ridge is
 * added to its diagonal.
 * h: A'b, n.  x: n; with warm, it holds a guess (>= 0) on entry, from which the
 * answer is usually one step away; it is ignored otherwise.
 * At most 10 n + 10 changes of the active set.
 * Returns 0; -EINVAL: a value is not finite, a guess is negative, n too large;
 * -ELOOP: the bound was reached, x is feasible but perhaps not optimal.
 */
int np_nnls_solve(struct np_nnls *s, const double *gram, size_t stride,
		  double ridge, const double *h, size_t n, double *x,
		  bool warm, struct np_err *err);

#endif

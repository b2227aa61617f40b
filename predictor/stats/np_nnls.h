/*
 * Non-negative least squares: minimise |A x - b|^2 subject to x >= 0; and the
 * vector arithmetic for it.
 *
 * Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23, on the
 * normal equations (Bro and de Jong 1997), so that one matrix A'A serves many
 * right-hand sides. Working with A'A squares the condition number: columns that
 * agree to about 7 digits count as dependent, and only one of them is used.
 * Measurements have only 2 to 3 digits.
 */
#ifndef NP_NNLS_H
#define NP_NNLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "np_err.h"

#define NP_NNLS_MAX 4096 /* most unknowns */

struct np_nnls; /* working memory, for one call at a time */

/*
 * Working memory for up to n unknowns, 1 .. NP_NNLS_MAX. NULL: n is out of
 * range, or out of memory.
 */
struct np_nnls *np_nnls_new(size_t n);
void np_nnls_free(struct np_nnls *nnls); /* NULL is allowed */

/*
 * gram: A'A, n x n, symmetric, by rows that are stride doubles apart; ridge is
 * added to its diagonal. h: A'b, n values. x: n values; if warm, on entry a
 * guess (>= 0), from which the solution is usually one step away, and otherwise
 * ignored.
 *
 * Makes at most 10 n + 10 changes of the active set. Returns 0; -EINVAL: a
 * value is not finite, a guess is negative, or n is too large; -ELOOP: the
 * bound was reached, and x is feasible but may not be optimal.
 */
int np_nnls_solve(struct np_nnls *nnls, const double *gram, size_t stride,
		  double ridge, const double *h, size_t n, double *x, bool warm,
		  struct np_err *err);

/* ---- arithmetic on several numbers at once ---- */

/*
 * Pairs of doubles, which all processors can process at once. Compilers do not
 * keep the sums of such loops over arrays in registers by themselves.
 */

#define NP_LANES 8 /* numbers processed side by side */

typedef double np_pair __attribute__((vector_size(2 * sizeof(double))));
typedef long long np_pair_mask __attribute__((vector_size(sizeof(np_pair))));

static inline np_pair np_pair_at(const double *from)
{
	np_pair p;

	memcpy(&p, from, sizeof(p));
	return p;
}

/* to += a * from, n values each. */
static inline void np_lanes_add(double *to, double a, const double *from,
				size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		np_pair s0 = np_pair_at(to + i) + a * np_pair_at(from + i);
		np_pair s1 =
			np_pair_at(to + i + 2) + a * np_pair_at(from + i + 2);

		memcpy(to + i, &s0, sizeof(s0));
		memcpy(to + i + 2, &s1, sizeof(s1));
	}
	for (; i < n; i++)
		to[i] += a * from[i];
}

/*
 * to[j] += sum over r < k of a[row[r]] * m[row[r] * n + j]: adds k rows of m,
 * each n values long, times their factors. The sums stay in registers.
 */
static inline void np_lanes_add_rows(double *to, const double *a,
				     const double *m, size_t n,
				     const uint16_t *row, size_t k)
{
	size_t j = 0;

	for (; j + NP_LANES <= n; j += NP_LANES) {
		np_pair s[NP_LANES / 2];

		memcpy(s, to + j, sizeof(s));
		for (size_t r = 0; r < k; r++) {
			const double *from = m + row[r] * n + j;
			double x = a[row[r]];

			s[0] += x * np_pair_at(from);
			s[1] += x * np_pair_at(from + 2);
			s[2] += x * np_pair_at(from + 4);
			s[3] += x * np_pair_at(from + 6);
		}
		memcpy(to + j, s, sizeof(s));
	}
	for (; j < n; j++)
		for (size_t r = 0; r < k; r++)
			to[j] += a[row[r]] * m[row[r] * n + j];
}

/* Dot product of n values each, added up in NP_LANES chains. */
static inline double np_lanes_dot(const double *a, const double *b, size_t n)
{
	np_pair s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
	double all = 0;
	size_t i = 0;

	for (; i + NP_LANES <= n; i += NP_LANES) {
		s0 += np_pair_at(a + i) * np_pair_at(b + i);
		s1 += np_pair_at(a + i + 2) * np_pair_at(b + i + 2);
		s2 += np_pair_at(a + i + 4) * np_pair_at(b + i + 4);
		s3 += np_pair_at(a + i + 6) * np_pair_at(b + i + 6);
	}
	for (; i < n; i++)
		all += a[i] * b[i];
	s0 += s1 + (s2 + s3);
	return all + s0[0] + s0[1];
}

#endif

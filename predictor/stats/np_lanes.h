/*
 * Arithmetic on two numbers at once, as all processors have it; loops over
 * arrays of sums are left in memory by compilers.
 */
#ifndef NP_LANES_H
#define NP_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NP_LANES 8 /* numbers that are worked on side by side */

typedef double np_pair __attribute__((vector_size(2 * sizeof(double))));
typedef long long np_pair_mask __attribute__((vector_size(sizeof(np_pair))));

static inline np_pair np_pair_at(const double *from)
{
	np_pair p;

	memcpy(&p, from, sizeof(p));
	return p;
}

/* to += a from, of n each. */
static inline void np_lanes_add(double *to, double a, const double *from,
				size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		np_pair s0 = np_pair_at(to + i) + a * np_pair_at(from + i);
		np_pair s1 = np_pair_at(to + i + 2) +
			     a * np_pair_at(from + i + 2);

		memcpy(to + i, &s0, sizeof(s0));
		memcpy(to + i + 2, &s1, sizeof(s1));
	}
	for (; i < n; i++)
		to[i] += a * from[i];
}

/* to += a 1st of rows[k], each n long in m, and so on; the sums stay in registers. */
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

/* a'b of n each; the terms are added in NP_LANES chains. */
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

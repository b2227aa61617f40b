/*
 * The LogGPS parameters of a path, from times of messages over it.
 *
 * PRTT(n, d, s) is the time from the start of the first of n messages of s
 * bytes, with a pause of d after each but the last, to the end of the answer
 * to the last one, of s bytes as well.  T. Hoefler, A. Lichei, W. Rehm,
 * Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks,
 * IPDPS 2007 (Netgauge), with o_s and o_r the overheads of sender and receiver:
 *
 *	PRTT(1, 0, s) = 2 (L + o_s + o_r + (s - 1) G)
 *	PRTT(n, d, s) = PRTT(1, 0, s) + (n - 1) max(o_s + d, g + (s - 1) G)
 *
 * so that, of the shortest messages,
 *
 *	g = (PRTT(n, 0, 1) - PRTT(1, 0, 1)) / (n - 1)
 *	o_s = (PRTT(n, d, 1) - PRTT(1, 0, 1)) / (n - 1) - d	if o_s + d > g
 *	L = PRTT(1, 0, 1) / 2 - o_s - o_r
 *
 * where g is max(o_s, g), as no message can follow another sooner.  o_r is
 * timed by itself: how long it takes to receive a message that lies there.
 * Of overheads that together exceed the half trip only what fits into it
 * counts, of the receiver's first: what is left of the sender's is work after
 * the message has arrived, on which nobody waits.  L is then 0.
 *
 * G is the slope of PRTT(1, 0, s) / 2 by least squares of relative errors over
 * the sizes whose bytes cost at least as much as all else, from an eighth of
 * the greatest on (all, if these are fewer than NP_LOGGPS_LEAST), with a step
 * at S if there is one: of long messages, as buckets and caches favour short
 * ones.
 *
 * S: above it a message waits for its receiver, which costs a round trip more
 * (F. Ino, N. Fujimoto, K. Hagihara, LogGPS, PPoPP 2001).  Looked for between
 * each two sizes, with a line through the NP_LOGGPS_SIDE sizes on each side:
 * the step between both, once with one slope for both lines and once with two,
 * as a bend of the curve makes a step of one of them alone.  The greatest of
 * the lesser of the two is S, if it is, with the confidence that all sizes
 * together want (Bonferroni), at least half of PRTT(1, 0, 1) / 2 and at least
 * a twentieth of the time itself: one that is less matters little.
 *
 * All of it is computed for each block, a block being measurements taken close
 * together.  A parameter is the median over blocks, with the distribution-free
 * interval of a median (order statistics; binomial).
 */
#ifndef NP_LOGGPS_FIT_H
#define NP_LOGGPS_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_loggps.h"

#define NP_LOGGPS_LEAST 4   /* sizes for a slope */
#define NP_LOGGPS_SIDE 3    /* sizes on each side of a step */
#define NP_LOGGPS_CONFIDENCE 0.95

/* One measurement.  bytes and n are at least 1. */
struct np_loggps_sample {
	uint32_t block; /* 0 .. NP_LOGGPS_MAX_BLOCKS - 1 */
	uint32_t n;	/* messages; 0: sec is o_r, and the rest means nothing */
	uint32_t bytes; /* of each message */
	double delay_sec; /* d */
	double sec;	  /* PRTT(n, d, s) */
};

/*
 * Samples in any order; several of the same kind in one block count by their
 * median.  A block with a kind missing is left out.
 * Returns 0, or with err -EINVAL (a sample that cannot be, or too many blocks
 * or sizes), -ENODATA (no whole block, or fewer than NP_LOGGPS_LEAST sizes),
 * -EDOM (what was measured cannot be a network: err says how) or -ENOMEM.
 */
int np_loggps_fit(const struct np_loggps_sample *sample, size_t n,
		  struct np_loggps_fit *out, struct np_err *err);

#endif

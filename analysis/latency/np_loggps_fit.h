/*
 * Estimates the LogGPS parameters of a path from message times measured on it.
 *
 * PRTT(n, d, s) is the time from the start of the first of n messages of s
 * bytes, with a pause of d after each except the last, to the end of the reply
 * to the last one, also of s bytes. From T. Hoefler, A. Lichei, W. Rehm,
 * Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks,
 * IPDPS 2007 (Netgauge), with o_s and o_r the overheads of sender and receiver:
 *
 *	PRTT(1, 0, s) = 2 (L + o_s + o_r + (s - 1) G)
 *	PRTT(n, d, s) = PRTT(1, 0, s) + (n - 1) max(o_s + d, g + (s - 1) G)
 *
 * Hence, with the shortest messages,
 *
 *	g = (PRTT(n, 0, 1) - PRTT(1, 0, 1)) / (n - 1)
 *	o_s = (PRTT(n, d, 1) - PRTT(1, 0, 1)) / (n - 1) - d	if o_s + d > g
 *	L = PRTT(1, 0, 1) / 2 - o_s - o_r
 *
 * where g stands for max(o_s, g), because messages cannot follow each other
 * faster. o_r is measured directly: the time to receive a message that has
 * already arrived. If both overheads together exceed half the round trip, only
 * the part that fits counts, the receiver's first: the rest of the sender's is
 * work after the message has arrived, for which nothing waits. L is then 0.
 *
 * G is the slope of PRTT(1, 0, s) / 2, by least squares of relative errors,
 * with a step at S if there is one. Only sizes enter whose bytes cost at least
 * as much as everything else and that are at least an eighth of the largest
 * size (all sizes, if fewer than NP_LOGGPS_LEAST qualify), because buffers and
 * caches favour short messages.
 *
 * O, the overhead per byte, is the slope of (o_s + o_r) / 2 over the sizes of
 * at most S for which both overheads were measured in the same way, by least
 * squares of relative errors; at least 0. It is 0 if none of these sizes is
 * NP_LOGGPS_COPIED bytes or more.
 *
 * S: larger messages wait for their receiver, which costs another round trip
 * (F. Ino, N. Fujimoto, K. Hagihara, LogGPS, PPoPP 2001). Between each two
 * sizes, lines are fitted through the NP_LOGGPS_SIDE sizes on each side and the
 * step between them is computed twice, with a common slope and with two slopes;
 * the smaller result counts, because a bend of the curve causes a step in only
 * one of the two. S is at the largest step, provided that its lower confidence
 * bound (Bonferroni-corrected for all sizes) is at least half of PRTT(1, 0, 1)
 * / 2 and at least a twentieth of the time itself. Smaller steps have little
 * effect.
 *
 * All this is computed for each block of measurements, which are taken close
 * together in time. A parameter is the median over blocks, with the
 * distribution-free confidence interval of a median (order statistics,
 * binomial). With fewer than NP_LOGGPS_INTERVAL blocks, no interval has this
 * confidence, and that of the smallest and the largest value is used.
 */
#ifndef NP_LOGGPS_FIT_H
#define NP_LOGGPS_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_loggps.h"
#include "np_report.h"

#define NP_LOGGPS_LEAST 4 /* number of sizes needed for a slope */
#define NP_LOGGPS_SIDE 3  /* number of sizes on each side of a step */
#define NP_LOGGPS_CONFIDENCE 0.95
/* Blocks of which the smallest and largest value have that confidence. */
#define NP_LOGGPS_INTERVAL 6
#define NP_LOGGPS_COPIED 4096 /* below it, noise hides what bytes cost */

/*
 * Takes samples in any order: block is below NP_LOGGPS_MAX_BLOCKS, bytes are
 * those of each message and at least 1, delay_sec is the pause d, and sec is
 * PRTT(n, d, s). With n = 0 sec is o_r, and delay_sec is not used.
 *
 * Of several samples of the same kind in one block the median counts. A block
 * without all kinds is excluded. Returns 0, or with err -EINVAL (an impossible
 * sample, or too many blocks or sizes), -ENODATA (no complete block, or fewer
 * than NP_LOGGPS_LEAST sizes), -EDOM (the measurements contradict the model; err
 * says how) or -ENOMEM.
 */
int np_loggps_fit(const struct np_prtt *sample, size_t n,
		  struct np_loggps_fit *out, struct np_err *err);

#endif

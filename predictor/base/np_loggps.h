/*
 * What a message costs: the parameters of a network, LogGPS.
 *
 * Ns, bytes and ns per byte, all >= 0.  A message costs its sender and its
 * receiver o of processor time each, L on its way, and G for each byte.
 * Above S bytes the sender is done only when the receiver is (rendezvous).
 * Sources: A. Alexandrov et al., LogGP, 1995; F. Ino, N. Fujimoto,
 * K. Hagihara, LogGPS, 2001.
 */
#ifndef NP_LOGGPS_H
#define NP_LOGGPS_H

#include <stdbool.h>
#include <stdint.h>

#define NP_LOGGPS_NO_RENDEZVOUS UINT64_MAX
#define NP_LOGGPS_MAX 1e15 /* of any of them */

struct np_loggps {
	double L_ns, o_ns, G_ns;
	uint64_t S;	      /* bytes; NP_LOGGPS_NO_RENDEZVOUS: never */
	bool first_byte_free; /* G is charged for size - 1 bytes */
	double g_ns;	      /* between two messages of one adapter */
};

/* One of them is let go its way, the others stay. */
enum np_loggps_param { NP_LOGGPS_L, NP_LOGGPS_o, NP_LOGGPS_G };

static inline double np_loggps_value(const struct np_loggps *net,
				     enum np_loggps_param p)
{
	return p == NP_LOGGPS_L ? net->L_ns : p == NP_LOGGPS_o ? net->o_ns :
								 net->G_ns;
}

#define NP_LOGGPS_MAX_BLOCKS 1000
#define NP_LOGGPS_MAX_SIZES 64

/* What was measured: low and high of 95 %, or of all blocks if they are few. */
struct np_loggps_value {
	double value, low, high;
};

/*
 * Seconds, and seconds per byte.  A message of s bytes takes
 * o_send + L + (s - 1) G + o_recv, above S one round trip more.
 */
struct np_loggps_fit {
	uint32_t n_blocks, n_sizes;
	uint32_t bytes_min, bytes_max;	  /* of the sizes */
	struct np_loggps_value L, o_send, o_recv, g, G;
	/* The greatest size without rendezvous, the least with; 0: none. */
	uint32_t S, S_above;
	struct np_loggps_value step; /* what rendezvous costs; 0 without */
};

#endif

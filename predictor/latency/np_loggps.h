/*
 * The parameters of a network as a sum per message: LogGPS.
 *
 * Ns, bytes and ns per byte, all >= 0.  A message costs its sender o and its
 * receiver o of processor time, L on its way, and G for each byte.  Above S
 * bytes the sender is done only when the receiver is (rendezvous).
 * Sources: A. Alexandrov et al., LogGP, 1995; F. Ino et al., LogGPS, 2001.
 */
#ifndef NP_LOGGPS_H
#define NP_LOGGPS_H

#include <stdbool.h>
#include <stdint.h>

#define NP_LOGGPS_NO_RENDEZVOUS UINT64_MAX

struct np_loggps {
	double L_ns, o_ns, g_ns, G_ns;
	uint64_t S;	     /* bytes; NP_LOGGPS_NO_RENDEZVOUS: never */
	bool first_byte_free; /* G is charged for size - 1 bytes */
};

#endif

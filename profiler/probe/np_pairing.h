/*
 * Who talks to whom: pure functions of where each process runs, so that every
 * process computes the same table by itself and nothing need be agreed on.
 *
 * Only processes under one leaf talk to each other (but for rings
 * across them), and only those with the same local rank (the how-manieth
 * process of their node they are).
 */
#ifndef NP_PAIRING_H
#define NP_PAIRING_H

#include <stdbool.h>
#include <stddef.h>

#define NP_NOBODY (-1L)

/* Where one process runs; place[] is indexed by rank. */
struct np_place {
	const char *node;
	const char *leaf; /* "" where there is no topology */
};

/* Partners of one process, as ranks, or NP_NOBODY. */
struct np_pair {
	long asks;    /* sends the first message to it, and measures */
	long answers; /* answers its messages */
	const char *skipped; /* why it has none, a literal, or NULL */
};

/*
 * Ping-pong partners.  Nodes of a leaf are paired in the order of their first
 * rank; an odd node out makes a triangle (A asks B, B asks C, C asks A); a
 * leaf with one node is skipped.  With several processes a node each local
 * rank begins one node further on, so that other paths are measured and the
 * asking is shared.  out[n] is the caller's.
 * Returns 0 or -ENOMEM.
 */
int np_pairing_make(const struct np_place *place, size_t n,
		    struct np_pair *out);

/*
 * Ring partners of rank, which is below n: the next `want` nodes after its own
 * around the leaf (to[]) and those before it (from[]), nearest first; the caller
 * gives room for `want` each.  across: around all leaves, dealt in turn: with
 * two leaves of equally many nodes each successor at an odd distance is under
 * the other leaf.  *got is want, clipped to the nodes there are minus one: 0
 * where there is no other node.
 * Returns 0 or -ENOMEM.
 */
int np_pairing_ring(const struct np_place *place, size_t n, bool across,
		    size_t rank, size_t want, size_t *to, size_t *from,
		    size_t *got);

#endif

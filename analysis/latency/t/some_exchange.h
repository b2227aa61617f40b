/*
 * Programs of 64 ranks that exchange data with the same peers in each step,
 * and a greedy placement to compare others with.
 */
#ifndef NP_T_SOME_EXCHANGE_H
#define NP_T_SOME_EXCHANGE_H

#include "np_graph.h"
#include "np_topology.h"

#define SOME_EXCHANGE_RANKS 64

extern const char *const some_exchange_names[];
#define SOME_EXCHANGES 4

/*
 * A finished graph of exchange i. Each rank computes for a time of its own in
 * each step, as on a grid that is divided unevenly. NULL: no memory.
 */
struct np_graph *some_exchange(size_t i, size_t steps);

/*
 * Places n ranks one after the other, always the one that exchanges most bytes
 * with those already placed, on the free node where its bytes pass the fewest
 * switches. One rank per node. bytes: n x n, between two ranks.
 */
void some_greedy(const uint64_t *bytes, uint32_t n, const struct np_topology *t,
		 uint32_t *node);

/* The same for the ranks of exchange i. */
void some_exchange_greedy(size_t i, const struct np_topology *t,
			  uint32_t *node);

#endif

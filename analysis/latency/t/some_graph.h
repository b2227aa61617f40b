/* Random graphs. */
#ifndef NP_T_SOME_GRAPH_H
#define NP_T_SOME_GRAPH_H

#include "np_graph.h"

/*
 * A finished graph of n_ops operations and n_ranks ranks in which all messages
 * are received. It contains nonblocking operations, ties and empty messages. It
 * is free of deadlocks unless sends wait for their receivers.
 */
struct np_graph *some_graph(uint64_t seed, uint32_t n_ranks, uint32_t n_ops);

/*
 * The same with a beginning, equal iterations and an end, each of n_ops
 * operations or slightly more.
 */
struct np_graph *some_loop(uint64_t seed, uint32_t n_ranks, uint32_t n_ops,
			   uint32_t times);

#endif

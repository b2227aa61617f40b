/* Graphs of all kinds, at random. */
#ifndef NP_T_SOME_GRAPH_H
#define NP_T_SOME_GRAPH_H

#include "np_graph.h"

/*
 * n_ops operations of n_ranks in which all messages are eventually received,
 * finished.  Nonblocking ones, ties and empty messages are among them.  It
 * ends if no send waits for its receiver, else it may not.
 */
struct np_graph *some_graph(uint64_t seed, uint32_t n_ranks, uint32_t n_ops);


/*
 * The same with a beginning, so many equal iterations, and an end: each of
 * n_ops operations or somewhat more.
 */
struct np_graph *some_loop(uint64_t seed, uint32_t n_ranks, uint32_t n_ops,
			   uint32_t times);

#endif

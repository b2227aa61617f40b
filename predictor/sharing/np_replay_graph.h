/* Execution graphs (np_graph.h) as programs that can be played. */
#ifndef NP_REPLAY_GRAPH_H
#define NP_REPLAY_GRAPH_H

#include "np_graph.h"
#include "np_replay.h"

/*
 * A finished graph as a finished program: ranks become tasks, operations keep
 * their times, sizes, dependencies and messages.  Free *out by
 * np_replay_app_free().  Returns 0; -E2BIG or -ENOMEM with err.
 */
int np_replay_of_graph(const struct np_graph *g, struct np_replay_app **out,
		       struct np_err *err);

#endif

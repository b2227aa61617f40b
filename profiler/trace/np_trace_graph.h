/*
 * From the traces of all ranks of a run to its execution graph.
 *
 * What lies between two calls is computation; calls are messages or nothing.
 * A nonblocking operation goes on beside what follows it, until a call says
 * that it is done.  Collectives become the messages of an algorithm.
 */
#ifndef NP_TRACE_GRAPH_H
#define NP_TRACE_GRAPH_H

#include "np_collective.h"
#include "np_graph.h"
#include "np_trace_files.h"

struct np_trace_options {
	const struct np_choices *choices; /* NULL: the usual ones */
	/* Hears of what is missing, a line each; may be NULL.  arg: NULL. */
	void (*warn)(const char *line, void *arg);
};

/*
 * If a rank's trace ends early, by a signal or its size cap, the graph is of
 * what can be matched, with a warning.
 * Returns 0; -EINVAL, -ERANGE or -ENOMEM, as np_graph.h and np_trace_read.h
 * say; or another -errno of reading; with err.  Free *out by np_graph_free().
 */
int np_trace_graph(const struct np_trace_files *f,
		   const struct np_trace_options *o, struct np_graph **out,
		   struct np_err *err);

#endif

/* Execution graphs and traces by what people call them. */
#ifndef CLI_GRAPH_H
#define CLI_GRAPH_H

#include "cli.h"
#include "np_trace.h"

/*
 * what: an application, and then it is its newest trace in the store; or a file
 * or directory.  *path: malloc'ed.  Returns -1 to go on, or the exit status.
 */
int cli_trace_path(const char *what, char **path);

/* A trace is a directory, or one of its files. */
bool cli_is_trace(const char *path);

/*
 * A file to be read as a graph, which may be a pipe: the descriptor, or -errno
 * with err, also of a FIFO that nobody writes into, as it would never end.
 */
int cli_graph_open(const char *path, struct np_err *err);

/*
 * The graph of a GOAL file or of a trace, whichever it is.  how: for a trace;
 * NULL: the usual.  Returns 0 or -errno with err.
 */
int cli_graph_load(const char *path, const struct np_trace_options *how,
		   struct np_graph **out, struct np_err *err);

/*
 * The same of what cli_trace_path() takes; what is missing in a trace goes to
 * standard error.  Returns -1 to go on, or the exit status.
 */
int cli_graph_read(const char *what, const struct np_choices *choices,
		   struct np_graph **out);

/* np_option's take of "NAME[:BYTES]=ALGORITHM" into a struct np_choices. */
int cli_take_collective(char *text, void *choices, struct np_err *err);

#endif

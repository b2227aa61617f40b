/* Finds and reads graphs and traces by the names that users give. */
#ifndef CLI_GRAPH_H
#define CLI_GRAPH_H

#include "cli.h"
#include "np_trace.h"

/*
 * what: name of an application, for its newest trace in the store; or a file or
 * directory. *path: free with free(). Returns -1 to continue, or the exit
 * status.
 */
int cli_trace_path(const char *what, char **path);

/*
 * Reads GOAL as np_goal_read() does, with a warning on standard error if
 * receives are smaller than their messages.
 */
int cli_goal_read(int fd, const char *path, struct np_graph **out,
		  struct np_err *err);

/*
 * Reads a graph from a GOAL file or a trace, whichever it is. how: options for
 * a trace; NULL: the defaults. Returns 0 or -errno with err.
 */
int cli_graph_load(const char *path, const struct np_trace_options *how,
		   struct np_graph **out, struct np_err *err);

/*
 * The same for a name as in cli_trace_path(); warnings about a trace go to
 * standard error. Returns -1 to continue, or the exit status.
 */
int cli_graph_read(const char *what, const struct np_choices *choices,
		   struct np_graph **out);

#endif

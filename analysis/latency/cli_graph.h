/* Finds and reads graphs and traces by the names that users give. */
#ifndef CLI_GRAPH_H
#define CLI_GRAPH_H

#include "cli.h"
#include "np_trace.h"

/*
 * Finds the newest trace of an application in the store if what is a name of
 * one, or else the file or directory what. *path: free with free(). Returns -1
 * to continue, or the exit status after printing an error.
 */
int cli_trace_path(const char *what, char **path);

/*
 * Reads GOAL as np_goal_read() does, and prints a warning if receives have a
 * smaller size than the messages that they receive.
 */
int cli_goal_read(int fd, const char *path, struct np_graph **out,
		  struct np_err *err);

/*
 * Reads a graph from a GOAL file or from a trace, whichever path is. options:
 * for a trace; NULL: the defaults. Returns 0 or -errno with err.
 */
int cli_graph_load(const char *path, const struct np_trace_options *options,
		   struct np_graph **out, struct np_err *err);

/*
 * Finds the path as cli_trace_path() does, and reads the graph. Warnings about a
 * trace go to standard error. Returns -1 to continue, or the exit status after
 * printing an error.
 */
int cli_graph_read(const char *what, const struct np_choices *choices,
		   struct np_graph **out);

#endif

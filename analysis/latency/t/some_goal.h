/* Graphs from text, for tests. */
#ifndef NP_T_SOME_GOAL_H
#define NP_T_SOME_GOAL_H

#include <stddef.h>

#include "np_graph.h"

/* Reads these bytes with np_goal_read(). */
int some_goal(const char *text, size_t len, struct np_graph **out,
	      struct np_err *err);

/* The same for a file below t/data. */
int some_goal_file(const char *name, struct np_graph **out, struct np_err *err);

#endif

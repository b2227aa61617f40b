/* The reader of GOAL binary. Private to np_goal_text.c. */
#ifndef NP_GOAL_BINARY_H
#define NP_GOAL_BINARY_H

#include <stdio.h>

#include "np_graph.h"

#define NP_GOAL_BINARY 0x7f /* the first byte */

/* *g: finished if it returns 0; else NULL, or to be freed. */
int np_goal_read_binary(FILE *f, const char *name, struct np_graph **g,
			struct np_err *err);

#endif

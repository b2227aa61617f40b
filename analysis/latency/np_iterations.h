/*
 * Iterations of a program that are equal but for when they are.
 *
 * In each part of a graph that is in the loop, an operation and the one a
 * period later are of one kind, size, tag, processor and adapter; what the
 * one waits for is a period before what the other waits for; and what the one
 * meets is a period of the other rank before what the other meets.
 */
#ifndef NP_ITERATIONS_H
#define NP_ITERATIONS_H

#include "np_graph_impl.h"

/* Of a part of the graph. */
struct np_iterations_part {
	uint32_t first;	 /* node that begins the first iteration */
	uint32_t period; /* nodes of an iteration; 0: it is not in the loop */
	uint32_t base;	 /* nodes of an iteration of all parts before it */
};

struct np_iterations {
	struct np_iterations_part *part; /* NULL: there is no loop */
	uint32_t times;		   /* iterations */
	uint32_t ops;		   /* of an iteration of all parts */
};

/*
 * The loop that makes up most of a finished graph, or none: less than half of
 * the graph is none.  Free with np_iterations_free().  Returns 0 or -ENOMEM.
 */
int np_iterations_find(const struct np_graph *g, struct np_iterations *out);
void np_iterations_free(struct np_iterations *l);

#endif

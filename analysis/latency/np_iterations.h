/*
 * Finds the main loop of a program: iterations that are equal except for their
 * time.
 *
 * In each part of a graph that belongs to the loop, an operation and the one a
 * period later have the same kind, size, tag, processor and adapter; their
 * dependencies are a period apart; and the operations that they are matched
 * with are a period of the other rank apart.
 */
#ifndef NP_ITERATIONS_H
#define NP_ITERATIONS_H

#include "np_graph_impl.h"

/* Loop of one part of the graph. */
struct np_iterations_part {
	uint32_t first;	 /* node at which the first iteration begins */
	uint32_t period; /* nodes in an iteration; 0: not in the loop */
	uint32_t base;	 /* nodes in an iteration of all earlier parts */
};

struct np_iterations {
	struct np_iterations_part *part; /* NULL: no loop */
	uint32_t times;		   /* number of iterations */
	uint32_t ops;		   /* operations in an iteration of all parts */
};

/*
 * Finds the loop that makes up at least half of a finished graph; out->part is
 * NULL if there is none. Free with np_iterations_free(). Returns 0 or -ENOMEM.
 */
int np_iterations_find(const struct np_graph *g, struct np_iterations *out);
void np_iterations_free(struct np_iterations *l);

#endif

/*
 * The ports that communications use, numbered consecutively, so that time and
 * memory depend on their number and not on that of the nodes.
 */
#ifndef NP_PORTS_H
#define NP_PORTS_H

#include "np_sharing.h"

struct np_ports {
	const struct np_comm *c; /* borrowed */
	size_t n, n_out, n_in;
	uint32_t *out, *in;    /* by communication: its two ports */
	uint32_t *n_of_out;    /* by sending port: number of communications */
	uint32_t *n_of_in;     /* by receiving port */
};

/* Returns 0 or -ENOMEM with err.  Free with np_ports_free(). */
int np_ports_new(const struct np_comm *c, size_t n, struct np_ports *out,
		 struct np_err *err);
void np_ports_free(struct np_ports *p);

/* Sorts the communications by source, then by destination, into order[n]. */
void np_ports_sort(const struct np_ports *p, uint32_t *order);

/*
 * Finds connected components: part[n] is the component of each communication,
 * where two are connected if they share a port. Returns the number of
 * components, or -ENOMEM.
 */
long np_ports_parts(const struct np_ports *p, uint32_t *part);

#endif

/*
 * The ports that communications use, numbered without gaps, so that work and
 * memory follow their number and not that of the cluster's nodes.
 */
#ifndef NP_PORTS_H
#define NP_PORTS_H

#include "np_sharing.h"

struct np_ports {
	const struct np_comm *c; /* borrowed */
	size_t n, n_out, n_in;
	uint32_t *out, *in;    /* of each communication: its two ports */
	uint32_t *n_of_out;    /* of each port that sends: communications */
	uint32_t *n_of_in;     /* of each port that receives */
};

/* Returns 0 or -ENOMEM with err.  Free with np_ports_free(). */
int np_ports_new(const struct np_comm *c, size_t n, struct np_ports *out,
		 struct np_err *err);
void np_ports_free(struct np_ports *p);

/* order[n]: the communications by source, and those of one by destination. */
void np_ports_sort(const struct np_ports *p, uint32_t *order);

/*
 * Which connected part each communication belongs to: part[n], 0 .. n - 1.
 * Two are connected by a common port.  Returns how many parts, or -ENOMEM.
 */
long np_ports_parts(const struct np_ports *p, uint32_t *part);

#endif

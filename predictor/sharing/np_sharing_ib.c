/*
 * InfiniBand [VT].  Note that what enters a node is counted by its sources,
 * each weighted by its own parallel communications: as the source has it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_ports.h"
#include "np_sharing_impl.h"

struct arc {
	uint32_t in, out, comm;
};

static int by_ends(const void *a, const void *b)
{
	const struct arc *x = a, *y = b;

	if (x->in != y->in)
		return x->in < y->in ? -1 : 1;
	return (x->out > y->out) - (x->out < y->out);
}

/* Of each communication its parallel ones, of each receiver its sources. */
static void count(struct arc *arc, const struct np_ports *port,
		  uint32_t *parallel, uint32_t *sources)
{
	for (size_t i = 0; i < port->n; i++)
		arc[i] = (struct arc){ port->in[i], port->out[i],
				       (uint32_t)i };
	qsort(arc, port->n, sizeof(*arc), by_ends);
	for (size_t i = 0, j; i < port->n; i = j) {
		for (j = i; j < port->n && !by_ends(&arc[i], &arc[j]); j++)
			;
		for (size_t k = i; k < j; k++)
			parallel[arc[k].comm] = (uint32_t)(j - i);
		sources[arc[i].in]++;
	}
}

/* The slowest that leaves a node slows all that leave it. */
static void slow_out(const struct np_sharing_param *p,
		     const struct np_ports *port, double *out)
{
	for (size_t i = 0; i < port->n; i++) {
		uint32_t s = port->out[i], load = port->n_of_out[s];
		double q = load == 1 ? 1 :
			   load * p->ib_out *
			   (port->n_of_in[port->in[i]] > 2 ? p->ib_many : 1);

		out[s] = fmax(out[s], q);
	}
}

int np_sharing_infiniband(const struct np_sharing_param *p,
			  const struct np_comm *c, size_t n, double *penalty,
			  struct np_err *err)
{
	struct np_ports port = { .n = 0 };
	struct arc *arc = calloc(n, sizeof(*arc));
	uint32_t *parallel = calloc(2 * n, sizeof(*parallel));
	double *out = calloc(n, sizeof(*out));
	int rc = arc && parallel && out ? np_ports_new(c, n, &port, err) :
		 np_errf(err, -ENOMEM, "out of memory");

	if (!rc) {
		count(arc, &port, parallel, parallel + n);
		slow_out(p, &port, out);
	}
	for (size_t i = 0; !rc && i < n; i++) {
		uint32_t d = port.in[i];
		double in = port.n_of_in[d] == 1 ? 1 :
			    parallel[i] * p->ib_in * parallel[n + d];

		penalty[i] = fmax(out[port.out[i]], in);
	}
	np_ports_free(&port);
	free(arc);
	free(parallel);
	free(out);
	return rc;
}

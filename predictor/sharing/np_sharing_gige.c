/*
 * Gigabit Ethernet [V].  Of the communications that leave one node, those
 * whose destination receives most are slowed most ("strongly slow"), the others
 * a little less; the same where they arrive.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_ports.h"
#include "np_sharing_impl.h"

/* At one port: how full the fullest far end is, and how many go to such. */
struct far {
	uint32_t most, n_most;
};

static void meet(struct far *f, uint32_t load)
{
	if (load > f->most)
		*f = (struct far){ load, 0 };
	f->n_most += load == f->most;
}

/* p_o or p_i: load communications at this port, load_far at the other end. */
static double side(double beta, double gamma, uint32_t load, uint32_t load_far,
		   const struct far *f)
{
	double m = f->n_most;

	if (load == 1)
		return 1;
	if (load_far == f->most)
		return load * beta * (1 + gamma * (load - m));
	return load * beta * (1 - gamma / m);
}

int np_sharing_gige(const struct np_sharing_param *p, const struct np_comm *c,
		    size_t n, double *penalty, struct np_err *err)
{
	struct np_ports port;
	struct far *out = calloc(2 * n, sizeof(*out)), *in = out + n;
	int rc = out ? np_ports_new(c, n, &port, err) :
		       np_errf(err, -ENOMEM, "out of memory");

	if (rc) {
		free(out);
		return rc;
	}
	for (size_t i = 0; i < n; i++) {
		meet(&out[port.out[i]], port.n_of_in[port.in[i]]);
		meet(&in[port.in[i]], port.n_of_out[port.out[i]]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t s = port.n_of_out[port.out[i]];
		uint32_t d = port.n_of_in[port.in[i]];

		penalty[i] = fmax(side(p->beta, p->gamma_out, s, d,
				       &out[port.out[i]]),
				  side(p->beta, p->gamma_in, d, s,
				       &in[port.in[i]]));
	}
	np_ports_free(&port);
	free(out);
	return 0;
}

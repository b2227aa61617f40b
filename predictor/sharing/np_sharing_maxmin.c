/*
 * Max-min fair sharing of unit ports by progressive filling: all rates grow
 * alike until a port is full, whose communications then keep their rate.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_ports.h"
#include "np_sharing_impl.h"

struct port {
	double left;	 /* of its capacity, for those that still grow */
	uint32_t n_grow; /* how many these are */
};

/* The rate at which the next port is full. */
static double next_rate(const struct port *port, size_t n)
{
	double rate = INFINITY;

	for (size_t i = 0; i < n; i++)
		if (port[i].n_grow)
			rate = fmin(rate, port[i].left / port[i].n_grow);
	return rate;
}

static bool full(const struct port *p, double rate)
{
	return p->left <= rate * p->n_grow * (1 + 1e-12);
}

static void leave(struct port *p, double rate)
{
	p->left -= rate;
	p->n_grow--;
}

/* Those at a full port keep this rate; returns how many. */
static size_t freeze(const struct np_ports *p, struct port *port, bool *is_full,
		     double rate, double *penalty)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_out + p->n_in; i++)
		is_full[i] = port[i].n_grow && full(&port[i], rate);
	for (size_t i = 0; i < p->n; i++) {
		size_t out = p->out[i], in = p->n_out + p->in[i];

		if (penalty[i] || !(is_full[out] || is_full[in]))
			continue;
		leave(&port[out], rate);
		leave(&port[in], rate);
		penalty[i] = 1 / rate;
		n++;
	}
	return n;
}

int np_sharing_maxmin(const struct np_sharing_param *param,
		      const struct np_comm *c, size_t n, double *penalty,
		      struct np_err *err)
{
	struct np_ports p = { .n = 0 };
	struct port *port = calloc(2 * n, sizeof(*port));
	bool *is_full = calloc(2 * n, sizeof(*is_full));
	int rc = port && is_full ? np_ports_new(c, n, &p, err) :
				   np_errf(err, -ENOMEM, "out of memory");

	(void)param;
	for (size_t i = 0; !rc && i < n; i++) {
		port[p.out[i]] = (struct port){ 1, p.n_of_out[p.out[i]] };
		port[p.n_out + p.in[i]] =
			(struct port){ 1, p.n_of_in[p.in[i]] };
		penalty[i] = 0;
	}
	for (size_t left = rc ? 0 : n; left;)
		left -= freeze(&p, port, is_full,
			       next_rate(port, p.n_out + p.n_in), penalty);
	np_ports_free(&p);
	free(port);
	free(is_full);
	return rc;
}

/* What throughput cannot be below or above, whoever is where. */
#include <errno.h>
#include <math.h>

#include "np_qn_impl.h"

/* A station at all loads up to n customers, per cycle. */
struct extremes {
	double alone_sec;   /* shortest that a customer can be there */
	double fastest_sec; /* shortest time between two that leave */
	double slowest_sec; /* longest */
};

static struct extremes extremes_of(const struct np_qn_station *st, uint64_t n)
{
	uint64_t last = st->kind == NP_QN_LOADED ? st->n_loads : st->servers;
	double v = st->visits[0];
	struct extremes e = { INFINITY, INFINITY, 0 };

	if (last > n)
		last = n;
	for (uint64_t i = 1; i <= last; i++) {
		double sec = v * np_qn_at_load(st, i);

		e.alone_sec = fmin(e.alone_sec, sec * (double)i);
		e.fastest_sec = fmin(e.fastest_sec, sec);
		e.slowest_sec = fmax(e.slowest_sec, sec);
	}
	return e;
}

int np_qn_bounds(const struct np_qn *net, double *least, double *most)
{
	double n = (double)net->class[0].customers;
	double slow_sec = net->class[0].think_sec, fast_sec = slow_sec;
	double slowest_sec = 0, fastest_sec = 0;

	if (net->n_classes > 1)
		return -ENOTSUP;
	*least = *most = 0;
	if (n == 0)
		return 0;
	for (size_t k = 0; k < net->n_stations; k++) {
		const struct np_qn_station *st = &net->station[k];
		struct extremes e;

		if (st->kind == NP_QN_DELAY) {
			slow_sec += np_qn_demand(net, 0, k);
			fast_sec += np_qn_demand(net, 0, k);
			continue;
		}
		e = extremes_of(st, net->class[0].customers);
		slow_sec += e.slowest_sec;
		fast_sec += e.alone_sec;
		slowest_sec = fmax(slowest_sec, e.slowest_sec);
		fastest_sec = fmax(fastest_sec, e.fastest_sec);
	}
	*least = n / (slow_sec + (n - 1) * slowest_sec);
	*most = fmin(n / fast_sec, 1 / fastest_sec);
	return 0;
}

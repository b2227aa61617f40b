/*
 * Descriptions of queueing networks, and what their solutions have in common.
 *
 * Each method (np_qn_*.c) is a struct np_qn_solver. np_qn_solve() checks the
 * network, what the method supports and what it would cost, all before the
 * method begins, because memory and time of exact methods grow with the product
 * of the numbers of customers.
 */
#include "np_qn.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_qn_impl.h"

/* Whether a time is 0 or within the limits. */
static bool is_time(double sec)
{
	return sec == 0 || (sec >= NP_QN_LEAST_SEC && sec <= NP_QN_MOST_SEC);
}

/* Error message about a time of a station or class. */
static int bad_time(const char *name, const char *what, double got,
		    struct np_err *err)
{
	return np_errf(err, -EINVAL, "%.64s: %s %g, expected 0 or %g to %g",
		       name, what, got, NP_QN_LEAST_SEC, NP_QN_MOST_SEC);
}

/* Checks the service times of a load-dependent station. */
static int check_loads(const struct np_qn_station *st, struct np_err *err)
{
	if (!st->n_loads || st->n_loads > NP_QN_MAX_SERVERS)
		return np_errf(err, -EINVAL, "%.64s: service times of %zu "
			       "loads, expected 1 to %d", st->name,
			       st->n_loads, NP_QN_MAX_SERVERS);
	for (size_t i = 0; i < st->n_loads; i++)
		if (!is_time(st->at_load_sec[i]) || st->at_load_sec[i] == 0)
			return np_errf(err, -EINVAL, "%.64s: service time %g "
				       "with %zu customers, expected more "
				       "than 0", st->name, st->at_load_sec[i],
				       i + 1);
	return 0;
}

/* Checks a station and the demands of all classes there. */
static int check_station(const struct np_qn *net, size_t k, struct np_err *err)
{
	const struct np_qn_station *st = &net->station[k];

	if (st->kind == NP_QN_LOADED && check_loads(st, err))
		return -EINVAL;
	if (st->kind == NP_QN_QUEUE &&
	    (!st->servers || st->servers > NP_QN_MAX_SERVERS))
		return np_errf(err, -EINVAL, "%.64s: %u servers, expected 1 to "
			       "%d", st->name, st->servers, NP_QN_MAX_SERVERS);
	for (size_t c = 0; c < net->n_classes; c++) {
		double d = np_qn_demand(net, c, k);

		if (!is_time(st->visits[c]))
			return bad_time(st->name, "visits", st->visits[c], err);
		if (st->kind != NP_QN_LOADED && !is_time(st->service_sec[c]))
			return bad_time(st->name, "service time",
					st->service_sec[c], err);
		if (!is_time(d))
			return bad_time(st->name, "demand", d, err);
	}
	return 0;
}

/* Checks a class. Its cycle must take some time. */
static int check_class(const struct np_qn *net, size_t c, struct np_err *err)
{
	const struct np_qn_class *class = &net->class[c];
	double cycle_sec = class->think_sec;

	if (class->customers > NP_QN_MAX_CUSTOMERS)
		return np_errf(err, -EINVAL, "%.64s: %llu customers, expected "
			       "at most %d", class->name,
			       (unsigned long long)class->customers,
			       NP_QN_MAX_CUSTOMERS);
	if (!(class->arrivals_per_sec >= 0 &&
	      class->arrivals_per_sec <= NP_QN_MOST_SEC))
		return np_errf(err, -EINVAL, "%.64s: %g arrivals per second, "
			       "expected 0 to %g", class->name,
			       class->arrivals_per_sec, NP_QN_MOST_SEC);
	if (class->arrivals_per_sec > 0 && (class->customers ||
					    class->think_sec > 0))
		return np_errf(err, -EINVAL, "%.64s: both arrivals and customers "
			       "or think time, expected one of them",
			       class->name);
	if (!is_time(class->think_sec))
		return bad_time(class->name, "think time", class->think_sec,
				err);
	for (size_t k = 0; k < net->n_stations; k++)
		cycle_sec += np_qn_demand(net, c, k);
	if (class->customers && cycle_sec == 0)
		return np_errf(err, -EINVAL, "%.64s: neither demand nor think "
			       "time, so that its throughput is infinite",
			       class->name);
	return 0;
}

int np_qn_check(const struct np_qn *net, struct np_err *err)
{
	int rc = 0;

	if (!net->n_classes || net->n_classes > NP_QN_MAX_CLASSES)
		return np_errf(err, -EINVAL, "%zu classes, expected 1 to %d",
			       net->n_classes, NP_QN_MAX_CLASSES);
	if (net->n_stations > NP_QN_MAX_STATIONS)
		return np_errf(err, -EINVAL, "%zu stations, expected at most "
			       "%d", net->n_stations, NP_QN_MAX_STATIONS);
	for (size_t k = 0; !rc && k < net->n_stations; k++)
		rc = check_station(net, k, err);
	for (size_t c = 0; !rc && c < net->n_classes; c++)
		rc = check_class(net, c, err);
	return rc;
}

double np_qn_at_load(const struct np_qn_station *st, uint64_t n)
{
	switch (st->kind) {
	case NP_QN_LOADED:
		return st->at_load_sec[(n < st->n_loads ? n : st->n_loads) - 1];
	case NP_QN_QUEUE:
		return st->service_sec[0] /
		       (double)(n < st->servers ? n : st->servers);
	default:
		return st->service_sec[0] / (double)n;
	}
}

double np_qn_demand(const struct np_qn *net, size_t c, size_t k)
{
	const struct np_qn_station *st = &net->station[k];

	return st->visits[c] * (st->kind == NP_QN_LOADED ? st->at_load_sec[0] :
							   st->service_sec[c]);
}

/* Finds a station that the method does not support. */
static int check_stations(const struct np_qn *net,
			  const struct np_qn_solver *way, struct np_err *err)
{
	for (size_t k = 0; way->refusal && k < net->n_stations; k++) {
		const struct np_qn_station *st = &net->station[k];

		if (st->kind == NP_QN_LOADED ||
		    (st->kind == NP_QN_QUEUE && st->servers > 1 &&
		     !way->servers))
			return np_errf(err, -ENOTSUP, "%.64s: %s", st->name,
				       way->refusal);
	}
	return 0;
}

/* What to use for a network that is too large for a method. */
static const char *alternative(const struct np_qn_solver *way,
			      const struct np_qn *net)
{
	for (size_t k = 0; k < net->n_stations; k++)
		if (net->station[k].kind == NP_QN_LOADED)
			return "no approximation takes load-dependent stations";
	return way->instead ? way->instead : "linearizer takes little";
}

/* Returns -E2BIG with the cost, if that exceeds max. */
static int check_cost(const struct np_qn *net, const struct np_qn_solver *way,
		  const struct np_qn_cost *max, struct np_err *err)
{
	const struct np_qn_cost cost = way->cost(net);

	if (cost.bytes > fmin(max->bytes, 0x1p61))
		return np_errf(err, -E2BIG, "%s would take %.3g MB of memory, "
			       "more than %.3g MB; %s", way->name,
			       cost.bytes / 1e6, max->bytes / 1e6,
			       alternative(way, net));
	if (cost.steps > max->steps)
		return np_errf(err, -E2BIG, "%s would take %.3g steps, more "
			       "than %.3g; %s", way->name, cost.steps,
			       max->steps, alternative(way, net));
	return 0;
}

/*
 * Replaces a multi-server queue by a faster server and a delay: m servers are
 * one that is m times as fast, plus the time by which that one would end a
 * service earlier. Both agree with the queue where one customer is alone and
 * where all servers are busy, and are approximate between (A. Seidmann,
 * P. Schweitzer, S. Shalev-Oren, 1987).
 */
static void flatten_class(const struct np_qn *net, size_t c,
			  struct np_qn_flat *f)
{
	f->fixed_sec[c] = net->class[c].think_sec;
	for (size_t k = 0, q = 0; k < net->n_stations; k++) {
		const struct np_qn_station *st = &net->station[k];
		double d = np_qn_demand(net, c, k);

		if (st->kind == NP_QN_QUEUE) {
			f->demand[c * f->n_queues + q++] = d / st->servers;
			d -= d / st->servers;
		}
		f->fixed_sec[c] += d;
	}
}

/* Reduces a network to single-server queues and fixed times. */
static int flatten(const struct np_qn *net, struct np_qn_flat *f)
{
	size_t n = net->n_classes;

	for (size_t k = 0; k < net->n_stations; k++)
		f->n_queues += net->station[k].kind == NP_QN_QUEUE;
	f->demand = calloc(2 * n * f->n_queues + 1, sizeof(*f->demand));
	f->fixed_sec = calloc(n, sizeof(*f->fixed_sec));
	if (!f->demand || !f->fixed_sec)
		return -ENOMEM;
	f->r = f->demand + n * f->n_queues;
	for (size_t c = 0; c < n; c++)
		flatten_class(net, c, f);
	return 0;
}

/* Allocates a solution; its arrays are in one block, so one free() frees it. */
static int make_solution(const struct np_qn *net, struct np_qn_solution *s)
{
	size_t n = net->n_classes, all = n * net->n_stations;
	double *block = calloc(2 * n + 3 * all, sizeof(*block));

	if (!block)
		return -ENOMEM;
	*s = (struct np_qn_solution){
		.n_classes = n, .n_stations = net->n_stations,
		.x_per_sec = block, .response_sec = block + n,
		.residence_sec = block + 2 * n,
		.present = block + 2 * n + all,
		.utilisation = block + 2 * n + 2 * all,
	};
	return 0;
}

void np_qn_solution_free(struct np_qn_solution *s)
{
	free(s->x_per_sec); /* frees all arrays */
	*s = (struct np_qn_solution){ 0 };
}

/*
 * Derives the remaining results from throughputs and residence times at queues.
 */
static void fill_class(const struct np_qn *net, const struct np_qn_flat *f,
		       size_t c, struct np_qn_solution *s)
{
	double x = s->x_per_sec[c];

	for (size_t k = 0, q = 0; k < net->n_stations; k++) {
		const struct np_qn_station *st = &net->station[k];
		size_t i = c * net->n_stations + k;
		double d = np_qn_demand(net, c, k), sec = d;

		if (st->kind == NP_QN_QUEUE) {
			sec = d - d / st->servers + f->r[c * f->n_queues + q++];
			d /= st->servers;
		}
		s->residence_sec[i] = sec;
		s->response_sec[c] += sec;
		s->present[i] = x * sec;
		s->utilisation[i] = x * d;
	}
}

int np_qn_solve(const struct np_qn_solver *way, const struct np_qn *net,
		const struct np_qn_cost *max, struct np_qn_solution *out,
		struct np_err *err)
{
	struct np_qn_solution made = { 0 };
	struct np_qn_flat f = { 0 };
	int rc = np_qn_check(net, err);

	if (!rc)
		rc = check_stations(net, way, err);
	if (!rc)
		rc = check_cost(net, way, max, err);
	if (rc)
		return rc;
	rc = make_solution(net, &made);
	if (!rc && way->refusal)
		rc = flatten(net, &f);
	if (!rc)
		rc = way->run(net, &f, max, &made, err);
	for (size_t c = 0; !rc && way->refusal && c < net->n_classes; c++)
		if (net->class[c].customers)
			fill_class(net, &f, c, &made);
	if (rc == -ENOMEM)
		np_errf(err, rc, "%s: no memory", way->name);
	if (rc)
		np_qn_solution_free(&made);
	else
		*out = made;
	free(f.demand);
	free(f.fixed_sec);
	return rc;
}

/* ---- Bounds of throughput ---- */

/* Extreme times of a station with up to n customers, per cycle. */
struct extremes {
	double alone_sec;   /* minimum time that a customer is there */
	double fastest_sec; /* minimum time between departures */
	double slowest_sec; /* maximum of it */
};

/* Extreme times of a station over all its loads. */
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

/*
 * The bounds of the header for stations whose times depend on their load: the
 * most favourable times count for the upper bound and the least favourable ones
 * for the lower, so that they hold whatever the loads are.
 */
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

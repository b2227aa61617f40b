/* Descriptions of queueing networks, and their solutions. */
#include "np_qn.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_qn_impl.h"

static bool is_time(double sec)
{
	return sec == 0 || (sec >= NP_QN_LEAST_SEC && sec <= NP_QN_MOST_SEC);
}

static int bad_time(const char *name, const char *what, double got,
		    struct np_err *err)
{
	return np_errf(err, -EINVAL, "%.64s: %s %g, expected 0 or %g to %g",
		       name, what, got, NP_QN_LEAST_SEC, NP_QN_MOST_SEC);
}

/* What a station does to all classes alike. */
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

static int check_class(const struct np_qn *net, size_t c, struct np_err *err)
{
	const struct np_qn_class *class = &net->class[c];
	double cycle_sec = class->think_sec;

	if (class->customers > NP_QN_MAX_CUSTOMERS)
		return np_errf(err, -EINVAL, "%.64s: %llu customers, expected "
			       "at most %d", class->name,
			       (unsigned long long)class->customers,
			       NP_QN_MAX_CUSTOMERS);
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

int np_qn_check_fixed(const struct np_qn *net, const char *method,
		      struct np_err *err)
{
	int rc = np_qn_check(net, err);

	for (size_t k = 0; !rc && k < net->n_stations; k++)
		if (net->station[k].kind == NP_QN_LOADED)
			rc = np_errf(err, -ENOTSUP, "%.64s: %s does not take "
				     "load-dependent stations; convolution "
				     "does", net->station[k].name, method);
	return rc;
}

const char *np_qn_instead(const struct np_qn *net)
{
	for (size_t k = 0; k < net->n_stations; k++)
		if (net->station[k].kind == NP_QN_LOADED)
			return "no approximation takes load-dependent stations";
	return "linearizer takes little";
}

uint64_t np_qn_customers(const struct np_qn *net)
{
	uint64_t n = 0;

	for (size_t c = 0; c < net->n_classes; c++)
		n += net->class[c].customers;
	return n;
}

int np_qn_afford(const struct np_qn_cost *cost, const struct np_qn_cost *max,
		 const char *what, const char *instead, struct np_err *err)
{
	if (cost->bytes > fmin(max->bytes, 0x1p61))
		return np_errf(err, -E2BIG, "%s would take %.3g MB of memory, "
			       "more than %.3g MB; %s", what, cost->bytes / 1e6,
			       max->bytes / 1e6, instead);
	if (cost->steps > max->steps)
		return np_errf(err, -E2BIG, "%s would take %.3g steps, more "
			       "than %.3g; %s", what, cost->steps, max->steps,
			       instead);
	return 0;
}

/* A queue of several servers is one that is faster, and a delay. */
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

int np_qn_flatten(const struct np_qn *net, struct np_qn_flat *f)
{
	*f = (struct np_qn_flat){ 0 };
	f->queue = calloc(net->n_stations + 1, sizeof(*f->queue));
	if (!f->queue)
		return -ENOMEM;
	for (size_t k = 0; k < net->n_stations; k++)
		if (net->station[k].kind == NP_QN_QUEUE)
			f->queue[f->n_queues++] = k;
	f->demand = calloc(net->n_classes * (f->n_queues + 1),
			   sizeof(*f->demand));
	f->fixed_sec = calloc(net->n_classes, sizeof(*f->fixed_sec));
	if (!f->demand || !f->fixed_sec)
		return -ENOMEM;
	for (size_t c = 0; c < net->n_classes; c++)
		flatten_class(net, c, f);
	return 0;
}

void np_qn_flat_free(struct np_qn_flat *f)
{
	free(f->queue);
	free(f->demand);
	free(f->fixed_sec);
}

int np_qn_solution_make(const struct np_qn *net, struct np_qn_solution *s)
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
	free(s->x_per_sec); /* the block */
	*s = (struct np_qn_solution){ 0 };
}

static void fill_class(const struct np_qn *net, const struct np_qn_flat *f,
		       const double *r, size_t c, struct np_qn_solution *s)
{
	double x = s->x_per_sec[c];

	for (size_t k = 0, q = 0; k < net->n_stations; k++) {
		const struct np_qn_station *st = &net->station[k];
		size_t i = c * net->n_stations + k;
		double d = np_qn_demand(net, c, k), sec = d;

		if (st->kind == NP_QN_QUEUE) {
			sec = d - d / st->servers + r[c * f->n_queues + q++];
			d /= st->servers;
		}
		s->residence_sec[i] = sec;
		s->response_sec[c] += sec;
		s->present[i] = x * sec;
		s->utilisation[i] = x * d;
	}
}

void np_qn_solution_fill(const struct np_qn *net, const struct np_qn_flat *f,
			 const double *r, struct np_qn_solution *s)
{
	for (size_t c = 0; c < net->n_classes; c++)
		if (net->class[c].customers)
			fill_class(net, f, r, c, s);
}

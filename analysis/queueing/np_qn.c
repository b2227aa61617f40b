/*
 * Queueing networks: checking their descriptions, and solving them.
 *
 * Each method is a struct solver. solve_by() checks the network, what the
 * method supports and what it would cost, all before the method begins, because
 * memory and time of exact methods grow with the product of the numbers of
 * customers.
 */
#include "np_qn.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A network for mean value analysis: single-server queues, plus the part of a
 * cycle that does not depend on other customers.
 */
struct flat {
	size_t n_queues;
	double *demand;	   /* [c * n_queues + q] */
	double *r;	   /* same index: residence times, set by the method */
	double *fixed_sec; /* by class: think time and delays */
};

/* A method and its restrictions. */
struct solver {
	const char *name;
	/* what to use for too large a network; NULL: linearizer */
	const char *instead;
	/* Message for load-dependent stations; NULL: supported. */
	const char *refusal;
	bool servers; /* multi-server queues are supported */
	/* Only approximations: of the core, and the most iterations. */
	int passes;
	double iterations;
	struct np_qn_cost (*cost)(const struct np_qn *net);
	/*
	 * Computes the throughputs in out, and f->r. A method that supports
	 * load-dependent stations gets no f, which cannot represent them, and
	 * fills all of out. Returns 0, -ENOMEM, or -ELOOP with err.
	 */
	int (*run)(const struct solver *way, const struct np_qn *net,
		   const struct flat *f, const struct np_qn_cost *max,
		   struct np_qn_solution *out, struct np_err *err);
};

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
		return np_errf(
			err, -EINVAL,
			"%.64s: service times of %zu loads, expected 1 to %d",
			st->name, st->n_loads, NP_QN_MAX_SERVERS);
	for (size_t i = 0; i < st->n_loads; i++)
		if (!is_time(st->at_load_sec[i]) || st->at_load_sec[i] == 0)
			return np_errf(err, -EINVAL,
				       "%.64s: service time %g with %zu "
				       "customers, expected more than 0",
				       st->name, st->at_load_sec[i], i + 1);
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
		return np_errf(err, -EINVAL,
			       "%.64s: %u servers, expected 1 to %d", st->name,
			       st->servers, NP_QN_MAX_SERVERS);
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
		return np_errf(err, -EINVAL,
			       "%.64s: %llu customers, expected at most %d",
			       class->name,
			       (unsigned long long)class->customers,
			       NP_QN_MAX_CUSTOMERS);
	if (!(class->arrivals_per_sec >= 0 &&
	      class->arrivals_per_sec <= NP_QN_MOST_SEC))
		return np_errf(
			err, -EINVAL,
			"%.64s: %g arrivals per second, expected 0 to %g",
			class->name, class->arrivals_per_sec, NP_QN_MOST_SEC);
	if (class->arrivals_per_sec > 0 &&
	    (class->customers || class->think_sec > 0))
		return np_errf(err, -EINVAL,
			       "%.64s: both arrivals and customers or think "
			       "time, expected one of them",
			       class->name);
	if (!is_time(class->think_sec))
		return bad_time(class->name, "think time", class->think_sec,
				err);
	for (size_t k = 0; k < net->n_stations; k++)
		cycle_sec += np_qn_demand(net, c, k);
	if (class->customers && cycle_sec == 0)
		return np_errf(err, -EINVAL,
			       "%.64s: neither demand nor think time, so that "
			       "its throughput is infinite",
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
		return np_errf(err, -EINVAL,
			       "%zu stations, expected at most %d",
			       net->n_stations, NP_QN_MAX_STATIONS);
	for (size_t k = 0; !rc && k < net->n_stations; k++)
		rc = check_station(net, k, err);
	for (size_t c = 0; !rc && c < net->n_classes; c++)
		rc = check_class(net, c, err);
	return rc;
}

/* Mean time between departures from a station with n customers. */
static double at_load(const struct np_qn_station *st, uint64_t n)
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
static int check_stations(const struct np_qn *net, const struct solver *way,
			  struct np_err *err)
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
static const char *alternative(const struct solver *way,
			       const struct np_qn *net)
{
	for (size_t k = 0; k < net->n_stations; k++)
		if (net->station[k].kind == NP_QN_LOADED)
			return "no approximation takes load-dependent stations";
	return way->instead ? way->instead : "linearizer takes little";
}

/* "1.07 GB": in the unit in which the number is below 1000. */
static const char *memory(double bytes, char buf[16])
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB" };
	size_t i = 0;

	for (; i + 1 < NP_ARRAY_SIZE(unit) && bytes >= 999.5; i++)
		bytes /= 1000;
	snprintf(buf, 16, "%.3g %s", bytes, unit[i]);
	return buf;
}

/* Returns -E2BIG with the cost, if that exceeds max. */
static int check_cost(const struct np_qn *net, const struct solver *way,
		      const struct np_qn_cost *max, struct np_err *err)
{
	const struct np_qn_cost cost = way->cost(net);
	char needed[16], most[16];

	if (cost.bytes > fmin(max->bytes, 0x1p61))
		return np_errf(err, -E2BIG,
			       "%s would take %s of memory, more than %s; %s",
			       way->name, memory(cost.bytes, needed),
			       memory(max->bytes, most), alternative(way, net));
	if (cost.steps > max->steps)
		return np_errf(err, -E2BIG,
			       "%s would take %.3g steps, more than %.3g; %s",
			       way->name, cost.steps, max->steps,
			       alternative(way, net));
	return 0;
}

/*
 * Replaces a multi-server queue by a faster server and a delay: m servers are
 * one that is m times as fast, plus the time by which that one would end a
 * service earlier. Both agree with the queue where one customer is alone and
 * where all servers are busy, and are approximate between (A. Seidmann,
 * P. Schweitzer, S. Shalev-Oren, 1987).
 */
static void flatten_class(const struct np_qn *net, size_t c, struct flat *f)
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
static int flatten(const struct np_qn *net, struct flat *f)
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
		.n_classes = n,
		.n_stations = net->n_stations,
		.x_per_sec = block,
		.response_sec = block + n,
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
static void fill_class(const struct np_qn *net, const struct flat *f, size_t c,
		       struct np_qn_solution *s)
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

/*
 * Computes the residence times of a class that sees so many customers at each
 * queue when it arrives. Returns the time of its cycle.
 */
static double cycle_time(const struct flat *f, size_t c, const double *seen)
{
	const double *d = f->demand + c * f->n_queues;
	double *r = f->r + c * f->n_queues, sec = f->fixed_sec[c];

	for (size_t q = 0; q < f->n_queues; q++) {
		r[q] = d[q] * (1 + seen[q]);
		sec += r[q];
	}
	return sec;
}

/* Solves a network with a method; returns as np_qn_method. */
static int solve_by(const struct solver *way, const struct np_qn *net,
		    const struct np_qn_cost *max, struct np_qn_solution *out,
		    struct np_err *err)
{
	struct np_qn_solution made = { 0 };
	struct flat f = { 0 };
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
		rc = way->run(way, net, &f, max, &made, err);
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

/* ---- bounds of throughput ---- */

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
		double sec = v * at_load(st, i);

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

/*
 * ---- populations ----
 *
 * Populations of several classes, enumerated with class 0 varying fastest.
 * Populations have consecutive cell numbers, and the cell of N - n is that of N
 * minus that of n.
 */

struct population {
	size_t classes;
	uint64_t n[NP_QN_MAX_CLASSES], all; /* all: their sum */
};

/* Advances to the next population up to top; after top comes the empty one. */
static void next_population(struct population *p, const struct population *top)
{
	for (size_t c = 0; c < p->classes; c++) {
		if (p->n[c] < top->n[c]) {
			p->n[c]++;
			p->all++;
			return;
		}
		p->all -= p->n[c];
		p->n[c] = 0;
	}
}

/* Goes back to the previous population; before the empty one comes top. */
static void previous_population(struct population *p,
				const struct population *top)
{
	for (size_t c = 0; c < p->classes; c++) {
		if (p->n[c]) {
			p->n[c]--;
			p->all--;
			return;
		}
		p->n[c] = top->n[c];
		p->all += p->n[c];
	}
}

/* The first class with customers; there must be one. */
static size_t first_class(const struct population *p)
{
	size_t c = 0;

	while (!p->n[c])
		c++;
	return c;
}

/*
 * ---- mean value analysis ----
 *
 * Exact mean value analysis: with n customers, one that arrives at a queue sees
 * it as it is with one customer less of its own class,
 *
 *	R_ck(n) = D_ck (1 + Q_k(n - e_c)), X_c = n_c / (Z_c + sum_k R_ck),
 *	Q_k(n) = sum_c X_c R_ck.
 *
 * Only the hyperplane for the current number of customers of the largest class
 * is stored: a cell holds Q_k(n - e_largest) until it is replaced by Q_k(n).
 */

struct plane {
	const struct np_qn *net;
	const struct flat *flat;
	size_t largest, n_cells;
	/* in cells; 0 for the largest class */
	size_t stride[NP_QN_MAX_CLASSES];
	/* current and last population, without the largest class */
	struct population at, top;
	uint64_t n_largest;
	double *x;	 /* throughputs at this population */
	double *present; /* [cell * n_queues + q] */
	double *sum;
};

/*
 * The class with the most customers, whose number is not stored as a dimension.
 */
static size_t largest_class(const struct np_qn *net)
{
	size_t best = 0;

	for (size_t c = 1; c < net->n_classes; c++)
		if (net->class[c].customers > net->class[best].customers)
			best = c;
	return best;
}

struct np_qn_cost np_qn_mva_cost(const struct np_qn *net)
{
	size_t largest = largest_class(net);
	double cells = 1, width = sizeof(double) * (double)net->n_stations;
	struct np_qn_cost cost;

	for (size_t c = 0; c < net->n_classes; c++)
		if (c != largest)
			cells *= (double)net->class[c].customers + 1;
	cost.bytes = width * (cells + (double)net->n_classes + 1);
	cost.steps = cells * ((double)net->class[largest].customers + 1) *
		     (double)(net->n_classes * (net->n_stations + 1));
	return cost;
}

/* Computes the strides and the number of cells. */
static void lay_out(struct plane *p)
{
	p->largest = largest_class(p->net);
	p->n_cells = 1;
	p->at.classes = p->net->n_classes;
	for (size_t c = 0; c < p->net->n_classes; c++)
		if (c != p->largest) {
			p->stride[c] = p->n_cells;
			p->top.n[c] = p->net->class[c].customers;
			p->n_cells *= (size_t)p->top.n[c] + 1;
		}
}

/* Computes a class at one population from the queues before its arrival. */
static void visit_class(struct plane *p, size_t c, uint64_t n,
			const double *before)
{
	size_t width = p->flat->n_queues;
	const double *r = p->flat->r + c * width;

	p->x[c] = (double)n / cycle_time(p->flat, c, before);
	for (size_t q = 0; q < width; q++)
		p->sum[q] += p->x[c] * r[q];
}

/* Computes all classes at one population. */
static void visit(struct plane *p, size_t cell)
{
	size_t width = p->flat->n_queues;
	double *here = p->present + cell * width;

	memset(p->sum, 0, width * sizeof(*p->sum));
	for (size_t c = 0; c < p->net->n_classes; c++) {
		uint64_t n = c == p->largest ? p->n_largest : p->at.n[c];

		if (n)
			visit_class(p, c, n, here - p->stride[c] * width);
	}
	memcpy(here, p->sum, width * sizeof(*here));
}

/* Visits all populations in ascending order. */
static void visit_all(struct plane *p)
{
	uint64_t last = p->net->class[p->largest].customers;

	for (p->n_largest = 0; p->n_largest <= last; p->n_largest++)
		for (size_t cell = 0; cell < p->n_cells; cell++) {
			visit(p, cell);
			next_population(&p->at, &p->top);
		}
}

/* Allocates the hyperplane and visits all populations. */
static int run_mva(const struct solver *way, const struct np_qn *net,
		   const struct flat *f, const struct np_qn_cost *max,
		   struct np_qn_solution *out, struct np_err *err)
{
	struct plane p = { .net = net, .flat = f, .x = out->x_per_sec };

	(void)way, (void)max, (void)err;
	lay_out(&p);
	p.present = calloc((p.n_cells + 1) * f->n_queues + 1, sizeof(double));
	if (!p.present)
		return -ENOMEM;
	p.sum = p.present + p.n_cells * f->n_queues;
	visit_all(&p);
	free(p.present);
	return 0;
}

int np_qn_mva(const struct np_qn *net, const struct np_qn_cost *max,
	      struct np_qn_solution *out, struct np_err *err)
{
	static const struct solver way = {
		.name = "exact mean value analysis",
		.refusal = "exact mean value analysis takes queues of one "
			   "server and delays; convolution takes it",
		.cost = np_qn_mva_cost,
		.run = run_mva,
	};

	return solve_by(&way, net, max, out, err);
}

/*
 * ---- convolution ----
 *
 * Convolution. A station with n = (n_1, n_2, ...) customers of the classes, |n|
 * in total, has the weight
 *
 *	f(n) = |n|! prod_c (D_c^n_c / n_c!) t(1) ... t(|n|)
 *
 * where t(j) is 1 over the number of busy servers, or the time at load j with
 * D_c the number of visits. G = f_1 * ... * f_K for all n up to N, X_c = G(N -
 * e_c) / G(N), and n customers are at station k with probability f_k(n)
 * G_{-k}(N - n) / G(N). G_{-k} is computed by multiplication of the other
 * stations, never by division.
 *
 * If t(j) is constant from T customers on and never smaller before, f equals
 * the sum of f(n) (1 - t(T) / t(|n|)) over |n| < T, propagated by g(n) += sum_c
 * t(T) D_c g(n - e_c). All terms are positive.
 */

/*
 * Numbers >= 0 with a separate exponent, because normalising constants exceed
 * the range of a double by far: value = m 2^e with m in 0.5 .. 1, or 0 with e =
 * 0.
 */
struct np_scaled {
	double m;
	int64_t e;
};

/* 2^e for e <= 0; 0 if negligible. */
static inline double np_scaled_down(int64_t e)
{
	uint64_t bits = e < -1000 ? 0 : (uint64_t)(1023 + e) << 52;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* m >= 0, finite and not denormal. */
static inline struct np_scaled np_scaled_make(double m, int64_t e)
{
	int shift;

	if (!(m > 0))
		return (struct np_scaled){ 0, 0 };
	m = frexp(m, &shift);
	return (struct np_scaled){ m, e + shift };
}

/* Adds m 2^e to an unnormalised sum, whose m may be any double. */
static inline void np_scaled_add(struct np_scaled *sum, double m, int64_t e)
{
	if (m == 0)
		return;
	if (sum->m == 0) {
		*sum = (struct np_scaled){ m, e };
	} else if (e > sum->e) {
		sum->m = sum->m * np_scaled_down(sum->e - e) + m;
		sum->e = e;
	} else {
		sum->m += m * np_scaled_down(e - sum->e);
	}
}

/* a / b as a double; 0 or infinite beyond its range. */
static inline double np_scaled_ratio(struct np_scaled a, struct np_scaled b)
{
	int64_t e = a.e - b.e;

	return ldexp(a.m / b.m, e > 5000 ? 5000 : e < -5000 ? -5000 : (int)e);
}

/* A station as a factor of G: terms, and what propagates them. */
struct factor {
	size_t station, n;
	struct np_scaled *coef;
	size_t *cell;
	uint64_t *at; /* [i * n_classes + c] */
	/* t(T) D_c; 0: coef contains all of f */
	double tail[NP_QN_MAX_CLASSES];
};

struct work {
	const struct np_qn *net;
	struct population top; /* the whole population */
	size_t n_cells, last, stride[NP_QN_MAX_CLASSES];
	struct factor *factor;
	size_t n_factors;
	struct np_scaled *g; /* of the whole network */
	/* of one station; memory borrowed from elsewhere */
	struct np_scaled *one;
	struct np_qn_solution *out;
};

/* The factor t(n) of a station. */
static double time_at_load(const struct np_qn_station *st, uint64_t n)
{
	return st->kind == NP_QN_LOADED ?
		       at_load(st, n) :
		       1 / (double)(n < st->servers ? n : st->servers);
}

/* Demand at a station; for a load-dependent one its visits. */
static double demand(const struct np_qn *net, size_t c, size_t k)
{
	return net->station[k].kind == NP_QN_LOADED ?
		       net->station[k].visits[c] :
		       np_qn_demand(net, c, k);
}

/* Whether a station enters G: a delay or an unvisited station does not. */
static bool is_factor(const struct np_qn *net, size_t k)
{
	bool used = false;

	for (size_t c = 0; c < net->n_classes; c++)
		used |= net->class[c].customers && demand(net, c, k) > 0;
	return used && net->station[k].kind != NP_QN_DELAY;
}

/* Single-server queues need no marginals. */
static bool is_plain(const struct np_qn_station *st)
{
	return st->kind == NP_QN_QUEUE && st->servers == 1;
}

/*
 * T, limited by the number of customers; *has_tail: whether t(T) is the
 * minimum.
 */
static uint64_t loads_of(const struct np_qn_station *st, uint64_t all,
			 bool *has_tail)
{
	uint64_t loads = st->kind == NP_QN_LOADED ? st->n_loads : st->servers;

	loads = loads < all ? loads : all;
	*has_tail = true;
	for (uint64_t i = 1; st->kind == NP_QN_LOADED && i < loads; i++)
		*has_tail &= time_at_load(st, i) >= time_at_load(st, loads);
	return loads;
}

/*
 * Computes the weights of station k at all populations, each from that with one
 * customer less.
 */
static void fill_weights(struct work *w, size_t k)
{
	struct population p = { .classes = w->net->n_classes };

	w->one[0] = np_scaled_make(1, 0);
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		const struct np_scaled *f;
		size_t c;

		next_population(&p, &w->top);
		c = first_class(&p);
		f = &w->one[cell - w->stride[c]];
		w->one[cell] = np_scaled_make(
			f->m * demand(w->net, c, k) *
				time_at_load(&w->net->station[k], p.all) *
				((double)p.all / (double)p.n[c]),
			f->e);
	}
}

/* Stores the terms of f, if it has memory for them. Returns their number. */
static size_t collect_terms(struct work *w, struct factor *f, uint64_t loads,
			    bool has_tail)
{
	const struct np_qn_station *st = &w->net->station[f->station];
	size_t n = 0, classes = w->net->n_classes;
	struct population p = { .classes = w->net->n_classes };

	for (size_t cell = 0; cell < w->n_cells; cell++) {
		struct np_scaled *g = &w->one[cell];
		double part = !has_tail || !p.all ?
				      1 :
			      p.all >= loads ?
				      0 :
				      1 - time_at_load(st, loads) /
						      time_at_load(st, p.all);

		if (g->m * part > 0 && f->coef) {
			f->coef[n] = np_scaled_make(g->m * part, g->e);
			f->cell[n] = cell;
			memcpy(f->at + n * classes, p.n,
			       classes * sizeof(*p.n));
		}
		n += g->m * part > 0;
		next_population(&p, &w->top);
	}
	return n;
}

/* Makes the factor of a station: its terms and its tail. */
static int make_factor(struct work *w, size_t k)
{
	struct factor *f = &w->factor[w->n_factors++];
	bool has_tail;
	uint64_t loads = loads_of(&w->net->station[k], w->top.all, &has_tail);

	*f = (struct factor){ .station = k };
	for (size_t c = 0; has_tail && c < w->net->n_classes; c++)
		f->tail[c] = demand(w->net, c, k) *
			     time_at_load(&w->net->station[k], loads);
	if (is_plain(&w->net->station[k]))
		return 0;
	fill_weights(w, k);
	f->n = collect_terms(w, f, loads, has_tail);
	f->cell = calloc(f->n, sizeof(*f->cell));
	f->at = calloc(f->n * w->net->n_classes, sizeof(*f->at));
	f->coef = calloc(f->n, sizeof(*f->coef));
	if (!f->cell || !f->at || !f->coef)
		return -ENOMEM;
	collect_terms(w, f, loads, has_tail);
	return 0;
}

/* Whether population n is contained in p. */
static bool fits(const uint64_t *n, const struct population *p, size_t classes)
{
	for (size_t c = 0; c < classes; c++)
		if (n[c] > p->n[c])
			return false;
	return true;
}

/* g *= terms of f. From the last cell, because each uses lower ones. */
static void multiply_terms(const struct work *w, struct np_scaled *g,
			   const struct factor *f)
{
	size_t classes = w->net->n_classes;
	struct population p = w->top;

	for (size_t cell = w->n_cells; cell-- > 0;) {
		struct np_scaled sum = { 0, 0 };

		for (size_t i = 0; i < f->n && f->cell[i] <= cell; i++) {
			const struct np_scaled *at = &g[cell - f->cell[i]];

			if (fits(f->at + i * classes, &p, classes))
				np_scaled_add(&sum, f->coef[i].m * at->m,
					      f->coef[i].e + at->e);
		}
		g[cell] = np_scaled_make(sum.m, sum.e);
		previous_population(&p, &w->top);
	}
}

/* Multiplies G by a factor: first by its terms, then by the geometric tail. */
static void multiply(const struct work *w, struct np_scaled *g,
		     const struct factor *f)
{
	struct population p = { .classes = w->net->n_classes };

	if (f->n > 1)
		multiply_terms(w, g, f);
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		struct np_scaled sum = g[cell];

		next_population(&p, &w->top);
		for (size_t c = 0; c < w->net->n_classes; c++)
			if (p.n[c] && f->tail[c] > 0) {
				const struct np_scaled *at =
					&g[cell - w->stride[c]];

				np_scaled_add(&sum, f->tail[c] * at->m, at->e);
			}
		g[cell] = np_scaled_make(sum.m, sum.e);
	}
}

/* Think time and delays: prod_c Z_c^n_c / n_c! */
static void multiply_delays(const struct work *w, struct np_scaled *g)
{
	double sec[NP_QN_MAX_CLASSES];
	struct population p = { .classes = w->net->n_classes };

	for (size_t c = 0; c < w->net->n_classes; c++) {
		sec[c] = w->net->class[c].think_sec;
		for (size_t k = 0; k < w->net->n_stations; k++)
			if (w->net->station[k].kind == NP_QN_DELAY)
				sec[c] += np_qn_demand(w->net, c, k);
	}
	g[0] = np_scaled_make(1, 0);
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		size_t c;

		next_population(&p, &w->top);
		c = first_class(&p);
		g[cell] = np_scaled_make(g[cell - w->stride[c]].m * sec[c] /
						 (double)p.n[c],
					 g[cell - w->stride[c]].e);
	}
}

/* Mean numbers at a station; others holds G_{-k}. */
static void fill_marginal(struct work *w, const struct factor *f,
			  const struct np_scaled *others)
{
	const struct np_qn_station *st = &w->net->station[f->station];
	struct np_scaled sum[NP_QN_MAX_CLASSES] = { { 0, 0 } };
	struct np_scaled busy[NP_QN_MAX_CLASSES] = { { 0, 0 } };
	struct population p = { .classes = w->net->n_classes };

	fill_weights(w, f->station);
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		const struct np_scaled *a = &w->one[cell];
		const struct np_scaled *b = &others[w->last - cell];

		next_population(&p, &w->top);
		for (size_t c = 0; c < w->net->n_classes; c++) {
			double n = (double)p.n[c], m = n * a->m * b->m;

			np_scaled_add(&sum[c], m, a->e + b->e);
			np_scaled_add(&busy[c], m / (double)p.all, a->e + b->e);
		}
	}
	for (size_t c = 0; c < w->net->n_classes; c++) {
		size_t i = c * w->net->n_stations + f->station;
		double x = w->out->x_per_sec[c];

		if (!w->top.n[c])
			continue;
		w->out->present[i] = np_scaled_ratio(
			np_scaled_make(sum[c].m, sum[c].e), w->g[w->last]);
		w->out->residence_sec[i] = w->out->present[i] / x;
		w->out->utilisation[i] =
			st->kind == NP_QN_LOADED ?
				np_scaled_ratio(np_scaled_make(busy[c].m,
							       busy[c].e),
						w->g[w->last]) :
				x * demand(w->net, c, f->station) / st->servers;
	}
}

/*
 * Marginals of the factors lo .. hi - 1, from G without these. Each half starts
 * from G multiplied by the other half, so that no factor must be divided out.
 */
static int marginals(struct work *w, size_t lo, size_t hi,
		     const struct np_scaled *others)
{
	size_t mid = lo + (hi - lo) / 2, size = w->n_cells * sizeof(*others);
	struct np_scaled *g;
	int rc = 0;

	if (hi - lo == 1) {
		fill_marginal(w, &w->factor[lo], others);
		return 0;
	}
	g = malloc(size);
	if (!g)
		return -ENOMEM;
	for (int half = 0; !rc && half < 2; half++) {
		memcpy(g, others, size);
		for (size_t i = half ? lo : mid; i < (half ? mid : hi); i++)
			multiply(w, g, &w->factor[i]);
		rc = half ? marginals(w, mid, hi, g) : marginals(w, lo, mid, g);
	}
	free(g);
	return rc;
}

/* Computes the marginals of all stations that are no single-server queue. */
static int all_marginals(struct work *w, size_t n_plain,
			 const struct np_scaled *base)
{
	struct np_scaled *one = malloc(w->n_cells * sizeof(*one));
	int rc = -ENOMEM;

	w->one = one;
	if (one)
		rc = marginals(w, n_plain, w->n_factors, base);
	free(one);
	return rc;
}

/* A single-server queue, by mean value analysis. */
static void fill_plain(struct work *w, size_t k)
{
	double r[NP_QN_MAX_CLASSES] = { 0 }, x;
	struct population p = { .classes = w->net->n_classes };

	w->one[0].m = 0;
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		next_population(&p, &w->top);
		w->one[cell].m = 0;
		for (size_t c = 0; c < w->net->n_classes; c++) {
			if (!p.n[c])
				continue;
			r[c] = demand(w->net, c, k) *
			       (1 + w->one[cell - w->stride[c]].m);
			x = np_scaled_ratio(w->g[cell - w->stride[c]],
					    w->g[cell]);
			w->one[cell].m += x * r[c];
		}
	}
	for (size_t c = 0; c < w->net->n_classes; c++) {
		size_t i = c * w->net->n_stations + k;

		x = w->out->x_per_sec[c];
		w->out->residence_sec[i] = x > 0 ? r[c] : 0;
		w->out->present[i] = x * r[c];
		w->out->utilisation[i] = x * demand(w->net, c, k);
	}
}

/* Fills in single-server queues, delays, and response times. */
static void fill_rest(struct work *w)
{
	struct np_qn_solution *out = w->out;
	size_t stations = w->net->n_stations;

	for (size_t k = 0; k < stations; k++) {
		if (w->net->station[k].kind != NP_QN_DELAY &&
		    is_plain(&w->net->station[k]))
			fill_plain(w, k);
		for (size_t c = 0; c < w->net->n_classes; c++) {
			size_t i = c * stations + k;
			double d = np_qn_demand(w->net, c, k);

			if (!w->top.n[c])
				continue;
			if (w->net->station[k].kind == NP_QN_DELAY) {
				out->residence_sec[i] = d;
				out->present[i] = out->x_per_sec[c] * d;
				out->utilisation[i] = out->present[i];
			}
			out->response_sec[c] += out->residence_sec[i];
		}
	}
}

/* Single-server queues first, because all marginals contain them. */
static int make_factors(struct work *w, size_t *n_plain)
{
	int rc = 0;

	for (int plain = 1; plain >= 0; plain--) {
		for (size_t k = 0; !rc && k < w->net->n_stations; k++)
			if (is_factor(w->net, k) &&
			    is_plain(&w->net->station[k]) == plain)
				rc = make_factor(w, k);
		if (plain)
			*n_plain = w->n_factors;
	}
	return rc;
}

/* Computes G, from it the throughputs, and then what happens at stations. */
static int convolve(struct work *w, struct np_scaled *base)
{
	size_t n_plain = 0;
	int rc;

	w->one = w->g; /* used as a buffer until it is computed */
	rc = make_factors(w, &n_plain);
	if (rc)
		return rc;
	multiply_delays(w, base);
	for (size_t i = 0; i < n_plain; i++)
		multiply(w, base, &w->factor[i]);
	memcpy(w->g, base, w->n_cells * sizeof(*base));
	for (size_t i = n_plain; i < w->n_factors; i++)
		multiply(w, w->g, &w->factor[i]);
	for (size_t c = 0; c < w->net->n_classes; c++)
		if (w->top.n[c])
			w->out->x_per_sec[c] = np_scaled_ratio(
				w->g[w->last - w->stride[c]], w->g[w->last]);
	if (n_plain < w->n_factors)
		rc = all_marginals(w, n_plain, base);
	w->one = base; /* no longer needed */
	if (!rc)
		fill_rest(w);
	return rc;
}

/* Allocates G for all populations and solves the network. */
static int run_convolution(const struct solver *way, const struct np_qn *net,
			   const struct flat *f, const struct np_qn_cost *max,
			   struct np_qn_solution *out, struct np_err *err)
{
	struct work w = { .net = net,
			  .out = out,
			  .n_cells = 1,
			  .top.classes = net->n_classes };
	struct np_scaled *base;
	int rc = -ENOMEM;

	(void)way, (void)f, (void)max, (void)err;
	for (size_t c = 0; c < net->n_classes; c++) {
		w.top.n[c] = net->class[c].customers;
		w.top.all += w.top.n[c];
		w.stride[c] = w.n_cells;
		w.n_cells *= (size_t)w.top.n[c] + 1;
	}
	if (!w.top.all)
		return 0;
	w.last = w.n_cells - 1;
	w.factor = calloc(net->n_stations + 1, sizeof(*w.factor));
	w.g = malloc(w.n_cells * sizeof(*w.g));
	base = malloc(w.n_cells * sizeof(*base));
	if (w.factor && w.g && base)
		rc = convolve(&w, base);
	free(base);
	for (size_t i = 0; i < w.n_factors; i++) {
		free(w.factor[i].coef);
		free(w.factor[i].cell);
		free(w.factor[i].at);
	}
	free(w.factor);
	free(w.g);
	return rc;
}

/*
 * Number of populations with fewer than T customers: at most (C + T - 1) choose
 * C.
 */
static double most_terms(const struct np_qn *net, size_t k, double cells)
{
	bool has_tail;
	uint64_t all = 0, loads;
	double n = 1;

	for (size_t c = 0; c < net->n_classes; c++)
		all += net->class[c].customers;
	loads = loads_of(&net->station[k], all, &has_tail);
	for (size_t c = 1; has_tail && c <= net->n_classes && n < cells; c++)
		n *= (double)(loads - 1 + c) / (double)c;
	return has_tail && n < cells ? n : cells;
}

/* Memory and steps of convolution, including the recursion for marginals. */
static struct np_qn_cost cost_of(const struct np_qn *net)
{
	double classes = (double)net->n_classes, cells = 1, steps = 0;
	double hard = 0, bytes = 0, depth;

	for (size_t c = 0; c < net->n_classes; c++)
		cells *= (double)net->class[c].customers + 1;
	for (size_t k = 0; cells > 1 && k < net->n_stations; k++) {
		double n = 1;

		if (!is_factor(net, k))
			continue;
		if (!is_plain(&net->station[k])) {
			n = most_terms(net, k, cells);
			bytes += n * (sizeof(struct np_scaled) +
				      sizeof(uint64_t) * (classes + 1));
			hard++;
		}
		steps += cells * (n + classes);
	}
	depth = hard > 1 ? ceil(log2(hard)) : 0;
	return (struct np_qn_cost){
		cells * sizeof(struct np_scaled) * (2 + (hard > 0) + depth) +
			bytes,
		steps * (depth + 1),
	};
}

int np_qn_convolution(const struct np_qn *net, const struct np_qn_cost *max,
		      struct np_qn_solution *out, struct np_err *err)
{
	static const struct solver way = {
		.name = "convolution",
		.cost = cost_of,
		.run = run_convolution,
	};

	return solve_by(&way, net, max, out, err);
}

/*
 * ---- approximations ----
 *
 * Approximations based on the shares F_jk of the customers of class j that are
 * at station k. Schweitzer's method assumes that they do not change with one
 * customer less, so that an arriving customer sees (N_c - 1) / N_c of its own
 * class. Linearizer computes them also with one customer less of each class,
 * and assumes instead that the differences delta do not change:
 *
 *	seen by class s at n: sum_j (n_j - [j = s]) (F_jk(n) + delta_jk^s).
 */

#define PASSES 3	/* as in the source; further passes change little */
#define USUAL 100	/* typical iterations of a core, to estimate the cost */
#define TOLERANCE 1e-10 /* of a change, relative to the largest class */

struct state {
	const struct np_qn *net;
	const struct flat *flat;
	size_t size; /* shares of one population: classes times queues */
	/* customers; size of the largest class */
	double n[NP_QN_MAX_CLASSES], most;
	double *share; /* [c * n_queues + q] for the whole population */
	double *present, *seen; /* by queue */
	/*
	 * Only linearizer: by class, the shares with one customer less, and
	 * less - share; 0 if that leaves no customer.
	 */
	double *less, *delta;
	double limit; /* of iterations */
	struct np_qn_solution *out;
};

/* Sums the customers at each queue over classes. */
static void sum_present(struct state *s, const double *share)
{
	size_t width = s->flat->n_queues;

	for (size_t q = 0; q < width; q++)
		s->present[q] = 0;
	for (size_t c = 0; c < s->net->n_classes; c++)
		for (size_t q = 0; q < width; q++)
			s->present[q] += s->n[c] * share[c * width + q];
}

/* What a customer of class c sees at each queue; at least 0. */
static void update_seen(struct state *s, size_t c, const double *share)
{
	size_t width = s->flat->n_queues;

	for (size_t q = 0; q < width; q++)
		s->seen[q] = s->delta ? 0 :
					s->present[q] - share[c * width + q];
	for (size_t j = 0; s->delta && j < s->net->n_classes; j++) {
		const double *delta = s->delta + c * s->size;
		double n = s->n[j] - (j == c);

		for (size_t q = 0; n > 0 && q < width; q++)
			s->seen[q] += n * (share[j * width + q] +
					   delta[j * width + q]);
	}
	for (size_t q = 0; q < width; q++)
		s->seen[q] = fmax(0, s->seen[q]);
}

/* Computes residence times and throughput of class c. */
static double update_class(struct state *s, size_t c, const double *share)
{
	update_seen(s, c, share);
	return s->n[c] / cycle_time(s->flat, c, s->seen);
}

/* One iteration of the core; all classes use the shares before it. */
static double iterate_core(struct state *s, double *share)
{
	size_t width = s->flat->n_queues;
	double change = 0;

	if (!s->delta)
		sum_present(s, share);
	for (size_t c = 0; c < s->net->n_classes; c++)
		s->out->x_per_sec[c] = s->n[c] > 0 ? update_class(s, c, share) :
						     0;
	for (size_t i = 0; i < s->size; i++) {
		size_t c = i / width;
		double now = s->n[c] > 0 ? s->out->x_per_sec[c] *
						   s->flat->r[i] / s->n[c] :
					   0;

		change = fmax(change, s->n[c] * fabs(now - share[i]));
		share[i] = now;
	}
	return change;
}

/* Iterates to the shares for the population s->n. */
static int core(struct state *s, double *share, struct np_err *err)
{
	while (s->out->iterations < s->limit) {
		s->out->iterations++;
		s->out->residual = iterate_core(s, share);
		if (s->out->residual < TOLERANCE * s->most)
			return 0;
	}
	return np_errf(
		err, -ELOOP,
		"%s: %.0f iterations and mean numbers still change by %.3g",
		s->less ? "linearizer" : "schweitzer", floor(s->limit),
		s->out->residual);
}

/* Iterates with one customer of a class less. */
static int core_with_less(struct state *s, size_t c, struct np_err *err)
{
	int rc;

	if (!(s->n[c] > 0))
		return 0;
	s->n[c]--;
	rc = core(s, s->less + c * s->size, err);
	s->n[c]++;
	return rc;
}

/* Updates the differences of a class. */
static void update_delta(struct state *s, size_t c)
{
	const double *less = s->less + c * s->size;
	double *delta = s->delta + c * s->size;

	for (size_t i = 0; s->n[c] > 0 && i < s->size; i++) {
		size_t j = i / s->flat->n_queues;

		delta[i] = s->n[j] - (j == c) > 0 ? less[i] - s->share[i] : 0;
	}
}

/* A single pass is Schweitzer's method. */
static int run_passes(struct state *s, int passes, struct np_err *err)
{
	int rc = core(s, s->share, err);

	for (int pass = 1; !rc && pass < passes; pass++) {
		for (size_t c = 0; !rc && c < s->net->n_classes; c++)
			rc = core_with_less(s, c, err);
		for (size_t c = 0; !rc && c < s->net->n_classes; c++)
			update_delta(s, c);
		if (!rc)
			rc = core(s, s->share, err);
	}
	return rc;
}

/* Operations of one iteration. */
static double cells_of(const struct np_qn *net)
{
	return (double)(net->n_classes * (net->n_stations + 1));
}

/* Starts from equal shares. */
static int approximate(const struct solver *way, const struct np_qn *net,
		       const struct flat *f, const struct np_qn_cost *max,
		       struct np_qn_solution *out, struct np_err *err)
{
	size_t n = net->n_classes, size = n * f->n_queues;
	bool less = way->passes > 1; /* also with one customer less */
	size_t all = less ? (n + 1) * size : size; /* number of shares */
	double *room = calloc(2 * all + 2 * f->n_queues + 1, sizeof(*room));
	struct state s = {
		.net = net,
		.flat = f,
		.size = size,
		.most = 1,
		.share = room,
		.limit = fmin(way->iterations, max->steps /
						       (less ? (double)n : 1) /
						       cells_of(net)),
		.out = out,
	};
	int rc;

	if (!room)
		return -ENOMEM;
	if (less) {
		s.less = room + size;
		s.delta = room + all;
	}
	s.present = room + 2 * all;
	s.seen = s.present + f->n_queues;
	for (size_t i = 0; i < all; i++)
		room[i] = 1 / (double)net->n_stations;
	for (size_t c = 0; c < n; c++) {
		s.n[c] = (double)net->class[c].customers;
		s.most = fmax(s.most, s.n[c]);
	}
	rc = run_passes(&s, way->passes, err);
	free(room);
	return rc;
}

/* Cost of the method of Schweitzer and Bard. */
static struct np_qn_cost schweitzer_cost(const struct np_qn *net)
{
	return (struct np_qn_cost){ 8 * 8 * cells_of(net),
				    USUAL * cells_of(net) };
}

/* Cost of Linearizer: a core for each class in each pass. */
static struct np_qn_cost linearizer_cost(const struct np_qn *net)
{
	double n = (double)net->n_classes, cells = cells_of(net);

	return (struct np_qn_cost){ 8 * (2 * n + 8) * cells,
				    USUAL * PASSES * (n + 1) * n * cells };
}

int np_qn_schweitzer(const struct np_qn *net, const struct np_qn_cost *max,
		     struct np_qn_solution *out, struct np_err *err)
{
	static const struct solver way = {
		.name = "schweitzer",
		.instead = "nothing takes less",
		.refusal = "schweitzer does not take load-dependent stations; "
			   "convolution does",
		.servers = true,
		.passes = 1,
		.iterations = 1e5,
		.cost = schweitzer_cost,
		.run = approximate,
	};

	return solve_by(&way, net, max, out, err);
}

int np_qn_linearizer(const struct np_qn *net, const struct np_qn_cost *max,
		     struct np_qn_solution *out, struct np_err *err)
{
	static const struct solver way = {
		.name = "linearizer",
		.instead = "schweitzer takes less",
		.refusal = "linearizer does not take load-dependent stations; "
			   "convolution does",
		.servers = true,
		.passes = PASSES,
		.iterations = 1e6,
		.cost = linearizer_cost,
		.run = approximate,
	};

	return solve_by(&way, net, max, out, err);
}

/*
 * ---- open classes ----
 *
 * Open classes together with closed ones: E. Lazowska et al., Quantitative
 * System Performance, 1984, chapter 7; exact in product-form networks.
 *
 * The time that open classes occupy a server is lost to closed ones, so that
 * service takes 1 / (1 - that share) times as long. An arriving open customer
 * sees the mean number of closed customers.
 */

/* Whether class c is open. */
static bool is_open(const struct np_qn *net, size_t c)
{
	return net->class[c].arrivals_per_sec > 0;
}

/* The utilisation of a station by open classes. */
static int open_share(const struct np_qn *net, size_t k, double *share,
		      struct np_err *err)
{
	const struct np_qn_station *st = &net->station[k];

	*share = 0;
	for (size_t c = 0; c < net->n_classes; c++)
		if (is_open(net, c))
			*share += net->class[c].arrivals_per_sec *
				  np_qn_demand(net, c, k);
	if (*share > 0 && st->kind != NP_QN_DELAY &&
	    (st->kind == NP_QN_LOADED || st->servers > 1))
		return np_errf(err, -ENOTSUP,
			       "%.64s: open classes visit it, expected a queue "
			       "of one server or a delay",
			       st->name);
	if (*share >= 1 && st->kind != NP_QN_DELAY)
		return np_errf(err, -EINVAL,
			       "%.64s: open classes keep it busy for %.4g of "
			       "the time, expected less than 1",
			       st->name, *share);
	if (st->kind == NP_QN_DELAY)
		*share = 0;
	return 0;
}

/* Solves the closed classes with correspondingly slower stations. */
static int solve_closed(const struct np_qn *net, const double *share,
			np_qn_method *solve, const struct np_qn_cost *max,
			struct np_qn_solution *out, struct np_err *err)
{
	size_t n = net->n_classes, all = n * net->n_stations;
	struct np_qn_station *st = calloc(net->n_stations + 1, sizeof(*st));
	double *service = calloc(all + 1, sizeof(*service));
	struct np_qn slower = *net;
	int rc = -ENOMEM;

	slower.station = st;
	for (size_t k = 0; st && service && k < net->n_stations; k++) {
		st[k] = net->station[k];
		st[k].service_sec = service + n * k;
		for (size_t c = 0; c < n; c++)
			service[n * k + c] =
				net->station[k].service_sec[c] / (1 - share[k]);
	}
	if (st && service)
		rc = solve(&slower, max, out, err);
	else
		np_errf(err, rc, "no memory");
	free(st);
	free(service);
	return rc;
}

/*
 * Fills in an open class: service is slowed by open customers, and the queue
 * contains the closed ones.
 */
static void fill_open(const struct np_qn *net, const double *share,
		      const double *closed, size_t c, struct np_qn_solution *s)
{
	double x = net->class[c].arrivals_per_sec;

	s->x_per_sec[c] = x;
	s->response_sec[c] = 0;
	for (size_t k = 0; k < net->n_stations; k++) {
		size_t i = c * net->n_stations + k;
		double d = np_qn_demand(net, c, k);
		double sec = net->station[k].kind == NP_QN_DELAY ?
				     d :
				     d * (1 + closed[k]) / (1 - share[k]);

		s->residence_sec[i] = sec;
		s->response_sec[c] += sec;
		s->present[i] = x * sec;
		s->utilisation[i] = x * d;
	}
}

/*
 * Corrects the closed classes for the slower stations, and fills in the open
 * ones.
 */
static void fill_solution(const struct np_qn *net, const double *share,
			  double *closed, struct np_qn_solution *s)
{
	for (size_t k = 0; k < net->n_stations; k++) {
		closed[k] = 0;
		for (size_t c = 0; c < net->n_classes; c++) {
			size_t i = c * net->n_stations + k;

			if (is_open(net, c))
				continue;
			closed[k] += s->present[i];
			s->utilisation[i] *= 1 - share[k];
		}
	}
	for (size_t c = 0; c < net->n_classes; c++)
		if (is_open(net, c))
			fill_open(net, share, closed, c, s);
}

int np_qn_mixed(np_qn_method *solve, const struct np_qn *net,
		const struct np_qn_cost *max, struct np_qn_solution *out,
		struct np_err *err)
{
	double *share = calloc(2 * net->n_stations + 1, sizeof(*share));
	int rc = share ? np_qn_check(net, err) :
			 np_errf(err, -ENOMEM, "no memory");
	bool open = false;

	for (size_t c = 0; !rc && c < net->n_classes; c++)
		open |= is_open(net, c);
	for (size_t k = 0; !rc && open && k < net->n_stations; k++)
		rc = open_share(net, k, &share[k], err);
	if (!rc)
		rc = open ? solve_closed(net, share, solve, max, out, err) :
			    solve(net, max, out, err);
	if (!rc && open)
		fill_solution(net, share, share + net->n_stations, out);
	free(share);
	return rc;
}

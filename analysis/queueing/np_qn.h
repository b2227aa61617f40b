/*
 * Queueing networks. Customers of closed classes circulate between stations for
 * ever and think between cycles. Customers of open classes arrive from outside
 * and leave after one cycle.
 *
 * In a cycle a customer of class c visits station k v times and is served for s
 * seconds each time: its demand there is D = v s. Stations are queues with one
 * or several servers, delays (a server for each customer), or load-dependent.
 * Product form is assumed: first-come-first-served requires the same
 * exponential service for all classes; processor sharing and
 * last-come-first-served-preemptive allow any.
 *
 * Times are in seconds, rates per second.
 */
#ifndef NP_QN_H
#define NP_QN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_QN_MAX_STATIONS 1024
#define NP_QN_MAX_CLASSES 64
#define NP_QN_MAX_CUSTOMERS 1000000000 /* of one class */
#define NP_QN_MAX_SERVERS 1000000
/* Limits of a nonzero demand and of a think time. */
#define NP_QN_LEAST_SEC 1e-18
#define NP_QN_MOST_SEC 1e18

enum np_qn_kind { NP_QN_QUEUE, NP_QN_DELAY, NP_QN_LOADED };

struct np_qn_station {
	const char *name;
	enum np_qn_kind kind;
	uint32_t servers;	   /* of a queue: 1 or more, identical */
	const double *visits;	   /* by class */
	const double *service_sec; /* by class; of a queue or a delay */
	/*
	 * Of NP_QN_LOADED, where classes differ only in their visits: mean time
	 * between departures with 1, 2, ... n_loads customers present; with
	 * more as with n_loads.
	 */
	const double *at_load_sec;
	size_t n_loads;
};

struct np_qn_class {
	const char *name;
	/* Of a closed class; 0 in an open class. */
	uint64_t customers;
	double think_sec;
	/* Of an open class; 0: the class is closed. */
	double arrivals_per_sec;
};

/* Everything is borrowed. */
struct np_qn {
	const struct np_qn_station *station;
	size_t n_stations;
	const struct np_qn_class *class;
	size_t n_classes;
};

/*
 * Checks a network. Returns 0, or -EINVAL with err naming the station or class,
 * the value and what was expected: no class, too many of anything, a time that
 * is negative or not finite, no server, zero service time at some load, or a
 * class with customers but neither think time nor demand, whose throughput
 * would be infinite.
 */
int np_qn_check(const struct np_qn *net, struct np_err *err);

/*
 * Demand of class c at station k; of a LOADED station, that of a single
 * customer.
 */
double np_qn_demand(const struct np_qn *net, size_t c, size_t k);

/* Solution of a network; index c * n_stations + k for class c at station k. */
struct np_qn_solution {
	size_t n_classes, n_stations;
	double *x_per_sec; /* cycles, by class; 0 without customers */
	/* of a cycle without think time; 0 without customers */
	double *response_sec;
	/* time at a station per cycle, including waiting */
	double *residence_sec;
	double *present; /* mean number of customers at a station */
	/*
	 * Utilisation of each server; of a delay: mean number of customers; of
	 * a load-dependent station: share of the time that it is not empty,
	 * divided between classes by their share of the customers present.
	 */
	double *utilisation;
	unsigned iterations; /* of approximations */
	double residual;     /* largest last change of a mean number */
};

void np_qn_solution_free(struct np_qn_solution *s);

/*
 * Resources that a method needs, computed before it starts. steps: of its inner
 * loop, a few nanoseconds each.
 */
struct np_qn_cost {
	double bytes, steps;
};

/*
 * A solution method. Checks the network (np_qn_check()) and its cost against
 * max; sets *out only on success (free with np_qn_solution_free()). Returns 0,
 * or with err -EINVAL; -ENOTSUP (the method does not support this network; err
 * names one that does); -E2BIG (cost above max); -ENOMEM; -ELOOP (no
 * convergence; err has the residual).
 */
typedef int np_qn_method(const struct np_qn *net, const struct np_qn_cost *max,
			 struct np_qn_solution *out, struct np_err *err);

/*
 * Exact mean value analysis (Reiser and Lavenberg, J. ACM 27, 1980):
 * single-server queues and delays, any number of classes. Time C K prod(N_c +
 * 1); memory K prod(N_c + 1) without the factor of the largest class.
 */
np_qn_method np_qn_mva;

/* Its cost, for a network that np_qn_check() accepts; exported for tests. */
struct np_qn_cost np_qn_mva_cost(const struct np_qn *net);

/*
 * Convolution (Buzen, Comm. ACM 16, 1973; several classes: Reiser and
 * Kobayashi, IBM J. Res. Dev. 19, 1975): exact, for all kinds of stations.
 * Textbook mean value analysis of load-dependent stations loses digits; here
 * all terms are positive. A queue with m servers takes O(N m); a load-dependent
 * station takes O(N n_loads) if it is never faster than at its last load, else
 * O(N^2). With several classes, N is prod(N_c + 1), memory too, and m the
 * number of populations with fewer than m customers.
 */
np_qn_method np_qn_convolution;

/*
 * Approximations for queues and delays. A queue with m servers is replaced by a
 * server that is m times as fast plus a delay of D (m - 1) / m (Seidmann,
 * Schweitzer and Shalev-Oren, Large Scale Systems 12, 1987).
 *
 * Schweitzer (1979), Bard (1979): an arriving customer sees (N_c - 1) / N_c of
 * its own class. Linearizer (Chandy and Neuse, Comm. ACM 25, 1982): estimates
 * how these shares change with one customer less, in three passes; it may
 * predict up to 0.2 % more than a station's capacity (seen in tests).
 */
np_qn_method np_qn_schweitzer;
np_qn_method np_qn_linearizer;

/*
 * Solves a network that may also have open classes, which may visit delays and
 * single-server queues; the result is as exact as the method. Returns also
 * -EINVAL if open classes exceed the capacity of a station, and -ENOTSUP if
 * they visit other kinds of stations.
 */
int np_qn_mixed(np_qn_method *solve, const struct np_qn *net,
		const struct np_qn_cost *max, struct np_qn_solution *out,
		struct np_err *err);

/*
 * Percentiles of the response time: sec[c * n + i] is the time, without think
 * time, that a share[i] (0 .. 1) of the cycles of class c do not exceed; NAN
 * for a class without customers. Computed by simulating the given number of
 * cycles of each class (np_qn_simulate.c); reproducible, with the error of a
 * sample of that size. Returns also -ENOTSUP (load-dependent stations) and
 * -E2BIG or -ENOMEM (too many customers).
 */
int np_qn_percentiles(const struct np_qn *net, size_t cycles,
		      const double *share, size_t n, double *sec,
		      struct np_err *err);

/*
 * Bounds on the throughput of a network with one class, in cycles per second:
 * asymptotic bounds (Denning and Buzen, Computing Surveys 10, 1978),
 *
 *	N / (Z + D + (N-1) Dmax) <= X <= min(1 / Dmax, N / (Z + D)).
 *
 * The network must satisfy np_qn_check(); both bounds are 0 without customers.
 * Returns 0, or -ENOTSUP for several classes.
 */
int np_qn_bounds(const struct np_qn *net, double *least, double *most);

#endif

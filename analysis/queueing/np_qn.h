/*
 * Queueing networks: customers of one or several closed classes go round
 * stations for ever, and think in between; those of open classes come from
 * outside and leave after one cycle.
 *
 * In a cycle a customer of class c visits station k v times and is served
 * s seconds at each: its demand there is D = v s.  Stations are queues of one
 * server or several, delays (a server for everybody), or load-dependent.
 * Product form is taken for granted: first come, first served needs the same
 * exponential service for all classes, processor sharing and
 * last-come-preemptive take any.
 *
 * Times are seconds, rates per second.
 */
#ifndef NP_QN_H
#define NP_QN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_QN_MAX_STATIONS 1024
#define NP_QN_MAX_CLASSES 64
#define NP_QN_MAX_CUSTOMERS 1000000000 /* of a class */
#define NP_QN_MAX_SERVERS 1000000
/* A demand that is not 0, and a think time, are within these. */
#define NP_QN_LEAST_SEC 1e-18
#define NP_QN_MOST_SEC 1e18

enum np_qn_kind { NP_QN_QUEUE, NP_QN_DELAY, NP_QN_LOADED };

struct np_qn_station {
	const char *name;
	enum np_qn_kind kind;
	uint32_t servers;	   /* of a queue: 1 or more, all alike */
	const double *visits;	   /* of each class */
	const double *service_sec; /* of each class; of a queue, a delay */
	/*
	 * NP_QN_LOADED, where all classes are alike but for their visits: the
	 * mean time between two that leave while 1, 2, ... n_loads are there;
	 * more are served as n_loads are.
	 */
	const double *at_load_sec;
	size_t n_loads;
};

struct np_qn_class {
	const char *name;
	uint64_t customers;
	double think_sec;
	double arrivals_per_sec; /* of an open class, without the other two; */
				 /* 0: it is closed */
};

/* All of it is borrowed. */
struct np_qn {
	const struct np_qn_station *station;
	size_t n_stations;
	const struct np_qn_class *class;
	size_t n_classes;
};

/*
 * Returns 0, or -EINVAL with err naming station or class, the value and what
 * was expected: no class, too many of anything, a time that is negative or not
 * finite, no server, service of 0 at some load; or a class with customers that
 * has neither think time nor demand, as its throughput would be infinite.
 */
int np_qn_check(const struct np_qn *net, struct np_err *err);

/* Demand of class c at station k, of LOADED ones that of a customer alone. */
double np_qn_demand(const struct np_qn *net, size_t c, size_t k);

/* What the network does; [c * n_stations + k] of class c at station k. */
struct np_qn_solution {
	size_t n_classes, n_stations;
	double *x_per_sec;    /* cycles, of each class; 0 if it has nobody */
	double *response_sec; /* of a cycle without think time; 0 then too */
	double *residence_sec; /* at a station in a cycle, waiting included */
	double *present;       /* mean number there, waiting or served */
	/*
	 * How busy each server is made, a delay: mean number there,
	 * load-dependent: share of the time that anybody is there, of each
	 * class as much of it as it has of the customers then.
	 */
	double *utilisation;
	unsigned iterations; /* of approximations */
	double residual;     /* largest last change of a mean number */
};

void np_qn_solution_free(struct np_qn_solution *s);

/*
 * What a method may take, asked before it takes it.  steps: of its inner
 * loop, some nanoseconds each.
 */
struct np_qn_cost {
	double bytes, steps;
};

/*
 * The methods.  Each checks the network (np_qn_check()) and its cost against
 * max, and sets *out only on success (np_qn_solution_free()).
 * Returns 0 or with err: -EINVAL; -ENOTSUP, the method cannot do this network
 * and err names one that can; -E2BIG, it would take more than max; -ENOMEM;
 * -ELOOP, no convergence, err has the residual.
 */
typedef int np_qn_method(const struct np_qn *net, const struct np_qn_cost *max,
			 struct np_qn_solution *out, struct np_err *err);

/*
 * Exact mean value analysis (Reiser and Lavenberg, J. ACM 27, 1980): queues of
 * one server and delays; any number of classes.  Time is C K prod(N_c + 1),
 * memory one hyperplane of that, K prod(N_c + 1) without the largest class.
 */
np_qn_method np_qn_mva;

/* What that takes for a network that np_qn_check() takes. */
struct np_qn_cost np_qn_mva_cost(const struct np_qn *net);

/*
 * Convolution (Buzen, Comm. ACM 16, 1973; several classes: Reiser and
 * Kobayashi, IBM J. Res. Dev. 19, 1975), exact, for all stations.  Textbook mean
 * value analysis of load-dependent stations loses digits; here all terms are
 * positive.  A queue of m servers takes O(N m), and
 * a load-dependent station O(N n_loads) where it is never faster than at its
 * last load, else O(N^2).  With several classes, N is prod(N_c + 1), memory
 * too, and m the number of populations of less than m customers.
 */
np_qn_method np_qn_convolution;

/*
 * Approximations for queues and delays; a queue of m servers is taken for one
 * m times as fast and a delay of D (m - 1) / m (Seidmann, Schweitzer and
 * Shalev-Oren, Large Scale Systems 12, 1987).
 *
 * Schweitzer (1979), Bard (1979): who arrives sees (N_c - 1) / N_c of its own
 * class.  Linearizer (Chandy and Neuse, Comm. ACM 25, 1982): how these shares
 * change with one customer less, three times over; it may take a station for
 * 0.2 % more than it can do (seen in tests).
 */
np_qn_method np_qn_schweitzer;
np_qn_method np_qn_linearizer;

/*
 * By one of these, and with open classes, which may visit delays and queues of
 * one server; the answer is as exact as the method.  -EINVAL also where open
 * classes ask for more than a station can do, -ENOTSUP where they visit others.
 */
int np_qn_mixed(np_qn_method *solve, const struct np_qn *net,
		const struct np_qn_cost *max, struct np_qn_solution *out,
		struct np_err *err);

/*
 * The time that these shares (0 .. 1) of the cycles of each class take at most,
 * without think time: sec[c * n + i], NAN of a class without customers.  By a
 * simulation of so many cycles of each class (np_qn_simulate.c), so that the
 * same seconds come out each time, with the error of so many samples.
 * -ENOTSUP: load-dependent stations; -E2BIG, -ENOMEM: too many customers.
 */
int np_qn_percentiles(const struct np_qn *net, size_t cycles,
		      const double *share, size_t n, double *sec,
		      struct np_err *err);

/*
 * What throughput of a network of one class, in cycles per second, is certainly
 * between: asymptotic bounds (Denning and Buzen, Computing Surveys 10, 1978),
 *
 *	N / (Z + D + (N-1) Dmax) <= X <= min(1 / Dmax, N / (Z + D)).
 *
 * The network is one that np_qn_check() takes; both are 0 where it has nobody.
 * Returns 0, or -ENOTSUP: several classes.
 */
int np_qn_bounds(const struct np_qn *net, double *least, double *most);

#endif

/*
 * Percentiles of response times by discrete-event simulation: exponential
 * service, first come first served, Poisson arrivals of open classes. In a
 * cycle the stations are visited in turn, each as often as its visits say; the
 * fractional part of the visits is a probability.
 */
#include "np_qn.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_sort.h>

#include "np_array.h"
#include "np_rng.h"

#define MAX_CUSTOMERS 100000 /* at the same time */
#define MAX_EVENTS 20000000  /* ends the simulation; some seconds */
#define WARM_UP 10 /* a tenth as many cycles precede the measured ones */
#define ALL(cycles) ((cycles) + (cycles) / WARM_UP)
#define NONE UINT32_MAX /* no customer, or no station: thinking */

/* A customer in its cycle, or an entry of the list of unused ones. */
struct customer {
	uint32_t class, station, next; /* next in the queue of that station */
	uint32_t round;		       /* visits completed in this cycle */
	double since;		       /* start of this cycle */
};

/* The end of a service or think time, or an arrival from outside. */
struct event {
	double time;
	uint32_t who; /* customer; from NONE downwards: arrival of a class */
};

struct station_state {
	uint32_t head, tail, busy; /* queue; number of busy servers */
};

struct run {
	const struct np_qn *net;
	struct customer *customer;
	size_t n, max;
	uint32_t unused;    /* list of customers that have left */
	struct event *heap; /* the earliest event first */
	size_t n_heap, max_heap;
	struct station_state *station_state;
	double **sample; /* response times, by class */
	size_t *count;
	size_t cycles; /* measured cycles of each class */
	double now;
	uint64_t random; /* state of uniform() */
	bool no_memory;	 /* or more than MAX_CUSTOMERS at once */
};

/*
 * Uniform in 0 < u < 1, by splitmix64. The state always begins at 0, so that
 * the same network has the same percentiles.
 */
static double uniform(struct run *r)
{
	return np_rng_unit(np_rng_next(&r->random)) + 0x1p-54;
}

/* Schedules an event after an exponentially distributed time. */
static void schedule(struct run *r, double mean_sec, uint32_t who)
{
	struct event e = { r->now - mean_sec * log(uniform(r)), who };
	size_t at = r->n_heap;

	if (np_array_reserve(&r->heap, &r->max_heap, at + 1,
			     sizeof(*r->heap))) {
		r->no_memory = true;
		return;
	}
	r->n_heap++;
	for (; at && e.time < r->heap[(at - 1) / 2].time; at = (at - 1) / 2)
		r->heap[at] = r->heap[(at - 1) / 2];
	r->heap[at] = e;
}

/* Removes the next event. */
static struct event pop(struct run *r)
{
	struct event top = r->heap[0], last = r->heap[--r->n_heap];
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < r->n_heap; at = child) {
		if (child + 1 < r->n_heap &&
		    r->heap[child + 1].time < r->heap[child].time)
			child++;
		if (!(r->heap[child].time < last.time))
			break;
		r->heap[at] = r->heap[child];
	}
	r->heap[at] = last;
	return top;
}

/* Begins the service of a customer. */
static void serve(struct run *r, uint32_t who)
{
	const struct customer *u = &r->customer[who];

	schedule(r, r->net->station[u->station].service_sec[u->class], who);
}

/* A customer arrives at a station: it is served, or joins the queue. */
static void arrive(struct run *r, uint32_t who)
{
	struct customer *u = &r->customer[who];
	const struct np_qn_station *st = &r->net->station[u->station];
	struct station_state *p = &r->station_state[u->station];

	if (st->kind == NP_QN_DELAY || p->busy < st->servers) {
		p->busy++;
		serve(r, who);
		return;
	}
	u->next = NONE;
	if (p->head == NONE)
		p->head = who;
	else
		r->customer[p->tail].next = who;
	p->tail = who;
}

/* A customer leaves a station; the next in the queue is served. */
static void depart(struct run *r, uint32_t who)
{
	struct station_state *p = &r->station_state[r->customer[who].station];
	uint32_t next = p->head;

	if (next == NONE) {
		p->busy--;
		return;
	}
	p->head = r->customer[next].next;
	serve(r, next);
}

/* Visits of a class to a station; 0 if service takes no time. */
static double visits_of(const struct run *r, const struct customer *u,
			uint32_t station)
{
	const struct np_qn_station *st = &r->net->station[station];

	return st->service_sec[u->class] > 0 ? st->visits[u->class] : 0;
}

/* Whether some station has more visits than the completed rounds. */
static bool has_more_rounds(const struct run *r, const struct customer *u)
{
	for (uint32_t k = 0; k < r->net->n_stations; k++)
		if (visits_of(r, u, k) > u->round)
			return true;
	return false;
}

/* Advances to the next station of the cycle; false at its end. */
static bool next_station(struct run *r, struct customer *u)
{
	for (; has_more_rounds(r, u); u->round++, u->station = 0)
		for (; u->station < r->net->n_stations; u->station++) {
			double v = visits_of(r, u, u->station) - u->round;

			if (v >= 1 || (v > 0 && uniform(r) < v))
				return true;
		}
	return false;
}

/* Records a response time. */
static void measure(struct run *r, const struct customer *u)
{
	size_t i = r->count[u->class]++;

	if (i < ALL(r->cycles))
		r->sample[u->class][i] = r->now - u->since;
}

/* Ends a cycle: an open customer leaves, a closed one thinks. */
static void end_cycle(struct run *r, uint32_t who)
{
	struct customer *u = &r->customer[who];
	const struct np_qn_class *class = &r->net->class[u->class];

	measure(r, u);
	if (class->arrivals_per_sec > 0) {
		u->next = r->unused;
		r->unused = who;
	} else {
		u->station = NONE; /* thinking */
		schedule(r, class->think_sec, who);
	}
}

/* Begins a cycle at the first station that it visits. */
static void begin_cycle(struct run *r, uint32_t who)
{
	struct customer *u = &r->customer[who];

	u->round = u->station = 0;
	u->since = r->now;
	if (next_station(r, u))
		arrive(r, who);
	else
		end_cycle(r, who);
}

/* Takes an unused customer, or makes one. Returns its number, or NONE. */
static uint32_t new_customer(struct run *r, size_t class)
{
	uint32_t who = r->unused;

	if (who != NONE) {
		r->unused = r->customer[who].next;
	} else {
		if (r->n == MAX_CUSTOMERS ||
		    np_array_reserve(&r->customer, &r->max, r->n + 1,
				     sizeof(*r->customer))) {
			r->no_memory = true;
			return NONE;
		}
		who = (uint32_t)r->n++;
	}
	r->customer[who].class = (uint32_t) class;
	return who;
}

/*
 * Handles the end of a think time or of a service, or an arrival from outside.
 */
static void handle_event(struct run *r, uint32_t who)
{
	size_t class = NONE - 1 - (size_t)who;

	if (class < r->net->n_classes) {
		who = new_customer(r, class);
		if (who == NONE)
			return;
		schedule(r, 1 / r->net->class[class].arrivals_per_sec,
			 NONE - 1 - (uint32_t) class);
		begin_cycle(r, who);
	} else if (r->customer[who].station == NONE) {
		begin_cycle(r, who);
	} else {
		depart(r, who);
		r->customer[who].station++;
		if (next_station(r, &r->customer[who]))
			arrive(r, who);
		else
			end_cycle(r, who);
	}
}

/* Whether each class with customers has enough cycles. */
static bool is_done(const struct run *r)
{
	for (size_t c = 0; c < r->net->n_classes; c++)
		if ((r->net->class[c].customers ||
		     r->net->class[c].arrivals_per_sec > 0) &&
		    r->count[c] < ALL(r->cycles))
			return false;
	return true;
}

/* Runs until enough cycles were measured, or up to MAX_EVENTS events. */
static void simulate(struct run *r)
{
	for (size_t c = 0; c < r->net->n_classes; c++) {
		const struct np_qn_class *class = &r->net->class[c];

		if (class->arrivals_per_sec > 0)
			schedule(r, 1 / class->arrivals_per_sec,
				 NONE - 1 - (uint32_t)c);
		for (uint64_t i = 0; i < class->customers && !r->no_memory;
		     i++) {
			uint32_t who = new_customer(r, c);

			if (who == NONE)
				return;
			r->customer[who].station = NONE;
			schedule(r, class->think_sec, who);
		}
	}
	for (size_t i = 0; i < MAX_EVENTS && r->n_heap && !r->no_memory; i++) {
		struct event e = pop(r);

		r->now = e.time;
		handle_event(r, e.who);
		if (i % 1024 == 0 && is_done(r))
			return;
	}
}

/*
 * Takes percentiles from the sorted response times of a class, after those of
 * the warm-up. A class that is much slower than another one has fewer cycles
 * when the simulation ends, and a shorter warm-up.
 */
static void compute_percentiles(const struct run *r, size_t c,
				const double *share, size_t n, double *sec)
{
	size_t all = ALL(r->cycles), got;
	double *sample = r->sample[c];

	all = r->count[c] < all ? r->count[c] : all;
	got = all - all / (WARM_UP + 1);
	sample += all - got;
	gsl_sort(sample, 1, got);
	for (size_t i = 0; i < n; i++) {
		size_t at = (size_t)(share[i] * (double)got);

		/* the product may be rounded up */
		sec[i] = got ? sample[at < got ? at : got - 1] : NAN;
	}
}

/* Checks that the network can be simulated. */
static int check(const struct np_qn *net, struct np_err *err)
{
	uint64_t all = 0;
	int rc = np_qn_check(net, err);

	for (size_t c = 0; c < net->n_classes; c++)
		all += net->class[c].customers;
	if (!rc && all > MAX_CUSTOMERS)
		rc = np_errf(
			err, -E2BIG,
			"%llu customers, expected at most %d for percentiles",
			(unsigned long long)all, MAX_CUSTOMERS);
	for (size_t k = 0; !rc && k < net->n_stations; k++)
		if (net->station[k].kind == NP_QN_LOADED)
			rc = np_errf(err, -ENOTSUP,
				     "%.64s: no percentiles with "
				     "load-dependent stations",
				     net->station[k].name);
	return rc;
}

int np_qn_percentiles(const struct np_qn *net, size_t cycles,
		      const double *share, size_t n, double *sec,
		      struct np_err *err)
{
	struct run r = { .net = net, .cycles = cycles, .unused = NONE };
	int rc = check(net, err);

	if (rc)
		return rc;
	r.station_state = calloc(net->n_stations + 1, sizeof(*r.station_state));
	r.count = calloc(net->n_classes, sizeof(*r.count));
	r.sample = calloc(net->n_classes, sizeof(*r.sample));
	r.no_memory = !r.station_state || !r.count || !r.sample;
	for (size_t k = 0; !r.no_memory && k < net->n_stations; k++)
		r.station_state[k].head = NONE;
	for (size_t c = 0; !r.no_memory && c < net->n_classes; c++) {
		r.sample[c] = calloc(ALL(cycles), sizeof(**r.sample));
		r.no_memory = !r.sample[c];
	}
	if (!r.no_memory)
		simulate(&r);
	if (r.no_memory)
		rc = np_errf(err, -ENOMEM,
			     "no memory, or more than %d customers at once",
			     MAX_CUSTOMERS);
	for (size_t c = 0; r.sample && c < net->n_classes; c++) {
		if (!rc)
			compute_percentiles(&r, c, share, n, sec + c * n);
		free(r.sample[c]);
	}
	free(r.customer);
	free(r.heap);
	free(r.station_state);
	free(r.count);
	free(r.sample);
	return rc;
}

/*
 * Run times, slopes and limits from passes over the contracted graph. Searches
 * use that T is convex and piecewise linear.
 */
#include "np_tolerance.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_tolerance_impl.h"

#define TIE 0x1p-45 /* relative to T: rounding of sums in another order */
#define MIN_EDGES 1000000 /* below which a second thread gains nothing */

/* Checks the network parameters. */
static int check(const struct np_loggps *net, struct np_err *err)
{
	const struct { const char *name; double value; } p[] = {
		{ "L", net->L_ns }, { "o", net->o_ns }, { "G", net->G_ns },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(p); i++)
		if (!(p[i].value >= 0) || p[i].value > NP_LOGGPS_MAX)
			return np_errf(err, -EINVAL, "%s of %g, expected 0 to "
				       "%g", p[i].name, p[i].value,
				       NP_LOGGPS_MAX);
	return 0;
}

int np_tolerance_new(const struct np_graph *g,
		     const struct np_tolerance_opt *opt,
		     struct np_tolerance **out, struct np_err *err)
{
	struct np_tolerance *t;
	int rc = check(&opt->net, err);

	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t)
		return np_errf(err, -ENOMEM, "no memory for a graph");
	rc = np_contract(g, opt, &t->c, err);
	if (!rc) {
		for (size_t i = 0; !rc && i < t->c.n; i++)
			rc = np_contract_order(&t->c.link[i]);
		t->room[0] = rc ? NULL : np_workspace_new(&t->c);
		if (!t->room[0])
			rc = np_errf(err, -ENOMEM, "no memory for %zu "
				     "vertices", np_tolerance_size(t).vertices);
	}
	if (rc) {
		np_tolerance_free(t);
		return rc;
	}
	t->threads = opt->threads;
	t->far = np_pass(&t->c, &(struct np_pass){ NP_ASYMPTOTE, 0, 0 },
			 t->room[0]);
	t->at_0 = np_pass(&t->c, &(struct np_pass){ NP_STEEPEST, 0, 0 },
			  t->room[0]).t;
	*out = t;
	return 0;
}

void np_tolerance_free(struct np_tolerance *t)
{
	if (!t)
		return;
	np_chain_free(&t->c);
	for (size_t k = 0; k < NP_TOLERANCE_THREADS; k++)
		np_workspace_free(t->room[k]);
	free(t);
}

/* at_0 + far.s x is between T and 2 T. */
double np_tolerance_tie(const struct np_tolerance *t, double x)
{
	return TIE * (t->at_0 + t->far.s * x);
}

struct np_point np_tolerance_side(struct np_tolerance *t, double x, bool right)
{
	const struct np_pass p = { right ? NP_STEEPEST : NP_FLATTEST, x,
				   np_tolerance_tie(t, x) };

	return np_pass(&t->c, &p, t->room[0]);
}

void np_tolerance_at(struct np_tolerance *t, double x, struct np_runtime *out)
{
	struct np_point side[2];

	np_pass_both(&t->c, x, np_tolerance_tie(t, x), t->room[0], side);
	*out = (struct np_runtime){ side[0].t, side[0].s, side[1].s };
}

/* ---- Independent passes on several threads ---- */

typedef void work_on_one(const struct np_tolerance *t,
			 struct np_workspace *room, size_t i, void *arg);

struct job_set {
	struct np_tolerance *t;
	work_on_one *work;
	void *arg;
	size_t n;
	atomic_size_t next;
};

struct worker {
	struct job_set *job_set;
	struct np_workspace *room;
	pthread_t thread;
};

/* Number of threads for n independent passes. */
static size_t threads_for(const struct np_tolerance *t, size_t n)
{
	size_t most = t->threads;
	cpu_set_t mine;

	if (!most && (t->c.n > 1 ||
		      np_compact_edges(&t->c.link[0]) < MIN_EDGES ||
		      sched_getaffinity(0, sizeof(mine), &mine)))
		most = 1;
	if (!most)
		most = (size_t)CPU_COUNT(&mine);
	most = most < NP_TOLERANCE_THREADS ? most : NP_TOLERANCE_THREADS;
	return n < most ? n : most;
}

/* Body of a thread: takes the next index until none is left. */
static void *work_on(void *arg)
{
	struct worker *h = arg;
	struct job_set *c = h->job_set;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->n)
		c->work(c->t, h->room, i, c->arg);
	return NULL;
}

/*
 * Calls work() for each i < n, on several threads where that pays off
 * (np_tolerance.h). Each thread has its own memory for passes.
 */
static void each(struct np_tolerance *t, size_t n, work_on_one *work, void *arg)
{
	struct job_set job_set = { .t = t, .work = work, .arg = arg, .n = n };
	struct worker worker[NP_TOLERANCE_THREADS];
	size_t threads = threads_for(t, n), started = 1;

	for (; started < threads; started++) {
		struct worker *h = &worker[started];

		if (!t->room[started])
			t->room[started] = np_workspace_new(&t->c);
		*h = (struct worker){ &job_set, t->room[started], 0 };
		if (!h->room || pthread_create(&h->thread, NULL, work_on, h))
			break; /* go on with the threads that there are */
	}
	worker[0] = (struct worker){ &job_set, t->room[0], 0 };
	work_on(&worker[0]);
	while (--started)
		pthread_join(worker[started].thread, NULL);
}

struct times {
	const double *x;
	size_t n;
	double *ns;
};

/* Handles NP_PASS_TIMES values of x, from i * NP_PASS_TIMES on. */
static void times_of_group(const struct np_tolerance *t,
			   struct np_workspace *room, size_t i, void *arg)
{
	double some[NP_PASS_TIMES], late[NP_PASS_TIMES];
	const struct times *a = arg;

	i *= NP_PASS_TIMES;
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		some[k] = a->x[i + k < a->n ? i + k : a->n - 1];
	np_pass_times(&t->c, some, room, late);
	for (size_t k = 0; k < NP_PASS_TIMES && i + k < a->n; k++)
		a->ns[i + k] = late[k];
}

void np_tolerance_times(struct np_tolerance *t, const double *x, size_t n,
			double *ns)
{
	struct times a = { x, n, ns };

	each(t, (n + NP_PASS_TIMES - 1) / NP_PASS_TIMES, times_of_group, &a);
}

/* ---- Where T reaches a given time, and where its slope changes ---- */

/*
 * Newton's method from the right of the solution. A convex function lies above
 * its tangents, so no step goes past the solution and each step ends on another
 * linear piece.
 */
static double newton(struct np_tolerance *t, double ns, double x)
{
	for (;;) {
		struct np_point p = np_tolerance_side(t, x, false);
		double next = x - (p.t - ns) / p.s;

		if (p.t <= ns || !(p.s > 0) || !(next < x))
			return x;
		x = next > 0 ? next : 0;
	}
}

double np_tolerance_limit(struct np_tolerance *t, double x0, double share)
{
	struct np_point p = np_tolerance_side(t, x0, true);
	double ns = (1 + share) * p.t;

	if (p.s > 0)
		return newton(t, ns, x0 + (ns - p.t) / p.s);
	return t->far.s > 0 ? newton(t, ns, (ns - t->far.t) / t->far.s) :
			      INFINITY;
}

/*
 * An interval of x whose inside is unknown, with T and its slopes at both ends.
 */
struct span {
	double low, high;
	struct np_point at_low, at_high;
	/*
	 * Where the tangents of both ends intersect, and T to the left and
	 * right of it.
	 */
	double x;
	struct np_point side[2];
};

struct search {
	struct span *todo;
	size_t n_todo, max_todo;
	struct np_critical *found;
	size_t n, max;
};

static int add(struct search *s, double x, double slope)
{
	if (np_array_room(&s->found, &s->max, s->n + 1, sizeof(*s->found)))
		return -ENOMEM;
	s->found[s->n++] = (struct np_critical){ x, slope };
	return 0;
}

/* Adds an interval, unless the slope is the same at both ends. */
static int push(struct search *s, double low, struct np_point at_low,
		double high, struct np_point at_high)
{
	if (!(at_low.s < at_high.s))
		return 0;
	if (np_array_room(&s->todo, &s->max_todo, s->n_todo + 1,
			  sizeof(*s->todo)))
		return -ENOMEM;
	s->todo[s->n_todo++] = (struct span){ low, high, at_low, at_high };
	return 0;
}

/* Evaluates T where the tangents of an interval's ends meet. */
static void intersect(const struct np_tolerance *t, struct np_workspace *room,
		      size_t i, void *arg)
{
	struct span *a = (struct span *)arg + i;
	double rise = a->at_high.t - a->at_low.t, width = a->high - a->low;

	a->x = a->low + (a->at_high.s * width - rise) /
			(a->at_high.s - a->at_low.s);
	if (a->x > a->low && a->x < a->high)
		np_pass_both(&t->c, a->x, np_tolerance_tie(t, a->x), room,
			     a->side);
}

/*
 * Where the tangents of both ends intersect, the slope changes; otherwise T
 * lies above that point and there are more pieces on one or both sides.
 */
static int split(struct search *s, const struct np_tolerance *t,
		 const struct span *a)
{
	double low = a->at_low.t + a->at_low.s * (a->x - a->low);

	if (!(a->low < a->high)) /* the slope changes exactly at the low end */
		return add(s, a->low, a->at_high.s);
	if (!(a->x > a->low) || !(a->x < a->high))
		return 0;
	if (a->side[1].t <= low + 2 * np_tolerance_tie(t, a->x))
		return add(s, a->x, a->at_high.s);
	if (push(s, a->low, a->at_low, a->x, a->side[0]) ||
	    push(s, a->x, a->side[0], a->x, a->side[1]))
		return -ENOMEM;
	return push(s, a->x, a->side[1], a->high, a->at_high);
}

/* Handles all known intervals in parallel, then those that result from them. */
static int search(struct search *s, struct np_tolerance *t)
{
	int rc = 0;

	while (!rc && s->n_todo) {
		struct span *all = s->todo;
		size_t n = s->n_todo;

		s->todo = NULL;
		s->n_todo = s->max_todo = 0;
		each(t, n, intersect, all);
		for (size_t i = 0; !rc && i < n; i++)
			rc = split(s, t, &all[i]);
		free(all);
	}
	return rc;
}

static int by_x(const void *a, const void *b)
{
	const struct np_critical *p = a, *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return (p->slope > q->slope) - (p->slope < q->slope);
}

int np_tolerance_critical(struct np_tolerance *t, double low, double high,
			  struct np_critical **out, size_t *n,
			  struct np_err *err)
{
	struct search s = { .n = 0 };
	int rc = push(&s, low, np_tolerance_side(t, low, true), high,
		      np_tolerance_side(t, high, false));

	if (!rc)
		rc = search(&s, t);
	free(s.todo);
	if (rc) {
		free(s.found);
		return np_errf(err, rc, "no memory for %zu changes of the "
			       "critical path", s.n);
	}
	if (s.n)
		qsort(s.found, s.n, sizeof(*s.found), by_x);
	*out = s.found;
	*n = s.n;
	return 0;
}

struct np_tolerance_size np_tolerance_size(const struct np_tolerance *t)
{
	struct np_tolerance_size s = { .laps = t->c.n > 1 ? t->c.times : 0 };

	for (size_t i = 0; i < t->c.n; i++) {
		s.vertices += t->c.link[i].n;
		s.edges += np_compact_edges(&t->c.link[i]);
	}
	return s;
}

/* Run times over all added latencies with one gap. */
static int one_gap(const struct np_graph *g, const struct np_loggps *net,
		   double gap_times, double *ns, struct np_err *err)
{
	struct np_tolerance_opt opt = { .net = *net, .x = NP_LOGGPS_L };
	double L_ns[NP_RESPONSE_LATENCIES];
	struct np_tolerance *t;
	int rc;

	opt.net.G_ns *= gap_times;
	rc = np_tolerance_new(g, &opt, &t, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < NP_RESPONSE_LATENCIES; i++)
		L_ns[i] = net->L_ns + 1e9 * np_response_added_sec(i);
	np_tolerance_times(t, L_ns, NP_RESPONSE_LATENCIES, ns);
	np_tolerance_free(t);
	return 0;
}

int np_response_make(const struct np_graph *g, const struct np_loggps *net,
		     struct np_response *out, struct np_err *err)
{
	struct np_response r;
	double alone_ns;
	int rc = 0;

	if (np_graph_ops(g) > NP_RESPONSE_MAX_OPS)
		return np_errf(err, -E2BIG, "%zu operations, expected at most "
			       "%zu", np_graph_ops(g), NP_RESPONSE_MAX_OPS);
	for (size_t k = 0; !rc && k < NP_RESPONSE_GAPS; k++)
		rc = one_gap(g, net, np_response_gap[k], r.times[k], err);
	if (rc)
		return rc;
	alone_ns = r.times[0][0];
	if (!(alone_ns > 0))
		return np_errf(err, -EINVAL, "the program takes no time");
	for (size_t k = 0; k < NP_RESPONSE_GAPS; k++)
		for (size_t i = 0; i < NP_RESPONSE_LATENCIES; i++)
			r.times[k][i] /= alone_ns;
	*out = r;
	return 0;
}

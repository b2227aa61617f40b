#include "np_tolerance.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_tolerance_impl.h"

#define TIE 0x1p-45 /* of T: as equal as sums in another order are */
#define MIN_EDGES 1000000 /* of half as many threads gain nothing */

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
		t->room[0] = rc ? NULL : np_room_new(&t->c);
		if (!t->room[0])
			rc = np_errf(err, -ENOMEM, "no memory for %zu "
				     "vertices", np_tolerance_size(t).vertices);
	}
	if (rc) {
		np_tolerance_free(t);
		return rc;
	}
	t->threads = opt->threads;
	t->far = np_pass(&t->c, &(struct np_pass){ NP_FAR, 0, 0 }, t->room[0]);
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
		np_room_free(t->room[k]);
	free(t);
}

/* T is between half of that by which the tie is measured, and that. */
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

/* ---- passes that do not need each other, side by side ---- */

typedef void work_on_one(const struct np_tolerance *t, struct np_room *room,
			 size_t i, void *arg);

struct crew {
	struct np_tolerance *t;
	work_on_one *work;
	void *arg;
	size_t n;
	atomic_size_t next;
};

struct hand {
	struct crew *crew;
	struct np_room *room;
	pthread_t thread;
};

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

static void *work_on(void *arg)
{
	struct hand *h = arg;
	struct crew *c = h->crew;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->n)
		c->work(c->t, h->room, i, c->arg);
	return NULL;
}

/*
 * work() for each i < n, on several threads where that pays (np_tolerance.h),
 * each of which has a room of its own.
 */
static void each(struct np_tolerance *t, size_t n, work_on_one *work, void *arg)
{
	struct crew crew = { .t = t, .work = work, .arg = arg, .n = n };
	struct hand hand[NP_TOLERANCE_THREADS];
	size_t threads = threads_for(t, n), started = 1;

	for (; started < threads; started++) {
		struct hand *h = &hand[started];

		if (!t->room[started])
			t->room[started] = np_room_new(&t->c);
		*h = (struct hand){ &crew, t->room[started], 0 };
		if (!h->room || pthread_create(&h->thread, NULL, work_on, h))
			break; /* then it is done by fewer */
	}
	hand[0] = (struct hand){ &crew, t->room[0], 0 };
	work_on(&hand[0]);
	while (--started)
		pthread_join(hand[started].thread, NULL);
}

struct times {
	const double *x;
	size_t n;
	double *ns;
};

/* The values from i * NP_PASS_TIMES on. */
static void some_times(const struct np_tolerance *t, struct np_room *room,
		       size_t i, void *arg)
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

	each(t, (n + NP_PASS_TIMES - 1) / NP_PASS_TIMES, some_times, &a);
}

/* ---- where T reaches a time, and where its slope changes ---- */

/*
 * Newton from the right of the solution.  A convex function is above its
 * tangents, so no step goes too far, and each ends on another piece.
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

/* A part in which T is not known but at its ends, with the slopes inside. */
struct span {
	double low, high;
	struct np_point at_low, at_high;
	/* Where the tangents at both ends meet, and left and right of that. */
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

static void look(const struct np_tolerance *t, struct np_room *room, size_t i,
		 void *arg)
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
 * Where the tangents at both ends meet the slope changes, or else T is above
 * them and there are more pieces on one side or on both.
 */
static int split(struct search *s, const struct np_tolerance *t,
		 const struct span *a)
{
	double low = a->at_low.t + a->at_low.s * (a->x - a->low);

	if (!(a->low < a->high)) /* a change at its low end itself */
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

/* All spans that there are at once, then all into which those fall. */
static int search(struct search *s, struct np_tolerance *t)
{
	int rc = 0;

	while (!rc && s->n_todo) {
		struct span *all = s->todo;
		size_t n = s->n_todo;

		s->todo = NULL;
		s->n_todo = s->max_todo = 0;
		each(t, n, look, all);
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

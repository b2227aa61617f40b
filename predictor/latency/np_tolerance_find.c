/* Where T reaches a time, and where its slope changes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_tolerance_impl.h"

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

double np_tolerance_within(struct np_tolerance *t, double ns)
{
	if (!(ns >= t->at_0))
		return -1;
	if (!(t->far.s > 0))
		return INFINITY;
	return newton(t, ns, (ns - t->far.t) / t->far.s);
}

double np_tolerance_limit(struct np_tolerance *t, double x0, double share)
{
	struct np_point p = np_tolerance_side(t, x0, true);
	double ns = (1 + share) * p.t;

	if (!(p.s > 0))
		return np_tolerance_within(t, ns);
	return newton(t, ns, x0 + (ns - p.t) / p.s);
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
		np_tolerance_each(t, n, look, all);
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

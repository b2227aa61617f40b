/* Where T reaches a time, and where its slope changes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_graph_impl.h"
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
};

struct search {
	struct np_tolerance *t;
	struct span *todo; /* the last one is the leftmost */
	size_t n_todo, max_todo;
	struct np_critical *found;
	size_t n, max;
};

static int add(struct search *s, double x, double slope)
{
	if (np_graph_grow(&s->found, &s->max, s->n, sizeof(*s->found)))
		return -ENOMEM;
	s->found[s->n++] = (struct np_critical){ x, slope };
	return 0;
}

static int push(struct search *s, double low, struct np_point at_low,
		double high, struct np_point at_high)
{
	if (!(at_low.s < at_high.s))
		return 0;
	if (np_graph_grow(&s->todo, &s->max_todo, s->n_todo,
			  sizeof(*s->todo)))
		return -ENOMEM;
	s->todo[s->n_todo++] = (struct span){ low, high, at_low, at_high };
	return 0;
}

/*
 * Where the tangents at both ends meet: there the slope changes, or else T is
 * above them and there are more pieces on one side or on both.
 */
static int split(struct search *s, const struct span *a)
{
	double rise = a->at_high.t - a->at_low.t, width = a->high - a->low;
	double x = a->low + (a->at_high.s * width - rise) /
			    (a->at_high.s - a->at_low.s);
	double low, tie = np_tolerance_tie(s->t, x);
	struct np_point side[2];

	if (!(x > a->low) || !(x < a->high))
		return 0;
	low = a->at_low.t + a->at_low.s * (x - a->low);
	np_pass_both(&s->t->c, x, tie, s->t->room, side);
	if (side[1].t <= low + 2 * tie)
		return add(s, x, a->at_high.s);
	if (push(s, x, side[1], a->high, a->at_high))
		return -ENOMEM;
	/* A change at x itself stands between both: a span without width. */
	if (side[0].s < side[1].s && push(s, x, side[0], x, side[1]))
		return -ENOMEM;
	return push(s, a->low, a->at_low, x, side[0]);
}

static int search(struct search *s)
{
	int rc = 0;

	while (!rc && s->n_todo) {
		struct span a = s->todo[--s->n_todo];

		rc = a.low < a.high ? split(s, &a) :
				      add(s, a.low, a.at_high.s);
	}
	return rc;
}

int np_tolerance_critical(struct np_tolerance *t, double low, double high,
			  struct np_critical **out, size_t *n,
			  struct np_err *err)
{
	struct search s = { .t = t };
	int rc = push(&s, low, np_tolerance_side(t, low, true), high,
		      np_tolerance_side(t, high, false));

	if (!rc)
		rc = search(&s);
	free(s.todo);
	if (rc) {
		free(s.found);
		return np_errf(err, rc, "no memory for %zu changes of the "
			       "critical path", s.n);
	}
	*out = s.found;
	*n = s.n;
	return 0;
}

#include "np_pass.h"

/* Time and slope side by side, so that one operation is on both. */
typedef double pair __attribute__((vector_size(16), may_alias));
typedef int64_t mask __attribute__((vector_size(16)));

static inline pair along(const struct np_edge *e, double x, const pair *p)
{
	return p[e->from] + (pair){ e->a + e->b * x, e->b };
}

static inline mask all_as(mask m, int lane)
{
	return lane ? __builtin_shufflevector(m, m, 1, 1) :
		      __builtin_shufflevector(m, m, 0, 0);
}

static inline pair choose(mask m, pair yes, pair no)
{
	return (pair)(((mask)yes & m) | ((mask)no & ~m));
}

/*
 * The later time, and its slope; of times that are equal the slope that is
 * wanted.  Without jumps: a processor would guess half of them wrong.
 */
static inline pair later(pair p, pair q, double tol, bool steepest)
{
	pair more = q - p, ties = { tol, tol };
	mask wanted = all_as(steepest ? more > 0 : more < 0, 1);
	mask take = all_as(more > choose(wanted, -ties, ties), 0);
	mask longer = all_as(more > 0, 0);

	return choose((mask){ -1, 0 }, choose(longer, q, p),
		      choose(take, q, p));
}

static inline struct np_point pass(const struct np_compact *c, double x,
				   double tol, bool steepest,
				   struct np_point *point)
{
	const struct np_edge *e = c->edge;
	pair *at = (pair *)point, last;

	at[0] = (pair){ 0, 0 };
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];

		last = (pair){ 0, 0 };
		if (e < end)
			last = along(e++, x, at);
		while (e < end)
			last = later(last, along(e++, x, at), tol, steepest);
		at[v] = last;
	}
	last = at[c->n - 1];
	return (struct np_point){ last[0], last[1] };
}

struct np_point np_pass_at(const struct np_compact *c, double x, double tol,
			   bool steepest, struct np_point *point)
{
	return steepest ? pass(c, x, tol, true, point) :
			  pass(c, x, tol, false, point);
}

struct np_point np_pass_far(const struct np_compact *c,
			    struct np_point *point)
{
	const struct np_edge *e = c->edge;

	point[0] = (struct np_point){ 0, 0 };
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		struct np_point p = { 0, 0 };

		for (; e < end; e++) {
			const struct np_point *from = &point[e->from];
			struct np_point q = { from->t + e->a,
					      from->s + e->b };

			if (q.s > p.s || (q.s == p.s && q.t > p.t))
				p = q;
		}
		point[v] = p;
	}
	return point[c->n - 1];
}

void np_pass_times(const struct np_compact *c, const double *x, double *t,
		   double *out)
{
	const struct np_edge *e = c->edge;

	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		t[k] = 0;
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		double late[NP_PASS_TIMES] = { 0 };

		for (; e < end; e++) {
			const double *from = t + NP_PASS_TIMES * e->from;

			for (size_t k = 0; k < NP_PASS_TIMES; k++) {
				double at = from[k] + (e->a + e->b * x[k]);

				late[k] = at > late[k] ? at : late[k];
			}
		}
		for (size_t k = 0; k < NP_PASS_TIMES; k++)
			t[NP_PASS_TIMES * v + k] = late[k];
	}
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = t[NP_PASS_TIMES * (c->n - 1) + k];
}

#include "np_pass.h"

static inline struct np_point along(const struct np_edge *e, double x,
				    const struct np_point *p)
{
	const struct np_point *from = &p[e->from];

	return (struct np_point){ from->t + (e->a + e->b * x),
				  from->s + e->b };
}

/* Without jumps that depend on data: a processor would guess half of them. */
static inline struct np_point later(struct np_point p, struct np_point q,
				    double tol, bool steepest)
{
	double more = q.t - p.t;
	bool other = steepest ? q.s > p.s : q.s < p.s;
	bool take = (more > tol) | ((more >= -tol) & other);

	return (struct np_point){ q.t > p.t ? q.t : p.t, take ? q.s : p.s };
}

static inline struct np_point pass(const struct np_compact *c, double x,
				   double tol, bool steepest,
				   struct np_point *point)
{
	const struct np_edge *e = c->edge;

	point[0] = (struct np_point){ 0, 0 };
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		struct np_point p = { 0, 0 };

		if (e < end)
			p = along(e++, x, point);
		while (e < end)
			p = later(p, along(e++, x, point), tol, steepest);
		point[v] = p;
	}
	return point[c->n - 1];
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
			struct np_point q = along(e, 0, point);

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

/*
 * Times alone, and slopes from them.  A pass that carries slopes asks at each
 * edge which of two it keeps, and fetches twice as much.  So slopes come
 * afterwards, from the end backwards along what is on a longest path: mostly a
 * few vertices of very many.
 */
#include "np_bits.h"
#include "np_pass_impl.h"

double np_pass_one(const struct np_compact *c, double x, struct np_room *room)
{
	const struct np_edge *e = c->edge;
	double *t = (double *)room->at;

	t[0] = 0;
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		double late = 0;

		for (; e < end; e++) {
			double at = t[e->from] + (e->a + e->b * x);

			late = at > late ? at : late;
		}
		t[v] = late;
	}
	return t[c->n - 1];
}

/* One instruction, where there is one. */
static inline np_pair later(np_pair a, np_pair b)
{
	return (np_pair){ a[0] > b[0] ? a[0] : b[0],
			  a[1] > b[1] ? a[1] : b[1] };
}

/* By name and not in a loop, as what is in an array goes through memory. */
void np_pass_four(const struct np_compact *c, const double *x,
		  struct np_room *room, double *out)
{
	const np_pair x0 = { x[0], x[1] }, x1 = { x[2], x[3] };
	const struct np_edge *e = c->edge;
	np_pair *t = room->at;

	t[0] = t[1] = (np_pair){ 0, 0 };
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		np_pair late0 = { 0, 0 }, late1 = { 0, 0 };

		for (; e < end; e++) {
			const np_pair *from = t + 2 * (size_t)e->from;

			late0 = later(from[0] + (e->a + e->b * x0), late0);
			late1 = later(from[1] + (e->a + e->b * x1), late1);
		}
		t[2 * v] = late0;
		t[2 * v + 1] = late1;
	}
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = t[2 * (c->n - 1) + k / 2][k % 2];
}

/*
 * From vertex v, which some of the longest paths to the end pass: to those
 * before it on them.  s[] are slopes from there to the end.
 */
static void follow(const struct np_compact *c, const struct np_pass *p,
		   const double *t, uint32_t v, double *s, uint64_t *reached)
{
	for (uint32_t i = c->first[v]; i < c->first[v + 1]; i++) {
		const struct np_edge *e = &c->edge[i];
		double slope = s[v] + e->b;

		if (t[e->from] + (e->a + e->b * p->x) < t[v] - p->tol)
			continue;
		if (np_bits_test(reached, e->from) &&
		    (p->which == NP_STEEPEST ? slope <= s[e->from] :
					       slope >= s[e->from]))
			continue;
		np_bits_set(reached, e->from);
		s[e->from] = slope;
	}
}

/* All from are below v, so that nobody is reached after its turn. */
double np_pass_slope(const struct np_compact *c, const struct np_pass *p,
		     struct np_room *room)
{
	const double *t = (const double *)room->at;
	double *s = (double *)room->at + c->n;
	uint64_t *reached = room->reached;

	s[0] = s[c->n - 1] = 0;
	np_bits_set(reached, c->n - 1);
	for (size_t w = np_bits_words(c->n); w--;)
		while (reached[w]) {
			uint32_t bit = NP_BITS_WORD - 1 - (uint32_t)
				__builtin_clzll(reached[w]);
			uint32_t v = (uint32_t)(NP_BITS_WORD * w) + bit;

			follow(c, p, t, v, s, reached);
			np_bits_clear(reached, v);
		}
	return s[0];
}

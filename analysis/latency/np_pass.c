/*
 * In a single compact graph, a pass computes only times, and slopes from them
 * afterwards. A pass that carries slopes along has to decide at every edge
 * which of two to keep, and reads twice as much memory. Computed backwards from
 * the end along the longest paths, slopes concern a few vertices out of very
 * many.
 */
#include "np_pass.h"

#include <math.h>
#include <stdlib.h>

#include "np_bits.h"

/*
 * Many equal laps. At a fixed x, a lap is a linear map in the max-plus algebra.
 * Such a map, when iterated, eventually adds the same amount to each time in
 * every cycle of a certain number of laps (G. Cohen, D. Dubois, J.-P. Quadrat,
 * M. Viot, 1985); ranks that never wait for each other may have different
 * rates. Therefore, once two cycles in a row add the same, np_repeat()
 * determines for each choice between two paths after how many cycles it would
 * change at these rates, and skips that many cycles.
 */

/* relative difference of sums computed in another order */
#define NOISE 0x1p-50
#define TRIES 8	      /* attempts with each cycle length */

/*
 * The next cycle length to try: numbers with many divisors, then multiples of
 * 4.
 */
static uint32_t next_cycle(uint32_t cycle)
{
	return cycle == 2 ? 12 : cycle == 12 ? 60 : 4 * cycle;
}

/* Whether two values are equal except for rounding. */
static bool near(double a, double b, double of)
{
	return fabs(a - b) <= NOISE * fabs(of);
}

/* Length and slope of an edge. */
static inline np_pair length_of(const struct np_pass *p,
				const struct np_edge *e)
{
	return p->which == NP_ASYMPTOTE ? (np_pair){ e->b, e->a } :
				    (np_pair){ e->a + e->b * p->x, e->b };
}

/* Keeps the later time and its slope; of equal times, the wanted slope. */
static inline void walk(const struct np_compact *c, const struct np_pass *p,
			double tol, bool steepest, np_pair *at)
{
	const struct np_edge *e = c->edge;

	at[0] = (np_pair){ 0, 0 };
	for (size_t v = 1 + c->n_given; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		np_pair last = { 0, 0 };

		if (e < end) {
			last = at[e->from] + length_of(p, e);
			e++;
		}
		for (; e < end; e++) {
			np_pair q = at[e->from] + length_of(p, e);
			bool wanted = steepest ? q[1] > last[1] :
						 q[1] < last[1];
			double more = q[0] - last[0];

			last[0] = more > 0 ? q[0] : last[0];
			last[1] = more > (wanted ? -tol : tol) ? q[1] :
								 last[1];
		}
		at[v] = last;
	}
}

/*
 * Computes the times of all vertices of a link, after those of the given ones
 * are set. Each mode has its own copy of the loop, so that no branch in it is
 * constant.
 */
static void pass_link(const struct np_compact *c, const struct np_pass *p,
		      np_pair *at)
{
	switch (p->which) {
	case NP_STEEPEST:
		walk(c, &(struct np_pass){ NP_STEEPEST, p->x, 0 }, p->tol,
		     true, at);
		break;
	case NP_FLATTEST:
		walk(c, &(struct np_pass){ NP_STEEPEST, p->x, 0 }, p->tol,
		     false, at);
		break;
	case NP_ASYMPTOTE:
		walk(c, &(struct np_pass){ .which = NP_ASYMPTOTE }, 0, true,
		     at);
		break;
	}
}

/*
 * Passes over a link repeatedly; the output of each pass is the input of the
 * next.
 */
static void np_pass_laps(const struct np_compact *c, const struct np_pass *p,
		  np_pair *at, const np_pair *from, np_pair *to,
		  size_t times)
{
	for (; times; times--, from = to) {
		for (size_t i = 0; i < c->n_state; i++)
			if (c->in[i])
				at[c->in[i]] = from[i];
		pass_link(c, p, at);
		for (size_t i = 0; i < c->n_state; i++)
			to[i] = at[c->out[i]];
	}
}

/* Whether both steps add the same. */
static bool steady(const np_pair *a, const np_pair *b, const np_pair *c,
		   size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			if (!near(c[i][k] - b[i][k], b[i][k] - a[i][k],
				  c[i][k]))
				return false;
	return true;
}

/* A vertex, and one of the paths to it relative to the vertex. */
struct choice {
	np_pair at;   /* time and slope of the vertex */
	np_pair lack; /* by how much the path is shorter */
	np_pair gain; /* by how much that shrinks in one cycle */
};

/*
 * Number of cycles for which the path stays off the longest path. Sets *time
 * and *slope if the vertex takes its time or slope from this path and continues
 * as it does.
 */
static double cycles_until(const struct np_pass *p, const struct choice *c,
		    bool *time, bool *slope)
{
	double noise = NOISE * fabs(c->at[0]);
	double tie = p->tol > noise ? p->tol : noise;
	double lack = c->lack[1], gain = c->gain[1];

	if (c->gain[0] > noise)
		return c->lack[0] > tie ?
			       floor((c->lack[0] - tie) / c->gain[0]) : 0;
	if (c->lack[0] > tie || c->gain[0] < -noise)
		return INFINITY;
	*time |= c->lack[0] <= noise;
	if (near(gain, 0, c->at[1])) {
		*slope |= near(lack, 0, c->at[1]);
		return INFINITY;
	}
	if (p->which == NP_FLATTEST) {
		lack = -lack;
		gain = -gain;
	}
	return gain <= 0 ? INFINITY : lack <= 0 ? 0 : floor(lack / gain);
}

/*
 * Number of cycles for which all choices stay as they are between laps a and b.
 */
static double steady_cycles(const struct np_compact *c, const struct np_pass *p,
		      const np_pair *a, const np_pair *b)
{
	double least = INFINITY;

	for (size_t v = 1 + c->n_given; v < c->n; v++) {
		bool time = false, slope = false;

		for (size_t i = c->first[v]; i < c->first[v + 1]; i++) {
			const struct np_edge *e = &c->edge[i];
			np_pair length = length_of(p, e);
			struct choice path = {
				.at = b[v],
				.lack = b[v] - (b[e->from] + length),
			};
			double n;

			path.gain = a[v] - (a[e->from] + length) - path.lack;
			n = cycles_until(p, &path, &time, &slope);
			least = n < least ? n : least;
		}
		if (!time || !slope)
			return 0;
	}
	return least;
}

/*
 * The same over all laps of a cycle: two cycles side by side, second after
 * first.
 */
static double cycles_ahead(const struct np_compact *c, const struct np_pass *p,
		     struct np_workspace *room, const np_pair *first,
		     const np_pair *second, uint32_t cycle)
{
	np_pair *a = room->state[3], *b = room->state[4];
	double least = INFINITY;

	for (uint32_t i = 0; i < cycle && least >= 1; i++) {
		double n;

		np_pass_laps(c, p, room->at, i ? a : first, a, 1);
		np_pass_laps(c, p, room->later, i ? b : second, b, 1);
		n = steady_cycles(c, p, room->at, room->later);
		least = n < least ? n : least;
	}
	return least;
}

/*
 * Passes over a lap that stands for many. Tests cycles of increasing length
 * until two in a row add the same, then skips as many as stay the same.
 */
static const np_pair *np_repeat(const struct np_compact *c,
				const struct np_pass *p,
				struct np_workspace *room, uint32_t times)
{
	np_pair *s[3] = { room->state[1], room->state[2], room->state[0] };
	uint32_t cycle = 2, known = 1, tries = 0;

	while (times >= cycle) {
		np_pair *oldest = s[0];
		double n = 0;

		s[0] = s[1];
		s[1] = s[2];
		s[2] = oldest;
		np_pass_laps(c, p, room->at, s[1], s[2], cycle);
		times -= cycle;
		if (++known >= 3 && times >= cycle &&
		    steady(s[0], s[1], s[2], c->n_state))
			n = cycles_ahead(c, p, room, s[0], s[1], cycle);
		if (n >= 1) {
			n = n < times / cycle ? n : times / cycle;
			for (size_t i = 0; i < c->n_state; i++)
				s[2][i] += n * (s[2][i] - s[1][i]);
			times -= (uint32_t)n * cycle;
			known = 1;
		} else if (++tries == TRIES) {
			cycle = next_cycle(cycle);
			tries = 0;
			known = 1;
		}
	}
	np_pass_laps(c, p, room->at, s[2], s[2], times);
	return s[2];
}

/*
 * Prefetches the edges and times of vertices further on. The hardware
 * prefetches within a page but not across pages. Addresses behind the end do no
 * harm.
 */
static inline void fetch(const struct np_edge *e, const void *t)
{
	__builtin_prefetch((const char *)e + 6144);
	__builtin_prefetch((const char *)t + 1024, 1);
}

/* Computes the times of all vertices of a graph without a loop. */
static void pass_times(const struct np_compact *c, double x,
		       struct np_workspace *room)
{
	const struct np_edge *e = c->edge;
	double *t = (double *)room->at;

	t[0] = 0;
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		double late = 0;

		fetch(e, &t[v]);
		for (; e != end; e++) {
			double at = t[e->from] + (e->a + e->b * x);

			late = late > at ? late : at;
		}
		t[v] = late;
	}
}

/*
 * Smallest and largest slope from a vertex to the end; stored behind the times.
 */
static np_pair *slopes(const struct np_compact *c,
		       const struct np_workspace *room)
{
	return room->at + (c->n + 1) / 2;
}

/* Passes the slopes of vertex v on to its predecessors on longest paths. */
static void pass_slopes(const struct np_compact *c, double x, double tol,
		   struct np_workspace *room, uint32_t v)
{
	const struct np_edge *end = c->edge + c->first[v + 1];
	const double *t = (const double *)room->at;
	np_pair *s = slopes(c, room);

	for (const struct np_edge *e = c->edge + c->first[v]; e != end; e++) {
		np_pair slope = s[v] + e->b;

		/* This vertex may be the next, whatever is found below. */
		__builtin_prefetch(c->edge + c->first[e->from]);
		if (t[e->from] + (e->a + e->b * x) < t[v] - tol)
			continue;
		if (np_bits_test(room->reached, e->from)) {
			np_pair was = s[e->from];

			slope[0] = slope[0] < was[0] ? slope[0] : was[0];
			slope[1] = slope[1] > was[1] ? slope[1] : was[1];
		}
		np_bits_set(room->reached, e->from);
		s[e->from] = slope;
	}
}

/*
 * np_pass_both() for a chain of one link. Every edge leads to a higher number,
 * so no vertex is reached after its turn.
 */
static void pass_one(const struct np_compact *c, double x, double tol,
		     struct np_workspace *room, struct np_point side[2])
{
	const double *t = (const double *)room->at;
	uint64_t *reached = room->reached;
	np_pair *s = slopes(c, room);

	pass_times(c, x, room);
	s[0] = s[c->n - 1] = (np_pair){ 0, 0 };
	np_bits_set(reached, c->n - 1);
	for (size_t w = np_bits_words(c->n); w--;)
		while (reached[w]) {
			uint32_t bit = NP_BITS_WORD - 1 - (uint32_t)
				__builtin_clzll(reached[w]);
			uint32_t v = (uint32_t)(NP_BITS_WORD * w) + bit;

			pass_slopes(c, x, tol, room, v);
			np_bits_clear(reached, v);
		}
	for (int k = 0; k < 2; k++)
		side[k] = (struct np_point){ t[c->n - 1], s[0][k] };
}

/* Compiles to one instruction where the machine has it. */
static inline np_pair later(np_pair a, np_pair b)
{
	return (np_pair){ a[0] > b[0] ? a[0] : b[0],
			  a[1] > b[1] ? a[1] : b[1] };
}

/*
 * np_pass_times() for a chain of one link. Two named variables, because the
 * elements of an array would be kept in memory.
 */
static void pass_four(const struct np_compact *c, const double *x,
		      struct np_workspace *room, double *out)
{
	const np_pair x0 = { x[0], x[1] }, x1 = { x[2], x[3] };
	const struct np_edge *e = c->edge;
	np_pair *t = room->at;

	t[0] = t[1] = (np_pair){ 0, 0 };
	for (size_t v = 1; v < c->n; v++) {
		const struct np_edge *end = c->edge + c->first[v + 1];
		np_pair late0 = { 0, 0 }, late1 = { 0, 0 };

		fetch(e, &t[2 * v]);
		for (; e != end; e++) {
			const np_pair *from = t + 2 * (size_t)e->from;

			late0 = later(late0, from[0] + (e->a + e->b * x0));
			late1 = later(late1, from[1] + (e->a + e->b * x1));
		}
		t[2 * v] = late0;
		t[2 * v + 1] = late1;
	}
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = t[2 * (c->n - 1) + k / 2][k % 2];
}

/* Passes over all links; the second of three is repeated. */
static struct np_point pass_chain(const struct np_chain *c,
				  const struct np_pass *p,
				  struct np_workspace *room)
{
	const np_pair *state = room->state[0];
	np_pair last;

	for (size_t i = 0; i < c->n; i++) {
		np_pass_laps(&c->link[i], p, room->at, state,
			     room->state[0], 1);
		state = room->state[0];
		if (i == 0 && c->n > 1)
			state = np_repeat(&c->link[++i], p, room, c->times);
	}
	last = room->at[c->link[c->n - 1].n - 1];
	return p->which == NP_ASYMPTOTE ?
		       (struct np_point){ last[1], last[0] } :
		       (struct np_point){ last[0], last[1] };
}

struct np_point np_pass(const struct np_chain *c, const struct np_pass *p,
			struct np_workspace *room)
{
	struct np_point side[2];

	if (c->n > 1 || p->which == NP_ASYMPTOTE)
		return pass_chain(c, p, room);
	pass_one(&c->link[0], p->x, p->tol, room, side);
	return side[p->which == NP_STEEPEST];
}

void np_pass_both(const struct np_chain *c, double x, double tol,
		  struct np_workspace *room, struct np_point side[2])
{
	struct np_pass p = { NP_FLATTEST, x, tol };

	if (c->n == 1) {
		pass_one(&c->link[0], x, tol, room, side);
		return;
	}
	side[0] = np_pass(c, &p, room);
	p.which = NP_STEEPEST;
	side[1] = np_pass(c, &p, room);
}

void np_pass_times(const struct np_chain *c, const double *x,
		   struct np_workspace *room, double *out)
{
	if (c->n == 1) {
		pass_four(&c->link[0], x, room, out);
		return;
	}
	/* With a loop, each value of x repeats in its own way. */
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		out[k] = np_pass(c, &(struct np_pass){ NP_STEEPEST, x[k], 0 },
				 room).t;
}

struct np_workspace *np_workspace_new(const struct np_chain *c)
{
	struct np_workspace *r = calloc(1, sizeof(*r));
	size_t n = 0, n_state = c->link[0].n_state;
	bool ok = r;

	for (size_t i = 0; i < c->n; i++)
		n = c->link[i].n > n ? c->link[i].n : n;
	if (ok) { /* pass_four() needs two for each vertex */
		r->at = np_compact_alloc(n, NP_PASS_TIMES * sizeof(double));
		r->reached = calloc(np_bits_words(n), sizeof(*r->reached));
		if (c->n > 1)
			r->later = malloc(c->link[1].n * sizeof(*r->later));
		ok = r->at && r->reached && (r->later || c->n == 1);
	}
	for (size_t k = 0; ok && k < NP_ARRAY_SIZE(r->state); k++) {
		r->state[k] = malloc((n_state + 1) * sizeof(**r->state));
		ok = r->state[k];
	}
	if (ok)
		return r;
	np_workspace_free(r);
	return NULL;
}

void np_workspace_free(struct np_workspace *r)
{
	if (!r)
		return;
	free(r->at);
	free(r->later);
	free(r->reached);
	for (size_t k = 0; k < NP_ARRAY_SIZE(r->state); k++)
		free(r->state[k]);
	free(r);
}

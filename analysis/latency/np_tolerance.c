#include "np_tolerance.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_bits.h"
#include "np_tolerance_impl.h"

/*
 * In a single compact graph, a pass computes only times, and slopes from them
 * afterwards. A pass that carries slopes along has to decide at every edge
 * which of two to keep, and reads twice as much memory. Computed backwards from
 * the end along the longest paths, slopes concern a few vertices out of very
 * many.
 */

/*
 * Many equal slices. At a fixed x, a slice is a linear map in the max-plus
 * algebra. Such a map, when iterated, eventually adds the same amount to each
 * time in every cycle of a certain number of slices (G. Cohen, D. Dubois, J.-P.
 * Quadrat, M. Viot, 1985); ranks that never wait for each other may have
 * different rates. Therefore, once two cycles in a row add the same,
 * np_repeat() determines for each choice between two paths after how many
 * cycles it would change at these rates, and skips that many cycles.
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
static void np_pass_slices(const struct np_compact *c, const struct np_pass *p,
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
 * Number of cycles for which all choices stay as they are between slices a and
 * b.
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
 * The same over all slices of a cycle: two cycles side by side, second after
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

		np_pass_slices(c, p, room->at, i ? a : first, a, 1);
		np_pass_slices(c, p, room->later, i ? b : second, b, 1);
		n = steady_cycles(c, p, room->at, room->later);
		least = n < least ? n : least;
	}
	return least;
}

/*
 * Passes over a slice that stands for many. Tests cycles of increasing length
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
		np_pass_slices(c, p, room->at, s[1], s[2], cycle);
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
	np_pass_slices(c, p, room->at, s[2], s[2], times);
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
		np_pass_slices(&c->link[i], p, room->at, state, room->state[0],
			       1);
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
/*
 * Run times, slopes and limits from passes over the contracted graph. Searches
 * use that T is convex and piecewise linear.
 */

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
	struct np_tolerance_size s = { .slices = t->c.n > 1 ? t->c.times : 0 };

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

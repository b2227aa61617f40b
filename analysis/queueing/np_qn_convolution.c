/*
 * Convolution. A station with n = (n_1, n_2, ...) customers of the classes, |n|
 * in total, has the weight
 *
 *	f(n) = |n|! prod_c (D_c^n_c / n_c!) t(1) ... t(|n|)
 *
 * where t(j) is 1 over the number of busy servers, or the time at load j with
 * D_c the number of visits. G = f_1 * ... * f_K for all n up to N, X_c = G(N -
 * e_c) / G(N), and n customers are at station k with probability f_k(n)
 * G_{-k}(N - n) / G(N). G_{-k} is computed by multiplication of the other
 * stations, never by division.
 *
 * If t(j) is constant from T customers on and never smaller before, f equals
 * the sum of f(n) (1 - t(T) / t(|n|)) over |n| < T, propagated by g(n) += sum_c
 * t(T) D_c g(n - e_c). All terms are positive.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "np_qn_impl.h"
#include "np_qn_population.h"

/*
 * Numbers >= 0 with a separate exponent, because normalising constants exceed
 * the range of a double by far: value = m 2^e with m in 0.5 .. 1, or 0 with e =
 * 0.
 */
struct np_scaled {
	double m;
	int64_t e;
};

/* 2^e for e <= 0; 0 if negligible. */
static inline double np_scaled_down(int64_t e)
{
	uint64_t bits = e < -1000 ? 0 : (uint64_t)(1023 + e) << 52;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* m >= 0, finite and not denormal. */
static inline struct np_scaled np_scaled_make(double m, int64_t e)
{
	int shift;

	if (!(m > 0))
		return (struct np_scaled){ 0, 0 };
	m = frexp(m, &shift);
	return (struct np_scaled){ m, e + shift };
}

/* Adds m 2^e to an unnormalised sum, whose m may be any double. */
static inline void np_scaled_add(struct np_scaled *sum, double m, int64_t e)
{
	if (m == 0)
		return;
	if (sum->m == 0) {
		*sum = (struct np_scaled){ m, e };
	} else if (e > sum->e) {
		sum->m = sum->m * np_scaled_down(sum->e - e) + m;
		sum->e = e;
	} else {
		sum->m += m * np_scaled_down(e - sum->e);
	}
}

/* a / b as a double; 0 or infinite beyond its range. */
static inline double np_scaled_ratio(struct np_scaled a, struct np_scaled b)
{
	int64_t e = a.e - b.e;

	return ldexp(a.m / b.m, e > 5000 ? 5000 : e < -5000 ? -5000 : (int)e);
}

/* A station as a factor of G: terms, and what propagates them. */
struct factor {
	size_t station, n;
	struct np_scaled *coef;
	size_t *cell;
	uint64_t *at; /* [i * n_classes + c] */
	/* t(T) D_c; 0: coef contains all of f */
	double tail[NP_QN_MAX_CLASSES];
};

struct work {
	const struct np_qn *net;
	struct np_population top; /* the whole population */
	size_t n_cells, last, stride[NP_QN_MAX_CLASSES];
	struct factor *factor;
	size_t n_factors;
	struct np_scaled *g;	  /* of the whole network */
	/* of one station; memory borrowed from elsewhere */
	struct np_scaled *one;
	struct np_qn_solution *out;
};

/* The factor t(n) of a station. */
static double time_at_load(const struct np_qn_station *st, uint64_t n)
{
	return st->kind == NP_QN_LOADED ? np_qn_at_load(st, n) :
	       1 / (double)(n < st->servers ? n : st->servers);
}

/* Demand at a station; for a load-dependent one its visits. */
static double demand(const struct np_qn *net, size_t c, size_t k)
{
	return net->station[k].kind == NP_QN_LOADED ?
	       net->station[k].visits[c] : np_qn_demand(net, c, k);
}

/* Whether a station enters G: a delay or an unvisited station does not. */
static bool is_factor(const struct np_qn *net, size_t k)
{
	bool used = false;

	for (size_t c = 0; c < net->n_classes; c++)
		used |= net->class[c].customers && demand(net, c, k) > 0;
	return used && net->station[k].kind != NP_QN_DELAY;
}

/* Single-server queues need no marginals. */
static bool is_plain(const struct np_qn_station *st)
{
	return st->kind == NP_QN_QUEUE && st->servers == 1;
}

/*
 * T, limited by the number of customers; *has_tail: whether t(T) is the
 * minimum.
 */
static uint64_t loads_of(const struct np_qn_station *st, uint64_t all,
			 bool *has_tail)
{
	uint64_t loads = st->kind == NP_QN_LOADED ? st->n_loads : st->servers;

	loads = loads < all ? loads : all;
	*has_tail = true;
	for (uint64_t i = 1; st->kind == NP_QN_LOADED && i < loads; i++)
		*has_tail &= time_at_load(st, i) >= time_at_load(st, loads);
	return loads;
}

/*
 * Computes the weights of station k at all populations, each from that with one
 * customer less.
 */
static void fill_weights(struct work *w, size_t k)
{
	struct np_population p = { .classes = w->net->n_classes };

	w->one[0] = np_scaled_make(1, 0);
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		const struct np_scaled *f;
		size_t c;

		np_population_next(&p, &w->top);
		c = np_population_class(&p);
		f = &w->one[cell - w->stride[c]];
		w->one[cell] = np_scaled_make(f->m * demand(w->net, c, k) *
			time_at_load(&w->net->station[k], p.all) *
			((double)p.all / (double)p.n[c]), f->e);
	}
}

/* Stores the terms of f, if it has memory for them. Returns their number. */
static size_t collect_terms(struct work *w, struct factor *f, uint64_t loads,
		    bool has_tail)
{
	const struct np_qn_station *st = &w->net->station[f->station];
	size_t n = 0, classes = w->net->n_classes;
	struct np_population p = { .classes = w->net->n_classes };

	for (size_t cell = 0; cell < w->n_cells; cell++) {
		struct np_scaled *g = &w->one[cell];
		double part = !has_tail || !p.all ?
				      1 :
			      p.all >= loads ?
				      0 :
				      1 - time_at_load(st, loads) /
						      time_at_load(st, p.all);

		if (g->m * part > 0 && f->coef) {
			f->coef[n] = np_scaled_make(g->m * part, g->e);
			f->cell[n] = cell;
			memcpy(f->at + n * classes, p.n,
			       classes * sizeof(*p.n));
		}
		n += g->m * part > 0;
		np_population_next(&p, &w->top);
	}
	return n;
}

/* Makes the factor of a station: its terms and its tail. */
static int make_factor(struct work *w, size_t k)
{
	struct factor *f = &w->factor[w->n_factors++];
	bool has_tail;
	uint64_t loads = loads_of(&w->net->station[k], w->top.all, &has_tail);

	*f = (struct factor){ .station = k };
	for (size_t c = 0; has_tail && c < w->net->n_classes; c++)
		f->tail[c] = demand(w->net, c, k) *
			     time_at_load(&w->net->station[k], loads);
	if (is_plain(&w->net->station[k]))
		return 0;
	fill_weights(w, k);
	f->n = collect_terms(w, f, loads, has_tail);
	f->cell = calloc(f->n, sizeof(*f->cell));
	f->at = calloc(f->n * w->net->n_classes, sizeof(*f->at));
	f->coef = calloc(f->n, sizeof(*f->coef));
	if (!f->cell || !f->at || !f->coef)
		return -ENOMEM;
	collect_terms(w, f, loads, has_tail);
	return 0;
}

/* Whether population n is contained in p. */
static bool fits(const uint64_t *n, const struct np_population *p,
		 size_t classes)
{
	for (size_t c = 0; c < classes; c++)
		if (n[c] > p->n[c])
			return false;
	return true;
}

/* g *= terms of f. From the last cell, because each uses lower ones. */
static void multiply_terms(const struct work *w, struct np_scaled *g,
			   const struct factor *f)
{
	size_t classes = w->net->n_classes;
	struct np_population p = w->top;

	for (size_t cell = w->n_cells; cell-- > 0;) {
		struct np_scaled sum = { 0, 0 };

		for (size_t i = 0; i < f->n && f->cell[i] <= cell; i++) {
			const struct np_scaled *at = &g[cell - f->cell[i]];

			if (fits(f->at + i * classes, &p, classes))
				np_scaled_add(&sum, f->coef[i].m * at->m,
					      f->coef[i].e + at->e);
		}
		g[cell] = np_scaled_make(sum.m, sum.e);
		np_population_previous(&p, &w->top);
	}
}

/* Multiplies G by a factor: first by its terms, then by the geometric tail. */
static void multiply(const struct work *w, struct np_scaled *g,
		     const struct factor *f)
{
	struct np_population p = { .classes = w->net->n_classes };

	if (f->n > 1)
		multiply_terms(w, g, f);
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		struct np_scaled sum = g[cell];

		np_population_next(&p, &w->top);
		for (size_t c = 0; c < w->net->n_classes; c++)
			if (p.n[c] && f->tail[c] > 0) {
				const struct np_scaled *at =
					&g[cell - w->stride[c]];

				np_scaled_add(&sum, f->tail[c] * at->m, at->e);
			}
		g[cell] = np_scaled_make(sum.m, sum.e);
	}
}

/* Think time and delays: prod_c Z_c^n_c / n_c! */
static void multiply_delays(const struct work *w, struct np_scaled *g)
{
	double sec[NP_QN_MAX_CLASSES];
	struct np_population p = { .classes = w->net->n_classes };

	for (size_t c = 0; c < w->net->n_classes; c++) {
		sec[c] = w->net->class[c].think_sec;
		for (size_t k = 0; k < w->net->n_stations; k++)
			if (w->net->station[k].kind == NP_QN_DELAY)
				sec[c] += np_qn_demand(w->net, c, k);
	}
	g[0] = np_scaled_make(1, 0);
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		size_t c;

		np_population_next(&p, &w->top);
		c = np_population_class(&p);
		g[cell] = np_scaled_make(g[cell - w->stride[c]].m * sec[c] /
					 (double)p.n[c],
					 g[cell - w->stride[c]].e);
	}
}

/* Mean numbers at a station; others holds G_{-k}. */
static void fill_marginal(struct work *w, const struct factor *f,
			  const struct np_scaled *others)
{
	const struct np_qn_station *st = &w->net->station[f->station];
	struct np_scaled sum[NP_QN_MAX_CLASSES] = { { 0, 0 } };
	struct np_scaled busy[NP_QN_MAX_CLASSES] = { { 0, 0 } };
	struct np_population p = { .classes = w->net->n_classes };

	fill_weights(w, f->station);
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		const struct np_scaled *a = &w->one[cell];
		const struct np_scaled *b = &others[w->last - cell];

		np_population_next(&p, &w->top);
		for (size_t c = 0; c < w->net->n_classes; c++) {
			double n = (double)p.n[c], m = n * a->m * b->m;

			np_scaled_add(&sum[c], m, a->e + b->e);
			np_scaled_add(&busy[c], m / (double)p.all,
				      a->e + b->e);
		}
	}
	for (size_t c = 0; c < w->net->n_classes; c++) {
		size_t i = c * w->net->n_stations + f->station;
		double x = w->out->x_per_sec[c];

		if (!w->top.n[c])
			continue;
		w->out->present[i] = np_scaled_ratio(
			np_scaled_make(sum[c].m, sum[c].e), w->g[w->last]);
		w->out->residence_sec[i] = w->out->present[i] / x;
		w->out->utilisation[i] = st->kind == NP_QN_LOADED ?
			np_scaled_ratio(np_scaled_make(busy[c].m, busy[c].e),
					w->g[w->last]) :
			x * demand(w->net, c, f->station) / st->servers;
	}
}

/*
 * Marginals of the factors lo .. hi - 1, from G without these. Each half starts
 * from G multiplied by the other half, so that no factor must be divided out.
 */
static int marginals(struct work *w, size_t lo, size_t hi,
		     const struct np_scaled *others)
{
	size_t mid = lo + (hi - lo) / 2, size = w->n_cells * sizeof(*others);
	struct np_scaled *g;
	int rc = 0;

	if (hi - lo == 1) {
		fill_marginal(w, &w->factor[lo], others);
		return 0;
	}
	g = malloc(size);
	if (!g)
		return -ENOMEM;
	for (int half = 0; !rc && half < 2; half++) {
		memcpy(g, others, size);
		for (size_t i = half ? lo : mid; i < (half ? mid : hi); i++)
			multiply(w, g, &w->factor[i]);
		rc = half ? marginals(w, mid, hi, g) : marginals(w, lo, mid, g);
	}
	free(g);
	return rc;
}

/* Computes the marginals of all stations that are no single-server queue. */
static int all_marginals(struct work *w, size_t n_plain,
			 const struct np_scaled *base)
{
	struct np_scaled *one = malloc(w->n_cells * sizeof(*one));
	int rc = -ENOMEM;

	w->one = one;
	if (one)
		rc = marginals(w, n_plain, w->n_factors, base);
	free(one);
	return rc;
}

/* A single-server queue, by mean value analysis. */
static void fill_plain(struct work *w, size_t k)
{
	double r[NP_QN_MAX_CLASSES] = { 0 }, x;
	struct np_population p = { .classes = w->net->n_classes };

	w->one[0].m = 0;
	for (size_t cell = 1; cell < w->n_cells; cell++) {
		np_population_next(&p, &w->top);
		w->one[cell].m = 0;
		for (size_t c = 0; c < w->net->n_classes; c++) {
			if (!p.n[c])
				continue;
			r[c] = demand(w->net, c, k) *
			       (1 + w->one[cell - w->stride[c]].m);
			x = np_scaled_ratio(w->g[cell - w->stride[c]],
					    w->g[cell]);
			w->one[cell].m += x * r[c];
		}
	}
	for (size_t c = 0; c < w->net->n_classes; c++) {
		size_t i = c * w->net->n_stations + k;

		x = w->out->x_per_sec[c];
		w->out->residence_sec[i] = x > 0 ? r[c] : 0;
		w->out->present[i] = x * r[c];
		w->out->utilisation[i] = x * demand(w->net, c, k);
	}
}

/* Fills in single-server queues, delays, and response times. */
static void fill_rest(struct work *w)
{
	struct np_qn_solution *out = w->out;
	size_t stations = w->net->n_stations;

	for (size_t k = 0; k < stations; k++) {
		if (w->net->station[k].kind != NP_QN_DELAY &&
		    is_plain(&w->net->station[k]))
			fill_plain(w, k);
		for (size_t c = 0; c < w->net->n_classes; c++) {
			size_t i = c * stations + k;
			double d = np_qn_demand(w->net, c, k);

			if (!w->top.n[c])
				continue;
			if (w->net->station[k].kind == NP_QN_DELAY) {
				out->residence_sec[i] = d;
				out->present[i] = out->x_per_sec[c] * d;
				out->utilisation[i] = out->present[i];
			}
			out->response_sec[c] += out->residence_sec[i];
		}
	}
}

/* Single-server queues first, because all marginals contain them. */
static int make_factors(struct work *w, size_t *n_plain)
{
	int rc = 0;

	for (int plain = 1; plain >= 0; plain--) {
		for (size_t k = 0; !rc && k < w->net->n_stations; k++)
			if (is_factor(w->net, k) &&
			    is_plain(&w->net->station[k]) == plain)
				rc = make_factor(w, k);
		if (plain)
			*n_plain = w->n_factors;
	}
	return rc;
}

/* Computes G, from it the throughputs, and then what happens at stations. */
static int solve(struct work *w, struct np_scaled *base)
{
	size_t n_plain = 0;
	int rc;

	w->one = w->g; /* used as a buffer until it is computed */
	rc = make_factors(w, &n_plain);
	if (rc)
		return rc;
	multiply_delays(w, base);
	for (size_t i = 0; i < n_plain; i++)
		multiply(w, base, &w->factor[i]);
	memcpy(w->g, base, w->n_cells * sizeof(*base));
	for (size_t i = n_plain; i < w->n_factors; i++)
		multiply(w, w->g, &w->factor[i]);
	for (size_t c = 0; c < w->net->n_classes; c++)
		if (w->top.n[c])
			w->out->x_per_sec[c] = np_scaled_ratio(
				w->g[w->last - w->stride[c]], w->g[w->last]);
	if (n_plain < w->n_factors)
		rc = all_marginals(w, n_plain, base);
	w->one = base; /* no longer needed */
	if (!rc)
		fill_rest(w);
	return rc;
}

/* Allocates G for all populations and solves the network. */
static int run(const struct np_qn *net, const struct np_qn_flat *f,
	       const struct np_qn_cost *max, struct np_qn_solution *out,
	       struct np_err *err)
{
	struct work w = { .net = net, .out = out, .n_cells = 1,
			  .top.classes = net->n_classes };
	struct np_scaled *base;
	int rc = -ENOMEM;

	(void)f, (void)max, (void)err;
	for (size_t c = 0; c < net->n_classes; c++) {
		w.top.n[c] = net->class[c].customers;
		w.top.all += w.top.n[c];
		w.stride[c] = w.n_cells;
		w.n_cells *= (size_t)w.top.n[c] + 1;
	}
	if (!w.top.all)
		return 0;
	w.last = w.n_cells - 1;
	w.factor = calloc(net->n_stations + 1, sizeof(*w.factor));
	w.g = malloc(w.n_cells * sizeof(*w.g));
	base = malloc(w.n_cells * sizeof(*base));
	if (w.factor && w.g && base)
		rc = solve(&w, base);
	free(base);
	for (size_t i = 0; i < w.n_factors; i++) {
		free(w.factor[i].coef);
		free(w.factor[i].cell);
		free(w.factor[i].at);
	}
	free(w.factor);
	free(w.g);
	return rc;
}

/*
 * Number of populations with fewer than T customers: at most (C + T - 1) choose
 * C.
 */
static double most_terms(const struct np_qn *net, size_t k, double cells)
{
	bool has_tail;
	uint64_t all = 0, loads;
	double n = 1;

	for (size_t c = 0; c < net->n_classes; c++)
		all += net->class[c].customers;
	loads = loads_of(&net->station[k], all, &has_tail);
	for (size_t c = 1; has_tail && c <= net->n_classes && n < cells; c++)
		n *= (double)(loads - 1 + c) / (double)c;
	return has_tail && n < cells ? n : cells;
}

/* Memory and steps of convolution, including the recursion for marginals. */
static struct np_qn_cost cost_of(const struct np_qn *net)
{
	double classes = (double)net->n_classes, cells = 1, steps = 0;
	double hard = 0, bytes = 0, depth;

	for (size_t c = 0; c < net->n_classes; c++)
		cells *= (double)net->class[c].customers + 1;
	for (size_t k = 0; cells > 1 && k < net->n_stations; k++) {
		double n = 1;

		if (!is_factor(net, k))
			continue;
		if (!is_plain(&net->station[k])) {
			n = most_terms(net, k, cells);
			bytes += n * (sizeof(struct np_scaled) +
				      sizeof(uint64_t) * (classes + 1));
			hard++;
		}
		steps += cells * (n + classes);
	}
	depth = hard > 1 ? ceil(log2(hard)) : 0;
	return (struct np_qn_cost){
		cells * sizeof(struct np_scaled) * (2 + (hard > 0) + depth) +
			bytes,
		steps * (depth + 1),
	};
}

int np_qn_convolution(const struct np_qn *net, const struct np_qn_cost *max,
		      struct np_qn_solution *out, struct np_err *err)
{
	static const struct np_qn_solver way = {
		.name = "convolution", .cost = cost_of, .run = run,
	};

	return np_qn_solve(&way, net, max, out, err);
}

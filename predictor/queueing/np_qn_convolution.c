/*
 * Convolution.  A station with n customers weighs
 *
 *	f(0) = 1, f(n) = f(n-1) D(n)
 *
 * where D(n) is its demand while n are there, and the network of n customers
 * G = f_1 * ... * f_K.  Then X(N) = G(N-1) / G(N), and at station k are j
 * customers with probability f_k(j) G_{-k}(N-j) / G(N), where G_{-k} is made
 * of the others by multiplication, never by division, so that all terms are
 * positive.
 *
 * Where D(n) no more changes beyond T customers, (1 - D(T) z) f(z) is a
 * polynomial with coefficients f(n-1) (D(n) - D(T)), n < T; if they are not
 * negative, a multiplication by them and a recursion take the place of O(N^2).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_qn_impl.h"
#include "np_scaled.h"

/* A station as a factor of G. */
struct factor {
	size_t station;
	size_t n;		/* coefficients */
	struct np_scaled *coef;
	struct np_scaled *weight; /* f(0 .. n_customers), for marginals */
	double tail_sec;	/* D(T); 0: all of f is in coef */
};

struct work {
	const struct np_qn *net;
	size_t n; /* customers */
	struct factor *factor;
	size_t n_factors;
	struct np_scaled *g; /* of the whole network, 0 .. n */
	struct np_qn_solution *out;
};

/* Loads that differ, as far as there are customers. */
static size_t loads_of(const struct np_qn_station *st, uint64_t n)
{
	uint64_t loads = st->kind == NP_QN_LOADED ? st->n_loads : st->servers;

	return (size_t)(loads < n ? loads : n);
}

/* Is it never faster than with all the customers there? */
static bool has_tail(const struct np_qn_station *st, size_t loads)
{
	double last_sec = np_qn_at_load(st, loads);

	for (size_t i = 1; i < loads; i++)
		if (np_qn_at_load(st, i) < last_sec)
			return false;
	return true;
}

/* Does it make a factor, with customers there? */
static bool is_factor(const struct np_qn *net, size_t k)
{
	return net->station[k].kind != NP_QN_DELAY &&
	       np_qn_demand(net, 0, k) > 0;
}

/* A queue of one server needs no marginals. */
static bool is_plain(const struct np_qn_station *st)
{
	return st->kind == NP_QN_QUEUE && st->servers == 1;
}

/* f(n) from f(n-1) */
static struct np_scaled next_weight(const struct np_qn_station *st,
				    struct np_scaled f, uint64_t n)
{
	return np_scaled_make(f.m * st->visits[0] * np_qn_at_load(st, n), f.e);
}

static void fill_weights(struct work *w, struct factor *f)
{
	const struct np_qn_station *st = &w->net->station[f->station];

	f->weight[0] = np_scaled_make(1, 0);
	for (size_t n = 1; n <= w->n; n++)
		f->weight[n] = next_weight(st, f->weight[n - 1], n);
}

static void fill_coefficients(struct work *w, struct factor *f)
{
	const struct np_qn_station *st = &w->net->station[f->station];
	struct np_scaled weight = np_scaled_make(1, 0);

	f->coef[0] = weight;
	for (size_t n = 1; n < f->n; n++) {
		double less = st->visits[0] * np_qn_at_load(st, n) -
			      f->tail_sec;

		f->coef[n] = np_scaled_make(weight.m * less, weight.e);
		weight = next_weight(st, weight, n);
	}
}

static int make_factor(struct work *w, size_t k)
{
	const struct np_qn_station *st = &w->net->station[k];
	struct factor *f = &w->factor[w->n_factors++];
	size_t loads = loads_of(st, w->n);

	*f = (struct factor){ .station = k, .n = w->n + 1 };
	if (has_tail(st, loads)) {
		f->n = loads;
		f->tail_sec = st->visits[0] * np_qn_at_load(st, loads);
	}
	f->coef = calloc(f->n, sizeof(*f->coef));
	if (!f->coef)
		return -ENOMEM;
	fill_coefficients(w, f);
	if (is_plain(st))
		return 0;
	f->weight = calloc(w->n + 1, sizeof(*f->weight));
	if (!f->weight)
		return -ENOMEM;
	fill_weights(w, f);
	return 0;
}

/* g becomes g * f. */
static void multiply(const struct work *w, struct np_scaled *g,
		     const struct factor *f)
{
	for (size_t n = w->n + 1; f->n > 1 && n-- > 0;) {
		struct np_scaled sum = { 0, 0 };
		size_t last = n < f->n ? n : f->n - 1;

		for (size_t i = 0; i <= last; i++)
			np_scaled_add(&sum, f->coef[i].m * g[n - i].m,
				      f->coef[i].e + g[n - i].e);
		g[n] = np_scaled_make(sum.m, sum.e);
	}
	for (size_t n = 1; f->tail_sec > 0 && n <= w->n; n++) {
		struct np_scaled sum = g[n];

		np_scaled_add(&sum, f->tail_sec * g[n - 1].m, g[n - 1].e);
		g[n] = np_scaled_make(sum.m, sum.e);
	}
}

/* Think time and delays: a station where n customers weigh Z^n / n!. */
static struct np_scaled *think(const struct work *w)
{
	struct np_scaled *g = calloc(w->n + 1, sizeof(*g));
	double sec = w->net->class[0].think_sec;

	if (!g)
		return NULL;
	for (size_t k = 0; k < w->net->n_stations; k++)
		if (w->net->station[k].kind == NP_QN_DELAY)
			sec += np_qn_demand(w->net, 0, k);
	g[0] = np_scaled_make(1, 0);
	for (size_t n = 1; n <= w->n; n++)
		g[n] = np_scaled_make(g[n - 1].m * sec / (double)n, g[n - 1].e);
	return g;
}

/* The mean number at a station, others holds G_{-k}. */
static void fill_marginal(const struct work *w, const struct factor *f,
			  const struct np_scaled *others)
{
	const struct np_qn_station *st = &w->net->station[f->station];
	struct np_scaled sum = { 0, 0 };
	struct np_qn_solution *out = w->out;
	double x = out->x_per_sec[0], present;

	for (size_t j = 1; j <= w->n; j++)
		np_scaled_add(&sum, (double)j * f->weight[j].m *
			      others[w->n - j].m,
			      f->weight[j].e + others[w->n - j].e);
	present = np_scaled_ratio(np_scaled_make(sum.m, sum.e), w->g[w->n]);
	out->present[f->station] = present;
	out->residence_sec[f->station] = present / x;
	out->utilisation[f->station] = st->kind == NP_QN_LOADED ?
		fmax(0, 1 - np_scaled_ratio(others[w->n], w->g[w->n])) :
		x * np_qn_demand(w->net, 0, f->station) / st->servers;
}

/*
 * Marginals of the factors lo .. hi - 1, from G without these.  Each half gets
 * what the other half makes of it, so that none is ever taken out again.
 */
static int marginals(const struct work *w, size_t lo, size_t hi,
		     const struct np_scaled *others)
{
	size_t mid = lo + (hi - lo) / 2, size = (w->n + 1) * sizeof(*others);
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

/* Of a queue of one server, as mean value analysis has it. */
static void fill_plain(const struct work *w, size_t k)
{
	double d = np_qn_demand(w->net, 0, k), q = 0, r = d;
	struct np_qn_solution *out = w->out;

	for (size_t n = 1; n <= w->n; n++) {
		r = d * (1 + q);
		q = np_scaled_ratio(w->g[n - 1], w->g[n]) * r;
	}
	out->present[k] = q;
	out->residence_sec[k] = r;
	out->utilisation[k] = out->x_per_sec[0] * d;
}

static void fill_rest(const struct work *w)
{
	struct np_qn_solution *out = w->out;

	for (size_t k = 0; k < w->net->n_stations; k++) {
		double d = np_qn_demand(w->net, 0, k);

		if (w->net->station[k].kind == NP_QN_DELAY) {
			out->residence_sec[k] = d;
			out->present[k] = out->x_per_sec[0] * d;
			out->utilisation[k] = out->present[k];
		} else if (d > 0 && is_plain(&w->net->station[k])) {
			fill_plain(w, k);
		}
		out->response_sec[0] += out->residence_sec[k];
	}
}

/* Plain queues first, as all marginals have these in them. */
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

static int solve(struct work *w)
{
	size_t n_plain, size = (w->n + 1) * sizeof(*w->g);
	struct np_scaled *base;
	int rc;

	w->factor = calloc(w->net->n_stations + 1, sizeof(*w->factor));
	base = think(w);
	w->g = malloc(size);
	rc = w->factor && base && w->g ? make_factors(w, &n_plain) : -ENOMEM;
	if (!rc) {
		for (size_t i = 0; i < n_plain; i++)
			multiply(w, base, &w->factor[i]);
		memcpy(w->g, base, size);
		for (size_t i = n_plain; i < w->n_factors; i++)
			multiply(w, w->g, &w->factor[i]);
		w->out->x_per_sec[0] = np_scaled_ratio(w->g[w->n - 1],
						       w->g[w->n]);
		if (n_plain < w->n_factors)
			rc = marginals(w, n_plain, w->n_factors, base);
	}
	if (!rc)
		fill_rest(w);
	free(base);
	return rc;
}

static void drop(struct work *w)
{
	for (size_t i = 0; i < w->n_factors; i++) {
		free(w->factor[i].coef);
		free(w->factor[i].weight);
	}
	free(w->factor);
	free(w->g);
}

/* Each factor goes into G, and into about log2 of them others. */
static struct np_qn_cost cost_of(const struct np_qn *net)
{
	double n = (double)net->class[0].customers + 1, terms = 0, arrays = 2;
	double hard = 0, depth;

	for (size_t k = 0; k < net->n_stations; k++) {
		const struct np_qn_station *st = &net->station[k];
		size_t loads;

		if (!net->class[0].customers || !is_factor(net, k))
			continue;
		loads = loads_of(st, net->class[0].customers);
		terms += has_tail(st, loads) ? (double)loads + 1 : n;
		arrays += is_plain(st) ? 0 :
			  1 + (has_tail(st, loads) ? (double)loads / n : 1);
		hard += !is_plain(st);
	}
	depth = hard > 1 ? ceil(log2(hard)) : 0;
	return (struct np_qn_cost){
		sizeof(struct np_scaled) * n * (arrays + depth),
		n * (terms + 1) * (depth + 1),
	};
}

int np_qn_convolution(const struct np_qn *net, const struct np_qn_cost *max,
		      struct np_qn_solution *out, struct np_err *err)
{
	struct np_qn_solution made = { 0 };
	struct work w = { .net = net, .out = &made };
	struct np_qn_cost cost;
	int rc = np_qn_check(net, err);

	if (rc)
		return rc;
	if (net->n_classes > 1)
		return np_qn_convolution_classes(net, max, out, err);
	cost = cost_of(net);
	rc = np_qn_afford(&cost, max, "convolution", np_qn_instead(net), err);
	if (rc)
		return rc;
	w.n = (size_t)net->class[0].customers;
	rc = np_qn_solution_make(net, &made);
	if (!rc && w.n)
		rc = solve(&w);
	drop(&w);
	if (rc) {
		np_qn_solution_free(&made);
		return np_errf(err, rc, "convolution: no memory");
	}
	*out = made;
	return 0;
}

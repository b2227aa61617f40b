#include "t.h"
#include "np_tolerance_impl.h"

#include "np_tolerance.h"
#include "some_graph.h"

/* Equal except for rounding. */
static bool agree(double a, double b)
{
	return a == b || fabs(a - b) <= 1e-11 * (1 + fabs(b));
}

static bool points_agree(struct np_tolerance *t, struct np_tolerance *u,
			 double x)
{
	struct np_runtime a, b;
	double ns;

	np_tolerance_at(t, x, &a);
	np_tolerance_at(u, x, &b);
	np_tolerance_times(t, &x, 1, &ns);
	return agree(a.ns, b.ns) && agree(ns, b.ns) && a.left == b.left &&
	       a.right == b.right;
}

static bool changes_agree(struct np_tolerance *t, struct np_tolerance *u)
{
	struct np_critical *a, *b;
	size_t n, m;
	bool ok;

	if (np_tolerance_critical(t, 0, 20000, &a, &n, NULL) ||
	    np_tolerance_critical(u, 0, 20000, &b, &m, NULL))
		abort();
	ok = n == m;
	for (size_t i = 0; ok && i < n; i++)
		ok = fabs(a[i].x - b[i].x) <= 1e-6 * (1 + b[i].x) &&
		     a[i].slope == b[i].slope;
	free(a);
	free(b);
	return ok;
}

static bool all_agree(struct np_tolerance *t, struct np_tolerance *u)
{
	bool ok = changes_agree(t, u);

	/* Avoids points where pieces meet for equal calcs and sizes. */
	for (double x = 0.37; x < 1e6; x = 2.7 * x + 11)
		ok &= points_agree(t, u, x);
	for (double share = 0; share < 2; share += 0.21)
		ok &= agree(np_tolerance_limit(t, 333.3, share),
			    np_tolerance_limit(u, 333.3, share));
	return ok;
}

static const struct {
	const char *name;
	struct np_loggps net;
	enum np_loggps_param x;
} nets[] = {
	{ "latency", { 700, 50, 0.5, 800, false }, NP_LOGGPS_L },
	{ "latency, nothing else costs",
	  { 0, 0, 0, NP_LOGGPS_NO_RENDEZVOUS, true },
	  NP_LOGGPS_L },
	{ "latency, uneven numbers",
	  { 700, 51.3, 0.1, NP_LOGGPS_NO_RENDEZVOUS, true },
	  NP_LOGGPS_L },
	{ "overhead", { 700, 50, 0.5, 800, true }, NP_LOGGPS_o },
	{ "time per byte", { 700, 50, 0.5, 800, false }, NP_LOGGPS_G },
};

T_TEST("random loops give the result of separate iterations")
{
	T_EACH(r, nets) {
		struct np_tolerance_opt opt = { .net = r->net, .x = r->x };
		size_t n = 0, found = 0, bad = 0;

		for (uint64_t seed = 0; n < 60 && seed < 3000; seed++) {
			struct np_graph *g = some_loop(seed, 1 + seed % 5,
						       4 + seed % 17,
						       40 + 7 * (seed % 60));
			struct np_tolerance *t = NULL, *u = NULL;
			int rc, rd;

			opt.unfold = false;
			rc = np_tolerance_new(g, &opt, &t, NULL);
			opt.unfold = true;
			rd = np_tolerance_new(g, &opt, &u, NULL);
			bad += rc != rd;
			if (!rc && !rd) {
				n++;
				found += np_tolerance_size(t).slices > 0;
				bad += !all_agree(t, u);
			}
			np_tolerance_free(t);
			np_tolerance_free(u);
			np_graph_free(g);
		}
		T_ROW(r->name, n == 60);
		T_ROW(r->name, found > 45);
		T_ROW(r->name, !bad);
	}
}

struct chain {
	const char *name;
	uint32_t ranks;
	/* by rank: initial calc, and calc per iteration */
	uint64_t begin[8], ns[8];
	bool ahead; /* each sends what it had before it received */
	uint32_t times;
	double want_ns, slope; /* at L = 100, where nothing else has a cost */
};

/*
 * Each rank receives from the one before it, computes, and sends on: 0, 1, 2.
 */
static struct np_graph *new_chain(const struct chain *c)
{
	struct np_graph *g;

	if (np_graph_new("chain", c->ranks, &g, NULL))
		abort();
	for (uint32_t r = 0; r < c->ranks; r++) {
		const struct np_graph_op op[3] = {
			{ .kind = NP_OP_RECV, .size = 8, .peer = r - 1 },
			{ .kind = NP_OP_CALC, .size = c->ns[r] },
			{ .kind = NP_OP_SEND, .size = 8, .peer = r + 1 },
		};
		const struct np_graph_op begin = { .size = c->begin[r] };
		uint32_t prev;

		if (np_graph_rank(g, r, NULL, NULL) ||
		    np_graph_add(g, &begin, &prev, NULL))
			abort();
		for (uint32_t i = 0; i < 3 * c->times; i++) {
			uint32_t k = (i + 2 * c->ahead) % 3, x;

			if ((k == 0 && r == 0) || (k == 2 && r + 1 == c->ranks))
				continue;
			if (np_graph_add(g, &op[k], &x, NULL) ||
			    np_graph_depend(g, x, prev, NP_REQUIRES, NULL))
				abort();
			prev = x;
		}
	}
	if (np_graph_finish(g, NULL))
		abort();
	return g;
}

/* clang-format off */
static const struct chain chains[] = {
	{ "all wait for the one in the middle", 3, { 0 }, { 10, 25, 20 },
	  false, 100000, 10 + 100 + 25 * 1e5 + 100 + 20, 2 },
	{ "a late rank stays late", 2, { 0, 1000000 },
	  { 25, 10 }, false, 50000, 1000000 + 10 * 5e4, 0 },
	{ "a late rank is overtaken in the end", 2, { 0, 1000000 }, { 25, 10 },
	  false, 100000, 25 * 1e5 + 100 + 10, 1 },
	{ "the first decides", 3, { 0 }, { 25, 24, 23 },
	  false, 100000, 25 * 1e5 + 100 + 24 + 100 + 23, 2 },
	{ "late ranks are overtaken one after the other", 8,
	  { 0, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000,
	    1000000 }, { 25, 10, 10, 10, 10, 10, 10, 10 },
	  true, 100000, 25 * (1e5 - 7) + 7 * 110, 7 },
};
/* clang-format on */

T_TEST("100000 iterations take the time computed by hand")
{
	const struct np_tolerance_opt opt = {
		.net = { .S = NP_LOGGPS_NO_RENDEZVOUS },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(chains); i++) {
		const struct chain *c = &chains[i];
		struct np_graph *g = new_chain(c);
		struct np_tolerance *t;
		struct np_runtime r;

		if (np_tolerance_new(g, &opt, &t, NULL))
			abort();
		np_tolerance_at(t, 100, &r);
		T_ROW(c->name, np_tolerance_size(t).slices > c->times - 20);
		T_ROW(c->name, np_tolerance_size(t).vertices < 100);
		T_ROW(c->name, r.ns == c->want_ns);
		T_ROW(c->name, r.left == c->slope && r.right == c->slope);
		np_tolerance_free(t);
		np_graph_free(g);
	}
}

/*
 * Eight ranks in a row; each computes after the previous step of its
 * neighbours. The last one is slightly slower: the first one notices that after
 * 6937 steps, and has something left to do at the end.
 */
static struct np_graph *new_row(uint32_t steps)
{
	struct np_graph *g;

	if (np_graph_new("row", 8, &g, NULL))
		abort();
	for (uint32_t r = 0; r < 8; r++) {
		struct np_graph_op op = { .size = 0 };
		uint32_t prev, x;

		if (np_graph_rank(g, r, NULL, NULL) ||
		    np_graph_add(g, &op, &prev, NULL))
			abort();
		for (uint32_t i = 0; i < steps; i++, prev = x) {
			uint32_t on[5] = { prev }, n = 1;

			for (uint32_t k = 0; k < 4; k++) {
				op = (struct np_graph_op){
					.kind = k < 2 ? NP_OP_SEND : NP_OP_RECV,
					.peer = r + (k & 1 ? 1 : -1u),
				};
				if (op.peer >= 8)
					continue;
				np_graph_add(g, &op, &on[n], NULL);
				np_graph_depend(g, on[n++], prev, NP_REQUIRES,
						NULL);
			}
			op = (struct np_graph_op){ .size = r == 0 ? 1000 :
							   r == 7 ? 1001 :
								    10 };
			np_graph_add(g, &op, &x, NULL);
			while (n--)
				np_graph_depend(g, x, on[n], NP_REQUIRES, NULL);
		}
		op = (struct np_graph_op){ .size = r ? 0 : 1000000000 };
		np_graph_add(g, &op, &x, NULL);
		np_graph_depend(g, x, prev, NP_REQUIRES, NULL);
	}
	if (np_graph_finish(g, NULL))
		abort();
	return g;
}

T_TEST("a change after thousands of iterations is not missed")
{
	const struct np_tolerance_opt opt = {
		.net = { .S = NP_LOGGPS_NO_RENDEZVOUS },
	};
	struct np_graph *g = new_row(20000);
	struct np_tolerance *t;
	struct np_runtime r;

	T_CHECK(!np_tolerance_new(g, &opt, &t, NULL));
	np_tolerance_at(t, 0, &r);
	T_CHECK(np_tolerance_size(t).slices > 19000);
	T_CHECK(r.ns == 1e9 + 1001. * (20000 - 7) + 6 * 10 + 1000);
	np_tolerance_free(t);
	np_graph_free(g);
}

T_TEST("a loop of all ranks is found; few or different operations are none")
{
	struct chain c = chains[0];
	struct np_graph *g = new_chain(&c);
	struct np_iterations l;

	T_CHECK(!np_iterations_find(g, &l) && l.part && l.ops == 2 + 3 + 2);
	T_CHECK(l.part && l.part[0].period == 2 && l.part[1].period == 3);
	T_CHECK(l.times > c.times - 4 && l.times <= c.times);
	np_iterations_free(&l);
	np_graph_free(g);
	c.times = 9;
	g = new_chain(&c);
	T_CHECK(!np_iterations_find(g, &l) && !l.part);
	np_graph_free(g);
	g = some_graph(7, 4, 500);
	T_CHECK(!np_iterations_find(g, &l) && !l.part);
	np_graph_free(g);
}

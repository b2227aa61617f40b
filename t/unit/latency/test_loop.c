#include "t.h"
#include "np_loop.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_tolerance.h"
#include "some_goal.h"
#include "some_graph.h"

/* Equal, but for sums in another order. */
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

	/* Away from where pieces meet with equal calcs and sizes. */
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
	  { 0, 0, 0, NP_LOGGPS_NO_RENDEZVOUS, true }, NP_LOGGPS_L },
	{ "latency, uneven numbers",
	  { 700, 51.3, 0.1, NP_LOGGPS_NO_RENDEZVOUS, true }, NP_LOGGPS_L },
	{ "overhead", { 700, 50, 0.5, 800, true }, NP_LOGGPS_o },
	{ "time per byte", { 700, 50, 0.5, 800, false }, NP_LOGGPS_G },
};

static void test_random_loops(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(nets); i++) {
		struct np_tolerance_opt opt = { .net = nets[i].net,
						.x = nets[i].x };
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
				found += np_tolerance_folded(t) > 0;
				bad += !all_agree(t, u);
			}
			np_tolerance_free(t);
			np_tolerance_free(u);
			np_graph_free(g);
		}
		T_ROW(nets[i].name, n == 60);
		T_ROW(nets[i].name, found > 45);
		T_ROW(nets[i].name, !bad);
	}
}

static const struct t_case cases[] = {
	{ "random loops: as if each iteration were by itself",
	  test_random_loops },
	{ NULL, NULL },
};

T_SUITE(loop, cases)

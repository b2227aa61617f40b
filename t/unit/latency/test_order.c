#include "t.h"
#include "np_tolerance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "some_goal.h"
#include "some_graph.h"

static double run_time(const char *text, const struct np_tolerance_opt *opt,
		       double x, double *slope)
{
	struct np_err err = NP_ERR_INIT;
	struct np_tolerance *t = NULL;
	struct np_runtime r = { -1, -1, -1 };
	struct np_graph *g = NULL;

	if (some_goal(text, strlen(text), &g, &err) ||
	    np_tolerance_new(g, opt, &t, &err))
		fprintf(stderr, "%s\n", err.text);
	else
		np_tolerance_at(t, x, &r);
	np_tolerance_free(t);
	np_graph_free(g);
	if (slope)
		*slope = r.right;
	return r.ns;
}

/* n ranks send so many bytes each to rank 0 at once. */
static char *many_to_one(unsigned n, unsigned bytes)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "num_ranks %u rank 0 {\n", n + 1);
	for (unsigned i = 1; i <= n; i++)
		fprintf(f, "recv %ub from %u\n", bytes, i);
	fprintf(f, "}\n");
	for (unsigned i = 1; i <= n; i++)
		fprintf(f, "rank %u { send %ub to 0 }\n", i, bytes);
	fclose(f);
	return text;
}

static void test_shared_link(void)
{
	struct np_tolerance_opt opt = {
		.net = { .L_ns = 100, .G_ns = 1,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
	};
	char *eight = many_to_one(8, 1000), *one = many_to_one(1, 1000);
	double slope;

	T_CHECK(run_time(eight, &opt, 100, NULL) == 1100);
	opt.one_link = true;
	T_CHECK(run_time(one, &opt, 100, NULL) == 1100);
	T_CHECK(run_time(eight, &opt, 100, &slope) == 8100);
	T_CHECK(slope == 1); /* the first on its way; the others wait */
	opt.x = NP_LOGGPS_G;
	T_CHECK(run_time(eight, &opt, 1, &slope) == 8100 && slope == 8000);
	/* Beside a large message that began before, and after one. */
	T_CHECK(run_time("num_ranks 3 rank 0 { recv 10b from 1 recv 5000b "
			 "from 2 } rank 1 { a: calc 50 b: send 10b to 0 "
			 "b requires a } rank 2 { send 5000b to 0 }", &opt, 1,
			 NULL) == 5110);
	free(eight);
	free(one);
}

static void test_one_processor(void)
{
	static const char two[] = "num_ranks 1 rank 0 { calc 70 calc 30 }";
	static const char cpus[] =
		"num_ranks 1 rank 0 { calc 70 calc 30 cpu 1 }";
	static const char sends[] =
		"num_ranks 2 rank 0 { send 100b to 1 send 100b to 1 "
		"send 100b to 1 nic 1 } rank 1 { recv 100b from 0 "
		"recv 100b from 0 recv 100b from 0 }";
	struct np_tolerance_opt opt = {
		.net = { .L_ns = 1000, .o_ns = 10, .G_ns = 1, .g_ns = 200,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
	};

	T_CHECK(run_time(two, &opt, 0, NULL) == 70);
	T_CHECK(run_time(sends, &opt, 1000, NULL) == 1120);
	opt.one_cpu = true;
	T_CHECK(run_time(two, &opt, 0, NULL) == 100);
	T_CHECK(run_time(cpus, &opt, 0, NULL) == 70);
	/*
	 * Starts at 0 and 300, and at the other adapter behind both, at 310;
	 * the last is there at 310 + 10 + 1000 + 100, and done 10 later.
	 */
	T_CHECK(run_time(sends, &opt, 1000, NULL) == 1430);
}

/* It never makes a circle, and nothing becomes faster by waiting. */
static void test_random(void)
{
	size_t bad = 0, slower = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct np_graph *g = some_graph(seed, 1 + seed % 6,
						4 + (uint32_t)seed % 90);
		struct np_tolerance_opt opt = {
			.net = { .L_ns = seed % 3 * 350, .o_ns = seed % 2 * 50,
				 .G_ns = seed % 5 * 0.1, .g_ns = 10,
				 .S = NP_LOGGPS_NO_RENDEZVOUS },
			.x = (enum np_loggps_param)(seed % 3),
		};
		struct np_tolerance *t, *u;
		struct np_runtime r, s;

		if (np_tolerance_new(g, &opt, &t, NULL))
			abort();
		opt.one_link = seed % 4 > 0;
		opt.one_cpu = seed % 4 < 3;
		if (np_tolerance_new(g, &opt, &u, NULL)) {
			bad++;
			u = NULL;
		}
		for (double x = 0; u && x < 1000; x += 300) {
			np_tolerance_at(t, x, &r);
			np_tolerance_at(u, x, &s);
			bad += s.ns < r.ns * (1 - 1e-12);
			slower += s.ns > r.ns;
		}
		np_tolerance_free(t);
		np_tolerance_free(u);
		np_graph_free(g);
	}
	T_CHECK(!bad && slower > 300);
}

static const struct t_case cases[] = {
	{ "eight messages to one receiver take eight times as long",
	  test_shared_link },
	{ "a processor does one thing at a time, an adapter keeps its gap",
	  test_one_processor },
	{ "turns make no circle, and nothing faster", test_random },
	{ NULL, NULL },
};

T_SUITE(order, cases)

/* The approximations of Schweitzer and Bard, against what it approximates. */
#include "some_network.h"
#include "t.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void test_reference(void)
{
	t_network_meets("schweitzer", np_qn_schweitzer, 1e-7, 5);
}

static void test_laws(void)
{
	t_network_laws("schweitzer", np_qn_schweitzer, T_SERVERS, 3, 1e-9);
}

/* The largest relative error of a throughput, over random networks. */
static double worst(const char *name, np_qn_method *exact, enum t_kinds kinds,
		    size_t n_classes, size_t customers)
{
	struct np_rng *r = np_rng_new(1, name);
	double most = 0;

	for (int i = 0; i < 100; i++) {
		struct np_qn_solution a = { 0 }, b = { 0 };
		struct t_network t;

		t_network_random(r, kinds, n_classes, customers, &t);
		T_CHECK(!exact(&t.net, &t_any_cost, &a, NULL));
		T_CHECK(!np_qn_schweitzer(&t.net, &t_any_cost, &b, NULL));
		for (size_t c = 0; c < n_classes; c++)
			if (a.x_per_sec[c] > 0)
				most = fmax(most, fabs(b.x_per_sec[c] /
						       a.x_per_sec[c] - 1));
		np_qn_solution_free(&a);
		np_qn_solution_free(&b);
	}
	np_rng_free(r);
	return most;
}

static void test_near(void)
{
	double one = worst("one", np_qn_mva, T_SIMPLE, 1, 10);
	double three = worst("three", np_qn_mva, T_SIMPLE, 3, 4);
	double many = worst("many", np_qn_mva, T_SIMPLE, 1, 1000);
	double servers = worst("servers", np_qn_convolution, T_SERVERS, 1, 20);

	T_CHECK(one > 0 && one < 0.1);
	T_CHECK(three > 0 && three < 0.1);
	T_CHECK(many < 0.002);
	T_CHECK(servers < 0.15);
}

static void test_what_it_cannot(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_qn_solution s;
	struct t_network t;

	t_network_make(&t, 1, 1);
	t.class[0] = (struct np_qn_class){ "class", 2, 1 };
	t.station[0].kind = NP_QN_LOADED;
	t.station[0].n_loads = 1;
	t.loads[0][0] = 1;
	T_CHECK(np_qn_schweitzer(&t.net, &t_any_cost, &s, &err) == -ENOTSUP);
	T_CHECK(strstr(err.text, "station: schweitzer does not") &&
		strstr(err.text, "convolution does"));
}

/* It stops where its steps end, and says how far it is. */
static void test_stops(void)
{
	const struct np_qn_cost few = { 1e9, 1500 };
	struct np_err err = NP_ERR_INIT;
	struct np_qn_solution s;
	struct t_network t;

	t_network_make(&t, 1, 2);
	t.class[0] = (struct np_qn_class){ "class", 100000, 1 };
	t.service[0][0] = 1;
	t.service[1][0] = 0.999999;
	T_CHECK(np_qn_schweitzer(&t.net, &few, &s, &err) == -ELOOP);
	T_CHECK(strstr(err.text, "schweitzer: 500 iterations and mean"));
	T_CHECK(np_qn_schweitzer(&t.net, &(struct np_qn_cost){ 1e9, 10 }, &s,
			 &err) == -E2BIG);
}

static void test_no_memory(void)
{
	t_network_survives_no_memory(np_qn_schweitzer, T_SERVERS);
}

static const struct t_case cases[] = {
	{ "reference answers are met to 1e-7", test_reference },
	{ "Little's law, conservation and capacity hold", test_laws },
	{ "it is near the exact answer", test_near },
	{ "what it cannot, it says, and who can", test_what_it_cannot },
	{ "it stops where its steps end", test_stops },
	{ "it fails where memory does", test_no_memory },
	{ NULL, NULL },
};
T_SUITE(qn_schweitzer, cases)

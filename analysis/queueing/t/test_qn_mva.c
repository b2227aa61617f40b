/* Exact mean value analysis. */
#include "t.h"
#include "some_network.h"

T_TEST("reference solutions agree to 1e-9")
{
	t_network_meets("exact", np_qn_mva, 1e-9, 10);
}

T_TEST("Little's law, conservation and capacity hold")
{
	t_network_laws("one class", np_qn_mva, T_SIMPLE, 1, 1e-9);
	t_network_laws("two classes", np_qn_mva, T_SIMPLE, 2, 1e-9);
	t_network_laws("four classes", np_qn_mva, T_SIMPLE, 4, 1e-9);
}

/* Identical classes equal a single class, in any order. */
T_TEST("identical classes share the throughput of one class")
{
	struct np_rng *r = np_rng_new(1, "alike");

	for (int i = 0; i < 30; i++) {
		struct np_qn_solution one = { 0 }, two = { 0 };
		struct t_network t;

		t_network_random(r, T_SIMPLE, 1, 13, &t);
		T_CHECK(!np_qn_mva(&t.net, &t_any_cost, &one, NULL));
		t_network_split(&t, 9);
		T_CHECK(!np_qn_mva(&t.net, &t_any_cost, &two, NULL));
		T_CHECK(t_close(two.x_per_sec[0], one.x_per_sec[0] * 4 / 13,
				1e-12));
		T_CHECK(t_close(two.x_per_sec[1], one.x_per_sec[0] * 9 / 13,
				1e-12));
		np_qn_solution_free(&one);
		np_qn_solution_free(&two);
	}
	np_rng_free(r);
}

T_TEST("memory and time are checked in advance")
{
	const struct np_qn_cost little = { 1e6, 1e15 }, quick = { 1e9, 1e6 };
	struct np_err err = NP_ERR_INIT;
	struct np_qn_solution s;
	struct t_network t;

	t_network_make(&t, 4, 10);
	for (size_t c = 0; c < 4; c++) {
		t.class[c].customers = 100;
		t.class[c].think_sec = 1;
	}
	T_CHECK(np_qn_mva(&t.net, &little, &s, &err) == -E2BIG);
	T_CHECK(strstr(err.text, "82.4 MB of memory, more than 1 MB") &&
		strstr(err.text, "linearizer"));
	T_CHECK(np_qn_mva(&t.net, &quick, &s, &err) == -E2BIG);
	T_CHECK(strstr(err.text, "steps, more than 1e+06; linearizer"));
	for (size_t c = 0; c < 4; c++)
		t.class[c].customers = NP_QN_MAX_CUSTOMERS;
	T_CHECK(np_qn_mva(&t.net, &(struct np_qn_cost){ 1e300, 1e300 }, &s,
			  &err) == -E2BIG);
}

T_TEST("unsupported networks are rejected with an alternative")
{
	struct np_err err = NP_ERR_INIT;
	struct np_qn_solution s;
	struct t_network t;

	t_network_make(&t, 1, 1);
	t.class[0].customers = 1;
	t.class[0].think_sec = 1;
	t.station[0].servers = 2;
	T_CHECK(np_qn_mva(&t.net, &t_any_cost, &s, &err) == -ENOTSUP);
	T_CHECK(strstr(err.text, "station: ") &&
		strstr(err.text, "convolution takes it"));
}

T_TEST("failed allocations are reported")
{
	t_network_survives_no_memory(np_qn_mva, T_SIMPLE);
}

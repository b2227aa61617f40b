/* Convolution, exact for multi-server queues and load-dependent stations. */
#include "t.h"
#include "some_network.h"

T_TEST("reference solutions agree to 1e-9")
{
	t_network_meets("exact", np_qn_convolution, 1e-9, 12);
}

T_TEST("Little's law, conservation and capacity hold")
{
	t_network_laws("all kinds of stations", np_qn_convolution, T_ALL_KINDS,
		       1, 1e-9);
}

/* Two methods with the same result. */
T_TEST("simple networks agree with mean value analysis")
{
	struct np_rng *r = np_rng_new(1, "two ways");

	for (int i = 0; i < 50; i++) {
		struct np_qn_solution a = { 0 }, b = { 0 };
		struct t_network t;

		t_network_random(r, T_SIMPLE, 1, 1 + np_rng_below(r, 300), &t);
		T_CHECK(!np_qn_mva(&t.net, &t_any_cost, &a, NULL));
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &b, NULL));
		T_CHECK(t_close(a.x_per_sec[0], b.x_per_sec[0], 1e-11));
		for (size_t k = 0; k < t.net.n_stations; k++)
			T_CHECK(t_close(a.present[k], b.present[k], 1e-10) &&
				t_close(a.residence_sec[k], b.residence_sec[k],
					1e-10));
		np_qn_solution_free(&a);
		np_qn_solution_free(&b);
	}
	np_rng_free(r);
}

/* The same station described in different ways. */
T_TEST("servers and delays can be described by loads")
{
	struct np_rng *r = np_rng_new(1, "words");

	for (int i = 0; i < 50; i++) {
		struct np_qn_solution a = { 0 }, b = { 0 };
		struct t_network t;

		t_network_random(r, T_SERVERS, 1, T_LOADS, &t);
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &a, NULL));
		for (size_t k = 0; k < t.net.n_stations; k++) {
			struct np_qn_station *st = &t.station[k];
			size_t m = st->kind == NP_QN_DELAY ? T_LOADS :
							     st->servers;

			st->kind = NP_QN_LOADED;
			st->n_loads = T_LOADS;
			for (size_t n = 1; n <= T_LOADS; n++)
				t.loads[k][n - 1] = t.service[k][0] /
						    (double)(n < m ? n : m);
		}
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &b, NULL));
		T_CHECK(t_close(a.x_per_sec[0], b.x_per_sec[0], 1e-11));
		for (size_t k = 0; k < t.net.n_stations; k++)
			T_CHECK(fabs(a.present[k] - b.present[k]) <
				1e-10 * T_LOADS);
		np_qn_solution_free(&a);
		np_qn_solution_free(&b);
	}
	np_rng_free(r);
}

/*
 * A single M/M/m queue with finite source: the machine repairman problem,
 * summed here as in textbooks.
 */
T_TEST("several repairmen agree with textbooks")
{
	const double n = 30, m = 4, think = 5, service = 0.9;
	double p = 1, all = 1, busy = 0;
	struct np_qn_solution s;
	struct t_network t;

	for (int i = 1; i <= n; i++) {
		p *= (n - i + 1) / think * service / fmin(i, m);
		all += p;
		busy += p * fmin(i, m);
	}
	t_network_make(&t, 1, 1);
	t.class[0].customers = (uint64_t)n;
	t.class[0].think_sec = think;
	t.service[0][0] = service;
	t.station[0].servers = (uint32_t)m;
	T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &s, NULL));
	T_CHECK(t_close(s.x_per_sec[0], busy / all / service, 1e-12));
	T_CHECK(t_close(s.utilisation[0], busy / all / m, 1e-12));
	np_qn_solution_free(&s);
}

/* A case in which textbook mean value analysis loses four digits. */
T_TEST("many servers lose no digits")
{
	struct np_qn_solution s;
	struct t_network t;

	t_network_make(&t, 1, 3);
	t.station[0].servers = 6;
	t.service[0][0] = 1;
	t.service[1][0] = 0.15;
	t.service[2][0] = 0.1;
	for (uint64_t n = 1; n <= 300; n++) {
		t.class[0].customers = n;
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &s, NULL));
		T_CHECK(t_network_conserves(&t.net, &s, 1e-12));
		T_CHECK(s.x_per_sec[0] < 6 && s.utilisation[0] < 1 + 1e-12);
		np_qn_solution_free(&s);
	}
}

/*
 * Normalising constants outside of the range of a double, in both directions.
 */
T_TEST("normalising constants may leave the range of a double")
{
	const double units[] = { 1e-12, 1, 1e12 };

	for (size_t i = 0; i < NP_ARRAY_SIZE(units); i++) {
		struct np_qn_solution s;
		struct t_network t;

		t_network_make(&t, 1, 3);
		t.class[0] =
			(struct np_qn_class){ "c", 20000, 5000 * units[i] };
		for (size_t k = 0; k < 3; k++)
			t.service[k][0] = (double)(k + 1) * units[i];
		t.station[1].servers = 3;
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &s, NULL));
		T_CHECK(t_network_conserves(&t.net, &s, 1e-9));
		T_CHECK(t_close(s.x_per_sec[0] * units[i], 1 / 3., 1e-12));
		np_qn_solution_free(&s);
	}
}

T_TEST("memory is checked in advance")
{
	const struct np_qn_cost little = { 1e5, 1e15 };
	struct np_err err = NP_ERR_INIT;
	struct np_qn_solution s;
	struct t_network t;

	t_network_make(&t, 1, 1);
	t.class[0] = (struct np_qn_class){ "class", 10000, 1 };
	t.service[0][0] = 1;
	T_CHECK(np_qn_convolution(&t.net, &little, &s, &err) == -E2BIG);
	T_CHECK(strstr(err.text, "320 kB of memory, more than 100 kB") &&
		strstr(err.text, "linearizer"));
}

T_TEST("failed allocations are reported")
{
	t_network_survives_no_memory(np_qn_convolution, T_ALL_KINDS);
}

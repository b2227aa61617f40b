/* Open classes, and percentiles of response times. */
#include "t.h"
#include "some_network.h"

/* Two stations, visited by an open and a closed class. */
static void make(struct t_network *t)
{
	t_network_make(t, 2, 2);
	t->class[0].customers = 0;
	t->class[0].arrivals_per_sec = 3;
	t->class[1].customers = 4;
	t->class[1].think_sec = 0.7;
	t->service[0][0] = 0.1;
	t->service[0][1] = 0.1;
	t->service[1][0] = 0.2;
	t->service[1][1] = 0.05;
}

/* Very many customers with very long think times resemble an open class. */
T_TEST("very many customers with long think times resemble an open class")
{
	struct np_qn_solution open, closed;
	struct t_network t;

	make(&t);
	T_CHECK(!np_qn_mixed(np_qn_mva, &t.net, &t_any_cost, &open, NULL));
	t.class[0].arrivals_per_sec = 0;
	t.class[0].customers = 20000;
	t.class[0].think_sec = 20000 / 3.0;
	T_CHECK(!np_qn_mva(&t.net, &t_any_cost, &closed, NULL));
	T_CHECK(open.x_per_sec[0] == 3);
	for (size_t c = 0; c < 2; c++) {
		T_CHECK(t_close(open.x_per_sec[c], closed.x_per_sec[c], 1e-3));
		T_CHECK(t_close(open.response_sec[c], closed.response_sec[c],
				5e-3));
	}
	for (size_t i = 0; i < 4; i++) {
		T_CHECK(t_close(open.present[i], closed.present[i], 5e-3));
		T_CHECK(t_close(open.utilisation[i], closed.utilisation[i],
				1e-3));
	}
	np_qn_solution_free(&open);
	np_qn_solution_free(&closed);
}

/* M/M/1: D / (1 - rho), and rho / (1 - rho) present. */
T_TEST("one queue of an open class is M/M/1")
{
	struct np_qn_solution s;
	struct t_network t;

	t_network_make(&t, 1, 1);
	t.class[0].customers = 0;
	t.class[0].arrivals_per_sec = 8;
	t.service[0][0] = 0.1;
	T_CHECK(!np_qn_mixed(np_qn_mva, &t.net, &t_any_cost, &s, NULL));
	T_CHECK(t_close(s.response_sec[0], 0.5, 1e-12));
	T_CHECK(t_close(s.present[0], 4, 1e-12));
	T_CHECK(t_close(s.utilisation[0], 0.8, 1e-12));
	np_qn_solution_free(&s);
}

T_TEST("impossible open classes are rejected")
{
	struct np_err err = NP_ERR_INIT;
	struct np_qn_solution s;
	struct t_network t;

	make(&t);
	t.class[0].arrivals_per_sec = 5;
	T_CHECK(np_qn_mixed(np_qn_mva, &t.net, &t_any_cost, &s, &err) ==
		-EINVAL);
	T_CHECK(strstr(err.text, "busy for 1 of the time"));
	make(&t);
	t.station[0].servers = 2;
	T_CHECK(np_qn_mixed(np_qn_convolution, &t.net, &t_any_cost, &s, &err) ==
		-ENOTSUP);
	make(&t);
	t.class[0].customers = 1;
	T_CHECK(np_qn_mixed(np_qn_mva, &t.net, &t_any_cost, &s, &err) ==
		-EINVAL);
	make(&t);
	t.class[0].arrivals_per_sec = NAN;
	T_CHECK(np_qn_mixed(np_qn_mva, &t.net, &t_any_cost, &s, &err) ==
		-EINVAL);
}

/*
 * Known cases: response times of an M/M/1 queue are exponential; those of a
 * single customer at two stations are the sum of two exponential times.
 */
T_TEST("known percentiles are reproduced")
{
	static const double share[] = { 0.5, 0.9 };
	double sec[2], both[4], p;
	struct t_network t;

	t_network_make(&t, 1, 1);
	t.class[0].customers = 0;
	t.class[0].arrivals_per_sec = 5;
	t.service[0][0] = 0.1;
	T_CHECK(!np_qn_percentiles(&t.net, 200000, share, 2, sec, NULL));
	T_CHECK(t_close(sec[0], 0.2 * log(2), 0.03));
	T_CHECK(t_close(sec[1], 0.2 * log(10), 0.03));

	t_network_make(&t, 1, 2);
	t.class[0].customers = 1;
	t.class[0].think_sec = 1;
	t.service[0][0] = t.service[1][0] = 0.1;
	T_CHECK(!np_qn_percentiles(&t.net, 200000, share, 2, sec, NULL));
	for (int i = 0; i < 2; i++) {
		p = 1 - exp(-10 * sec[i]) * (1 + 10 * sec[i]);
		T_CHECK(fabs(p - share[i]) < 0.01);
	}
	/* A class that is 1000 times slower than the other one. */
	t_network_make(&t, 2, 1);
	t.class[0].customers = t.class[1].customers = 1;
	t.class[0].think_sec = 1;
	t.service[0][0] = t.service[0][1] = 0.001;
	T_CHECK(!np_qn_percentiles(&t.net, 1000000, share, 2, both, NULL));
	T_CHECK(both[0] > 0.001 && both[0] < 0.003);

	t_network_make(&t, 1, 2);
	t.station[0].kind = NP_QN_LOADED;
	t.station[0].n_loads = 1;
	t.loads[0][0] = 1;
	T_CHECK(np_qn_percentiles(&t.net, 100, share, 2, sec, NULL) ==
		-ENOTSUP);
}

/*
 * With many stations the median for a single customer is near the exact mean.
 */
T_TEST("with many stations the median is near the mean")
{
	static const double share[] = { 0.5 };
	struct np_qn_solution s;
	struct t_network t;
	double sec[1];

	t_network_make(&t, 1, 3);
	t.class[0].customers = 30;
	t.class[0].think_sec = 4;
	t.visits[2][0] = 2;
	t.service[0][0] = 0.05;
	t.service[1][0] = 0.02;
	t.service[2][0] = 0.15;
	T_CHECK(!np_qn_mva(&t.net, &t_any_cost, &s, NULL));
	T_CHECK(!np_qn_percentiles(&t.net, 100000, share, 1, sec, NULL));
	T_CHECK(t_close(sec[0], s.response_sec[0], 0.03));
	np_qn_solution_free(&s);
}

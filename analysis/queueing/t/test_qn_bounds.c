/* Bounds of throughput. */
#include "t.h"
#include "some_network.h"

T_TEST("throughputs of random networks are within the bounds")
{
	struct np_rng *r = np_rng_new(1, "bounds");
	int inside = 0, apart = 0;

	for (int i = 0; i < 300; i++) {
		struct np_qn_solution s = { 0 };
		struct t_network t;
		double least, most;

		t_network_random(r, i % 2 ? T_ALL_KINDS : T_SERVERS, 1,
				 1 + np_rng_below(r, 60), &t);
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &s, NULL));
		T_CHECK(!np_qn_bounds(&t.net, &least, &most));
		inside += least <= s.x_per_sec[0] * (1 + 1e-12) &&
			  s.x_per_sec[0] <= most * (1 + 1e-12);
		apart += least < 0.99 * most;
		np_qn_solution_free(&s);
	}
	T_CHECK(inside == 300);
	T_CHECK(apart > 100);
	np_rng_free(r);
}

/* Single servers, as in the textbook. */
T_TEST("they are those of textbooks")
{
	struct t_network t;
	double least, most;

	t_network_make(&t, 1, 2);
	t.class[0].customers = 5;
	t.class[0].think_sec = 3;
	t.service[0][0] = 0.5;
	t.service[1][0] = 0.25;
	T_CHECK(!np_qn_bounds(&t.net, &least, &most));
	T_CHECK(t_close(least, 5 / (3.75 + 4 * 0.5), 1e-12));
	T_CHECK(t_close(most, 5 / 3.75, 1e-12));
	t.class[0].customers = 50;
	T_CHECK(!np_qn_bounds(&t.net, &least, &most));
	T_CHECK(most == 2);
	t.class[0].customers = 0;
	T_CHECK(!np_qn_bounds(&t.net, &least, &most));
	T_CHECK(least == 0 && most == 0);
	t.net.n_classes = 2;
	T_CHECK(np_qn_bounds(&t.net, &least, &most) == -ENOTSUP);
}

/* Another customer never lowers the throughput. */
T_TEST("throughput never falls with another customer")
{
	struct np_rng *r = np_rng_new(1, "monotone");

	for (int i = 0; i < 20; i++) {
		struct t_network t;
		double before = 0;

		t_network_random(r, T_SERVERS, 1, 1, &t);
		for (uint64_t n = 1; n < 80; n++) {
			struct np_qn_solution s = { 0 };

			t.class[0].customers = n;
			T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &s,
						   NULL));
			T_CHECK(s.x_per_sec[0] >= before * (1 - 1e-13));
			before = s.x_per_sec[0];
			np_qn_solution_free(&s);
		}
	}
	np_rng_free(r);
}

/* Linearizer and Schweitzer-Bard compared with exact solutions. */
#include "t.h"
#include "some_network.h"

static const struct method {
	const char *name;
	np_qn_method *solve;
	unsigned n_known; /* solutions in the file */
	/* A station may appear slightly above its capacity. */
	double over;
	/* Bounds of the relative error of a throughput. */
	double few, many, servers;
	double steps; /* and the number of iterations that these steps allow */
	const char *stops;
} methods[] = {
	{ "linearizer", np_qn_linearizer, 3, 0.005, 0.005, 1e-4, 0.1, 1800,
	  "linearizer: 600 iterations and mean" },
	{ "schweitzer", np_qn_schweitzer, 5, 1e-9, 0.1, 0.002, 0.15, 1500,
	  "schweitzer: 500 iterations and mean" },
};

T_TEST("reference solutions agree to 1e-7")
{
	T_EACH(r, methods)
		t_network_meets(r->name, r->solve, 1e-7, r->n_known);
}

T_TEST("Little's law, conservation and capacity hold")
{
	T_EACH(r, methods)
		t_network_laws(r->name, r->solve, T_SERVERS, 3, r->over);
}

/* The largest relative error of a throughput over random networks. */
static double worst(const struct method *m, const char *name,
		    np_qn_method *exact, enum t_kinds kinds, size_t n_classes,
		    size_t customers)
{
	struct np_rng *r = np_rng_new(1, name);
	double most = 0;

	for (int i = 0; i < 100; i++) {
		struct np_qn_solution a = { 0 }, b = { 0 };
		struct t_network t;

		t_network_random(r, kinds, n_classes, customers, &t);
		T_CHECK(!exact(&t.net, &t_any_cost, &a, NULL));
		T_ROW(m->name, !m->solve(&t.net, &t_any_cost, &b, NULL));
		for (size_t c = 0; c < n_classes; c++)
			if (a.x_per_sec[c] > 0)
				most = fmax(most, fabs(b.x_per_sec[c] /
							       a.x_per_sec[c] -
						       1));
		np_qn_solution_free(&a);
		np_qn_solution_free(&b);
	}
	np_rng_free(r);
	return most;
}

T_TEST("they are close to the exact solution")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(methods); i++) {
		const struct method *m = &methods[i];
		double one = worst(m, "one", np_qn_mva, T_SIMPLE, 1, 10);
		double three = worst(m, "three", np_qn_mva, T_SIMPLE, 3, 4);
		double many = worst(m, "many", np_qn_mva, T_SIMPLE, 1, 1000);
		double servers = worst(m, "servers", np_qn_convolution,
				       T_SERVERS, 1, 20);

		T_ROW(m->name, one > 0 && one < m->few);
		T_ROW(m->name, three > 0 && three < m->few);
		T_ROW(m->name, many < m->many);
		T_ROW(m->name, servers < m->servers);
	}
}

T_TEST("unsupported networks are rejected with an alternative")
{
	struct t_network t;

	t_network_make(&t, 1, 1);
	t.class[0] = (struct np_qn_class){ "class", 2, 1 };
	t.station[0].kind = NP_QN_LOADED;
	t.station[0].n_loads = 1;
	t.loads[0][0] = 1;
	T_EACH(r, methods) {
		struct np_err err = NP_ERR_INIT;
		struct np_qn_solution s;

		T_ROW(r->name,
		      r->solve(&t.net, &t_any_cost, &s, &err) == -ENOTSUP);
		T_ROW(r->name, strstr(err.text, t_text("station: %s does not",
						       r->name)) &&
				       strstr(err.text, "convolution does"));
	}
}

/* Methods stop when their steps are used up, and report the residual. */
T_TEST("they stop at their limit of steps")
{
	const struct np_qn_cost least = { 1e9, 10 };
	struct t_network t;

	t_network_make(&t, 1, 2);
	t.class[0] = (struct np_qn_class){ "class", 100000, 1 };
	t.service[0][0] = 1;
	t.service[1][0] = 0.999999;
	T_EACH(r, methods) {
		const struct np_qn_cost few = { 1e9, r->steps };
		struct np_err err = NP_ERR_INIT;
		struct np_qn_solution s;

		T_ROW(r->name, r->solve(&t.net, &few, &s, &err) == -ELOOP);
		T_ROW(err.text, strstr(err.text, r->stops) != NULL);
		T_ROW(r->name, r->solve(&t.net, &least, &s, &err) == -E2BIG);
	}
}

T_TEST("they fail where memory does")
{
	T_EACH(r, methods)
		t_network_survives_no_memory(r->solve, T_SERVERS);
}

#include "t.h"
#include "np_queue.h"
#include "some_record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static void test_reference_values(void)
{
	FILE *f = fopen(t_data("pollaczek-khinchine.txt"), "r");
	char line[200];
	int rows = 0;

	T_CHECK(!!f);
	while (f && fgets(line, sizeof(line), f)) {
		struct np_service s = { 0 };
		struct np_load load;
		double w, rho;

		if (sscanf(line, "%lf %lf %lf %lf", &s.mu_per_sec, &s.var_sec2,
			   &w, &rho) != 4)
			continue;
		rows++;
		T_ROW(line, np_queue_load(&s, w, &load, NULL) == 0);
		T_ROW(line, t_close(load.rho, rho, 1e-12));
		T_ROW(line, t_close(load.spare, 1 - rho, 1e-9));
		T_ROW(line, t_close(load.per_sec, rho * s.mu_per_sec, 1e-12));
	}
	if (f)
		fclose(f);
	T_CHECK(rows == 36);
}

static double fixed(struct t_rng *g)
{
	(void)g;
	return 1.25;
}

static double exponential(struct t_rng *g)
{
	return -1.25 * log(1 - t_uniform(g));
}

static double shifted(struct t_rng *g)
{
	return 0.9 - 0.35 * log(1 - t_uniform(g));
}

static double two_sizes(struct t_rng *g)
{
	return -(t_uniform(g) < 0.9 ? 0.6 : 6.0) * log(1 - t_uniform(g));
}

static const struct {
	const char *name;
	double (*service)(struct t_rng *g);
	double rho;
} queues[] = {
	{ "fixed service, light load",       fixed,       0.10 },
	{ "fixed service, half",             fixed,       0.50 },
	{ "fixed service, heavy load",       fixed,       0.80 },
	{ "exponential service, light load", exponential, 0.10 },
	{ "exponential service, half",       exponential, 0.50 },
	{ "exponential service, heavy load", exponential, 0.80 },
	{ "shifted exponential, half",       shifted,     0.50 },
	{ "shifted exponential, nearly full", shifted,    0.92 },
	{ "short and long packets, half",    two_sizes,   0.50 },
};

/* A queue with one server, customer by customer (Lindley). */
static void test_simulated_queues(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(queues); i++) {
		struct np_moments idle = { 0 }, busy = { 0 };
		struct t_rng g = { 42 + i };
		struct np_service s;
		struct np_load load;
		double mean = 0, wait = 0;

		for (int k = 0; k < 100000; k++)
			np_moments_add(&idle, queues[i].service(&g));
		mean = idle.mean;
		for (int k = 0; k < 1000000; k++) {
			double service = queues[i].service(&g);

			np_moments_add(&busy, wait + service);
			wait += service + log(1 - t_uniform(&g)) * mean /
					  queues[i].rho;
			wait = fmax(wait, 0);
		}
		T_CHECK(np_queue_service(&idle, NP_MU_MEAN, &s, NULL) == 0);
		T_CHECK(np_queue_load(&s, busy.mean, &load, NULL) == 0);
		T_ROW(queues[i].name, fabs(load.rho - queues[i].rho) < 0.01);
	}
}

static void test_saturation_keeps_its_digits(void)
{
	const struct np_service s = { 1e5, 1e-10, false };
	struct np_load a, b;

	T_CHECK(np_queue_load(&s, 1e12, &a, NULL) == 0);
	T_CHECK(np_queue_load(&s, 2e12, &b, NULL) == 0);
	T_CHECK(a.spare > 0 && t_close(a.spare / b.spare, 2, 1e-9));
	T_CHECK(t_close(a.spare, 2 / (2 * 1e17), 1e-9)); /* (1 + c2) / 2x */
}

/* The formula itself: the mean latency at load rho, seconds. */
static double latency_at(const struct np_service *s, double rho)
{
	double c2 = s->mu_per_sec * s->mu_per_sec * s->var_sec2;

	return (1 + rho * (1 + c2) / (2 * (1 - rho))) / s->mu_per_sec;
}

static void test_formula_and_inverse_agree(void)
{
	const struct np_service s = { 8e5, 3e-13, false };

	for (double rho = 0; rho < 1; rho += 0.01) {
		struct np_load load;

		T_CHECK(np_queue_load(&s, latency_at(&s, rho), &load,
				      NULL) == 0);
		T_CHECK(fabs(load.rho - rho) < 1e-9);
	}
}

static void test_mean_or_minimum_of_idle(void)
{
	struct np_moments idle = { 0 };
	struct np_service mean, min;
	struct np_load load;

	for (int i = 0; i < 100; i++)
		np_moments_add(&idle, i % 2 ? 1e-6 : 1.5e-6);
	T_CHECK(np_queue_service(&idle, NP_MU_MEAN, &mean, NULL) == 0);
	T_CHECK(np_queue_service(&idle, NP_MU_MIN, &min, NULL) == 0);
	T_CHECK(t_close(mean.mu_per_sec, 8e5, 1e-12));
	T_CHECK(t_close(min.mu_per_sec, 1e6, 1e-12));
	T_CHECK(np_queue_load(&mean, idle.mean, &load, NULL) == 0);
	T_CHECK(load.rho < 1e-9 && load.spare > 0.999999);
	T_CHECK(np_queue_load(&min, idle.mean, &load, NULL) == 0);
	T_CHECK(load.rho > 0.2); /* the floor of the published variant */
}

static const struct {
	const char *name;
	struct np_moments idle;
	int rc;
	double var;
} services[] = {
	{ "no samples",        { 0 },                            -EINVAL, 0 },
	{ "one sample",        { 1, 1e-6, 0, 1e-6, 1e-6 },       0, 0 },
	{ "all equal",         { 9, 1e-6, 0, 1e-6, 1e-6 },       0, 0 },
	{ "two values",        { 2, 2e-6, 2e-12, 1e-6, 3e-6 },   0, 2e-12 },
	{ "a latency of zero", { 2, 1e-6, 2e-12, 0, 2e-6 },      -EINVAL, 0 },
	{ "negative",          { 2, -1e-6, 0, -1e-6, -1e-6 },    -EINVAL, 0 },
	{ "negative variance", { 2, 2e-6, -2e-12, 1e-6, 3e-6 },  -EINVAL, 0 },
	{ "not a number",      { 2, NAN, 0, 1e-6, 3e-6 },        -EINVAL, 0 },
	{ "infinite",          { 2, 2e-6, 0, 1e-6, INFINITY },   -EINVAL, 0 },
};

static void test_services(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(services); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_service s = { -1, -1, false };
		int rc = np_queue_service(&services[i].idle, NP_MU_MEAN, &s,
					  &err);

		T_ROW(services[i].name, rc == services[i].rc);
		T_ROW(services[i].name, !rc == !err.text[0]);
		if (rc) {
			T_ROW(services[i].name, s.mu_per_sec == -1);
			continue;
		}
		T_ROW(services[i].name,
		      t_close(s.var_sec2, services[i].var, 1e-12));
		T_ROW(services[i].name,
		      s.one_sample == (services[i].idle.n == 1));
	}
}

static const struct {
	const char *name;
	struct np_service s;
	double w;
	int rc;
} loads[] = {
	{ "as fast as idle",       { 1e6, 0 },        1e-6,     0 },
	{ "faster than idle",      { 1e6, 0 },        0.5e-6,   0 },
	{ "zero latency",          { 1e6, 0 },        0,        -EINVAL },
	{ "negative latency",      { 1e6, 0 },        -1e-6,    -EINVAL },
	{ "latency not a number",  { 1e6, 0 },        NAN,      -EINVAL },
	{ "infinite latency",      { 1e6, 0 },        INFINITY, -EINVAL },
	{ "no service",            { 0, 0 },          1e-6,     -EINVAL },
	{ "infinite service",      { INFINITY, 0 },   1e-6,     -EINVAL },
	{ "negative variance",     { 1e6, -1e-12 },   1e-6,     -EINVAL },
	{ "variance not a number", { 1e6, NAN },      1e-6,     -EINVAL },
};

static void test_degenerate_loads(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(loads); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_load load = { -1, -1, -1 };
		int rc = np_queue_load(&loads[i].s, loads[i].w, &load, &err);

		T_ROW(loads[i].name, rc == loads[i].rc);
		T_ROW(loads[i].name, !rc == !err.text[0]);
		T_ROW(loads[i].name, load.rho == (rc ? -1 : 0));
		T_ROW(loads[i].name, load.spare == (rc ? -1 : 1));
	}
}

static const struct t_case cases[] = {
	{ "the published formula's reference values", test_reference_values },
	{ "simulated queues are recovered within a point",
	  test_simulated_queues },
	{ "near saturation what is spare keeps its digits",
	  test_saturation_keeps_its_digits },
	{ "formula and inverse agree", test_formula_and_inverse_agree },
	{ "idle is idle by its mean, busy by its minimum",
	  test_mean_or_minimum_of_idle },
	{ "an idle run that says nothing is refused", test_services },
	{ "degenerate latencies have defined answers", test_degenerate_loads },
	{ NULL, NULL },
};
T_SUITE(queue, cases)

#include "t.h"
#include "np_queue.h"
#include "some_record.h"

T_TEST("the published formula's reference values")
{
	FILE *f = fopen(t_data("pollaczek-khinchine.txt"), "r");
	char line[200];
	int rows = 0;

	T_CHECK(!!f);
	while (f && fgets(line, sizeof(line), f)) {
		struct np_service s = { 0 };
		double w, utilisation, got;

		if (sscanf(line, "%lf %lf %lf %lf", &s.mu_per_sec, &s.var_sec2,
			   &w, &utilisation) != 4)
			continue;
		rows++;
		T_ROW(line, np_queue_utilisation(&s, w, &got, NULL) == 0);
		T_ROW(line, t_close(got, utilisation, 1e-12));
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

/* clang-format off */
static const struct {
	const char *name;
	double (*service)(struct t_rng *g);
	double utilisation;
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
/* clang-format on */

/* A queue with one server, customer by customer (Lindley). */
T_TEST("simulated queues are recovered within a point")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(queues); i++) {
		struct np_moments idle = { 0 }, busy = { 0 };
		struct t_rng g = { 42 + i };
		struct np_service s;
		double mean = 0, wait = 0, utilisation;

		for (int k = 0; k < 100000; k++)
			np_moments_add(&idle, queues[i].service(&g));
		mean = idle.mean;
		for (int k = 0; k < 1000000; k++) {
			double service = queues[i].service(&g);

			np_moments_add(&busy, wait + service);
			wait += service + log(1 - t_uniform(&g)) * mean /
						  queues[i].utilisation;
			wait = fmax(wait, 0);
		}
		T_CHECK(np_queue_service(&idle, &s) == 0);
		T_CHECK(np_queue_utilisation(&s, busy.mean, &utilisation,
					     NULL) == 0);
		T_ROW(queues[i].name,
		      fabs(utilisation - queues[i].utilisation) < 0.01);
	}
}

T_TEST("near saturation what is spare falls with the latency")
{
	const struct np_service s = { 1e5, 1e-10 };
	double a, b;

	T_CHECK(np_queue_utilisation(&s, 1e2, &a, NULL) == 0);
	T_CHECK(np_queue_utilisation(&s, 2e2, &b, NULL) == 0);
	T_CHECK(a < b && t_close((1 - a) / (1 - b), 2, 1e-6));
	T_CHECK(t_close(1 - a, 2 / (2 * 1e7), 1e-6)); /* (1 + c2) / 2x */
	T_CHECK(np_queue_utilisation(&s, 1e12, &a, NULL) == 0 && a <= 1);
}

/* The formula itself: the mean latency at load rho, seconds. */
static double latency_at(const struct np_service *s, double utilisation)
{
	double c2 = s->mu_per_sec * s->mu_per_sec * s->var_sec2;

	return (1 + utilisation * (1 + c2) / (2 * (1 - utilisation))) /
	       s->mu_per_sec;
}

T_TEST("formula and inverse agree")
{
	const struct np_service s = { 8e5, 3e-13 };

	for (double utilisation = 0; utilisation < 1; utilisation += 0.01) {
		double got;

		T_CHECK(np_queue_utilisation(&s, latency_at(&s, utilisation),
					     &got, NULL) == 0);
		T_CHECK(fabs(got - utilisation) < 1e-9);
	}
}

/* clang-format off */
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
/* clang-format on */

T_TEST("an idle run that says nothing is refused")
{
	T_EACH(r, services) {
		struct np_service s = { -1, -1 };
		int rc = np_queue_service(&r->idle, &s);

		T_ROW(r->name, rc == r->rc);
		if (rc) {
			T_ROW(r->name, s.mu_per_sec == -1);
			continue;
		}
		T_ROW(r->name, t_close(s.var_sec2, r->var, 1e-12));
	}
}

/* clang-format off */
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
/* clang-format on */

T_TEST("degenerate latencies have defined answers")
{
	T_EACH(r, loads) {
		struct np_err err = NP_ERR_INIT;
		double utilisation = -1;
		int rc = np_queue_utilisation(&r->s, r->w, &utilisation, &err);

		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, !rc == !err.text[0]);
		T_ROW(r->name, utilisation == (rc ? -1 : 0));
	}
}

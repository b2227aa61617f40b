#include "some_network.h"

#include "t.h"
#include "alloc.h"

const struct np_qn_cost t_any_cost = { 1e12, 1e15 };

void t_network_make(struct t_network *t, size_t n_classes, size_t n_stations)
{
	memset(t, 0, sizeof(*t));
	t->net = (struct np_qn){ t->station, n_stations, t->class, n_classes };
	for (size_t c = 0; c < n_classes; c++)
		t->class[c].name = "class";
	for (size_t k = 0; k < n_stations; k++) {
		t->station[k] = (struct np_qn_station){
			.name = "station",
			.servers = 1,
			.visits = t->visits[k],
			.service_sec = t->service[k],
			.at_load_sec = t->loads[k],
		};
		for (size_t c = 0; c < n_classes; c++)
			t->visits[k][c] = 1;
	}
}

static int next_loaded(FILE *f, struct t_network *t, size_t k, size_t n)
{
	int ok = n <= T_LOADS &&
		 fscanf(f, "%lf %lf", &t->visits[k][0], &t->present[k][0]) == 2;

	t->busy[k][0] = -1;
	t->station[k].kind = NP_QN_LOADED;
	t->station[k].n_loads = n;
	for (size_t i = 0; ok && i < n; i++)
		ok = fscanf(f, "%lf", &t->loads[k][i]) == 1;
	return ok;
}

static int next_station(FILE *f, struct t_network *t, size_t k)
{
	char kind[16];
	size_t n;
	int ok = fscanf(f, " %15s %zu", kind, &n) == 2;

	if (ok && !strcmp(kind, "loaded"))
		return next_loaded(f, t, k, n);
	t->station[k].kind = ok && !strcmp(kind, "delay") ? NP_QN_DELAY :
							    NP_QN_QUEUE;
	t->station[k].servers = (uint32_t)n;
	for (size_t c = 0; ok && c < t->net.n_classes; c++)
		ok = fscanf(f, "%lf %lf %lf %lf", &t->visits[k][c],
			    &t->service[k][c], &t->present[k][c],
			    &t->busy[k][c]) == 4;
	return ok;
}

int t_network_next(FILE *f, struct t_network *t)
{
	char line[128], name[64], method[16];
	size_t classes, stations;
	int ok;

	do
		if (!fgets(line, sizeof(line), f))
			return 0;
	while (sscanf(line, "network %63s %15s %zu %zu", name, method, &classes,
		      &stations) != 4);
	ok = classes <= T_CLASSES && stations <= T_STATIONS;
	if (ok)
		t_network_make(t, classes, stations);
	for (size_t c = 0; ok && c < classes; c++)
		ok = fscanf(f, " class %lu %lf %lf", &t->class[c].customers,
			    &t->class[c].think_sec, &t->x[c]) == 3;
	for (size_t k = 0; ok && k < stations; k++)
		ok = next_station(f, t, k);
	T_ROW(name, ok);
	strcpy(t->name, name);
	strcpy(t->method, method);
	return ok;
}

/* 1e-4 .. 1 s, uniform in the logarithm. */
static double random_sec(struct np_rng *r)
{
	return pow(10, -4 * (double)np_rng_below(r, 1000) / 1000);
}

static void random_loads(struct np_rng *r, struct t_network *t, size_t k)
{
	t->station[k].kind = NP_QN_LOADED;
	t->station[k].n_loads = 1 + np_rng_below(r, T_LOADS);
	for (size_t i = 0; i < t->station[k].n_loads; i++)
		t->loads[k][i] = random_sec(r);
}

void t_network_random(struct np_rng *r, enum t_kinds kinds, size_t n_classes,
		      size_t customers, struct t_network *t)
{
	t_network_make(t, n_classes, 1 + np_rng_below(r, T_STATIONS));
	for (size_t c = 0; c < n_classes; c++) {
		t->class[c].customers =
			n_classes > 1 && !np_rng_below(r, 8) ? 0 : customers;
		t->class[c].think_sec =
			np_rng_below(r, 3) ? 10 * random_sec(r) : 1e-3;
	}
	for (size_t k = 0; k < t->net.n_stations; k++) {
		if (!np_rng_below(r, 5))
			t->station[k].kind = NP_QN_DELAY;
		else if (kinds >= T_SERVERS && np_rng_below(r, 2))
			t->station[k].servers =
				1 + (uint32_t)np_rng_below(r, 40);
		else if (kinds == T_ALL_KINDS && np_rng_below(r, 2))
			random_loads(r, t, k);
		for (size_t c = 0; c < n_classes; c++) {
			t->service[k][c] = random_sec(r);
			t->visits[k][c] = (double)np_rng_below(r, 4);
		}
	}
}

void t_network_split(struct t_network *t, uint64_t customers)
{
	t->net.n_classes = 2;
	t->class[1] = t->class[0];
	t->class[0].customers -= customers;
	t->class[1].customers = customers;
	for (size_t k = 0; k < t->net.n_stations; k++) {
		t->visits[k][1] = t->visits[k][0];
		t->service[k][1] = t->service[k][0];
	}
}

int t_network_conserves(const struct np_qn *net, const struct np_qn_solution *s,
			double rel)
{
	for (size_t c = 0; c < net->n_classes; c++) {
		double n = (double)net->class[c].customers;
		double all = s->x_per_sec[c] * net->class[c].think_sec;

		for (size_t k = 0; k < net->n_stations; k++) {
			size_t i = c * net->n_stations + k;

			all += s->present[i];
			if (!t_close(s->present[i],
				     s->x_per_sec[c] * s->residence_sec[i],
				     1e-12))
				return 0;
		}
		if (!(fabs(all - n) <= rel * n))
			return 0;
	}
	return 1;
}

/* Whether a value agrees, if it is given. */
static int meets(double got, double want, double rel)
{
	return want == -1 || fabs(got - want) <= rel * fmax(1e-3, fabs(want));
}

static int meets_all(const struct t_network *t, const struct np_qn_solution *s,
		     double rel)
{
	int ok = 1;

	for (size_t c = 0; c < t->net.n_classes; c++) {
		ok = ok && meets(s->x_per_sec[c], t->x[c], rel);
		for (size_t k = 0; ok && k < t->net.n_stations; k++) {
			size_t i = c * t->net.n_stations + k;

			ok = meets(s->present[i], t->present[k][c], rel) &&
			     meets(s->utilisation[i], t->busy[k][c], rel);
		}
	}
	return ok;
}

void t_network_meets(const char *method, np_qn_method *solve, double rel,
		     unsigned n_wanted)
{
	FILE *f = fopen(t_data("queueing-networks.txt"), "r");
	struct np_qn_solution s;
	struct t_network t;
	unsigned n = 0;

	while (f && t_network_next(f, &t)) {
		int rc;

		if (strcmp(t.method, method))
			continue;
		rc = solve(&t.net, &t_any_cost, &s, NULL);
		if (rc == -ENOTSUP)
			continue;
		T_ROW(t.name, !rc && meets_all(&t, &s, rel));
		T_ROW(t.name, t_network_conserves(&t.net, &s, 1e-9));
		n++;
		np_qn_solution_free(&s);
	}
	T_CHECK(n == n_wanted);
	if (f)
		fclose(f);
}

/* No server is busy for more than all of the time. */
static int within_capacity(const struct np_qn *net,
			   const struct np_qn_solution *s, double over)
{
	for (size_t k = 0; k < net->n_stations; k++) {
		double busy = 0;

		for (size_t c = 0; c < net->n_classes; c++)
			busy += s->utilisation[c * net->n_stations + k];
		if (net->station[k].kind != NP_QN_DELAY && busy > 1 + over)
			return 0;
	}
	return 1;
}

void t_network_laws(const char *name, np_qn_method *solve, enum t_kinds kinds,
		    size_t n_classes, double over)
{
	struct np_rng *r = np_rng_new(1, name);
	int good = 0;

	for (int i = 0; i < 100; i++) {
		struct np_qn_solution s = { 0 };
		struct t_network t;

		t_network_random(r, kinds, n_classes,
				 1 + np_rng_below(r, n_classes > 2 ? 4 : 30),
				 &t);
		good += !solve(&t.net, &t_any_cost, &s, NULL) &&
			t_network_conserves(&t.net, &s, 1e-9) &&
			within_capacity(&t.net, &s, over);
		np_qn_solution_free(&s);
	}
	T_ROW(name, good == 100);
	np_rng_free(r);
}

void t_network_survives_no_memory(np_qn_method *solve, enum t_kinds kinds)
{
	struct np_rng *r = np_rng_new(3, "memory");
	struct np_qn_solution s;
	struct t_network t;
	int failures = 0;

	do
		t_network_random(r, kinds, 1, 5, &t);
	while (t.net.n_stations < 5);
	for (long nth = 0;; nth++) {
		struct np_err err = NP_ERR_INIT;
		int rc;

		t_alloc_fail(nth);
		rc = solve(&t.net, &t_any_cost, &s, &err);
		if (!t_alloc_failed()) {
			T_CHECK(!rc);
			break;
		}
		T_CHECK(rc == -ENOMEM && strstr(err.text, "no memory"));
		failures++;
	}
	T_CHECK(failures >= 4);
	np_qn_solution_free(&s);
	np_rng_free(r);
}

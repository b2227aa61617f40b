/* Convolution with several classes. */
#include "t.h"
#include "some_network.h"

T_TEST("Little's law, conservation and capacity hold")
{
	t_network_laws("two classes, all kinds of stations", np_qn_convolution,
		       T_ALL_KINDS, 2, 1e-9);
	t_network_laws("four classes, all kinds of stations", np_qn_convolution,
		       T_ALL_KINDS, 4, 1e-9);
}

/* Whether all results of class a of one equal those of class b of the other. */
static int same(const struct np_qn_solution *one, size_t a,
		const struct np_qn_solution *other, size_t b)
{
	int ok = t_close(one->x_per_sec[a], other->x_per_sec[b], 1e-10) &&
		 t_close(one->response_sec[a], other->response_sec[b], 1e-9);

	for (size_t k = 0; k < one->n_stations; k++) {
		size_t i = a * one->n_stations + k;
		size_t j = b * one->n_stations + k;

		ok = ok && fabs(one->present[i] - other->present[j]) < 1e-9 &&
		     fabs(one->utilisation[i] - other->utilisation[j]) < 1e-9;
	}
	return ok;
}

T_TEST("simple networks agree with mean value analysis")
{
	struct np_rng *r = np_rng_new(1, "classes");

	for (int i = 0; i < 50; i++) {
		struct np_qn_solution a = { 0 }, b = { 0 };
		struct t_network t;

		t_network_random(r, T_SIMPLE, 3, 1 + np_rng_below(r, 8), &t);
		T_CHECK(!np_qn_mva(&t.net, &t_any_cost, &a, NULL));
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &b, NULL));
		for (size_t c = 0; c < 3; c++)
			T_CHECK(same(&a, c, &b, c));
		np_qn_solution_free(&a);
		np_qn_solution_free(&b);
	}
	np_rng_free(r);
}

/* Alone, and as the second of two classes, of which the first is empty. */
T_TEST("an empty class has no effect on the other")
{
	struct np_rng *r = np_rng_new(1, "one");

	for (int i = 0; i < 100; i++) {
		struct np_qn_solution a = { 0 }, b = { 0 };
		struct t_network t;

		t_network_random(r, T_ALL_KINDS, 1, 1 + np_rng_below(r, 80),
				 &t);
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &a, NULL));
		t_network_split(&t, t.class[0].customers);
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &b, NULL));
		T_CHECK(same(&a, 0, &b, 1));
		np_qn_solution_free(&a);
		np_qn_solution_free(&b);
	}
	np_rng_free(r);
}

/*
 * The parts of a class add up to the class, each in proportion to its
 * customers.
 */
static int adds_up(const struct np_qn_solution *one,
		   const struct np_qn_solution *two, double share)
{
	size_t stations = one->n_stations;
	int ok = t_close(two->x_per_sec[1], one->x_per_sec[0] * share, 1e-10);

	for (size_t k = 0; k < stations; k++) {
		double all = two->present[k] + two->present[stations + k];
		double busy =
			two->utilisation[k] + two->utilisation[stations + k];

		ok = ok && fabs(all - one->present[k]) < 1e-9 &&
		     fabs(two->present[stations + k] - share * all) < 1e-9 &&
		     fabs(busy - one->utilisation[k]) < 1e-9;
	}
	return ok;
}

T_TEST("the parts of a class add up to the class")
{
	struct np_rng *r = np_rng_new(1, "split");

	for (int i = 0; i < 50; i++) {
		uint64_t n = 1 + np_rng_below(r, 40);
		uint64_t part = np_rng_below(r, n + 1);
		struct np_qn_solution a = { 0 }, b = { 0 };
		struct t_network t;

		t_network_random(r, T_ALL_KINDS, 1, n, &t);
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &a, NULL));
		t_network_split(&t, part);
		T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &b, NULL));
		T_CHECK(adds_up(&a, &b, (double)part / (double)n));
		np_qn_solution_free(&a);
		np_qn_solution_free(&b);
	}
	np_rng_free(r);
}

/*
 * The Markov chain of the network: two classes of two customers share three
 * stations, and each customer moves from any place to the next one as often as
 * that is visited. A state is the place of each of the four customers; place 3
 * is thinking.
 */
#define PLACES 4
#define STATES 256 /* PLACES^4 */

static size_t place_of(size_t state, size_t customer)
{
	return state >> 2 * customer & 3;
}

/* Rate at which a customer of class c leaves its place: processor sharing. */
static double rate(const struct t_network *t, size_t state, size_t customer)
{
	size_t c = customer / 2, k = place_of(state, customer), here = 0;
	const struct np_qn_station *st = &t->station[k];

	if (k == PLACES - 1)
		return 1 / t->class[c].think_sec;
	for (size_t i = 0; i < 4; i++)
		here += place_of(state, i) == k;
	if (st->kind == NP_QN_LOADED)
		return 1 / (double)here /
		       t->loads[k][here <= st->n_loads ? here - 1 :
							 st->n_loads - 1];
	return fmin(1, st->servers / (double)here) / t->service[k][c];
}

/* Probability of each next place, whatever the current one. */
static double chance(const struct t_network *t, size_t c, size_t place)
{
	double all = 1;

	for (size_t k = 0; k < PLACES - 1; k++)
		all += t->visits[k][c];
	return (place == PLACES - 1 ? 1 : t->visits[place][c]) / all;
}

/*
 * Iterates the state probabilities over short times until they are stationary.
 */
static void settle(const struct t_network *t, double *p)
{
	const double step_sec = 0.02;
	double change = 1;

	for (size_t s = 0; s < STATES; s++)
		p[s] = 1. / STATES;
	while (change > 1e-15) {
		double q[STATES] = { 0 };

		for (size_t s = 0; s < STATES; s++) {
			q[s] += p[s];
			for (size_t i = 0; i < 4; i++) {
				double go = p[s] * step_sec * rate(t, s, i);

				q[s] -= go;
				for (size_t k = 0; k < PLACES; k++)
					q[(s & ~((size_t)3 << 2 * i)) |
					  k << 2 * i] +=
						go * chance(t, i / 2, k);
			}
		}
		change = 0;
		for (size_t s = 0; s < STATES; s++) {
			change = fmax(change, fabs(p[s] - q[s]));
			p[s] = q[s];
		}
	}
}

static void chain_network(struct t_network *t)
{
	const double service[3][2] = { { 0.4, 0.9 }, { 0.7, 0.3 }, { 1, 1 } };
	const double visits[3][2] = { { 1, 2 }, { 1.5, 0.5 }, { 0.5, 1 } };

	t_network_make(t, 2, 3);
	t->class[0].customers = t->class[1].customers = 2;
	t->class[0].think_sec = 0.6;
	t->class[1].think_sec = 0.25;
	for (size_t k = 0; k < 3; k++)
		for (size_t c = 0; c < 2; c++) {
			t->visits[k][c] = visits[k][c];
			t->service[k][c] = service[k][c];
		}
	t->station[0].servers = 2;
	t->station[2].kind = NP_QN_LOADED;
	t->station[2].n_loads = 3;
	t->loads[2][0] = 0.5;
	t->loads[2][1] = 0.2;
	t->loads[2][2] = 0.8;
}

T_TEST("results agree with the Markov chain to 1e-9")
{
	double p[STATES], present[PLACES][2] = { { 0 } }, busy[2] = { 0 };
	struct np_qn_solution s;
	struct t_network t;

	chain_network(&t);
	settle(&t, p);
	for (size_t state = 0; state < STATES; state++) {
		double there = 0;

		for (size_t i = 0; i < 4; i++) {
			present[place_of(state, i)][i / 2] += p[state];
			there += place_of(state, i) == 2;
		}
		for (size_t i = 0; i < 4; i++)
			if (place_of(state, i) == 2)
				busy[i / 2] += p[state] / there;
	}
	T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &s, NULL));
	for (size_t c = 0; c < 2; c++) {
		T_CHECK(t_close(s.x_per_sec[c],
				present[PLACES - 1][c] / t.class[c].think_sec,
				1e-9));
		for (size_t k = 0; k < 3; k++)
			T_CHECK(t_close(s.present[c * 3 + k], present[k][c],
					1e-9));
		T_CHECK(t_close(s.utilisation[c * 3 + 2], busy[c], 1e-9));
	}
	np_qn_solution_free(&s);
}

/* Above the approximation by Linearizer, which is close. */
T_TEST("several servers are near linearizer's")
{
	struct np_qn_solution a, b;
	struct t_network t;

	chain_network(&t);
	t.station[2].kind = NP_QN_DELAY;
	t.class[0].customers = t.class[1].customers = 20;
	T_CHECK(!np_qn_convolution(&t.net, &t_any_cost, &a, NULL));
	T_CHECK(!np_qn_linearizer(&t.net, &t_any_cost, &b, NULL));
	for (size_t c = 0; c < 2; c++)
		T_CHECK(t_close(a.x_per_sec[c], b.x_per_sec[c], 0.02) &&
			!t_close(a.x_per_sec[c], b.x_per_sec[c], 1e-6));
	np_qn_solution_free(&a);
	np_qn_solution_free(&b);
}

T_TEST("memory and time are checked in advance")
{
	const struct np_qn_cost little = { 1e5, 1e15 }, quick = { 1e9, 1e4 };
	struct np_err err = NP_ERR_INIT;
	struct np_qn_solution s;
	struct t_network t;

	chain_network(&t);
	t.class[0].customers = t.class[1].customers = 99;
	T_CHECK(np_qn_convolution(&t.net, &little, &s, &err) == -E2BIG);
	T_CHECK(strstr(err.text, "B of memory, more than 100 kB; no approxi"));
	t.station[2].kind = NP_QN_DELAY;
	T_CHECK(np_qn_convolution(&t.net, &little, &s, &err) == -E2BIG);
	T_CHECK(strstr(err.text, "convolution would take 48") &&
		strstr(err.text, "; linearizer takes little"));
	T_CHECK(np_qn_convolution(&t.net, &quick, &s, &err) == -E2BIG);
	T_CHECK(strstr(err.text, "steps, more than 1e+04"));
	for (size_t c = 0; c < 2; c++)
		t.class[c].customers = NP_QN_MAX_CUSTOMERS;
	T_CHECK(np_qn_convolution(&t.net, &t_any_cost, &s, &err) == -E2BIG);
}

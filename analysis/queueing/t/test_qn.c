/* Descriptions of networks: what is rejected, and the meaning of visits. */
#include "t.h"
#include "some_network.h"

/* clang-format off */
static void no_class(struct t_network *t) { t->net.n_classes = 0; }
static void classes(struct t_network *t) { t->net.n_classes = 65; }
static void stations(struct t_network *t) { t->net.n_stations = 1025; }
static void nobody_serves(struct t_network *t) { t->station[0].servers = 0; }
static void crowd(struct t_network *t) { t->class[0].customers = 1000000001; }
static void hasty(struct t_network *t) { t->class[0].think_sec = -1; }
static void aimless(struct t_network *t) { t->class[0].think_sec = NAN; }
static void negative(struct t_network *t) { t->service[0][0] = -0.1; }
static void endless(struct t_network *t) { t->service[1][0] = INFINITY; }
static void unborn(struct t_network *t) { t->visits[1][0] = -1; }
/* clang-format on */

static void tiny(struct t_network *t)
{
	t->service[0][0] = t->visits[0][0] = 1e-10;
}

static void at_once(struct t_network *t)
{
	t->service[0][0] = t->service[1][0] = 0;
}

static void nowhere(struct t_network *t)
{
	t->net.n_stations = 0;
}

static void at_no_load(struct t_network *t)
{
	t->station[0].kind = NP_QN_LOADED;
}

static void free_at_two(struct t_network *t)
{
	t->station[0].kind = NP_QN_LOADED;
	t->station[0].n_loads = 2;
	t->loads[0][0] = 1;
}

static const struct {
	const char *name;
	void (*spoil)(struct t_network *);
	const char *said;
} refused[] = {
	{ "no class", no_class, "0 classes, expected 1 to" },
	{ "too many classes", classes, "65 classes, expected" },
	{ "too many stations", stations, "1025 stations, expected at most" },
	{ "no server", nobody_serves, "station: 0 servers, expected 1 to" },
	{ "too many customers", crowd, "class: 1000000001 customers" },
	{ "negative think time", hasty, "class: think time -1, expected" },
	{ "think time not a number", aimless, "class: think time nan" },
	{ "negative service time", negative, "station: service time -0.1" },
	{ "service that never ends", endless, "service time inf" },
	{ "negative visits", unborn, "visits -1" },
	{ "a demand too small to compute with", tiny, "demand 1e-20" },
	{ "no demand and no think time", at_once, "throughput is infinite" },
	{ "no station and no think time", nowhere, "throughput is infinite" },
	{ "no load", at_no_load, "service times of 0 loads" },
	{ "service of 0 at some load", free_at_two,
	  "service time 0 with 2 customers, expected more than 0" },
};

static np_qn_method *const methods[] = {
	np_qn_mva,
	np_qn_convolution,
	np_qn_schweitzer,
	np_qn_linearizer,
};

static void make(struct t_network *t)
{
	t_network_make(t, 1, 2);
	t->class[0].customers = 3;
	t->service[0][0] = t->service[1][0] = 1;
}

T_TEST("impossible networks are refused by name and value")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_qn_solution s;
		struct t_network t;

		make(&t);
		T_ROW(r->name, !np_qn_check(&t.net, &err));
		r->spoil(&t);
		T_ROW(r->name, np_qn_check(&t.net, &err) == -EINVAL);
		T_ROW(r->name, strstr(err.text, r->said));
		for (size_t m = 0; m < NP_ARRAY_SIZE(methods); m++)
			T_ROW(r->name, methods[m](&t.net, &t_any_cost, &s,
						  NULL) == -EINVAL);
	}
}

/* Without customers all results are 0, whatever the network. */
T_TEST("without customers all is 0")
{
	for (size_t m = 0; m < NP_ARRAY_SIZE(methods); m++) {
		struct np_qn_solution s;
		struct t_network t;

		make(&t);
		t.class[0].customers = 0;
		at_once(&t);
		T_CHECK(!methods[m](&t.net, &t_any_cost, &s, NULL));
		T_CHECK(s.x_per_sec[0] == 0 && s.response_sec[0] == 0);
		T_CHECK(s.present[0] == 0 && s.present[1] == 0);
		T_CHECK(s.residence_sec[0] == 0 && s.utilisation[0] == 0);
		np_qn_solution_free(&s);
	}
}

/* A station without visits has no customers. */
T_TEST("a station without visits has no customers")
{
	struct np_qn_solution s;
	struct t_network t;

	make(&t);
	t.visits[0][0] = 4;
	t.visits[1][0] = 0;
	T_CHECK(!np_qn_mva(&t.net, &t_any_cost, &s, NULL));
	/* At each of 4 visits the other two customers are ahead. */
	T_CHECK(t_close(s.residence_sec[0], 4 * 3, 1e-12));
	T_CHECK(s.residence_sec[1] == 0 && s.utilisation[1] == 0);
	np_qn_solution_free(&s);
}

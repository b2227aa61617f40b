#include "t.h"
#include "published.h"

#include "np_rng.h"

#define NODES 16
#define MOST 12

static const struct np_sharing_param defaults = NP_SHARING_DEFAULTS;
static const char *const name_of[T_N_MODELS] = {
	[GIGE] = "gige",
	[MYRINET] = "myrinet",
	[INFINIBAND] = "infiniband",
	[MAXMIN] = "maxmin",
};

static const struct np_sharing_model *model(int m)
{
	return np_sharing_find(name_of[m], NULL);
}

/* Relative to the value, which is at least 1. */
static int same(const double *got, const double *want, size_t n, double rel)
{
	for (size_t i = 0; i < n; i++)
		if (!t_close(got[i], want[i], rel))
			return 0;
	return 1;
}

T_TEST("published penalties, all models")
{
	double got[T_COMMS];

	for (const struct t_published *p = t_published; p->name; p++)
		for (int m = 0; m < T_N_MODELS; m++) {
			memset(got, 0, sizeof(got));
			T_ROW(p->name,
			      !np_sharing_static(model(m), &defaults, p->c,
						 p->n, NODES, got, NULL));
			T_ROW(p->name, same(got, p->penalty[m], p->n, 1e-9));
		}
}

static const double zero[T_COMMS];
static const double one[T_COMMS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

T_TEST("published times of penalties that change")
{
	double got[T_COMMS];

	for (const struct t_published *p = t_published; p->name; p++) {
		T_ROW(p->name,
		      !np_sharing_dynamic(model(MYRINET), &defaults, p->c, zero,
					  one, p->n, NODES, got, NULL));
		T_ROW(p->name, same(got, p->myrinet_dynamic, p->n, 1e-9));
		T_ROW(p->name,
		      !np_sharing_dynamic(model(MAXMIN), &defaults, p->c, zero,
					  one, p->n, NODES, got, NULL));
		T_ROW(p->name, same(got, p->maxmin_dynamic, p->n, 1e-9));
	}
}

/*
 * What [V] printed for its two graphs, truncated to milliseconds: predicted
 * times, all with the same reference time, and measured ones. Errors refer to
 * the smaller reference, because the printed numbers are truncated.
 */
static const struct {
	const char *name;
	double printed_sec[T_COMMS], measured_sec[T_COMMS];
	/* mean |error|, percent: dynamic of each model, and myrinet static */
	double error[T_N_MODELS], error_static;
} measured[] = {
	{ "MK1",
	  { 0.089, 0.089, 0.071, 0.053, 0.035, 0.053, 0.071 },
	  { 0.087, 0.087, 0.07, 0.052, 0.037, 0.051, 0.07 },
	  { [GIGE] = 18.19, [MYRINET] = 2.54, [INFINIBAND] = 16.7, [MAXMIN] = 17.06 },
	  8.36 },
	{ "MK2",
	  { 0.177, 0.177, 0.177, 0.177, 0.053, 0.085, 0.085, 0.101, 0.101,
	    0.073 },
	  { 0.164, 0.164, 0.164, 0.164, 0.043, 0.086, 0.087, 0.108, 0.108,
	    0.059 },
	  { [GIGE] = 29.92, [MYRINET] = 9.53, [INFINIBAND] = 17.91, [MAXMIN] = 19.16 },
	  16.95 },
};

#define REFERENCE_SEC 0.0357
#define LOW_REFERENCE_SEC 0.0355

static const struct t_published *find(const char *name)
{
	const struct t_published *p = t_published;

	while (strcmp(p->name, name))
		p++;
	return p;
}

static double error_percent(const double *factor, const double *measured_sec,
			    size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fabs(LOW_REFERENCE_SEC * factor[i] / measured_sec[i] -
			    1);
	return 100 * sum / (double)n;
}

T_TEST("published errors against measured times")
{
	double got[T_COMMS];

	T_EACH(r, measured) {
		const struct t_published *p = find(r->name);

		for (int m = 0; m < T_N_MODELS; m++) {
			np_sharing_dynamic(model(m), &defaults, p->c, zero, one,
					   p->n, NODES, got, NULL);
			T_ROW(name_of[m],
			      fabs(error_percent(got, r->measured_sec, p->n) -
				   r->error[m]) < 0.0051);
		}
		np_sharing_static(model(MYRINET), &defaults, p->c, p->n, NODES,
				  got, NULL);
		T_ROW("static", fabs(error_percent(got, r->measured_sec, p->n) -
				     r->error_static) < 0.0051);
	}
}

T_TEST("a single reference time reproduces the printed numbers")
{
	double got[T_COMMS];

	T_EACH(r, measured) {
		const struct t_published *p = find(r->name);

		np_sharing_dynamic(model(MYRINET), &defaults, p->c, zero, one,
				   p->n, NODES, got, NULL);
		for (size_t i = 0; i < p->n; i++)
			T_ROW(p->name, floor(1e3 * REFERENCE_SEC * got[i]) ==
					       round(1e3 * r->printed_sec[i]));
	}
}

/* Random communications between some nodes. */
static size_t draw(struct np_rng *r, struct np_comm *c, size_t most,
		   size_t nodes)
{
	size_t n = 1 + np_rng_below(r, most);

	for (size_t i = 0; i < n; i++) {
		c[i].from = (uint32_t)np_rng_below(r, nodes);
		do
			c[i].to = (uint32_t)np_rng_below(r, nodes);
		while (c[i].to == c[i].from);
	}
	return n;
}

/* Properties of all models, for any communications. */
T_TEST("penalties are at least 1 and independent of node numbers")
{
	struct np_rng *r = np_rng_new(7, "sharing");
	struct np_comm c[MOST];
	double got[MOST], again[MOST], cut[MOST];
	struct np_sharing_param narrow = defaults;
	int good = 0, times = 0;

	narrow.fabric = 1.5;
	for (int t = 0; t < 500; t++) {
		size_t n = draw(r, c, MOST, 2 + (size_t)t % 6);

		for (size_t m = 0; m < np_sharing_n_models; m++, times++) {
			const struct np_sharing_model *k =
				&np_sharing_models[m];
			double sum = 0;
			int ok = !np_sharing_static(k, &defaults, c, n, NODES,
						    got, NULL) &&
				 !np_sharing_static(k, &narrow, c, n, NODES,
						    cut, NULL);

			for (size_t i = 0; ok && i < n; i++) {
				sum += 1 / cut[i];
				ok = got[i] >= 1 && isfinite(got[i]) &&
				     cut[i] >= got[i];
			}
			ok = ok && sum <= 1.5 * (1 + 1e-9);
			/* node numbers do not matter */
			for (size_t i = 0; i < n; i++)
				c[i] = (struct np_comm){ NODES - 1 - c[i].from,
							 NODES - 1 - c[i].to };
			ok = ok &&
			     !np_sharing_static(k, &defaults, c, n, NODES,
						again, NULL) &&
			     same(again, got, n, 1e-9);
			good += ok;
		}
	}
	T_CHECK(good == times);
	np_rng_free(r);
}

static size_t load(const struct np_comm *c, size_t n, uint32_t node, int out)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += (out ? c[i].from : c[i].to) == node;
	return k;
}

/* No port exceeds its capacity, and each rate has a bottleneck. */
T_TEST("max-min rates are max-min fair")
{
	struct np_rng *r = np_rng_new(8, "sharing");
	struct np_comm c[MOST];
	double p[MOST];
	int good = 0;

	for (int t = 0; t < 300; t++) {
		size_t n = draw(r, c, MOST, 5);
		int ok = !np_sharing_static(model(MAXMIN), &defaults, c, n,
					    NODES, p, NULL);

		for (size_t i = 0; ok && i < n; i++) {
			int bottleneck = 0;

			for (int out = 0; out < 2; out++) {
				double sum = 0, most = 0;

				for (size_t k = 0; k < n; k++) {
					if (out ? c[k].from != c[i].from :
						  c[k].to != c[i].to)
						continue;
					sum += 1 / p[k];
					most = fmax(most, 1 / p[k]);
				}
				ok &= sum < 1 + 1e-9;
				bottleneck |= sum > 1 - 1e-9 &&
					      1 / p[i] > most - 1e-9;
			}
			ok &= bottleneck;
		}
		good += ok;
	}
	T_CHECK(good == 300);
	np_rng_free(r);
}

T_TEST("myrinet: a node sends one at a time")
{
	struct np_rng *r = np_rng_new(9, "sharing");
	struct np_comm c[MOST];
	double p[MOST];
	int good = 0;

	for (int t = 0; t < 300; t++) {
		size_t n = draw(r, c, MOST, 6);
		int ok = !np_sharing_static(model(MYRINET), &defaults, c, n,
					    NODES, p, NULL);

		for (size_t i = 0; ok && i < n; i++)
			ok = p[i] >= (double)load(c, n, c[i].from, 1) - 1e-9;
		good += ok;
	}
	T_CHECK(good == 300);
	np_rng_free(r);
}

/* Without conflicts, ends are starts plus times alone. */
T_TEST("times without conflicts equal times alone")
{
	const struct np_comm c[4] = { { 0, 1 }, { 1, 2 }, { 2, 0 }, { 3, 0 } };
	const double start[4] = { 0, 0.5, 0.25, 9 };
	const double alone[4] = { 1, 2, 0, 0.5 };
	const double want[4] = { 1, 2.5, 0.25, 9.5 };
	double got[4];

	for (size_t m = 0; m < np_sharing_n_models; m++) {
		T_ROW(np_sharing_models[m].name,
		      !np_sharing_dynamic(&np_sharing_models[m], &defaults, c,
					  start, alone, 4, NODES, got, NULL));
		T_ROW(np_sharing_models[m].name, same(got, want, 4, 1e-12));
	}
}

/* One starts when the other is half done: 1/2 + 1 + 1/2. */
T_TEST("times change when another one starts")
{
	const struct np_comm c[2] = { { 0, 1 }, { 0, 2 } };
	const double start[2] = { 0, 0.5 }, want[2] = { 1.5, 2 };
	double got[2];

	T_CHECK(!np_sharing_dynamic(model(MAXMIN), &defaults, c, start, one, 2,
				    NODES, got, NULL));
	T_CHECK(same(got, want, 2, 1e-12));
}

/* Four transfers through a switch that carries two. */
T_TEST("a narrow switch couples disjoint nodes")
{
	const struct np_comm c[4] = { { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 } };
	const double alone[4] = { 1, 1, 2, 2 }, want[4] = { 2, 2, 3, 3 };
	struct np_sharing_param p = defaults;
	double got[4];

	p.fabric = 2;
	T_CHECK(!np_sharing_dynamic(model(MYRINET), &p, c, zero, alone, 4,
				    NODES, got, NULL));
	T_CHECK(same(got, want, 4, 1e-12));
}

/* Work is conserved: maxmin keeps a single port busy. */
T_TEST("a port with work is busy")
{
	struct np_rng *r = np_rng_new(10, "sharing");
	int good = 0;

	for (int t = 0; t < 200; t++) {
		struct np_comm c[MOST];
		double alone[MOST], end[MOST], sum = 0, last = 0;
		size_t n = 1 + np_rng_below(r, 10);

		for (size_t i = 0; i < n; i++) {
			c[i] = (struct np_comm){ 0, (uint32_t)i + 1 };
			alone[i] = 1 + (double)np_rng_below(r, 100);
			sum += alone[i];
		}
		if (np_sharing_dynamic(model(MAXMIN), &defaults, c, zero, alone,
				       n, NODES, end, NULL))
			continue;
		for (size_t i = 0; i < n; i++)
			last = fmax(last, end[i]);
		good += t_close(last, sum, 1e-9);
	}
	T_CHECK(good == 200);
	np_rng_free(r);
}

/* Incrementally updated rates equal those computed from scratch. */
T_TEST("max-min: incremental rates equal rates from scratch")
{
	struct np_sharing_model anew = *model(MAXMIN);
	struct np_rng *r = np_rng_new(11, "sharing");
	size_t bad = 0;

	anew.fills = false;
	for (int t = 0; t < 300; t++) {
		struct np_comm c[60];
		double start[60], alone[60], end[60], want[60];
		size_t n = 1 + np_rng_below(r, 60), nodes = 2 + (size_t)t % 14;
		struct np_sharing_param p = defaults;

		if (t % 5 == 0)
			p.fabric = 3;
		for (size_t i = 0; i < n; i++) {
			c[i].from = (uint32_t)np_rng_below(r, nodes);
			c[i].to = (c[i].from + 1 +
				   (uint32_t)np_rng_below(r, nodes - 1)) %
				  nodes;
			start[i] = t % 3 ? 0.5 * (double)np_rng_below(r, 20) :
					   0;
			alone[i] = t % 2 ? 1 : (double)np_rng_below(r, 50);
		}
		bad += np_sharing_dynamic(model(MAXMIN), &p, c, start, alone, n,
					  nodes, end, NULL) ||
		       np_sharing_dynamic(&anew, &p, c, start, alone, n, nodes,
					  want, NULL) ||
		       !same(end, want, n, 1e-9);
	}
	T_CHECK(!bad);
	np_rng_free(r);
}

#define AT(x) offsetof(struct np_sharing_param, x)
#define FINE SIZE_MAX

/* clang-format off */
static const struct {
	const char *name, *says;
	size_t at; /* offset of the parameter that is set to v */
	double v;
	struct np_comm c;
	double start, alone;
} refused[] = {
	{ "beta 0", "beta is 0, expected more than 0", AT(beta), 0, { 0, 1 },
	  0, 1 },
	{ "beta that is no number", "beta is nan", AT(beta), NAN, { 0, 1 },
	  0, 1 },
	{ "gamma_o 1", "gamma_o is 1, expected 0 to less than 1",
	  AT(gamma_out), 1, { 0, 1 }, 0, 1 },
	{ "gamma_i below 0", "gamma_i is -0.1", AT(gamma_in), -0.1, { 0, 1 },
	  0, 1 },
	{ "be 0", "be is 0", AT(ib_in), 0, { 0, 1 }, 0, 1 },
	{ "bs below 0", "bs is -1", AT(ib_out), -1, { 0, 1 }, 0, 1 },
	{ "gs infinite", "gs is inf", AT(ib_many), INFINITY, { 0, 1 }, 0, 1 },
	{ "bs without sense", "bs is 1e+308, expected more than 0, at most "
	  "1000000", AT(ib_out), 1e308, { 0, 1 }, 0, 1 },
	{ "a switch that carries nothing", "fabric is 0", AT(fabric), 0,
	  { 0, 1 }, 0, 1 },
	{ "a source outside", "node 16: expected 0 to 15", FINE, 0, { 16, 1 },
	  0, 1 },
	{ "a destination outside", "node 99: expected 0 to 15", FINE, 0,
	  { 1, 99 }, 0, 1 },
	{ "a node to itself", "from node 3 to itself", FINE, 0, { 3, 3 }, 0,
	  1 },
	{ "a start below 0", "starts at -1 s", FINE, 0, { 0, 1 }, -1, 1 },
	{ "a start that is no number", "starts at nan s", FINE, 0, { 0, 1 },
	  NAN, 1 },
	{ "a time below 0", "of -1 s alone", FINE, 0, { 0, 1 }, 0, -1 },
	{ "an infinite time", "of inf s alone", FINE, 0, { 0, 1 }, 0,
	  INFINITY },
};
/* clang-format on */

T_TEST("impossible input is rejected with a message")
{
	T_EACH(r, refused) {
		struct np_sharing_param p = defaults;
		struct np_err err = NP_ERR_INIT;
		double got;

		if (r->at != FINE)
			memcpy((char *)&p + r->at, &r->v, sizeof(double));
		T_ROW(r->name,
		      np_sharing_dynamic(model(GIGE), &p, &r->c, &r->start,
					 &r->alone, 1, NODES, &got,
					 &err) == -EINVAL);
		T_ROW(r->name, strstr(err.text, r->says));
	}
}

T_TEST("nothing, and messages within a node")
{
	struct np_sharing_param p = defaults;
	const struct np_comm c[2] = { { 3, 3 }, { 3, 4 } };
	const double want[2] = { 1, 1 };
	struct np_err err = NP_ERR_INIT;
	double got[2] = { 0, 0 };

	T_CHECK(!np_sharing_static(model(MYRINET), &p, NULL, 0, 0, NULL, NULL));
	T_CHECK(!np_sharing_dynamic(model(MYRINET), &p, NULL, NULL, NULL, 0, 0,
				    NULL, NULL));
	T_CHECK(np_sharing_static(model(GIGE), &p, c, 2, NODES, got, &err) ==
		-EINVAL);
	T_CHECK(strstr(err.text, "from node 3 to itself"));
	p.local = true;
	T_CHECK(!np_sharing_static(model(GIGE), &p, c, 2, NODES, got, NULL));
	T_CHECK(same(got, want, 2, 1e-12));
	T_CHECK(!np_sharing_dynamic(model(GIGE), &p, c, zero, one, 2, NODES,
				    got, NULL));
	T_CHECK(same(got, want, 2, 1e-12));
	T_CHECK(np_sharing_find("ethernet", &err) == NULL);
	T_CHECK(strstr(err.text, "no model \"ethernet\", expected gige, myri"));
}

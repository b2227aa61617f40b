#include "t.h"
#include "published.h"

#include "np_rng.h"
#include "np_sharing.h"

#define MOST 14

/* Whether two communications exclude each other. */
static int conflict(struct np_comm a, struct np_comm b)
{
	return a.from == b.from || a.to == b.to;
}

/*
 * Independent check: tries all subsets of the conflict graph. count[i]: state
 * sets with i; returns the number of all.
 */
static unsigned enumerate(const struct np_comm *c, size_t n, unsigned *count)
{
	unsigned sets = 0;

	memset(count, 0, n * sizeof(*count));
	for (unsigned set = 0; set < 1u << n; set++) {
		int ok = 1;

		for (size_t i = 0; ok && i < n; i++) {
			int in = set >> i & 1, hit = 0;

			for (size_t k = 0; k < n; k++)
				hit += k != i && (set >> k & 1) &&
				       conflict(c[i], c[k]);
			ok = in ? !hit : hit > 0;
		}
		sets += (unsigned)ok;
		for (size_t i = 0; ok && i < n; i++)
			count[i] += set >> i & 1;
	}
	return sets;
}

static int all(const struct np_comm *c, size_t n, size_t max_states,
	       double *share, double *ln_sets, struct np_err *err)
{
	struct np_ports p;
	int rc = np_ports_new(c, n, &p, err);

	if (rc)
		return rc;
	rc = np_matching_all(&p, max_states, share, ln_sets, err);
	np_ports_free(&p);
	return rc;
}

T_TEST("published numbers of state sets")
{
	double share[T_COMMS], ln;

	for (const struct t_published *p = t_published; p->name; p++) {
		T_ROW(p->name, !all(p->c, p->n, 1000, share, &ln, NULL));
		T_ROW(p->name, t_close(exp(ln), p->sets, 1e-9));
		for (size_t i = 0; i < p->n; i++)
			T_ROW(p->name, t_close(share[i] * p->sets,
					       p->emission[i], 1e-9));
	}
}

T_TEST("counts agree with plain enumeration")
{
	struct np_rng *r = np_rng_new(1, "matching");
	int good = 0;

	for (int t = 0; t < 400; t++) {
		struct np_comm c[MOST];
		double share[MOST], ln = NAN;
		unsigned count[MOST], sets;
		size_t n = 1 + np_rng_below(r, t < 380 ? 9 : MOST);
		size_t nodes = 2 + np_rng_below(r, 5);
		int ok;

		for (size_t i = 0; i < n; i++)
			c[i] = (struct np_comm){
				(uint32_t)np_rng_below(r, nodes),
				100 + (uint32_t)np_rng_below(r, nodes)
			};
		sets = enumerate(c, n, count);
		ok = !all(c, n, 1u << 20, share, &ln, NULL) &&
		     t_close(exp(ln), sets, 1e-9);
		for (size_t i = 0; ok && i < n; i++)
			ok = t_close(share[i], (double)count[i] / sets, 1e-9);
		good += ok;
	}
	T_CHECK(good == 400);
	np_rng_free(r);
}

/* From each of p nodes to each of q others. */
static size_t complete(struct np_comm *c, uint32_t p, uint32_t q, int not_self)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p; i++)
		for (uint32_t k = 0; k < q; k++)
			if (!not_self || i != k)
				c[n++] = (struct np_comm){ i, k };
	return n;
}

static const struct {
	const char *name;
	uint32_t p, q;
	int not_self;
	double sets, share; /* 0: not known independently */
} full[] = {
	{ "1 x 7", 1, 7, 0, 7, 1.0 / 7 },
	{ "6 x 1", 6, 1, 0, 6, 1.0 / 6 },
	{ "3 x 5: injections", 3, 5, 0, 60, 1.0 / 5 },
	{ "6 x 6: permutations", 6, 6, 0, 720, 1.0 / 6 },
	{ "10 nodes, all to all", 10, 10, 1, 2669921, 0 },
};

T_TEST("complete graphs have known numbers")
{
	struct np_comm c[100];
	double share[100], ln;

	T_EACH(r, full) {
		size_t n = complete(c, r->p, r->q, r->not_self);

		T_ROW(r->name, !all(c, n, 1u << 18, share, &ln, NULL));
		T_ROW(r->name, t_close(exp(ln), r->sets, 1e-9));
		for (size_t i = 0; i < n; i++)
			T_ROW(r->name,
			      r->share == 0 ?
				      t_close(share[i], share[0], 1e-9) :
				      t_close(share[i], r->share, 1e-9));
	}
}

/* A star with extended rays, so that many destinations are open. */
static size_t spider(struct np_comm *c, uint32_t rays)
{
	size_t n = 0;

	for (uint32_t i = 1; i <= rays; i++) {
		c[n++] = (struct np_comm){ 0, i };
		c[n++] = (struct np_comm){ i, i };
		c[n++] = (struct np_comm){ i, rays + i };
		c[n++] = (struct np_comm){ rays + i, rays + i };
	}
	return n;
}

/* The number of maximal matchings of a path is in the Padovan sequence. */
T_TEST("trees and paths of any size are cheap")
{
	enum { LONG = 4000 };
	struct np_comm *c = calloc(LONG, sizeof(*c));
	double *share = calloc(LONG, sizeof(*share)), ln = 0, ln2 = 0;
	double a = 1, b = 1, d = 2; /* for 0, 1 and 2 edges */
	double scale = 0, root = 1.3247179572447460;

	for (uint32_t i = 0; i < LONG; i++)
		c[i] = (struct np_comm){ (i + 1) / 2, i / 2 };
	for (int i = 3; i <= LONG; i++) {
		double next = a + b;

		a = b, b = d, d = next;
		if (d > 1e200)
			a /= 1e200, b /= 1e200, d /= 1e200, scale += log(1e200);
	}
	T_CHECK(!all(c, LONG, 16 * LONG, share, &ln, NULL));
	T_CHECK(t_close(ln, scale + log(d), 1e-12));
	T_CHECK(!all(c, LONG - 1, 16 * LONG, share, &ln2, NULL));
	T_CHECK(t_close(exp(ln - ln2), root, 1e-9));
	T_CHECK(!all(c, spider(c, LONG / 4), 1u << 22, share, &ln, NULL));
	T_CHECK(isfinite(ln) && ln > 0 && share[0] > 0 && share[0] < 1);
	free(c);
	free(share);
}

T_TEST("too many states are rejected with the size of the component")
{
	struct np_comm c[400];
	double share[400];
	struct np_err err = NP_ERR_INIT;
	size_t n = complete(c, 20, 20, 0);

	T_CHECK(all(c, n, 1u << 19, share, NULL, &err) == -E2BIG);
	T_CHECK(!strcmp(err.text,
			"400 communications from 20 nodes to 20 "
			"that all depend on each other have more than 524288 "
			"states; expected fewer, or another "
			"model"));
	n = complete(c, 10, 10, 1);
	T_CHECK(all(c, n, 100, share, NULL, &err) == -E2BIG);
}

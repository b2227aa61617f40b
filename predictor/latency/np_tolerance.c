#include "np_tolerance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_compact.h"
#include "np_pass.h"
#include "np_tolerance_impl.h"

#define TIE 0x1p-45 /* of T: as equal as sums in another order are */

static int check(const struct np_loggps *net, struct np_err *err)
{
	const struct { const char *name; double value; } p[] = {
		{ "L", net->L_ns }, { "o", net->o_ns }, { "G", net->G_ns },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(p); i++)
		if (!(p[i].value >= 0) || p[i].value > NP_LOGGPS_MAX)
			return np_errf(err, -EINVAL, "%s of %g, expected 0 to "
				       "%g", p[i].name, p[i].value,
				       NP_LOGGPS_MAX);
	return 0;
}

int np_tolerance_new(const struct np_graph *g,
		     const struct np_tolerance_opt *opt,
		     struct np_tolerance **out, struct np_err *err)
{
	struct np_tolerance *t;
	int rc = check(&opt->net, err);

	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t)
		return np_errf(err, -ENOMEM, "no memory for a graph");
	rc = np_contract(g, opt, &t->c, err);
	if (!rc && np_contract_order(&t->c))
		rc = np_errf(err, -ENOMEM, "no memory for %zu vertices",
			     t->c.n);
	if (!rc) {
		t->point = malloc(t->c.n * NP_PASS_TIMES * sizeof(double));
		if (!t->point)
			rc = np_errf(err, -ENOMEM, "no memory for %zu "
				     "vertices", t->c.n);
	}
	if (rc) {
		np_tolerance_free(t);
		return rc;
	}
	t->far = np_pass_far(&t->c, t->point);
	t->at_0 = np_pass_at(&t->c, 0, 0, true, t->point).t;
	*out = t;
	return 0;
}

void np_tolerance_free(struct np_tolerance *t)
{
	if (!t)
		return;
	np_compact_free(&t->c);
	free(t->point);
	free(t);
}

/* T is between half of that by which the tie is measured, and that. */
double np_tolerance_tie(const struct np_tolerance *t, double x)
{
	return TIE * (t->at_0 + t->far.s * x);
}

struct np_point np_tolerance_side(struct np_tolerance *t, double x, bool right)
{
	return np_pass_at(&t->c, x, np_tolerance_tie(t, x), right, t->point);
}

void np_tolerance_at(struct np_tolerance *t, double x, struct np_runtime *out)
{
	struct np_point left = np_tolerance_side(t, x, false);
	struct np_point right = np_tolerance_side(t, x, true);

	*out = (struct np_runtime){ right.t, left.s, right.s };
}

void np_tolerance_times(struct np_tolerance *t, const double *x, size_t n,
			double *ns)
{
	for (size_t i = 0; i < n; i += NP_PASS_TIMES) {
		double some[NP_PASS_TIMES], late[NP_PASS_TIMES];

		for (size_t k = 0; k < NP_PASS_TIMES; k++)
			some[k] = x[i + k < n ? i + k : n - 1];
		np_pass_times(&t->c, some, (double *)t->point, late);
		for (size_t k = 0; k < NP_PASS_TIMES && i + k < n; k++)
			ns[i + k] = late[k];
	}
}

size_t np_tolerance_vertices(const struct np_tolerance *t)
{
	return t->c.n;
}

size_t np_tolerance_edges(const struct np_tolerance *t)
{
	return np_compact_edges(&t->c);
}

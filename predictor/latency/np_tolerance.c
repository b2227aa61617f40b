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
	if (!rc) {
		for (size_t i = 0; !rc && i < t->c.n; i++)
			rc = np_contract_order(&t->c.link[i]);
		t->room[0] = rc ? NULL : np_room_new(&t->c);
		if (!t->room[0])
			rc = np_errf(err, -ENOMEM, "no memory for %zu "
				     "vertices", np_tolerance_vertices(t));
	}
	if (rc) {
		np_tolerance_free(t);
		return rc;
	}
	t->threads = opt->threads;
	t->far = np_pass(&t->c, &(struct np_pass){ NP_FAR, 0, 0 }, t->room[0]);
	t->at_0 = np_pass(&t->c, &(struct np_pass){ NP_STEEPEST, 0, 0 },
			  t->room[0]).t;
	*out = t;
	return 0;
}

void np_tolerance_free(struct np_tolerance *t)
{
	if (!t)
		return;
	np_chain_free(&t->c);
	for (size_t k = 0; k < NP_TOLERANCE_THREADS; k++)
		np_room_free(t->room[k]);
	free(t);
}

/* T is between half of that by which the tie is measured, and that. */
double np_tolerance_tie(const struct np_tolerance *t, double x)
{
	return TIE * (t->at_0 + t->far.s * x);
}

struct np_point np_tolerance_side(struct np_tolerance *t, double x, bool right)
{
	const struct np_pass p = { right ? NP_STEEPEST : NP_FLATTEST, x,
				   np_tolerance_tie(t, x) };

	return np_pass(&t->c, &p, t->room[0]);
}

void np_tolerance_at(struct np_tolerance *t, double x, struct np_runtime *out)
{
	struct np_point side[2];

	np_pass_both(&t->c, x, np_tolerance_tie(t, x), t->room[0], side);
	*out = (struct np_runtime){ side[0].t, side[0].s, side[1].s };
}

struct times {
	const double *x;
	size_t n;
	double *ns;
};

/* The values from i * NP_PASS_TIMES on. */
static void some_times(const struct np_tolerance *t, struct np_room *room,
		       size_t i, void *arg)
{
	double some[NP_PASS_TIMES], late[NP_PASS_TIMES];
	const struct times *a = arg;

	i *= NP_PASS_TIMES;
	for (size_t k = 0; k < NP_PASS_TIMES; k++)
		some[k] = a->x[i + k < a->n ? i + k : a->n - 1];
	np_pass_times(&t->c, some, room, late);
	for (size_t k = 0; k < NP_PASS_TIMES && i + k < a->n; k++)
		a->ns[i + k] = late[k];
}

void np_tolerance_times(struct np_tolerance *t, const double *x, size_t n,
			double *ns)
{
	struct times a = { x, n, ns };

	np_tolerance_each(t, (n + NP_PASS_TIMES - 1) / NP_PASS_TIMES,
			  some_times, &a);
}

size_t np_tolerance_vertices(const struct np_tolerance *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->c.n; i++)
		n += t->c.link[i].n;
	return n;
}

size_t np_tolerance_edges(const struct np_tolerance *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->c.n; i++)
		n += np_compact_edges(&t->c.link[i]);
	return n;
}

size_t np_tolerance_folded(const struct np_tolerance *t)
{
	return t->c.n > 1 ? t->c.times : 0;
}

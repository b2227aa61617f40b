/* Slowdowns of a pair, from those at the full rate of the other. */
#include "t.h"
#include "np_model.h"

static const struct {
	const char *name;
	double d, e; /* slowdowns of a pair */
	double p;    /* of the first, if the other kept its rate */
} pairs[] = {
	{ "neither suffers", 0, 0, 0 },
	{ "only one suffers", 3, 0, 3 },
	{ "only the other suffers", 0, 3, 0 },
	{ "both alike", 3, 3, 6 },
	{ "a light one with a heavy one", 8, 0.21, 8.8 },
	{ "a heavy one with a light one", 0.21, 8, 0.63 },
	{ "both stand still", 999, 999,
	  999 * 31.622776601683793 }, /* the root of 1000 */
	{ "a program that runs slightly faster with another", -0.02, 0.5,
	  -0.02 },
};

T_TEST("a pair's slowdowns are found again")
{
	T_EACH(r, pairs) {
		double d = log1p(r->d), e = log1p(r->e);
		double z, z_other, got[2];

		np_slowdowns_at_full_rate(d, e, &z, &z_other);
		T_ROW(r->name, fabs(z - 2 * (sqrt(1 + r->p) - 1)) < 1e-9);
		np_slowdowns_together(z, z_other, got);
		T_ROW(r->name,
		      fabs(got[0] - d) < 1e-7 && fabs(got[1] - e) < 1e-7);
		np_slowdowns_together(z_other, z, got);
		T_ROW(r->name,
		      fabs(got[0] - e) < 1e-7 && fabs(got[1] - d) < 1e-7);
	}
}

/* What the other suffers more relieves, and never more than it slowed. */
T_TEST("the more the other is slowed, the less it slows")
{
	double last = INFINITY;

	for (double z_other = 0; z_other < 60; z_other += 0.5) {
		double d[2];

		np_slowdowns_together(3, z_other, d);
		T_CHECK(d[0] < last && d[0] > 0);
		last = d[0];
	}
}

static const struct {
	const char *name;
	double z, z_other;
} odd[] = {
	{ "less than nothing", -5, 1 },
	{ "the other less than nothing", 1, -5 },
	{ "both", -5, -5 },
	{ "huge", 1e6, 1e6 },
	{ "huge slowdown of one, none of the other", 1e6, 0 },
};

T_TEST("any number has a result")
{
	T_EACH(r, odd) {
		double got[2];

		np_slowdowns_together(r->z, r->z_other, got);
		T_ROW(r->name, isfinite(got[0]) && isfinite(got[1]));
	}
}

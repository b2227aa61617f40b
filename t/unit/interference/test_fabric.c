#include "t.h"
#include "np_fabric.h"
#include "some_fabric.h"

T_TEST("no effect is claimed only where it was shown")
{
	static const struct {
		const char *name;
		struct np_mean k;
		bool none;
	} rows[] = {
		{ "near zero", { 8, 0.01, 0.03 }, true },
		{ "exactly zero", { 3, 0, 0 }, true },
		{ "small, but surely not zero", { 50, 0.05, 0.01 }, false },
		{ "perhaps zero, perhaps much", { 3, 0.1, 0.2 }, false },
		{ "measured once", { 1, 0, NAN }, false },
		{ "not measured", { 0, 0, 0 }, false },
		{ "full", { 8, 1, 0.01 }, false },
	};

	T_EACH(r, rows)
		T_ROW(r->name, np_sharing_coef_none(&r->k) == r->none);
}

T_TEST("levels have the utilisation that their latencies show")
{
	struct some_fabric *s = calloc(1, sizeof(*s));
	double below = 0;

	some_fabric(s);
	for (size_t i = 0; i < SF_LEVELS; i++) {
		double utilisation =
			np_fabric_utilisation(&s->f, s->level[i].name);

		T_ROW(s->level[i].name, utilisation > below && utilisation < 1);
		T_CHECK(np_utilisation_compare(below, utilisation) < 0);
		below = utilisation;
	}
	T_CHECK(isnan(np_fabric_utilisation(&s->f, "none")));
	T_CHECK(isnan(np_fabric_utilisation(NULL, s->level[0].name)));
	s->level[1].latency.all.n = 0;
	T_CHECK(isnan(np_fabric_utilisation(&s->f, s->level[1].name)));
	s->f.idle.all.n = 0;
	T_CHECK(isnan(np_fabric_utilisation(&s->f, s->level[0].name)));
	free(s);
}

T_TEST("unknown utilisations come last")
{
	T_CHECK(np_utilisation_compare(0.9, NAN) < 0);
	T_CHECK(np_utilisation_compare(NAN, 0) > 0);
	T_CHECK(!np_utilisation_compare(NAN, NAN));
	T_CHECK(!np_utilisation_compare(0.5, 0.5));
	T_CHECK(np_utilisation_compare(0.6, 0.5) > 0);
}

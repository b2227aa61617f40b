#include "t.h"
#include "np_placement.h"

/* Jobs of three users, as slurmctld lists them. */
T_TEST("each job is taken once")
{
	struct np_arrival of[] = {
		{ UINT32_MAX, 1 }, { 7, 1 }, { 9, 1 }, { 7, 1 }, { 7, 1 },
	};
	static const struct {
		const char *name;
		uint32_t owner;
		unsigned n;
	} rows[] = {
		{ "three jobs of one user", 7, 3 },
		{ "one job of another user", 9, 1 },
		{ "the highest uid", UINT32_MAX, 1 },
		{ "a user who submitted nothing", 8, 0 },
		{ "root submitted nothing", 0, 0 },
	};
	struct np_arrivals a;

	np_arrivals_init(&a, 0, of, NP_ARRAY_SIZE(of));
	T_CHECK(a.n == 3);
	T_EACH(r, rows) {
		unsigned n = 0;

		while (n < 10 && np_arrivals_take(&a, r->owner))
			n++;
		T_ROW(r->name, n == r->n);
	}
}

T_TEST("no job at all")
{
	struct np_arrivals a;

	np_arrivals_init(&a, 5, NULL, 0);
	T_CHECK(a.since_sec == 5);
	T_CHECK(!np_arrivals_take(&a, 0));
}

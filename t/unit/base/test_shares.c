#include "t.h"
#include "np_array.h"

#define LIMIT 100

/* What each of n users holds when all take as much as they get, in turn. */
static const struct {
	const char *name;
	uint32_t n;
	uint64_t each;
} rows[] = {
	{ "one user alone gets half", 1, 50 },
	{ "two get a third each", 2, 33 },
	{ "nine get a tenth each", 9, 10 },
	{ "of forty-nine each gets a fiftieth", 49, 2 },
};

static uint64_t taken_by(struct np_shares *s, uint32_t uid)
{
	uint64_t n = 0;

	while (np_shares_take(s, uid, 1))
		n++;
	return n;
}

T_TEST("users who want all of it")
{
	T_EACH(r, rows) {
		struct np_shares s = { .limit = LIMIT };
		uint64_t got[64] = { 0 };

		for (uint32_t k = 0; k < LIMIT; k++)
			for (uint32_t u = 0; u < r->n; u++)
				got[u] += np_shares_take(&s, u, 1);
		for (uint32_t u = 0; u < r->n; u++)
			T_ROW(r->name, got[u] == r->each);
		np_shares_free(&s);
	}
}

T_TEST("a user who comes late still gets a share")
{
	static const uint64_t want[] = { 50, 25, 12, 6, 3, 2, 1 };
	struct np_shares s = { .limit = LIMIT };

	for (uint32_t u = 0; u < NP_ARRAY_SIZE(want); u++)
		T_CHECK(taken_by(&s, u) == want[u]);
	np_shares_clear(&s);
	T_ROW("all of it is free again", taken_by(&s, 7) == 50);
	np_shares_free(&s);
}

T_TEST("shares that are taken already")
{
	struct np_shares s = { .limit = LIMIT };

	np_shares_add(&s, 1, 2 * LIMIT);
	T_ROW("more than there is leaves nothing", !np_shares_take(&s, 2, 1));
	np_shares_clear(&s);
	np_shares_add(&s, 1, 40);
	T_ROW("of another user it only makes less",
	      np_shares_can_take(&s, 2, 30) && !np_shares_can_take(&s, 2, 31));
	T_ROW("of the user it counts",
	      np_shares_can_take(&s, 1, 10) && !np_shares_can_take(&s, 1, 11));
	T_ROW("nobody gets more than all", !np_shares_take(&s, 3, UINT64_MAX));
	np_shares_free(&s);
}

#include "t.h"
#include "np_job_snapshot.h"

T_TEST("a job is remembered as long as it is asked for")
{
	struct np_job_cache *m;
	struct np_cached_job *cached;

	T_CHECK(!np_job_cache_new(&m));
	T_CHECK(!np_job_cache_find(m, 7));
	cached = np_job_cache_add(m, 7);
	T_CHECK(cached && cached->id == 7 && !cached->held_sec &&
		!cached->comment);
	cached->held_sec = 5;
	cached->comment = strdup("x");
	T_CHECK(np_job_cache_add(m, 7) == cached);
	T_CHECK(np_job_cache_find(m, 7) == cached);
	np_job_cache_sweep(m);
	T_ROW("asked for since the last sweep",
	      np_job_cache_find(m, 7) == cached);
	np_job_cache_add(m, 8);
	np_job_cache_sweep(m);
	T_ROW("not asked for since", !np_job_cache_find(m, 7));
	T_ROW("the other one was", np_job_cache_find(m, 8) != NULL);
	np_job_cache_free(m);
}

static unsigned n_rests;

static void on_ignored(uint32_t uid)
{
	n_rests += uid == 7;
}

/* Passes: '!' a change of user 7 came first, 'o' one of user 9, '.' none. */
static const struct {
	const char *name, *passes;
	bool rests;
} passes[] = {
	{ "no changes by users", ".", false },
	{ "changes in every second pass", "!.!.!.!.!.!.", false },
	{ "some passes in a row, and a pause", "!!!!.!!!!", false },
	{ "changes in too many passes in a row", "!!!!!", true },
	{ "and on", "!!!!!.....", true },
	{ "two users by turns", "!o!o!", true },
	{ "one change while another user goes on", "ooo!oooo", false },
	{ "a pass without changes", "!o!o.!o!o", false },
	{ "some passes each, and a pause", "!!!ooo.!!!!", false },
};

T_TEST("a user whose changes come first too often rests")
{
	T_EACH(r, passes) {
		struct np_job_cache *m;

		n_rests = 0;
		T_CHECK(!np_job_cache_new(&m));
		for (const char *c = r->passes; *c; c++) {
			if (*c != '.')
				np_job_cache_lost_race(m, *c == '!' ? 7 : 9);
			np_job_cache_end_pass(m, 1000, on_ignored);
		}
		T_ROW(r->name, np_job_cache_ignores(m, 7, 1001) == r->rests);
		T_ROW(r->name, n_rests == r->rests);
		T_ROW("others never", !np_job_cache_ignores(m, 8, 1001));
		T_ROW("not for ever",
		      !np_job_cache_ignores(m, 7, 1000 + NP_IGNORE_USER_SEC));
		T_ROW("a clock that is set back",
		      !np_job_cache_ignores(m, 7, 5));
		np_job_cache_free(m);
	}
}

T_TEST("many jobs")
{
	struct np_job_cache *m;
	size_t found = 0;

	T_CHECK(!np_job_cache_new(&m));
	for (uint32_t i = 0; i < 5000; i++)
		np_job_cache_add(m, i * 7919 % 5000);
	np_job_cache_sweep(m);
	for (uint32_t i = 0; i < 5000; i += 2)
		np_job_cache_add(m, i);
	np_job_cache_sweep(m);
	for (uint32_t i = 0; i < 5000; i++)
		found += (np_job_cache_find(m, i) != NULL) == !(i % 2);
	T_CHECK(found == 5000);
	np_job_cache_free(m);
}

#include "t.h"
#include "np_job_cache.h"

#include <string.h>

static void test_jobs(void)
{
	struct np_job_cache *m;
	struct np_cached_job *cached;

	T_CHECK(!np_job_cache_new(&m));
	T_CHECK(!np_job_cache_find(m, 7));
	cached = np_job_cache_at(m, 7);
	T_CHECK(cached && cached->id == 7 && !cached->held_sec &&
		!cached->comment);
	cached->held_sec = 5;
	cached->comment = strdup("x");
	T_CHECK(np_job_cache_at(m, 7) == cached);
	T_CHECK(np_job_cache_find(m, 7) == cached);
	np_job_cache_sweep(m);
	T_ROW("asked for since the last sweep", np_job_cache_find(m,
								  7) == cached);
	np_job_cache_at(m, 8);
	np_job_cache_sweep(m);
	T_ROW("not asked for since", !np_job_cache_find(m, 7));
	T_ROW("the other one was", np_job_cache_find(m, 8) != NULL);
	np_job_cache_free(m);
}

static void test_many(void)
{
	struct np_job_cache *m;
	size_t found = 0;

	T_CHECK(!np_job_cache_new(&m));
	for (uint32_t i = 0; i < 5000; i++)
		np_job_cache_at(m, i * 7919 % 5000);
	np_job_cache_sweep(m);
	for (uint32_t i = 0; i < 5000; i += 2)
		np_job_cache_at(m, i);
	np_job_cache_sweep(m);
	for (uint32_t i = 0; i < 5000; i++)
		found += (np_job_cache_find(m, i) != NULL) == !(i % 2);
	T_CHECK(found == 5000);
	np_job_cache_free(m);
}

static const struct t_case cases[] = {
	{ "a job is remembered as long as it is asked for", test_jobs },
	{ "many jobs", test_many },
	{ NULL, NULL },
};
T_SUITE(job_cache, cases)

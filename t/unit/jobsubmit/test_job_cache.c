#include "t.h"
#include "np_job_cache.h"
#include "some_slurm.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
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

static const struct {
	const char *name, *hosts;
	int rc;
	const char *want;
} lists[] = {
	{ "no list", NULL, 0, "" },
	{ "the same as an empty one", "", 0, "" },
	{ "one", "n[0-2]", 0, "n[0-2]" },
	{ "again", "n[0-2]", 0, "n[0-2]" },
	{ "another", "n[0-3]", 0, "n[0-3]" },
	{ "no list at all", "n[3-1]", -EINVAL, "" },
	{ "again, and still none", "n[3-1]", -EINVAL, "" },
};

static void test_lists(void)
{
	struct some_slurm s;
	struct np_job_cache *m;

	some_slurm(&s);
	T_CHECK(!np_job_cache_new(&m));
	for (size_t i = 0; i < NP_ARRAY_SIZE(lists); i++) {
		const uint64_t *nodes = NULL;
		int rc = np_job_cache_parse(m, s.site, lists[i].hosts, &nodes);

		T_ROW(lists[i].name, rc == lists[i].rc);
		T_ROW(lists[i].name, rc || some_same(some_hosts(s.site, nodes),
						     lists[i].want));
	}
	np_job_cache_free(m);
	some_slurm_free(&s);
}

/* The same text on other nodes. */
static void test_other_site(void)
{
	const uint64_t *nodes;
	struct some_slurm s;
	struct np_job_cache *m;
	struct np_err err;
	struct np_site *other;

	some_slurm(&s);
	T_CHECK(!np_job_cache_new(&m));
	T_CHECK(!np_job_cache_parse(m, s.site, "n[0-1]", &nodes));
	s.node[0].name = NULL;
	T_CHECK(!np_site_make(NULL, &s.nodes, &s.parts, "", false, &other,
			      &err));
	T_CHECK(!np_job_cache_parse(m, other, "n[0-1]", &nodes));
	T_CHECK(some_same(some_hosts(other, nodes), "n1"));
	np_site_unref(other);
	np_job_cache_free(m);
	some_slurm_free(&s);
}

/* More than are remembered, short ones and long ones. */
static void test_many_lists(void)
{
	static char text[65536];
	const uint64_t *nodes;
	struct some_slurm s;
	struct np_job_cache *m;
	bool right = true;

	some_slurm(&s);
	T_CHECK(!np_job_cache_new(&m));
	for (int i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "n1,x%d", i);
		right &= !np_job_cache_parse(m, s.site, text, &nodes) &&
			 nodes[0] == 2;
	}
	T_CHECK(right);
	T_CHECK(!np_job_cache_parse(m, s.site, "n1,x7", &nodes) &&
		nodes[0] == 2);
	np_job_cache_free(m);
	some_slurm_free(&s);
}

/* Lists of users, each as long as Slurm lets them be. */
static void test_long_lists(void)
{
	static char text[65536];
	size_t before, after;
	const uint64_t *nodes;
	struct some_slurm s;
	struct np_job_cache *m;

	some_slurm(&s);
	T_CHECK(!np_job_cache_new(&m));
	memset(text, ',', sizeof(text) - 1);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int i = 0; i < 2000; i++) {
		int n = sprintf(text, "n1,x%d", i);

		text[n] = ',';
		np_job_cache_parse(m, s.site, text, &nodes);
	}
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	T_CHECK(after < before + (32 << 20));
	np_job_cache_free(m);
	some_slurm_free(&s);
}

static const struct t_case cases[] = {
	{ "a job is remembered as long as it is asked for", test_jobs },
	{ "many jobs", test_many },
	{ "lists are worked out once", test_lists },
	{ "but not across sites", test_other_site },
	{ "many lists", test_many_lists },
	{ "long lists take bounded memory", test_long_lists },
	{ NULL, NULL },
};
T_SUITE(job_cache, cases)

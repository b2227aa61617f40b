/* A snapshot: what others made of the jobs that were changed. */
#include "t.h"
#include "some_slurm.h"

#define LATER (SOME_NOW + 60)
#define NOTE "netprof{user=n8 ours=n[0-3] held=0}"
#define ALL NP_CHANGE_ALL

/* Job 7 stands as NOTE says, or as somebody changed it; a job 9 as well. */
/* clang-format off */
static const struct {
	const char *name, *exc; /* what stands there now */
	struct np_change change[2];
	const char *user;
} changes[] = {
	{ "his new list", "n[0-3,9]",
	  { { 7, ALL, SOME_UID, (char *)"n9", (char *)"n9,n[0-3]" } }, "n9" },
	{ "his list with some of ours", "n[0-3]",
	  { { 7, ALL, SOME_UID, (char *)"n[0-1]", (char *)"n[0-1],n[0-3]" } },
	  "n[0-1]" },
	{ "an administrator's", "n[0-3,9]",
	  { { 7, ALL, 0, (char *)"n9", (char *)"n9,n[0-3]" } }, "n9" },
	{ "no list any more", "n[0-3]",
	  { { 7, ALL, SOME_UID, (char *)"", (char *)"n[0-3]" } }, "" },
	{ "somebody else's: Slurm refused it", "n[0-3,8]",
	  { { 7, ALL, SOME_UID + 1, (char *)"n9", (char *)"n9,n[0-3]" } },
	  "n8" },
	{ "somebody else says it is ours", "n[0-3,8]",
	  { { 7, ALL, SOME_UID + 1, (char *)"n[0-3,8]", (char *)"n[0-3,8]" } },
	  "n8" },
	{ "his own that Slurm refused", "n[0-3,8]",
	  { { 7, ALL, SOME_UID, (char *)"n9", (char *)"n9,n[0-3]" } }, "n8" },
	{ "two, the last one counts",
	  "n[0-3,9]",
	  { { 7, ALL, SOME_UID, (char *)"n5", (char *)"n5,n[0-3]" },
	    { 7, ALL, SOME_UID, (char *)"n9", (char *)"n9,n[0-3]" } },
	  "n9" },
	{ "two, and Slurm refused the last one",
	  "n[0-3]",
	  { { 7, ALL, SOME_UID, (char *)"n1", (char *)"n1,n[0-3]" },
	    { 7, ALL, SOME_UID, (char *)"n9", (char *)"n9,n[0-3]" } },
	  "n1" },
	{ "of another job", "n[0-3]",
	  { { 8, ALL, SOME_UID, (char *)"n1", (char *)"n[0-3]" } }, "" },
	{ "a list that is none", "n[0-3,8]",
	  { { 7, ALL, SOME_UID, (char *)"n[3-1]", (char *)"n[3-1]" } }, "n8" },
};
/* clang-format on */

T_FIXTURE(some_slurm_begin, some_slurm_end);

T_TEST("a change counts if Slurm made it")
{
	T_EACH(r, changes) {
		slurm_job_info_t *j;
		struct np_job_snapshot v;

		some_slurm_begin();
		j = some_job(&ctld, 7, "loud");
		j->admin_comment = (char *)NOTE;
		some_exclude(&ctld, j, r->exc);
		j = some_job(&ctld, 9, "loud");
		j->admin_comment = (char *)NOTE;
		some_exclude(&ctld, j, "n[0-3,8]");
		T_ROW(r->name, !some_jobs(&ctld, NULL, r->change,
					  r->change[1].id ? 2 : 1, &v));
		T_ROW(r->name,
		      some_same(some_hosts(ctld.map, v.job[0].user), r->user));
		T_ROW(r->name,
		      some_same(some_hosts(ctld.map, v.job[1].user), "n8"));
		np_job_snapshot_free(&v);
	}
}

/* Of array 7: the record, with task 3 in it, and task 2, split off as 9. */
/* clang-format off */
static const struct {
	const char *name;
	struct np_change change;
	const char *of_record, *of_task; /* user's part */
} arrays[] = {
	{ "of the array",
	  { 7, ALL, SOME_UID, (char *)"n1", (char *)"n1,n[0-3]" }, "n1", "n1" },
	{ "of one task", { 7, 2, SOME_UID, (char *)"n1", (char *)"n1,n[0-3]" },
	  "", "n1" },
	{ "of a task by its own number",
	  { 9, ALL, SOME_UID, (char *)"n1", (char *)"n1,n[0-3]" }, "", "n1" },
};
/* clang-format on */

T_TEST("changes of arrays and of tasks")
{
	T_EACH(r, arrays) {
		struct np_job_snapshot v;

		some_slurm_begin();
		for (uint32_t id = 7; id <= 9; id += 2) {
			slurm_job_info_t *j = some_job(&ctld, id, "loud");

			j->array_job_id = 7;
			j->array_task_id = id == 9 ? 2 : NO_VAL;
			j->admin_comment = (char *)NOTE;
			some_exclude(&ctld, j, "n[0-3]");
		}
		T_ROW(r->name, !some_jobs(&ctld, NULL, &r->change, 1, &v));
		T_ROW(r->name, some_same(some_hosts(ctld.map, v.job[0].user),
					 r->of_record));
		T_ROW(r->name, some_same(some_hosts(ctld.map, v.job[1].user),
					 r->of_task));
		np_job_snapshot_free(&v);
	}
}

/* clang-format off */
static const struct {
	const char *name;
	int64_t eligible; /* what stands there now */
	struct np_change change;
	int64_t begin; /* the user's */
} begins[] = {
	{ "later than the hold",
	  LATER + 90,
	  { .uid = SOME_UID,
	    .begin_sec = LATER + 90,
	    .passed_on_begin_sec = LATER + 90 },
	  LATER + 90 },
	{ "before its end",
	  LATER,
	  { .uid = SOME_UID,
	    .begin_sec = LATER - 9,
	    .passed_on_begin_sec = LATER },
	  LATER - 9 },
	{ "now",
	  LATER,
	  { .uid = SOME_UID,
	    .begin_sec = SOME_NOW,
	    .passed_on_begin_sec = LATER },
	  0 },
	{ "a begin time that another user set",
	  LATER,
	  { .uid = SOME_UID + 1,
	    .begin_sec = LATER - 9,
	    .passed_on_begin_sec = LATER },
	  LATER - 30 },
	{ "Slurm refused it",
	  LATER,
	  { .uid = SOME_UID,
	    .begin_sec = LATER + 9,
	    .passed_on_begin_sec = LATER + 9 },
	  LATER - 30 },
};
/* clang-format on */

T_TEST("changes of the begin time")
{
	T_EACH(r, begins) {
		struct np_change c = r->change;
		slurm_job_info_t *j;
		struct np_job_snapshot v;

		c.id = 7;
		c.task = ALL;
		some_slurm_begin();
		j = some_job(&ctld, 7, "loud");
		j->admin_comment =
			(char *)"netprof{until=1000060 begin=1000030 held=0}";
		j->eligible_time = r->eligible;
		T_ROW(r->name, !some_jobs(&ctld, NULL, &c, 1, &v));
		T_ROW(r->name, v.job[0].annotation.begin_sec == r->begin);
		np_job_snapshot_free(&v);
	}
}

/* What the next snapshot has if another comment stands there. */
static const struct {
	const char *name, *second, *user;
	bool in_effect;
} overwritten[] = {
	{ "the same", NOTE, "n8", true },
	{ "another text", "ticket 5", "n8", true },
	{ "no text", NULL, "n8", true },
	{ "a damaged note", "netprof{user=n8 ours=n[0-", "n8", true },
	{ "another note", "netprof{user=n[0-3] ours=n8 held=0}", "n[0-3]",
	  true },
};

T_TEST("a note that was overwritten is remembered")
{
	T_EACH(r, overwritten) {
		struct np_job_cache *cache;
		slurm_job_info_t *j;
		struct np_job_snapshot v;

		some_slurm_begin();
		T_CHECK(!np_job_cache_new(&cache));
		j = some_job(&ctld, 7, "loud");
		j->admin_comment = (char *)NOTE;
		some_exclude(&ctld, j, "n[0-3,8]");
		T_CHECK(!some_jobs(&ctld, cache, NULL, 0, &v));
		np_job_snapshot_free(&v);
		np_job_cache_sweep(cache);
		j->admin_comment = (char *)r->second;
		T_CHECK(!some_jobs(&ctld, cache, NULL, 0, &v));
		T_ROW(r->name,
		      some_same(some_hosts(ctld.map, v.job[0].user), r->user));
		T_ROW(r->name, v.job[0].in_effect == r->in_effect);
		T_ROW(r->name, some_same(v.job[0].comment, r->second));
		np_job_snapshot_free(&v);
		np_job_cache_free(cache);
	}
}

/* The note is rounded and may lag behind; the cached is not. */
T_TEST("how long a job was held is kept exactly")
{
	struct np_job_cache *cache;
	slurm_job_info_t *j;
	struct np_job_snapshot v;

	T_CHECK(!np_job_cache_new(&cache));
	j = some_job(&ctld, 7, "loud");
	j->admin_comment = (char *)"netprof{held=30}";
	T_CHECK(!some_jobs(&ctld, cache, NULL, 0, &v));
	T_CHECK(v.snapshot->job[0].held_sec == 30);
	np_job_snapshot_free(&v);
	np_job_cache_find(cache, 7)->held_sec = 44;
	T_CHECK(!some_jobs(&ctld, cache, NULL, 0, &v));
	T_CHECK(v.snapshot->job[0].held_sec == 44);
	np_job_snapshot_free(&v);
	np_job_cache_free(cache);
}

/*
 * Job 7 is kept off a leaf of a full machine where another one just started;
 * that counts as holding it back if the other one was behind.
 */
static const struct {
	const char *name;
	uint32_t other;
	double held_sec;
} started[] = {
	{ "a job ahead of it took the leaf", 6, 0 },
	{ "a job behind it took the leaf", 8, 2 },
};

T_TEST("who was overtaken was held back")
{
	T_EACH(r, started) {
		struct np_placement *p;
		slurm_job_info_t *j;
		struct np_job_snapshot v;

		some_slurm_begin();
		for (int k = 0; k < SOME_NODES; k++)
			ctld.node[k].node_state = NODE_STATE_ALLOCATED;
		j = some_job(&ctld, 7, "loud");
		j->admin_comment = (char *)"netprof{ours=n[0-3] held=0}";
		some_exclude(&ctld, j, "n[0-3]");
		j = some_job(&ctld, r->other, "quiet");
		some_run(&ctld, j, "n0");
		j->start_time = SOME_NOW - 1;
		T_ROW(r->name, !some_jobs(&ctld, NULL, NULL, 0, &v));
		p = some_decision(&v);
		T_ROW(r->name, np_outcome_of(p, 0)->held_sec == r->held_sec);
		np_placement_free(p);
		np_job_snapshot_free(&v);
	}
}

#include "t.h"
#include "np_apply.h"
#include "some_slurm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LATER (SOME_NOW + 60)

static const uint64_t open1 = 0x2, /* leaf1 alone */ all_open = 0xf;
#define BUT1 "n[0-3,8-15]"

/* clang-format off */
#define NOTHING { .action = NP_ACT_NONE }
/* clang-format on */
#define UNRESTRICTED .action = NP_ACT_UNRESTRICTED, .applied = true
#define RESTRICT(open) \
	.action = NP_ACT_RESTRICT, .applied = true, .leaves = (open)
#define HOLD(sec) .action = NP_ACT_HOLD, .applied = true, .until_sec = (sec)

static const struct {
	const char *name;
	const char *comment, *exc; /* what stands there */
	int64_t eligible;	   /* 0: past */
	struct np_outcome outcome;
	bool force;
	int rc;
	const char *want_exc, *want_comment; /* NULL: not touched */
	int64_t want_begin;		     /* 0: not touched */
	const char *ours;
} rows[] = {
	{ "nothing, in a job with nothing", NULL, "", 0, NOTHING, false, 0,
	  NULL, NULL, 0, NULL },
	{ "nothing, in a job with a comment of others", " ticket  5 ", "n1",
	  LATER, NOTHING, false, 0, NULL, NULL, 0, NULL },
	{ "anywhere",
	  NULL,
	  "",
	  0,
	  { UNRESTRICTED },
	  false,
	  1,
	  NULL,
	  "netprof{held=0}",
	  0,
	  NULL },
	{ "anywhere, again",
	  "netprof{held=0}",
	  "",
	  0,
	  { UNRESTRICTED },
	  false,
	  0,
	  NULL,
	  NULL,
	  0,
	  NULL },
	{ "anywhere, with a user's list",
	  "netprof{app=x}",
	  "n3",
	  0,
	  { UNRESTRICTED },
	  false,
	  1,
	  NULL,
	  "netprof{app=x user=n3 held=0}",
	  0,
	  NULL },
	{ "restricted",
	  "ticket 5 netprof{app=loud}",
	  "",
	  0,
	  { RESTRICT(&open1), .held_sec = 50 },
	  false,
	  1,
	  BUT1,
	  "ticket 5 netprof{app=loud ours=" BUT1 " held=50}",
	  0,
	  BUT1 },
	{ "restricted in addition to a user's list",
	  NULL,
	  "n[5-6]",
	  0,
	  { RESTRICT(&open1) },
	  false,
	  1,
	  "n[5-6]," BUT1,
	  "netprof{user=n[5-6] ours=" BUT1 " held=0}",
	  0,
	  BUT1 },
	{ "a user's list stays as he wrote it",
	  "netprof{user=n6,n5 held=0}",
	  "n[5-6]",
	  0,
	  { RESTRICT(&open1) },
	  false,
	  1,
	  "n6,n5," BUT1,
	  "netprof{user=n6,n5 ours=" BUT1 " held=0}",
	  0,
	  BUT1 },
	{ "restricted as it was",
	  "netprof{ours=" BUT1 " held=0}",
	  "n[0-3,8-15]",
	  0,
	  { RESTRICT(&open1) },
	  false,
	  0,
	  NULL,
	  NULL,
	  0,
	  BUT1 },
	{ "restricted to all is anywhere",
	  "netprof{held=0}",
	  "",
	  0,
	  { RESTRICT(&all_open) },
	  false,
	  0,
	  NULL,
	  NULL,
	  0,
	  NULL },
	{ "somebody removed ours",
	  "netprof{ours=" BUT1 " held=0}",
	  "",
	  0,
	  { RESTRICT(&open1) },
	  false,
	  1,
	  BUT1,
	  "netprof{ours=" BUT1 " held=0}",
	  0,
	  BUT1 },
	{ "wider",
	  "netprof{user=n5 ours=" BUT1 " held=0}",
	  "n[0-3,5,8-15]",
	  0,
	  { UNRESTRICTED },
	  false,
	  1,
	  "n5",
	  "netprof{user=n5 held=0}",
	  0,
	  NULL },
	{ "wider, and nothing is the user's",
	  "netprof{ours=" BUT1 " held=0}",
	  "n[0-3,8-15]",
	  0,
	  { UNRESTRICTED },
	  false,
	  1,
	  "",
	  "netprof{held=0}",
	  0,
	  NULL },
	{ "held a little longer",
	  "netprof{held=40}",
	  "",
	  0,
	  { UNRESTRICTED, .held_sec = 69 },
	  false,
	  0,
	  NULL,
	  NULL,
	  0,
	  NULL },
	{ "held much longer",
	  "netprof{held=40}",
	  "",
	  0,
	  { UNRESTRICTED, .held_sec = 70.4 },
	  false,
	  1,
	  NULL,
	  "netprof{held=70}",
	  0,
	  NULL },
	{ "not held any more",
	  "netprof{held=10}",
	  "",
	  0,
	  { UNRESTRICTED },
	  false,
	  1,
	  NULL,
	  "netprof{held=0}",
	  0,
	  NULL },
	{ "held",
	  NULL,
	  "",
	  0,
	  { HOLD(LATER) },
	  false,
	  1,
	  NULL,
	  "netprof{until=1000060 held=0}",
	  LATER,
	  NULL },
	{ "held, again",
	  "netprof{until=1000060 held=0}",
	  "",
	  LATER,
	  { HOLD(LATER) },
	  false,
	  0,
	  NULL,
	  NULL,
	  0,
	  NULL },
	{ "held for longer",
	  "netprof{until=1000060 held=0}",
	  "",
	  LATER,
	  { HOLD(LATER + 30) },
	  false,
	  1,
	  NULL,
	  "netprof{until=1000090 held=0}",
	  LATER + 30,
	  NULL },
	{ "held, with his own begin time",
	  NULL,
	  "",
	  LATER - 30,
	  { HOLD(LATER) },
	  false,
	  1,
	  NULL,
	  "netprof{until=1000060 begin=1000030 held=0}",
	  LATER,
	  NULL },
	{ "held, and what was closed is open",
	  "netprof{ours=" BUT1 " held=0}",
	  "n[0-3,8-15]",
	  0,
	  { HOLD(LATER) },
	  false,
	  1,
	  "",
	  "netprof{until=1000060 held=0}",
	  LATER,
	  NULL },
	{ "leaves instead of a hold",
	  "netprof{until=1000060 held=0}",
	  "",
	  LATER,
	  { RESTRICT(&open1) },
	  false,
	  1,
	  BUT1,
	  "netprof{ours=" BUT1 " held=0}",
	  SOME_NOW,
	  BUT1 },
	{ "leaves, and his own begin time again",
	  "netprof{until=1000060 begin=1000030 held=0}",
	  "",
	  LATER,
	  { RESTRICT(&open1) },
	  false,
	  1,
	  BUT1,
	  "netprof{ours=" BUT1 " held=0}",
	  LATER - 30,
	  BUT1 },
	{ "his own begin time is not ours to change",
	  "netprof{held=0}",
	  "",
	  LATER,
	  { UNRESTRICTED },
	  false,
	  0,
	  NULL,
	  NULL,
	  0,
	  NULL },
	{ "let go of", "netprof{user=n5 ours=" BUT1 " held=0}", "n[0-3,5,8-15]",
	  0, NOTHING, false, 1, "n5", "", 0, NULL },
	{ "let go of, with the text of others",
	  "a netprof{until=1000060 held=0} b", "", LATER, NOTHING, false, 1,
	  NULL, "a b", SOME_NOW, NULL },
	{ "let go of, and still named", "netprof{app=loud held=5}", "", 0,
	  NOTHING, false, 1, NULL, "netprof{app=loud}", 0, NULL },
	{ "a damaged note is replaced",
	  "a netprof{what?} b",
	  "",
	  0,
	  { UNRESTRICTED },
	  false,
	  1,
	  NULL,
	  "a netprof{held=0} b",
	  0,
	  NULL },
	{ "all of it, for a task",
	  "netprof{user=n5 held=0}",
	  "n5",
	  0,
	  { RESTRICT(&open1) },
	  true,
	  1,
	  "n5," BUT1,
	  "netprof{user=n5 ours=" BUT1 " held=0}",
	  SOME_NOW,
	  BUT1 },
	{ "all of it, for a task that may go anywhere",
	  "netprof{held=0}",
	  "",
	  0,
	  { UNRESTRICTED },
	  true,
	  1,
	  "",
	  "netprof{held=0}",
	  SOME_NOW,
	  NULL },
	{ "all of it, and his own begin time",
	  "netprof{until=1000060 "
	  "begin=1000030 held=0}",
	  "",
	  LATER,
	  { UNRESTRICTED },
	  true,
	  1,
	  "",
	  "netprof{held=0}",
	  LATER - 30,
	  NULL },
};

static void set(struct some_slurm *s, slurm_job_info_t *j, const char *exc,
		const char *comment, int64_t eligible)
{
	some_exclude(s, j, exc);
	j->admin_comment = (char *)comment;
	if (eligible)
		j->eligible_time = eligible;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* What was written is what is wanted: nothing more to write. */
static void again(size_t i, struct some_slurm *s, slurm_job_info_t *j,
		  const struct np_update *u)
{
	struct np_update next;
	struct np_job_snapshot v;

	if (u->exc_nodes)
		some_exclude(s, j, u->exc_nodes);
	if (u->comment)
		j->admin_comment = u->comment;
	if (u->begin_sec)
		j->eligible_time = u->begin_sec;
	T_ROW(rows[i].name, !some_jobs(s, NULL, NULL, 0, &v));
	T_ROW(rows[i].name,
	      !np_update_make(&v, 0, &rows[i].outcome, false, &next));
	T_ROW(rows[i].name, !next.exc_nodes && !next.comment &&
				    !next.begin_sec &&
				    same(next.ours, rows[i].ours));
	np_update_clear(&next);
	np_job_snapshot_free(&v);
}

T_TEST("what is written for an outcome, and that once")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_update u;
		struct some_slurm s;
		slurm_job_info_t *j;
		struct np_job_snapshot v;
		int rc;

		some_slurm(&s);
		j = some_job(&s, 7, "loud");
		set(&s, j, rows[i].exc, rows[i].comment, rows[i].eligible);
		T_ROW(rows[i].name, !some_jobs(&s, NULL, NULL, 0, &v));
		rc = np_update_make(&v, 0, &rows[i].outcome, rows[i].force, &u);
		T_ROW(rows[i].name, rc == rows[i].rc);
		T_ROW(rows[i].name, same(u.exc_nodes, rows[i].want_exc));
		/* With anything goes the note, for np_modify() to know it. */
		T_ROW(rows[i].name, same(u.comment, rows[i].want_comment));
		T_ROW(rows[i].name, u.begin_sec == rows[i].want_begin);
		T_ROW(rows[i].name, same(u.ours, rows[i].ours));
		np_job_snapshot_free(&v);
		again(i, &s, j, &u);
		np_update_clear(&u);
		some_slurm_free(&s);
	}
}

static const struct {
	const char *name;
	int error;
	bool too_late;
} errors[] = {
	{ "no error", 0, false },
	{ "the job started", ESLURM_JOB_NOT_PENDING, true },
	{ "slurmctld no longer knows the job", ESLURM_INVALID_JOB_ID, true },
	{ "the job ended", ESLURM_JOB_FINISHED, true },
	{ "the job is ending", ESLURM_ALREADY_DONE, true },
	{ "not allowed", ESLURM_ACCESS_DENIED, false },
	{ "a user changed the job", EAGAIN, false },
};

T_TEST("errors of an update of a job that started or ended")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(errors); i++)
		T_ROW(errors[i].name, np_update_too_late(errors[i].error) ==
					      errors[i].too_late);
}

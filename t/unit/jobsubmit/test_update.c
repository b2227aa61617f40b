#include "t.h"
#include "np_apply.h"
#include "some_slurm.h"

#define LATER (SOME_NOW + 60)

static const uint64_t open1 = 0x2, /* leaf1 alone */ all_open = 0xf;
#define BUT1 "n[0-3,8-15]"

#define OUTCOME(act) .outcome.action = (act), .outcome.applied = true
#define UNRESTRICTED OUTCOME(NP_ACT_UNRESTRICTED)
#define RESTRICT(open) OUTCOME(NP_ACT_RESTRICT), .outcome.leaves = (open)
#define HOLD(sec) OUTCOME(NP_ACT_HOLD), .outcome.until_sec = (sec)

/* What is not named is 0, NULL or false; an outcome that is not is none. */
static const struct {
	const char *name;
	const char *comment, *exc; /* of the job before */
	int64_t eligible;	   /* 0: past */
	struct np_outcome outcome;
	bool force;
	int rc;
	const char *want_exc, *want_comment; /* NULL: not touched */
	int64_t want_begin;		     /* 0: not touched */
	const char *ours;
} rows[] = {
	{ "nothing, in a job with nothing" },
	{ "nothing, in a job with a comment of others",
	  .comment = " ticket  5 ", .exc = "n1", .eligible = LATER },
	{ "anywhere", UNRESTRICTED, .rc = 1,
	  .want_comment = "netprof{held=0}" },
	{ "anywhere, again", .comment = "netprof{held=0}", UNRESTRICTED },
	{ "anywhere, with a user's list", .comment = "netprof{app=x}",
	  .exc = "n3", UNRESTRICTED, .rc = 1,
	  .want_comment = "netprof{app=x user=n3 held=0}" },
	{ "restricted", .comment = "ticket 5 netprof{app=loud}",
	  RESTRICT(&open1), .outcome.held_sec = 50, .rc = 1, .want_exc = BUT1,
	  .want_comment = "ticket 5 netprof{app=loud ours=" BUT1 " held=50}",
	  .ours = BUT1 },
	{ "restricted in addition to a user's list", .exc = "n[5-6]",
	  RESTRICT(&open1), .rc = 1, .want_exc = "n[5-6]," BUT1,
	  .want_comment = "netprof{user=n[5-6] ours=" BUT1 " held=0}",
	  .ours = BUT1 },
	{ "a user's list stays as he wrote it",
	  .comment = "netprof{user=n6,n5 held=0}", .exc = "n[5-6]",
	  RESTRICT(&open1), .rc = 1, .want_exc = "n6,n5," BUT1,
	  .want_comment = "netprof{user=n6,n5 ours=" BUT1 " held=0}",
	  .ours = BUT1 },
	{ "restricted as it was", .comment = "netprof{ours=" BUT1 " held=0}",
	  .exc = "n[0-3,8-15]", RESTRICT(&open1), .ours = BUT1 },
	{ "restricted to all is anywhere", .comment = "netprof{held=0}",
	  RESTRICT(&all_open) },
	{ "somebody removed ours", .comment = "netprof{ours=" BUT1 " held=0}",
	  RESTRICT(&open1), .rc = 1, .want_exc = BUT1,
	  .want_comment = "netprof{ours=" BUT1 " held=0}", .ours = BUT1 },
	{ "wider", .comment = "netprof{user=n5 ours=" BUT1 " held=0}",
	  .exc = "n[0-3,5,8-15]", UNRESTRICTED, .rc = 1, .want_exc = "n5",
	  .want_comment = "netprof{user=n5 held=0}" },
	{ "wider, and nothing is the user's",
	  .comment = "netprof{ours=" BUT1 " held=0}", .exc = "n[0-3,8-15]",
	  UNRESTRICTED, .rc = 1, .want_exc = "",
	  .want_comment = "netprof{held=0}" },
	{ "held a little longer", .comment = "netprof{held=40}", UNRESTRICTED,
	  .outcome.held_sec = 69 },
	{ "held much longer", .comment = "netprof{held=40}", UNRESTRICTED,
	  .outcome.held_sec = 70.4, .rc = 1,
	  .want_comment = "netprof{held=70}" },
	{ "not held any more", .comment = "netprof{held=10}", UNRESTRICTED,
	  .rc = 1, .want_comment = "netprof{held=0}" },
	{ "held", HOLD(LATER), .rc = 1,
	  .want_comment = "netprof{until=1000060 held=0}",
	  .want_begin = LATER },
	{ "held, again", .comment = "netprof{until=1000060 held=0}",
	  .eligible = LATER, HOLD(LATER) },
	{ "held for longer", .comment = "netprof{until=1000060 held=0}",
	  .eligible = LATER, HOLD(LATER + 30), .rc = 1,
	  .want_comment = "netprof{until=1000090 held=0}",
	  .want_begin = LATER + 30 },
	{ "held, with his own begin time", .eligible = LATER - 30, HOLD(LATER),
	  .rc = 1,
	  .want_comment = "netprof{until=1000060 begin=1000030 held=0}",
	  .want_begin = LATER },
	{ "held, and what was closed is open",
	  .comment = "netprof{ours=" BUT1 " held=0}", .exc = "n[0-3,8-15]",
	  HOLD(LATER), .rc = 1, .want_exc = "",
	  .want_comment = "netprof{until=1000060 held=0}",
	  .want_begin = LATER },
	{ "leaves instead of a hold",
	  .comment = "netprof{until=1000060 held=0}", .eligible = LATER,
	  RESTRICT(&open1), .rc = 1, .want_exc = BUT1,
	  .want_comment = "netprof{ours=" BUT1 " held=0}",
	  .want_begin = SOME_NOW, .ours = BUT1 },
	{ "leaves, and his own begin time again",
	  .comment = "netprof{until=1000060 begin=1000030 held=0}",
	  .eligible = LATER, RESTRICT(&open1), .rc = 1, .want_exc = BUT1,
	  .want_comment = "netprof{ours=" BUT1 " held=0}",
	  .want_begin = LATER - 30, .ours = BUT1 },
	{ "his own begin time is not ours to change",
	  .comment = "netprof{held=0}", .eligible = LATER, UNRESTRICTED },
	{ "let go of", .comment = "netprof{user=n5 ours=" BUT1 " held=0}",
	  .exc = "n[0-3,5,8-15]", .rc = 1, .want_exc = "n5",
	  .want_comment = "" },
	{ "let go of, with the text of others",
	  .comment = "a netprof{until=1000060 held=0} b", .eligible = LATER,
	  .rc = 1, .want_comment = "a b", .want_begin = SOME_NOW },
	{ "let go of, and still named", .comment = "netprof{app=loud held=5}",
	  .rc = 1, .want_comment = "netprof{app=loud}" },
	{ "a damaged note is replaced", .comment = "a netprof{what?} b",
	  UNRESTRICTED, .rc = 1, .want_comment = "a netprof{held=0} b" },
	{ "all of it, for a task", .comment = "netprof{user=n5 held=0}",
	  .exc = "n5", RESTRICT(&open1), .force = true, .rc = 1,
	  .want_exc = "n5," BUT1,
	  .want_comment = "netprof{user=n5 ours=" BUT1 " held=0}",
	  .want_begin = SOME_NOW, .ours = BUT1 },
	{ "all of it, for a task that is unrestricted",
	  .comment = "netprof{held=0}", UNRESTRICTED, .force = true, .rc = 1,
	  .want_exc = "", .want_comment = "netprof{held=0}",
	  .want_begin = SOME_NOW },
	{ "all of it, and his own begin time",
	  .comment = "netprof{until=1000060 begin=1000030 held=0}",
	  .eligible = LATER, UNRESTRICTED, .force = true, .rc = 1,
	  .want_exc = "", .want_comment = "netprof{held=0}",
	  .want_begin = LATER - 30 },
};

static void set(struct some_slurm *s, slurm_job_info_t *j, const char *exc,
		const char *comment, int64_t eligible)
{
	some_exclude(s, j, exc ? exc : "");
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
	T_EACH(r, errors)
		T_ROW(r->name, np_update_too_late(r->error) == r->too_late);
}

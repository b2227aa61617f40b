#include "t.h"
#include "np_shared.h"
#include "some_slurm.h"

#define UNTIL (SOME_NOW + 60)
#define ALL NP_CHANGE_ALL

/* Job 7 is restricted, 8 held, 9 task 2 of array 6, restricted as well. */
static struct np_shared *new_shared(void)
{
	struct np_written *w = calloc(3, sizeof(*w));
	struct np_shared *d = NULL;
	struct np_conf conf;

	np_conf_init(&conf);
	T_CHECK(!np_shared_new(&conf, &d));
	w[0] = (struct np_written){ .id = 7, .ours = strdup("n[0-3]") };
	w[1] = (struct np_written){ .id = 8, .until_sec = UNTIL };
	w[2] = (struct np_written){
		.id = 9, .array = 6, .task = 2, .ours = strdup("n[4-7]")
	};
	np_shared_set_written(d, w, 3);
	return d;
}

static void describe(job_desc_msg_t *d, const char *id, const char *exc,
		     int64_t begin, const char *comment)
{
	slurm_init_job_desc_msg(d);
	some_text(&d->job_id_str, id);
	some_text(&d->exc_nodes, exc);
	some_text(&d->admin_comment, comment);
	d->begin_time = begin;
}

static void forget(job_desc_msg_t *d)
{
	some_text(&d->job_id_str, NULL);
	some_text(&d->exc_nodes, NULL);
	some_text(&d->admin_comment, NULL);
}

#define CHANGE(job, of_task) .want.id = (job), .want.task = (of_task)

static const struct {
	const char *name, *id, *exc;
	int64_t begin;
	const char *comment;
	/* what is handed on, and what is remembered */
	const char *put;
	int64_t put_begin;
	struct np_change want; /* id 0: none */
	bool woken;
} rows[] = {
	{ "a job that placement did not touch", "7" },
	{ "a list: ours is put behind it", "7", .exc = "n8,n9",
	  .put = "n8,n9,n[0-3]", CHANGE(7, ALL),
	  .want.exc_nodes = (char *)"n8,n9", .woken = true },
	{ "no list any more", "7", .exc = "", .put = "n[0-3]", CHANGE(7, ALL),
	  .want.exc_nodes = (char *)"", .woken = true },
	{ "a list that contains ours already", "7", .exc = "n8,n[0-3]",
	  .put = "n8,n[0-3]", CHANGE(7, ALL), .want.exc_nodes = (char *)"n8",
	  .woken = true },
	{ "what we wrote, alone", "7", .exc = "n[0-3]", .put = "n[0-3]",
	  CHANGE(7, ALL), .want.exc_nodes = (char *)"", .woken = true },
	{ "a list that ends like ours", "7", .exc = "xn[0-3]",
	  .put = "xn[0-3],n[0-3]", CHANGE(7, ALL),
	  .want.exc_nodes = (char *)"xn[0-3]", .woken = true },
	{ "a list for a job that we did not write to", "5", .exc = "n8",
	  .put = "n8", CHANGE(5, ALL), .want.exc_nodes = (char *)"n8",
	  .woken = true },
	{ "a list for one that waits", "8", .exc = "n8", .put = "n8",
	  CHANGE(8, ALL), .want.exc_nodes = (char *)"n8", .woken = true },
	{ "a task", "6_2", .exc = "n8", .put = "n8,n[4-7]", CHANGE(6, 2),
	  .want.exc_nodes = (char *)"n8", .woken = true },
	{ "tasks", "6_[1-3]", .exc = "n8", .put = "n8", CHANGE(6, ALL),
	  .want.exc_nodes = (char *)"n8", .woken = true },
	{ "a begin time before the hold ends", "8", .begin = UNTIL - 9,
	  .put_begin = UNTIL, CHANGE(8, ALL), .want.begin_sec = UNTIL - 9,
	  .woken = true },
	{ "a begin time behind it", "8", .begin = UNTIL + 9,
	  .put_begin = UNTIL + 9, CHANGE(8, ALL), .want.begin_sec = UNTIL + 9,
	  .woken = true },
	{ "the begin time that is set", "8", .begin = UNTIL, .put_begin = UNTIL,
	  .woken = true },
	{ "a begin time of a job that does not wait", "7", .begin = UNTIL - 9,
	  .put_begin = UNTIL - 9, CHANGE(7, ALL), .want.begin_sec = UNTIL - 9,
	  .woken = true },
	{ "both", "7", .exc = "n8", .begin = UNTIL, .put = "n8,n[0-3]",
	  .put_begin = UNTIL, CHANGE(7, ALL), .want.exc_nodes = (char *)"n8",
	  .want.begin_sec = UNTIL, .woken = true },
	{ "a comment: the thread looks after its note", "7",
	  .comment = "ticket", .woken = true },
	{ "no number", "x", .exc = "n8", .put = "n8" },
	{ "a number too large", "99999999999", .exc = "n8", .put = "n8" },
};

T_TEST("what becomes of a change")
{
	T_EACH(r, rows) {
		struct np_shared *shared = new_shared();
		struct np_change *c;
		job_desc_msg_t d;
		size_t n;

		describe(&d, r->id, r->exc, r->begin, r->comment);
		T_ROW(r->name, !np_modify(shared, &d, SOME_UID));
		T_ROW(r->name, some_same(d.exc_nodes, r->put));
		T_ROW(r->name, d.begin_time == r->put_begin);
		T_ROW(r->name, some_same(d.admin_comment, r->comment));
		T_ROW(r->name, np_shared_wait(shared, 0) == r->woken);
		c = np_shared_take_changes(shared, &n);
		T_ROW(r->name, n == (r->want.id != 0));
		if (n) {
			const struct np_change *w = &r->want;

			T_ROW(r->name, c->id == w->id && c->task == w->task &&
					       c->uid == SOME_UID);
			T_ROW(r->name,
			      !c->exc_nodes == !w->exc_nodes &&
				      some_same(c->exc_nodes, w->exc_nodes));
			T_ROW(r->name, some_same(c->passed_on, r->put));
			T_ROW(r->name, c->begin_sec == w->begin_sec);
			T_ROW(r->name, c->passed_on_begin_sec == r->put_begin);
		}
		np_change_list_free(c, n);
		forget(&d);
		np_shared_free(shared);
	}
}

/* Since Slurm 26.05 a job may be named by its SLUID. */
static const struct {
	const char *name, *id, *put;
	uint32_t want; /* id of the job whose change is recorded; 0: none */
} sluids[] = {
	{ "a job", "s000000000001Z", "n8,n[0-3]", 7 },
	{ "in small letters", "s000000000001z", "n8,n[0-3]", 7 },
	{ "with letters for digits", "soooooooooooLz", "n8,n[0-3]", 7 },
	{ "the first record of an array", "s0000000000020", "n8", 6 },
	{ "the largest", "sFZZZZZZZZZZZZ", "n8", 5 },
	{ "one that is not known", "s0000000000022", "n8", 0 },
	{ "no digit", "s000000000001U", "n8", 0 },
	{ "too short", "s00000000001Z", "n8", 0 },
	{ "too long", "s0000000000001Z", "n8", 0 },
};

T_TEST("jobs that are named by their SLUID")
{
	T_EACH(r, sluids) {
		struct np_owner *o = calloc(4, sizeof(*o));
		struct np_shared *shared = new_shared();
		struct np_change *c;
		job_desc_msg_t d;
		size_t n;

		o[0] = (struct np_owner){ .id = 7, .sluid = 63 };
		o[1] = (struct np_owner){ .id = 6, .sluid = 64 };
		o[2] = (struct np_owner){ .id = 6 }; /* a task's array */
		o[3] = (struct np_owner){ .id = 5, .sluid = UINT64_MAX };
		for (size_t i = 0; i < 4; i++)
			o[i].uid = SOME_UID;
		np_shared_set_owners(shared, o, 4);
		describe(&d, r->id, "n8", 0, NULL);
		T_ROW(r->name, !np_modify(shared, &d, SOME_UID));
		T_ROW(r->name, some_same(d.exc_nodes, r->put));
		c = np_shared_take_changes(shared, &n);
		T_ROW(r->name, n == (r->want != 0));
		if (n)
			T_ROW(r->name, c->id == r->want && c->task == ALL &&
					       some_same(c->exc_nodes, "n8") &&
					       some_same(c->passed_on, r->put));
		np_change_list_free(c, n);
		forget(&d);
		np_shared_free(shared);
	}
}

/* slurmctld calls for every record of an array, with one description. */
T_TEST("an array's change counts once")
{
	struct np_shared *shared = new_shared();
	struct np_change *c;
	job_desc_msg_t d;
	size_t n;

	describe(&d, "7", "n8", 0, NULL);
	T_CHECK(!np_modify(shared, &d, SOME_UID));
	T_CHECK(!np_modify(shared, &d, SOME_UID));
	T_CHECK(!np_modify(shared, &d, SOME_UID));
	T_CHECK(some_same(d.exc_nodes, "n8,n[0-3]"));
	forget(&d);
	describe(&d, "8", NULL, UNTIL - 9, NULL);
	T_CHECK(!np_modify(shared, &d, SOME_UID));
	T_CHECK(!np_modify(shared, &d, SOME_UID));
	T_CHECK(d.begin_time == UNTIL);
	forget(&d);
	c = np_shared_take_changes(shared, &n);
	T_CHECK(n == 2 && some_same(c[0].exc_nodes, "n8") &&
		some_same(c[0].passed_on, "n8,n[0-3]") &&
		c[1].begin_sec == UNTIL - 9);
	np_change_list_free(c, n);
	np_shared_free(shared);
}

/* Slurm asks us before it looks who asks. */
static const struct {
	const char *name;
	uint32_t uid;
	size_t length; /* of the list; 0: a short one */
	size_t n;
	bool ours, woken;
} others[] = {
	{ "the owner's is remembered", SOME_UID, 0, 1, true, true },
	{ "another user's is not", SOME_UID + 1, 0, 0, true, false },
	{ "root's is", 0, 0, 1, true, true },
	{ "the longest that is", SOME_UID, NP_CHANGES_MAX_LIST, 1, true, true },
	{ "one that is too long is not", SOME_UID, NP_CHANGES_MAX_LIST + 1, 0,
	  false, true },
	{ "another user's that is too long", SOME_UID + 1,
	  NP_CHANGES_MAX_LIST + 1, 0, false, false },
};

T_TEST("changes by other users and administrators")
{
	static char list[NP_CHANGES_MAX_LIST + 2];

	T_EACH(r, others) {
		struct np_owner *o = calloc(1, sizeof(*o));
		struct np_shared *shared = new_shared();
		struct np_change *c;
		job_desc_msg_t d;
		size_t n;

		*o = (struct np_owner){ .id = 7, .uid = SOME_UID };
		np_shared_set_owners(shared, o, 1);
		memset(list, 'n', sizeof(list));
		list[r->length] = '\0';
		describe(&d, "7", r->length ? list : "n8", 0, NULL);
		T_ROW(r->name, !np_modify(shared, &d, r->uid));
		T_ROW(r->name, !strstr(d.exc_nodes, "n[0-3]") != r->ours);
		T_ROW(r->name, np_shared_wait(shared, 0) == r->woken);
		c = np_shared_take_changes(shared, &n);
		T_ROW(r->name, n == r->n);
		np_change_list_free(c, n);
		forget(&d);
		np_shared_free(shared);
	}
}

#define NOTE "netprof{held=0}"

static const struct {
	const char *name;
	uint32_t uid_plus; /* to that of this process, which is slurmctld's */
	const char *id, *exc, *comment;
	bool sending, overtaken, lost; /* lost: an update got no answer */
	int rc;
	size_t n; /* changes of others */
} own[] = {
	{ "the thread's update", 0, "7", "n1", NOTE, true, false, false, 0, 0 },
	{ "as another plugin has changed it", 0, "7", "n1,n2", "seen " NOTE,
	  true, false, false, 0, 0 },
	{ "an older one of the same job", 0, "7", "n1", "netprof{held=30}",
	  true, false, true, EAGAIN, 0 },
	{ "an update that a user has overtaken", 0, "7", "n1", NOTE, true, true,
	  false, EAGAIN, 0 },
	{ "another user's, just like it", 1, "7", "n1", NOTE, true, false,
	  false, 0, 1 },
	{ "an administrator's list", 0, "7", "n2", "", true, false, false, 0,
	  1 },
	{ "another job", 0, "8", "n1", "", true, false, false, 0, 1 },
	{ "an update that is expected no more", 0, "7", "n1", NOTE, false,
	  false, true, EAGAIN, 0 },
	{ "a tool of SlurmUser that keeps the annotation", 0, "7", NULL,
	  NOTE " ticket", false, false, false, 0, 0 },
	{ "netprof release", 0, "7", "", "", false, false, false, 0, 1 },
};

T_TEST("the thread's own updates are known")
{
	const struct np_sending s = { 7, 0, ALL, SOME_UID, "n1", NOTE };

	T_EACH(r, own) {
		struct np_shared *shared = new_shared();
		struct np_change *c;
		job_desc_msg_t d;
		size_t n;

		if (r->overtaken) {
			describe(&d, "7", "n5", 0, NULL);
			T_CHECK(!np_modify(shared, &d, SOME_UID));
			forget(&d);
		}
		if (r->lost)
			np_shared_expect_late(shared);
		np_shared_set_sending(shared, r->sending ? &s : NULL);
		describe(&d, r->id, r->exc, 0, r->comment);
		T_ROW(r->name,
		      np_modify(shared, &d, geteuid() + r->uid_plus) == r->rc);
		np_shared_set_sending(shared, NULL);
		c = np_shared_take_changes(shared, &n);
		T_ROW(r->name, n == r->n + r->overtaken);
		if (!r->n)
			T_ROW(r->name, some_same(d.exc_nodes, r->exc));
		np_change_list_free(c, n);
		forget(&d);
		np_shared_free(shared);
	}
}

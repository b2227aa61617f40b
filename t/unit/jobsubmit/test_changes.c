#include "t.h"
#include "np_shared.h"
#include "some_slurm.h"

#define ALL NP_CHANGE_ALL
#define OTHER_USER (SOME_UID + 1)

static struct np_changes *new_table(void)
{
	struct np_changes *t = NULL;

	T_CHECK(!np_changes_new(&t));
	return t;
}

static bool put(struct np_changes *t, uint32_t id, uint32_t task, uint32_t uid,
		const char *list)
{
	const struct np_change c = {
		.id = id,
		.task = task,
		.uid = uid,
		.exc_nodes = strdup(list),
		.passed_on = strdup(list),
	};

	return np_changes_put(t, &c);
}

/* A different list each time. */
static size_t put_many(struct np_changes *t, uint32_t first, uint32_t n_jobs,
		       uint32_t uid, size_t times)
{
	size_t taken = 0;
	char list[32];

	for (size_t i = 0; i < times; i++) {
		snprintf(list, sizeof(list), "n%zu", i);
		taken += put(t, first + i % n_jobs, ALL, uid, list);
	}
	return taken;
}

/* Jobs 8 and 9 are somebody's. */
static void know(struct np_changes *t, uint32_t uid)
{
	struct np_owner *o = calloc(2, sizeof(*o));

	o[0] = (struct np_owner){ .id = 9, .uid = uid };
	o[1] = (struct np_owner){ .id = 8, .uid = uid };
	np_changes_set_owners(t, o, 2);
}

static size_t take(struct np_changes *t)
{
	size_t n;
	struct np_change *c = np_changes_take(t, &n);

	np_change_list_free(c, n);
	return n;
}

T_TEST("changes are handed over, each once")
{
	struct np_changes *t = new_table();
	struct np_change *c;
	size_t n;

	T_CHECK(!take(t));
	put(t, 2, ALL, 5, "n1");
	put(t, 1, 7, 5, "n1");
	put(t, 1, 3, 5, "n1");
	c = np_changes_take(t, &n);
	T_CHECK(n == 3 && c[0].id == 2 && c[1].id == 1 && c[1].task == 7 &&
		c[2].id == 1 && c[2].task == 3);
	T_CHECK(!take(t));
	put(t, 3, ALL, 5, "n1");
	np_changes_return(t, c, n);
	T_ROW("those that were returned as well", take(t) == 4);
	np_changes_return(t, NULL, 0);
	T_CHECK(!take(t));
	np_changes_free(t);
}

/* What stands in the table after many different changes. */
static const struct {
	const char *name;
	uint32_t n_jobs, uid;
	size_t times, want;
} floods[] = {
	{ "a user changes one job", 1, SOME_UID, 5000, NP_CHANGES_OF_JOB },
	{ "a user changes many jobs", 5000, SOME_UID, 5000,
	  NP_CHANGES_OF_USER },
	{ "root changes one job", 1, 0, 5000, NP_CHANGES_OF_JOB },
	{ "root changes many jobs", 5000, 0, 5000, NP_CHANGES_MAX },
};

T_TEST("however many there are, few are kept")
{
	T_EACH(r, floods) {
		struct np_changes *t = new_table();

		put_many(t, 100, r->n_jobs, r->uid, r->times);
		T_ROW(r->name, take(t) == r->want);
		np_changes_free(t);
	}
}

T_TEST("nobody takes the room of others")
{
	struct np_changes *t = new_table();
	uint32_t uid;

	put_many(t, 100, 1000, OTHER_USER, 1000);
	T_CHECK(put(t, 7, ALL, SOME_UID, "n1"));
	T_CHECK(put(t, 8, ALL, 0, "n1"));
	T_ROW("the message says how many and whose",
	      np_changes_take_missed(t, &uid) == 1000 - NP_CHANGES_OF_USER &&
		      uid == OTHER_USER);
	T_ROW("once", !np_changes_take_missed(t, &uid));
	np_changes_free(t);
}

T_TEST("nor do many users take all of it")
{
	struct np_changes *t = new_table();

	for (uint32_t uid = 100; uid < 110; uid++)
		put_many(t, 100, 1000, uid, 1000);
	T_CHECK(put(t, 7, ALL, SOME_UID, "n1"));
	np_changes_free(t);
}

T_TEST("nor their memory")
{
	struct np_changes *t = new_table();
	char *list = malloc(NP_CHANGES_MAX_LIST);
	size_t taken = 0;

	memset(list, 'n', NP_CHANGES_MAX_LIST - 1);
	list[NP_CHANGES_MAX_LIST - 1] = '\0';
	for (uint32_t i = 0; i < 1000; i++)
		taken += put(t, i, ALL, OTHER_USER, list);
	T_ROW("of a user",
	      taken == NP_CHANGES_USER_BYTES / (2 * NP_CHANGES_MAX_LIST));
	T_ROW("others still have theirs", put(t, 1, ALL, SOME_UID, list));
	for (uint32_t i = 0; i < 1000; i++)
		taken += put(t, i, ALL, 0, list);
	T_ROW("of all",
	      taken + 1 == NP_CHANGES_BYTES / (2 * NP_CHANGES_MAX_LIST));
	T_ROW("given back",
	      take(t) == taken + 1 && put(t, 1, ALL, OTHER_USER, list));
	free(list);
	np_changes_free(t);
}

T_TEST("the same again is no other change")
{
	struct np_changes *t = new_table();
	struct np_change *c;
	size_t n;

	put(t, 7, ALL, SOME_UID, "n1");
	put(t, 7, ALL, SOME_UID, "n2");
	put(t, 7, ALL, SOME_UID, "n1");
	put(t, 7, ALL, 0, "n1");
	c = np_changes_take(t, &n);
	T_CHECK(n == 3 && !strcmp(c[0].passed_on, "n2") &&
		!strcmp(c[1].passed_on, "n1"));
	np_change_list_free(c, n);
	np_changes_free(t);
}

/* clang-format off */
static const struct {
	const char *name;
	uint32_t id, uid, task; /* of the change */
	struct np_sending sending;
	bool overtaken;
} races[] = {
	{ "by the owner", 12, SOME_UID, NP_CHANGE_ALL,
	  { 12, 0, NP_CHANGE_ALL, SOME_UID }, true },
	{ "by root", 12, 0, NP_CHANGE_ALL,
	  { 12, 0, NP_CHANGE_ALL, SOME_UID }, true },
	{ "by somebody who may not", 12, SOME_UID + 1, NP_CHANGE_ALL,
	  { 12, 0, NP_CHANGE_ALL, SOME_UID }, false },
	{ "of another job", 13, SOME_UID, NP_CHANGE_ALL,
	  { 12, 0, NP_CHANGE_ALL, SOME_UID }, false },
	{ "of its array", 12, SOME_UID, NP_CHANGE_ALL,
	  { 15, 12, NP_CHANGE_ALL, SOME_UID }, true },
	{ "of a task of the array that is written", 12, SOME_UID, 3,
	  { 12, 12, NP_CHANGE_ALL, SOME_UID }, true },
	{ "of this task", 12, SOME_UID, 3, { 12, 12, 3, SOME_UID }, true },
	{ "of another task", 12, SOME_UID, 4, { 12, 12, 3, SOME_UID },
	  false },
};
/* clang-format on */

T_TEST("an update that somebody overtook is known")
{
	T_EACH(r, races) {
		struct np_changes *t = new_table();

		put(t, r->id, r->task, r->uid, "n1");
		T_ROW(r->name,
		      np_changes_overtake(t, &r->sending) == r->overtaken);
		np_changes_free(t);
	}
}

/* A change of job 9 that there is no room for, and another look. */
static const struct {
	const char *name;
	uint32_t uid, sent;
	bool known, overtaken;
} missed[] = {
	{ "its owner's", SOME_UID, 9, true, true },
	{ "root's", 0, 9, true, true },
	{ "another job goes on", SOME_UID, 8, true, false },
	{ "another user's", OTHER_USER, 9, true, false },
	{ "of a job that is new", SOME_UID, 9, false, true },
	{ "root's, of a job that is new", 0, 9, false, true },
	{ "another user's, of a job that is new, holds up no other", OTHER_USER,
	  9, false, false },
};

T_TEST("one without room stops the updates of that job")
{
	T_EACH(r, missed) {
		const struct np_sending s = { r->sent, 0, ALL, SOME_UID };
		struct np_changes *t = new_table();

		if (r->known)
			know(t, SOME_UID);
		np_changes_mark_missed(t, 9, r->uid);
		know(t, SOME_UID);
		T_ROW(r->name, np_changes_overtake(t, &s) == r->overtaken);
		take(t);
		T_ROW(r->name, !np_changes_overtake(t, &s));
		np_changes_free(t);
	}
}

/* Of jobs that are new, each of another user. */
T_TEST("many users without room stop no other user's updates")
{
	const struct np_sending s = { 9, 0, ALL, SOME_UID };
	struct np_changes *t = new_table();

	for (uint32_t uid = OTHER_USER; uid < SOME_UID + 1000; uid++)
		np_changes_mark_missed(t, uid, uid);
	know(t, SOME_UID);
	T_CHECK(!np_changes_overtake(t, &s));
	np_changes_free(t);
}

T_TEST("a doubtful request is known until the next pass")
{
	const struct np_sending job = { 9, 0, ALL, SOME_UID };
	const struct np_sending task = { 15, 9, ALL, SOME_UID };
	const struct np_sending other = { 8, 0, ALL, SOME_UID };
	struct np_changes *t = new_table();

	np_changes_mark_doubtful(t, 9);
	know(t, SOME_UID);
	T_ROW("not of a new job", !np_changes_doubt(t, &job));
	np_changes_mark_doubtful(t, 9);
	know(t, SOME_UID);
	T_CHECK(np_changes_doubt(t, &job) && np_changes_doubt(t, &task) &&
		!np_changes_doubt(t, &other));
	take(t);
	T_CHECK(!np_changes_doubt(t, &job));
	put(t, 9, ALL, OTHER_USER, "n1");
	T_ROW("as a change by others, recorded while the job was new",
	      np_changes_doubt(t, &job) && !np_changes_overtake(t, &job));
	np_changes_free(t);
}

T_TEST("what is surely not his to change")
{
	struct np_changes *t = new_table();

	T_ROW("nothing is known", !np_changes_forbidden(t, 9, OTHER_USER));
	know(t, SOME_UID);
	T_CHECK(!np_changes_forbidden(t, 9, SOME_UID));
	T_CHECK(!np_changes_forbidden(t, 9, 0));
	T_CHECK(np_changes_forbidden(t, 9, OTHER_USER));
	T_CHECK(!np_changes_forbidden(t, 10, OTHER_USER));
	np_changes_free(t);
}

/* Whose changes count for job 12, task 3 of array 10, the last one first. */
T_TEST("the changes of one job")
{
	static const struct {
		uint32_t id, task, uid;
		const char *list;
	} puts[] = {
		{ 12, ALL, SOME_UID, "a" },	{ 10, 3, SOME_UID, "b" },
		{ 10, 4, SOME_UID, "not" },	{ 10, ALL, 0, "c" },
		{ 11, ALL, SOME_UID, "not" },	{ 10, ALL, SOME_UID, "d" },
		{ 12, ALL, OTHER_USER, "not" },
	};
	struct np_changes *t = new_table();
	const struct np_change *found[NP_CHANGES_FOUND];
	struct np_change *c;
	char text[16] = "";
	size_t n, of;

	T_EACH(r, puts)
		put(t, r->id, r->task, r->uid, r->list);
	c = np_changes_take(t, &n);
	of = np_changes_find(c, n, 12, 10, 3, SOME_UID, found,
			     NP_CHANGES_FOUND);
	for (size_t i = 0; i < of && i < 8; i++)
		strcat(text, found[i]->passed_on);
	T_ROW(text, !strcmp(text, "dcba"));
	T_CHECK(np_changes_find(c, n, 11, 0, ALL, SOME_UID, found, 9) == 1);
	T_CHECK(np_changes_find(c, n, 13, 0, ALL, SOME_UID, found, 9) == 0);
	np_change_list_free(c, n);
	np_changes_free(t);
}

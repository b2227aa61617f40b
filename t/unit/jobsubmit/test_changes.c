#include "t.h"
#include "np_shared.h"
#include "some_slurm.h"

#define ALL NP_CHANGE_ALL
#define OTHER_USER (SOME_UID + 1)

static struct np_changes *table;

static void tear_down(void)
{
	np_changes_free(table);
	table = NULL;
}

static void set_up(void)
{
	tear_down();
	T_CHECK(!np_changes_new(&table));
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

	for (size_t i = 0; i < times; i++)
		taken +=
			put(t, first + i % n_jobs, ALL, uid, t_text("n%zu", i));
	return taken;
}

/* Jobs 8 and 9 are somebody's. */
static void know(struct np_changes *t, uint32_t uid)
{
	struct np_owner *o = calloc(2, sizeof(*o));

	o[0] = (struct np_owner){ .id = 8, .uid = uid };
	o[1] = (struct np_owner){ .id = 9, .uid = uid };
	free(np_changes_set_owners(t, o, 2));
}

static size_t take(struct np_changes *t)
{
	size_t n;
	struct np_change *c = np_changes_take(t, &n);

	np_change_list_free(c, n);
	return n;
}

T_FIXTURE(set_up, tear_down);

T_TEST("changes are handed over, each once")
{
	struct np_change *c;
	size_t n;

	T_CHECK(!take(table));
	put(table, 2, ALL, 5, "n1");
	put(table, 1, 7, 5, "n1");
	put(table, 1, 3, 5, "n1");
	c = np_changes_take(table, &n);
	T_CHECK(n == 3 && c[0].id == 2 && c[1].id == 1 && c[1].task == 7 &&
		c[2].id == 1 && c[2].task == 3);
	T_CHECK(!take(table));
	put(table, 3, ALL, 5, "n1");
	np_changes_return(table, c, n);
	T_ROW("those that were returned as well", take(table) == 4);
	np_changes_return(table, NULL, 0);
	T_CHECK(!take(table));
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
		set_up();

		put_many(table, 100, r->n_jobs, r->uid, r->times);
		T_ROW(r->name, take(table) == r->want);
	}
}

T_TEST("nobody takes the room of others")
{
	uint32_t uid;

	put_many(table, 100, 1000, OTHER_USER, 1000);
	T_CHECK(put(table, 7, ALL, SOME_UID, "n1"));
	T_CHECK(put(table, 8, ALL, 0, "n1"));
	T_ROW("the message says how many and whose",
	      np_changes_take_missed(table, &uid) ==
			      1000 - NP_CHANGES_OF_USER &&
		      uid == OTHER_USER);
	T_ROW("once", !np_changes_take_missed(table, &uid));
}

T_TEST("nor do many users take all of it")
{
	for (uint32_t uid = 100; uid < 110; uid++)
		put_many(table, 100, 1000, uid, 1000);
	T_CHECK(put(table, 7, ALL, SOME_UID, "n1"));
}

T_TEST("nor their memory")
{
	char *list = malloc(NP_CHANGES_MAX_LIST);
	size_t taken = 0;

	memset(list, 'n', NP_CHANGES_MAX_LIST - 1);
	list[NP_CHANGES_MAX_LIST - 1] = '\0';
	for (uint32_t i = 0; i < 1000; i++)
		taken += put(table, i, ALL, OTHER_USER, list);
	T_ROW("of a user",
	      taken == NP_CHANGES_USER_BYTES / (2 * NP_CHANGES_MAX_LIST));
	T_ROW("others still have theirs", put(table, 1, ALL, SOME_UID, list));
	for (uint32_t i = 0; i < 1000; i++)
		taken += put(table, i, ALL, 0, list);
	T_ROW("of all",
	      taken + 1 == NP_CHANGES_BYTES / (2 * NP_CHANGES_MAX_LIST));
	T_ROW("given back",
	      take(table) == taken + 1 && put(table, 1, ALL, OTHER_USER, list));
	free(list);
}

T_TEST("the same again is no other change")
{
	struct np_change *c;
	size_t n;

	put(table, 7, ALL, SOME_UID, "n1");
	put(table, 7, ALL, SOME_UID, "n2");
	put(table, 7, ALL, SOME_UID, "n1");
	put(table, 7, ALL, 0, "n1");
	c = np_changes_take(table, &n);
	T_CHECK(n == 3 && !strcmp(c[0].passed_on, "n2") &&
		!strcmp(c[1].passed_on, "n1"));
	np_change_list_free(c, n);
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
		set_up();

		put(table, r->id, r->task, r->uid, "n1");
		T_ROW(r->name,
		      np_changes_overtake(table, &r->sending) == r->overtaken);
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
		set_up();

		if (r->known)
			know(table, SOME_UID);
		np_changes_mark_missed(table, 9, r->uid);
		know(table, SOME_UID);
		T_ROW(r->name, np_changes_overtake(table, &s) == r->overtaken);
		take(table);
		T_ROW(r->name, !np_changes_overtake(table, &s));
	}
}

/* Of jobs that are new, each of another user. */
T_TEST("many users without room stop no other user's updates")
{
	const struct np_sending s = { 9, 0, ALL, SOME_UID };

	for (uint32_t uid = OTHER_USER; uid < SOME_UID + 1000; uid++)
		np_changes_mark_missed(table, uid, uid);
	know(table, SOME_UID);
	T_CHECK(!np_changes_overtake(table, &s));
}

T_TEST("a doubtful request is known until the next pass")
{
	const struct np_sending job = { 9, 0, ALL, SOME_UID };
	const struct np_sending task = { 15, 9, ALL, SOME_UID };
	const struct np_sending other = { 8, 0, ALL, SOME_UID };

	np_changes_mark_doubtful(table, 9);
	know(table, SOME_UID);
	T_ROW("not of a new job", !np_changes_doubt(table, &job));
	np_changes_mark_doubtful(table, 9);
	know(table, SOME_UID);
	T_CHECK(np_changes_doubt(table, &job) &&
		np_changes_doubt(table, &task) &&
		!np_changes_doubt(table, &other));
	take(table);
	T_CHECK(!np_changes_doubt(table, &job));
	put(table, 9, ALL, OTHER_USER, "n1");
	T_ROW("as a change by others, recorded while the job was new",
	      np_changes_doubt(table, &job) &&
		      !np_changes_overtake(table, &job));
}

T_TEST("what is surely not his to change")
{
	T_ROW("nothing is known", !np_changes_forbidden(table, 9, OTHER_USER));
	know(table, SOME_UID);
	T_CHECK(!np_changes_forbidden(table, 9, SOME_UID));
	T_CHECK(!np_changes_forbidden(table, 9, 0));
	T_CHECK(np_changes_forbidden(table, 9, OTHER_USER));
	T_CHECK(!np_changes_forbidden(table, 10, OTHER_USER));
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
	const struct np_change *found[NP_CHANGES_FOUND];
	struct np_change *c;
	char text[16] = "";
	size_t n, of;

	T_EACH(r, puts)
		put(table, r->id, r->task, r->uid, r->list);
	c = np_changes_take(table, &n);
	of = np_changes_find(c, n, 12, 10, 3, SOME_UID, found,
			     NP_CHANGES_FOUND);
	for (size_t i = 0; i < of && i < 8; i++)
		strcat(text, found[i]->passed_on);
	T_ROW(text, !strcmp(text, "dcba"));
	T_CHECK(np_changes_find(c, n, 11, 0, ALL, SOME_UID, found, 9) == 1);
	T_CHECK(np_changes_find(c, n, 13, 0, ALL, SOME_UID, found, 9) == 0);
	np_change_list_free(c, n);
}

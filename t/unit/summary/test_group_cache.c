#include "t.h"
#include "np_catalog.h"

/* A user database, and a clock by hand. */
static struct {
	struct np_clock clock;
	double now, slow_sec; /* an answer takes so long */
	int rc;
	uint32_t of7; /* the group that user 7 is in */
	unsigned queries;
} db;

static double now_sec(const struct np_clock *c)
{
	(void)c;
	return db.now;
}

static int groups_of(uint32_t uid, uint32_t **gid, size_t *n)
{
	db.queries++;
	db.now += db.slow_sec;
	if (db.rc)
		return db.rc;
	*gid = malloc(sizeof(**gid));
	**gid = uid == 7 ? db.of7 : 1000 + uid;
	*n = 1;
	return 0;
}

static const struct np_auth_rule rules[] = {
	{ .by = NP_AUTH_BY_USER, .id = 50, .pattern = "a" },
	{ .by = NP_AUTH_BY_GROUP, .id = 50, .pattern = "a" },
};

static void start(struct np_group_cache *m)
{
	*m = (struct np_group_cache){ .users = { .n = 0 } };
	db.clock.now_sec = now_sec;
	db.now = 1000;
	db.slow_sec = db.rc = 0;
	db.queries = 0;
	db.of7 = 50;
}

static bool look(struct np_group_cache *m)
{
	return np_group_cache_refresh(m, rules, NP_ARRAY_SIZE(rules), groups_of,
				      &db.clock, db.now + 0.5);
}

/* Groups of a user; -1: not known. */
static int known(const struct np_group_cache *m, uint32_t uid)
{
	int groups = -1;
	size_t n;
	struct np_auth_user *list = np_group_cache_list(m, &n);

	for (size_t i = 0; i < n; i++) {
		T_ROW("by uid", !i || list[i - 1].uid < list[i].uid);
		if (list[i].uid == uid)
			groups = (int)list[i].groups;
	}
	free(list);
	return groups;
}

T_TEST("groups are looked up once, and then now and then")
{
	struct np_group_cache m;

	start(&m);
	np_group_cache_add(&m, 8, db.now);
	np_group_cache_add(&m, 7, db.now);
	np_group_cache_add(&m, 7, db.now);
	T_CHECK(known(&m, 7) == -1);
	T_CHECK(look(&m) && db.queries == 2);
	T_ROW("by the rule of the group alone", known(&m, 7) == 2);
	T_CHECK(known(&m, 8) == 0 && known(&m, 9) == -1);
	T_CHECK(!look(&m) && db.queries == 2);
	db.now += NP_GROUP_CACHE_FRESH_SEC + 1;
	T_ROW("not of those who have no jobs", !look(&m) && db.queries == 2);
	np_group_cache_add(&m, 7, db.now);
	T_ROW("nothing new", !look(&m) && db.queries == 3);
	db.now += NP_GROUP_CACHE_FRESH_SEC + 1;
	db.of7 = 51;
	np_group_cache_add(&m, 7, db.now);
	T_ROW("he left the group", look(&m) && known(&m, 7) == 0);
	np_group_cache_free(&m);
}

T_TEST("what was known outlives the database")
{
	struct np_group_cache m;

	start(&m);
	np_group_cache_add(&m, 7, db.now);
	T_CHECK(look(&m));
	db.now += NP_GROUP_CACHE_FRESH_SEC + 1;
	db.rc = -EIO;
	np_group_cache_add(&m, 7, db.now);
	np_group_cache_add(&m, 8, db.now);
	T_CHECK(!look(&m) && known(&m, 7) == 2 && known(&m, 8) == -1);
	T_ROW("not at once again", !look(&m) && db.queries == 3);
	db.now += NP_GROUP_CACHE_RETRY_SEC + 1;
	db.rc = -ENOENT;
	T_ROW("there is no such user", look(&m) && known(&m, 8) == 0);
	np_group_cache_free(&m);
}

T_TEST("a slow database takes little of a round")
{
	struct np_group_cache m;

	start(&m);
	for (uint32_t i = 0; i < 20; i++)
		np_group_cache_add(&m, i, db.now);
	db.slow_sec = 1;
	T_ROW("those never looked up: five seconds",
	      look(&m) && db.queries == 5);
	T_CHECK(look(&m) && db.queries == 10);
	db.slow_sec = 0;
	T_CHECK(look(&m) && db.queries == 20);
	db.now += NP_GROUP_CACHE_FRESH_SEC + 1;
	db.slow_sec = 1;
	for (uint32_t i = 0; i < 20; i++)
		np_group_cache_add(&m, i, db.now);
	T_ROW("those looked up before: what is left of the pass",
	      !look(&m) && db.queries == 21);
	np_group_cache_free(&m);
}

T_TEST("more users than there is room for")
{
	struct np_group_cache m;

	start(&m);
	for (uint32_t i = 0; i < NP_GROUP_CACHE_MAX; i++)
		np_group_cache_add(&m, i, i == 5 ? 999 : 1000);
	look(&m);
	np_group_cache_add(&m, NP_GROUP_CACHE_MAX, 1000);
	look(&m);
	T_ROW("who was away for longest goes", known(&m, 5) == -1);
	T_CHECK(known(&m, 4) == 0 && known(&m, NP_GROUP_CACHE_MAX) == 0);
	np_group_cache_free(&m);
}

#include "t.h"
#include "np_catalog.h"
#include "np_conf.h"
#include "np_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Apply lines, each ended by a newline; all of them must be good. */
static const struct np_place_conf *conf_of(const char *lines)
{
	struct np_err err = NP_ERR_INIT;
	static struct np_conf c;

	np_conf_init(&c);
	for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
		char line[256];

		snprintf(line, sizeof(line), "%.*s", (int)(end - lines), lines);
		T_ROW(line, np_conf_set(&c, line, &err) == 0);
	}
	return &c.place;
}

/* 7 is in group 0, 8 in none; of 9 nothing is known. */
enum { NOBODY_ASKED = 9 };

static const struct {
	const char *name, *lines, *app;
	struct np_claimant who;
	enum np_claim_says says;
} rows[] = {
	{ "no line", "", "fft", { 7, "phys", "main" }, NP_CLAIM_SILENT },
	{ "a line about another name", "Claim=halo:user=7\n", "fft",
	  { 8, "phys", "main" }, NP_CLAIM_SILENT },
	{ "a user by number", "Claim=fft:user=7\n", "fft",
	  { 7, "phys", "main" }, NP_CLAIM_YES },
	{ "another user", "Claim=fft:user=7\n", "fft", { 8, "phys", "main" },
	  NP_CLAIM_NO },
	{ "a user by name", "Claim=fft:user=root\n", "fft",
	  { 0, "phys", "main" }, NP_CLAIM_YES },
	{ "the second of a list", "Claim=fft:user=7,user=8\n", "fft",
	  { 8, "phys", "main" }, NP_CLAIM_YES },
	{ "a member of a group", "Claim=fft:group=0\n", "fft",
	  { 7, "phys", "main" }, NP_CLAIM_YES },
	{ "a group by its name", "Claim=fft:group=root\n", "fft",
	  { 7, "phys", "main" }, NP_CLAIM_YES },
	{ "a user who is not in the group",
	  "Claim=fft:group=0\n", "fft", { 8, "phys", "main" },
	  NP_CLAIM_NO },
	{ "a member of another group", "Claim=fft:group=5\n", "fft",
	  { 7, "phys", "main" }, NP_CLAIM_NO },
	{ "a user whose groups are not known yet", "Claim=fft:group=0\n", "fft",
	  { NOBODY_ASKED, "phys", "main" }, NP_CLAIM_MAYBE },
	{ "unknown groups do not matter to a user who is named",
	  "Claim=fft:group=0,user=9\n", "fft",
	  { NOBODY_ASKED, "phys", "main" }, NP_CLAIM_YES },
	{ "nor do they for another name", "Claim=halo:group=0\n", "fft",
	  { NOBODY_ASKED, "phys", "main" }, NP_CLAIM_SILENT },
	{ "an account", "Claim=fft:account=phys\n", "fft",
	  { 7, "phys", "main" }, NP_CLAIM_YES },
	{ "a pattern of accounts", "Claim=fft:account=ph*\n", "fft",
	  { 7, "phys", "main" }, NP_CLAIM_YES },
	{ "another account", "Claim=fft:account=ph*\n", "fft",
	  { 7, "chem", "main" }, NP_CLAIM_NO },
	{ "a job without an account matches no pattern",
	  "Claim=fft:account=*\n", "fft",
	  { 7, "", "main" }, NP_CLAIM_NO },
	{ "an account that is not known", "Claim=fft:account=*\n", "fft",
	  { 7, NULL, "main" }, NP_CLAIM_MAYBE },
	{ "a partition", "Claim=fft:partition=ma[a-i]n\n", "fft",
	  { 7, "phys", "main" }, NP_CLAIM_YES },
	{ "another partition", "Claim=fft:partition=main\n", "fft",
	  { 7, "phys", "long" }, NP_CLAIM_NO },
	{ "no partition", "Claim=fft:partition=*\n", "fft",
	  { 7, "phys", NULL }, NP_CLAIM_NO },
	{ "a pattern of names", "Claim=f*:user=7\n", "fft",
	  { 8, "phys", "main" }, NP_CLAIM_NO },
	{ "the whole name counts", "Claim=ff:user=7\n", "fft",
	  { 8, "phys", "main" }, NP_CLAIM_SILENT },
	{ "a further line about it adds", "Claim=fft:user=7\nClaim=f*:user=8\n",
	  "fft", { 8, "phys", "main" }, NP_CLAIM_YES },
	{ "all users",
	  "Claim=fft:all\n", "fft", { 8, NULL, NULL }, NP_CLAIM_YES },
	{ "an earlier line restricts the name",
	  "Claim=*:user=0\nClaim=fft:all\n",
	  "halo", { 8, NULL, NULL }, NP_CLAIM_NO },
	{ "default", "Claim=fft:default,user=7\n", "fft",
	  { 8, "phys", "main" }, NP_CLAIM_SILENT },
	{ "a user who is named needs no default",
	  "Claim=fft:default,user=7\n", "fft",
	  { 7, "phys", "main" }, NP_CLAIM_YES },
	{ "an empty value forgets all", "Claim=fft:user=7\nClaim=\n", "fft",
	  { 8, "phys", "main" }, NP_CLAIM_SILENT },
};

static void test_who_may_claim_what(void)
{
	static const uint32_t zero;

	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		const struct np_place_conf *c = conf_of(rows[i].lines);
		struct np_claim_user user = { .uid = rows[i].who.uid };

		if (user.uid == 7)
			user.groups = np_claim_groups(c->claim, c->n_claims,
						      &zero, 1);
		T_ROW(rows[i].name, np_claim_ask(c->claim, c->n_claims,
			rows[i].app, &rows[i].who, user.uid == NOBODY_ASKED ?
			NULL : &user) == rows[i].says);
	}
}

static void test_groups_are_asked_only_if_a_line_needs_them(void)
{
	const struct np_place_conf *c = conf_of("Claim=fft:user=7,account=a\n");

	T_CHECK(!np_claim_needs_groups(c->claim, c->n_claims));
	c = conf_of("Claim=fft:user=7,group=0\n");
	T_CHECK(np_claim_needs_groups(c->claim, c->n_claims));
}

/* A text of any length costs little. */
static void test_a_long_account_matches_nothing(void)
{
	const struct np_place_conf *c = conf_of("Claim=fft:account=*\n");
	char text[1026];
	struct np_claimant who = { .uid = 7, .account = text };

	memset(text, 'a', sizeof(text));
	text[1025] = '\0';
	T_CHECK(np_claim_ask(c->claim, 1, "fft", &who, NULL) == NP_CLAIM_NO);
	text[1024] = '\0';
	T_CHECK(np_claim_ask(c->claim, 1, "fft", &who, NULL) == NP_CLAIM_YES);
}

static void test_a_bad_line_adds_nothing(void)
{
	static struct np_conf c, before;
	struct np_err err = NP_ERR_INIT;
	char line[64];

	np_conf_init(&c);
	T_CHECK(!np_conf_set(&c, "Claim=fft:user=7", &err));
	before = c;
	T_CHECK(np_conf_set(&c, "Claim=fft:user=8,group=no-such-group", &err));
	T_ROW("what was good of it is taken back",
	      !memcmp(&c, &before, sizeof(c)));
	for (int i = 1; i < NP_CLAIM_MAX_RULES; i++) {
		snprintf(line, sizeof(line), "Claim=app%d:user=%d", i, i);
		T_ROW(line, !np_conf_set(&c, line, &err));
	}
	before = c;
	T_CHECK(np_conf_set(&c, "Claim=fft:all", &err) == -EINVAL);
	T_CHECK(strstr(err.text, "Claim=fft:all: too many at \"all\", "
		       "expected at most 64"));
	T_CHECK(!memcmp(&c, &before, sizeof(c)));
}

enum { PUBLIC, OWN };

/* fft is published; 7 and 8 have own runs of it, those of 8 contradict it. */
static struct np_app_index *index_of(const char *lines)
{
	static const struct np_app_entry entry[] = {
		{ "fft", true, 0, PUBLIC }, { "fft", false, 7, OWN, true },
		{ "fft", false, 8, OWN, false, "too quiet" },
		{ "fft", false, 9, OWN },
		{ "mine", false, 8, OWN },
	};
	static const struct np_claim_user user[] = {
		{ 6, ~UINT64_C(0) }, { 7, 0 }, { 8, 0 },
	};
	const struct np_place_conf *c = conf_of(lines);
	const struct np_app_claims claims = {
		.rule = c->claim, .n_rules = c->n_claims, .user = user,
		.n_users = NP_ARRAY_SIZE(user),
	};
	struct np_app_index *x = NULL;

	T_CHECK(!np_app_index_new(entry, NP_ARRAY_SIZE(entry),
				  NP_PROFILE_UNKNOWN, &claims, &x));
	return x;
}

static const struct {
	const char *name, *lines, *app;
	uint32_t uid;
	int32_t profile;
	enum np_claim claim;
} jobs[] = {
	{ "who never measured it", "", "fft", 5, PUBLIC, NP_CLAIM_UNPROVED },
	{ "whose own runs cannot be compared", "", "fft", 9, PUBLIC,
	  NP_CLAIM_UNPROVED },
	{ "all: who never measured it", "Claim=*:all\n", "fft", 5, PUBLIC,
	  NP_CLAIM_HOLDS },
	{ "default: who never measured it", "Claim=fft:default\n", "fft", 5,
	  PUBLIC, NP_CLAIM_UNPROVED },
	{ "whose own runs agree", "", "fft", 7, PUBLIC, NP_CLAIM_HOLDS },
	{ "whose own runs contradict it", "", "fft", 8, NP_PROFILE_UNKNOWN,
	  NP_CLAIM_REFUTED },
	{ "an own name is no claim", "Claim=*:user=0\n", "mine", 8, OWN,
	  NP_CLAIM_HOLDS },
	{ "nor is one that nobody knows", "Claim=*:user=0\n", "none", 8,
	  NP_PROFILE_UNKNOWN, NP_CLAIM_HOLDS },
	{ "barred, whatever he measured", "Claim=fft:user=0\n", "fft", 7,
	  NP_PROFILE_UNKNOWN, NP_CLAIM_BARRED },
	{ "allowed, whatever he measured", "Claim=fft:user=8\n", "fft", 8,
	  PUBLIC, NP_CLAIM_HOLDS },
	{ "allowed as a member", "Claim=fft:group=0\n", "fft", 6, PUBLIC,
	  NP_CLAIM_HOLDS },
	{ "a user who is not in the group",
	  "Claim=fft:group=0\n", "fft", 7, NP_PROFILE_UNKNOWN,
	  NP_CLAIM_BARRED },
	{ "a user whose groups were not asked", "Claim=fft:group=0\n", "fft",
	  5, NP_PROFILE_UNKNOWN, NP_CLAIM_UNCLEAR },
	{ "default: agrees", "Claim=fft:default,user=0\n", "fft", 7, PUBLIC,
	  NP_CLAIM_HOLDS },
	{ "default: contradicts", "Claim=fft:default,user=0\n", "fft", 8,
	  NP_PROFILE_UNKNOWN, NP_CLAIM_REFUTED },
};

static void test_what_a_job_counts_as(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(jobs); i++) {
		const struct np_claimant who = { .uid = jobs[i].uid,
						 .partition = "main" };
		struct np_app_index *x = index_of(jobs[i].lines);
		enum np_claim claim = NP_CLAIM_UNCLEAR;
		int32_t profile = np_app_index_of_job(x, jobs[i].app, &who,
						      &claim);

		T_ROW(jobs[i].name, profile == jobs[i].profile);
		T_ROW(jobs[i].name, claim == jobs[i].claim);
		np_app_index_unref(x);
	}
}

static void test_why(void)
{
	struct np_app_index *x = index_of("");

	T_CHECK(!strcmp(np_app_index_why(x, "fft", 8, NP_CLAIM_REFUTED),
			"too quiet"));
	T_CHECK(!!strstr(np_app_index_why(x, "fft", 8, NP_CLAIM_BARRED),
			 "Claim="));
	np_app_index_unref(x);
}

static const struct t_case cases[] = {
	{ "who may claim a published name, by which line",
	  test_who_may_claim_what },
	{ "groups are asked only if a line needs them",
	  test_groups_are_asked_only_if_a_line_needs_them },
	{ "a long account matches nothing",
	  test_a_long_account_matches_nothing },
	{ "a bad line adds nothing", test_a_bad_line_adds_nothing },
	{ "what a job counts as whose claim holds, or does not",
	  test_what_a_job_counts_as },
	{ "why a claim does not hold", test_why },
	{ NULL, NULL },
};
T_SUITE(claim, cases)

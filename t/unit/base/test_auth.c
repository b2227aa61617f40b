#include "t.h"
#include "np_catalog.h"
#include "np_conf.h"
#include "np_snapshot.h"

/* Apply lines, each ended by a newline; all of them must be good. */
static const struct np_place_conf *conf_of(const char *lines)
{
	static struct np_conf c;

	np_conf_init(&c);
	T_ROW(lines, !np_conf_load(&c, t_write_text("conf", lines), NULL));
	return &c.place;
}

/* 7 is in group 0, 8 in none; of 9 nothing is known. */
enum { NOBODY_ASKED = 9 };

/* clang-format off */
static const struct {
	const char *name, *lines, *app;
	struct np_auth_request who;
	enum np_auth_match says;
} rows[] = {
	{ "no line", "", "fft", { 7, "phys", "main" }, NP_AUTH_NO_RULE },
	{ "a line about another name", "Claim=halo:user=7\n", "fft",
	  { 8, "phys", "main" }, NP_AUTH_NO_RULE },
	{ "a user by number", "Claim=fft:user=7\n", "fft",
	  { 7, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "another user", "Claim=fft:user=7\n", "fft", { 8, "phys", "main" },
	  NP_AUTH_FORBIDDEN },
	{ "a user by name", "Claim=fft:user=root\n", "fft",
	  { 0, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "the second of a list", "Claim=fft:user=7,user=8\n", "fft",
	  { 8, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "a member of a group", "Claim=fft:group=0\n", "fft",
	  { 7, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "a group by its name", "Claim=fft:group=root\n", "fft",
	  { 7, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "a user who is not in the group", "Claim=fft:group=0\n", "fft",
	  { 8, "phys", "main" }, NP_AUTH_FORBIDDEN },
	{ "a member of another group", "Claim=fft:group=5\n", "fft",
	  { 7, "phys", "main" }, NP_AUTH_FORBIDDEN },
	{ "a user whose groups are not known yet", "Claim=fft:group=0\n", "fft",
	  { NOBODY_ASKED, "phys", "main" }, NP_AUTH_UNKNOWN },
	{ "unknown groups do not matter to a user who is named",
	  "Claim=fft:group=0,user=9\n", "fft", { NOBODY_ASKED, "phys", "main" },
	  NP_AUTH_ALLOWED },
	{ "nor do they for another name", "Claim=halo:group=0\n", "fft",
	  { NOBODY_ASKED, "phys", "main" }, NP_AUTH_NO_RULE },
	{ "an account", "Claim=fft:account=phys\n", "fft",
	  { 7, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "a pattern of accounts", "Claim=fft:account=ph*\n", "fft",
	  { 7, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "an account as its user writes it, before Slurm has changed the case",
	  "Claim=fft:account=phys\n", "fft", { 7, "Phys", "main" },
	  NP_AUTH_ALLOWED },
	{ "an account in other letters than Slurm stores",
	  "Claim=fft:account=PH*\n", "fft", { 7, "phys", "main" },
	  NP_AUTH_ALLOWED },
	{ "another account", "Claim=fft:account=ph*\n", "fft",
	  { 7, "chem", "main" }, NP_AUTH_FORBIDDEN },
	{ "a job without an account matches no pattern",
	  "Claim=fft:account=*\n", "fft", { 7, "", "main" },
	  NP_AUTH_FORBIDDEN },
	{ "an account that is not known", "Claim=fft:account=*\n", "fft",
	  { 7, NULL, "main" }, NP_AUTH_UNKNOWN },
	{ "a partition", "Claim=fft:partition=ma[a-i]n\n", "fft",
	  { 7, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "another partition", "Claim=fft:partition=main\n", "fft",
	  { 7, "phys", "long" }, NP_AUTH_FORBIDDEN },
	{ "no partition", "Claim=fft:partition=*\n", "fft", { 7, "phys", NULL },
	  NP_AUTH_FORBIDDEN },
	{ "a pattern of names", "Claim=f*:user=7\n", "fft",
	  { 8, "phys", "main" }, NP_AUTH_FORBIDDEN },
	{ "the whole name counts", "Claim=ff:user=7\n", "fft",
	  { 8, "phys", "main" }, NP_AUTH_NO_RULE },
	{ "a further line about it adds", "Claim=fft:user=7\nClaim=f*:user=8\n",
	  "fft", { 8, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "all users", "Claim=fft:all\n", "fft", { 8, NULL, NULL },
	  NP_AUTH_ALLOWED },
	{ "an earlier line restricts the name",
	  "Claim=*:user=0\nClaim=fft:all\n", "halo", { 8, NULL, NULL },
	  NP_AUTH_FORBIDDEN },
	{ "default", "Claim=fft:default,user=7\n", "fft", { 8, "phys", "main" },
	  NP_AUTH_NO_RULE },
	{ "a user who is named needs no default", "Claim=fft:default,user=7\n",
	  "fft", { 7, "phys", "main" }, NP_AUTH_ALLOWED },
	{ "an empty value forgets all", "Claim=fft:user=7\nClaim=\n", "fft",
	  { 8, "phys", "main" }, NP_AUTH_NO_RULE },
};
/* clang-format on */

T_TEST("who may use a published name, by which line")
{
	static const uint32_t zero;

	T_EACH(r, rows) {
		const struct np_place_conf *c = conf_of(r->lines);
		struct np_auth_user user = { .uid = r->who.uid };

		if (user.uid == 7)
			user.groups = np_auth_groups(c->auth_rule,
						     c->n_auth_rules, &zero, 1);
		T_ROW(r->name,
		      np_auth_check(c->auth_rule, c->n_auth_rules, r->app,
				    &r->who,
				    user.uid == NOBODY_ASKED ? NULL : &user) ==
			      r->says);
	}
}

T_TEST("groups are read only if a line needs them")
{
	const struct np_place_conf *c = conf_of("Claim=fft:user=7,account=a\n");

	T_CHECK(!np_auth_needs_groups(c->auth_rule, c->n_auth_rules));
	c = conf_of("Claim=fft:user=7,group=0\n");
	T_CHECK(np_auth_needs_groups(c->auth_rule, c->n_auth_rules));
}

/* A text of any length costs little. */
T_TEST("a long account matches nothing")
{
	const struct np_place_conf *c = conf_of("Claim=fft:account=*\n");
	char text[1026];
	struct np_auth_request who = { .uid = 7, .account = text };

	memset(text, 'a', sizeof(text));
	text[1025] = '\0';
	T_CHECK(np_auth_check(c->auth_rule, 1, "fft", &who, NULL) ==
		NP_AUTH_FORBIDDEN);
	text[1024] = '\0';
	T_CHECK(np_auth_check(c->auth_rule, 1, "fft", &who, NULL) ==
		NP_AUTH_ALLOWED);
}

T_TEST("a bad line adds nothing")
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
	for (int i = 1; i < NP_AUTH_MAX_RULES; i++) {
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
		{ "fft", true, 0, PUBLIC },
		{ "fft", false, 7, OWN, true },
		{ "fft", false, 8, OWN, false, "too quiet" },
		{ "fft", false, 9, OWN },
		{ "mine", false, 8, OWN },
	};
	static const struct np_auth_user user[] = {
		{ 6, ~UINT64_C(0) },
		{ 7, 0 },
		{ 8, 0 },
	};
	const struct np_place_conf *c = conf_of(lines);
	const struct np_auth_rules auth = {
		.rule = c->auth_rule,
		.n_rules = c->n_auth_rules,
		.user = user,
		.n_users = NP_ARRAY_SIZE(user),
	};
	struct np_app_index *x = NULL;

	T_CHECK(!np_app_index_new(entry, NP_ARRAY_SIZE(entry),
				  NP_PROFILE_UNKNOWN, &auth, &x));
	return x;
}

static const struct {
	const char *name, *lines, *app;
	uint32_t uid;
	int32_t profile;
	enum np_auth auth;
} jobs[] = {
	{ "who never measured it", "", "fft", 5, PUBLIC, NP_AUTH_OWN_JOBS },
	{ "whose own runs cannot be compared", "", "fft", 9, PUBLIC,
	  NP_AUTH_OWN_JOBS },
	{ "all: who never measured it", "Claim=*:all\n", "fft", 5, PUBLIC,
	  NP_AUTH_GRANTED },
	{ "default: who never measured it", "Claim=fft:default\n", "fft", 5,
	  PUBLIC, NP_AUTH_OWN_JOBS },
	{ "whose own runs agree", "", "fft", 7, PUBLIC, NP_AUTH_GRANTED },
	{ "whose own runs contradict it", "", "fft", 8, NP_PROFILE_UNKNOWN,
	  NP_AUTH_CONTRADICTED },
	{ "an own name needs none", "Claim=*:user=0\n", "mine", 8, OWN,
	  NP_AUTH_GRANTED },
	{ "nor is one that nobody knows", "Claim=*:user=0\n", "none", 8,
	  NP_PROFILE_UNKNOWN, NP_AUTH_GRANTED },
	{ "barred, whatever he measured", "Claim=fft:user=0\n", "fft", 7,
	  NP_PROFILE_UNKNOWN, NP_AUTH_DENIED },
	{ "allowed, whatever he measured", "Claim=fft:user=8\n", "fft", 8,
	  PUBLIC, NP_AUTH_GRANTED },
	{ "allowed as a member", "Claim=fft:group=0\n", "fft", 6, PUBLIC,
	  NP_AUTH_GRANTED },
	{ "a user who is not in the group", "Claim=fft:group=0\n", "fft", 7,
	  NP_PROFILE_UNKNOWN, NP_AUTH_DENIED },
	{ "a user whose groups were not asked", "Claim=fft:group=0\n", "fft", 5,
	  NP_PROFILE_UNKNOWN, NP_AUTH_PENDING },
	{ "default: agrees", "Claim=fft:default,user=0\n", "fft", 7, PUBLIC,
	  NP_AUTH_GRANTED },
	{ "default: contradicts", "Claim=fft:default,user=0\n", "fft", 8,
	  NP_PROFILE_UNKNOWN, NP_AUTH_CONTRADICTED },
};

T_TEST("what a job counts as, with authorisation and without")
{
	T_EACH(r, jobs) {
		const struct np_auth_request who = { .uid = r->uid,
						     .partition = "main" };
		struct np_app_index *x = index_of(r->lines);
		enum np_auth auth = NP_AUTH_PENDING;
		int32_t profile = np_app_index_of_job(x, r->app, &who, &auth);

		T_ROW(r->name, profile == r->profile);
		T_ROW(r->name, auth == r->auth);
		np_app_index_unref(x);
	}
}

T_TEST("why a name is denied")
{
	struct np_app_index *x = index_of("");

	T_CHECK(!strcmp(np_app_index_why(x, "fft", 8, NP_AUTH_CONTRADICTED),
			"too quiet"));
	T_CHECK(!!strstr(np_app_index_why(x, "fft", 8, NP_AUTH_DENIED),
			 "Claim="));
	np_app_index_unref(x);
}

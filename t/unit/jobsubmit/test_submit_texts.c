/* Submissions: the names they use, texts of Slurm and for its log. */
#include "some_stage.h"

#define NOT_AUTHORISED \
	"ignored: this user is not authorised to use that profile name"

/* Rule 0 is LOUD_IS; the group of rule 1 has uid 1 in it; of SOME_UID + 2 nothing is known. */
static const struct np_auth_user some_users[] = {
	{ 1, 2 },
	{ SOME_UID, 0 },
	{ SOME_UID + 1, 0 },
};

/* What runs on leaf 0 is loud to all. */
#define LOUD_IS "loud:all"

static const struct {
	const char *name, *line; /* NULL: none */
	uint32_t uid;
	const char *account;
	unsigned how;
	const char *want_exc;
	int64_t want_begin; /* 0: at once */
	const char *says;
} submissions[] = {
	{ "no Claim line names the application", NULL, SOME_UID, NULL, LEAF0,
	  BUT1, 0, "kept off 3 of 4" },
	{ "whose own runs contradict it", NULL, SOME_UID + 1, NULL, LEAF0, NULL,
	  0, NOT_AUTHORISED },
	{ "a user who is named", "soft:group=0,user=20001", SOME_UID, NULL,
	  LEAF0, BUT1, 0, "kept off 3 of 4" },
	{ "a member of the group", "soft:group=0", 1, NULL, LEAF0, BUT1, 0,
	  "kept off 3 of 4" },
	{ "a user who is not in the group", "soft:group=0", SOME_UID, NULL,
	  LEAF0, NULL, 0, NOT_AUTHORISED },
	{ "whose groups were not asked: waits for that", "soft:group=0",
	  SOME_UID + 2, NULL, LEAF0, NULL, SOME_NOW + 10,
	  "held until it is known whether this user is authorised to use that "
	  "profile name" },
	{ "prefer mode holds no job", "soft:group=0", SOME_UID + 2, NULL,
	  LEAF0 | PREFER, NULL, 0, "ignored: not known yet" },
	{ "nor in advise", "soft:group=0", SOME_UID + 2, NULL, LEAF0 | ADVISE,
	  NULL, 0, "ignored: not known yet" },
	{ "by his account", "soft:account=ph*", SOME_UID, "phys", LEAF0, BUT1,
	  0, "kept off 3 of 4" },
	{ "another account", "soft:account=ph*", SOME_UID, "chem", LEAF0, NULL,
	  0, NOT_AUTHORISED },
	{ "the account that Slurm will give him", "soft:account=ph*", SOME_UID,
	  NULL, LEAF0, NULL, SOME_NOW + 10, "held until it is known" },
	{ "in the default partition", "soft:partition=bat*", SOME_UID, NULL,
	  LEAF0, BUT1, 0, "kept off 3 of 4" },
	{ "a partition that is not named", "soft:partition=debug", SOME_UID,
	  NULL, LEAF0, NULL, 0, NOT_AUTHORISED },
	{ "a decision that is being made does not matter to him", "soft:user=0",
	  SOME_UID, NULL, LEAF0 | BUSY, NULL, 0, NOT_AUTHORISED },
};

T_FIXTURE(NULL, tear_down);

T_TEST("users who may use the name, and those who may not")
{
	T_EACH(r, submissions) {
		struct np_auth_rule rule[NP_AUTH_MAX_RULES] = { { 0 } };
		struct np_auth_rules who = {
			.rule = rule,
			.user = some_users,
			.n_users = NP_ARRAY_SIZE(some_users),
		};
		const char *name = r->name;
		job_desc_msg_t d;

		T_ROW(name, !np_auth_parse(LOUD_IS, rule, &who.n_rules, NULL));
		if (r->line)
			T_ROW(name, !np_auth_parse(r->line, rule, &who.n_rules,
						   NULL));
		set_up_auth(r->how, &who);
		some_desc(&d, "soft");
		d.user_id = r->uid;
		d.account = (char *)r->account;
		np_submit(stage.shared, &d, SOME_NOW, false);
		T_ROW(name, some_same(d.exc_nodes, r->want_exc));
		T_ROW(name, d.begin_time == r->want_begin);
		T_ROW(name, strstr(some_logged(), r->says));
		d.account = NULL;
		some_desc_free(&d);
	}
}

/* Two in one second: no leaf is cleared for a user who may not use the name. */
T_TEST("an unauthorised name restricts no other job")
{
	struct np_auth_rule rule[NP_AUTH_MAX_RULES] = { { 0 } };
	struct np_auth_rules who = { .rule = rule };
	job_desc_msg_t d[2];

	T_CHECK(!np_auth_parse("loud:user=0", rule, &who.n_rules, NULL));
	set_up_auth(0, &who);
	some_desc(&d[0], "loud");
	d[0].min_nodes = 16;
	some_desc(&d[1], "soft");
	for (int i = 0; i < 2; i++)
		np_submit(stage.shared, &d[i], SOME_NOW, false);
	T_CHECK(!d[0].exc_nodes && !d[1].exc_nodes);
	T_CHECK(d[0].begin_time <= SOME_NOW && d[1].begin_time <= SOME_NOW);
	some_desc_free(&d[0]);
	some_desc_free(&d[1]);
}

/*
 * A loud job on all leaves, of a user who has nothing to show but the name; and
 * a soft one, a moment later, of a user who was named.
 */
static const struct {
	const char *name, *line; /* NULL: none */
	uint32_t loud, soft;
	bool waits;
} words[] = {
	{ "one user's word does not keep another's job away", NULL, 7,
	  SOME_UID + 2, false },
	{ "it does keep that user's own", NULL, 7, 7, true },
	{ "Claim= makes it count", "loud:user=7", 7, SOME_UID + 2, true },
};

T_TEST("a name that only its user vouches for")
{
	T_EACH(r, words) {
		struct np_auth_rule rule[NP_AUTH_MAX_RULES] = { { 0 } };
		struct np_auth_rules who = { .rule = rule };
		job_desc_msg_t d[2];

		T_CHECK(!np_auth_parse("soft:user=20003", rule, &who.n_rules,
				       NULL));
		T_CHECK(!np_auth_parse("soft:default", rule, &who.n_rules,
				       NULL));
		if (r->line)
			T_CHECK(!np_auth_parse(r->line, rule, &who.n_rules,
					       NULL));
		set_up_auth(0, &who);
		some_desc(&d[0], "loud");
		d[0].min_nodes = 16;
		d[0].user_id = r->loud;
		some_desc(&d[1], "soft");
		d[1].user_id = r->soft;
		for (int k = 0; k < 2; k++)
			np_submit(stage.shared, &d[k], SOME_NOW, false);
		T_ROW(r->name, d[0].begin_time <= SOME_NOW);
		T_ROW(r->name, (d[1].begin_time > SOME_NOW) == r->waits);
		some_desc_free(&d[0]);
		some_desc_free(&d[1]);
	}
}

static const struct {
	const char *name;
	unsigned how;
	const char *app, *want;
} lines[] = {
	{ "restricted", LEAF0, "soft",
	  "netprof: submission by uid 20001 of "
	  "\"soft?[31m?\" (soft): kept off " },
	{ "waits for the thread", LEAF0 | BUSY, "soft",
	  "netprof: submission "
	  "by uid 20001 of \"soft?[31m?\" (soft): held for the decision" },
	{ "advice says what would be", LEAF0 | ADVISE, "soft",
	  "netprof: submission by uid 20001 of \"soft?[31m?\" (soft): " },
	{ "no decision", EMPTY, "soft",
	  "netprof: submission by uid 20001 of "
	  "\"soft?[31m?\" (soft): ignored: there is no recent" },
};

/* With the name of a job that would play tricks in the log. */
T_TEST("the log says what was done")
{
	T_EACH(r, lines) {
		char *env[] = { (char *)"NETPROF_APP=soft" };
		job_desc_msg_t d;

		set_up(r->how);
		some_desc(&d, "soft\033[31m\u202e");
		some_text(&d.partition, "batch");
		d.environment = env;
		d.env_size = 1;
		np_submit(stage.shared, &d, SOME_NOW, false);
		T_ROW(r->name,
		      !strncmp(some_logged(), r->want, strlen(r->want)));
		some_desc_free(&d);
	}
}

static char *long_text(const char *part, size_t len)
{
	char *text = malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		text[i] = part[i % strlen(part)];
	text[len] = '\0';
	return text;
}

#define OF(member) offsetof(job_desc_msg_t, member)

static const struct {
	const char *name, *part;
	size_t of;  /* the member */
	bool freed; /* by some_desc_free() */
} hostile[] = {
	{ "a name", "x", OF(name), true },
	{ "a comment", "x", OF(comment), false },
	{ "features", "big&", OF(features), false },
	{ "a partition", "batch,", OF(partition), true },
	{ "tasks", "1,", OF(array_inx), false },
	{ "exclusions", "n[0-15],", OF(exc_nodes), true },
	{ "exclusions that multiply", "[0-9]", OF(exc_nodes), true },
};

T_TEST("texts that Slurm would refuse later")
{
	T_EACH(r, hostile) {
		char *text = long_text(r->part, 1 << 20);
		char *env[] = { (char *)"NETPROF_APP=soft" };
		job_desc_msg_t d;
		char **member = (char **)((char *)&d + r->of);

		set_up(LEAF0);
		some_desc(&d, "soft");
		if (r->freed)
			some_text(member, text);
		else
			*member = text;
		d.environment = env;
		d.env_size = 1;
		np_submit(stage.shared, &d, SOME_NOW, false);
		T_ROW(r->name, !d.begin_time && (!d.exc_nodes ||
						 !strcmp(d.exc_nodes, text)));
		T_ROW(r->name,
		      !d.admin_comment ||
			      !strcmp(d.admin_comment, "netprof{app=soft}"));
		some_desc_free(&d);
		free(text);
	}
}

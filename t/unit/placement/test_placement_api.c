/* Words, causes, submissions in between, and what is refused. */
#include "t.h"
#include "toy.h"

#define TWO "leaf a 4; leaf b 4; app X; app Y; app H; both X Y .3;"

static struct world world;

static struct np_placement *decided(const char *text)
{
	w_init(&world);
	w_parse(&world, text);
	return w_decide(&world);
}

static const struct {
	const char *name, *world;
	uint32_t job;
	const char *want;
} texts[] = {
	{ "it would be slowed by a running job", TWO "run 9 Y a:1; job 1 X 2",
	  1,
	  "kept off 1 of 2 leaf switches: on leaf switch a it would be slowed "
	  "by 30 % (limit 10 %) with running job 9" },
	{ "it would be slowed by hardly more than the limit",
	  "leaf a 4; leaf b 4; app X; app Y; both X Y .104; run 9 Y a:1; "
	  "job 1 X 2",
	  1,
	  "kept off 1 of 2 leaf switches: on leaf switch a it would be slowed "
	  "by 10.40 % (limit 10 %) with running job 9" },
	{ "it would slow a running job",
	  TWO "app S; pair S X .25; run 9 S a:1; job 1 X 2", 1,
	  "kept off 1 of 2 leaf switches: on leaf switch a running job 9 would "
	  "be slowed by 25 % (limit 10 %)" },
	{ "two jobs together would slow a third",
	  TWO "app V; app W; pair V X .08; pair V W .08; run 8 V a:1; "
	      "job 1 X 2; job 2 W 2",
	  2,
	  "kept off 1 of 2 leaf switches: on leaf switch a running job 8 would "
	  "be slowed by 17 % (limit 10 %) with pending job 1" },
	{ "it would be slowed by a pending job", TWO "job 1 X 2; job 2 Y 2", 2,
	  "kept off 1 of 2 leaf switches: on leaf switch a it would be slowed "
	  "by 30 % (limit 10 %) with pending job 1" },
	{ "it would be slowed by another job of its application",
	  TWO "both X X .4; job 1 X 2; job 2 X 2", 1,
	  "kept off 1 of 2 leaf switches: on leaf switch b it would be slowed "
	  "by 40 % (limit 10 %) with another job of its kind" },
	{ "held", TWO "run 9 Y a:1; run 8 Y b:1; job 1 X 2 held=40", 1,
	  "held, for now for 60 s: on leaf switch a it would be slowed by "
	  "30 % (limit 10 %) with running job 9; held for 40 s so far, "
	  "at most 3600 s (MaxDefer)" },
	{ "MaxDefer is reached", TWO "run 9 Y a:1; job 1 X 2 held=3600", 1,
	  "unrestricted: the maximum hold time is reached; held for "
	  "3600 s so far, at most 3600 s (MaxDefer)" },
	{ "no profile", TWO "job 1 - 2", 1,
	  "ignored: its application is not known, or its profile is another "
	  "user's and not trusted" },
	{ "advice", TWO "run 9 Y a:1; job 1 X 2 mode=advise", 1,
	  "advice, not applied: kept off 1 of 2 leaf switches: on leaf switch "
	  "a it would be slowed by 30 % (limit 10 %) with running job 9" },
	{ "an array", TWO "both X X .4; job 1 X 2 tasks=9", 1,
	  "held, for now for 60 s: 2 tasks get leaf switches of their own; "
	  "on leaf switch a it would be slowed by 40 % (limit 10 %) with "
	  "another job of its kind" },
};

T_TEST("the reason says what, where, with whom and how much")
{
	T_EACH(r, texts) {
		struct np_placement *p = decided(r->world);
		size_t k = w_find(&world, r->job);
		char buf[400];

		np_placement_text(p, &world.job[k].in, np_outcome_of(p, k), buf,
				  sizeof(buf));
		if (strcmp(buf, r->want))
			printf("\n    %s\n", buf);
		T_ROW(r->name, !strcmp(buf, r->want));
		np_placement_free(p);
	}
}

T_TEST("words are cut to the room there is")
{
	struct np_placement *p = decided(TWO "run 9 Y a:1; job 1 X 2");
	size_t k = w_find(&world, 1);
	const struct np_outcome *v = np_outcome_of(p, k);
	char whole[400], part[400];

	np_placement_text(p, &world.job[k].in, v, whole, sizeof(whole));
	for (size_t size = 1; size < sizeof(part); size++) {
		memset(part, 'x', sizeof(part));
		np_placement_text(p, &world.job[k].in, v, part, size);
		T_CHECK(strlen(part) ==
			(strlen(whole) < size ? strlen(whole) : size - 1));
		T_CHECK(!strncmp(part, whole, size - 1));
	}
	part[0] = 'x';
	np_placement_text(p, &world.job[k].in, v, part, 0);
	T_CHECK(part[0] == 'x');
	np_placement_free(p);
}

static void collect(void *arg, const struct np_cause *c)
{
	char *to = arg;

	sprintf(to + strlen(to), "%u:%u:%.0f ", c->leaf, c->other,
		100 * c->slowdown);
}

T_TEST("every closed leaf has its cause")
{
	struct np_placement *p = decided(
		"leaf a 4; leaf b 4; leaf c 4; leaf d 4; app X; app Y; app Z;"
		"both X Y .3; pair X Z .2; run 7 Y a:1; run 8 Z b:1;"
		"job 1 X 2; job 2 Y 4 prio=3");
	char got[200] = "";

	T_CHECK(!strcmp(w_opens(&world, np_outcome_of(p, w_find(&world, 1))),
			"d"));
	np_placement_causes(p, w_find(&world, 1), collect, got);
	T_CHECK(!strcmp(got, "0:7:30 1:8:20 2:2:30 "));
	got[0] = '\0';
	np_placement_causes(p, w_find(&world, 7), collect, got);
	T_CHECK(!got[0]);
	np_placement_free(p);
}

T_TEST("the slowdown of a leaf is the worst predicted one there")
{
	struct np_placement *p =
		decided(TWO "run 7 X a:1; run 8 Y a:1; run 9 H b:1");

	T_CHECK(t_close(np_placement_worst_slowdown(p, 0), .3, .01));
	T_CHECK(np_placement_worst_slowdown(p, 1) == 0);
	np_placement_free(p);
}

static struct np_outcome outcome; /* of the last submission */

/* A job is submitted; what was opened to it. */
static const char *submit_job(struct np_placement *p, const struct np_job *job,
			      int64_t now_sec)
{
	T_CHECK(!np_placement_submit(p, job, NULL, now_sec, &outcome, NULL));
	return w_opens(&world, &outcome);
}

/* A user submits a job of the application for nodes; what was opened to it. */
static const char *submit_by(uint32_t owner, struct np_placement *p,
			     int32_t app, uint32_t nodes, int64_t now_sec)
{
	struct np_job j = {
		.state = NP_JOB_READY,
		.mode = NP_MODE_ENFORCE,
		.tasks = 1,
		.nodes_min = nodes,
		.profile = app,
		.candidates = 0,
		.owner = owner,
	};

	return submit_job(p, &j, now_sec);
}

static const char *submit(struct np_placement *p, int32_t app, uint32_t nodes,
			  int64_t now_sec)
{
	return submit_by(0, p, app, nodes, now_sec);
}

#define APP_X 0
#define APP_Y 1
#define APP_H 2
/* Someone to give the set of all nodes. */
#define ALL "job 99 - 1 waiting mode=off;"

T_TEST("two submissions between decisions see each other")
{
	struct np_placement *p = decided(TWO ALL "run 9 Y a:1");

	T_CHECK(!strcmp(submit(p, APP_X, 2, 1001), "b"));
	T_CHECK(!strcmp(submit(p, APP_H, 2, 1001), "any"));
	T_CHECK(!strcmp(submit(p, APP_Y, 2, 1001), "a"));
	T_CHECK(!strcmp(submit(p, APP_X, 4, 1001), "b"));
	T_CHECK(!strcmp(submit(p, APP_X, 5, 1001), "hold"));
	np_placement_free(p);
}

/* V suffers from X and W together, and Q of user 7 from his own P and from L. */
T_TEST("who conflicts through a third job is not called harmless")
{
	struct np_placement *p =
		decided("leaf a 4; leaf b 4; app X; app Y; app H; app V; app W;"
			"both X Y .3; pair V X .07; pair V W .04;" ALL
			"run 8 V a:1; run 9 Y a:1; job 1 X 2");

	submit(p, 4, 2, 1001);
	T_CHECK(outcome.action == NP_ACT_UNRESTRICTED &&
		outcome.cause.why == NP_WHY_FITS);
	np_placement_free(p);
	p = decided(
		"leaf a 4; leaf b 4; app P own=7; app Q own=7; app L; app Y;"
		"both P Y .3; pair P Q .06; pair P L .06;" ALL
		"run 8 L a:1; run 9 Y a:1; job 1 P 2 own=7");
	submit_by(7, p, 1, 2, 1001);
	T_CHECK(outcome.action == NP_ACT_UNRESTRICTED &&
		outcome.cause.why == NP_WHY_FITS);
	np_placement_free(p);
}

/* In mode prefer nodes count as taken by submissions that start before the next decision. */
T_TEST("submissions that cannot start take no nodes")
{
	static const struct {
		const char *name;
		uint32_t nodes;
		enum np_job_state state;
		const char *x_opens;
	} rows[] = {
		{ "no other submission", 0, NP_JOB_READY, "b" },
		{ "more nodes than there are", 1000, NP_JOB_READY, "b" },
		{ "a job that is held", 4, NP_JOB_WAITING, "b" },
		{ "a job that may start", 6, NP_JOB_READY, "any" },
	};

	T_EACH(r, rows) {
		struct np_placement *p =
			decided("leaf a 4; leaf b 4; app X; app Y; both X Y .3;"
				"job 99 - 1 waiting mode=prefer; run 9 Y a:1");
		struct np_job other = {
			.state = r->state,
			.mode = NP_MODE_PREFER,
			.tasks = 1,
			.nodes_min = r->nodes,
			.profile = NP_PROFILE_UNKNOWN,
			.owner = 7,
		};
		struct np_job x = {
			.state = NP_JOB_READY,
			.mode = NP_MODE_PREFER,
			.tasks = 1,
			.nodes_min = 2,
			.profile = APP_X,
		};

		if (r->nodes)
			submit_job(p, &other, 1001);
		T_ROW(r->name, !strcmp(submit_job(p, &x, 1001), r->x_opens));
		np_placement_free(p);
	}
}

T_TEST("what was admitted outlives the decision")
{
	struct np_placement *old = decided(TWO ALL "run 9 H a:1"), *new;
	struct np_arrivals later = { .since_sec = 995 };
	struct np_arrivals none = { .since_sec = 990 };

	T_CHECK(!strcmp(submit(old, APP_X, 2, 990), "any"));
	new = w_decide(&world); /* which did not see that job yet */
	np_placement_carry(new, old, &later); /* too old: seen by now */
	T_CHECK(!strcmp(submit(new, APP_Y, 2, 1001), "any"));
	np_placement_free(new);
	new = w_decide(&world);
	np_placement_carry(new, old, &none);
	T_CHECK(!strcmp(submit(new, APP_Y, 2, 1001), "hold"));
	np_placement_free(old);
	old = w_decide(&world);
	np_placement_carry(old, new, &none); /* and the next one */
	T_CHECK(!strcmp(submit(old, APP_Y, 2, 1001), "hold"));
	np_placement_free(old);
	np_placement_free(new);
}

/* The first of two is a job now: as that, and not as it was admitted. */
T_TEST("what arrived is not counted twice")
{
	struct np_arrival one[] = { { .owner = 0, .n = 1 } };
	struct np_arrivals of = { .since_sec = 990, .of = one, .n = 1 };
	struct np_placement *old = decided(TWO ALL "run 9 Y a:1"), *new;

	T_CHECK(!strcmp(submit(old, APP_X, 2, 1000), "b"));
	T_CHECK(!strcmp(submit(old, APP_H, 2, 1000), "any"));
	new = w_decide(&world);
	np_placement_carry(new, old, &of);
	T_CHECK(!one[0].n);
	T_CHECK(!strcmp(submit(new, APP_Y, 4, 1001), "any"));
	np_placement_free(old);
	np_placement_free(new);
}

T_TEST("a flood of submissions is left for the next decision")
{
	struct np_placement *p = decided(TWO ALL "run 9 Y a:1");
	unsigned held = 0;

	for (int i = 0; i < 5000; i++)
		held += !strcmp(submit(p, APP_X, 2, 1001), "hold");
	T_CHECK(held == 5000 - NP_PLACEMENT_MAX_ADMITTED / 2);
	T_CHECK(!strcmp(submit(p, APP_Y, 2, 1001), "hold"));
	T_CHECK(!strcmp(submit(p, NP_PROFILE_UNKNOWN, 2, 1001), "none"));
	np_placement_free(p);
}

/* Also in the next decision, which takes over what was admitted. */
T_TEST("a flood holds back its own user's jobs alone")
{
	struct np_arrivals none = { .since_sec = 990 };
	struct np_placement *p = decided(TWO ALL "run 9 Y a:1"), *next;

	for (int i = 0; i < 4200; i++)
		submit_by(7, p, APP_X, 2, 1001);
	T_ROW("its own", !strcmp(submit_by(7, p, APP_H, 2, 1001), "hold"));
	T_ROW("a harmless one of another user",
	      !strcmp(submit_by(8, p, APP_H, 2, 1001), "any"));
	T_ROW("another user's that has to be kept away",
	      !strcmp(submit_by(8, p, APP_Y, 2, 1001), "a"));
	next = w_decide(&world);
	np_placement_carry(next, p, &none);
	T_ROW("its own, then",
	      !strcmp(submit_by(7, next, APP_H, 2, 1001), "hold"));
	T_ROW("another user's, then",
	      !strcmp(submit_by(8, next, APP_H, 2, 1001), "any"));
	for (uint32_t uid = 100; uid < 105; uid++)
		for (int i = 0; i < 4200; i++)
			submit_by(uid, next, APP_H, 2, 1001);
	T_ROW("behind five more floods",
	      !strcmp(submit_by(8, next, APP_H, 2, 1001), "any"));
	np_placement_free(next);
	np_placement_free(p);
}

/* ---- one user with more profiles than all others ---- */

#define USERS_APPS 512 /* of user 7; user 8 has one more */

static int always_slower(void *arg, uint32_t victim, uint32_t co,
			 enum np_contact contact, double *slowdown)
{
	(void)arg, (void)victim, (void)co, (void)contact;
	*slowdown = 0.3;
	return 0;
}

static struct np_slowdowns *many_apps(void)
{
	const struct np_oracle oracle = { always_slower, NULL };
	struct np_conflict *c = np_conflict_new(&oracle);
	struct np_slowdowns *t = NULL;
	uint32_t handle;

	for (int i = 0; i <= USERS_APPS; i++)
		T_CHECK(!np_conflict_add(c, i < USERS_APPS ? 7 : 8, false,
					 &handle, NULL));
	np_conflict_predict(c, NULL, 0, SIZE_MAX);
	T_CHECK(!np_conflict_table(c, 0.01, &t, NULL));
	np_conflict_free(c);
	return t;
}

/* A job of user 7 and an application, with and without nodes of its own. */
static struct np_job job_of(uint32_t i)
{
	return (struct np_job){
		.id = i + 1,
		.state = NP_JOB_READY,
		.mode = NP_MODE_ENFORCE,
		.tasks = 1,
		.nodes_min = 1,
		.profile = (int32_t)(i / 2),
		.flags = i % 2 ? NP_JOB_SHARES_NODES : 0,
		.priority = 10000 - i,
		.owner = i < 2 * USERS_APPS ? 7 : 8,
	};
}

/* Decide about the first n of these jobs, and the last one. */
static struct np_placement *decide_many(uint32_t n)
{
	static const uint32_t node[] = { 0, 1, 2, 3 };
	const struct np_leaf leaf[] = { { "a", node, 2, NULL },
					{ "b", node + 2, 2, NULL } };
	const uint64_t all = 0xf;
	struct np_slowdowns *t = many_apps();
	struct np_placement *p = NULL;
	struct np_leaves *l = NULL;
	struct np_snapshot *s = NULL;
	struct np_policy policy;
	uint32_t set;

	np_policy_init(&policy);
	T_CHECK(!np_leaves_new(4, leaf, 2, &l, NULL) &&
		!np_snapshot_new(l, 1000, 0, &s, NULL) &&
		!np_snapshot_nodes(s, &all, &set, NULL));
	for (size_t i = 0; i < 4; i++)
		T_CHECK(!np_snapshot_node(s, i, NP_NODE_IDLE, NULL));
	for (uint32_t i = 0; i <= n; i++) {
		struct np_job job = job_of(i < n ? i : 2 * USERS_APPS);

		job.candidates = set;
		T_CHECK(!np_snapshot_job(s, &job, NULL));
	}
	np_snapshot_seal(s);
	T_CHECK(!np_placement_decide(s, t, &policy, &p, NULL));
	np_leaves_unref(l);
	np_snapshot_unref(s);
	np_slowdowns_unref(t);
	return p;
}

T_TEST("jobs of a user with many profiles do not exclude others' jobs")
{
	struct np_placement *p = decide_many(2 * USERS_APPS);

	T_CHECK(np_outcome_of(p, 2 * USERS_APPS)->cause.why != NP_WHY_TOO_MANY);
	T_ROW("their own beyond the share are ignored",
	      np_outcome_of(p, 2 * USERS_APPS - 1)->cause.why ==
		      NP_WHY_TOO_MANY);
	np_placement_free(p);
}

T_TEST("nor do they between two decisions")
{
	struct np_placement *p = decide_many(0);
	struct np_job last = job_of(2 * USERS_APPS);
	struct np_outcome v;

	last.nodes_min = 2; /* not of the class of the pending job */
	last.flags = NP_JOB_SHARES_NODES;
	for (uint32_t i = 0; i < 200; i++) {
		struct np_job job = job_of(i);

		T_CHECK(!np_placement_submit(p, &job, NULL, 1001, &v, NULL));
	}
	T_ROW("their own wait", v.cause.why == NP_WHY_TOO_MANY);
	T_CHECK(!np_placement_submit(p, &last, NULL, 1001, &v, NULL));
	T_CHECK(v.cause.why != NP_WHY_TOO_MANY);
	np_placement_free(p);
}

/* Arrays whose tasks must avoid each other, so that each gets its leaves. */
T_TEST("many arrays of one user leave others' tasks their turn")
{
	char text[16384];
	size_t used = (size_t)sprintf(
		text, "leaf a 4; leaf b 4; leaf c 4; app X own=7; "
		      "app Z own=8; both X X .3; both Z Z .3;");
	struct np_placement *p;

	for (int i = 1; i <= 140; i++)
		used += (size_t)sprintf(text + used,
					"job %d X 1 own=7 tasks=32 prio=9;", i);
	sprintf(text + used, "job 500 Z 1 own=8 tasks=3 prio=1");
	p = decided(text);
	T_ROW("two leave the array, and the third is the rest of it",
	      np_outcome_of(p, w_find(&world, 500))->tasks == 2);
	np_placement_free(p);
}

T_TEST("what no job can be is refused")
{
	static const struct {
		const char *name;
		struct np_job job;
	} rows[] = {
		{ "running",
		  { .state = NP_JOB_RUNNING, .tasks = 1, .nodes_min = 1 } },
		{ "no tasks", { .state = NP_JOB_READY, .nodes_min = 1 } },
		{ "no nodes", { .state = NP_JOB_READY, .tasks = 1 } },
		{ "no such set",
		  { .state = NP_JOB_READY,
		    .tasks = 1,
		    .nodes_min = 1,
		    .candidates = 77 } },
		{ "no such profile",
		  { .state = NP_JOB_READY,
		    .tasks = 1,
		    .nodes_min = 1,
		    .profile = 77 } },
	};
	struct np_placement *p = decided(TWO ALL);

	T_EACH(r, rows) {
		struct np_err err = NP_ERR_INIT;
		struct np_outcome v;

		T_ROW(r->name, np_placement_submit(p, &r->job, NULL, 1001, &v,
						   &err) == -EINVAL &&
				       v.action == NP_ACT_NONE && err.text[0]);
	}
	np_placement_free(p);
}

static const struct {
	const char *name;
	size_t offset;
	double value;
} policies[] = {
	{ "MaxSlowdown below 0", offsetof(struct np_policy, max_slowdown),
	  -.1 },
	{ "MaxSlowdown NaN", offsetof(struct np_policy, max_slowdown), NAN },
	{ "MaxDefer of no time", offsetof(struct np_policy, max_hold_sec), 0 },
	{ "MaxDefer without end", offsetof(struct np_policy, max_hold_sec),
	  INFINITY },
	{ "hold of no time", offsetof(struct np_policy, hold_step_sec), 0 },
};

T_TEST("a policy that cannot be is refused")
{
	struct np_snapshot *s;
	struct np_slowdowns *t;
	struct np_placement *p = NULL;
	struct np_policy policy;

	w_init(&world);
	w_parse(&world, TWO);
	s = w_snapshot(&world);
	t = w_slowdowns(&world);
	T_EACH(r, policies) {
		struct np_err err = NP_ERR_INIT;

		np_policy_init(&policy);
		*(double *)((char *)&policy + r->offset) = r->value;
		T_ROW(r->name,
		      np_placement_decide(s, t, &policy, &p, &err) == -EINVAL &&
			      !p && err.text[0]);
	}
	np_policy_init(&policy);
	policy.unknown_as = 3;
	T_CHECK(np_placement_decide(s, t, &policy, &p, NULL) == -EINVAL);
	policy.unknown_as = 2;
	T_CHECK(!np_placement_decide(s, t, &policy, &p, NULL));
	np_placement_free(p);
	np_snapshot_unref(s);
	np_slowdowns_unref(t);
}

T_TEST("a world without leaves or jobs is fine")
{
	struct np_placement *p = decided("loose 3; app X; job 1 X 2");

	T_CHECK(!strcmp(w_opens(&world, np_outcome_of(p, 0)), "none"));
	np_placement_free(p);
	np_placement_free(decided("leaf a 1; app X"));
	np_placement_free(decided("leaf a 1"));
}

T_TEST("what closes leaves is marked, to be written first")
{
	struct np_placement *p =
		decided(TWO "job 1 X 2 prior=a,b; job 2 Y 2; job 3 H 2;"
			    "job 4 H 2 prior=a; job 5 X 2 prior=b");
	static const struct {
		uint32_t job;
		bool changed, narrows;
	} rows[] = {
		{ 1, true, true },  { 2, true, true },	 { 3, false, false },
		{ 4, true, false }, { 5, false, false },
	};

	T_EACH(r, rows) {
		const struct np_outcome *v =
			np_outcome_of(p, w_find(&world, r->job));

		T_CHECK(v->changed == r->changed);
		T_CHECK(v->narrows == r->narrows);
	}
	np_placement_free(p);
}

static const struct {
	const char *name, *job;
	int64_t until_sec;
} until[] = {
	{ "first hold: one step", "job 1 X 2", 1060 },
	{ "most of it left: not written again", "job 1 X 2 prior=hold:1050",
	  1050 },
	{ "little of it left: another step", "job 1 X 2 prior=hold:1020",
	  1060 },
	{ "not beyond MaxDefer", "job 1 X 2 held=3580", 1020 },
	{ "nor if it was written so", "job 1 X 2 held=3570 prior=hold:1050",
	  1020 },
	{ "not before the user's own time", "job 1 X 2 begin=1055 held=3580",
	  4600 },
	{ "long, for one that cannot start by itself", "job 1 X 2 waiting",
	  4600 },
	{ "and long enough is not written again",
	  "job 1 X 2 waiting prior=hold:3000", 3000 },
	{ "no longer than one step once it can start",
	  "job 1 X 2 prior=hold:3000", 1060 },
	{ "an hour at most, for one that cannot start by itself",
	  "job 1 X 2 waiting; hold 86400", 4600 },
	{ "or MaxDefer, if that is less", "job 1 X 2 waiting; hold 600", 1600 },
};

T_TEST("a hold ends soon, and in time")
{
	T_EACH(r, until) {
		struct np_placement *p;
		const struct np_outcome *v;

		w_init(&world);
		w_parse(&world, TWO "run 9 Y a:1; run 8 Y b:1");
		w_parse(&world, r->job);
		p = w_decide(&world);
		v = np_outcome_of(p, w_find(&world, 1));
		T_ROW(r->name,
		      v->action == NP_ACT_HOLD && v->until_sec == r->until_sec);
		np_placement_free(p);
	}
}

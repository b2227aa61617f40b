#include "t.h"
#include "np_ctl.h"
#include "np_clock.h"
#include "np_submit.h"
#include "some_slurm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A newcomer gets one leaf where that is enough. */
#define BUT1 "n[0-3,8-15]"
#define BEGIN (SOME_NOW + 5)

/* How things are when the job comes. */
struct stage {
	struct some_slurm slurm;
	struct np_view view;
	struct np_shared *shared;
};

enum how {
	LEAF0 = 1 << 0,	   /* a loud job runs on leaf0 */
	EVERYWHERE = 1 << 1, /* one runs on every leaf */
	EMPTY = 1 << 2,	   /* no decision */
	STALE = 1 << 3,	   /* an old one */
	BUSY = 1 << 4,	   /* the thread decides */
	STARTING = 1 << 5,
	ADVISE = 1 << 6, /* mode of partition batch */
	PREFER = 1 << 7,
	OFF = 1 << 8,
};

static enum np_mode mode_of(unsigned how)
{
	return how & ADVISE ? NP_MODE_ADVISE : how & PREFER ? NP_MODE_PREFER :
	       how & OFF ? NP_MODE_OFF : NP_MODE_ENFORCE;
}

static void publish(struct stage *s, unsigned how)
{
	struct np_standing *st = calloc(1, sizeof(*st));

	T_CHECK(!some_view(&s->slurm, NULL, NULL, 0, &s->view));
	st->placement = some_decision(&s->view);
	st->site = np_site_ref(s->slurm.site);
	st->index = some_index(s->slurm.claims);
	st->set = s->view.set;
	s->view.set = NULL;
	st->now_sec = how & STALE ? SOME_NOW - 61 : SOME_NOW;
	np_shared_publish(s->shared, st, SOME_NOW);
}

static void set_up_claims(struct stage *s, unsigned how,
			  const struct np_app_claims *claims)
{
	struct np_conf conf;

	some_slurm(&s->slurm);
	s->slurm.claims = claims;
	np_conf_init(&conf);
	some_place_conf(&conf.place);
	conf.place.mode = NP_MODE_OFF;
	strcpy(conf.place.partition[0].name, "batch");
	conf.place.partition[0].mode = mode_of(how);
	conf.place.n_partitions = 1;
	T_CHECK(!np_shared_new(&conf, &s->shared));
	memset(&s->view, 0, sizeof(s->view));
	if (how & (LEAF0 | EVERYWHERE))
		some_run(&s->slurm, some_job(&s->slurm, 1, "loud"),
			 how & LEAF0 ? "n[0-1]" : "n[0,4,8,12]");
	if (!(how & EMPTY))
		publish(s, how);
	np_shared_busy(s->shared, how & BUSY);
}

static void set_up(struct stage *s, unsigned how)
{
	set_up_claims(s, how, NULL);
}

static void tear_down(struct stage *s)
{
	if (s->view.site)
		np_view_free(&s->view);
	np_shared_free(s->shared);
	some_slurm_free(&s->slurm);
}

static const struct {
	const char *name;
	unsigned how;
	const char *app, *exc, *comment, *partition;
	int64_t begin;
	const char *want_exc, *want_comment;
	int64_t want_begin; /* as given, if 0 */
} rows[] = {
	{ "harmless", LEAF0, "quiet", NULL, NULL, NULL, 0,
	  NULL, "netprof{held=0}", 0 },
	{ "kept off a leaf", LEAF0, "soft", NULL, NULL, NULL, 0,
	  BUT1, "netprof{ours=" BUT1 " held=0}", 0 },
	{ "in the partition by its name", LEAF0, "soft", NULL, NULL, "batch",
	  0, BUT1, "netprof{ours=" BUT1 " held=0}", 0 },
	{ "his own exclusions are kept", LEAF0, "soft", "n7,n4", NULL, NULL,
	  0, "n7,n4," BUT1, "netprof{user=n7,n4 ours=" BUT1 " held=0}", 0 },
	{ "exclusions with spaces", LEAF0, "soft", "n7 n4", NULL, NULL,
	  0, "n7 n4," BUT1, "netprof{user=n7,n4 ours=" BUT1 " held=0}", 0 },
	{ "an empty list is none", LEAF0, "soft", "", NULL, NULL, 0,
	  BUT1, "netprof{ours=" BUT1 " held=0}", 0 },
	{ "a comment of others is kept", LEAF0, "soft", NULL, "ticket 5",
	  NULL, 0, BUT1, "ticket 5 netprof{ours=" BUT1 " held=0}", 0 },
	{ "a begin time is kept", LEAF0, "soft", NULL, NULL, NULL, BEGIN,
	  BUT1, "netprof{ours=" BUT1 " held=0}", 0 },
	{ "deferred", EVERYWHERE, "soft", NULL, NULL, NULL, 0,
	  NULL, "netprof{until=1000060 held=0}", SOME_NOW + 60 },
	{ "deferred, with exclusions", EVERYWHERE, "soft", "n5", NULL, NULL,
	  0, "n5", "netprof{user=n5 until=1000060 held=0}", SOME_NOW + 60 },
	/* It does not wait for us yet, and need not be looked at soon. */
	{ "deferred, with a begin time", EVERYWHERE, "soft", NULL, NULL, NULL,
	  BEGIN, NULL, "netprof{until=1003600 begin=1000005 held=0}",
	  SOME_NOW + 3600 },
	{ "deferred, with a begin time that is past", EVERYWHERE, "soft",
	  NULL, NULL, NULL, SOME_NOW - 5, NULL,
	  "netprof{until=1000060 held=0}", SOME_NOW + 60 },
	{ "an application nobody knows", LEAF0, "other", NULL, NULL, NULL, 0,
	  NULL, NULL, 0 },
	{ "off", LEAF0 | OFF, "soft", "n7", "x", NULL, 0, "n7", "x", 0 },
	{ "a partition that is off", LEAF0, "soft", NULL, NULL, "debug", 0,
	  NULL, NULL, 0 },
	{ "a partition that is not there", LEAF0, "soft", NULL, NULL, "none",
	  0, NULL, NULL, 0 },
	{ "several partitions", LEAF0, "soft", NULL, NULL, "batch,debug", 0,
	  NULL, NULL, 0 },
	{ "advise changes nothing", LEAF0 | ADVISE, "soft", "n7", NULL, NULL,
	  0, "n7", NULL, 0 },
	{ "prefer", LEAF0 | PREFER, "soft", NULL, NULL, NULL, 0,
	  BUT1, "netprof{ours=" BUT1 " held=0}", 0 },
	{ "prefer never defers", EVERYWHERE | PREFER, "soft", NULL, NULL,
	  NULL, 0, NULL, "netprof{held=0}", 0 },
	{ "a list that is none", LEAF0, "soft", "n[3-1]", NULL, NULL, 0,
	  "n[3-1]", NULL, 0 },
	{ "too few nodes beside his own exclusions: left alone", LEAF0,
	  "soft", "n[0-15]", NULL, NULL, 0, "n[0-15]", NULL, 0 },

	{ "slurmctld has just started", EMPTY | STARTING, "quiet", "n7", NULL,
	  NULL, 0, "n7", "netprof{user=n7 until=1000010 held=0}",
	  SOME_NOW + 10 },
	{ "started, and a begin time", EMPTY | STARTING, "soft", NULL, NULL,
	  NULL, SOME_NOW + 99, NULL,
	  "netprof{until=1000099 begin=1000099 held=0}", 0 },
	{ "started, prefer", EMPTY | STARTING | PREFER, "soft", NULL, NULL,
	  "batch", 0, NULL, NULL, 0 },
	{ "started long ago, and no decision", EMPTY, "soft", NULL, NULL,
	  "batch", 0, NULL, NULL, 0 },
	{ "an old decision", LEAF0 | STALE, "soft", NULL, NULL, NULL, 0,
	  NULL, NULL, 0 },
	{ "an old decision after a start", LEAF0 | STALE | STARTING, "soft",
	  NULL, NULL, NULL, 0, NULL, NULL, 0 },

	{ "the thread decides: a conflict waits", LEAF0 | BUSY, "soft", NULL,
	  NULL, NULL, 0, NULL, "netprof{until=1000010 held=0}",
	  SOME_NOW + 10 },
	{ "the thread decides: harmless ones do not", LEAF0 | BUSY, "quiet",
	  NULL, NULL, NULL, 0, NULL, "netprof{held=0}", 0 },
	{ "the thread decides: prefer does not", LEAF0 | BUSY | PREFER,
	  "soft", NULL, NULL, NULL, 0, BUT1,
	  "netprof{ours=" BUT1 " held=0}", 0 },
	{ "the thread decides: advise does not", LEAF0 | BUSY | ADVISE,
	  "soft", NULL, NULL, NULL, 0, NULL, NULL, 0 },
};

static void test_rows(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct stage s;
		job_desc_msg_t d;

		set_up(&s, rows[i].how);
		/* The first decision tells which partition is the default. */
		some_desc(&d, rows[i].app);
		some_text(&d.exc_nodes, rows[i].exc);
		some_text(&d.admin_comment, rows[i].comment);
		some_text(&d.partition, rows[i].partition ? rows[i].partition :
			  rows[i].how & EMPTY ? "batch" : NULL);
		d.begin_time = rows[i].begin;
		np_submit(s.shared, &d, SOME_NOW, rows[i].how & STARTING);
		T_ROW(rows[i].name, some_same(d.exc_nodes, rows[i].want_exc));
		T_ROW(rows[i].name, some_same(d.admin_comment,
					      rows[i].want_comment));
		T_ROW(rows[i].name, d.begin_time == (rows[i].want_begin ?
			rows[i].want_begin : rows[i].begin));
		some_desc_free(&d);
		tear_down(&s);
	}
}

static const struct {
	const char *name;
	unsigned how;
	const char *app;
	bool waits;
} let_in[] = {
	{ "kept off a leaf: the thread waits until it is a job", LEAF0, "soft",
	  true },
	{ "harmless: whether it is one is the same", LEAF0, "quiet", false },
	{ "deferred: it does not start", EVERYWHERE, "soft", false },
	{ "while the thread decides: neither does it", LEAF0 | BUSY, "soft",
	  false },
	{ "advice: nobody is kept away", LEAF0 | ADVISE, "soft", false },
};

static void test_the_thread_waits_for_who_was_let_in(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(let_in); i++) {
		struct stage s;
		job_desc_msg_t d;
		double begin;

		set_up(&s, let_in[i].how);
		some_desc(&d, let_in[i].app);
		np_submit(s.shared, &d, SOME_NOW, false);
		begin = np_mono_sec();
		np_shared_settle(s.shared);
		T_ROW(let_in[i].name, let_in[i].waits ==
		      (np_mono_sec() - begin > NP_SHARED_IN_FLIGHT_SEC / 2));
		some_desc_free(&d);
		tear_down(&s);
	}
}

static void exclusive(job_desc_msg_t *d)
{
	d->shared = JOB_SHARED_NONE;
}

static void reserved(job_desc_msg_t *d)
{
	d->reservation = (char *)"maint";
}

static void listed(job_desc_msg_t *d)
{
	d->req_nodes = (char *)"n1";
}

static void het(job_desc_msg_t *d)
{
	d->het_job_offset = 0;
}

static void cron(job_desc_msg_t *d)
{
	d->bitflags |= CRON_JOB;
}

static void held(job_desc_msg_t *d)
{
	d->priority = 0;
}

static void ten_nodes(job_desc_msg_t *d)
{
	d->min_nodes = 10;
}

static void by_tasks(job_desc_msg_t *d)
{
	d->num_tasks = 12;
	d->ntasks_per_node = 1;
}

static void by_cpus(job_desc_msg_t *d)
{
	d->num_tasks = 12;
	d->cpus_per_task = 4;
}

static void by_memory(job_desc_msg_t *d)
{
	d->pn_min_memory = 4000;
}

static void by_cpu_memory(job_desc_msg_t *d)
{
	d->pn_min_memory = 4000 | MEM_PER_CPU;
}

static void by_feature(job_desc_msg_t *d)
{
	d->features = (char *)"big";
}

static void by_devices(job_desc_msg_t *d)
{
	d->tres_per_node = (char *)"gres:gpu:1";
}

static void everything_unset(job_desc_msg_t *d)
{
	d->pn_min_memory = INFINITE64;
	d->min_nodes = d->num_tasks = d->min_cpus = NO_VAL;
	d->pn_min_cpus = d->ntasks_per_node = NO_VAL16;
	d->name = d->name;
	d->features = (char *)"";
	d->req_nodes = (char *)"";
	d->reservation = (char *)"";
}

static const struct {
	const char *name;
	void (*set)(job_desc_msg_t *d);
	const char *want; /* exclusions; "-": none, and no note */
} asks[] = {
	{ "alone on its nodes: still one switch", exclusive, BUT1 },
	{ "a reservation", reserved, "-" },
	{ "a list of nodes", listed, "-" },
	{ "a component of a heterogeneous job", het, "-" },
	{ "scrontab", cron, "-" },
	{ "held: kept off as well", held, BUT1 },
	{ "many nodes", ten_nodes, "n[0-3]" },
	{ "many nodes, by its tasks", by_tasks, "n[0-3]" },
	{ "many nodes, by its CPUs", by_cpus, "n[0-3]" },
	{ "much memory: it goes to another leaf anyhow", by_memory, "" },
	{ "much memory for a CPU", by_cpu_memory, "" },
	{ "a feature of one leaf", by_feature, "" },
	{ "devices", by_devices, "-" },
	{ "nothing is said", everything_unset, BUT1 },
};

static void test_asks(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(asks); i++) {
		bool none = !strcmp(asks[i].want, "-");
		struct stage s;
		job_desc_msg_t d;

		set_up(&s, LEAF0);
		some_desc(&d, "soft");
		asks[i].set(&d);
		np_submit(s.shared, &d, SOME_NOW, false);
		T_ROW(asks[i].name, some_same(d.exc_nodes, none ? "" :
							   asks[i].want));
		T_ROW(asks[i].name, !d.admin_comment == none);
		some_desc_free(&d);
		tear_down(&s);
	}
}

/* Arrays of loud tasks, on four leaves without anybody. */
static const struct {
	const char *name, *inx;
	bool waits;
} arrays[] = {
	{ "no array", NULL, false },
	{ "one task", "7", false },
	{ "one task, of a range", "7-7", false },
	{ "one task by its step", "1-3:4", false },
	{ "two tasks", "1,2", true },
	{ "a range", "0-1", true },
	{ "steps", "0-9:5", true },
	{ "at most one at a time", "0-9%1", true },
	{ "the last number there is", "0-18446744073709551615", true },
	{ "backwards", "9-1", false },
	{ "no step", "1-9:0", false },
	{ "no numbers", "x", false },
	{ "negative", "-5", false },
	{ "nothing", "", false },
};

static void test_arrays(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(arrays); i++) {
		struct stage s;
		job_desc_msg_t d;

		set_up(&s, 0);
		some_desc(&d, "loud");
		d.array_inx = (char *)arrays[i].inx;
		np_submit(s.shared, &d, SOME_NOW, false);
		T_ROW(arrays[i].name, (d.begin_time > SOME_NOW) ==
				      arrays[i].waits);
		some_desc_free(&d);
		tear_down(&s);
	}
}

/* The group of rule 0 has uid 1 in it; of SOME_UID + 2 nothing is known. */
static const struct np_claim_user some_users[] = {
	{ 1, 1 }, { SOME_UID, 0 }, { SOME_UID + 1, 0 },
};

static const struct {
	const char *name, *line; /* NULL: none */
	uint32_t uid;
	const char *account;
	unsigned how;
	const char *want_exc;
	int64_t want_begin; /* 0: at once */
	const char *says;
} claims[] = {
	{ "nobody says who may", NULL, SOME_UID, NULL, LEAF0, BUT1, 0,
	  "kept off 3 of 4" },
	{ "whose own runs contradict it", NULL, SOME_UID + 1, NULL, LEAF0,
	  NULL, 0, "left alone: this user may not claim that name" },
	{ "who is named", "soft:group=0,user=20001", SOME_UID, NULL, LEAF0,
	  BUT1, 0, "kept off 3 of 4" },
	{ "who is in the group", "soft:group=0", 1, NULL, LEAF0, BUT1, 0,
	  "kept off 3 of 4" },
	{ "who is not", "soft:group=0", SOME_UID, NULL, LEAF0, NULL, 0,
	  "left alone: this user may not claim that name" },
	{ "whose groups were not asked: waits for that", "soft:group=0",
	  SOME_UID + 2, NULL, LEAF0, NULL, SOME_NOW + 10,
	  "waits until it is known whether this user may claim that name" },
	{ "in prefer nobody waits", "soft:group=0", SOME_UID + 2, NULL,
	  LEAF0 | PREFER, NULL, 0, "left alone: it is not known yet" },
	{ "nor in advise", "soft:group=0", SOME_UID + 2, NULL,
	  LEAF0 | ADVISE, NULL, 0, "left alone: it is not known yet" },
	{ "by his account", "soft:account=ph*", SOME_UID, "phys", LEAF0, BUT1,
	  0, "kept off 3 of 4" },
	{ "another account", "soft:account=ph*", SOME_UID, "chem", LEAF0,
	  NULL, 0, "left alone: this user may not claim that name" },
	{ "the account that Slurm will give him", "soft:account=ph*",
	  SOME_UID, NULL, LEAF0, NULL, SOME_NOW + 10,
	  "waits until it is known" },
	{ "in the default partition", "soft:partition=bat*", SOME_UID, NULL,
	  LEAF0, BUT1, 0, "kept off 3 of 4" },
	{ "not in that one", "soft:partition=debug", SOME_UID, NULL, LEAF0,
	  NULL, 0, "left alone: this user may not claim that name" },
	{ "a decision that is being made does not matter to him",
	  "soft:user=0", SOME_UID, NULL, LEAF0 | BUSY, NULL, 0,
	  "left alone: this user may not claim that name" },
};

static void test_claims(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(claims); i++) {
		struct np_claim_rule rule[NP_CLAIM_MAX_RULES] = { { 0 } };
		struct np_app_claims who = {
			.rule = rule, .user = some_users,
			.n_users = NP_ARRAY_SIZE(some_users),
		};
		const char *name = claims[i].name;
		struct stage s;
		job_desc_msg_t d;

		if (claims[i].line)
			T_ROW(name, !np_claim_parse(claims[i].line, rule,
						    &who.n_rules, NULL));
		set_up_claims(&s, claims[i].how, &who);
		some_desc(&d, "soft");
		d.user_id = claims[i].uid;
		d.account = (char *)claims[i].account;
		np_submit(s.shared, &d, SOME_NOW, false);
		T_ROW(name, some_same(d.exc_nodes, claims[i].want_exc));
		T_ROW(name, d.begin_time == claims[i].want_begin);
		T_ROW(name, strstr(some_said(), claims[i].says));
		d.account = NULL;
		some_desc_free(&d);
		tear_down(&s);
	}
}

/* Two in one second: no leaf is cleared for who may not claim the name. */
static void test_a_void_claim_moves_nobody(void)
{
	struct np_claim_rule rule[NP_CLAIM_MAX_RULES] = { { 0 } };
	struct np_app_claims who = { .rule = rule };
	struct stage s;
	job_desc_msg_t d[2];

	T_CHECK(!np_claim_parse("loud:user=0", rule, &who.n_rules, NULL));
	set_up_claims(&s, 0, &who);
	some_desc(&d[0], "loud");
	d[0].min_nodes = 16;
	some_desc(&d[1], "soft");
	for (int i = 0; i < 2; i++)
		np_submit(s.shared, &d[i], SOME_NOW, false);
	T_CHECK(!d[0].exc_nodes && !d[1].exc_nodes);
	T_CHECK(d[0].begin_time <= SOME_NOW && d[1].begin_time <= SOME_NOW);
	some_desc_free(&d[0]);
	some_desc_free(&d[1]);
	tear_down(&s);
}

static void test_told(void)
{
	char *env[] = { (char *)"NETPROF_APP=soft" };
	struct stage s;
	job_desc_msg_t d;

	set_up(&s, LEAF0);
	some_desc(&d, "quiet");
	d.environment = env;
	d.env_size = 1;
	np_submit(s.shared, &d, SOME_NOW, false);
	T_CHECK(some_same(d.admin_comment,
			  "netprof{app=soft ours=" BUT1 " held=0}"));
	some_desc_free(&d);
	env[0] = (char *)"NETPROF_APP=mine";
	some_desc(&d, "quiet");
	d.environment = env;
	d.env_size = 1;
	np_submit(s.shared, &d, SOME_NOW, false);
	T_ROW("told, and nothing is known of it",
	      some_same(d.admin_comment, "netprof{app=mine}"));
	some_desc_free(&d);
	some_desc(&d, "quiet");
	d.environment = env;
	d.env_size = 1;
	some_text(&d.partition, "none");
	np_submit(s.shared, &d, SOME_NOW, false);
	T_ROW("off in its partition, and a load for others",
	      some_same(d.admin_comment, "netprof{app=mine}") && !d.exc_nodes);
	some_desc_free(&d);
	tear_down(&s);
}

/* Two that conflict, in one second. */
static void test_two(void)
{
	uint64_t bits[2];
	struct stage s;
	job_desc_msg_t d[2];

	set_up(&s, 0);
	for (int i = 0; i < 2; i++) {
		some_desc(&d[i], "loud");
		np_submit(s.shared, &d[i], SOME_NOW, false);
	}
	/* The first one went anywhere: the other waits for the thread. */
	T_CHECK(!d[0].exc_nodes && d[0].begin_time <= SOME_NOW);
	T_CHECK(d[1].begin_time > SOME_NOW);
	some_desc_free(&d[0]);
	some_desc_free(&d[1]);
	tear_down(&s);

	set_up(&s, LEAF0);
	for (int i = 0; i < 2; i++) {
		some_desc(&d[i], i ? "soft" : "loud");
		d[i].min_nodes = 2;
		np_submit(s.shared, &d[i], SOME_NOW, false);
		T_CHECK(!np_site_parse(s.slurm.site, d[i].exc_nodes,
				       &bits[i]));
		bits[i] = ~bits[i] & 0xffff; /* where it may go */
	}
	T_CHECK(bits[0] != 0 && !(bits[0] & 0xf));
	T_CHECK(d[1].begin_time > SOME_NOW || !(bits[0] & bits[1]));
	some_desc_free(&d[0]);
	some_desc_free(&d[1]);
	tear_down(&s);
}

/* Who waits has the thread look at once. */
static void test_wakes(void)
{
	struct stage s;
	job_desc_msg_t d;

	set_up(&s, LEAF0);
	some_desc(&d, "soft");
	np_submit(s.shared, &d, SOME_NOW, false);
	T_CHECK(!np_shared_wait(s.shared, 0));
	some_desc_free(&d);
	tear_down(&s);
	set_up(&s, EVERYWHERE);
	some_desc(&d, "soft");
	np_submit(s.shared, &d, SOME_NOW, false);
	T_CHECK(np_shared_wait(s.shared, 0));
	some_desc_free(&d);
	tear_down(&s);
}

static const struct {
	const char *name;
	unsigned how;
	const char *app, *want;
} lines[] = {
	{ "confined", LEAF0, "soft", "netprof: submission by uid 20001 of "
	  "\"soft?[31m?\" (soft): kept off " },
	{ "waits for the thread", LEAF0 | BUSY, "soft", "netprof: submission "
	  "by uid 20001 of \"soft?[31m?\" (soft): waits for the decision" },
	{ "advice says what would be", LEAF0 | ADVISE, "soft",
	  "netprof: submission by uid 20001 of \"soft?[31m?\" (soft): " },
	{ "no decision", EMPTY, "soft", "netprof: submission by uid 20001 of "
	  "\"soft?[31m?\" (soft): left alone: there is no recent" },
};

/* With the name of a job that would play tricks in the log. */
static void test_log(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++) {
		char *env[] = { (char *)"NETPROF_APP=soft" };
		struct stage s;
		job_desc_msg_t d;

		set_up(&s, lines[i].how);
		some_desc(&d, "soft\033[31m\u202e");
		some_text(&d.partition, "batch");
		d.environment = env;
		d.env_size = 1;
		np_submit(s.shared, &d, SOME_NOW, false);
		T_ROW(lines[i].name, !strncmp(some_said(), lines[i].want,
					      strlen(lines[i].want)));
		some_desc_free(&d);
		tear_down(&s);
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

static void long_name(job_desc_msg_t *d, char *text)
{
	some_text(&d->name, text);
}

static void long_comment(job_desc_msg_t *d, char *text)
{
	d->comment = text;
}

static void long_features(job_desc_msg_t *d, char *text)
{
	d->features = text;
}

static void long_partition(job_desc_msg_t *d, char *text)
{
	some_text(&d->partition, text);
}

static void long_array(job_desc_msg_t *d, char *text)
{
	d->array_inx = text;
}

static void long_list(job_desc_msg_t *d, char *text)
{
	some_text(&d->exc_nodes, text);
}

static const struct {
	const char *name, *part;
	void (*set)(job_desc_msg_t *d, char *text);
} hostile[] = {
	{ "a name", "x", long_name },
	{ "a comment", "x", long_comment },
	{ "features", "big&", long_features },
	{ "a partition", "batch,", long_partition },
	{ "tasks", "1,", long_array },
	{ "exclusions", "n[0-15],", long_list },
	{ "exclusions that multiply", "[0-9]", long_list },
};

static void test_hostile(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(hostile); i++) {
		char *text = long_text(hostile[i].part, 1 << 20);
		char *env[] = { (char *)"NETPROF_APP=soft" };
		struct stage s;
		job_desc_msg_t d;

		set_up(&s, LEAF0);
		some_desc(&d, "soft");
		hostile[i].set(&d, text);
		d.environment = env;
		d.env_size = 1;
		np_submit(s.shared, &d, SOME_NOW, false);
		T_ROW(hostile[i].name, !d.begin_time && (!d.exc_nodes ||
							 !strcmp(d.exc_nodes,
								 text)));
		T_ROW(hostile[i].name, !d.admin_comment ||
		      !strcmp(d.admin_comment, "netprof{app=soft}"));
		some_desc_free(&d);
		tear_down(&s);
		free(text);
	}
}

#define THREADS 4
#define EACH 100

static void *submit_many(void *arg)
{
	struct stage *s = arg;

	for (int i = 0; i < EACH; i++) {
		job_desc_msg_t d;

		some_desc(&d, i % 3 ? "soft" : "quiet");
		np_submit(s->shared, &d, SOME_NOW, false);
		some_text(&d.job_id_str, "7");
		some_text(&d.exc_nodes, "n5");
		some_text(&d.admin_comment, NULL);
		np_modify(s->shared, &d, SOME_UID);
		some_text(&d.job_id_str, NULL);
		some_desc_free(&d);
	}
	return NULL;
}

/* What the thread does all day. */
static void decide_many(struct stage *s)
{
	for (int i = 0; i < 20; i++) {
		struct np_written *w = calloc(1, sizeof(*w));
		struct np_change *change;
		size_t n;

		np_shared_busy(s->shared, true);
		change = np_shared_take_changes(s->shared, &n);
		np_view_free(&s->view);
		publish(s, 0);
		w->id = 7;
		w->ours = strdup("n[0-3]");
		np_shared_note_written(s->shared, w, 1);
		np_shared_busy(s->shared, false);
		if (i % 2)
			np_change_list_free(change, n);
		else
			np_shared_return_changes(s->shared, change, n);
		np_shared_wait(s->shared, 0);
	}
	np_shared_withdraw(s->shared);
}

static void test_threads(void)
{
	pthread_t thread[THREADS];
	struct stage s;

	set_up(&s, LEAF0);
	for (int i = 0; i < THREADS; i++)
		T_CHECK(!pthread_create(&thread[i], NULL, submit_many, &s));
	decide_many(&s);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	tear_down(&s);
}

static const struct t_case cases[] = {
	{ "what a submission becomes", test_rows },
	{ "what a job asks of its nodes", test_asks },
	{ "arrays, however they are written", test_arrays },
	{ "who may claim the name, and what becomes of who may not",
	  test_claims },
	{ "a void claim moves nobody", test_a_void_claim_moves_nobody },
	{ "the application is remembered", test_told },
	{ "two at once see each other", test_two },
	{ "the thread waits for who was let in",
	  test_the_thread_waits_for_who_was_let_in },
	{ "a job that waits wakes the thread", test_wakes },
	{ "the log says what was done", test_log },
	{ "texts that Slurm would refuse later", test_hostile },
	{ "many submissions while decisions are made", test_threads },
	{ NULL, NULL },
};
T_SUITE(submit, cases)

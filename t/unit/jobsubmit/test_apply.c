#include "t.h"
#include "alloc.h"
#include "np_apply.h"
#include "np_bits.h"
#include "np_ctl.h"
#include "np_shared.h"
#include "some_slurm.h"

#include <time.h>

#define ALL NP_CHANGE_ALL
#define MAX 16

/* A slurmctld that knows updates only. */
static struct ctld {
	struct some_slurm slurm;
	struct np_shared *shared;
	struct np_job_cache *cache;
	char log[256]; /* "10 11 7_0" */
	char *comment[SOME_JOBS];
	uint32_t fails; /* for this job: */
	int error;
	void (*before)(void); /* each update; NULL: nothing happens */
	unsigned checks;      /* of a job, by an RPC of its own */
} c;

static slurm_job_info_t *job_of(uint32_t id)
{
	for (uint32_t i = 0; i < c.slurm.jobs.record_count; i++)
		if (c.slurm.job[i].job_id == id)
			return &c.slurm.job[i];
	return NULL;
}

static int update(job_desc_msg_t *d, const char *id)
{
	slurm_job_info_t *j = job_of((uint32_t)atoi(id));
	long alloc = t_alloc_pause(); /* what follows is slurmctld's */
	job_desc_msg_t copy = *d;
	int rc;

	copy.job_id_str = (char *)id;
	copy.exc_nodes = copy.admin_comment = NULL;
	some_text(&copy.exc_nodes, d->exc_nodes);
	some_text(&copy.admin_comment, d->admin_comment);
	if (c.before)
		c.before();
	rc = np_modify(c.shared, &copy, geteuid());
	if (!rc && c.fails == j->job_id)
		rc = c.error;
	sprintf(c.log + strlen(c.log), "%s%s%s", *c.log ? " " : "", id,
		rc ? "!" : "");
	if (!rc && !strchr(id, '_')) {
		if (copy.exc_nodes)
			some_exclude(&c.slurm, j, copy.exc_nodes);
		if (copy.begin_time)
			j->eligible_time = copy.begin_time;
		if (copy.admin_comment) {
			free(c.comment[j - c.slurm.job]);
			j->admin_comment = strdup(copy.admin_comment);
			c.comment[j - c.slurm.job] = j->admin_comment;
		}
	}
	some_text(&copy.exc_nodes, NULL);
	some_text(&copy.admin_comment, NULL);
	t_alloc_go_on(alloc);
	return rc;
}

/* In place of the RPCs. */
int slurm_update_job(job_desc_msg_t *d)
{
	errno = update(d, t_text("%u", np_job_desc_id(d)));
	return errno ? SLURM_ERROR : SLURM_SUCCESS;
}

int slurm_update_job2(job_desc_msg_t *d, job_array_resp_msg_t **resp)
{
	*resp = NULL;
	errno = update(d, d->job_id_str);
	return errno ? SLURM_ERROR : SLURM_SUCCESS;
}

/* Its other arguments differ from release to release. */
int some_load_job(job_info_msg_t **out) __asm__("slurm_load_job");
int some_load_job(job_info_msg_t **out)
{
	c.checks++;
	*out = some_answer(&c.slurm.jobs);
	return SLURM_SUCCESS;
}

static uint32_t racing; /* the job that a user keeps changing */

static void tear_down(void)
{
	for (int i = 0; i < SOME_JOBS; i++)
		free(c.comment[i]);
	np_job_cache_free(c.cache);
	np_shared_free(c.shared);
	some_slurm_free(&c.slurm);
	memset(&c, 0, sizeof(c));
}

/*
 * Running loud 30 on leaf0. Quiet 11 has exclusions that are not needed any
 * more, soft 10 may go where it must not: 10 has to be written before 11.
 */
static void set_up(void)
{
	struct np_conf conf;
	slurm_job_info_t *j;

	tear_down();
	racing = 10;
	some_slurm(&c.slurm);
	np_conf_init(&conf);
	T_CHECK(!np_shared_new(&conf, &c.shared));
	T_CHECK(!np_job_cache_new(&c.cache));
	some_run(&c.slurm, some_job(&c.slurm, 30, "loud"), "n0");
	j = some_job(&c.slurm, 11, "quiet");
	j->admin_comment = (char *)"netprof{ours=n[4-7] held=0}";
	some_exclude(&c.slurm, j, "n[4-7]");
	j = some_job(&c.slurm, 10, "soft");
	j->admin_comment = (char *)"x netprof{user=n9 held=0} y";
	some_exclude(&c.slurm, j, "n9");
}

static bool yes(void *arg)
{
	(void)arg;
	return true;
}

static bool no(void *arg)
{
	(void)arg;
	return false;
}

struct result {
	size_t updates, failures, written;
	bool cut, more;
};

/* One pass, with the changes that users make after the look. */
static struct result make_pass(size_t max, bool (*go_on)(void *arg),
			       void (*meanwhile)(void))
{
	struct np_placement *p;
	struct np_applied a;
	struct np_change *change;
	struct np_job_snapshot v;
	size_t n;
	struct result r;

	c.log[0] = '\0';
	change = np_shared_take_changes(c.shared, &n);
	T_CHECK(!some_jobs(&c.slurm, c.cache, change, n, &v));
	np_change_list_free(change, n);
	p = some_decision(&v);
	if (meanwhile)
		meanwhile();
	T_CHECK(!np_apply(&v, p, c.cache, c.shared, max, go_on, NULL, &a));
	r = (struct result){ a.updates, a.failures, a.n_written, a.incomplete,
			     a.needs_another_pass };
	np_shared_set_written(c.shared, a.written, a.n_written);
	np_job_cache_sweep(c.cache);
	np_placement_free(p);
	np_job_snapshot_free(&v);
	return r;
}

T_FIXTURE(set_up, tear_down);

T_TEST("leaves are closed before others are opened")
{
	const struct np_written *w;
	struct result r;

	r = make_pass(MAX, yes, NULL);
	T_ROW("what closes leaves comes first", !strcmp(c.log, "10 11"));
	T_CHECK(r.updates == 2 && !r.failures && !r.cut && r.written == 1);
	T_CHECK(some_same(job_of(10)->admin_comment,
			  "x netprof{user=n9 ours=n[0-3] held=0} y"));
	T_CHECK(some_same(job_of(11)->admin_comment, "netprof{held=0}"));
	pthread_mutex_lock(&c.shared->lock);
	w = np_shared_find_written(c.shared, 10, ALL);
	T_CHECK(w && some_same(w->ours, "n[0-3]"));
	T_CHECK(!np_shared_find_written(c.shared, 11, ALL));
	pthread_mutex_unlock(&c.shared->lock);
	r = make_pass(MAX, yes, NULL);
	T_ROW("and again: nothing", !r.updates && !*c.log && !r.cut);
	T_ROW("but it is known what stands", r.written == 1);
}

T_TEST("so many updates, and not longer than wanted")
{
	struct result r;

	r = make_pass(2, yes, NULL); /* as much as stays for others */
	T_CHECK(!strcmp(c.log, "10") && r.more && r.updates == 1);
	r = make_pass(2, yes, NULL);
	T_CHECK(!strcmp(c.log, "11") && !r.more);
	set_up();
	job_of(11)->user_id = SOME_UID + 1;
	r = make_pass(3, yes, NULL);
	T_ROW("each user has a share", !strcmp(c.log, "10 11") && !r.more);
	set_up();
	r = make_pass(MAX, no, NULL);
	T_CHECK(!*c.log && r.cut && r.more && !r.updates);
}

/* A loud job that waits and is to be opened; not with soft 10. */
static void add_waiting(void)
{
	slurm_job_info_t *j = some_job(&c.slurm, 12, "loud");

	j->admin_comment = (char *)"netprof{until=1000060 held=0}";
	j->eligible_time = 1000060;
	j->user_id = SOME_UID + 2;
}

/*
 * Who conflicts with what could not be closed is not opened, and who does not
 * is; not for ever.
 */
T_TEST("an update that fails")
{
	struct result r;
	unsigned before;

	add_waiting();
	c.fails = 10;
	c.error = ESLURM_ACCESS_DENIED;
	before = some_n_errors();
	for (int i = 0; i < 2; i++) {
		r = make_pass(MAX, yes, NULL);
		T_CHECK(!strcmp(c.log, i ? "10!" : "10! 11"));
		T_CHECK(r.more && !r.cut && r.failures == 1);
	}
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!strcmp(c.log, "10! 12") && !r.more);
	T_ROW("logged once", some_n_errors() == before + 1);
	c.fails = 0;
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!strcmp(c.log, "10") && !r.more && !r.failures);
}

/* As by another plugin, whose job_modify refuses the jobs of a kind. */
T_TEST("new jobs whose updates are refused delay no other job for long")
{
	slurm_job_info_t *j;
	unsigned opened_at = 0;

	add_waiting();
	j = job_of(10);
	c.error = ESLURM_ACCESS_DENIED;
	for (unsigned pass = 0; pass < 200 && !opened_at; pass++) {
		j->job_id = c.fails = 100 + pass;
		make_pass(MAX, yes, NULL);
		if (job_of(12)->eligible_time <= SOME_NOW)
			opened_at = pass + 1;
	}
	T_CHECK(opened_at && opened_at <= 2 * NP_LOST_RACES);
}

static const struct {
	const char *name;
	int error;
	bool array;
	const char *log; /* 12 conflicts with 10 */
} gone[] = {
	{ "the job started", ESLURM_JOB_NOT_PENDING, false, "10! 11" },
	{ "slurmctld no longer knows the job", ESLURM_INVALID_JOB_ID, false,
	  "10! 11 12" },
	{ "the job ended", ESLURM_JOB_FINISHED, false, "10! 11 12" },
	{ "the job was cancelled", ESLURM_ALREADY_DONE, false, "10! 11 12" },
	{ "the last task of an array ended", ESLURM_JOB_FINISHED, true,
	  "10! 11" },
};

/* Who conflicts with it is opened at once if it cannot run any more. */
T_TEST("a job that ended or started")
{
	T_EACH(row, gone) {
		bitstr_t *bits = some_bits(0, 2);
		struct result r;

		set_up();
		add_waiting();
		c.fails = 10;
		c.error = row->error;
		if (row->array) {
			job_of(10)->array_job_id = 10;
			job_of(10)->array_bitmap = bits;
		}
		r = make_pass(MAX, yes, NULL);
		T_ROW(row->name, !strcmp(c.log, row->log));
		T_ROW(row->name, r.more == !strstr(row->log, "12"));
		T_ROW(row->name, !r.cut && !r.failures);
		some_bits_free(bits);
	}
}

/* What Slurm gets when a user requests that a job does not run on nodes. */
static const char *request(const char *id, const char *list, uint32_t uid)
{
	const char *passed_on;
	job_desc_msg_t d;

	slurm_init_job_desc_msg(&d);
	d.job_id_str = (char *)id;
	some_text(&d.exc_nodes, list);
	T_CHECK(!np_modify(c.shared, &d, uid));
	passed_on = t_text("%s", d.exc_nodes);
	some_text(&d.exc_nodes, NULL);
	return passed_on;
}

/* Its owner does so, and Slurm follows. */
static const char *user_excludes(uint32_t id, const char *list)
{
	slurm_job_info_t *j = job_of(id);
	const char *passed_on = request(t_text("%u", id), list, j->user_id);

	some_exclude(&c.slurm, j, passed_on);
	return passed_on;
}

static void user_changes(void)
{
	user_excludes(10, "n12");
}

/* As soon as the job is updated, and before the pass is over. */
static void user_changes_the_first(void)
{
	if (!strcmp(c.log, "10"))
		T_CHECK(some_same(user_excludes(10, "n12"), "n12,n[0-3]"));
}

T_TEST("a change right after the first restriction keeps it")
{
	struct result r;

	c.before = user_changes_the_first;
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!strcmp(c.log, "10 11") && !r.failures);
	c.before = NULL;
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!strcmp(c.log, "10"));
	T_CHECK(some_same(job_of(10)->admin_comment,
			  "x netprof{user=n12 ours=n[0-3] held=0} y"));
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!r.updates);
}

/* A user who is faster than the thread has his way. */
T_TEST("a change that a user makes meanwhile wins")
{
	struct result r;

	r = make_pass(MAX, yes, user_changes);
	T_CHECK(!strcmp(c.log, "10! 11") && r.more && !r.failures);
	T_ROW("the last note is not forgotten either",
	      some_same(job_of(10)->admin_comment,
			"x netprof{user=n9 held=0} y"));
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!strcmp(c.log, "10") && !r.more);
	T_CHECK(some_same(job_of(10)->admin_comment,
			  "x netprof{user=n12 ours=n[0-3] held=0} y"));
	/* And once more, when ours is in it. */
	r = make_pass(MAX, yes, user_changes);
	T_CHECK(!*c.log);
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!r.updates);
}

static void user_changes_again(void)
{
	static int count;

	user_excludes(racing, t_text("n%d", 12 + count++ % 3));
}

static bool is_quiet(void)
{
	return some_same(job_of(11)->admin_comment, "netprof{held=0}");
}

/* The job of a user who is always faster, and those of two others. */
T_TEST("a user who keeps changing a job delays no other job for long")
{
	const unsigned before = some_n_logged();
	unsigned tried = 0, opened_at = 0, more = 0;
	struct result r;

	add_waiting();
	job_of(11)->user_id = SOME_UID + 1;
	for (unsigned i = 0; i < 200; i++) {
		r = make_pass(MAX, yes, user_changes_again);
		T_CHECK(!r.cut);
		if (!i)
			T_ROW("what does not conflict is opened at once",
			      is_quiet() && strstr(c.log, "11"));
		tried += strstr(c.log, "10!") != NULL;
		more += r.more;
		if (!opened_at && strstr(c.log, "12"))
			opened_at = i + 1;
	}
	T_ROW("the user is left alone after some passes",
	      tried == NP_LOST_RACES && more == tried);
	T_ROW("and then what conflicts is opened as well",
	      opened_at == NP_LOST_RACES + 1);
	T_ROW("which is logged once",
	      some_n_logged() == before + 1 && strstr(some_logged(), "faster"));
	T_ROW("the user's own list stands",
	      strstr(job_of(10)->admin_comment, "user=n9 "));
	c.slurm.now_sec += NP_IGNORE_USER_SEC;
	r = make_pass(MAX, yes, NULL);
	T_ROW("in the end it is written again",
	      strstr(c.log, "10") &&
		      strstr(job_of(10)->admin_comment, "ours=n[0-"));
}

/* Of each user a soft job. One that was written is replaced by a new one. */
static const struct {
	const char *name;
	unsigned passes_each;
} turns[] = {
	{ "some passes each", NP_LOST_RACES - 1 },
	{ "every second pass each", 1 },
};

T_TEST("two users who take turns at changing jobs delay no other job for long")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(turns); i++) {
		uint32_t id[2], next_id = 100;
		slurm_job_info_t *j[2];
		unsigned opened_at = 0;

		set_up();
		add_waiting();
		j[0] = job_of(10);
		j[1] = some_job(&c.slurm, 13, "soft");
		j[1]->user_id = SOME_UID + 3;
		for (unsigned pass = 0; pass < 200 && !opened_at; pass++) {
			unsigned turn = pass / turns[i].passes_each % 2;

			for (unsigned k = 0; k < 2; k++) {
				if (k == turn && pass % turns[i].passes_each)
					continue; /* the same job as before */
				j[k]->job_id = id[k] = next_id++;
				j[k]->admin_comment = NULL;
				some_exclude(&c.slurm, j[k], "n9");
			}
			racing = id[turn];
			make_pass(MAX, yes, user_changes_again);
			if (job_of(12)->eligible_time <= SOME_NOW)
				opened_at = pass + 1;
		}
		T_ROW(turns[i].name, opened_at);
		T_ROW(turns[i].name, opened_at <= 3 * NP_LOST_RACES);
	}
}

/* The user's list replaces ours in all tasks, by one request. */
static void change_tasks(const char *list)
{
	const char *passed_on = request("7_[0-2]", list, SOME_UID);

	for (uint32_t i = 0; i < c.slurm.jobs.record_count; i++)
		if (c.slurm.job[i].array_job_id == 7)
			some_exclude(&c.slurm, &c.slurm.job[i], passed_on);
}

T_TEST("a user who changes more jobs than can be updated delays no other")
{
	unsigned opened_at = 0;

	add_waiting();
	job_of(10)->array_job_id = 7;
	job_of(10)->array_task_id = 0;
	for (uint32_t task = 1; task < 3; task++) {
		slurm_job_info_t *j = some_job(&c.slurm, 12 + task, "soft");

		j->array_job_id = 7;
		j->array_task_id = task;
	}
	for (unsigned pass = 0; pass < 200 && !opened_at; pass++) {
		change_tasks(pass % 2 ? "n12" : "n13");
		make_pass(4, yes, NULL);
		if (job_of(12)->eligible_time <= SOME_NOW)
			opened_at = pass + 1;
	}
	T_CHECK(opened_at && opened_at <= 2 * NP_LOST_RACES);
}

/* Also a node that we had excluded before. */
T_TEST("what a user excludes while left alone stays")
{
	make_pass(MAX, yes, NULL);
	T_CHECK(strstr(job_of(10)->admin_comment, "user=n9 ours=n[0-3]"));
	/* In the first one nothing is to be written. */
	for (int i = 0; i <= NP_LOST_RACES; i++)
		make_pass(MAX, yes, user_changes_again);
	make_pass(MAX, yes, NULL);
	T_ROW("it is left alone", !strstr(c.log, "10"));
	user_excludes(10, "n[1,9]");
	make_pass(MAX, yes, NULL);
	c.slurm.now_sec += NP_IGNORE_USER_SEC;
	make_pass(MAX, yes, NULL);
	T_ROW("all of it stays the user's",
	      strstr(job_of(10)->admin_comment, "user=n[1,9] ours=n[0-3]"));
	make_pass(MAX, yes, NULL);
	T_ROW("once", !*c.log);
}

/* Behind what could not be written a submission waits if it conflicts. */
static const struct {
	const char *name, *app;
	bool waits;
} newcomers[] = {
	{ "one that conflicts", "loud", true },
	{ "one that does not", "quiet", false },
};

T_TEST("submissions after a user who was faster")
{
	struct np_app_index *index = some_index(NULL);

	T_EACH(r, newcomers) {
		struct np_placement *p;
		struct np_outcome o;
		struct np_applied a;
		struct np_job_snapshot v;
		struct np_job j;

		set_up();
		T_CHECK(!some_jobs(&c.slurm, c.cache, NULL, 0, &v));
		p = some_decision(&v);
		for (size_t k = 0; k < v.n_jobs; k++)
			if (v.job[k].id == 10)
				j = *v.job[k].in;
		j.id = 0;
		j.owner = SOME_UID + 3;
		j.prior = NP_PRIOR_NONE;
		j.profile = np_app_index_find(index, r->app, j.owner);
		user_changes();
		T_CHECK(!np_apply(&v, p, c.cache, c.shared, MAX, yes, NULL,
				  &a));
		T_CHECK(!np_placement_submit(p, &j, NULL, SOME_NOW, &o, NULL));
		T_ROW(r->name, (o.action == NP_ACT_HOLD) == r->waits);
		np_shared_set_written(c.shared, a.written, a.n_written);
		np_placement_free(p);
		np_job_snapshot_free(&v);
	}
	np_app_index_unref(index);
}

/* It has the leaf that it must leave, and gets those that 11 still has not. */
T_TEST("a job that moves waits until its new leaves are free")
{
	struct result r;

	job_of(10)->admin_comment = (char *)"netprof{ours=n[4-15] held=0}";
	some_exclude(&c.slurm, job_of(10), "n[4-15]");
	r = make_pass(2, yes, NULL);
	T_CHECK(!strcmp(c.log, "10") && r.more && r.written == 2);
	T_ROW("half-way it waits",
	      job_of(10)->eligible_time > SOME_NOW &&
		      strstr(job_of(10)->admin_comment, "until="));
	set_up();
	job_of(10)->admin_comment = (char *)"netprof{ours=n[4-15] held=0}";
	some_exclude(&c.slurm, job_of(10), "n[4-15]");
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!strcmp(c.log, "10 11 10") && !r.cut && r.written == 1);
	T_CHECK(some_same(job_of(10)->admin_comment,
			  "netprof{ours=n[0-3] held=0}"));
	T_ROW("then not any more", job_of(10)->eligible_time == SOME_NOW);
	r = make_pass(MAX, yes, NULL);
	T_ROW("and again: nothing", !r.updates && !*c.log && !r.cut);
}

T_TEST("a hold whose annotation is overwritten ends as soon as another")
{
	job_of(10)->admin_comment = (char *)"netprof{ours=n[4-15] held=0}";
	some_exclude(&c.slurm, job_of(10), "n[4-15]");
	make_pass(2, yes, NULL);
	T_CHECK(job_of(10)->eligible_time > SOME_NOW);
	job_of(10)->admin_comment = (char *)"ticket";
	make_pass(MAX, yes, NULL);
	T_CHECK(job_of(10)->eligible_time == SOME_NOW);
	T_CHECK(some_same(job_of(10)->admin_comment,
			  "ticket netprof{ours=n[0-3] held=0}"));
}

/* Slurm would let OPERATOR change job 10, and refuse STRANGER. */
#define OPERATOR (SOME_UID + 5)
#define STRANGER (SOME_UID + 6)
#define MUCH_LATER ((int64_t)time(NULL) + 100000)

static void ask(uint32_t uid, const char *list, int64_t begin_sec,
		const char *comment)
{
	slurm_job_info_t *j = job_of(10);
	job_desc_msg_t d;

	slurm_init_job_desc_msg(&d);
	d.job_id_str = (char *)"10";
	some_text(&d.exc_nodes, list);
	some_text(&d.admin_comment, comment);
	d.begin_time = begin_sec;
	T_CHECK(!np_modify(c.shared, &d, uid));
	if (uid != STRANGER && list)
		some_exclude(&c.slurm, j, d.exc_nodes);
	if (uid != STRANGER && begin_sec)
		j->eligible_time = d.begin_time;
	if (uid != STRANGER && comment)
		j->admin_comment = (char *)comment;
	some_text(&d.exc_nodes, NULL);
	some_text(&d.admin_comment, NULL);
}

static void operator_excludes(void)
{
	ask(OPERATOR, "n14", 0, NULL);
}

static void operator_delays(void)
{
	ask(OPERATOR, NULL, MUCH_LATER, NULL);
}

static void root_comments(void)
{
	ask(0, NULL, 0, "ticket");
}

static void stranger_asks(void)
{
	ask(STRANGER, "n14", 0, "ticket");
}

static const struct {
	const char *name;
	void (*meanwhile)(void), (*before)(void);
	const char *log, *comment; /* of the pass; of job 10 after the next */
	unsigned checks;
} doubtful[] = {
	{ "an operator's exclusions", operator_excludes, NULL, "10! 11",
	  "x netprof{user=n14 ours=n[0-3] held=0} y", 1 },
	{ "an operator's begin time", operator_delays, NULL, "10! 11", "x y",
	  1 },
	{ "root's comment", root_comments, NULL, "10! 11",
	  "ticket netprof{user=n9 ours=n[0-3] held=0}", 1 },
	{ "what Slurm refused changes nothing", stranger_asks, NULL,
	  "10! 10 11", "x netprof{user=n9 ours=n[0-3] held=0} y", 1 },
	{ "nor if it is requested again and again", NULL, stranger_asks,
	  "10! 10! 10! 10 11", "x netprof{user=n9 ours=n[0-3] held=0} y", 3 },
};

static void set_up_owners(void)
{
	struct np_owner *o = calloc(2, sizeof(*o));

	set_up();
	o[0] = (struct np_owner){ .id = 11, .uid = SOME_UID };
	o[1] = (struct np_owner){ .id = 10, .uid = SOME_UID };
	np_shared_set_owners(c.shared, o, 2);
}

T_TEST("a job that moves is checked against what the first pass wrote")
{
	set_up_owners();
	job_of(10)->admin_comment = (char *)"netprof{ours=n[4-15] held=0}";
	some_exclude(&c.slurm, job_of(10), "n[4-15]");
	c.before = stranger_asks;
	make_pass(MAX, yes, NULL);
	T_CHECK(!strcmp(c.log, "10! 10! 10! 10 11 10! 10! 10! 10"));
	T_CHECK(c.checks == 6 && some_same(job_of(10)->admin_comment,
					   "netprof{ours=n[0-3] held=0}"));
}

T_TEST("a change by somebody who may not be allowed to make it is kept")
{
	T_EACH(r, doubtful) {
		set_up_owners();
		c.before = r->before;
		make_pass(MAX, yes, r->meanwhile);
		T_ROW(r->name, !strcmp(c.log, r->log));
		T_ROW(r->name, c.checks == r->checks);
		c.before = NULL;
		make_pass(MAX, yes, NULL);
		T_ROW(r->name,
		      some_same(job_of(10)->admin_comment, r->comment));
		T_ROW(r->name, (job_of(10)->eligible_time > SOME_NOW) ==
				       (r->meanwhile == operator_delays));
		make_pass(MAX, yes, NULL);
		T_ROW(r->name, !*c.log);
	}
}

static const struct {
	const char *name;
	int end, error; /* of its tasks; of an update */
	const char *log;
	bool waits;
} arrays[] = {
	{ "no room for all: each gets its leaf, and the rest waits", 5, 0,
	  "10 11 7_0 7_1 7_2", true },
	{ "room for all: the rest is opened when each has its leaf", 2, 0,
	  "10 11 7_0 7", false },
	{ "not each got its leaf: the rest is not opened", 2,
	  ESLURM_ACCESS_DENIED, "10 11 7_0!", true },
};

T_TEST("tasks of an array")
{
	T_EACH(row, arrays) {
		slurm_job_info_t *j;
		bitstr_t *bits;
		struct result r;

		set_up();
		c.fails = 7;
		c.error = row->error;
		j = some_job(&c.slurm, 7, "loud");
		j->array_job_id = 7;
		j->admin_comment = (char *)"netprof{until=1000060 held=0}";
		j->eligible_time = 1000060;
		bits = some_bits(0, row->end);
		j->array_bitmap = bits;
		r = make_pass(MAX, yes, NULL);
		T_ROW(row->name, !strcmp(c.log, row->log));
		T_ROW(row->name, r.more == !!row->error);
		T_ROW(row->name, (j->eligible_time > SOME_NOW) == row->waits);
		some_bits_free(bits);
	}
}

static char first_task[64]; /* what Slurm got for it */

/* As soon as a task has its leaf, and before the pass is over. */
static void user_changes_the_first_task(void)
{
	if (!strcmp(c.log, "10 11 7_0"))
		strcpy(first_task, request("7_0", "n15", SOME_UID));
}

T_TEST("a change right after a task got its leaf keeps the task there")
{
	bitstr_t *bits = some_bits(0, 5);
	slurm_job_info_t *j;

	j = some_job(&c.slurm, 7, "loud");
	j->array_job_id = 7;
	j->admin_comment = (char *)"netprof{until=1000060 held=0}";
	j->eligible_time = 1000060;
	j->array_bitmap = bits;
	c.before = user_changes_the_first_task;
	make_pass(MAX, yes, NULL);
	T_CHECK(!strcmp(c.log, "10 11 7_0 7_1 7_2"));
	T_ROW("before the pass is over",
	      some_same(first_task, "n15,n[0-3,8-15]"));
	T_ROW("and after it",
	      some_same(request("7_0", "n15", SOME_UID), "n15,n[0-3,8-15]"));
	T_ROW("each its own",
	      some_same(request("7_1", "n15", SOME_UID), "n15,n[0-7,12-15]"));
	T_ROW("one that is still in the array's record",
	      some_same(request("7_3", "n15", SOME_UID), "n15"));
	some_bits_free(bits);
}

/* What is taken back is the user's again, and our note is gone. */
T_TEST("a job that is released")
{
	slurm_job_info_t *j;
	struct result r;

	r = make_pass(MAX, yes, NULL);
	j = job_of(10);
	j->req_nodes = (char *)"n2"; /* now he chooses his nodes */
	r = make_pass(MAX, yes, NULL);
	T_CHECK(r.updates == 1 && !strcmp(c.log, "10") && !r.written);
	T_CHECK(some_same(j->admin_comment, "x y"));
	r = make_pass(MAX, yes, NULL);
	T_CHECK(!r.updates && !*c.log);
}

/* What a pass is made with. */
struct kit {
	struct np_app_index *index;
	struct np_slowdowns *slowdowns;
	struct np_place_conf conf;
	struct np_policy policy;
};

/* Returns 0 or the first error. */
static int try_pass(const struct kit *kit)
{
	struct np_placement *p = NULL;
	struct np_applied a = { .written = NULL };
	struct np_job_snapshot v = { .map = NULL };
	struct np_job_snapshot_input in = {
		.info = &c.slurm.info,
		.map = c.slurm.map,
		.index = kit->index,
		.conf = &kit->conf,
		.cache = c.cache,
		.now_sec = SOME_NOW,
		.last_sec = SOME_NOW - 2,
	};
	struct np_change *change;
	struct np_err err;
	size_t n;
	int rc;

	change = np_shared_take_changes(c.shared, &n);
	in.change = change;
	in.n_changes = n;
	rc = np_job_snapshot_make(&in, &v, &err);
	np_change_list_free(change, n);
	if (!rc)
		rc = np_placement_decide(v.snapshot, kit->slowdowns,
					 &kit->policy, &p, &err);
	if (!rc) {
		rc = np_apply(&v, p, c.cache, c.shared, MAX, yes, NULL, &a);
		np_shared_set_written(c.shared, a.written, a.n_written);
	}
	np_job_cache_sweep(c.cache);
	np_placement_free(p);
	if (v.map)
		np_job_snapshot_free(&v);
	return rc;
}

/* One pass in which the nth allocation fails, and one after it. */
static bool try_without(const struct kit *kit, long nth)
{
	char name[32];
	bool failed;
	int rc;

	set_up();
	user_changes();
	c.log[0] = '\0';
	snprintf(name, sizeof(name), "allocation %ld", nth);
	t_alloc_fail(nth);
	rc = try_pass(kit);
	failed = t_alloc_failed();
	T_ROW(name, !rc || (failed && rc == -ENOMEM));
	T_ROW(name, !try_pass(kit));
	T_ROW(name, some_same(job_of(11)->admin_comment, "netprof{held=0}"));
	T_ROW(name, strstr(job_of(10)->admin_comment, "ours=n[0-3] "));
	return failed;
}

T_TEST("memory that runs out at any point of a pass")
{
	struct kit kit = { some_index(NULL), some_slowdowns() };
	long n = 0;

	some_place_conf(&kit.conf);
	np_policy_init(&kit.policy);
	while (try_without(&kit, n))
		n++;
	T_ROW("there are some", n > 50);
	np_app_index_unref(kit.index);
	np_slowdowns_unref(kit.slowdowns);
}

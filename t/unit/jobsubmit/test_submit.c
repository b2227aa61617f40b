#include "some_stage.h"

#define BEGIN (SOME_NOW + 5)

static const struct {
	const char *name;
	unsigned how;
	const char *app, *exc, *comment, *partition;
	int64_t begin;
	const char *want_exc, *want_comment;
	int64_t want_begin; /* as given, if 0 */
} rows[] = {
	{ "harmless", LEAF0, "quiet", NULL, NULL, NULL, 0, NULL,
	  "netprof{held=0}", 0 },
	{ "kept off a leaf", LEAF0, "soft", NULL, NULL, NULL, 0, BUT1,
	  "netprof{ours=" BUT1 " held=0}", 0 },
	{ "in the partition by its name", LEAF0, "soft", NULL, NULL, "batch", 0,
	  BUT1, "netprof{ours=" BUT1 " held=0}", 0 },
	{ "his own exclusions are kept", LEAF0, "soft", "n7,n4", NULL, NULL, 0,
	  "n7,n4," BUT1, "netprof{user=n7,n4 ours=" BUT1 " held=0}", 0 },
	{ "exclusions with spaces", LEAF0, "soft", "n7 n4", NULL, NULL, 0,
	  "n7 n4," BUT1, "netprof{user=n7,n4 ours=" BUT1 " held=0}", 0 },
	{ "an empty list is none", LEAF0, "soft", "", NULL, NULL, 0, BUT1,
	  "netprof{ours=" BUT1 " held=0}", 0 },
	{ "a comment of others is kept", LEAF0, "soft", NULL, "ticket 5", NULL,
	  0, BUT1, "ticket 5 netprof{ours=" BUT1 " held=0}", 0 },
	{ "a begin time is kept", LEAF0, "soft", NULL, NULL, NULL, BEGIN, BUT1,
	  "netprof{ours=" BUT1 " held=0}", 0 },
	{ "held", EVERYWHERE, "soft", NULL, NULL, NULL, 0, NULL,
	  "netprof{until=1000060 held=0}", SOME_NOW + 60 },
	{ "held, with exclusions", EVERYWHERE, "soft", "n5", NULL, NULL, 0,
	  "n5", "netprof{user=n5 until=1000060 held=0}", SOME_NOW + 60 },
	/* It does not wait for us yet, and need not be looked at soon. */
	{ "held, with a begin time", EVERYWHERE, "soft", NULL, NULL, NULL,
	  BEGIN, NULL, "netprof{until=1003600 begin=1000005 held=0}",
	  SOME_NOW + 3600 },
	{ "held, with a begin time that is past", EVERYWHERE, "soft", NULL,
	  NULL, NULL, SOME_NOW - 5, NULL, "netprof{until=1000060 held=0}",
	  SOME_NOW + 60 },
	{ "an application nobody knows", LEAF0, "other", NULL, NULL, NULL, 0,
	  NULL, NULL, 0 },
	{ "off", LEAF0 | OFF, "soft", "n7", "x", NULL, 0, "n7", "x", 0 },
	{ "a partition that is off", LEAF0, "soft", NULL, NULL, "debug", 0,
	  NULL, NULL, 0 },
	{ "a partition that is not there", LEAF0, "soft", NULL, NULL, "none", 0,
	  NULL, NULL, 0 },
	{ "several partitions", LEAF0, "soft", NULL, NULL, "batch,debug", 0,
	  NULL, NULL, 0 },
	{ "advise changes nothing", LEAF0 | ADVISE, "soft", "n7", NULL, NULL, 0,
	  "n7", NULL, 0 },
	{ "prefer", LEAF0 | PREFER, "soft", NULL, NULL, NULL, 0, BUT1,
	  "netprof{ours=" BUT1 " held=0}", 0 },
	{ "prefer never holds", EVERYWHERE | PREFER, "soft", NULL, NULL, NULL,
	  0, NULL, "netprof{held=0}", 0 },
	{ "a list that is none", LEAF0, "soft", "n[3-1]", NULL, NULL, 0,
	  "n[3-1]", NULL, 0 },
	{ "a function of Slurm 24.11 in the list", LEAF0, "soft",
	  "switch{leaf1}", NULL, NULL, 0, "switch{leaf1}", NULL, 0 },
	{ "too few nodes outside his own exclusions: ignored", LEAF0, "soft",
	  "n[0-15]", NULL, NULL, 0, "n[0-15]", NULL, 0 },

	{ "slurmctld has just started", EMPTY | STARTING, "quiet", "n7", NULL,
	  NULL, 0, "n7", "netprof{user=n7 until=1000010 held=0}",
	  SOME_NOW + 10 },
	{ "started, and a begin time", EMPTY | STARTING, "soft", NULL, NULL,
	  NULL, SOME_NOW + 99, NULL,
	  "netprof{until=1000099 begin=1000099 held=0}", 0 },
	{ "started, and a function in the list", EMPTY | STARTING, "soft",
	  "n7,switch{leaf1}", NULL, "batch", 0, "n7,switch{leaf1}", NULL, 0 },
	{ "started, prefer", EMPTY | STARTING | PREFER, "soft", NULL, NULL,
	  "batch", 0, NULL, NULL, 0 },
	{ "started long ago, and no decision", EMPTY, "soft", NULL, NULL,
	  "batch", 0, NULL, NULL, 0 },
	{ "an old decision", LEAF0 | STALE, "soft", NULL, NULL, NULL, 0, NULL,
	  NULL, 0 },
	{ "an old decision after a start", LEAF0 | STALE | STARTING, "soft",
	  NULL, NULL, NULL, 0, NULL, NULL, 0 },

	{ "the thread decides: a conflict waits", LEAF0 | BUSY, "soft", NULL,
	  NULL, NULL, 0, NULL, "netprof{until=1000010 held=0}", SOME_NOW + 10 },
	{ "the thread decides: harmless ones do not", LEAF0 | BUSY, "quiet",
	  NULL, NULL, NULL, 0, NULL, "netprof{held=0}", 0 },
	{ "the thread decides: prefer does not", LEAF0 | BUSY | PREFER, "soft",
	  NULL, NULL, NULL, 0, BUT1, "netprof{ours=" BUT1 " held=0}", 0 },
	{ "the thread decides: advise does not", LEAF0 | BUSY | ADVISE, "soft",
	  NULL, NULL, NULL, 0, NULL, NULL, 0 },
};

T_FIXTURE(NULL, tear_down);

T_TEST("what a submission becomes")
{
	T_EACH(r, rows) {
		job_desc_msg_t d;

		set_up(r->how);
		/* The first decision says which partition is the default. */
		some_desc(&d, r->app);
		some_text(&d.exc_nodes, r->exc);
		some_text(&d.admin_comment, r->comment);
		some_text(&d.partition, r->partition   ? r->partition :
					r->how & EMPTY ? "batch" :
							 NULL);
		d.begin_time = r->begin;
		np_submit(stage.shared, &d, SOME_NOW, r->how & STARTING);
		T_ROW(r->name, some_same(d.exc_nodes, r->want_exc));
		T_ROW(r->name, some_same(d.admin_comment, r->want_comment));
		T_ROW(r->name, d.begin_time == (r->want_begin ? r->want_begin :
								r->begin));
		some_desc_free(&d);
	}
}

/* Slurm would keep it twice. */
T_TEST("a list too long for an annotation is not put into one at the start")
{
	char list[NP_ANNOTATION_MAX_USER + 2];
	job_desc_msg_t d;

	memset(list, 'n', sizeof(list) - 1);
	list[sizeof(list) - 1] = '\0';
	set_up(EMPTY | STARTING);
	some_desc(&d, "soft");
	some_text(&d.exc_nodes, list);
	some_text(&d.partition, "batch");
	np_submit(stage.shared, &d, SOME_NOW, true);
	T_CHECK(!d.admin_comment && !d.begin_time);
	some_desc_free(&d);
}

/* Only the submission says which application it is. */
T_TEST("a job submitted before there are settings is placed later")
{
	char *env[] = { (char *)"NETPROF_APP=soft" };
	struct np_placement *placement;
	job_desc_msg_t d;

	set_up(LEAF0 | EMPTY);
	np_shared_configure(stage.shared, NULL);
	some_desc(&d, "x");
	some_text(&d.partition, "batch");
	np_submit(stage.shared, &d, SOME_NOW, true);
	T_ROW("one without a name is left alone", !d.admin_comment);
	d.environment = env;
	d.env_size = 1;
	np_submit(stage.shared, &d, SOME_NOW, true);
	T_CHECK(!d.exc_nodes && !d.begin_time &&
		some_same(d.admin_comment, "netprof{app=soft}"));
	some_job(&stage.slurm, 2, "x")->admin_comment = d.admin_comment;
	T_CHECK(!some_jobs(&stage.slurm, NULL, NULL, 0, &stage.jobs));
	placement = some_decision(&stage.jobs);
	T_CHECK(stage.jobs.n_jobs == 2 && stage.jobs.job[1].managed &&
		np_outcome_of(placement, 1)->action == NP_ACT_RESTRICT);
	np_placement_free(placement);
	some_desc_free(&d);
}

/* clang-format off */
static void exclusive(job_desc_msg_t *d) { d->shared = JOB_SHARED_NONE; }
static void reserved(job_desc_msg_t *d) { d->reservation = (char *)"maint"; }
static void listed(job_desc_msg_t *d) { d->req_nodes = (char *)"n1"; }
static void het(job_desc_msg_t *d) { d->het_job_offset = 0; }
static void cron(job_desc_msg_t *d) { d->bitflags |= CRON_JOB; }
static void due(job_desc_msg_t *d) { d->deadline = SOME_NOW + 9000; }
static void at_once(job_desc_msg_t *d) { d->immediate = 1; }
static void held(job_desc_msg_t *d) { d->priority = 0; }
static void ten_nodes(job_desc_msg_t *d) { d->min_nodes = 10; }

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

static void by_memory(job_desc_msg_t *d) { d->pn_min_memory = 4000; }

static void by_cpu_memory(job_desc_msg_t *d)
{
	d->pn_min_memory = 4000 | MEM_PER_CPU;
}

static void by_tasks_of_core(job_desc_msg_t *d) { d->ntasks_per_core = 1; }
static void by_spare_cores(job_desc_msg_t *d) { d->core_spec = 1; }
static void by_disk(job_desc_msg_t *d) { d->pn_min_tmp_disk = 100; }

static void by_feature(job_desc_msg_t *d) { d->features = (char *)"big"; }

static void by_devices(job_desc_msg_t *d)
{
	d->tres_per_node = (char *)"gres:gpu:1";
}
/* clang-format on */

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
} requests[] = {
	{ "alone on its nodes: still one switch", exclusive, BUT1 },
	{ "a reservation", reserved, "-" },
	{ "a list of nodes", listed, "-" },
	{ "a component of a heterogeneous job", het, "-" },
	{ "scrontab", cron, "-" },
	{ "a deadline", due, "-" },
	{ "at once or not at all", at_once, "-" },
	{ "held: kept off as well", held, BUT1 },
	{ "many nodes", ten_nodes, "n[0-3]" },
	{ "many nodes, by its tasks", by_tasks, "n[0-3]" },
	{ "many nodes, by its CPUs", by_cpus, "n[0-3]" },
	{ "much memory: it goes to another leaf anyhow", by_memory, "" },
	{ "much memory for a CPU", by_cpu_memory, "" },
	{ "a feature of one leaf", by_feature, "" },
	{ "tasks counted in cores", by_tasks_of_core, "-" },
	{ "cores for the system", by_spare_cores, "-" },
	{ "disk space", by_disk, "-" },
	{ "devices", by_devices, "-" },
	{ "nothing is said", everything_unset, BUT1 },
};

T_TEST("what a job requests of its nodes")
{
	T_EACH(r, requests) {
		bool none = !strcmp(r->want, "-");
		job_desc_msg_t d;

		set_up(LEAF0);
		some_desc(&d, "soft");
		r->set(&d);
		np_submit(stage.shared, &d, SOME_NOW, false);
		T_ROW(r->name, some_same(d.exc_nodes, none ? "" : r->want));
		T_ROW(r->name, !d.admin_comment == none);
		some_desc_free(&d);
	}
}

T_TEST("a job that is ignored is not held at the start")
{
	T_EACH(r, requests) {
		job_desc_msg_t d;

		/* Whether devices matter depends on the nodes. */
		if (strcmp(r->want, "-") || r->set == by_devices)
			continue;
		set_up(EMPTY | STARTING);
		some_desc(&d, "soft");
		some_text(&d.partition, "batch");
		r->set(&d);
		np_submit(stage.shared, &d, SOME_NOW, true);
		T_ROW(r->name, !d.begin_time && !d.admin_comment);
		some_desc_free(&d);
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

T_TEST("arrays, however they are written")
{
	T_EACH(r, arrays) {
		job_desc_msg_t d;

		set_up(0);
		some_desc(&d, "loud");
		d.array_inx = (char *)r->inx;
		np_submit(stage.shared, &d, SOME_NOW, false);
		T_ROW(r->name, (d.begin_time > SOME_NOW) == r->waits);
		some_desc_free(&d);
	}
}

/* Submissions at the same time, and while the deciding thread works. */
#include "np_clock.h"
#include "some_stage.h"

#include <pthread.h>

static const struct {
	const char *name;
	unsigned how;
	const char *app;
	bool waits;
} let_in[] = {
	{ "kept off a leaf: the thread waits until it is a job", LEAF0, "soft",
	  true },
	{ "harmless: whether it is one is the same", LEAF0, "quiet", false },
	{ "held: it does not start", EVERYWHERE, "soft", false },
	{ "while the thread decides: neither does it", LEAF0 | BUSY, "soft",
	  false },
	{ "advice: nobody is kept away", LEAF0 | ADVISE, "soft", false },
};

/* From before the submission. */
static double sec_until_seen(unsigned how, const char *app)
{
	double begin = np_mono_sec(), sec;
	job_desc_msg_t d;

	set_up(how);
	some_desc(&d, app);
	np_submit(stage.shared, &d, SOME_NOW, false);
	np_shared_wait_in_flight(stage.shared);
	sec = np_mono_sec() - begin;
	some_desc_free(&d);
	tear_down();
	return sec;
}

T_FIXTURE(NULL, tear_down);

T_TEST("the thread waits for who was let in")
{
	T_EACH(r, let_in) {
		double least = INFINITY;

		/* On a busy machine one may come late for another reason. */
		for (int k = 0; k < (r->waits ? 1 : 10); k++)
			least = fmin(least, sec_until_seen(r->how, r->app));
		T_ROW(r->name,
		      r->waits == (least > NP_SHARED_IN_FLIGHT_SEC / 2));
	}
}

T_TEST("the application is remembered")
{
	char *env[] = { (char *)"NETPROF_APP=soft" };
	job_desc_msg_t d;

	set_up(LEAF0);
	some_desc(&d, "quiet");
	d.environment = env;
	d.env_size = 1;
	np_submit(stage.shared, &d, SOME_NOW, false);
	T_CHECK(some_same(d.admin_comment,
			  "netprof{app=soft ours=" BUT1 " held=0}"));
	some_desc_free(&d);
	env[0] = (char *)"NETPROF_APP=mine";
	some_desc(&d, "quiet");
	d.environment = env;
	d.env_size = 1;
	np_submit(stage.shared, &d, SOME_NOW, false);
	T_ROW("submitted, and nothing is known of it",
	      some_same(d.admin_comment, "netprof{app=mine}"));
	some_desc_free(&d);
	some_desc(&d, "quiet");
	d.environment = env;
	d.env_size = 1;
	some_text(&d.partition, "none");
	np_submit(stage.shared, &d, SOME_NOW, false);
	T_ROW("off in its partition, and a load for others",
	      some_same(d.admin_comment, "netprof{app=mine}") && !d.exc_nodes);
	some_desc_free(&d);
}

/* Two that conflict, in one second. */
T_TEST("two at once see each other")
{
	uint64_t bits[2];
	job_desc_msg_t d[2];

	set_up(0);
	for (int i = 0; i < 2; i++) {
		some_desc(&d[i], "loud");
		np_submit(stage.shared, &d[i], SOME_NOW, false);
	}
	/* The first one went anywhere: the other waits for the thread. */
	T_CHECK(!d[0].exc_nodes && d[0].begin_time <= SOME_NOW);
	T_CHECK(d[1].begin_time > SOME_NOW);
	some_desc_free(&d[0]);
	some_desc_free(&d[1]);

	set_up(LEAF0);
	for (int i = 0; i < 2; i++) {
		some_desc(&d[i], i ? "soft" : "loud");
		d[i].min_nodes = 2;
		np_submit(stage.shared, &d[i], SOME_NOW, false);
		T_CHECK(!np_cluster_map_parse_hostlist(
			stage.slurm.map, d[i].exc_nodes, &bits[i]));
		bits[i] = ~bits[i] & 0xffff; /* where it may go */
	}
	T_CHECK(bits[0] != 0 && !(bits[0] & 0xf));
	T_CHECK(d[1].begin_time > SOME_NOW || !(bits[0] & bits[1]));
	some_desc_free(&d[0]);
	some_desc_free(&d[1]);
}

/* Who waits has the thread look at once. */
T_TEST("a job that waits wakes the thread")
{
	job_desc_msg_t d;

	set_up(LEAF0);
	some_desc(&d, "soft");
	np_submit(stage.shared, &d, SOME_NOW, false);
	T_CHECK(!np_shared_wait(stage.shared, 0));
	some_desc_free(&d);
	set_up(EVERYWHERE);
	some_desc(&d, "soft");
	np_submit(stage.shared, &d, SOME_NOW, false);
	T_CHECK(np_shared_wait(stage.shared, 0));
	some_desc_free(&d);
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
static void decide_many(void)
{
	for (int i = 0; i < 20; i++) {
		struct np_written *w = calloc(1, sizeof(*w));
		struct np_change *change;
		size_t n;

		np_shared_set_busy(stage.shared, true);
		change = np_shared_take_changes(stage.shared, &n);
		np_job_snapshot_free(&stage.jobs);
		publish(0);
		w->id = 7;
		w->ours = strdup("n[0-3]");
		np_shared_set_written(stage.shared, w, 1);
		np_shared_set_busy(stage.shared, false);
		if (i % 2)
			np_change_list_free(change, n);
		else
			np_shared_return_changes(stage.shared, change, n);
		np_shared_wait(stage.shared, 0);
	}
	np_shared_withdraw(stage.shared);
}

T_TEST("many submissions while decisions are made")
{
	pthread_t thread[THREADS];

	set_up(LEAF0);
	for (int i = 0; i < THREADS; i++)
		T_CHECK(!pthread_create(&thread[i], NULL, submit_many, &stage));
	decide_many();
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

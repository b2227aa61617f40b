#include "t.h"
#include "np_shared.h"
#include "some_slurm.h"

#include <pthread.h>

#include "np_clock.h"

static struct np_shared *new_shared(void)
{
	struct np_shared *d = NULL;
	struct np_conf conf;

	np_conf_init(&conf);
	T_CHECK(!np_shared_new(&conf, &d));
	return d;
}

T_TEST("a controller starts with its first submission, as after a takeover")
{
	struct np_shared *d = new_shared();

	T_CHECK(np_shared_is_starting(d, 5000));
	T_CHECK(np_shared_is_starting(d, 5000 + NP_SHARED_STARTING_SEC - 1));
	T_CHECK(!np_shared_is_starting(d, 5000 + NP_SHARED_STARTING_SEC));
	np_shared_restart(d);
	T_CHECK(np_shared_is_starting(d, 9000));
	np_shared_free(d);
}

T_TEST("what the thread sends is known while it does")
{
	const struct np_sending s = { 12, 0, NP_CHANGE_ALL, SOME_UID };
	struct np_shared *d = new_shared();

	np_shared_set_sending(d, &s);
	pthread_mutex_lock(&d->lock);
	T_CHECK(d->sending == &s);
	T_CHECK(!np_changes_overtake(d->changes, &s));
	np_changes_put(d->changes,
		       &(struct np_change){ .id = 12,
					    .uid = SOME_UID,
					    .task = NP_CHANGE_ALL });
	T_CHECK(np_changes_overtake(d->changes, &s));
	pthread_mutex_unlock(&d->lock);
	np_shared_set_sending(d, NULL);
	T_CHECK(!d->sending);
	np_shared_free(d);
}

T_TEST("what was written to a job, or to a task")
{
	struct np_shared *d = new_shared();
	struct np_written *w = calloc(3, sizeof(*w));
	const struct np_written *got;

	T_CHECK(!np_shared_find_written(d, 12, NP_CHANGE_ALL));
	w[0] = (struct np_written){ .id = 12,
				    .array = 12,
				    .ours = strdup("a"),
				    .task = NP_JOB_ENTRY_NO_TASK };
	w[1] = (struct np_written){ .id = 14, .until_sec = 99 };
	w[2] = (struct np_written){
		.id = 15, .array = 12, .task = 3, .ours = strdup("b")
	};
	np_shared_set_written(d, w, 3);
	got = np_shared_find_written(d, 14, NP_CHANGE_ALL);
	T_ROW("a job", got && got->until_sec == 99 && !got->ours);
	got = np_shared_find_written(d, 12, NP_CHANGE_ALL);
	T_ROW("an array", got && some_same(got->ours, "a"));
	got = np_shared_find_written(d, 12, 3);
	T_ROW("a task with a record of its own",
	      got && some_same(got->ours, "b"));
	got = np_shared_find_written(d, 12, 4);
	T_ROW("a task that is still in the array's",
	      got && some_same(got->ours, "a"));
	T_ROW("no such job", !np_shared_find_written(d, 13, NP_CHANGE_ALL));
	np_shared_set_written(d, NULL, 0);
	T_ROW("nothing any more",
	      !np_shared_find_written(d, 14, NP_CHANGE_ALL));
	np_shared_free(d);
}

static struct np_decision *some_decision_of(struct some_slurm *s,
					    struct np_job_snapshot *v)
{
	struct np_decision *t = calloc(1, sizeof(*t));

	T_CHECK(!some_jobs(s, NULL, NULL, 0, v));
	t->placement = some_decision(v);
	t->map = np_cluster_map_ref(s->map);
	t->index = some_index(NULL);
	t->set = v->set;
	v->set = NULL;
	t->now_sec = SOME_NOW;
	return t;
}

T_TEST("one decision replaces the other")
{
	struct np_shared *d = new_shared();
	struct np_decision *s[2];
	struct some_slurm slurm;
	struct np_job_snapshot v[2];
	struct np_arrivals none = { .since_sec = SOME_NOW - 5 };

	some_slurm(&slurm);
	for (int i = 0; i < 2; i++)
		s[i] = some_decision_of(&slurm, &v[i]);
	T_CHECK(!d->decision);
	for (int i = 0; i < 2; i++) {
		np_shared_publish(d, s[i], &none);
		T_CHECK(d->decision == s[i]);
	}
	np_shared_withdraw(d);
	T_CHECK(!d->decision);
	np_shared_withdraw(d);
	np_job_snapshot_free(&v[0]);
	np_job_snapshot_free(&v[1]);
	np_shared_free(d);
	some_slurm_free(&slurm);
}

/* What a submission was given still counts against the next decision. */
T_TEST("what was admitted is carried over")
{
	struct np_arrivals none = { .since_sec = SOME_NOW - 5 };
	struct np_shared *d = new_shared();
	struct np_decision *s[2];
	struct some_slurm slurm;
	struct np_job_snapshot v[2];
	struct np_outcome o;

	some_slurm(&slurm);
	for (int i = 0; i < 2; i++)
		s[i] = some_decision_of(&slurm, &v[i]);
	for (int i = 0; i < 2; i++) {
		struct np_job j = {
			.owner = SOME_UID,
			.state = NP_JOB_READY,
			.tasks = 1,
			.mode = NP_MODE_ENFORCE,
			.nodes_min = 16,
			.profile = 0,
			.submit_sec = SOME_NOW,
			.candidates = s[i]->set[0],
		};

		np_shared_publish(d, s[i], &none);
		T_CHECK(!np_placement_submit(s[i]->placement, &j, NULL,
					     SOME_NOW, &o, NULL));
		T_CHECK(o.action == (i ? NP_ACT_HOLD : NP_ACT_UNRESTRICTED));
	}
	np_shared_withdraw(d);
	np_job_snapshot_free(&v[0]);
	np_job_snapshot_free(&v[1]);
	np_shared_free(d);
	some_slurm_free(&slurm);
}

static void *wake(void *d)
{
	usleep(20000);
	np_shared_wake(d);
	return NULL;
}

T_TEST("waiting, and being woken")
{
	struct np_shared *d = new_shared();
	double begin = np_mono_sec();
	pthread_t thread;

	T_ROW("nobody wakes it", !np_shared_wait(d, .01));
	T_ROW("nobody wakes it", np_mono_sec() - begin >= .01);
	np_shared_wake(d);
	T_ROW("woken before it waits", np_shared_wait(d, 60));
	T_ROW("once", !np_shared_wait(d, 0));
	T_CHECK(!pthread_create(&thread, NULL, wake, d));
	T_ROW("woken while it waits", np_shared_wait(d, 60));
	pthread_join(thread, NULL);
	np_shared_set_busy(d, true);
	T_CHECK(d->busy);
	np_shared_set_busy(d, false);
	T_CHECK(!d->busy);
	np_shared_free(d);
}

/*
 * Placement in slurmctld: keeps jobs that would slow each other down from
 * sharing a leaf switch.
 *
 * One thread makes the decisions (np_placer.h). The callbacks use the last
 * decision and never wait for anything but a mutex that is held for moments. On
 * any trouble a job is submitted as if this plugin were absent.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "np_placer.h"
#include "np_clock.h"
#include "np_plugin.h"
#include "np_shared.h"
#include "np_store_reader.h"

#define STARTING_SEC 30	 /* after init: how long to expect a first decision */
#define END_SEC 0.1	 /* how long fini() waits for the thread */

static struct np_shared *shared;
static double began_sec; /* CLOCK_MONOTONIC, when init() was called last */

/*
 * There is at most one thread. If init() is called before the thread noticed
 * that it should end, the thread goes on, but starts from the beginning.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_bool wanted; /* the thread should run */
static bool lives;	   /* the thread exists */
static atomic_uint begins; /* number of calls of init() */

/* Whether the thread may go on with what it began at that call of init(). */
static bool go_on(void *begin)
{
	return atomic_load(&wanted) &&
	       *(unsigned *)begin == atomic_load(&begins);
}

/* Sleep, whatever users do; but not if the thread should end. */
static void rest(double sec)
{
	struct timespec end = np_mono_after(sec);

	pthread_mutex_lock(&lock);
	while (atomic_load(&wanted) &&
	       !pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &end))
		;
	pthread_mutex_unlock(&lock);
}

/* Make passes until the thread should end or begin anew. */
static void decide(unsigned begin)
{
	struct np_placer *placer;
	struct np_placer_next next;

	if (np_placer_new(shared, &placer)) {
		np_ctl_error("out of memory: placement is off");
		return;
	}
	while (go_on(&begin)) {
		np_placer_run(placer, go_on, &begin, &next);
		rest(next.rest_sec);
		np_shared_wait(shared, next.wait_sec);
	}
	np_placer_free(placer);
}

/* The thread. */
static void *run(void *arg)
{
	unsigned begin;

	(void)arg;
	pthread_mutex_lock(&lock);
	do {
		begin = atomic_load(&begins);
		pthread_mutex_unlock(&lock);
		decide(begin);
		pthread_mutex_lock(&lock);
	} while (atomic_load(&wanted) && begin != atomic_load(&begins));
	lives = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Start the thread, or let a running one begin anew. 0 or -errno. */
static int start(void)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	atomic_store(&wanted, true);
	atomic_fetch_add(&begins, 1);
	if (!lives)
		rc = np_thread_start(run, NULL);
	lives |= !rc;
	pthread_mutex_unlock(&lock);
	return rc;
}

static void init(void)
{
	struct np_settings settings;

	np_settings_init(&settings);
	np_settings_refresh(&settings);
	if (settings.trouble.text[0])
		np_ctl_error("%s: placement is off until it is corrected",
			     settings.trouble.text);
	if (!shared && np_shared_new(&settings.conf, &shared)) {
		np_ctl_error("out of memory: placement is off");
		return;
	}
	np_shared_configure(shared, &settings.conf);
	began_sec = np_mono_sec();
	if (start())
		np_ctl_error("the thread of placement cannot be started: "
			     "placement is off");
}

/*
 * The thread may be in an RPC to this very slurmctld, which waits for locks
 * that our caller holds. It then ends later by itself, and its code stays
 * loaded (linked with -z nodelete).
 */
static void fini(void)
{
	struct timespec end = np_mono_after(END_SEC);

	pthread_mutex_lock(&lock);
	atomic_store(&wanted, false);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (shared) {
		np_shared_withdraw(shared);
		np_shared_wake(shared);
	}
	pthread_mutex_lock(&lock);
	while (lives &&
	       !pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &end))
		;
	pthread_mutex_unlock(&lock);
}

static void submit(job_desc_msg_t *d)
{
	if (shared)
		np_submit(shared, d, time(NULL),
			  np_mono_sec() - began_sec < STARTING_SEC);
}

static int modify(job_desc_msg_t *d, uint32_t submit_uid)
{
	return shared ? np_modify(shared, d, submit_uid) : SLURM_SUCCESS;
}

const struct np_plugin np_plugin = {
	SLURM_VERSION_NUMBER, init, fini, submit, modify,
};

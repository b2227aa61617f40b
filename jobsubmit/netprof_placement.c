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
#include "np_thread.h"

#define STARTING_SEC 30 /* from init() until a first decision is expected */
#define END_SEC 0.1	/* for which fini() waits for the thread */

static struct np_shared *shared;
static double init_sec; /* CLOCK_MONOTONIC, when init() was called last */

/*
 * There is at most one thread. If init() is called before the thread noticed
 * that it should end, the thread goes on, but starts from the beginning.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_bool should_run; /* the thread should */
static bool is_running;	       /* the thread exists */
static atomic_uint n_inits;    /* number of calls of init() */

/* Whether the thread may continue what it began after the n_init-th init(). */
static bool go_on(void *n_init)
{
	return atomic_load(&should_run) &&
	       *(unsigned *)n_init == atomic_load(&n_inits);
}

/* Sleep, even if users submit jobs, but not if the thread should end. */
static void sleep_sec(double sec)
{
	struct timespec end = np_mono_after(sec);

	pthread_mutex_lock(&lock);
	while (atomic_load(&should_run) &&
	       !pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &end))
		;
	pthread_mutex_unlock(&lock);
}

/* Make passes until the thread should end or begin anew. */
static void make_passes(unsigned n_init)
{
	struct np_placer *placer;
	struct np_placer_next next;

	if (np_placer_new(shared, &placer)) {
		np_ctl_error("out of memory: placement is off");
		return;
	}
	while (go_on(&n_init)) {
		np_placer_run(placer, go_on, &n_init, &next);
		sleep_sec(next.rest_sec);
		np_shared_wait(shared, next.wait_sec);
	}
	np_placer_free(placer);
}

/* The thread. */
static void *run(void *arg)
{
	unsigned n_init;

	(void)arg;
	pthread_mutex_lock(&lock);
	do {
		n_init = atomic_load(&n_inits);
		pthread_mutex_unlock(&lock);
		make_passes(n_init);
		pthread_mutex_lock(&lock);
	} while (atomic_load(&should_run) && n_init != atomic_load(&n_inits));
	is_running = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Start the thread, or let a running one begin anew. 0 or -errno. */
static int start(void)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	atomic_store(&should_run, true);
	atomic_fetch_add(&n_inits, 1);
	if (!is_running)
		rc = np_thread_start(run, NULL, 0, NULL);
	is_running |= !rc;
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
	init_sec = np_mono_sec();
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
	atomic_store(&should_run, false);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (shared) {
		np_shared_withdraw(shared);
		np_shared_wake(shared);
	}
	pthread_mutex_lock(&lock);
	while (is_running &&
	       !pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &end))
		;
	pthread_mutex_unlock(&lock);
}

static void submit(job_desc_msg_t *d)
{
	if (shared)
		np_submit(shared, d, time(NULL),
			  np_mono_sec() - init_sec < STARTING_SEC);
}

static int modify(job_desc_msg_t *d, uint32_t submit_uid)
{
	return shared ? np_modify(shared, d, submit_uid) : SLURM_SUCCESS;
}

const struct np_plugin np_plugin = {
	SLURM_VERSION_NUMBER, init, fini, submit, modify,
};

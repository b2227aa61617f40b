/*
 * Placement in slurmctld: keeps jobs that would slow each other down from
 * sharing a leaf switch.
 *
 * One thread makes the decisions (np_placer.h). The callbacks use the latest
 * decision, and block only on a mutex that is never held for long. If anything
 * fails, jobs are submitted as if this plugin were absent.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "np_clock.h"
#include "np_placer.h"
#include "np_plugin.h"
#include "np_shared.h"
#include "np_store_reader.h"
#include "np_thread.h"

#define STOP_WAIT_SEC 0.1 /* how long fini() waits for the thread */

static struct np_shared *shared;

/*
 * There is at most one thread. If init() is called again before the thread has
 * noticed that it should end, the thread continues, but starts over.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t thread_changed = PTHREAD_COND_INITIALIZER;
static atomic_bool should_run; /* set by init(), cleared by fini() */
static bool is_running;	       /* the thread exists */
static atomic_uint n_inits;    /* number of calls of init() */

/* Whether neither fini() nor another init() has followed the n_init-th one. */
static bool may_continue(void *n_init)
{
	return atomic_load(&should_run) &&
	     *(unsigned *)n_init == atomic_load(&n_inits);
}

/* Sleep for that long, or until the thread should end or start over. */
static void sleep_sec(double sec)
{
	struct timespec end = np_mono_after(sec);

	pthread_mutex_lock(&lock);
	while (atomic_load(&should_run) &&
	       !pthread_cond_clockwait(&thread_changed, &lock, CLOCK_MONOTONIC,
				       &end))
		;
	pthread_mutex_unlock(&lock);
}

/* Run scheduling passes until the thread should end or start over. */
static void run_passes(unsigned n_init)
{
	struct np_placer *placer;
	struct np_placer_next next;

	if (np_placer_new(shared, &NP_DEADLINES, &placer)) {
		np_ctl_error("out of memory: placement is off");
		return;
	}
	while (may_continue(&n_init)) {
		np_placer_run(placer, may_continue, &n_init, &next);
		sleep_sec(next.rest_sec);
		np_shared_wait(shared, next.wait_sec);
	}
	np_placer_free(placer);
}

/* Body of the thread. After each init() it starts with a new np_placer. */
static void *run_thread(void *arg)
{
	unsigned n_init;

	(void)arg;
	pthread_mutex_lock(&lock);
	do {
		n_init = atomic_load(&n_inits);
		pthread_mutex_unlock(&lock);
		run_passes(n_init);
		pthread_mutex_lock(&lock);
	} while (atomic_load(&should_run) && n_init != atomic_load(&n_inits));
	is_running = false;
	pthread_cond_broadcast(&thread_changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Start the thread, or restart a running one. Returns 0 or -errno. */
static int start_thread(void)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	atomic_store(&should_run, true);
	atomic_fetch_add(&n_inits, 1);
	if (!is_running)
		rc = np_thread_start(run_thread, NULL, 0, NULL);
	is_running |= !rc;
	pthread_mutex_unlock(&lock);
	return rc;
}

/*
 * slurmctld waits for this function. If the file system of netprof.conf hangs,
 * it returns after a few seconds, and it looks up no users and groups. The
 * thread reads the file again and looks them up.
 */
static void init(void)
{
	struct np_settings settings;

	/* At this length libslurm would cut the lines of the topology. */
	unsetenv("SLURM_TOPO_LEN");
	np_settings_init(&settings);
	settings.conf.for_step = true;
	np_settings_refresh(&settings, &NP_DEADLINES);
	if (settings.trouble.text[0])
		np_ctl_error("%s: placement is off until it is corrected",
			     settings.trouble.text);
	else if (!settings.read)
		np_ctl_error("netprof.conf: its file system does not answer: "
			     "placement is off until it does");
	np_settings_free(&settings);
	if (!shared && np_shared_new(&settings.conf, &shared)) {
		np_ctl_error("out of memory: placement is off");
		return;
	}
	np_settings_share(&settings, shared);
	np_shared_restart(shared);
	if (start_thread())
		np_ctl_error("the placement thread cannot be started: "
			     "placement is off");
}

/*
 * The thread may be blocked in an RPC to this slurmctld until our caller
 * releases its locks, so do not wait for it for long. It then ends by itself
 * later; its code stays loaded, because it is linked with -z nodelete.
 */
static void fini(void)
{
	struct timespec end = np_mono_after(STOP_WAIT_SEC);

	pthread_mutex_lock(&lock);
	atomic_store(&should_run, false);
	pthread_cond_broadcast(&thread_changed);
	pthread_mutex_unlock(&lock);
	if (shared) {
		np_shared_withdraw(shared);
		np_shared_wake(shared);
	}
	pthread_mutex_lock(&lock);
	while (is_running && !pthread_cond_clockwait(&thread_changed, &lock,
						     CLOCK_MONOTONIC, &end))
		;
	pthread_mutex_unlock(&lock);
}

static void submit(job_desc_msg_t *desc)
{
	if (shared)
		np_submit(shared, desc, time(NULL),
			  np_shared_is_starting(shared, np_mono_sec()));
}

static int modify(job_desc_msg_t *desc, uint32_t submit_uid)
{
	return shared ? np_modify(shared, desc, submit_uid) : SLURM_SUCCESS;
}

const struct np_plugin np_plugin = {
	SLURM_VERSION_NUMBER, init, fini, submit, modify,
};

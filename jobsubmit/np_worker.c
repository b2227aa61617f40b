#include "np_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "np_clock.h"

/* slurmctld takes its signals in a thread of its own. */
int np_thread_start(void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

struct np_worker {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct np_work work;
	void (*leave)(void *arg); /* NULL: it goes on */
	void *leave_arg;
	bool has_errand, alone; /* alone: nobody waits for it */
	double since_sec;	/* of the work; monotonic */
};

static void destroy(struct np_worker *c)
{
	pthread_cond_destroy(&c->cond);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void *run(void *arg)
{
	struct np_worker *c = arg;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->has_errand && !c->leave)
			pthread_cond_wait(&c->cond, &c->lock);
		if (!c->has_errand)
			break;
		pthread_mutex_unlock(&c->lock);
		c->work.run(c->work.arg);
		pthread_mutex_lock(&c->lock);
		if (c->alone && c->work.drop)
			c->work.drop(c->work.arg);
		c->has_errand = c->alone = false;
		pthread_cond_broadcast(&c->cond);
	}
	pthread_mutex_unlock(&c->lock);
	c->leave(c->leave_arg);
	destroy(c);
	return NULL;
}

int np_worker_new(struct np_worker **out)
{
	struct np_worker *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->cond, NULL);
	rc = np_thread_start(run, c);
	if (rc)
		destroy(c);
	else
		*out = c;
	return rc;
}

void np_worker_free(struct np_worker *c, void (*leave)(void *arg), void *arg)
{
	if (!c) {
		leave(arg);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->leave = leave;
	c->leave_arg = arg;
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->lock);
}

bool np_worker_do(struct np_worker *c, const struct np_work *e, double sec)
{
	struct timespec t = np_mono_after(sec);
	bool done;

	pthread_mutex_lock(&c->lock);
	c->work = *e;
	c->has_errand = true;
	c->since_sec = np_mono_sec();
	pthread_cond_broadcast(&c->cond);
	while (c->has_errand && !pthread_cond_clockwait(&c->cond, &c->lock,
							CLOCK_MONOTONIC, &t))
		;
	done = !c->has_errand;
	c->alone = !done;
	pthread_mutex_unlock(&c->lock);
	return done;
}

double np_worker_busy_sec(struct np_worker *c)
{
	double sec;

	pthread_mutex_lock(&c->lock);
	sec = c->has_errand ? np_mono_sec() - c->since_sec : 0;
	pthread_mutex_unlock(&c->lock);
	return sec;
}

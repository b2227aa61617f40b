#include "np_store_reader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_clock.h"
#include "np_accounting.h"

/* ---- Worker ---- */

/* Signals are blocked, as slurmctld handles them in a thread of its own. */
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
	void (*leave)(void *arg); /* not NULL: the thread should end */
	void *leave_arg;
	bool has_work;	  /* including work that is running */
	bool abandoned;	  /* nobody waits for the work any more */
	double since_sec; /* CLOCK_MONOTONIC, when the work was given */
};

static void destroy(struct np_worker *c)
{
	pthread_cond_destroy(&c->cond);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The thread: runs work until it should end and none is left. */
static void *run(void *arg)
{
	struct np_worker *c = arg;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->has_work && !c->leave)
			pthread_cond_wait(&c->cond, &c->lock);
		if (!c->has_work)
			break;
		pthread_mutex_unlock(&c->lock);
		c->work.run(c->work.arg);
		pthread_mutex_lock(&c->lock);
		if (c->abandoned && c->work.drop)
			c->work.drop(c->work.arg);
		c->has_work = c->abandoned = false;
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
	c->has_work = true;
	c->since_sec = np_mono_sec();
	pthread_cond_broadcast(&c->cond);
	while (c->has_work && !pthread_cond_clockwait(&c->cond, &c->lock,
						      CLOCK_MONOTONIC, &t))
		;
	done = !c->has_work;
	c->abandoned = !done;
	pthread_mutex_unlock(&c->lock);
	return done;
}

double np_worker_busy_sec(struct np_worker *c)
{
	double sec;

	pthread_mutex_lock(&c->lock);
	sec = c->has_work ? np_mono_sec() - c->since_sec : 0;
	pthread_mutex_unlock(&c->lock);
	return sec;
}

/* ---- Store reader ---- */

/* One read. Belongs to the worker while it is busy. */
struct reading {
	double budget_sec;
	np_store_warn_f *warn;
	struct np_known known;
	int rc;
	struct np_err trouble, err;
};

struct np_store_reader {
	struct np_deadlines deadlines;
	struct np_worker *worker;
	/* To be used by the worker only while it is busy. */
	struct np_catalog *catalog;
	struct np_accounting *accounting;
	struct reading reading;
	mode_t mode; /* file permissions in the store; 0: not checked yet */

	bool renew; /* the catalog is out of date */
	char store[PATH_MAX];
	struct np_known known; /* of the last read */
	char fabric[256];
	bool forgotten; /* all profiles count as unknown */
};

void np_known_free(struct np_known *k)
{
	np_slowdowns_unref(k->table);
	np_app_index_unref(k->index);
	*k = (struct np_known){ NULL };
}

int np_store_reader_new(const struct np_deadlines *p,
			struct np_store_reader **out)
{
	struct np_store_reader *s = calloc(1, sizeof(*s));
	int rc = s ? np_worker_new(&s->worker) : -ENOMEM;

	if (!rc)
		rc = np_accounting_new(&s->accounting);
	if (rc) {
		np_store_reader_free(s);
		return rc;
	}
	s->deadlines = *p;
	*out = s;
	return 0;
}

/* Whether the worker is busy, i.e. the store has not answered in time. */
static bool hangs(struct np_store_reader *s)
{
	return np_worker_busy_sec(s->worker) > 0;
}

/* Called in the worker's thread once its last work is done. */
static void free_reader(void *arg)
{
	struct np_store_reader *s = arg;

	np_catalog_free(s->catalog);
	np_accounting_free(s->accounting);
	free(s);
}

void np_store_reader_free(struct np_store_reader *s)
{
	if (!s)
		return;
	np_known_free(&s->known);
	np_worker_free(s->worker, free_reader, s);
}

void np_store_reader_renew(struct np_store_reader *s)
{
	s->renew = true;
}

bool np_store_reader_is_new(struct np_store_reader *s)
{
	if (s->renew && !hangs(s)) {
		np_catalog_free(s->catalog);
		s->catalog = NULL;
		s->mode = 0;
		s->renew = false;
	}
	return !s->catalog;
}

int np_store_reader_open(struct np_store_reader *s, const struct np_conf *conf,
			 const char *cluster, struct np_err *err)
{
	strcpy(s->store, conf->store);
	return np_catalog_new(conf->store, cluster, &conf->place, &s->catalog,
			      err);
}

bool np_store_reader_want(struct np_store_reader *s, const char *app,
			  uint32_t uid)
{
	return s->catalog && !hangs(s) && np_catalog_note_job(s->catalog, app, uid);
}

/* Called in the worker's thread. */
static void do_read(void *arg)
{
	struct np_store_reader *s = arg;
	struct reading *r = &s->reading;
	bool changed;

	np_catalog_refresh(s->catalog, r->budget_sec, r->warn, NULL, &changed,
			   &r->known.more, &r->trouble);
	r->rc = np_catalog_table(s->catalog, &r->known.table, &r->err);
	if (!r->rc)
		r->rc = np_catalog_index(s->catalog, &r->known.index);
}

static void drop_reading(void *arg)
{
	struct np_store_reader *s = arg;

	np_known_free(&s->reading.known);
}

/* A read is complete: take over what it found. */
static int take_reading(struct np_store_reader *s)
{
	struct reading *r = &s->reading;

	if (r->rc) {
		drop_reading(s);
		return r->rc;
	}
	np_known_free(&s->known);
	s->known = r->known;
	r->known = (struct np_known){ NULL };
	s->forgotten = false;
	snprintf(s->fabric, sizeof(s->fabric), "%s",
		 np_catalog_fabric(s->catalog));
	return 0;
}

/* Treat all profiles as unknown, so that nothing conflicts. 0 or -ENOMEM. */
static int forget_profiles(struct np_store_reader *s)
{
	struct np_app_index *none;
	int rc;

	if (s->forgotten || !s->known.index)
		return 0;
	rc = np_app_index_new(NULL, 0, NP_PROFILE_UNKNOWN, NULL, &none);
	if (rc)
		return rc;
	np_app_index_unref(s->known.index);
	s->known.index = none;
	s->forgotten = true;
	return 0;
}

/*
 * Report a store that hangs. The text stays the same while it does, so that it
 * is logged only once. 0 or -ENOMEM.
 */
static int check_deadlines(struct np_store_reader *s, struct np_err *trouble)
{
	double sec = np_worker_busy_sec(s->worker);
	int rc = 0;

	if (sec >= s->deadlines.forget) {
		rc = forget_profiles(s);
		np_errf(trouble, -ETIMEDOUT, "%s: the store has not answered "
			"for %.0f s: no profile counts as known any more",
			s->store, s->deadlines.forget);
	} else if (sec >= s->deadlines.report) {
		np_errf(trouble, -ETIMEDOUT, "%s: the store has not answered "
			"for %.0f s: decisions go by what was read before",
			s->store, s->deadlines.report);
	}
	return rc;
}

int np_store_reader_read(struct np_store_reader *s, double budget_sec,
			 np_store_warn_f *warn, struct np_known *out,
			 struct np_err *trouble, struct np_err *err)
{
	const struct np_work read = { do_read, drop_reading, s };
	int rc;

	*out = (struct np_known){ .more = false };
	if (!hangs(s)) {
		s->reading = (struct reading){ budget_sec, warn };
		if (np_worker_do(s->worker, &read,
				 budget_sec + s->deadlines.wait)) {
			rc = take_reading(s);
			if (rc)
				return np_errf(err, rc, "%s",
					       s->reading.err.text);
			out->more = s->known.more;
			*trouble = s->reading.trouble;
		}
	}
	rc = check_deadlines(s, trouble);
	if (rc)
		return rc;
	if (!s->known.index)
		return np_errf(err, -EAGAIN, "%s: the store does not answer",
			       s->store);
	out->table = np_slowdowns_ref(s->known.table);
	out->index = np_app_index_ref(s->known.index);
	return 0;
}

const char *np_store_reader_fabric(const struct np_store_reader *s)
{
	return s->fabric;
}

/* One write, owned by the worker if the caller gives up. */
struct writing {
	struct np_store_reader *reader;
	struct np_pass_output left;
	struct np_err err;
};

/* Called in the worker's thread. */
static void do_write(void *arg)
{
	struct writing *w = arg;
	struct np_pass_output *l = &w->left;
	struct np_store_reader *s = w->reader;

	/* PrivateData also applies to files written before it was set. */
	if (l->mode != s->mode &&
	    !np_state_set_mode(l->store, l->mode, &w->err))
		s->mode = l->mode;
	np_accounting_update(s->accounting, &l->jobs, &l->answers,
			     l->known.table, l->known.index, l->store, l->mode,
			     &w->err);
	if (l->has_state)
		np_state_save(l->store, &l->state, l->mode, &w->err);
}

static void free_left(struct np_pass_output *l)
{
	np_job_snapshot_free(&l->jobs);
	np_answers_free(&l->answers);
	np_known_free(&l->known);
	if (l->has_state)
		np_state_free(&l->state);
}

static void drop_writing(void *arg)
{
	struct writing *w = arg;

	free_left(&w->left);
	free(w);
}

bool np_store_reader_write(struct np_store_reader *s, struct np_pass_output *l,
			   struct np_err *err)
{
	struct writing *w = hangs(s) ? NULL : calloc(1, sizeof(*w));
	const struct np_work leave = { do_write, drop_writing, w };

	if (!w) {
		free_left(l);
		return false;
	}
	w->reader = s;
	w->left = *l;
	if (!np_worker_do(s->worker, &leave, s->deadlines.wait))
		return false;
	*err = w->err;
	drop_writing(w);
	return true;
}

bool np_store_reader_has_more(struct np_store_reader *s)
{
	return !hangs(s) && np_accounting_has_more(s->accounting);
}

#include "np_proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_worker.h"
#include "np_history.h"

/* The worker's while it is at something. */
struct reading {
	double budget_sec;
	np_store_warn_f *warn;
	struct np_known known;
	int rc;
	struct np_err trouble, err;
};

struct np_proxy {
	struct np_patience patience;
	struct np_worker *worker;
	struct np_catalog *catalog; /* the worker's, too */
	struct np_history *history;	    /* the same */
	struct reading reading;
	mode_t mode; /* of what is in the store; 0: not looked at */
	bool renew;
	char store[PATH_MAX];
	struct np_known known;
	char fabric[256];
	bool forgot;
};

void np_known_free(struct np_known *k)
{
	np_press_unref(k->table);
	np_app_index_unref(k->index);
	*k = (struct np_known){ NULL };
}

int np_proxy_new(const struct np_patience *p, struct np_proxy **out)
{
	struct np_proxy *s = calloc(1, sizeof(*s));
	int rc = s ? np_worker_new(&s->worker) : -ENOMEM;

	if (!rc)
		rc = np_history_new(&s->history);
	if (rc) {
		np_proxy_free(s);
		return rc;
	}
	s->patience = *p;
	*out = s;
	return 0;
}

static bool hangs(struct np_proxy *s)
{
	return np_worker_busy_sec(s->worker) > 0;
}

/* In the worker's thread, which may have been at it until now. */
static void free_rest(void *arg)
{
	struct np_proxy *s = arg;

	np_catalog_free(s->catalog);
	np_history_free(s->history);
	free(s);
}

void np_proxy_free(struct np_proxy *s)
{
	if (!s)
		return;
	np_known_free(&s->known);
	np_worker_free(s->worker, free_rest, s);
}

void np_proxy_renew(struct np_proxy *s)
{
	s->renew = true;
}

bool np_proxy_is_new(struct np_proxy *s)
{
	if (s->renew && !hangs(s)) {
		np_catalog_free(s->catalog);
		s->catalog = NULL;
		s->mode = 0;
		s->renew = false;
	}
	return !s->catalog;
}

int np_proxy_open(struct np_proxy *s, const struct np_conf *conf,
		  const char *cluster, struct np_err *err)
{
	strcpy(s->store, conf->store);
	return np_catalog_new(conf->store, cluster, &conf->place, &s->catalog,
			      err);
}

bool np_proxy_want(struct np_proxy *s, const char *app, uint32_t uid)
{
	return s->catalog && !hangs(s) && np_catalog_want(s->catalog, app, uid);
}

/* In the worker's thread.  Without a store nothing is known. */
static void do_read(void *arg)
{
	struct np_proxy *s = arg;
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
	struct np_proxy *s = arg;

	np_known_free(&s->reading.known);
}

static int take_reading(struct np_proxy *s)
{
	struct reading *r = &s->reading;

	if (r->rc) {
		drop_reading(s);
		return r->rc;
	}
	np_known_free(&s->known);
	s->known = r->known;
	r->known = (struct np_known){ NULL };
	s->forgot = false;
	snprintf(s->fabric, sizeof(s->fabric), "%s",
		 np_catalog_fabric(s->catalog));
	return 0;
}

/* No profile is known: nothing conflicts. */
static int forget(struct np_proxy *s)
{
	struct np_app_index *none;
	int rc;

	if (s->forgot || !s->known.index)
		return 0;
	rc = np_app_index_new(NULL, 0, NP_PROFILE_UNKNOWN, NULL, &none);
	if (rc)
		return rc;
	np_app_index_unref(s->known.index);
	s->known.index = none;
	s->forgot = true;
	return 0;
}

/* The text stays the same as long as nothing changes: it is logged once. */
static int endure(struct np_proxy *s, struct np_err *trouble)
{
	double sec = np_worker_busy_sec(s->worker);
	int rc = 0;

	if (sec >= s->patience.forget) {
		rc = forget(s);
		np_errf(trouble, -ETIMEDOUT, "%s: the store has not answered "
			"for %.0f s: no profile counts as known any more",
			s->store, s->patience.forget);
	} else if (sec >= s->patience.say) {
		np_errf(trouble, -ETIMEDOUT, "%s: the store has not answered "
			"for %.0f s: decisions go by what was read before",
			s->store, s->patience.say);
	}
	return rc;
}

int np_proxy_read(struct np_proxy *s, double budget_sec,
		  np_store_warn_f *warn, struct np_known *out,
		  struct np_err *trouble, struct np_err *err)
{
	const struct np_work read = { do_read, drop_reading, s };
	int rc;

	*out = (struct np_known){ .more = false };
	if (!hangs(s)) {
		s->reading = (struct reading){ budget_sec, warn };
		if (np_worker_do(s->worker, &read,
				 budget_sec + s->patience.round)) {
			rc = take_reading(s);
			if (rc)
				return np_errf(err, rc, "%s",
					       s->reading.err.text);
			out->more = s->known.more;
			*trouble = s->reading.trouble;
		}
	}
	rc = endure(s, trouble);
	if (rc)
		return rc;
	if (!s->known.index)
		return np_errf(err, -EAGAIN, "%s: the store does not answer",
			       s->store);
	out->table = np_press_ref(s->known.table);
	out->index = np_app_index_ref(s->known.index);
	return 0;
}

const char *np_proxy_fabric(const struct np_proxy *s)
{
	return s->fabric;
}

/* What the worker writes. */
struct leaving {
	struct np_proxy *proxy;
	struct np_left left;
	struct np_err err;
};

static void do_leave(void *arg)
{
	struct leaving *w = arg;
	struct np_left *l = &w->left;
	struct np_proxy *s = w->proxy;

	/* What was written before PrivateData was set is private, too. */
	if (l->mode != s->mode &&
	    !np_state_set_mode(l->store, l->mode, &w->err))
		s->mode = l->mode;
	np_history_update(s->history, &l->view, &l->answers, l->known.table,
			  l->known.index, l->store, l->mode, &w->err);
	if (l->has_state)
		np_state_save(l->store, &l->state, l->mode, &w->err);
}

static void free_left(struct np_left *l)
{
	np_view_free(&l->view);
	np_answers_free(&l->answers);
	np_known_free(&l->known);
	if (l->has_state)
		np_state_free(&l->state);
}

static void drop_leaving(void *arg)
{
	struct leaving *w = arg;

	free_left(&w->left);
	free(w);
}

bool np_proxy_leave(struct np_proxy *s, struct np_left *l, struct np_err *err)
{
	struct leaving *w = hangs(s) ? NULL : calloc(1, sizeof(*w));
	const struct np_work leave = { do_leave, drop_leaving, w };

	if (!w) {
		free_left(l);
		return false;
	}
	w->proxy = s;
	w->left = *l;
	if (!np_worker_do(s->worker, &leave, s->patience.round))
		return false;
	*err = w->err;
	drop_leaving(w);
	return true;
}

bool np_proxy_has_more(struct np_proxy *s)
{
	return !hangs(s) && np_history_has_more(s->history);
}

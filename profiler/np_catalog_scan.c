/* Which applications the store has, and what their runs say. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "np_catalog_impl.h"

#define SCAN_EVERY_SEC 5
#define RESCAN_SEC 1	 /* for what is wanted and was not found */
#define READ_AGAIN_SEC 5 /* a run that goes on changes its directory often */
#define COST_SHARE 20	 /* one part in so many of the time is for one reader */

static struct np_listed *find(struct np_catalog *c, enum np_store_owner owner,
			      uid_t uid, const char *app)
{
	for (size_t i = 0; i < c->n; i++) {
		struct np_listed *l = &c->listed[i];

		if (l->owner == owner && l->uid == uid && !strcmp(l->app, app))
			return l;
	}
	return NULL;
}

static int list(struct np_catalog *c, enum np_store_owner owner, uid_t uid,
		const char *app)
{
	struct np_listed *l = find(c, owner, uid, app), *grown;

	if (!strcmp(app, NP_IDLE_APP) || strlen(app) > NP_APP_MAX)
		return 0;
	if (l) {
		l->there = true;
		return 0;
	}
	if (c->n >= NP_CATALOG_MAX_LISTED)
		return 0;
	grown = reallocarray(c->listed, c->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	c->listed = grown;
	l = &grown[c->n++];
	memset(l, 0, sizeof(*l));
	strcpy(l->app, app);
	l->owner = owner;
	l->uid = uid;
	l->there = true;
	l->profile = -1;
	return 0;
}

/* A directory that may not be read is as good as none. */
static int list_owner(struct np_catalog *c, struct np_store *s,
		      enum np_store_owner owner, uid_t uid)
{
	char **names = NULL;
	size_t n = 0;
	int rc = 0;

	if (np_store_apps(s, owner, uid, &names, &n, NULL))
		return 0;
	for (size_t i = 0; !rc && i < n; i++)
		rc = list(c, owner, uid, names[i]);
	np_names_free(names, n);
	return rc;
}

int np_catalog_scan(struct np_catalog *c, struct np_store *s, double now_sec,
		    struct np_err *err)
{
	uid_t *uids = NULL;
	size_t n = 0;
	int rc;

	if (c->scanned_sec &&
	    now_sec - c->scanned_sec < (c->rescan ? RESCAN_SEC :
						    SCAN_EVERY_SEC))
		return 0;
	for (size_t i = 0; i < c->n; i++)
		c->listed[i].there = false;
	rc = list_owner(c, s, NP_STORE_PUBLISHED, 0);
	if (!rc && !np_store_uids(s, &uids, &n, NULL))
		for (size_t i = 0; !rc && i < n; i++)
			rc = list_owner(c, s, NP_STORE_USER, uids[i]);
	free(uids);
	c->scanned_sec = now_sec;
	c->rescan = false;
	return rc ? np_errf(err, rc, "out of memory") : 0;
}

void np_listed_clear(struct np_listed *l)
{
	if (!l->read)
		return;
	np_subject_free(&l->subject);
	np_runs_free(&l->runs);
	l->read = l->usable = false;
}

/* Curve and pressure are all that the default model looks at. */
static bool same_means(const struct np_mean *a, const struct np_mean *b,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].n != b[i].n || (a[i].n && a[i].mean != b[i].mean))
			return false;
	return true;
}

static bool same(const struct np_subject *a, const struct np_subject *b,
		 size_t n_levels)
{
	if (!a->n_curve && !a->n_pressure)
		return false; /* by its latencies, which always move */
	return a->program.curve && b->program.curve && a->program.pressure &&
	       b->program.pressure &&
	       same_means(a->program.curve, b->program.curve, n_levels) &&
	       same_means(a->program.pressure, b->program.pressure, n_levels);
}

int np_catalog_judge(struct np_catalog *c, struct np_listed *l, bool *changed)
{
	struct np_subject before = l->subject;
	bool was = l->usable;
	int rc;

	if (!c->calibrated) {
		l->usable = false;
		return 0;
	}
	rc = np_subject_make(&l->runs, &c->cal, &l->subject);
	if (rc) {
		l->subject = before;
		return rc;
	}
	l->usable = !np_program_check(&l->subject.program, c->cal.fabric,
				      NULL) &&
		    (l->subject.n_curve || l->subject.n_pressure ||
		     l->subject.program.latency.all.n);
	if (was != l->usable ||
	    (was && !same(&before, &l->subject, c->cal.fabric->n_levels))) {
		if (l->profile >= 0)
			np_conflict_forget(c->conflict, (uint32_t)l->profile);
		*changed = true;
	}
	np_subject_free(&before);
	return 0;
}

/* When its directory changed last; false: it is not there. */
static bool mtime_of(const struct np_store *s, const struct np_listed *l,
		     struct timespec *mtime)
{
	struct np_dir d;
	struct stat st;
	bool ok;

	if (np_dir_open(s, l->owner, l->uid, l->app, &d, NULL))
		return false;
	ok = !fstat(d.fd, &st);
	np_dir_close(&d);
	if (ok)
		*mtime = st.st_mtim;
	return ok;
}

static bool is_due(const struct np_listed *l, const struct timespec *mtime,
		   double now_sec)
{
	double pause = l->cost_sec * COST_SHARE;

	if (!l->read)
		return true;
	if (l->mtime.tv_sec == mtime->tv_sec &&
	    l->mtime.tv_nsec == mtime->tv_nsec)
		return false;
	return now_sec - l->read_sec > (pause > READ_AGAIN_SEC ? pause :
					READ_AGAIN_SEC);
}

static int read_one(struct np_catalog *c, struct np_store *s,
		    struct np_listed *l, const struct timespec *mtime,
		    np_store_warn_f *warn, void *arg, bool *changed)
{
	struct np_runs before = l->runs;
	bool had = l->read;
	int rc;

	l->read_sec = np_catalog_now();
	memset(&l->runs, 0, sizeof(l->runs));
	rc = np_store_load(s, l->owner, l->uid, l->app, warn, arg, &l->runs,
			   NULL);
	if (rc) {
		l->runs = before;
		l->there = rc == -ENOMEM && l->there;
		return rc == -ENOMEM ? rc : 0;
	}
	l->read = true;
	l->mtime = *mtime;
	/* The subject of before borrows from the runs of before. */
	rc = np_catalog_judge(c, l, changed);
	if (had)
		np_runs_free(&before);
	l->cost_sec = np_catalog_now() - l->read_sec;
	return rc;
}

int np_catalog_read(struct np_catalog *c, struct np_store *s, double until_sec,
		    np_store_warn_f *warn, void *arg, bool *changed,
		    bool *more)
{
	for (int wanted = 1; wanted >= 0; wanted--)
		for (size_t i = 0; i < c->n; i++) {
			struct np_listed *l = &c->listed[i];
			struct timespec mtime;
			int rc;

			if (l->wanted != wanted || !l->there)
				continue;
			if (np_catalog_now() >= until_sec) {
				*more |= !l->read;
				continue;
			}
			if (!mtime_of(s, l, &mtime)) {
				l->there = false;
				*changed = true;
				continue;
			}
			if (!is_due(l, &mtime, np_catalog_now()))
				continue;
			rc = read_one(c, s, l, &mtime, warn, arg, changed);
			if (rc)
				return rc;
		}
	return 0;
}

/* Which applications there are, and which changed: directories, no file. */
#include "np_catalog_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_SEC 5.0
#define LOOK_WANTED_SEC 1.0
#define MAX_COST 0.05 /* share of the time that looking may take */
#define MAX_APPS 8192 /* of all owners; handles are fewer */

static bool is_urgent(const struct np_catalog *c, const struct np_cat_owner *o)
{
	return o->key.owner == NP_CAT_PUBLISHED ||
	       np_catalog_is_wanted(c, o->wanted_until);
}

/* In turn, from where the last one was found, so that nobody starves. */
struct np_cat_owner *np_catalog_due(struct np_catalog *c, bool wanted)
{
	double now = np_catalog_now(c), next = INFINITY;
	size_t n = c->owners.n;

	if (now < c->idle_until[wanted])
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t at = (c->cursor[wanted] + i) % n;
		struct np_cat_owner *o =
			(struct np_cat_owner *)c->owners.item[at];

		if (wanted && !is_urgent(c, o))
			continue;
		if (o->due <= now) {
			c->cursor[wanted] = at;
			return o;
		}
		next = fmin(next, o->due);
	}
	c->idle_until[wanted] = next;
	return NULL;
}

/* The applications of an owner: from first, as many as are returned. */
static size_t apps_of(const struct np_catalog *c, int64_t owner, size_t *first)
{
	*first = np_cat_map_at(&c->apps, owner, "");
	return np_cat_map_at(&c->apps, owner + 1, "") - *first;
}

/* It is no longer there.  A handle stays, so that it finds its own again. */
static void gone(struct np_catalog *c, size_t i)
{
	struct np_cat_app *a = (struct np_cat_app *)c->apps.item[i];

	if (a->known)
		np_catalog_reindex(c);
	np_catalog_set_to_read(c, a, false);
	np_catalog_drop_evidence(a);
	a->there = a->known = false;
	np_said_free(&a->said);
	if (a->handle == NP_PROFILE_UNKNOWN) {
		np_cat_map_remove(&c->apps, i);
		return;
	}
	np_catalog_forget(c, a);
	a->stamp = (struct np_store_stamp){ .dev = 0 };
}

/* Room for one that outranks a; it goes altogether. */
static bool make_room(struct np_catalog *c, const struct np_cat_app *newcomer)
{
	struct np_cat_app *least = NULL;

	if (c->apps.n < MAX_APPS)
		return true;
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = (struct np_cat_app *)c->apps.item[i];

		if (!least || np_catalog_outranks(c, least, a))
			least = a;
	}
	if (!np_catalog_outranks(c, newcomer, least))
		return false;
	if (least->handle != NP_PROFILE_UNKNOWN) {
		np_catalog_forget(c, least);
		c->by_handle[least->handle] = NULL;
		least->handle = NP_PROFILE_UNKNOWN;
	}
	gone(c, np_cat_map_at(&c->apps, least->key.owner, least->key.app));
	return true;
}

static int appears(struct np_catalog *c, int64_t owner,
		   const struct np_store_app *found, struct np_cat_app **out)
{
	struct np_cat_want *w = np_cat_map_find(&c->wants, owner, found->name);
	struct np_cat_app like = {
		.key.owner = owner, .stamp = found->stamp, .there = true,
		.wanted_until = w ? w->until : 0,
	}, *a;

	*out = NULL;
	if (!make_room(c, &like))
		return 0;
	a = np_cat_map_add(&c->apps, owner, found->name, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->handle = NP_PROFILE_UNKNOWN;
	a->wanted_until = like.wanted_until;
	*out = a;
	return 0;
}

static int see(struct np_catalog *c, int64_t owner,
	       const struct np_store_app *found)
{
	struct np_cat_app *a = np_cat_map_find(&c->apps, owner, found->name);
	int rc = a ? 0 : appears(c, owner, found, &a);

	if (!a)
		return rc;
	a->seen = true;
	if (!a->there && a->known)
		np_catalog_reindex(c);
	a->there = true;
	if (!np_catalog_same_stamp(&a->stamp, &found->stamp)) {
		a->stamp = found->stamp;
		a->stamped = false;
		a->again = 0;
		np_catalog_set_to_read(c, a, true);
	} else if (a->again && np_catalog_now(c) >= a->again) {
		a->again = 0;
		np_catalog_set_to_read(c, a, true);
	} else if (a->no_room && np_catalog_has_room(c)) {
		np_catalog_set_to_read(c, a, true);
	}
	return 0;
}

/* What a user has too many of: those wanted, then the newest. */
struct choice {
	const struct np_store_app *app;
	bool wanted;
};

static int wanted_then_newest(const void *p, const void *q)
{
	const struct choice *x = p, *y = q;
	const struct np_store_stamp *a = &x->app->stamp, *b = &y->app->stamp;

	if (x->wanted != y->wanted)
		return x->wanted ? -1 : 1;
	if (a->sec != b->sec)
		return a->sec > b->sec ? -1 : 1;
	if (a->nsec != b->nsec)
		return a->nsec > b->nsec ? -1 : 1;
	return strcmp(x->app->name, y->app->name);
}

static int see_all(struct np_catalog *c, int64_t owner,
		   const struct np_store_app *apps, size_t n)
{
	size_t most = owner == NP_CAT_PUBLISHED ? NP_CONFLICT_MAX_PROFILES :
						  NP_CATALOG_MAX_OF_USER;
	struct choice *choice = calloc(n + 1, sizeof(*choice));
	size_t n_choice = 0;
	int rc = choice ? 0 : -ENOMEM;

	for (size_t i = 0; choice && i < n; i++) {
		struct np_cat_want *w =
			np_cat_map_find(&c->wants, owner, apps[i].name);

		/* How idle leaves are is no application. */
		if (strcmp(apps[i].name, NP_IDLE_APP))
			choice[n_choice++] = (struct choice){ &apps[i],
				w && np_catalog_is_wanted(c, w->until) };
	}
	if (n_choice > most)
		qsort(choice, n_choice, sizeof(*choice), wanted_then_newest);
	for (size_t i = 0; !rc && i < n_choice && i < most; i++)
		rc = see(c, owner, choice[i].app);
	free(choice);
	return rc;
}

static int update(struct np_catalog *c, int64_t owner,
		  const struct np_store_app *apps, size_t n)
{
	size_t first, count = apps_of(c, owner, &first);
	int rc;

	for (size_t i = 0; i < count; i++)
		((struct np_cat_app *)c->apps.item[first + i])->seen = false;
	rc = see_all(c, owner, apps, n);
	if (rc)
		return rc;
	count = apps_of(c, owner, &first);
	for (size_t i = first + count; i-- > first;) {
		struct np_cat_app *a = (struct np_cat_app *)c->apps.item[i];

		if (!a->seen && (a->there || a->known ||
				 a->handle == NP_PROFILE_UNKNOWN))
			gone(c, i);
	}
	return 0;
}

/* When to look again, so that looking takes a small share of the time. */
static void schedule(struct np_catalog *c, struct np_cat_owner *o,
		     double began)
{
	double now = np_catalog_now(c);
	bool wanted = np_catalog_is_wanted(c, o->wanted_until);

	c->cost_sec += now - began - o->cost_sec;
	o->cost_sec = now - began;
	o->due = now + fmax(wanted ? LOOK_WANTED_SEC : LOOK_SEC,
			    (is_urgent(c, o) ? o->cost_sec : c->cost_sec) /
			    MAX_COST);
	c->idle_until[false] = fmin(c->idle_until[false], o->due);
	c->idle_until[true] = fmin(c->idle_until[true], o->due);
}

int np_catalog_look(struct np_catalog *c, struct np_cat_owner *o,
		    struct np_err *err)
{
	bool public = o->key.owner == NP_CAT_PUBLISHED;
	struct np_store_app *apps = NULL;
	struct np_err why = NP_ERR_INIT;
	double began = np_catalog_now(c);
	size_t n = 0;
	int rc = np_store_look(c->store, public ? NP_STORE_PUBLISHED :
			       NP_STORE_USER, (uid_t)o->key.owner, &apps, &n,
			       &why);

	if (rc && (public || rc == -ENOMEM))
		return np_errf(err, rc, "%s", why.text);
	/* One user's directory that is no use is that user's trouble. */
	np_catalog_sum_up(c, o);
	np_catalog_say_begin(c, &o->said, o);
	if (rc)
		np_catalog_say(why.text, c);
	np_catalog_say_end(c);
	rc = update(c, o->key.owner, apps, n);
	free(apps);
	schedule(c, o, began);
	return rc ? np_errf(err, rc, "catalog: out of memory") : 0;
}

/*
 * Users that are gone go, unless jobs of them are there.  Not before they may
 * come again as if for the first time: a directory is soon renamed and back.
 */
static int update_owners(struct np_catalog *c, const uid_t *uids, size_t n)
{
	for (size_t i = 0; i < c->owners.n; i++)
		((struct np_cat_owner *)c->owners.item[i])->listed = false;
	for (size_t i = 0; i < n; i++) {
		struct np_cat_owner *o = np_catalog_owner(c, uids[i]);

		if (o)
			o->listed = true;
		else if (c->owners.n < NP_CAT_MAX_OWNERS)
			return -ENOMEM;
	}
	for (size_t i = c->owners.n; i-- > 0;) {
		struct np_cat_owner *o =
			(struct np_cat_owner *)c->owners.item[i];
		int rc;

		if (o->listed || is_urgent(c, o) || o->lines.until ||
		    !np_catalog_is_settled(c, o))
			continue;
		rc = update(c, o->key.owner, NULL, 0);
		if (rc)
			return rc;
		c->cost_sec -= o->cost_sec;
		np_said_free(&o->said);
		np_cat_map_remove(&c->owners, i);
	}
	return 0;
}

int np_catalog_look_uids(struct np_catalog *c, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	double began = np_catalog_now(c), now;
	uid_t *uids = NULL;
	size_t n = 0;
	int rc;

	np_catalog_say_begin(c, &c->uids_said, NULL);
	rc = np_store_uids(c->store, &uids, &n, np_catalog_say, c, &why);
	if (rc && rc != -ENOMEM)
		np_catalog_say(why.text, c);
	np_catalog_say_end(c);
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s", why.text);
	rc = update_owners(c, uids, n);
	free(uids);
	now = np_catalog_now(c);
	c->uids_due = now + fmax(LOOK_SEC, (now - began) / MAX_COST);
	return rc ? np_errf(err, rc, "catalog: out of memory") : 0;
}

void np_catalog_doubt(struct np_catalog *c)
{
	for (size_t i = 0; i < c->owners.n; i++)
		((struct np_cat_owner *)c->owners.item[i])->due = 0;
	for (size_t i = 0; i < c->apps.n; i++)
		((struct np_cat_app *)c->apps.item[i])->there = false;
	c->uids_due = c->idle_until[false] = c->idle_until[true] = 0;
	c->cursor[false] = c->cursor[true] = 0; /* published/ first */
	c->cal_due = 0;
	np_catalog_reindex(c);
}

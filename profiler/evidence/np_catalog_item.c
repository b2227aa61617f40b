/*
 * What the parts of the catalog have in common: items by owner and application,
 * sorted pointers, some thousand of them; what can be said of one; and the
 * handles of np_conflict.h.
 */
#include "np_catalog_impl.h"

#include <stdlib.h>
#include <string.h>

#include "np_array.h"

static int compare(const struct np_cat_key *k, int64_t owner, const char *app)
{
	if (k->owner != owner)
		return k->owner < owner ? -1 : 1;
	return strcmp(k->app, app);
}

size_t np_cat_map_at(const struct np_cat_map *m, int64_t owner,
		     const char *app)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(m->item[mid], owner, app) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void *np_cat_map_find(const struct np_cat_map *m, int64_t owner,
		      const char *app)
{
	size_t i = np_cat_map_at(m, owner, app);

	return i < m->n && !compare(m->item[i], owner, app) ? m->item[i] : NULL;
}

void *np_cat_map_add(struct np_cat_map *m, int64_t owner, const char *app,
		     size_t size)
{
	size_t i = np_cat_map_at(m, owner, app);
	struct np_cat_key *k = calloc(1, size);

	if (!k || np_array_room(&m->item, &m->room, m->n + 1,
				sizeof(*m->item))) {
		free(k);
		return NULL;
	}
	k->owner = owner;
	strcpy(k->app, app);
	memmove(m->item + i + 1, m->item + i, (m->n - i) * sizeof(*m->item));
	m->item[i] = k;
	m->n++;
	return k;
}

void np_cat_map_remove(struct np_cat_map *m, size_t i)
{
	free(m->item[i]);
	m->n--;
	memmove(m->item + i, m->item + i + 1, (m->n - i) * sizeof(*m->item));
}

void np_cat_map_free(struct np_cat_map *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->item[i]);
	free(m->item);
}

double np_catalog_now(const struct np_catalog *c)
{
	return c->clock->now_sec(c->clock);
}

bool np_catalog_is_wanted(const struct np_catalog *c, double until)
{
	return until && np_catalog_now(c) < until;
}

void np_catalog_reindex(struct np_catalog *c)
{
	np_app_index_unref(c->index);
	c->index = NULL;
	c->changed = true;
}

bool np_catalog_same_stamp(const struct np_store_stamp *a,
			   const struct np_store_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->sec == b->sec &&
	       a->nsec == b->nsec;
}

struct np_cat_owner *np_catalog_owner(struct np_catalog *c, int64_t owner)
{
	struct np_cat_owner *o = np_cat_map_find(&c->owners, owner, "");

	if (!o && c->owners.n < NP_CAT_MAX_OWNERS) {
		o = np_cat_map_add(&c->owners, owner, "", sizeof(*o));
		if (o)
			o->paid_until = np_catalog_now(c) -
					NP_CATALOG_SAVED_SEC;
	}
	if (o && !o->due)
		c->idle_until[false] = c->idle_until[true] = 0;
	return o;
}

bool np_catalog_is_settled(const struct np_catalog *c,
			   const struct np_cat_owner *o)
{
	return o->paid_until <= np_catalog_now(c) - NP_CATALOG_SAVED_SEC;
}

void np_catalog_set_to_read(struct np_catalog *c, struct np_cat_app *a,
			    bool to_read)
{
	if (a->to_read != to_read)
		c->n_to_read += to_read ? 1 : (size_t)-1;
	a->to_read = to_read;
	/* Until then its answers are not asked: askable() of np_catalog.c. */
	if (!to_read && !a->usable)
		c->asked_wanted = c->asked_all = false;
}

void np_catalog_drop_evidence(struct np_cat_app *a)
{
	np_evidence_free(&a->evidence);
	a->usable = false;
}

static const struct np_store_stamp *newer(const struct np_cat_app *a,
					  const struct np_cat_app *b)
{
	const struct np_store_stamp *x = &a->stamp, *y = &b->stamp;

	if (x->sec != y->sec)
		return x->sec > y->sec ? x : NULL;
	return x->nsec > y->nsec ? x : NULL;
}

bool np_catalog_outranks(const struct np_catalog *c, const struct np_cat_app *a,
			 const struct np_cat_app *b)
{
	int x = a->key.owner == NP_CAT_PUBLISHED ? 2 :
		np_catalog_is_wanted(c, a->wanted_until);
	int y = b->key.owner == NP_CAT_PUBLISHED ? 2 :
		np_catalog_is_wanted(c, b->wanted_until);

	if (a->there != b->there)
		return a->there;
	return x != y ? x > y : newer(a, b) != NULL;
}

/* ---- handles: fewer than applications, and they never go away ---- */

bool np_catalog_has_room(const struct np_catalog *c)
{
	if (c->n_handles < NP_CONFLICT_MAX_PROFILES)
		return true;
	for (size_t i = 0; i < c->n_handles; i++)
		if (!c->by_handle[i] || !c->by_handle[i]->there)
			return true;
	return false;
}

void np_catalog_forget(struct np_catalog *c, const struct np_cat_app *a)
{
	if (a->handle == NP_PROFILE_UNKNOWN)
		return;
	np_conflict_forget(c->conflict, (uint32_t)a->handle);
	c->asked_wanted = c->asked_all = false;
	c->changed = true;
}

/* The handle that is needed least: of nobody, or of the last in rank. */
static uint32_t least_needed(const struct np_catalog *c)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < c->n_handles; i++) {
		const struct np_cat_app *a = c->by_handle[i];

		if (!a)
			return i;
		if (np_catalog_outranks(c, c->by_handle[least], a))
			least = i;
	}
	return least;
}

/* It loses its handle, and is not known until there is room again. */
static void evict(struct np_catalog *c, uint32_t handle)
{
	struct np_cat_app *a = c->by_handle[handle];

	if (!a)
		return;
	np_catalog_drop_evidence(a);
	np_catalog_set_to_read(c, a, false);
	if (a->known)
		np_catalog_reindex(c);
	a->handle = NP_PROFILE_UNKNOWN;
	a->known = false;
	a->no_room = true;
	c->by_handle[handle] = NULL;
}

static bool is_trusted(const struct np_catalog *c, int64_t owner)
{
	for (size_t i = 0; i < c->conf.n_trusted; i++)
		if (c->conf.trusted[i] == owner)
			return true;
	return owner == NP_CAT_PUBLISHED;
}

int np_catalog_take_handle(struct np_catalog *c, struct np_cat_app *a,
			   struct np_err *err)
{
	int64_t owner = a->key.owner;
	uint32_t uid = owner == NP_CAT_PUBLISHED ? 0 : (uint32_t)owner, h;
	bool trusted = is_trusted(c, owner);
	int rc;

	if (c->n_handles < NP_CONFLICT_MAX_PROFILES) {
		rc = np_conflict_add(c->conflict, uid, trusted, &h, err);
		if (rc)
			return rc;
		c->n_handles++;
	} else {
		h = least_needed(c);
		if (c->by_handle[h] &&
		    !np_catalog_outranks(c, a, c->by_handle[h])) {
			a->no_room = true;
			return 0;
		}
		rc = np_conflict_replace(c->conflict, h, uid, trusted, err);
		if (rc)
			return rc;
		evict(c, h);
	}
	c->by_handle[h] = a;
	a->handle = (int32_t)h;
	np_catalog_forget(c, a);
	np_catalog_reindex(c);
	return 0;
}

/* Handles: fewer than there may be applications, and they never go away. */
#include "np_catalog_impl.h"

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

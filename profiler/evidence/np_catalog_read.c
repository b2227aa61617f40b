/* Reading an application's runs; what the models see of them is kept. */
#include "np_catalog_impl.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/*
 * What an owner's profiles cost is paid off at a steady rate, and as long as
 * it is not, no more is read: who changes files all the time, or links huge
 * ones, leaves the time to others.
 */
static bool may_read(const struct np_catalog *c, const struct np_cat_owner *o)
{
	return o && (o->key.owner == NP_CAT_PUBLISHED ||
		     o->paid_until <= np_catalog_now(c));
}

static void charge(const struct np_catalog *c, struct np_cat_owner *o,
		   size_t bytes)
{
	double saved = np_catalog_now(c) - NP_CATALOG_SAVED_SEC;

	o->paid_until = fmax(o->paid_until, saved) +
			fmax((double)bytes, NP_CATALOG_LEAST_BYTES) /
			NP_CATALOG_BYTES_PER_SEC;
}

/* The one to read first; and its owner. */
struct candidate {
	const struct np_cat_owner *owner;
	struct np_cat_app *app;
};

/* Whose turn was longest ago, and what of it. */
static bool before(const struct np_catalog *c, const struct candidate *a,
		   const struct candidate *b)
{
	bool x = np_catalog_is_wanted(c, a->app->wanted_until);
	bool y = np_catalog_is_wanted(c, b->app->wanted_until);

	if (x != y)
		return x;
	if (a->owner->turn != b->owner->turn)
		return a->owner->turn < b->owner->turn;
	if (a->app->turn != b->app->turn)
		return a->app->turn < b->app->turn;
	return np_catalog_outranks(c, a->app, b->app);
}

struct np_cat_app *np_catalog_next(const struct np_catalog *c, bool wanted)
{
	struct candidate best = { .app = NULL }, at = { .owner = NULL };

	for (size_t i = 0; c->n_to_read && i < c->apps.n; i++) {
		at.app = (struct np_cat_app *)c->apps.item[i];
		if (!at.app->to_read || !at.app->there ||
		    (wanted && !np_catalog_is_wanted(c, at.app->wanted_until)))
			continue;
		if (!at.owner || at.owner->key.owner != at.app->key.owner)
			at.owner = np_cat_map_find(&c->owners,
						   at.app->key.owner, "");
		if (may_read(c, at.owner) &&
		    (!best.app || before(c, &at, &best)))
			best = at;
	}
	return best.app;
}

/*
 * *bytes: that it took.
 * Returns 0, -ENODATA (said, if there is something to say) or -ENOMEM.
 */
static int load(struct np_catalog *c, const struct np_cat_app *a,
		struct np_evidence *out, size_t *bytes)
{
	const struct np_evidence_opt opt = { .calibration = &c->cal };
	struct np_err why = NP_ERR_INIT;
	struct np_runs runs;
	int rc = np_store_load(c->store, a->key.owner == NP_CAT_PUBLISHED ?
			       NP_STORE_PUBLISHED : NP_STORE_USER,
			       (uid_t)a->key.owner, a->key.app, np_catalog_say,
			       c, &runs, &why);

	*bytes = rc ? 0 : runs.bytes;
	if (!rc) {
		rc = np_evidence_make(&runs, &opt, out);
		if (!rc) /* a thousand runs are too much to keep */
			np_evidence_detach(out, a->key.app);
		np_runs_free(&runs);
		if (rc)
			return rc;
		rc = np_program_check(&out->program, c->cal.fabric, &why);
		if (!rc && np_evidence_has_data(out))
			return 0;
		np_evidence_free(out);
	}
	if (rc == -ENOMEM)
		return rc;
	if (rc && rc != -ENOENT)
		np_catalog_say(why.text, c);
	return -ENODATA;
}

/* Its data are these, or none. */
static int take(struct np_catalog *c, struct np_cat_app *a,
		const struct np_evidence *s, struct np_err *err)
{
	bool known = a->known;
	int rc = 0;

	np_catalog_drop_evidence(a);
	np_catalog_forget(c, a);
	a->known = a->no_room = false;
	if (s) {
		a->evidence = *s;
		a->usable = a->known = true;
		if (a->handle == NP_PROFILE_UNKNOWN)
			rc = np_catalog_take_handle(c, a, err);
	}
	if (rc || a->no_room) {
		np_catalog_drop_evidence(a);
		a->known = false;
	}
	/* Other runs may back a name where those before did not. */
	if (a->known || known)
		np_catalog_reindex(c);
	return rc;
}

int np_catalog_read(struct np_catalog *c, struct np_cat_app *a,
		    struct np_err *err)
{
	struct np_cat_owner *o = np_catalog_owner(c, a->key.owner);
	struct np_evidence s;
	size_t bytes;
	int rc;

	np_catalog_say_begin(c, &a->said, o);
	rc = load(c, a, &s, &bytes);
	np_catalog_say_end(c);
	a->turn = ++c->turn;
	if (o) {
		o->turn = c->turn;
		charge(c, o, bytes);
	}
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s: out of memory", a->key.app);
	if (!a->stamped && np_store_is_racy(&a->stamp))
		a->again = np_catalog_now(c) + NP_STORE_RACY_SEC;
	a->stamped = true;
	rc = take(c, a, rc ? NULL : &s, err);
	np_catalog_set_to_read(c, a, rc != 0);
	return rc;
}

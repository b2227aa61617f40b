#include "np_catalog_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_backing.h"
#include "np_ids.h"

#define WANTED_SEC 600.0
#define MAX_WANTS 32768 /* two for each user and application */
#define NEGLIGIBLE 0.01 /* such a slowdown is noise */
#define SLICE 512 /* questions between two looks at the clock; some ms */

/* A question to the default model, without interval. */
static int answer(void *arg, uint32_t victim, uint32_t co,
		      enum np_contact contact, double *slowdown)
{
	struct np_catalog *c = arg;
	const struct np_cat_app *v = c->by_handle[victim];
	const struct np_cat_app *x = c->by_handle[co];
	enum np_scope scope = (enum np_scope)contact; /* same order */
	const struct np_mean *coupling = &c->cal.fabric->coupling[scope];
	const struct np_program *program;
	struct np_prediction p;
	int rc;

	c->changed = true;
	if (!v || !x || !v->usable || !x->usable)
		return -ENODATA;
	/* That others are felt there is measured, never assumed. */
	if (!np_mean_known(coupling))
		return -ENODATA;
	if (np_coupling_none(coupling)) {
		*slowdown = 0;
		return 0;
	}
	program = &x->evidence.program;
	rc = np_predict(c->models, &v->evidence.program, &program, 1, scope, &p,
			NULL);
	if (rc)
		return rc;
	if (p.flags & NP_PRED_DOUBTFUL)
		return -ENODATA;
	*slowdown = p.slowdown;
	return 0;
}

int np_catalog_new(const char *store_dir, const char *cluster,
		   const struct np_place_conf *conf, struct np_catalog **out,
		   struct np_err *err)
{
	struct np_catalog *c = calloc(1, sizeof(*c));
	const struct np_oracle oracle = { answer, c };

	if (c) {
		c->store_dir = strdup(store_dir);
		c->cluster = strdup(cluster);
		c->conf = *conf;
		np_clock_init(&c->real, -1);
		c->clock = &c->real;
	}
	if (!c || !c->store_dir || !c->cluster ||
	    !np_catalog_owner(c, NP_CAT_PUBLISHED) ||
	    np_conflict_new(&oracle, &c->conflict, NULL)) {
		np_catalog_free(c);
		return np_errf(err, -ENOMEM, "catalog: out of memory");
	}
	*out = c;
	return 0;
}

void np_catalog_free(struct np_catalog *c)
{
	if (!c)
		return;
	np_app_index_unref(c->index);
	np_conflict_free(c->conflict);
	np_catalog_uncalibrate(c);
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = (struct np_cat_app *)c->apps.item[i];

		np_catalog_drop_evidence(a);
		np_said_free(&a->said);
	}
	for (size_t i = 0; i < c->owners.n; i++)
		np_said_free(&((struct np_cat_owner *)c->owners.item[i])->said);
	np_cat_map_free(&c->apps);
	np_cat_map_free(&c->owners);
	np_cat_map_free(&c->wants);
	np_said_free(&c->uids_said);
	np_said_free(&c->cal_said);
	np_members_free(&c->members);
	free(c->store_dir);
	free(c->cluster);
	free(c);
}

void np_catalog_set_clock(struct np_catalog *c, const struct np_clock *clock)
{
	c->clock = clock;
}

/* For what is not seen yet, remember it.  Is there news to be read? */
static bool want(struct np_catalog *c, int64_t owner, const char *app,
		 double until)
{
	struct np_cat_want *w = np_cat_map_find(&c->wants, owner, app);
	struct np_cat_app *a = np_cat_map_find(&c->apps, owner, app);
	bool news;

	if (!w && c->wants.n < MAX_WANTS)
		w = np_cat_map_add(&c->wants, owner, app, sizeof(*w));
	if (w)
		w->until = until;
	if (!a)
		return false;
	news = !np_catalog_is_wanted(c, a->wanted_until);
	if (news) {
		c->asked_wanted = c->asked_all;
		if (a->no_room && a->there)
			np_catalog_set_to_read(c, a, true);
	}
	a->wanted_until = until;
	return news && (a->to_read || !c->asked_wanted);
}

bool np_catalog_want(struct np_catalog *c, const char *app, uint32_t uid)
{
	double now = np_catalog_now(c), until = now + WANTED_SEC;
	struct np_cat_owner *o;
	bool news;

	if (np_app_check(app, NULL) || !strcmp(app, NP_IDLE_APP))
		return false;
	o = np_catalog_owner(c, uid);
	news = o && !np_catalog_is_wanted(c, o->wanted_until);
	if (news) {
		o->due = 0;
		c->idle_until[false] = c->idle_until[true] = 0;
	}
	if (o)
		o->wanted_until = until;
	if (np_claim_needs_groups(c->conf.claim, c->conf.n_claims))
		np_members_want(&c->members, uid, now);
	news |= want(c, NP_CAT_PUBLISHED, app, until);
	return want(c, uid, app, until) || news;
}

static void purge_wants(struct np_catalog *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->wants.n; i++) {
		struct np_cat_want *w = (struct np_cat_want *)c->wants.item[i];

		if (np_catalog_is_wanted(c, w->until))
			c->wants.item[n++] = &w->key;
		else
			free(w);
	}
	c->wants.n = n;
}

/*
 * Those whose answers can be had now.  That there is none for what is gone is
 * an answer; what is still to be read has to wait.
 */
static size_t askable(const struct np_catalog *c, bool wanted, uint32_t *list)
{
	size_t n = 0;

	for (uint32_t h = 0; h < c->n_handles; h++) {
		const struct np_cat_app *a = c->by_handle[h];

		if (wanted ? a && a->usable && a->there &&
			     np_catalog_is_wanted(c, a->wanted_until) :
			     !a || a->usable || !a->to_read)
			list[n++] = h;
	}
	return n;
}

static void ask(struct np_catalog *c, bool wanted)
{
	uint32_t list[NP_CONFLICT_MAX_PROFILES];
	size_t n = askable(c, wanted, list);
	size_t missing = np_conflict_ask(c->conflict, list, n, SLICE);

	if (missing)
		return;
	c->asked_wanted = true;
	if (!wanted)
		c->asked_all = true;
}

/* What is to be done next: what jobs wait for, then the rest. */
struct todo {
	enum { NOTHING, LOOK, LOOK_UIDS, READ, ASK } what;
	struct np_cat_owner *owner;
	struct np_cat_app *app;
	bool wanted;
};

static struct todo next(struct np_catalog *c)
{
	struct todo t = { .what = NOTHING };

	for (int rest = 0; rest < 2; rest++) {
		bool asked = rest ? c->asked_all : c->asked_wanted;

		t.wanted = !rest;
		if (rest && np_catalog_now(c) >= c->uids_due)
			t.what = LOOK_UIDS;
		else if ((t.owner = np_catalog_due(c, t.wanted)))
			t.what = LOOK;
		else if (c->ask_next && !asked)
			t.what = ASK; /* who reads for ever asks, too */
		else if ((t.app = np_catalog_next(c, t.wanted)))
			t.what = READ;
		else if (!asked)
			t.what = ASK;
		if (t.what != NOTHING)
			break;
	}
	return t;
}

static int run(struct np_catalog *c, const struct todo *t, struct np_err *err)
{
	if (t->what == READ || t->what == ASK)
		c->ask_next = t->what == READ;
	switch (t->what) {
	case NOTHING:
		break;
	case LOOK:
		return np_catalog_look(c, t->owner, err);
	case LOOK_UIDS:
		return np_catalog_look_uids(c, err);
	case READ:
		return np_catalog_read(c, t->app, err);
	case ASK:
		ask(c, t->wanted);
		break;
	}
	return 0;
}

static int work(struct np_catalog *c, double until, bool *more,
		struct np_err *err)
{
	struct todo t = next(c);
	int rc = 0;

	do {
		rc = run(c, &t, err);
		if (!rc)
			t = next(c);
	} while (!rc && t.what != NOTHING && np_catalog_now(c) < until);
	*more = !rc && t.what != NOTHING;
	return rc;
}

/* Nothing of what was known can be relied on, until it is seen again. */
static void give_up(struct np_catalog *c, const struct np_err *why)
{
	c->why = *why;
	if (c->trouble)
		return;
	c->trouble = true;
	np_catalog_doubt(c);
}

static int refresh(struct np_catalog *c, double until, bool *more,
		   struct np_err *err)
{
	int rc = np_store_open(c->store_dir, &c->store, err);

	if (rc)
		return rc;
	rc = np_catalog_calibrate(c, err);
	if (!rc)
		rc = work(c, until, more, err);
	if (!rc && c->trouble) {
		c->trouble = false;
		np_catalog_reindex(c);
	}
	np_store_close(c->store);
	c->store = NULL;
	return rc;
}

/* Ask for groups of users who have jobs. */
static void look_members(struct np_catalog *c, double until)
{
	const struct np_place_conf *p = &c->conf;

	if (np_members_look(&c->members, p->claim, p->n_claims, np_groups_of,
			    c->clock, until))
		np_catalog_reindex(c);
}

int np_catalog_refresh(struct np_catalog *c, double budget_sec,
		       np_store_warn_f *warn, void *arg, bool *changed,
		       bool *more, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc;

	c->warn = warn;
	c->warn_arg = arg;
	c->n_warned = 0;
	*more = false;
	purge_wants(c);
	look_members(c, np_catalog_now(c) + budget_sec);
	rc = refresh(c, np_catalog_now(c) + budget_sec, more, &why);
	if (rc) {
		give_up(c, &why);
		np_errf(err, rc, "%s", why.text);
	}
	*changed = c->changed;
	c->changed = false;
	return rc;
}

/* ---- what others see ---- */

int np_catalog_table(struct np_catalog *c, struct np_press **out,
		     struct np_err *err)
{
	return np_conflict_table(c->conflict, fmin(NEGLIGIBLE,
						   c->conf.max_slowdown),
				 out, err);
}

/*
 * Do a user's own runs back a published name, or contradict it?  What cannot be
 * compared at the moment is left as it was.
 */
static void judge(struct np_catalog *c, struct np_cat_app *own)
{
	const struct np_cat_app *p = np_cat_map_find(&c->apps, NP_CAT_PUBLISHED,
						     own->key.app);
	enum np_backing backing = NP_BACKING_NOTHING;

	if (p && p->there && p->known) {
		if (!own->usable || !p->usable)
			return;
		backing = np_backing_judge(&own->evidence, &p->evidence,
					   c->cal.fabric, own->refuted,
					   sizeof(own->refuted));
	}
	own->backed = backing == NP_BACKING_AGREES;
	if (backing != NP_BACKING_REFUTED)
		own->refuted[0] = '\0';
}

/* Set backed and refuted of each application. */
static void judge_claims(struct np_catalog *c)
{
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = (struct np_cat_app *)c->apps.item[i];

		if (a->key.owner != NP_CAT_PUBLISHED && a->there && a->known)
			judge(c, a);
	}
}

static int make_index(struct np_catalog *c, struct np_app_index **out)
{
	size_t n_apps = c->trouble ? 0 : c->apps.n, n = 0, n_users = 0;
	struct np_claim_user *user = np_members_known(&c->members, &n_users);
	const struct np_app_claims claims = {
		c->conf.claim, c->conf.n_claims, user, n_users,
	};
	struct np_app_entry *e = calloc(c->n_handles + 1, sizeof(*e));
	int32_t unknown = NP_PROFILE_UNKNOWN;
	int rc = -ENOMEM;

	judge_claims(c);
	for (size_t i = 0; e && i < n_apps; i++) {
		const struct np_cat_app *a =
			(const struct np_cat_app *)c->apps.item[i];
		bool published = a->key.owner == NP_CAT_PUBLISHED;

		if (!a->there || !a->known)
			continue;
		e[n] = (struct np_app_entry){
			.published = published, .profile = a->handle,
			.uid = published ? 0 : (uint32_t)a->key.owner,
		};
		e[n].backed = a->backed;
		strcpy(e[n].refuted, a->refuted);
		strcpy(e[n++].app, a->key.app);
		if (published && !strcmp(a->key.app, c->conf.unknown_as))
			unknown = a->handle;
	}
	if (e && user)
		rc = np_app_index_new(e, n, unknown, &claims, out);
	free(user);
	free(e);
	return rc;
}

int np_catalog_index(struct np_catalog *c, struct np_app_index **out)
{
	int rc = c->index ? 0 : make_index(c, &c->index);

	if (!rc)
		*out = np_app_index_ref(c->index);
	return rc;
}

const char *np_catalog_fabric(const struct np_catalog *c)
{
	return c->trouble ? c->why.text :
	       c->calibrated ? c->fabric.text : "not read yet";
}

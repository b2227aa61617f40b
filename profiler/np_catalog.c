#include "np_catalog_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_SLICE 1000	/* predictions between two looks at the clock */
#define NEGLIGIBLE 0.1	/* of MaxSlowdown, see doc/placement.md */
#define NEGLIGIBLE_MOST 0.01

double np_catalog_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct np_listed *by_handle(const struct np_catalog *c,
					 uint32_t profile)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->listed[i].profile == (int32_t)profile)
			return c->listed[i].usable ? &c->listed[i] : NULL;
	return NULL;
}

/* np_oracle: contacts are scopes, in the same order. */
static int slowdown(void *arg, uint32_t victim, uint32_t co,
		    enum np_contact contact, double *out)
{
	const struct np_catalog *c = arg;
	const struct np_listed *v = by_handle(c, victim);
	const struct np_listed *x = by_handle(c, co);
	const struct np_program *other = x ? &x->subject.program : NULL;
	enum np_scope scope = (enum np_scope)contact;
	struct np_prediction p;
	int rc;

	if (!v || !x || !c->predictor)
		return -ENODATA;
	if (np_coupling_none(&c->cal.fabric->coupling[scope])) {
		*out = 0; /* "no effect here" */
		return 0;
	}
	rc = np_predict(c->predictor, &v->subject.program, &other, 1, scope,
			&p, NULL);
	if (!rc)
		*out = p.slowdown;
	return rc;
}

int np_catalog_new(const char *store_dir, const char *cluster,
		   const struct np_place_conf *conf, struct np_catalog **out,
		   struct np_err *err)
{
	struct np_catalog *c = calloc(1, sizeof(*c));
	const struct np_oracle oracle = { slowdown, c };

	if (!c || np_conflict_new(&oracle, &c->conflict, err)) {
		free(c);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	snprintf(c->store_dir, sizeof(c->store_dir), "%s", store_dir);
	snprintf(c->cluster, sizeof(c->cluster), "%s", cluster);
	c->conf = *conf;
	c->rescan = true;
	*out = c;
	return 0;
}

void np_catalog_free(struct np_catalog *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		np_listed_clear(&c->listed[i]);
	free(c->listed);
	np_predictor_free(c->predictor);
	if (c->calibrated)
		np_calibration_free(&c->cal);
	np_conflict_free(c->conflict);
	np_press_unref(c->table);
	np_app_index_unref(c->index);
	free(c);
}

void np_catalog_want(struct np_catalog *c, const char *app, uint32_t uid)
{
	bool found = false;

	for (size_t i = 0; i < c->n; i++) {
		struct np_listed *l = &c->listed[i];

		if (strcmp(l->app, app) ||
		    (l->owner == NP_STORE_USER && l->uid != uid))
			continue;
		l->wanted = found = true;
	}
	c->rescan |= !found;
}

static bool trusts(const struct np_catalog *c, const struct np_listed *l)
{
	if (l->owner == NP_STORE_PUBLISHED)
		return true;
	for (size_t i = 0; i < c->conf.n_trusted; i++)
		if (c->conf.trusted[i] == l->uid)
			return true;
	return false;
}

/* Everything usable has a handle; beyond the limit they stay unknown. */
static void number(struct np_catalog *c, bool *changed)
{
	for (size_t i = 0; i < c->n; i++) {
		struct np_listed *l = &c->listed[i];
		uint32_t handle;

		if (!l->usable || l->profile >= 0 ||
		    np_conflict_add(c->conflict, l->app, l->owner ==
				    NP_STORE_USER ? l->uid : 0, trusts(c, l),
				    &handle, NULL))
			continue;
		l->profile = (int32_t)handle;
		*changed = true;
	}
}

static bool ask(struct np_catalog *c, double until_sec)
{
	size_t left;

	do
		left = np_conflict_ask(c->conflict, NULL, 0, ASK_SLICE);
	while (left && np_catalog_now() < until_sec);
	return !left;
}

static int make_index(const struct np_catalog *c, struct np_app_index **out)
{
	struct np_app_entry *e = calloc(c->n + 1, sizeof(*e));
	int32_t unknown = NP_PROFILE_UNKNOWN;
	size_t n = 0;
	int rc;

	if (!e)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		const struct np_listed *l = &c->listed[i];

		if (!l->there || !l->usable || l->profile < 0)
			continue;
		e[n] = (struct np_app_entry){
			.published = l->owner == NP_STORE_PUBLISHED,
			.uid = l->owner == NP_STORE_USER ? l->uid : 0,
			.profile = l->profile,
		};
		strcpy(e[n++].app, l->app);
		if (l->owner == NP_STORE_PUBLISHED &&
		    !strcmp(l->app, c->conf.unknown_as))
			unknown = l->profile;
	}
	rc = np_app_index_new(e, n, unknown, out);
	free(e);
	return rc;
}

static double negligible(const struct np_catalog *c)
{
	double n = NEGLIGIBLE * c->conf.max_slowdown;

	return n < NEGLIGIBLE_MOST ? n : NEGLIGIBLE_MOST;
}

/* Table and index of this moment take the place of those before. */
static int hand_out(struct np_catalog *c, struct np_err *err)
{
	struct np_press *table;
	struct np_app_index *index;
	int rc = make_index(c, &index);

	if (rc)
		return np_errf(err, rc, "out of memory");
	rc = np_conflict_table(c->conflict, negligible(c), &table, err);
	if (rc) {
		np_app_index_unref(index);
		return rc;
	}
	np_press_unref(c->table);
	np_app_index_unref(c->index);
	c->table = table;
	c->index = index;
	return 0;
}

static void lose_all(struct np_catalog *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->listed[i].there = false;
	c->rescan = true;
}

/* Returns what keeps placement from knowing anything. */
static int look(struct np_catalog *c, double until_sec, np_store_warn_f *warn,
		void *arg, bool *changed, bool *more, struct np_err *err)
{
	struct np_store *s;
	int rc = np_store_open(c->store_dir, &s, err), cal;

	if (rc) {
		lose_all(c);
		return rc;
	}
	cal = np_catalog_calibrate(c, s, changed, err);
	rc = np_catalog_scan(c, s, np_catalog_now(), cal ? NULL : err);
	if (!rc)
		rc = np_catalog_read(c, s, until_sec, warn, arg, changed, more);
	np_store_close(s);
	return rc ? rc : cal;
}

int np_catalog_refresh(struct np_catalog *c, double budget_sec,
		       np_store_warn_f *warn, void *arg, bool *changed,
		       bool *more, struct np_err *err)
{
	double until_sec = np_catalog_now() + budget_sec;
	size_t n_before = c->index ? np_app_index_n(c->index) : 0;
	int rc, rc2 = 0;

	*changed = *more = false;
	rc = look(c, until_sec, warn, arg, changed, more, err);
	number(c, changed);
	/* Answers that are missing count as harmless: rather the ones of
	   before, as long as there are some. */
	if (!ask(c, until_sec)) {
		*more = true;
		if (c->table && !rc)
			return 0;
	}
	rc2 = hand_out(c, rc ? NULL : err);
	*changed |= !rc2 && np_app_index_n(c->index) != n_before;
	return rc ? rc : rc2;
}

int np_catalog_table(struct np_catalog *c, struct np_press **out,
		     struct np_err *err)
{
	int rc = c->table ? 0 : hand_out(c, err);

	if (!rc)
		*out = np_press_ref(c->table);
	return rc;
}

int np_catalog_index(struct np_catalog *c, struct np_app_index **out)
{
	int rc = c->index ? 0 : hand_out(c, NULL);

	if (!rc)
		*out = np_app_index_ref(c->index);
	return rc;
}

const char *np_catalog_fabric(const struct np_catalog *c)
{
	return c->fabric;
}

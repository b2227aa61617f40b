/*
 * Interference pairs of one application: which others slow it, and which it
 * slows.
 *
 * All applications of the user and all published ones are candidates.  To
 * predict with one of them its runs have to be read and summarised, and there
 * may be hundreds, so two caches in the store keep the results (np_cache.h):
 *
 *	"show"	the run summary of each candidate, valid until its runs
 *		or the calibration change
 *	"pairs"	the final lists, valid until any candidate changes
 *
 * If the second cache is valid, only the applications in the lists are loaded.
 * Otherwise a first pass predicts all pairs without intervals, and a second one
 * predicts the few pairs that are shown with their intervals.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_pairs.h"
#include "np_run_summary.h"
#include "np_text.h"

/* ---- candidates ---- */

/*
 * Order of applications by name, for bsearch(); np_store_list_apps() sorts that
 * way.
 */
static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct np_store_app *)a)->name,
		      ((const struct np_store_app *)b)->name);
}

/* Append the applications of one owner. */
static void add_owner(struct cli_candidates *all, enum np_store_owner owner)
{
	size_t n = 0, n_before = all->n;
	struct np_store_app *found, *grown;

	if (np_store_list_apps(all->s->store, owner, all->uid, &found, &n, NULL))
		return;
	grown = reallocarray(all->app, n_before + n + 1, sizeof(*grown));
	if (grown)
		all->app = grown;
	for (size_t i = 0; grown && i < n; i++)
		/*
		 * "idle" is no application, and own names hide published ones.
		 */
		if (strcmp(found[i].name, NP_IDLE_APP) &&
		    !(n_before && bsearch(&found[i], grown, n_before,
					  sizeof(*grown), by_name)))
			grown[all->n++] = found[i];
	free(found);
}

void cli_pairs_list(struct cli_pairs *t, struct cli_store *s,
		   const struct cli_options *o)
{
	*t = (struct cli_pairs){
		.scope = NP_SCOPE_LEAF, .others = { .s = s, .uid = o->uid },
	};
	if (!o->published)
		add_owner(&t->others, NP_STORE_USER);
	t->others.n_own = t->others.n;
	add_owner(&t->others, NP_STORE_PUBLISHED);
}

/* Free the candidates and close the caches. */
static void release(struct cli_candidates *all)
{
	np_cache_close(all->summaries);
	np_cache_close(all->results);
	free(all->app);
	*all = (struct cli_candidates){ .n = 0 };
}

/*
 * A later calibration invalidates both caches: it has another path and changes
 * the stamp of the directory.
 */
static void open_caches(struct cli_candidates *all, const struct cli_known *k)
{
	const char *path = k->cal.path;
	uint64_t inputs = np_hash(NP_HASH, path, strlen(path));

	if (np_fabric_store_stamp(all->s->store, k->cal.cluster, &all->fabric,
				 NULL))
		return;
	/* A hash of the path is the version of both caches. */
	all->summaries = np_cache_open(all->s->store, "show", inputs);
	all->results = np_cache_open(all->s->store, "pairs", inputs);
}

/* State of all candidates and the calibration, as np_cache_state() has it. */
static uint64_t state_of(const struct cli_candidates *all)
{
	uint64_t state = np_cache_state(all->n_own, &all->fabric, 1);

	for (size_t i = 0; state && i < all->n; i++) {
		const struct np_store_app *a = &all->app[i];

		/* The names, too: an application may be renamed or removed. */
		state = np_hash(state, a->name, strlen(a->name) + 1);
		state = np_cache_state(state, &a->stamp, 1);
	}
	return state;
}

/* ---- run summaries of candidates ---- */

/* Make the summary from the runs.  Returns 0, -ENOENT or -ENOMEM. */
static int make_summary(struct cli_candidates *all, struct cli_known *k,
			struct cli_known_app *a)
{
	const struct np_run_summary_opt opt = { .calibration = &k->cal };
	struct cli_runs r;
	int rc = cli_runs_load_quiet(all->s, a->r.owner, a->r.uid, a->r.runs.app, &r);

	if (rc)
		return rc;
	rc = np_run_summary_make(&r.runs, &opt, &a->summary);
	if (!rc)
		/* The summary must not point into runs that are freed. */
		np_run_summary_detach(&a->summary, a->r.runs.app);
	np_runs_free(&r.runs);
	return rc;
}

/* Store a summary in the cache; without a state it could not be validated. */
static void cache_summary(struct cli_candidates *all, const char *name,
			  uint64_t state, const struct np_run_summary *e)
{
	size_t len;
	char *data;
	FILE *f = state ? open_memstream(&data, &len) : NULL;

	if (!f)
		return;
	np_run_summary_pack(f, e);
	if (fclose(f))
		free(data);
	else
		np_cache_put(all->summaries, name, state, data, len);
}

/*
 * The summary of candidate i, from the cache or else from its runs. Returns 0,
 * -ENOENT or -ENOMEM.
 */
static int find_summary(struct cli_candidates *all, size_t i,
			struct cli_known *k, struct cli_known_app *a)
{
	const struct np_store_stamp stamp[] = {
		all->fabric, all->app[i].stamp,
	};
	uint64_t state = np_cache_state(0, stamp, NP_ARRAY_SIZE(stamp));
	struct np_pack u = { .bad = false };
	char name[NP_APP_MAX + 16];
	int rc = -EINVAL;

	/* Published profiles have the key of no user. */
	snprintf(name, sizeof(name), "%u %s", i < all->n_own ? all->uid :
		 UINT32_MAX, a->r.runs.app);
	u.at = np_cache_find(all->summaries, name, state, &u.left);
	if (u.at)
		rc = np_run_summary_unpack(&u, k->cal.fabric, a->r.runs.app,
					   &a->summary);
	if (!rc)
		return 0; /* checked when it was cached */
	rc = make_summary(all, k, a);
	if (rc)
		return rc;
	cache_summary(all, name, state, &a->summary);
	np_program_check(&a->summary.program, k->cal.fabric, &a->unusable);
	return 0;
}

/*
 * Add candidate i to k.  Returns 0, -ENOENT (no usable run; it is not added) or
 * -ENOMEM.
 */
static int add_candidate(struct cli_candidates *all, size_t i,
			 struct cli_known *k)
{
	struct cli_runs r = {
		.owner = i < all->n_own ? NP_STORE_USER : NP_STORE_PUBLISHED,
		.uid = all->uid,
	};
	struct cli_known_app *a;
	int rc;

	/* Only the name is set; the runs are read if they are needed. */
	strcpy(r.runs.app, all->app[i].name);
	rc = cli_known_add(k, &r, true);
	if (rc)
		return rc;
	a = k->app[k->n - 1];
	rc = find_summary(all, i, k, a);
	if (rc) {
		k->n--;
		free(a);
	}
	return rc;
}

/*
 * ---- the cache of results ----
 *
 * Each pack function both writes (p->f is set) and reads, so that the two
 * directions cannot disagree.  Applications are stored as positions in the list
 * of candidates.
 */

/* With a single co-runner, more_co is 0 and is not stored. */
static void pack_prediction(struct np_pack *to, struct np_prediction *p,
			    size_t n_levels)
{
	p->slowdown = np_pack_real(to, p->slowdown);
	p->low = np_pack_real(to, p->low);
	p->high = np_pack_real(to, p->high);
	p->flags = (unsigned)np_pack_count(to, p->flags, UINT_MAX);
	p->model = np_model_find(np_pack_text(to, p->model ? p->model->name :
					      NULL), NULL);
	p->used = (unsigned)np_pack_count(to, p->used, UINT_MAX);
	p->n_curve = np_pack_count(to, p->n_curve, n_levels);
	p->n_impact = np_pack_count(to, p->n_impact, n_levels);
	p->n_probes = np_pack_count(to, p->n_probes, UINT64_MAX);
	p->n_excluded = np_pack_count(to, p->n_excluded, 2 * n_levels);
	p->sharing = np_pack_real(to, p->sharing);
	p->more = (enum np_more)np_pack_count(to, p->more, NP_MORE_SHARING);
	p->more_level = np_pack_count(to, p->more_level,
				      n_levels ? n_levels - 1 : 0);
	to->bad |= !p->model;
}

/* Position in the list of candidates, from 1; 0: the application shown. */
static size_t position_of(const struct cli_candidates *all,
			  const struct cli_known *k, size_t app)
{
	size_t i = 0;

	while (app && strcmp(all->app[i].name, k->app[app]->r.runs.app))
		i++;
	return app ? i + 1 : 0;
}

/* The reverse.  Adds the application to k; from->bad is set on failure. */
static size_t app_at(struct cli_candidates *all, struct cli_known *k,
		     struct np_pack *from, size_t position)
{
	size_t i;

	if (!position)
		return 0;
	for (i = 1; i < k->n; i++)
		if (!strcmp(k->app[i]->r.runs.app,
			    all->app[position - 1].name))
			return i;
	from->bad |= add_candidate(all, position - 1, k) != 0;
	return from->bad ? 0 : k->n - 1;
}

/* One application, as its position. */
static size_t pack_app(struct np_pack *p, struct cli_pairs *t,
		       struct cli_candidates *all, size_t app)
{
	size_t position = np_pack_count(p, p->f ?
		position_of(all, &t->k, app) : 0, all->n);

	return p->f ? app : app_at(all, &t->k, p, position);
}

/* One list of pairs. */
static void pack_list(struct np_pack *p, struct cli_pairs *t,
		      struct cli_candidates *all, struct cli_pair_list *list)
{
	list->n = np_pack_count(p, list->n, CLI_PAIRS_MAX);
	for (size_t i = 0; i < list->n && !p->bad; i++) {
		struct cli_pair *one = &list->pair[i];

		one->victim = pack_app(p, t, all, one->victim);
		one->co = pack_app(p, t, all, one->co);
		pack_prediction(p, &one->p, t->k.cal.fabric->n_levels);
		one->app = t->k.app[one->victim ? one->victim : one->co]
				   ->r.runs.app;
	}
}

#define NAME_LEN (NP_APP_MAX + 32)

/* Key of the application shown in the cache. */
static void cache_key(const struct cli_pairs *t, char name[NAME_LEN])
{
	const struct cli_runs *r = &t->k.app[0]->r;

	snprintf(name, NAME_LEN, "%u %s=%s", r->owner == NP_STORE_USER ?
		 r->uid : UINT32_MAX, r->runs.app, np_scope_name(t->scope));
}

/*
 * Take the result from the cache if nothing has changed since it was stored;
 * the applications in it are added to t->k.
 */
static bool load_cached(struct cli_pairs *t, struct cli_candidates *all)
{
	struct np_pack p = { .bad = false };
	struct cli_pair_list slowed_by = { .n = 0 }, slows = { .n = 0 };
	char name[NAME_LEN];

	cache_key(t, name);
	p.at = np_cache_find(all->results, name, state_of(all), &p.left);
	if (!p.at)
		return false;
	pack_list(&p, t, all, &slowed_by);
	pack_list(&p, t, all, &slows);
	/* Damaged or of another version: predict anew. */
	if (p.bad || p.left)
		return false;
	t->slowed_by = slowed_by;
	t->slows = slows;
	return true;
}

/* Store both lists for the next call. */
static void store_cached(struct cli_pairs *t, struct cli_candidates *all)
{
	uint64_t state = state_of(all);
	char name[NAME_LEN], *data;
	size_t len;
	struct np_pack p = { .f = state ? open_memstream(&data, &len) : NULL };

	if (!p.f)
		return;
	pack_list(&p, t, all, &t->slowed_by);
	pack_list(&p, t, all, &t->slows);
	cache_key(t, name);
	if (fclose(p.f))
		free(data);
	else
		np_cache_put(all->results, name, state, data, len);
}

/* ---- prediction ---- */

/* Order of a list: largest slowdown first, uncertain ones last. */
static bool is_before(const struct cli_pair *a, const struct cli_pair *b)
{
	bool doubt[] = { cli_doubt_text(&a->p), cli_doubt_text(&b->p) };

	return doubt[0] == doubt[1] ? a->p.slowdown > b->p.slowdown : doubt[1];
}

void cli_pair_insert(struct cli_pair_list *list, const struct cli_pair *t)
{
	struct cli_pair *pair = list->pair;
	size_t at = list->n;

	/* Insertion sort into a list that keeps CLI_PAIRS_MAX elements. */
	while (at && is_before(t, &pair[at - 1]))
		at--;
	if (at == CLI_PAIRS_MAX)
		return;
	list->n += list->n < CLI_PAIRS_MAX;
	memmove(pair + at + 1, pair + at, (list->n - 1 - at) * sizeof(*pair));
	pair[at] = *t;
}

/* Can the models predict with this application? */
static bool is_usable(const struct cli_known_app *a)
{
	return !a->unusable.text[0] && a->summary.n_used;
}

/*
 * The pair of victim and co-runner; one of the two is the application shown,
 * 0.
 */
static struct cli_pair make_pair(const struct cli_pairs *t, size_t victim,
				 size_t co, const struct np_prediction *p)
{
	return (struct cli_pair){
		.app = t->k.app[victim ? victim : co]->r.runs.app,
		.victim = victim, .co = co, .p = *p,
	};
}

/* Arguments and results of np_predict_around(). */
struct around {
	size_t n, *at; /* indices into the known applications */
	const struct np_program **app;
	struct np_prediction *p;
	int *rc;
};

/* Collect the usable applications; false: out of memory, or app[0] is not. */
static bool collect(const struct cli_known *k, struct around *a)
{
	a->at = calloc(k->n, sizeof(*a->at));
	a->app = calloc(k->n, sizeof(*a->app));
	a->p = calloc(2 * k->n, sizeof(*a->p));
	a->rc = calloc(2 * k->n, sizeof(*a->rc));
	if (!a->at || !a->app || !a->p || !a->rc || !is_usable(k->app[0]))
		return false;
	for (size_t i = 0; i < k->n; i++)
		if (is_usable(k->app[i])) {
			a->at[a->n] = i;
			a->app[a->n++] = &k->app[i]->summary.program;
		}
	return true;
}

/* Insert all predictions into the two lists, which keep only the worst. */
static void keep_worst(struct cli_pairs *t, const struct around *a)
{
	for (size_t i = 0; i < a->n; i++) {
		struct cli_pair from = make_pair(t, 0, a->at[i], &a->p[i]);
		struct cli_pair to =
			make_pair(t, a->at[i], 0, &a->p[a->n - 1 + i]);

		/*
		 * The first n predictions are of the application, the rest of
		 * others.
		 */
		if (!a->rc[i])
			cli_pair_insert(&t->slowed_by, &from);
		if (i && !a->rc[a->n - 1 + i])
			cli_pair_insert(&t->slows, &to);
	}
}

/* First pass, over all pairs: without intervals, as most are discarded. */
static void predict_all(struct cli_pairs *t, struct np_predictor *models)
{
	struct around a = { .n = 0 };

	if (collect(&t->k, &a) && !np_predict_around(models, a.app, a.n,
						     t->scope, a.p, a.rc,
						     NULL))
		keep_worst(t, &a);
	free(a.at);
	free(a.app);
	free(a.p);
	free(a.rc);
}

/* Predict one pair as netprof predict would. */
static void predict_one(const struct cli_pairs *t, struct np_predictor *models,
			struct cli_pair *pair)
{
	struct cli_prediction a = { .victim = pair->victim,
				    .n_co = 1,
				    .co = { pair->co },
				    .scope = t->scope };

	cli_predict(models, &t->k, &a);
	pair->p = a.p;
}

/* Second pass, over the pairs that were kept: with their intervals. */
static void predict_interval(struct cli_pairs *t, struct np_predictor *models)
{
	for (size_t i = 0; i < t->slowed_by.n; i++)
		predict_one(t, models, &t->slowed_by.pair[i]);
	for (size_t i = 0; i < t->slows.n; i++)
		predict_one(t, models, &t->slows.pair[i]);
}

/* Make a predictor, with or without intervals, and let one pass use it. */
static void run_models(struct cli_pairs *t, bool intervals,
		       void (*how)(struct cli_pairs *, struct np_predictor *))
{
	struct np_predictor *models;

	/* NULL: the default model. */
	if (cli_known_predictor(&t->k, NULL, intervals, &models, NULL))
		return;
	how(t, models);
	np_predictor_free(models);
}

/* Is the application one of the first n known ones? */
static bool is_among(const struct cli_known *k, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(k->app[i]->r.runs.app, app))
			return true;
	return false;
}

/* Add every candidate that is not in t->k yet. */
static int add_all(struct cli_pairs *t, struct cli_candidates *all)
{
	size_t n = t->k.n;
	int rc = 0;

	for (size_t i = 0; rc != -ENOMEM && i < all->n; i++)
		if (!is_among(&t->k, n, all->app[i].name))
			rc = add_candidate(all, i, &t->k);
	return rc == -ENOMEM ? rc : 0;
}

/* Take the lists from the cache, or predict them and store them there. */
static void find(struct cli_pairs *t, struct cli_candidates *all)
{
	open_caches(all, &t->k);
	t->predicted = load_cached(t, all);
	if (t->predicted || add_all(t, all))
		return;
	/* From here on the lists are valid, even if they stay empty. */
	t->predicted = true;
	run_models(t, false, predict_all);
	run_models(t, true, predict_interval);
	store_cached(t, all);
}

/* The application shown is added first, as k.app[0]. */
void cli_pairs_find(struct cli_pairs *t, const struct cli_profile *p)
{
	if (!p->profile.is_idle && !cli_known_add(&t->k, &p->r, false) &&
	    !cli_known_load_calibration(&t->k, t->others.s, 1, false))
		find(t, &t->others);
	release(&t->others);
}

void cli_pairs_free(struct cli_pairs *t)
{
	release(&t->others);
	cli_known_free(&t->k);
}

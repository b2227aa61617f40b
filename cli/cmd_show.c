/*
 * netprof show APP: one application's profile on one screen.
 *
 *	fft uses the network heavily, ...	verdict (cli_profile.h)
 *	Under synthetic load it ran ...
 *
 *	Runs       2 of 18 used ...		labelled facts
 *	Slowed by  NPmpi +79 % ...		the worst pairs
 *	Advice     ...				recommendation (cli_recommend.h)
 *
 *	Latency               probes ...	latencies, and those of idle
 *	Share of probes ...			histogram
 *	Under load (runs)  c0 (2) ...		slowdowns
 *
 * The output has at most CLI_LINES lines.  It is made in memory, its lines are
 * counted, and it is made again with shorter lists and then a shorter
 * recommendation if it is too long.  The histogram takes the lines that are
 * left.  --json and --parsable have all facts, however many.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_recommend.h"
#include "cli_json_put.h"
#include "cli_loggps.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_text.h"
#include "cli_analysis.h"
#include "np_cache.h"
#include "np_elf.h"
#include "np_level.h"
#include "np_text.h"

/* How much added latency the application tolerates, from its newest trace. */
struct tolerance {
	bool traced;	   /* a trace exists */
	struct np_err why; /* why the trace gives no tolerance, or "" */
	struct np_trace_threshold threshold[NP_TRACE_THRESHOLDS];
};

/*
 * The worst interference pairs of one application, and what was read to find
 * them.
 */
struct pairs {
	struct cli_store *store; /* borrowed */
	uid_t uid;
	/* The user's applications, then the published ones. */
	struct np_store_app *candidate;
	size_t n_own, n_candidates; /* the user's; all */
	/* Caches, and the state of the calibration that they depend on. */
	struct np_store_stamp fabric;
	struct np_cache *summaries, *results;
	struct cli_known known; /* app[0] is the application shown */
	enum np_scope scope;
	bool predicted; /* the lists are valid, if perhaps empty */
	struct cli_pair_list slowed_by, slows;
};

/* All that is shown of one application. */
struct show {
	struct cli_profile p;
	struct pairs pairs;
	struct cli_recommendation recommendation;
	struct tolerance tolerance;
};

/* ---- latency tolerance ---- */

/* Largest trace read for this output, bytes; takes some tenths of a second. */
#define MAX_TRACE_BYTES (16u << 20)

/* The defaults of netprof tolerance, for a network that was not measured. */
#define DEFAULT_NET { .L_ns = 3000, .G_ns = 0.1, .S = NP_LOGGPS_NO_RENDEZVOUS }

/* Without a trace this costs one look into a directory. */
static void find_tolerance(struct cli_store *s, const struct cli_profile *p,
			   struct tolerance *out)
{
	struct np_loggps net = DEFAULT_NET;
	char path[PATH_MAX + 2 * NAME_MAX];
	struct np_trace_analysis t;

	*out = (struct tolerance){ .traced = false };
	/* Traces are never published, so only an own profile has one. */
	if (p->r.owner != NP_STORE_USER ||
	    np_store_trace(s->store, p->r.uid, p->r.runs.app, path,
			   sizeof(path), NULL))
		return;
	out->traced = true;
	/* Without measured parameters, the defaults stay. */
	cli_loggps_of(s->store, NULL, &net);
	if (cli_traced_get(path, p->r.uid, CLI_TRACED_THRESHOLDS, &net,
			   MAX_TRACE_BYTES, &t, &out->why))
		return;
	memcpy(out->threshold, t.threshold, sizeof(out->threshold));
	np_trace_analysis_free(&t);
}

/* One line; "" without a trace. */
static void tolerance_text(const struct tolerance *z, char *buf, size_t len)
{
	buf[0] = '\0';
	if (!z->traced)
		return;
	if (z->why.text[0]) {
		snprintf(buf, len, "not known; its trace: %s", z->why.text);
		return;
	}
	for (size_t i = 0; i < NP_TRACE_THRESHOLDS; i++) {
		double sec = z->threshold[i].added_sec;
		char added[CLI_NUMBER];

		/* An infinite threshold: no latency slows it that much. */
		if (isfinite(sec))
			cli_add(buf, len, "%s%.0f %%%s +%s%s",
				*buf ? ", " : "",
				100 * z->threshold[i].longer,
				*buf ? " with" : " longer with",
				cli_sec(sec, added),
				*buf ? "" : " latency");
	}
	if (!*buf)
		snprintf(buf, len, "tolerates any added latency");
}

/*
 * ---- interference pairs ----
 *
 * Which other applications slow this one, and which it slows, as the default
 * model predicts.  All applications of the user and all published ones are
 * candidates.  To predict with one of them, its runs have to be read and
 * summarised, and there may be hundreds, so two caches in the store keep the
 * results (np_cache.h):
 *
 *	"show"	the run summary of each candidate, valid until its runs
 *		or the calibration change
 *	"pairs"	the final lists, valid until any candidate changes
 *
 * If the second cache is valid, only the applications in the lists are loaded.
 * Otherwise a first pass predicts all pairs without intervals, and a second one
 * predicts the few pairs that are shown with their intervals.
 */

/* Compare names, for bsearch(); np_store_list_apps() sorts by them. */
static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct np_store_app *)a)->name,
		      ((const struct np_store_app *)b)->name);
}

/*
 * Append the applications of one owner to the candidates.  "idle" is no
 * application, and the user's own profiles hide published ones.
 */
static void add_owner(struct pairs *pairs, enum np_store_owner owner)
{
	size_t n = 0, n_before = pairs->n_candidates;
	struct np_store_app *found, *grown;

	if (np_store_list_apps(pairs->store->store, owner, pairs->uid, &found,
			       &n, NULL))
		return;
	grown = reallocarray(pairs->candidate, n_before + n + 1,
			     sizeof(*grown));
	if (grown)
		pairs->candidate = grown;
	for (size_t i = 0; grown && i < n; i++)
		if (strcmp(found[i].name, NP_IDLE_APP) &&
		    !(n_before && bsearch(&found[i], grown, n_before,
					  sizeof(*grown), by_name)))
			grown[pairs->n_candidates++] = found[i];
	free(found);
}

/*
 * List the candidates: the user's applications, then the published ones.  This
 * must precede the reading of any run, so that the state of the cache is not
 * newer than the runs.  Unreadable directories are treated as empty.
 */
static void list_candidates(struct pairs *pairs, struct cli_store *store,
			    const struct cli_options *o)
{
	*pairs = (struct pairs){
		.scope = NP_SCOPE_LEAF, .store = store, .uid = o->uid,
	};
	if (!o->published)
		add_owner(pairs, NP_STORE_USER);
	pairs->n_own = pairs->n_candidates;
	add_owner(pairs, NP_STORE_PUBLISHED);
}

/*
 * Open both caches.  A hash of the calibration's path is their version, so that
 * a later calibration, which has another path, invalidates them.
 */
static void open_caches(struct pairs *pairs)
{
	const struct np_calibration *cal = &pairs->known.cal;
	uint64_t version = np_hash(NP_HASH, cal->path, strlen(cal->path));
	struct np_store *store = pairs->store->store;

	if (np_fabric_store_stamp(store, cal->cluster, &pairs->fabric, NULL))
		return;
	pairs->summaries = np_cache_open(store, "show", version);
	pairs->results = np_cache_open(store, "pairs", version);
}

/* Close the caches, and free the list of candidates. */
static void close_caches(struct pairs *pairs)
{
	np_cache_close(pairs->summaries);
	np_cache_close(pairs->results);
	free(pairs->candidate);
	pairs->summaries = pairs->results = NULL;
	pairs->candidate = NULL;
	pairs->n_candidates = 0;
}

static void free_pairs(struct pairs *pairs)
{
	close_caches(pairs);
	cli_known_free(&pairs->known);
}

/* ---- run summaries of candidates ---- */

/* Make the summary from the runs.  Returns 0, -ENOENT or -ENOMEM. */
static int make_summary(struct pairs *pairs, struct cli_known_app *app)
{
	const struct np_run_summary_opt opt = {
		.calibration = &pairs->known.cal,
	};
	struct cli_runs r;
	int rc = cli_runs_load_quiet(pairs->store, app->r.owner, app->r.uid,
				     app->r.runs.app, &r);

	if (rc)
		return rc;
	rc = np_run_summary_make(&r.runs, &opt, &app->summary);
	/* The summary must not point into the runs, which are freed. */
	if (!rc)
		np_run_summary_detach(&app->summary, app->r.runs.app);
	np_runs_free(&r.runs);
	return rc;
}

/*
 * Store a summary in the cache.  state 0: unknown, so the entry could not be
 * validated later and is not stored.
 */
static void cache_summary(struct pairs *pairs, const char *key, uint64_t state,
			  const struct np_run_summary *summary)
{
	size_t len;
	char *data;
	FILE *f = state ? open_memstream(&data, &len) : NULL;

	if (!f)
		return;
	np_run_summary_pack(f, summary);
	if (fclose(f))
		free(data);
	else
		np_cache_put(pairs->summaries, key, state, data, len);
}

/*
 * Get the summary of candidate i from the cache, or else make it.  A summary in
 * the cache was checked before it was stored.  Returns 0, -ENOENT or -ENOMEM.
 */
static int find_summary(struct pairs *pairs, size_t i,
			struct cli_known_app *app)
{
	const struct np_store_stamp stamp[] = {
		pairs->fabric, pairs->candidate[i].stamp,
	};
	const struct np_fabric *fabric = pairs->known.cal.fabric;
	uint64_t state = np_cache_state(0, stamp, NP_ARRAY_SIZE(stamp));
	struct np_pack from = { .bad = false };
	char key[NP_APP_MAX + 16];
	int rc = -EINVAL;

	/* Published profiles have the key of no user. */
	snprintf(key, sizeof(key), "%u %s",
		 i < pairs->n_own ? pairs->uid : UINT32_MAX, app->r.runs.app);
	from.at = np_cache_find(pairs->summaries, key, state, &from.left);
	if (from.at)
		rc = np_run_summary_unpack(&from, fabric, app->r.runs.app,
					   &app->summary);
	if (!rc)
		return 0;
	rc = make_summary(pairs, app);
	if (rc)
		return rc;
	cache_summary(pairs, key, state, &app->summary);
	np_program_check(&app->summary.program, fabric, &app->unusable);
	return 0;
}

/*
 * Add candidate i to the known applications, with its name and its summary but
 * without its runs.  Returns 0, -ENOENT (no usable run; it is not added) or
 * -ENOMEM.
 */
static int add_candidate(struct pairs *pairs, size_t i)
{
	struct cli_known *known = &pairs->known;
	struct cli_runs r = {
		.owner = i < pairs->n_own ? NP_STORE_USER : NP_STORE_PUBLISHED,
		.uid = pairs->uid,
	};
	struct cli_known_app *app;
	int rc;

	strcpy(r.runs.app, pairs->candidate[i].name);
	rc = cli_known_add(known, &r, true);
	if (rc)
		return rc;
	app = known->app[known->n - 1];
	rc = find_summary(pairs, i, app);
	if (rc) {
		known->n--;
		free(app);
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

/*
 * The position of a known application in the list of candidates, from 1; 0: the
 * application shown.
 */
static size_t position_of(const struct pairs *pairs, size_t app)
{
	size_t i = 0;

	while (app && strcmp(pairs->candidate[i].name,
			     pairs->known.app[app]->r.runs.app))
		i++;
	return app ? i + 1 : 0;
}

/*
 * The known application at a position; it is added if it is not known yet.
 * from->bad is set on failure.
 */
static size_t app_at(struct pairs *pairs, struct np_pack *from, size_t position)
{
	struct cli_known *known = &pairs->known;

	if (!position)
		return 0;
	for (size_t i = 1; i < known->n; i++)
		if (!strcmp(known->app[i]->r.runs.app,
			    pairs->candidate[position - 1].name))
			return i;
	from->bad |= add_candidate(pairs, position - 1) != 0;
	return from->bad ? 0 : known->n - 1;
}

/* One application, as its position. */
static size_t pack_app(struct np_pack *p, struct pairs *pairs, size_t app)
{
	size_t position = np_pack_count(p, p->f ? position_of(pairs, app) : 0,
					pairs->n_candidates);

	return p->f ? app : app_at(pairs, p, position);
}

/* One list of pairs. */
static void pack_list(struct np_pack *p, struct pairs *pairs,
		      struct cli_pair_list *list)
{
	struct cli_known *known = &pairs->known;

	list->n = np_pack_count(p, list->n, CLI_PAIRS_MAX);
	for (size_t i = 0; i < list->n && !p->bad; i++) {
		struct cli_pair *pair = &list->pair[i];

		pair->victim = pack_app(p, pairs, pair->victim);
		pair->co = pack_app(p, pairs, pair->co);
		pack_prediction(p, &pair->p, known->cal.fabric->n_levels);
		pair->app = known->app[pair->victim ? pair->victim : pair->co]
				    ->r.runs.app;
	}
}

#define KEY_LEN (NP_APP_MAX + 32)

/* Key of the application shown in the cache. */
static void results_key(const struct pairs *pairs, char key[KEY_LEN])
{
	const struct cli_runs *r = &pairs->known.app[0]->r;

	snprintf(key, KEY_LEN, "%u %s=%s",
		 r->owner == NP_STORE_USER ? r->uid : UINT32_MAX, r->runs.app,
		 np_scope_name(pairs->scope));
}

/*
 * State of all candidates and of the calibration, as np_cache_state() has it.
 * The names count, too, as an application may be renamed or removed.
 */
static uint64_t results_state(const struct pairs *pairs)
{
	uint64_t state = np_cache_state(pairs->n_own, &pairs->fabric, 1);

	for (size_t i = 0; state && i < pairs->n_candidates; i++) {
		const struct np_store_app *app = &pairs->candidate[i];

		state = np_hash(state, app->name, strlen(app->name) + 1);
		state = np_cache_state(state, &app->stamp, 1);
	}
	return state;
}

/*
 * Take the lists from the cache if nothing has changed since they were stored;
 * the applications in them become known.  If the entry is damaged or of another
 * version, the lists stay empty.
 */
static bool load_results(struct pairs *pairs)
{
	struct np_pack from = { .bad = false };
	struct cli_pair_list slowed_by = { .n = 0 }, slows = { .n = 0 };
	char key[KEY_LEN];

	results_key(pairs, key);
	from.at = np_cache_find(pairs->results, key, results_state(pairs),
				&from.left);
	if (!from.at)
		return false;
	pack_list(&from, pairs, &slowed_by);
	pack_list(&from, pairs, &slows);
	if (from.bad || from.left)
		return false;
	pairs->slowed_by = slowed_by;
	pairs->slows = slows;
	return true;
}

/* Store both lists for the next call. */
static void store_results(struct pairs *pairs)
{
	uint64_t state = results_state(pairs);
	char key[KEY_LEN], *data;
	size_t len;
	struct np_pack to = { .f = state ? open_memstream(&data, &len) : NULL };

	if (!to.f)
		return;
	pack_list(&to, pairs, &pairs->slowed_by);
	pack_list(&to, pairs, &pairs->slows);
	results_key(pairs, key);
	if (fclose(to.f))
		free(data);
	else
		np_cache_put(pairs->results, key, state, data, len);
}

/* ---- prediction ---- */

/* Can the models predict with this application? */
static bool is_usable(const struct cli_known_app *app)
{
	return !app->unusable.text[0] && app->summary.n_used;
}

/*
 * Make the pair of a victim and a co-runner, one of which is the application
 * shown, with index 0.
 */
static struct cli_pair make_pair(const struct pairs *pairs, size_t victim,
				 size_t co, const struct np_prediction *p)
{
	return (struct cli_pair){
		.app = pairs->known.app[victim ? victim : co]->r.runs.app,
		.victim = victim, .co = co, .p = *p,
	};
}

/*
 * Arguments and results of np_predict_around().  The first n predictions have
 * the application shown as the victim, the next n - 1 have it as the co-runner.
 */
struct around {
	size_t n, *at; /* indices into the known applications */
	const struct np_program **program;
	struct np_prediction *p;
	int *rc;
};

/*
 * Collect the usable applications.  Returns false without memory, or if the
 * application shown is not usable.
 */
static bool collect_usable(const struct cli_known *known, struct around *all)
{
	all->at = calloc(known->n, sizeof(*all->at));
	all->program = calloc(known->n, sizeof(*all->program));
	all->p = calloc(2 * known->n, sizeof(*all->p));
	all->rc = calloc(2 * known->n, sizeof(*all->rc));
	if (!all->at || !all->program || !all->p || !all->rc ||
	    !is_usable(known->app[0]))
		return false;
	for (size_t i = 0; i < known->n; i++)
		if (is_usable(known->app[i])) {
			all->at[all->n] = i;
			all->program[all->n++] =
				&known->app[i]->summary.program;
		}
	return true;
}

/* Insert all predictions into the two lists, which keep only the worst. */
static void keep_worst(struct pairs *pairs, const struct around *all)
{
	for (size_t i = 0; i < all->n; i++) {
		size_t as_co = all->n - 1 + i;
		struct cli_pair slowed_by =
			make_pair(pairs, 0, all->at[i], &all->p[i]);
		struct cli_pair slows =
			make_pair(pairs, all->at[i], 0, &all->p[as_co]);

		if (!all->rc[i])
			cli_pair_insert(&pairs->slowed_by, &slowed_by);
		if (i && !all->rc[as_co])
			cli_pair_insert(&pairs->slows, &slows);
	}
}

/* First pass, over all pairs: without intervals, as most are discarded. */
static void predict_all(struct pairs *pairs, struct np_predictor *models)
{
	struct around all = { .n = 0 };

	if (collect_usable(&pairs->known, &all) &&
	    !np_predict_around(models, all.program, all.n, pairs->scope, all.p,
			       all.rc, NULL))
		keep_worst(pairs, &all);
	free(all.at);
	free(all.program);
	free(all.p);
	free(all.rc);
}

/* Predict one pair as netprof predict would. */
static void predict_one(const struct pairs *pairs, struct np_predictor *models,
			struct cli_pair *pair)
{
	struct cli_prediction prediction = {
		.victim = pair->victim, .n_co = 1, .co = { pair->co },
		.scope = pairs->scope,
	};

	cli_predict(models, &pairs->known, &prediction);
	pair->p = prediction.p;
}

/* Second pass, over the pairs that were kept: with their intervals. */
static void predict_kept(struct pairs *pairs, struct np_predictor *models)
{
	for (size_t i = 0; i < pairs->slowed_by.n; i++)
		predict_one(pairs, models, &pairs->slowed_by.pair[i]);
	for (size_t i = 0; i < pairs->slows.n; i++)
		predict_one(pairs, models, &pairs->slows.pair[i]);
}

/* Make a predictor for the default model, and let one pass use it. */
static void run_pass(struct pairs *pairs, bool intervals,
		     void (*pass)(struct pairs *, struct np_predictor *))
{
	struct np_predictor *models;

	if (cli_known_predictor(&pairs->known, NULL, intervals, &models, NULL))
		return;
	pass(pairs, models);
	np_predictor_free(models);
}

/* Is the application one of the first n known ones? */
static bool is_among(const struct cli_known *known, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(known->app[i]->r.runs.app, app))
			return true;
	return false;
}

/* Add every candidate that is not known yet.  Returns 0 or -ENOMEM. */
static int add_candidates(struct pairs *pairs)
{
	size_t n = pairs->known.n;
	int rc = 0;

	for (size_t i = 0; rc != -ENOMEM && i < pairs->n_candidates; i++)
		if (!is_among(&pairs->known, n, pairs->candidate[i].name))
			rc = add_candidate(pairs, i);
	return rc == -ENOMEM ? rc : 0;
}

/*
 * Take the lists from the cache, or predict them and store them there.  From
 * the first pass on the lists are valid, even if they stay empty.
 */
static void make_lists(struct pairs *pairs)
{
	open_caches(pairs);
	pairs->predicted = load_results(pairs);
	if (pairs->predicted || add_candidates(pairs))
		return;
	pairs->predicted = true;
	run_pass(pairs, false, predict_all);
	run_pass(pairs, true, predict_kept);
	store_results(pairs);
}

/*
 * Find the pairs of a profile, which becomes the first known application and is
 * borrowed for the life of *pairs.  Without a calibration or memory
 * pairs->predicted stays false.
 */
static void find_pairs(struct pairs *pairs, const struct cli_profile *p)
{
	struct cli_known *known = &pairs->known;

	if (!p->profile.is_idle && !cli_known_add(known, &p->r, false) &&
	    !cli_known_load_calibration(known, pairs->store, 1, false))
		make_lists(pairs);
	close_caches(pairs);
}

/* ---- histogram ---- */

#define BAR 22 /* columns of the longest bar */

static uint64_t count_in(const struct np_hist *h, size_t from, size_t to)
{
	uint64_t n = 0;

	for (size_t i = from; h && i < to; i++)
		n += np_hist_count(h, i);
	return n;
}

/* From the lowest 1st to the highest 99th percentile of both samples. */
static void range_of(const struct np_profile *p, size_t *from, size_t *to)
{
	double lo = np_hist_quantile(p->summary.latency.hist, 0.01);
	double hi = np_hist_quantile(p->summary.latency.hist, 0.99);

	if (p->idle.hist) {
		/* Both columns have the same rows, so the range covers both. */
		lo = fmin(lo, np_hist_quantile(p->idle.hist, 0.01));
		hi = fmax(hi, np_hist_quantile(p->idle.hist, 0.99));
	}
	*from = np_hist_bin_of(lo);
	*to = np_hist_bin_of(hi) + 1;
}

/* Share of the samples as a number and a bar; empty if there are none. */
static void hist_cell(FILE *f, const struct np_sample *s, size_t from,
		      size_t to)
{
	double share = (double)count_in(s->hist, from, to) /
		       (double)np_hist_total(s->hist);
	char cell[CLI_NUMBER] = "";

	/* A small share must not be printed as 0 %. */
	if (share > 0 && share < 0.005)
		strcpy(cell, "<1 %");
	else if (share > 0)
		snprintf(cell, sizeof(cell), "%.0f %%", 100 * share);
	cli_right(f, cell, 7);
	fputc(' ', f);
	cli_bar(f, share, BAR);
}

/* One line: the share of latencies in bins from <= i < to. */
static void hist_row(FILE *f, const struct np_profile *p, size_t from,
		     size_t to, bool first, bool last)
{
	char *line = NULL, lo[CLI_NUMBER], label[CLI_NUMBER + 8];
	size_t len;
	FILE *row = open_memstream(&line, &len);

	if (!row)
		return;
	snprintf(label, sizeof(label), "%s%s", first ? "below " : "from ",
		 cli_sec(np_hist_edge(first ? to : from), lo));
	cli_left(row, label, 16);
	hist_cell(row, &p->summary.latency, first ? 0 : from,
		  last ? NP_HIST_BINS : to);
	if (p->idle.n_runs)
		hist_cell(row, &p->idle, first ? 0 : from,
			  last ? NP_HIST_BINS : to);
	fclose(row);
	while (len && line[len - 1] == ' ') /* padding of the last bar */
		line[--len] = '\0';
	fprintf(f, "%s\n", line);
	free(line);
}

/* At most `rows` lines, compared with the idle network; none if rows < 3. */
static void print_histogram(FILE *f, const struct np_profile *p, int rows)
{
	char name[40];
	size_t from, to, width, shown;

	if (rows < 3 || !p->summary.latency.hist)
		return;
	range_of(p, &from, &to);
	/* Several bins of the histogram make one row. */
	width = (to - from + (size_t)rows - 1) / (size_t)rows;
	shown = (to - from + width - 1) / width;
	fprintf(f, "\n%s%-16s%8s", cli_colour(CLI_BOLD), "Share of probes", "");
	cli_cut(p->runs->app, 20, name, sizeof(name));
	if (p->idle.n_runs)
		fprintf(f, "%-30s%s", name, "idle");
	else
		fputs(name, f);
	fprintf(f, "%s\n", cli_colour(CLI_PLAIN));
	for (size_t i = 0; i < shown; i++)
		hist_row(f, p, from + i * width, from + (i + 1) * width,
			 i == 0 && shown > 1, i + 1 == shown);
}

/* ---- interference pairs in text ---- */

#define NAME 20 /* columns of an application's name */

/* "fft +49 % (46 to 55)" or "a second fft job +51 % (47 to 54)" */
static void pair_text(const struct pairs *pairs, const struct cli_pair *pair,
		      char *buf, size_t len)
{
	bool itself = pair->app == pairs->known.app[0]->r.runs.app;
	char name[4 * NAME], change[CLI_NUMBER];

	snprintf(buf, len, "%s%s%s %s%s", itself ? "a second " : "",
		 cli_cut(pair->app, NAME, name, sizeof(name)),
		 itself ? " job" : "", cli_change(pair->p.slowdown, change),
		 cli_doubt_text(&pair->p) ? "?" : "");
	if (!isnan(pair->p.low))
		cli_add(buf, len, " (%.0f to %.0f)",
			round(100 * pair->p.low) + 0.0,
			round(100 * pair->p.high) + 0.0);
}

/* The label, and the pairs of one list. */
static void print_list(FILE *f, const struct pairs *pairs, const char *label,
		       const struct cli_pair_list *list, bool brief)
{
	size_t width = (size_t)(cli_page_columns() - CLI_LABEL);
	char line[512] = "", one[160];

	for (size_t i = 0; i < list->n; i++) {
		pair_text(pairs, &list->pair[i], one, sizeof(one));
		/* The first pair is always shown, even if it is long. */
		if (brief && i && strlen(line) + 2 + strlen(one) > width)
			break;
		cli_add(line, sizeof(line), "%s%s", i ? ", " : "", one);
	}
	cli_labelled(f, label, "%s", line);
}

/* Is any prediction of the list uncertain? */
static bool has_doubt(const struct cli_pair_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (cli_doubt_text(&list->pair[i].p))
			return true;
	return false;
}

/* brief: one line per list, with as many names as fit. */
static void print_pairs(FILE *f, const struct show *s, bool brief)
{
	const struct pairs *pairs = &s->pairs;
	char line[512];

	if (!pairs->predicted) {
		/* Without slowdowns, the verdict names the missing run. */
		if (s->p.profile.summary.n_levels)
			cli_labelled(f, "Slowed by", "not known: this fabric "
				     "is not calibrated");
		return;
	}
	if (cli_no_effect(&pairs->known, pairs->scope)) {
		cli_labelled(f, "No effect", "%s",
			     cli_no_effect_text(&pairs->known, pairs->scope,
						line, sizeof(line)));
		return;
	}
	print_list(f, pairs, "Slowed by", &pairs->slowed_by, brief);
	print_list(f, pairs, "Slows", &pairs->slows, brief);
	if (has_doubt(&pairs->slowed_by) || has_doubt(&pairs->slows))
		cli_labelled(f, "", "(? uncertain: netprof predict says why)");
}

/* Two sentences; brief: only the first. */
static void print_recommendation(FILE *f, const struct cli_recommendation *a,
				 bool brief)
{
	char avoid[512], measure[600];

	cli_avoid_text(a, avoid, sizeof(avoid));
	cli_measure_text(a, measure, sizeof(measure));
	/* Without the first sentence, the second one is all there is. */
	if (brief && *avoid)
		measure[0] = '\0';
	cli_labelled(f, "Advice", "%s%s%s", avoid, *avoid && *measure ? " " :
		     "", measure);
}

/* ---- labelled facts ---- */

/* The colour of the verdict: green if light, red if heavy. */
static enum cli_colour colour_of(const struct np_profile *p)
{
	switch (p->verdict.use) {
	case NP_USE_LIGHT: return CLI_GREEN;
	case NP_USE_MODERATE: return CLI_YELLOW;
	case NP_USE_HEAVY: case NP_USE_SATURATED: return CLI_RED;
	default: return CLI_BOLD;
	}
}

/* The sentences of the verdict, the first one coloured. */
static void print_verdict(FILE *f, const struct np_profile *p)
{
	char sentence[CLI_SENTENCE];

	for (int i = 0; i < CLI_SENTENCES; i++) {
		if (!*cli_verdict_text(p, i, sentence))
			continue;
		fputs(i ? "" : cli_colour(colour_of(p)), f);
		cli_wrap(f, sentence, 0);
		fputs(i ? "" : cli_colour(CLI_PLAIN), f);
	}
	fputc('\n', f);
}

/* How many runs count, when they ran, and whose they are. */
static void print_runs(FILE *f, const struct cli_profile *p)
{
	const struct np_profile *pr = &p->profile;
	char first[CLI_NUMBER], last[CLI_NUMBER], owner[CLI_NUMBER + 16];
	char line[512] = "";

	if (pr->summary.count[NP_RUN_UNDER_LEVEL])
		cli_add(line, sizeof(line), " (%zu under load)",
			pr->summary.count[NP_RUN_UNDER_LEVEL]);
	if (pr->summary.count[NP_RUN_INTERVALS])
		cli_add(line, sizeof(line), " (%zu with load intervals)",
			pr->summary.count[NP_RUN_INTERVALS]);
	if (pr->summary.latency.n_runs) {
		cli_day(pr->summary.latency.first, first);
		cli_day(pr->summary.latency.last, last);
		cli_add(line, sizeof(line), ", %s%s%s", first,
			strcmp(first, last) ? " to " : "",
			strcmp(first, last) ? last : "");
	}
	cli_labelled(f, "Runs", "%zu of %zu used%s, %s%s",
		     pr->summary.latency.n_runs, p->r.runs.n, line,
		     p->r.owner == NP_STORE_USER ? "of " : "",
		     cli_owner_name(p->r.owner, p->r.uid, owner,
				    sizeof(owner)));
}

/* Runs that do not count, by reason, and files that could not be read. */
static void print_excluded(FILE *f, const struct cli_profile *p)
{
	const struct np_run_summary *e = &p->profile.summary;
	char line[256];

	cli_excluded_text(e, line, sizeof(line));
	if (e->count[NP_RUN_TIME])
		cli_add(line, sizeof(line), "%s%zu %s", *line ? ", " : "",
			e->count[NP_RUN_TIME], np_run_use_words(NP_RUN_TIME));
	if (p->r.n_skipped)
		cli_add(line, sizeof(line), "%s%zu unreadable", *line ? ", " :
			"", p->r.n_skipped);
	cli_labelled(f, "Excluded", "%s", line);
}

/*
 * Cluster, transport, the first leaf switches, and the MPI of the newest run.
 */
static void print_fabric(FILE *f, const struct np_record *r)
{
	char line[1024] = "", name[40];

	/* A wide run may have hundreds of leaf switches. */
	for (size_t i = 0; i < r->n_leaves && i < 4; i++) {
		const struct np_leaf_run *l = &r->leaves[i];

		cli_add(line, sizeof(line), "%s%s%s", i ? ", " : *l->name ?
			", leaf " : ", one leaf",
			cli_cut(l->name, 24, name, sizeof(name)),
			l->n_pairs ? "" : " (not measured)");
	}
	if (r->n_leaves > 4)
		cli_add(line, sizeof(line), " and %zu more", r->n_leaves - 4);
	cli_labelled(f, "Fabric", "cluster %s, %s%s%s%s",
		     r->cluster ? r->cluster : "unknown", r->probe.transport ?
		     r->probe.transport : "transport unknown", line,
		     r->mpi_version ? ", " : "", !r->mpi_version ? "" :
		     !strcmp(r->mpi_version, NP_MPI_NONE) ? "not MPI" :
		     r->mpi_version);
}

/* How the probes were set, and what they cost. */
static void print_probes(FILE *f, const struct np_profile *p)
{
	const struct np_record *r = p->summary.fabric;
	char bytes[CLI_NUMBER], period[CLI_NUMBER], share[CLI_NUMBER];
	char rss[CLI_NUMBER], cost[128] = "their own cost was not measured";

	if (p->cost.elapsed_sec > 0 && p->cost.rss_bytes_max)
		snprintf(cost, sizeof(cost), "each used %s of a core, %s of "
			 "memory", cli_percent(p->cost.cpu_share, share),
			 cli_bytes(p->cost.rss_bytes_max, rss));
	cli_labelled(f, "Probes", "%s every %s; %s",
		     cli_bytes(r->probe.message_bytes, bytes),
		     cli_setting_sec(r->probe.period_sec, period), cost);
}

/* By the byte counters of the nodes' network devices. */
static void print_traffic(FILE *f, const struct np_profile *p)
{
	double rate = p->verdict.rate;
	char text[CLI_NUMBER];

	if (!isnan(rate))
		cli_labelled(f, "Traffic", "%seach measured node sent and "
			     "received %s", rate < NP_VERDICT_SILENT ?
			     "almost none: " : "", cli_rate(rate, text));
}

/* The share of delayed probes, if there was an idle baseline. */
static void print_delayed(FILE *f, const struct np_profile *p)
{
	const struct np_verdict *v = &p->verdict;
	char sec[CLI_NUMBER], share[CLI_NUMBER];

	if (!p->is_idle && v->against == NP_AGAINST_IDLE)
		/* Short, because most pages have no line to spare. */
		cli_labelled(f, "Delayed",
			     "%s of probes over %s (idle "
			     "threshold); est. utilisation %.2f",
			     cli_percent(v->delayed_share, share),
			     cli_sec(v->delayed_sec, sec), v->utilisation);
}

static void print_tolerance(FILE *f, const struct tolerance *z)
{
	char line[NP_ERR_LEN + 40];

	tolerance_text(z, line, sizeof(line));
	cli_labelled(f, "Tolerance", "%s", line);
}

/* ---- latency table ---- */

static const double quantiles[] = { 0.5, 0.9, 0.99 };

/* One sample: number of probes, quantiles, maximum and mean. */
static void latency_row(FILE *f, const char *label, const struct np_sample *s)
{
	char cell[CLI_NUMBER];

	cli_left(f, label, 17);
	fprintf(f, " %10llu", (unsigned long long)s->moments.n);
	for (size_t i = 0; i < NP_ARRAY_SIZE(quantiles); i++)
		cli_right(f, cli_sec(np_sample_quantile(s, quantiles[i]), cell),
		      10);
	cli_right(f, cli_sec(s->moments.max, cell), 10);
	cli_right(f, cli_sec(s->moments.mean, cell), 10);
	fputc('\n', f);
}

/* One cell of the last row: application over idle. */
static void ratio(FILE *f, double a, double b)
{
	char cell[CLI_NUMBER];

	snprintf(cell, sizeof(cell), b > 0 ? "%.1f" : "-", b > 0 ? a / b : 0);
	cli_right(f, cell, 10);
}

/* "idle", or "idle, 20.0 ms" if it was probed with another period. */
static void idle_label(const struct np_sample *idle, char *buf, size_t len)
{
	char period[CLI_NUMBER];

	snprintf(buf, len, "idle%s%s", idle->other_period ? ", " : "",
		 idle->other_period ? cli_sec(idle->period_sec, period) : "");
}

/* The table of latencies: the application, idle, and their ratio. */
static void print_latency(FILE *f, const struct np_profile *p)
{
	const struct np_sample *app = &p->summary.latency, *idle = &p->idle;
	char label[32];

	fprintf(f, "\n%s%-18s%10s%10s%10s%10s%10s%10s%s\n",
		cli_colour(CLI_BOLD), "Latency", "probes", "p50", "p90", "p99",
		"max", "mean", cli_colour(CLI_PLAIN));
	latency_row(f, p->runs->app, app);
	/* Without an idle baseline the table has only one row. */
	if (!idle->n_runs)
		return;
	idle_label(idle, label, sizeof(label));
	latency_row(f, label, idle);
	fprintf(f, "%-28s", "ratio to idle");
	for (size_t i = 0; i < NP_ARRAY_SIZE(quantiles); i++)
		ratio(f, np_sample_quantile(app, quantiles[i]),
		      np_sample_quantile(idle, quantiles[i]));
	ratio(f, app->moments.max, idle->moments.max);
	ratio(f, app->moments.mean, idle->moments.mean);
	fputc('\n', f);
}

/* ---- slowdowns under synthetic load ---- */

#define LEVEL_LABEL 20	/* columns of a row's label */
#define LEVEL_WIDEST 20 /* columns of a level's name at most */

static const char *level_name(const struct np_run_summary_level *l, char *buf,
			      size_t len)
{
	char name[NP_LEVEL_NAME];

	snprintf(buf, len, "%s (%u)",
		 cli_cut(l->name, LEVEL_WIDEST, name, sizeof(name)),
		 l->run_sec.n);
	return buf;
}

enum { RUN_TIME, LOW, HIGH, ROUNDS, LEVEL_ROWS };

/* One row of the table, with a column for each of n levels. */
static void level_row(FILE *f, const struct np_profile *p, size_t n, int width,
		      int row)
{
	static const char *const label[LEVEL_ROWS] = {
		"run time", "95 % interval from", "                to",
		"the load's rounds",
	};
	char buf[CLI_NUMBER];

	fprintf(f, "%-*s", LEVEL_LABEL, label[row]);
	for (size_t i = 0; i < n; i++) {
		const struct np_run_summary_level *l = &p->summary.level[i];
		const double value[LEVEL_ROWS] = {
			l->slowdown.mean, l->low, l->high, l->impact.mean,
		};
		uint32_t known = row == ROUNDS ? l->impact.n : l->slowdown.n;

		cli_right(f, known ? cli_change(value[row], buf) : "-", width);
	}
	fputc('\n', f);
}

/* Columns of the widest cell, such as "c4 (2)" or "+123 %", and one blank. */
static size_t level_width(const struct np_profile *p)
{
	size_t widest = 6;
	char buf[NP_LEVEL_NAME + CLI_NUMBER];

	for (size_t i = 0; i < p->summary.n_levels; i++) {
		size_t width = cli_width(level_name(&p->summary.level[i], buf,
						    sizeof(buf)));

		widest = width > widest ? width : widest;
	}
	return widest + 1;
}

/* Which slowdowns come from load intervals within runs, and their checks. */
static void print_intervals(FILE *f, const struct np_profile *p)
{
	const struct np_one_run *b = &p->summary.intervals;
	char share[CLI_NUMBER], longer[CLI_NUMBER], took[80] = "";
	char calls[80] = "";
	size_t n = 0;

	for (size_t i = 0; i < p->summary.n_levels; i++)
		n += p->summary.level[i].of_intervals;
	if (!isnan(p->summary.intervals_longer))
		snprintf(took, sizeof(took),
			 " (%s compared with runs without "
			 "load)",
			 cli_change(p->summary.intervals_longer, longer));
	if (!isnan(b->apart))
		snprintf(calls, sizeof(calls), "; by its %s slowdowns differ "
			 "by %.1f %%", b->by_calls ? "traffic" : "MPI calls",
			 100 * expm1(b->apart));
	cli_labelled(f, "Intervals",
		     "%zu loads measured in intervals of %zu "
		     "%s (%.0f s), which made %s longer by at most %s%s: "
		     "%s%s%s",
		     n, b->n_runs, b->n_runs == 1 ? "run" : "runs", b->sec,
		     b->n_runs == 1 ? "it" : "them",
		     cli_percent(b->lost_sec / fmax(b->sec - b->lost_sec, 1),
				 share),
		     took, np_one_run_words(b->verdict),
		     b->by_calls ? ", by its MPI calls" : "", calls);
}

/* As many levels as fit on the screen; the head says if there are more. */
static void print_levels(FILE *f, const struct np_profile *p)
{
	char buf[NP_LEVEL_NAME + CLI_NUMBER];
	int width = (int)level_width(p);
	size_t n = p->summary.n_levels, room;

	if (!n)
		return;
	/* The weakest levels are shown if not all fit. */
	room = (size_t)((cli_columns() - LEVEL_LABEL) / width);
	n = n < room ? n : room;
	fprintf(f, "\n%s%-*s", cli_colour(CLI_BOLD), LEVEL_LABEL,
		p->summary.n_levels > n ? "Under load (more)" :
				     "Under load (runs)");
	for (size_t i = 0; i < n; i++)
		cli_right(f, level_name(&p->summary.level[i], buf, sizeof(buf)),
			  width);
	fprintf(f, "\n%s", cli_colour(CLI_PLAIN));
	for (int row = 0; row < LEVEL_ROWS; row++)
		level_row(f, p, n, width, row);
	if (p->summary.count[NP_RUN_INTERVALS])
		print_intervals(f, p);
}

/* ---- the output ---- */

/* Number of lines in a text. */
static int count_lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Steps by which output that is too long for the screen is shortened. */
enum brevity { WHOLE, SHORT_LISTS, SHORT_RECOMMENDATION };

/* All that is above the histogram. */
static void print_head(FILE *f, const struct show *s, enum brevity brief)
{
	const struct np_profile *pr = &s->p.profile;

	print_verdict(f, pr);
	print_runs(f, &s->p);
	print_excluded(f, &s->p);
	if (pr->summary.fabric) {
		print_fabric(f, pr->summary.fabric);
		cli_print_rails(f, pr->summary.fabric);
	}
	if (pr->summary.latency.n_runs) {
		print_probes(f, pr);
		print_traffic(f, pr);
		cli_print_adapters(f, &pr->summary.latency);
		print_delayed(f, pr);
	}
	print_pairs(f, s, brief >= SHORT_LISTS);
	print_recommendation(f, &s->recommendation, brief >= SHORT_RECOMMENDATION);
	print_tolerance(f, &s->tolerance);
	if (pr->summary.latency.n_runs)
		print_latency(f, pr);
}

/*
 * The output without its histogram: *head bytes above it, the rest below.  The
 * text is made before it is printed so that its lines can be counted.
 * The caller frees it.  NULL: out of memory.
 */
static char *make_text(const struct show *s, enum brevity brief, size_t *head)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	print_head(f, s, brief);
	/* fflush() updates len, the bytes printed so far. */
	fflush(f);
	*head = len;
	print_levels(f, &s->p.profile);
	fclose(f);
	return text;
}

/* Returns the exit status. */
static int show_text(const struct show *s)
{
	int brief = WHOLE, rows;
	char *text = NULL;
	size_t head;

	do {
		free(text);
		text = make_text(s, (enum brevity)brief, &head);
		if (!text)
			return cli_fail("out of memory");
	} while (count_lines(text) > CLI_LINES &&
		 brief++ < SHORT_RECOMMENDATION);
	fwrite(text, 1, head, stdout);
	/* An empty line and a head are above the histogram. */
	rows = CLI_LINES - count_lines(text) - 2;
	print_histogram(stdout, &s->p.profile, rows < 8 ? rows : 8);
	fputs(text + head, stdout);
	free(text);
	return CLI_DONE;
}

/* ---- output for programs ---- */
static void put_verdict(json_object *in, const struct np_profile *p)
{
	static const char *const against[] = {
		[NP_AGAINST_NOTHING] = "nothing", [NP_AGAINST_IDLE] = "idle",
	};
	static const char *const doubt[] = {
		[NP_DOUBT_PROBES] = "probes",
		[NP_DOUBT_BASELINE] = "baseline",
		[NP_DOUBT_SILENT] = "silent", [NP_DOUBT_FULL] = "full",
	};
	json_object *j = cli_put_object(in, "verdict");
	json_object *text = cli_put_array(j, "text");
	const struct np_verdict *v = &p->verdict;
	char sentence[CLI_SENTENCE];

	for (int i = 0; i < CLI_SENTENCES; i++)
		if (*cli_verdict_text(p, i, sentence))
			cli_append_text(text, sentence);
	cli_put_text(j, "use", cli_use_name(p));
	cli_put_text(j, "doubt", doubt[v->doubt]);
	cli_put_bool(j, "guess", v->guess);
	cli_put_text(j, "against", against[v->against]);
	cli_put_text(j, "baseline", p->idle.n_runs ?
		     np_sample_source_name(p->idle.source) : NULL);
	cli_put_real(j, "node_bytes_per_sec", v->rate);
	cli_put_real(j, "delayed_sec", v->delayed_sec);
	cli_put_real(j, "delayed_share", v->delayed_share);
	cli_put_real(j, "beyond_idle_p95", v->beyond_p95);
	cli_put_real(j, "beyond_idle_p99", v->beyond_p99);
	cli_put_real(j, "excess", v->excess);
	cli_put_real(j, "estimated_utilisation", v->utilisation);
	cli_put_text(j, "phases", cli_phase_name(v->phases));
	cli_put_real(j, "busy_share", v->busy_share);
	cli_put_real(j, "busy_period_sec", p->phases.busy_period_sec);
	cli_put_bool(j, "interference", v->interference);
}

/* Runs by their use; the keys are the words of netprof runs. */
static void put_runs(json_object *in, const struct cli_profile *p)
{
	static const enum np_run_use other[] = {
		NP_RUN_UNDER_LEVEL, NP_RUN_INTERVALS, NP_RUN_NEIGHBOURS,
		NP_RUN_FABRIC,	    NP_RUN_TIME,      NP_RUN_FAILED,
		NP_RUN_SUSPENDED,   NP_RUN_UNDER_WAY, NP_RUN_WORKLOAD,
		NP_RUN_AUTOMATIC,
	};
	json_object *j = cli_put_object(in, "runs");

	cli_put_count(j, "used", p->profile.summary.latency.n_runs);
	for (size_t i = 0; i < NP_ARRAY_SIZE(other); i++)
		cli_put_count(j, np_run_use_name(other[i]),
			      p->profile.summary.count[other[i]]);
	cli_put_count(j, "unreadable", p->r.n_skipped);
}

/* The fabric of the newest run, with every leaf switch. */
static void put_fabric(json_object *in, const struct np_record *r)
{
	json_object *j = cli_put_if(in, "fabric", r), *leaves;

	if (!j)
		return;
	cli_put_text(j, "cluster", r->cluster);
	cli_put_text(j, "transport", r->probe.transport);
	cli_put_count(j, "message_bytes", r->probe.message_bytes);
	cli_put_real(j, "period_sec", r->probe.period_sec);
	cli_put_text(j, "mpi_version", r->mpi_version);
	if (np_run_rail(r))
		cli_put_text(j, "busiest_rail", np_run_rail(r));
	leaves = cli_put_array(j, "leaves");
	for (size_t i = 0; i < r->n_leaves; i++) {
		json_object *leaf = cli_append_object(leaves);

		cli_put_text(leaf, "name", r->leaves[i].name);
		if (r->leaves[i].rail) {
			cli_put_text(leaf, "rail", r->leaves[i].rail);
			cli_put_bool(leaf, "loaded", np_run_loads_rail(
					     r, r->leaves[i].rail));
		}
		cli_put_text(leaf, "nodes", r->leaves[i].nodes);
		cli_put_count(leaf, "pairs", r->leaves[i].n_pairs);
		if (r->leaves[i].rail && r->leaves[i].latency.n)
			cli_put_real(leaf, "latency_sec",
				     r->leaves[i].latency.mean);
		cli_put_text(leaf, "skipped", r->leaves[i].skipped);
	}
}

/* One sample of latencies; null without runs. */
static void put_sample(json_object *in, const char *key,
		       const struct np_sample *s)
{
	json_object *j = cli_put_if(in, key, s->n_runs);

	if (!j)
		return;
	cli_put_count(j, "runs", s->n_runs);
	cli_put_count(j, "n", s->moments.n);
	cli_put_real(j, "mean_sec", s->moments.mean);
	cli_put_real(j, "sd_sec", np_moments_sd(&s->moments));
	cli_put_real(j, "p50_sec", np_sample_quantile(s, 0.5));
	cli_put_real(j, "p90_sec", np_sample_quantile(s, 0.9));
	cli_put_real(j, "p99_sec", np_sample_quantile(s, 0.99));
	cli_put_real(j, "max_sec", s->moments.max);
	cli_put_time(j, "first", s->first);
	cli_put_time(j, "last", s->last);
	cli_put_bool(j, "with_neighbours", s->neighbours);
}

/* [from_sec, samples, idle samples] of each bin that is not empty. */
static void put_hist(json_object *in, const struct np_profile *p)
{
	const struct np_hist *app = p->summary.latency.hist;
	json_object *list = cli_put_array(in, "histogram");

	for (size_t i = 0; i < NP_HIST_BINS; i++) {
		uint64_t n = app ? np_hist_count(app, i) : 0;
		uint64_t idle = p->idle.hist ? np_hist_count(p->idle.hist, i) :
					       0;
		char edge[CLI_NUMBER];
		json_object *j;

		if (!n && !idle)
			continue;
		j = json_object_new_array();
		/* Six digits keep the output short. */
		snprintf(edge, sizeof(edge), "%.6g", np_hist_edge(i));
		json_object_array_add(j, json_object_new_double_s(
						 np_hist_edge(i), edge));
		json_object_array_add(j, json_object_new_uint64(n));
		json_object_array_add(j, json_object_new_uint64(idle));
		json_object_array_add(list, j);
	}
}

/* null unless a run had load intervals. */
static void put_intervals(json_object *in, const struct np_run_summary *e)
{
	const struct np_one_run *b = &e->intervals;
	json_object *j = cli_put_if(in, "intervals", e->count[NP_RUN_INTERVALS]);

	if (!j)
		return;
	cli_put_bool(j, "usable", b->verdict == NP_ONE_RUN_USABLE);
	cli_put_text(j, "text", np_one_run_words(b->verdict));
	cli_put_count(j, "runs", b->n_runs);
	cli_put_count(j, "loaded", b->n_loaded);
	cli_put_real(j, "sec", b->sec);
	cli_put_real(j, "lost_sec", b->lost_sec);
	cli_put_real(j, "longer", e->intervals_longer);
	cli_put_real(j, "between", b->between);
	cli_put_text(j, "by", b->by_calls ? "calls" : "bytes");
	cli_put_real(j, "apart", b->apart);
}

/* The members are always there, so that scripts need not test for them. */
static void put_cost(json_object *in, const struct np_profile *p)
{
	json_object *j = cli_put_object(in, "probe_cost");

	if (!(p->cost.elapsed_sec > 0)) {
		cli_put(j, "cpu_share", NULL);
		cli_put(j, "cpu_share_max", NULL);
		cli_put(j, "rss_bytes_max", NULL);
		cli_put(j, "messages", NULL);
		return;
	}
	cli_put_real(j, "cpu_share", p->cost.cpu_share);
	cli_put_real(j, "cpu_share_max", p->cost.cpu_share_max);
	cli_put_count(j, "rss_bytes_max", p->cost.rss_bytes_max);
	cli_put_count(j, "messages", p->cost.messages);
}

/* Predictions of one list, the worst first. */
static void put_pairs(json_object *in, const char *key,
		      const struct cli_pair_list *list)
{
	json_object *j = cli_put_array(in, key);

	for (size_t i = 0; i < list->n; i++) {
		json_object *one = cli_append_object(j);

		cli_put_text(one, "app", list->pair[i].app);
		cli_put_interval(one, &list->pair[i].p);
	}
}

/* The same recommendation as in the text, in full. */
static void put_recommendation(json_object *in,
			       const struct cli_recommendation *a)
{
	json_object *j = cli_put_object(in, "recommendation"), *list;

	cli_put_real(j, "limit", a->limit);
	list = cli_put_array(j, "avoid");
	for (size_t i = 0; i < a->n_avoid; i++)
		cli_append_text(list, a->pair[i].app);
	cli_put_text(j, "command", *a->command ? a->command : NULL);
	cli_put_text(j, "measures", *a->command ? a->what : NULL);
}

/* null without a trace that has the answer. */
static void put_tolerance(json_object *in, const struct tolerance *z)
{
	json_object *list;

	if (!z->traced || z->why.text[0]) {
		cli_put(in, "latency_tolerance", NULL);
		return;
	}
	list = cli_put_array(in, "latency_tolerance");
	for (size_t i = 0; i < NP_TRACE_THRESHOLDS; i++) {
		json_object *one = cli_append_object(list);

		cli_put_real(one, "longer", z->threshold[i].longer);
		cli_put_real(one, "added_sec", z->threshold[i].added_sec);
	}
}

static const struct cli_table table = {
	"App|Owner|Use|Phases|BusyShare|DelayedShare|DelayedSec|EstimatedUtilisation|Cluster|"
	"Leaves|Transport|MessageBytes|PeriodSec|First|Last|RunsUsed|RunsLevel|"
	"RunsNeighbours|RunsFabric|RunsEmpty|RunsUnreadable|Probes|Mean|P50|P90|"
	"P99|Max|IdleProbes|IdleMean|IdleP50|IdleP90|IdleP99|IdleMax|"
	"ProbeCpuShare|Levels|Histogram|NoEffect|SlowedBy|Slows|RunsFailed|"
	"RunsRunning|RunsWorkload|Avoid|Measure|Tolerance|Mpi|Doubt|Baseline|"
	"NodeBytesPerSec",
	{ { "",
	    "app|owner|verdict/use|verdict/phases|verdict/busy_share|"
	    "verdict/delayed_share|verdict/delayed_sec|verdict/estimated_utilisation|"
	    "fabric/cluster|fabric/leaves:name|fabric/transport|"
	    "fabric/message_bytes|fabric/period_sec|latency/first|"
	    "latency/last|runs/used|runs/level|runs/neighbours|"
	    "runs/fabric|runs/empty|runs/unreadable|"
	    "latency/n|latency/mean_sec|latency/p50_sec|latency/p90_sec|"
	    "latency/p99_sec|latency/max_sec|"
	    "idle/n|idle/mean_sec|idle/p50_sec|idle/p90_sec|idle/p99_sec|"
	    "idle/max_sec|probe_cost/cpu_share|"
	    "levels:name:scope:runs:compared:slowdown:level_slowdown:low:"
	    "high|histogram|sharing_coefficient/no_effect|"
	    "slowed_by:app:slowdown:low:high:model|"
	    "slows:app:slowdown:low:high:model|runs/failed|runs/running|"
	    "runs/workload|recommendation/avoid|recommendation/command|"
	    "latency_tolerance:longer:added_sec|fabric/mpi_version|"
	    "verdict/doubt|verdict/baseline|verdict/node_bytes_per_sec" } },
};

/* The tree for --json; --parsable prints the members that the table names. */
static int show_data(const struct show *s, enum cli_format format)
{
	json_object *j = json_object_new_object();
	const struct cli_profile *p = &s->p;
	const struct pairs *pairs = &s->pairs;

	cli_put_text(j, "app", p->r.runs.app);
	cli_put_owner(j, p->r.owner, p->r.uid);
	put_verdict(j, &p->profile);
	put_runs(j, p);
	put_fabric(j, p->profile.summary.fabric);
	cli_put_adapters(j, &p->profile.summary.latency);
	put_sample(j, "latency", &p->profile.summary.latency);
	put_sample(j, "idle", &p->profile.idle);
	put_hist(j, &p->profile);
	cli_put_levels(j, &p->profile);
	put_intervals(j, &p->profile.summary);
	put_cost(j, &p->profile);
	cli_put_calibration(j, &pairs->known, pairs->scope);
	put_pairs(j, "slowed_by", &pairs->slowed_by);
	put_pairs(j, "slows", &pairs->slows);
	put_recommendation(j, &s->recommendation);
	put_tolerance(j, &s->tolerance);
	return cli_print_output(format, "show", j, &table);
}

/* ---- the command ---- */

/* Read all that is shown.  Returns -1 to go on, or the exit status. */
static int find(struct show *show, struct cli_store *s,
		const struct cli_options *o)
{
	int rc;

	list_candidates(&show->pairs, s, o);
	rc = cli_profile_find(s, o, o->app, &show->p);
	if (rc >= 0)
		return rc;
	find_pairs(&show->pairs, &show->p);
	find_tolerance(s, &show->p, &show->tolerance);
	cli_recommend(&show->p.profile, &show->pairs.known, show->pairs.scope,
		      &show->pairs.slowed_by, s->max_slowdown,
		      &show->recommendation);
	return rc;
}

static int run_show(const struct cli_cmd *self, int argc, char **argv)
{
	struct show show;
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = find(&show, &s, &o);
	cli_store_close(&s);
	if (rc < 0) {
		rc = o.format ? show_data(&show, o.format) :
				show_text(&show);
		cli_profile_free(&show.p);
	}
	free_pairs(&show.pairs);
	return rc;
}

const struct cli_cmd cmd_show = {
	.name = "show",
	.args = "[--json|--parsable] [--user=NAME|--published] APP",
	.help = "how an application uses the network",
	.text =
"Prints the profile of APP on one screen: first in words how it uses the\n"
"network, then the numbers behind that: probe latencies, its slowdown under\n"
"synthetic load, and which of the known applications would slow it most, or be\n"
"slowed by it most, from other nodes of the same leaf switch.\n\n"
"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
"  --user=NAME         another user's profile, if you may read it\n"
"  --published         the profile that an administrator published\n\n"
"Default: your own profile, or the published one if you have none.",
	.examples =
"  netprof show lammps\n"
"  netprof show --published cp2k\n"
"  netprof show --json lammps | jq .verdict\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.missing = "an application", .most = 1,
	.run = run_show,
};

/*
 * netprof show APP: one application's profile on one screen.
 *
 *	fft uses the network heavily, ...	verdict (cli_profile.h)
 *	Under synthetic load it ran ...
 *
 *	Runs       2 of 18 used ...		labelled facts
 *	Slowed by  NPmpi +79 % ...		the worst pairs
 *	Avoid      ...				recommendation (cli_recommend.h)
 *
 *	Latency               probes ...	latencies, and those of idle
 *	Share of probes ...			histogram
 *	Under load (runs)  c0 (2) ...		slowdowns
 *
 * The output has at most CLI_LINES lines. It is made in memory, and its lines
 * are counted. If there are too many, it is made again with shorter lists of
 * pairs, and then with a shorter recommendation. The histogram takes the lines
 * that are left. --json and --parsable print everything.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_analysis.h"
#include "cli_json_put.h"
#include "cli_loggps.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_recommend.h"
#include "cli_text.h"
#include "np_cache.h"
#include "np_elf.h"
#include "np_level.h"
#include "np_text.h"

/* How much added latency the application tolerates, by its newest trace. */
struct tolerance {
	bool traced;	   /* a trace exists */
	struct np_err why; /* why no tolerance follows from the trace; or "" */
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
	/* Caches, and the state of the calibration that they are made with. */
	struct np_store_stamp fabric;
	struct np_cache *summaries, *results;
	struct cli_known known; /* app[0] is the application shown */
	enum np_scope scope;
	bool predicted; /* the lists are valid, but may be empty */
	struct cli_pair_list slowed_by, slows;
};

/* All that is shown of one application. */
struct show {
	struct pairs pairs;
	struct np_run_summary profile;
	struct cli_recommendation recommendation;
	struct tolerance tolerance;
};

/* ---- latency tolerance ---- */

/* Bytes of the largest trace that is read: it takes some tenths of a second. */
#define MAX_TRACE_BYTES (16u << 20)

/* The defaults of netprof tolerance for a network that was not measured. */
/* clang-format off */
#define DEFAULT_NET { .L_ns = 3000, .G_ns = 0.1, .S = NP_LOGGPS_NO_RENDEZVOUS }
/* clang-format on */

/* Find the tolerance. Without a trace, this reads only one directory. */
static void find_tolerance(struct cli_store *store, const struct np_runs *runs,
			   struct tolerance *out)
{
	struct np_loggps net = DEFAULT_NET;
	char path[PATH_MAX + 2 * NAME_MAX];
	struct np_trace_analysis analysis;

	*out = (struct tolerance){ .traced = false };
	/*
	 * Traces are never published, so only the user's own profile has one.
	 */
	if (runs->owner != NP_STORE_USER ||
	    np_store_trace(store->store, runs->uid, runs->app, path,
			   sizeof(path), NULL))
		return;
	out->traced = true;
	/* If the network was not measured, net keeps the defaults. */
	cli_loggps_of(store->store, NULL, &net);
	if (cli_traced_get(path, runs->uid, CLI_TRACED_THRESHOLDS, &net,
			   MAX_TRACE_BYTES, &analysis, &out->why))
		return;
	memcpy(out->threshold, analysis.threshold, sizeof(out->threshold));
	np_trace_analysis_free(&analysis);
}

/*
 * ---- interference pairs ----
 *
 * Which other applications slow this one, and which it slows, as the default
 * model predicts. All applications of the user and all published ones are
 * candidates. To predict with a candidate, its runs have to be read and
 * summarised. As there may be hundreds of candidates, two caches in the store
 * keep the results (np_cache.h):
 *
 *	"show"	the run summary of each candidate, valid until its runs
 *		or the calibration change
 *	"pairs"	the final lists, valid until any candidate changes
 *
 * If the second cache is valid, only the applications in the lists are loaded.
 * Otherwise a first pass predicts all pairs without intervals, and a second
 * pass predicts the few pairs that are shown, with intervals.
 */

/*
 * List the candidates; "idle" is not an application. This must be done before
 * any run is read, so that results are never cached for a newer state than that
 * of the runs. Unreadable directories are treated as empty.
 */
static void list_candidates(struct pairs *pairs, struct cli_store *store,
			    const struct cli_options *options)
{
	size_t n_own, n;
	struct np_store_app *apps = cli_list_apps(store, options, &n_own, &n);

	*pairs = (struct pairs){
		.scope = NP_SCOPE_LEAF,
		.store = store,
		.uid = options->uid,
		.candidate = apps,
	};
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(apps[i].name, NP_IDLE_APP))
			continue;
		pairs->n_own += i < n_own;
		apps[pairs->n_candidates++] = apps[i];
	}
}

/*
 * Open both caches. Their version is a hash of the calibration's path. A
 * later calibration has another path and so invalidates them.
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

/* ---- run summaries of candidates ---- */

/* Make a summary from the runs. Returns false if there are none. */
static bool make_summary(struct pairs *pairs, struct cli_known_app *app)
{
	const struct np_run_summary_opt opt = {
		.calibration = &pairs->known.cal,
	};
	struct np_runs runs;

	if (cli_runs_load_quiet(pairs->store, app->runs.owner, app->runs.uid,
				app->runs.app, &runs))
		return false;
	cli_check_memory(np_run_summary_make(&runs, &opt, &app->summary));
	/* The runs are freed, so the summary must not point into them. */
	np_run_summary_detach(&app->summary, app->runs.app);
	np_runs_free(&runs);
	return true;
}

/* Store a summary in the cache. */
static void cache_summary(struct pairs *pairs, const char *key, uint64_t state,
			  const struct np_run_summary *summary)
{
	size_t len;
	char *data;
	FILE *f = cli_stream_open(&data, &len);

	np_run_summary_pack(f, summary);
	cli_stream_close(f, &data);
	np_cache_put(pairs->summaries, key, state, data, len);
}

/*
 * Get the summary of candidate i from the cache, or make it. Only a new one is
 * checked: those in the cache were. Returns false if it has no runs.
 */
static bool find_summary(struct pairs *pairs, size_t i,
			 struct cli_known_app *app)
{
	const struct np_store_stamp stamp[] = {
		pairs->fabric,
		pairs->candidate[i].stamp,
	};
	const struct np_fabric *fabric = pairs->known.cal.fabric;
	uint64_t state = np_cache_state(0, stamp, NP_ARRAY_SIZE(stamp));
	struct np_pack from = { .bad = false };
	/* UINT32_MAX is no user: it stands for published profiles. */
	const char *key = cli_text("%u %s",
				   i < pairs->n_own ? pairs->uid : UINT32_MAX,
				   app->runs.app);

	from.at = np_cache_find(pairs->summaries, key, state, &from.left);
	if (from.at &&
	    !np_run_summary_unpack(&from, fabric, app->runs.app, &app->summary))
		return true;
	if (!make_summary(pairs, app))
		return false;
	cache_summary(pairs, key, state, &app->summary);
	np_program_check(&app->summary.program, fabric, &app->unusable);
	return true;
}

/*
 * Add candidate i to the known applications, with its name and its summary, but
 * without its runs. Returns false if it has no usable run, and is not added.
 */
static bool add_candidate(struct pairs *pairs, size_t i)
{
	struct cli_known *known = &pairs->known;
	struct np_runs runs = {
		.owner = i < pairs->n_own ? NP_STORE_USER : NP_STORE_PUBLISHED,
		.uid = pairs->uid,
	};

	strcpy(runs.app, pairs->candidate[i].name);
	cli_known_add(known, &runs);
	if (find_summary(pairs, i, known->app[known->n - 1]))
		return true;
	free(known->app[--known->n]);
	return false;
}

/*
 * ---- the cache of results ----
 *
 * Each pack function writes, if p->f is set, or reads. As the same code does
 * both, reading cannot differ from writing. Applications are stored as
 * positions in the list of candidates.
 */

/* Pack a prediction. With a single co-runner, more_co is 0 and not stored. */
static void pack_prediction(struct np_pack *to, struct np_prediction *p,
			    size_t n_levels)
{
	p->slowdown = np_pack_real(to, p->slowdown);
	p->low = np_pack_real(to, p->low);
	p->high = np_pack_real(to, p->high);
	p->flags = (unsigned)np_pack_count(to, p->flags, UINT_MAX);
	p->model = np_model_find(
		np_pack_text(to, p->model ? p->model->name : NULL), NULL);
	p->used = (unsigned)np_pack_count(to, p->used, UINT_MAX);
	p->n_curve = np_pack_count(to, p->n_curve, n_levels);
	p->n_impact = np_pack_count(to, p->n_impact, n_levels);
	p->n_probes = np_pack_count(to, p->n_probes, UINT64_MAX);
	p->n_excluded = np_pack_count(to, p->n_excluded, 2 * n_levels);
	p->sharing = np_pack_real(to, p->sharing);
	p->more = (enum np_more)np_pack_count(to, p->more, NP_MORE_SHARING);
	p->more_level =
		np_pack_count(to, p->more_level, n_levels ? n_levels - 1 : 0);
	to->bad |= !p->model;
}

/*
 * Return the position of a known application in the list of candidates, from 1
 * on; 0 stands for the application shown.
 */
static size_t position_of(const struct pairs *pairs, size_t app)
{
	size_t i = 0;

	while (app && strcmp(pairs->candidate[i].name,
			     pairs->known.app[app]->runs.app))
		i++;
	return app ? i + 1 : 0;
}

/* Return the index of an application from <= i < to; to: it is not there. */
static size_t find_app(const struct cli_known *known, size_t from, size_t to,
		       const char *app)
{
	while (from < to && strcmp(known->app[from]->runs.app, app))
		from++;
	return from;
}

/*
 * Return the index of the application at a position, which is added if it is
 * not known yet. Sets from->bad on failure.
 */
static size_t app_at(struct pairs *pairs, struct np_pack *from, size_t position)
{
	struct cli_known *known = &pairs->known;
	size_t i;

	if (!position)
		return 0;
	i = find_app(known, 1, known->n, pairs->candidate[position - 1].name);
	if (i == known->n)
		from->bad |= !add_candidate(pairs, position - 1);
	return from->bad ? 0 : i;
}

/* Pack an application, as its position. Returns its index. */
static size_t pack_app(struct np_pack *p, struct pairs *pairs, size_t app)
{
	size_t position = np_pack_count(p, p->f ? position_of(pairs, app) : 0,
					pairs->n_candidates);

	return p->f ? app : app_at(pairs, p, position);
}

/* Pack a list of pairs. */
static void pack_list(struct np_pack *p, struct pairs *pairs,
		      struct cli_pair_list *list)
{
	struct cli_known *known = &pairs->known;

	list->n = np_pack_count(p, list->n, CLI_PAIRS_MAX);
	for (size_t i = 0; i < list->n && !p->bad; i++) {
		struct cli_pair *pair = &list->pair[i];

		pair->victim = pack_app(p, pairs, pair->victim);
		pair->corunner = pack_app(p, pairs, pair->corunner);
		pack_prediction(p, &pair->prediction,
				known->cal.fabric->n_levels);
		pair->app =
			known->app[pair->victim ? pair->victim : pair->corunner]
				->runs.app;
	}
}

/* The key of the application shown in the cache of results. */
static const char *results_key(const struct pairs *pairs)
{
	const struct np_runs *runs = &pairs->known.app[0]->runs;

	return cli_text("%u %s=%s",
			runs->owner == NP_STORE_USER ? runs->uid : UINT32_MAX,
			runs->app, np_scope_name(pairs->scope));
}

/*
 * Return the state of all candidates and of the calibration, as
 * np_cache_state() does. The names are a part of it, as an application may be
 * renamed or removed.
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
 * Take the lists from the cache if nothing has changed since they were stored.
 * The applications in them become known. If the entry is damaged or of another
 * version, the lists stay empty. Returns whether the lists were taken.
 */
static bool load_results(struct pairs *pairs)
{
	struct np_pack from = { .bad = false };
	struct cli_pair_list slowed_by = { .n = 0 }, slows = { .n = 0 };

	from.at = np_cache_find(pairs->results, results_key(pairs),
				results_state(pairs), &from.left);
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

/* Store both lists for the next run of the command. */
static void store_results(struct pairs *pairs)
{
	char *data;
	size_t len;
	struct np_pack to = { .f = cli_stream_open(&data, &len) };

	pack_list(&to, pairs, &pairs->slowed_by);
	pack_list(&to, pairs, &pairs->slows);
	cli_stream_close(to.f, &data);
	np_cache_put(pairs->results, results_key(pairs), results_state(pairs),
		     data, len);
}

/* ---- prediction ---- */

/* Can the models predict with this application? */
static bool is_usable(const struct cli_known_app *app)
{
	return !app->unusable.text[0] && app->summary.n_used;
}

/*
 * Arguments and results of np_predict_around(). The application shown is the
 * victim in the first n predictions, and the co-runner in the other n - 1.
 */
struct around {
	size_t n, *at; /* indices into the known applications */
	const struct np_program **program;
	struct np_prediction *p;
	int *rc;
};

/* Collect the usable applications. */
static void collect_usable(const struct cli_known *known, struct around *all)
{
	all->at = cli_calloc(known->n, sizeof(*all->at));
	all->program = cli_calloc(known->n, sizeof(*all->program));
	all->p = cli_calloc(2 * known->n, sizeof(*all->p));
	all->rc = cli_calloc(2 * known->n, sizeof(*all->rc));
	for (size_t i = 0; i < known->n; i++)
		if (is_usable(known->app[i])) {
			all->at[all->n] = i;
			all->program[all->n++] =
				&known->app[i]->summary.program;
		}
}

/* Insert all predictions into the two lists, which keep only the worst. */
static void keep_worst(struct pairs *pairs, const struct around *all)
{
	for (size_t i = 0; i < all->n; i++) {
		size_t at = all->at[i], as_co = all->n - 1 + i;
		const char *app = pairs->known.app[at]->runs.app;

		if (!all->rc[i])
			cli_pair_list_insert(&pairs->slowed_by, app, 0, at,
					     &all->p[i]);
		if (i && !all->rc[as_co])
			cli_pair_list_insert(&pairs->slows, app, at, 0,
					     &all->p[as_co]);
	}
}

/* First pass, over all pairs: without intervals, as most are discarded. */
static void predict_all(struct pairs *pairs, struct np_predictor *models)
{
	struct around all = { .n = 0 };

	if (!is_usable(pairs->known.app[0]))
		return;
	collect_usable(&pairs->known, &all);
	if (!np_predict_around(models, all.program, all.n, pairs->scope, all.p,
			       all.rc, NULL))
		keep_worst(pairs, &all);
	free(all.at);
	free(all.program);
	free(all.p);
	free(all.rc);
}

/* Second pass, over the pairs that were kept: with their intervals. */
static void predict_selected(struct pairs *pairs, struct np_predictor *models)
{
	for (size_t i = 0; i < pairs->slowed_by.n; i++)
		cli_pair_predict(models, &pairs->known, pairs->scope,
				 &pairs->slowed_by.pair[i]);
	for (size_t i = 0; i < pairs->slows.n; i++)
		cli_pair_predict(models, &pairs->known, pairs->scope,
				 &pairs->slows.pair[i]);
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

/* Add every candidate that is not known yet. */
static void add_candidates(struct pairs *pairs)
{
	size_t n = pairs->known.n;

	for (size_t i = 0; i < pairs->n_candidates; i++)
		if (find_app(&pairs->known, 0, n, pairs->candidate[i].name) ==
		    n)
			add_candidate(pairs, i);
}

/* Take the lists from the cache, or predict them and store them there. */
static void make_lists(struct pairs *pairs)
{
	open_caches(pairs);
	pairs->predicted = true;
	if (load_results(pairs))
		return;
	add_candidates(pairs);
	run_pass(pairs, false, predict_all);
	run_pass(pairs, true, predict_selected);
	store_results(pairs);
}

/*
 * Find the pairs of the application shown. If there is no calibration,
 * pairs->predicted stays false.
 */
static void find_pairs(struct pairs *pairs)
{
	struct cli_known *known = &pairs->known;

	if (strcmp(known->app[0]->runs.app, NP_IDLE_APP) &&
	    !cli_known_load_calibration(known, pairs->store, 1, false))
		make_lists(pairs);
	close_caches(pairs);
}

/* ---- histogram ---- */

#define BAR 22 /* columns of the longest bar */

/* Count the latencies in bins from <= i < to. */
static uint64_t count_in(const struct np_hist *hist, size_t from, size_t to)
{
	uint64_t n = 0;

	for (size_t i = from; hist && i < to; i++)
		n += np_hist_count(hist, i);
	return n;
}

/*
 * Get the bins from the lower 1st to the higher 99th percentile of both
 * samples.
 */
static void range_of(const struct np_run_summary *profile, size_t *from,
		     size_t *to)
{
	double lo = np_hist_quantile(profile->latency.hist, 0.01);
	double hi = np_hist_quantile(profile->latency.hist, 0.99);

	if (profile->idle.hist) {
		/* Both columns have the same rows. */
		lo = fmin(lo, np_hist_quantile(profile->idle.hist, 0.01));
		hi = fmax(hi, np_hist_quantile(profile->idle.hist, 0.99));
	}
	*from = np_hist_bin_of(lo);
	*to = np_hist_bin_of(hi) + 1;
}

/* Print the share of some bins as a number and a bar; blank if it is 0. */
static void print_hist_cell(FILE *f, const struct np_sample *sample,
			    size_t from, size_t to)
{
	double share = (double)count_in(sample->hist, from, to) /
		       (double)np_hist_total(sample->hist);

	/* A small share must not be printed as 0 %. */
	cli_print_right(f,
			!(share > 0)  ? "" :
			share < 0.005 ? "<1 %" :
					cli_text("%.0f %%", 100 * share),
			7);
	fputc(' ', f);
	cli_print_bar(f, share, BAR);
}

/* Print one line: the shares of the latencies in bins from <= i < to. */
static void print_hist_row(FILE *f, const struct np_run_summary *profile,
			   size_t from, size_t to, bool first, bool last)
{
	char *line = NULL;
	size_t len;
	FILE *row = cli_stream_open(&line, &len);

	cli_print_left(row,
		       cli_text("%s%s", first ? "below " : "from ",
				cli_sec(np_hist_edge(first ? to : from))),
		       16);
	from = first ? 0 : from;
	to = last ? NP_HIST_BINS : to;
	print_hist_cell(row, &profile->latency, from, to);
	if (profile->idle.n_runs)
		print_hist_cell(row, &profile->idle, from, to);
	cli_stream_close(row, &line);
	while (len && line[len - 1] == ' ') /* padding of the last bar */
		line[--len] = '\0';
	fprintf(f, "%s\n", line);
	free(line);
}

/*
 * Print the histogram next to the idle network's, in at most `rows` lines;
 * nothing if rows < 3.
 */
static void print_histogram(FILE *f, const struct np_run_summary *profile,
			    int rows)
{
	const char *name = cli_truncate(profile->runs->app, 20);
	size_t from, to, width, shown;

	if (rows < 3 || !profile->latency.hist)
		return;
	range_of(profile, &from, &to);
	/* Several bins of the histogram make one row. */
	width = (to - from + (size_t)rows - 1) / (size_t)rows;
	shown = (to - from + width - 1) / width;
	fprintf(f, "\n%s%-16s%8s", cli_colour(CLI_BOLD), "Share of probes", "");
	if (profile->idle.n_runs)
		fprintf(f, "%-30s%s", name, "idle");
	else
		fputs(name, f);
	fprintf(f, "%s\n", cli_colour(CLI_PLAIN));
	for (size_t i = 0; i < shown; i++)
		print_hist_row(f, profile, from + i * width,
			       from + (i + 1) * width, i == 0 && shown > 1,
			       i + 1 == shown);
}

/* ---- interference pairs in text ---- */

#define NAME 20 /* columns of an application's name */

/* Print a label and the pairs of one list. */
static void print_list(FILE *f, const struct pairs *pairs, const char *label,
		       const struct cli_pair_list *list, bool brief)
{
	const char *app = pairs->known.app[0]->runs.app;
	size_t width = (size_t)(cli_output_columns() - CLI_LABEL_COLUMNS);
	char line[512] = "";

	for (size_t i = 0; i < list->n; i++) {
		const char *one = cli_pair_text(&list->pair[i], app, NAME);

		/* The first pair is always shown, even if it is long. */
		if (brief && i && strlen(line) + 2 + strlen(one) > width)
			break;
		cli_appendf(line, sizeof(line), "%s%s", i ? ", " : "", one);
	}
	cli_flabel(f, label, "%s", line);
}

/* Is any prediction of the list uncertain? */
static bool has_doubt(const struct cli_pair_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (cli_doubt_text(&list->pair[i].prediction))
			return true;
	return false;
}

/* Print both lists. brief: each in one line, with as many pairs as fit. */
static void print_pairs(FILE *f, const struct show *show, bool brief)
{
	const struct pairs *pairs = &show->pairs;

	if (!pairs->predicted) {
		/* If slowdowns are missing, too, the verdict names the run. */
		if (show->profile.n_levels)
			cli_flabel(f, "Slowed by",
				   "not known: this fabric is not calibrated");
		return;
	}
	if (cli_has_no_effect(&pairs->known, pairs->scope)) {
		cli_flabel(f, "No effect", "%s",
			   cli_no_effect_text(&pairs->known, pairs->scope));
		return;
	}
	print_list(f, pairs, "Slowed by", &pairs->slowed_by, brief);
	print_list(f, pairs, "Slows", &pairs->slows, brief);
	if (has_doubt(&pairs->slowed_by) || has_doubt(&pairs->slows))
		cli_flabel(f, "", "(? uncertain: netprof predict says why)");
}

/* Print what to avoid and what to measure. brief: only the first of them. */
static void
print_recommendation(FILE *f, const struct cli_recommendation *recommendation,
		     bool brief)
{
	const char *avoid = cli_avoid_text(recommendation);

	cli_flabel(f, "Avoid", "%s", avoid);
	if (brief && *avoid)
		return;
	cli_flabel(f, "To improve", "%s", cli_improve_text(recommendation));
}

/* ---- labelled facts ---- */

/* Print the sentences of the verdict, the first one in colour. */
static void print_verdict(FILE *f, const struct np_run_summary *profile)
{
	static const enum cli_colour colours[] = {
		[NP_USE_UNKNOWN] = CLI_BOLD,	[NP_USE_LIGHT] = CLI_GREEN,
		[NP_USE_MODERATE] = CLI_YELLOW, [NP_USE_HEAVY] = CLI_RED,
		[NP_USE_SATURATED] = CLI_RED,
	};

	for (int i = 0; i < CLI_SENTENCES; i++) {
		const char *sentence = cli_verdict_text(profile, i);

		if (!*sentence)
			continue;
		fputs(i ? "" : cli_colour(colours[profile->verdict.use]), f);
		cli_wrap(f, sentence, 0);
		fputs(i ? "" : cli_colour(CLI_PLAIN), f);
	}
	fputc('\n', f);
}

/* Print how many runs count, when they ran, and whose they are. */
static void print_runs(FILE *f, const struct np_run_summary *summary)
{
	const struct np_runs *runs = summary->runs;
	char line[512] = "";

	if (summary->count[NP_RUN_UNDER_LEVEL])
		cli_appendf(line, sizeof(line), " (%zu under load)",
			    summary->count[NP_RUN_UNDER_LEVEL]);
	if (summary->count[NP_RUN_INTERVALS])
		cli_appendf(line, sizeof(line), " (%zu with load intervals)",
			    summary->count[NP_RUN_INTERVALS]);
	if (summary->latency.n_runs) {
		const char *first = cli_day(summary->latency.first);
		const char *last = cli_day(summary->latency.last);

		cli_appendf(line, sizeof(line), ", %s%s%s", first,
			    strcmp(first, last) ? " to " : "",
			    strcmp(first, last) ? last : "");
	}
	cli_flabel(f, "Runs", "%zu of %zu used%s, %s%s",
		   summary->latency.n_runs, runs->n, line,
		   runs->owner == NP_STORE_USER ? "of " : "",
		   cli_owner_name(runs->owner, runs->uid));
}

/* Print how many runs do not count and why, and how many are unreadable. */
static void print_excluded(FILE *f, const struct np_run_summary *summary)
{
	size_t n_skipped = summary->runs->n_skipped;
	char line[256];

	snprintf(line, sizeof(line), "%s", cli_excluded_text(summary));
	if (summary->count[NP_RUN_TIME])
		cli_appendf(line, sizeof(line), "%s%zu %s", *line ? ", " : "",
			    summary->count[NP_RUN_TIME],
			    np_run_use_words(NP_RUN_TIME));
	if (n_skipped)
		cli_appendf(line, sizeof(line), "%s%zu unreadable",
			    *line ? ", " : "", n_skipped);
	cli_flabel(f, "Excluded", "%s", line);
}

/* Print cluster, transport, first leaf switches and MPI of the newest run. */
static void print_fabric(FILE *f, const struct np_record *run)
{
	char line[1024] = "";

	/* A wide run may have hundreds of leaf switches. */
	for (size_t i = 0; i < run->n_leaves && i < 4; i++) {
		const struct np_leaf_run *leaf = &run->leaves[i];

		cli_appendf(line, sizeof(line), "%s%s%s",
			    i		? ", " :
			    *leaf->name ? ", leaf " :
					  ", no topology",
			    cli_truncate(leaf->name, 24),
			    leaf->n_pairs ? "" : " (not measured)");
	}
	if (run->n_leaves > 4)
		cli_appendf(line, sizeof(line), " and %zu more",
			    run->n_leaves - 4);
	cli_flabel(f, "Fabric", "cluster %s, %s%s%s%s",
		   run->cluster ? run->cluster : "unknown",
		   run->probe.transport ? run->probe.transport :
					  "transport unknown",
		   line, run->mpi_version ? ", " : "",
		   !run->mpi_version			  ? "" :
		   !strcmp(run->mpi_version, NP_MPI_NONE) ? "not MPI" :
							    run->mpi_version);
}

/* Print the settings of the probes, and what they cost. */
static void print_probes(FILE *f, const struct np_run_summary *profile)
{
	const struct np_record *run = profile->fabric;
	const char *cost = "their own cost was not measured";

	if (profile->cost.elapsed_sec > 0 && profile->cost.rss_bytes_max)
		cost = cli_text("each used %s of a core, %s of memory",
				cli_percent(profile->cost.cpu_share),
				cli_bytes(profile->cost.rss_bytes_max));
	cli_flabel(f, "Probes", "%s every %s; %s",
		   cli_bytes(run->probe.message_bytes),
		   cli_setting_sec(run->probe.period_sec), cost);
}

/* Print the traffic, by the byte counters of the nodes' network devices. */
static void print_traffic(FILE *f, const struct np_run_summary *profile)
{
	double rate = profile->verdict.rate;

	if (!isnan(rate))
		cli_flabel(f, "Traffic",
			   "%seach measured node sent and received %s",
			   rate < NP_VERDICT_SILENT ? "almost none: " : "",
			   cli_rate(rate));
}

/* Print the share of delayed probes, if there is an idle baseline. */
static void print_delayed(FILE *f, const struct np_run_summary *profile)
{
	const struct np_verdict *verdict = &profile->verdict;

	if (!profile->is_idle && verdict->against == NP_AGAINST_IDLE)
		/* Abbreviated, because most profiles fill the screen. */
		cli_flabel(f, "Delayed",
			   "%s of probes over %s (idle threshold); "
			   "est. utilisation %.2f",
			   cli_percent(verdict->delayed_share),
			   cli_sec(verdict->delayed_sec), verdict->utilisation);
}

/* Print the tolerance in one line; nothing if there is no trace. */
static void print_tolerance(FILE *f, const struct tolerance *tolerance)
{
	char line[256] = "";

	if (!tolerance->traced)
		return;
	if (tolerance->why.text[0]) {
		cli_flabel(f, "Tolerance", "not known; its trace: %s",
			   tolerance->why.text);
		return;
	}
	for (size_t i = 0; i < NP_TRACE_THRESHOLDS; i++) {
		double sec = tolerance->threshold[i].added_sec;

		/* An infinite threshold: no latency slows it that much. */
		if (isfinite(sec))
			cli_appendf(line, sizeof(line), "%s%.0f %%%s +%s%s",
				    *line ? ", " : "",
				    100 * tolerance->threshold[i].longer,
				    *line ? " with" : " longer with",
				    cli_sec(sec), *line ? "" : " latency");
	}
	cli_flabel(f, "Tolerance", "%s",
		   *line ? line : "tolerates any added latency");
}

/* ---- latency table ---- */

static const double quantiles[] = { 0.5, 0.9, 0.99 };

/* Print one sample: number of probes, quantiles, maximum and mean. */
static void print_latency_row(FILE *f, const char *label,
			      const struct np_sample *sample)
{
	cli_print_left(f, label, 17);
	fprintf(f, " %10llu", (unsigned long long)sample->moments.n);
	for (size_t i = 0; i < NP_ARRAY_SIZE(quantiles); i++)
		cli_fprint_number(f, cli_sec,
				  np_sample_quantile(sample, quantiles[i]), 10);
	cli_fprint_number(f, cli_sec, sample->moments.max, 10);
	cli_fprint_number(f, cli_sec, sample->moments.mean, 10);
	fputc('\n', f);
}

/* Print one cell of the last row: a latency divided by that of idle. */
static void print_ratio(FILE *f, double app, double idle)
{
	cli_print_right(f, idle > 0 ? cli_text("%.1f", app / idle) : "-", 10);
}

/* Print the latencies of the application and of idle, and their ratio. */
static void print_latency(FILE *f, const struct np_run_summary *profile)
{
	const struct np_sample *app = &profile->latency, *idle = &profile->idle;

	fprintf(f, "\n%s%-18s%10s%10s%10s%10s%10s%10s%s\n",
		cli_colour(CLI_BOLD), "Latency", "probes", "p50", "p90", "p99",
		"max", "mean", cli_colour(CLI_PLAIN));
	print_latency_row(f, profile->runs->app, app);
	/* If there is no idle baseline, the table has only one row. */
	if (!idle->n_runs)
		return;
	/* With the period, "idle, 20.0 ms", if that was different. */
	print_latency_row(f,
			  idle->other_period ?
				  cli_text("idle, %s",
					   cli_sec(idle->period_sec)) :
				  "idle",
			  idle);
	fprintf(f, "%-28s", "ratio to idle");
	for (size_t i = 0; i < NP_ARRAY_SIZE(quantiles); i++)
		print_ratio(f, np_sample_quantile(app, quantiles[i]),
			    np_sample_quantile(idle, quantiles[i]));
	print_ratio(f, app->moments.max, idle->moments.max);
	print_ratio(f, app->moments.mean, idle->moments.mean);
	fputc('\n', f);
}

/* ---- slowdowns under synthetic load ---- */

#define LEVEL_LABEL 20	/* columns of a row's label */
#define LEVEL_WIDEST 20 /* columns of a level's name at most */

/* Write the name of a level, and the number of its runs: "c4 (2)". */
static const char *level_name(const struct np_run_summary_level *level)
{
	const char *name = cli_truncate(level->name, LEVEL_WIDEST);

	/* Measurement intervals are no runs. */
	return level->run_sec.n ? cli_text("%s (%u)", name, level->run_sec.n) :
				  name;
}

enum { RUN_TIME, LOW, HIGH, ROUNDS, LEVEL_ROWS };

/* Print one row of the table, with a column for each of n levels. */
static void print_level_row(FILE *f, const struct np_run_summary_level *levels,
			    size_t n, int width, int row)
{
	static const char *const label[LEVEL_ROWS] = {
		"run time",
		"95 % interval from",
		"                to",
		"slowdown of the load",
	};

	fprintf(f, "%-*s", LEVEL_LABEL, label[row]);
	for (size_t i = 0; i < n; i++) {
		const struct np_run_summary_level *level = &levels[i];
		const double value[LEVEL_ROWS] = {
			level->slowdown.mean,
			level->low,
			level->high,
			level->impact.mean,
		};
		uint32_t known = row == ROUNDS ? level->impact.n :
						 level->slowdown.n;

		cli_print_right(f, known ? cli_change(value[row]) : "-", width);
	}
	fputc('\n', f);
}

/*
 * Return the width of a column: the widest cell, such as "+123 %", and a blank.
 */
static size_t level_width(const struct np_run_summary *profile)
{
	size_t widest = 6;

	for (size_t i = 0; i < profile->n_levels; i++) {
		size_t width = cli_width(level_name(&profile->level[i]));

		widest = width > widest ? width : widest;
	}
	return widest + 1;
}

/* Print which slowdowns come from load intervals, and whether these agree. */
static void print_intervals(FILE *f, const struct np_run_summary *profile)
{
	const struct np_one_run *intervals = &profile->intervals;
	const char *took = "", *calls = "";
	size_t n = 0;

	for (size_t i = 0; i < profile->n_levels; i++)
		n += profile->level[i].of_intervals;
	if (!isnan(profile->intervals_longer))
		took = cli_text(" (%s compared with runs without load)",
				cli_change(profile->intervals_longer));
	if (!isnan(intervals->apart))
		calls = cli_text("; by its %s slowdowns differ by %.1f %%",
				 intervals->by_calls ? "traffic" : "MPI calls",
				 100 * expm1(intervals->apart));
	cli_flabel(f, "Intervals",
		   "%zu loads measured in intervals of %zu %s (%.0f s), which "
		   "made %s longer by at most %s%s: %s%s%s",
		   n, intervals->n_runs,
		   intervals->n_runs == 1 ? "run" : "runs", intervals->sec,
		   intervals->n_runs == 1 ? "it" : "them",
		   cli_percent(intervals->lost_sec /
			       fmax(intervals->sec - intervals->lost_sec, 1)),
		   took, np_one_run_words(intervals->verdict),
		   intervals->by_calls ? ", by its MPI calls" : "", calls);
}

/* Print as many levels as fit; the head says if there are more. */
static void print_levels(FILE *f, const struct np_run_summary *profile)
{
	const struct np_run_summary_level *level = profile->level;
	int width = (int)level_width(profile);
	size_t n = profile->n_levels, most;
	bool runs = false;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		runs |= level[i].run_sec.n > 0;
	/* If not all fit, those with the lowest utilisation are shown. */
	most = (size_t)((cli_columns() - LEVEL_LABEL) / width);
	n = n < most ? n : most;
	fprintf(f, "\n%s%-*s", cli_colour(CLI_BOLD), LEVEL_LABEL,
		profile->n_levels > n ? "Under load (more)" :
		runs		      ? "Under load (runs)" :
					"Under load");
	for (size_t i = 0; i < n; i++)
		cli_print_right(f, level_name(&level[i]), width);
	fprintf(f, "\n%s", cli_colour(CLI_PLAIN));
	for (int row = 0; row < LEVEL_ROWS; row++)
		print_level_row(f, level, n, width, row);
	if (profile->count[NP_RUN_INTERVALS])
		print_intervals(f, profile);
}

/* ---- the output ---- */

/* Count the lines of a text. */
static int count_lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* How much the output is shortened to fit on the screen. */
enum brevity { WHOLE, SHORT_LISTS, SHORT_RECOMMENDATION };

/* Print everything above the histogram. */
static void print_head(FILE *f, const struct show *show, enum brevity brevity)
{
	const struct np_run_summary *profile = &show->profile;

	print_verdict(f, profile);
	print_runs(f, profile);
	print_excluded(f, profile);
	if (profile->fabric) {
		print_fabric(f, profile->fabric);
		cli_print_rails(f, profile->fabric);
	}
	if (profile->latency.n_runs) {
		print_probes(f, profile);
		print_traffic(f, profile);
		cli_print_adapters(f, &profile->latency);
		print_delayed(f, profile);
	}
	print_pairs(f, show, brevity >= SHORT_LISTS);
	print_recommendation(f, &show->recommendation,
			     brevity >= SHORT_RECOMMENDATION);
	print_tolerance(f, &show->tolerance);
	if (profile->latency.n_runs)
		print_latency(f, profile);
}

/*
 * Make the output without its histogram, which belongs after the first *head
 * bytes. Nothing is printed yet, so that the lines can be counted. The caller
 * frees the text.
 */
static char *make_text(const struct show *show, enum brevity brevity,
		       size_t *head)
{
	char *text = NULL;
	size_t len;
	FILE *f = cli_stream_open(&text, &len);

	print_head(f, show, brevity);
	/* fflush() updates len, the bytes printed so far. */
	fflush(f);
	*head = len;
	print_levels(f, &show->profile);
	return cli_stream_close(f, &text);
}

/* Print the profile for people. Returns the exit status. */
static int show_text(const struct show *show)
{
	int brevity = WHOLE, rows; /* an int, so that it can be increased */
	char *text = NULL;
	size_t head;

	do {
		free(text);
		text = make_text(show, (enum brevity)brevity, &head);
	} while (count_lines(text) > CLI_LINES &&
		 brevity++ < SHORT_RECOMMENDATION);
	fwrite(text, 1, head, stdout);
	/* The histogram also needs an empty line and a head. */
	rows = CLI_LINES - count_lines(text) - 2;
	print_histogram(stdout, &show->profile, rows < 8 ? rows : 8);
	fputs(text + head, stdout);
	free(text);
	return CLI_DONE;
}

/* ---- output for programs ---- */

/* Put the verdict, in words and in numbers. */
static void put_verdict(json_object *in, const struct np_run_summary *profile)
{
	static const char *const doubt[] = {
		[NP_DOUBT_PROBES] = "probes",
		[NP_DOUBT_BASELINE] = "baseline",
		[NP_DOUBT_SILENT] = "silent",
		[NP_DOUBT_FULL] = "full",
		[NP_DOUBT_TRAFFIC] = "traffic",
	};
	json_object *object = cli_put_object(in, "verdict");
	json_object *text = cli_put_array(object, "text");
	const struct np_verdict *verdict = &profile->verdict;

	for (int i = 0; i < CLI_SENTENCES; i++) {
		const char *sentence = cli_verdict_text(profile, i);

		if (*sentence)
			cli_append_text(text, sentence);
	}
	cli_put_text(object, "use", cli_use_name(profile));
	cli_put_text(object, "doubt", doubt[verdict->doubt]);
	cli_put_bool(object, "guess", verdict->guess);
	cli_put_text(object, "against",
		     verdict->against == NP_AGAINST_IDLE ? "idle" : "nothing");
	cli_put_text(object, "baseline",
		     profile->idle.n_runs ?
			     np_sample_source_name(profile->idle.source) :
			     NULL);
	cli_put_real(object, "node_bytes_per_sec", verdict->rate);
	cli_put_real(object, "delayed_sec", verdict->delayed_sec);
	cli_put_real(object, "delayed_share", verdict->delayed_share);
	cli_put_real(object, "traffic_share",
		     verdict->against == NP_AGAINST_IDLE ?
			     verdict->traffic_share :
			     NAN);
	cli_put_real(object, "beyond_idle_p95", verdict->beyond_p95);
	cli_put_real(object, "beyond_idle_p99", verdict->beyond_p99);
	cli_put_real(object, "excess", verdict->excess);
	cli_put_real(object, "estimated_utilisation", verdict->utilisation);
	cli_put_text(object, "phases", cli_phase_name(verdict->phases));
	cli_put_real(object, "busy_share", verdict->busy_share);
	cli_put_real(object, "busy_period_sec",
		     profile->phases.busy_period_sec);
	cli_put_bool(object, "interference", verdict->interference);
}

/*
 * Put the number of runs of each use, with the words of netprof runs as keys.
 */
static void put_runs(json_object *in, const struct np_run_summary *profile)
{
	static const enum np_run_use other[] = {
		NP_RUN_UNDER_LEVEL, NP_RUN_INTERVALS, NP_RUN_NEIGHBOURS,
		NP_RUN_FABRIC,	    NP_RUN_TIME,      NP_RUN_FAILED,
		NP_RUN_SUSPENDED,   NP_RUN_UNDER_WAY, NP_RUN_WORKLOAD,
		NP_RUN_AUTOMATIC,
	};
	json_object *object = cli_put_object(in, "runs");

	cli_put_count(object, "used", profile->latency.n_runs);
	for (size_t i = 0; i < NP_ARRAY_SIZE(other); i++)
		cli_put_count(object, np_run_use_name(other[i]),
			      profile->count[other[i]]);
	cli_put_count(object, "unreadable", profile->runs->n_skipped);
}

/* Put the fabric of the newest run, with every leaf switch. */
static void put_fabric(json_object *in, const struct np_record *run)
{
	json_object *object = cli_put_if(in, "fabric", run), *leaves;

	if (!object)
		return;
	cli_put_text(object, "cluster", run->cluster);
	cli_put_text(object, "transport", run->probe.transport);
	cli_put_count(object, "message_bytes", run->probe.message_bytes);
	cli_put_real(object, "period_sec", run->probe.period_sec);
	cli_put_text(object, "mpi_version", run->mpi_version);
	if (np_run_rail(run))
		cli_put_text(object, "busiest_rail", np_run_rail(run));
	leaves = cli_put_array(object, "leaves");
	for (size_t i = 0; i < run->n_leaves; i++) {
		json_object *leaf = cli_append_object(leaves);

		cli_put_text(leaf, "name", run->leaves[i].name);
		if (run->leaves[i].rail) {
			cli_put_text(leaf, "rail", run->leaves[i].rail);
			cli_put_bool(leaf, "loaded",
				     np_run_loads_rail(run,
						       run->leaves[i].rail));
		}
		cli_put_text(leaf, "nodes", run->leaves[i].nodes);
		cli_put_count(leaf, "pairs", run->leaves[i].n_pairs);
		if (run->leaves[i].rail && run->leaves[i].latency.n)
			cli_put_real(leaf, "latency_sec",
				     run->leaves[i].latency.mean);
		cli_put_text(leaf, "skipped", run->leaves[i].skipped);
	}
}

/* Put one sample of latencies; null if there are no runs. */
static void put_sample(json_object *in, const char *key,
		       const struct np_sample *sample)
{
	json_object *object = cli_put_if(in, key, sample->n_runs);

	if (!object)
		return;
	cli_put_count(object, "runs", sample->n_runs);
	cli_put_count(object, "n", sample->moments.n);
	cli_put_real(object, "mean_sec", sample->moments.mean);
	cli_put_real(object, "sd_sec", np_moments_sd(&sample->moments));
	cli_put_real(object, "p50_sec", np_sample_quantile(sample, 0.5));
	cli_put_real(object, "p90_sec", np_sample_quantile(sample, 0.9));
	cli_put_real(object, "p99_sec", np_sample_quantile(sample, 0.99));
	cli_put_real(object, "max_sec", sample->moments.max);
	cli_put_time(object, "first", sample->first);
	cli_put_time(object, "last", sample->last);
	cli_put_bool(object, "with_neighbours", sample->neighbours);
}

/* Put [from_sec, samples, idle samples] for each bin that is not empty. */
static void put_hist(json_object *in, const struct np_run_summary *profile)
{
	json_object *list = cli_put_array(in, "histogram");

	for (size_t i = 0; i < NP_HIST_BINS; i++) {
		uint64_t n = count_in(profile->latency.hist, i, i + 1);
		uint64_t idle = count_in(profile->idle.hist, i, i + 1);
		json_object *row;

		if (!n && !idle)
			continue;
		row = json_object_new_array();
		/* Six digits keep the output short. */
		json_object_array_add(
			row, json_object_new_double_s(
				     np_hist_edge(i),
				     cli_text("%.6g", np_hist_edge(i))));
		json_object_array_add(row, json_object_new_uint64(n));
		json_object_array_add(row, json_object_new_uint64(idle));
		json_object_array_add(list, row);
	}
}

/* Put the load intervals within runs; null if no run had any. */
static void put_intervals(json_object *in, const struct np_run_summary *summary)
{
	const struct np_one_run *intervals = &summary->intervals;
	json_object *object =
		cli_put_if(in, "intervals", summary->count[NP_RUN_INTERVALS]);

	if (!object)
		return;
	cli_put_bool(object, "usable", intervals->verdict == NP_ONE_RUN_USABLE);
	cli_put_text(object, "text", np_one_run_words(intervals->verdict));
	cli_put_count(object, "runs", intervals->n_runs);
	cli_put_count(object, "loaded", intervals->n_loaded);
	cli_put_real(object, "sec", intervals->sec);
	cli_put_real(object, "lost_sec", intervals->lost_sec);
	cli_put_real(object, "longer", summary->intervals_longer);
	cli_put_real(object, "between", intervals->between);
	cli_put_text(object, "by", intervals->by_calls ? "calls" : "bytes");
	cli_put_real(object, "apart", intervals->apart);
}

/*
 * Put the cost of the probes. If it is not known, its members are null rather
 * than missing, so that scripts need not test for them.
 */
static void put_cost(json_object *in, const struct np_run_summary *profile)
{
	const struct np_probe_cost *cost = &profile->cost;
	bool known = cost->elapsed_sec > 0;
	json_object *object = cli_put_object(in, "probe_cost");

	cli_put_real(object, "cpu_share", known ? cost->cpu_share : NAN);
	cli_put_real(object, "cpu_share_max",
		     known ? cost->cpu_share_max : NAN);
	cli_put(object, "rss_bytes_max",
		known ? json_object_new_uint64(cost->rss_bytes_max) : NULL);
	cli_put(object, "messages",
		known ? json_object_new_uint64(cost->messages) : NULL);
}

/* Put the predictions of one list, the worst first. */
static void put_pairs(json_object *in, const char *key,
		      const struct cli_pair_list *list)
{
	json_object *array = cli_put_array(in, key);

	for (size_t i = 0; i < list->n; i++) {
		json_object *one = cli_append_object(array);

		cli_put_text(one, "app", list->pair[i].app);
		cli_put_interval(one, &list->pair[i].prediction);
	}
}

/* Put the recommendation of the text, in full. */
static void put_recommendation(json_object *in,
			       const struct cli_recommendation *recommendation)
{
	json_object *object = cli_put_object(in, "recommendation"), *list;

	cli_put_real(object, "limit", recommendation->limit);
	list = cli_put_array(object, "avoid");
	for (size_t i = 0; i < recommendation->n_avoid; i++)
		cli_append_text(list, recommendation->pair[i].app);
	cli_put_text(object, "command",
		     *recommendation->command ? recommendation->command : NULL);
	cli_put_text(object, "measures",
		     *recommendation->command ? recommendation->measurement :
						NULL);
}

/* Put the tolerance; null if no trace gives one. */
static void put_tolerance(json_object *in, const struct tolerance *tolerance)
{
	json_object *list;

	if (!tolerance->traced || tolerance->why.text[0]) {
		cli_put(in, "latency_tolerance", NULL);
		return;
	}
	list = cli_put_array(in, "latency_tolerance");
	for (size_t i = 0; i < NP_TRACE_THRESHOLDS; i++) {
		json_object *one = cli_append_object(list);

		cli_put_real(one, "longer", tolerance->threshold[i].longer);
		cli_put_real(one, "added_sec",
			     tolerance->threshold[i].added_sec);
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

/* Print the profile for programs. --parsable prints what the table names. */
static int show_data(const struct show *show, enum cli_format format)
{
	json_object *root = json_object_new_object();
	const struct np_run_summary *profile = &show->profile;
	const struct pairs *pairs = &show->pairs;

	cli_put_text(root, "app", profile->runs->app);
	cli_put_owner(root, profile->runs->owner, profile->runs->uid);
	put_verdict(root, profile);
	put_runs(root, profile);
	put_fabric(root, profile->fabric);
	cli_put_adapters(root, &profile->latency);
	put_sample(root, "latency", &profile->latency);
	put_sample(root, "idle", &profile->idle);
	put_hist(root, profile);
	cli_put_levels(root, profile);
	put_intervals(root, profile);
	put_cost(root, profile);
	cli_put_calibration(root, &pairs->known, pairs->scope);
	put_pairs(root, "slowed_by", &pairs->slowed_by);
	put_pairs(root, "slows", &pairs->slows);
	put_recommendation(root, &show->recommendation);
	put_tolerance(root, &show->tolerance);
	return cli_print_output(format, "show", root, &table);
}

/* ---- the command ---- */

/* Read everything to be shown. Returns -1 to go on, or the exit status. */
static int find(struct show *show, struct cli_store *store,
		const struct cli_options *options)
{
	struct cli_known *known = &show->pairs.known;
	const struct np_runs *runs;
	int rc;

	list_candidates(&show->pairs, store, options);
	rc = cli_known_find(known, store, options);
	if (rc >= 0)
		return rc;
	runs = &known->app[0]->runs;
	cli_profile_make(store, runs, runs, &show->profile);
	find_pairs(&show->pairs);
	find_tolerance(store, runs, &show->tolerance);
	cli_recommend(&show->profile, known, show->pairs.scope,
		      &show->pairs.slowed_by, store->max_slowdown,
		      &show->recommendation);
	return rc;
}

static int run_show(const struct cli_cmd *self, int argc, char **argv)
{
	struct show show;
	struct cli_options options;
	struct cli_store store;
	int rc = cli_options_parse(self, argc, argv, NULL, &options);

	if (rc < 0)
		rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	rc = find(&show, &store, &options);
	cli_store_close(&store);
	if (rc < 0) {
		rc = options.format ? show_data(&show, options.format) :
				      show_text(&show);
		np_run_summary_free(&show.profile);
	}
	close_caches(&show.pairs);
	cli_known_free(&show.pairs.known);
	return rc;
}

const struct cli_cmd cmd_show = {
	.name = "show",
	.args = "[--json|--parsable] [--user=NAME|--published] APP",
	.help = "how an application uses the network",
	.text = "Prints the profile of APP on one screen: first in words how it uses the\n"
		"network, then the numbers behind that: probe latencies, its slowdown under\n"
		"synthetic load, and which of the known applications would slow it most, or be\n"
		"slowed by it most, from other nodes of the same leaf switch.\n\n"
		"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
		"  --user=NAME         another user's profile, if you may read it\n"
		"  --published         the profile that an administrator published\n\n"
		"Default: your own profile, or the published one if you have none.",
	.examples = "  netprof show lammps\n"
		    "  netprof show --published cp2k\n"
		    "  netprof show --json lammps | jq .verdict\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.required_arg = "an application",
	.max_args = 1,
	.run = run_show,
};

/*
 * Interference pairs of one application: the known applications that slow it
 * most, and those that it slows most, as the default model predicts.  The
 * results are cached, because a prediction for every pair takes seconds.
 */
#ifndef CLI_PAIRS_H
#define CLI_PAIRS_H

#include "cli_predict.h"
#include "np_cache.h"

#define CLI_PAIRS_MAX 3

struct cli_pair {
	const char *app;   /* the other application; borrowed */
	size_t victim, co; /* indices into the known applications */
	struct np_prediction p;
};

/* The worst pairs, largest slowdown first, uncertain ones last. */
struct cli_pair_list {
	struct cli_pair pair[CLI_PAIRS_MAX];
	size_t n;
};

/*
 * Candidates: the user's applications, then the published ones that the user
 * has no own profile of; never "idle".
 */
struct cli_candidates {
	struct cli_store *s; /* borrowed */
	uid_t uid;
	struct np_store_app *app;
	size_t n_own, n; /* user's applications, all */
	/* Set once the calibration is known. */
	struct np_store_stamp fabric;
	struct np_cache
		*summaries; /* cache of run summaries, one per application */
	struct np_cache *results; /* cache of results, which change more often */
};

struct cli_pairs {
	struct cli_candidates others;
	struct cli_known k; /* app[0] is the application shown */
	enum np_scope scope;
	bool predicted; /* the lists are valid, if perhaps empty */
	struct cli_pair_list slowed_by, slows;
};

/* Insert t in its place; the list keeps the CLI_PAIRS_MAX worst pairs. */
void cli_pair_insert(struct cli_pair_list *list, const struct cli_pair *t);

/*
 * List the candidates.  To be called before any run is read, so that the state
 * of the cache is not newer than the runs.  Never fails: unreadable directories
 * are treated as empty.  The caller frees t.
 */
void cli_pairs_list(struct cli_pairs *t, struct cli_store *s,
		   const struct cli_options *o);

/*
 * Predict the pairs of p, which is borrowed for the life of t, while the store
 * is still open.  Never fails: without a calibration, slowdowns under load or
 * memory, t->predicted stays false.
 */
void cli_pairs_find(struct cli_pairs *t, const struct cli_profile *p);
void cli_pairs_free(struct cli_pairs *t);

#endif

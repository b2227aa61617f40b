/*
 * Predicts the slowdown of every pair of applications.
 *
 * After cli_matrix_find() has loaded the applications, the caller loads the
 * calibration with cli_predict_prepare(), and handles its absence. Then
 * cli_matrix_make() predicts all pairs at once.
 */
#include "cli_matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *cli_matrix_name(const struct cli_matrix *m, size_t i)
{
	return m->known->app[m->app[i]]->runs.app;
}

/*
 * No further application is read once so many runs of all applications were
 * read: it bounds the time and the memory of a command without arguments.
 */
#define MAX_RUNS 5000

/*
 * Whether an application is not to be added: the list has one of this name, or
 * it is the idle network.
 */
static bool is_skipped(const struct cli_known *known, const char *name)
{
	for (size_t i = 0; i < known->n; i++)
		if (!strcmp(known->app[i]->runs.app, name))
			return true;
	return !strcmp(name, NP_IDLE_APP);
}

/* Add the applications of one owner, silently skipping what cannot be read. */
static void add_owner(struct cli_known *known, struct cli_store *store,
		      enum np_store_owner owner, uid_t uid)
{
	struct np_store_app *apps;
	size_t n;

	/* Unreadable directories are treated as empty. */
	if (np_store_list_apps(store->store, owner, uid, &apps, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		struct np_runs runs;

		if (is_skipped(known, apps[i].name))
			continue;
		if (known->n_runs >= MAX_RUNS) {
			known->truncated = true;
			break;
		}
		if (cli_runs_load_quiet(store, owner, uid, apps[i].name, &runs))
			continue;
		known->n_runs += runs.n;
		cli_known_add(known, &runs);
	}
	free(apps);
}

int cli_matrix_find(struct cli_known *known, struct cli_store *store,
		    const struct cli_options *options)
{
	int rc = cli_known_find(known, store, options);

	if (rc >= 0)
		return rc;
	/* Those of the user come first, and hide published ones. */
	if (!options->n_apps && !options->published)
		add_owner(known, store, NP_STORE_USER, options->uid);
	if (!options->n_apps)
		add_owner(known, store, NP_STORE_PUBLISHED, options->uid);
	if (!known->n)
		return cli_fail("no profiles yet: sbatch --netprofile=NAME "
				"job.sh makes one");
	if (known->truncated)
		cli_fail("more than %d runs: some applications are excluded",
			 MAX_RUNS);
	return -1;
}

/*
 * Whether to include an application: if a model can use it, and unless the user
 * requested it, only if it has runs that were used.
 */
static bool is_selected(const struct cli_known_app *app, bool requested)
{
	return !app->unusable.text[0] &&
	       (requested || (np_run_summary_has_data(&app->summary) &&
			      app->summary.n_used));
}

/* A qsort_r() order of indices into known->app, by name. */
static int by_app_name(const void *a, const void *b, void *arg)
{
	const struct cli_known *known = arg;

	return strcmp(known->app[*(const size_t *)a]->runs.app,
		      known->app[*(const size_t *)b]->runs.app);
}

/*
 * Select rows and columns. Requested applications keep their order; otherwise
 * they are sorted by name.
 */
static void select_apps(struct cli_matrix *m, bool requested)
{
	const struct cli_known *known = m->known;

	m->app = cli_calloc(known->n, sizeof(*m->app));
	for (size_t i = 0; i < known->n; i++)
		if (is_selected(known->app[i], requested))
			m->app[m->n++] = i;
	if (!requested)
		qsort_r(m->app, m->n, sizeof(*m->app), by_app_name,
			(void *)known);
}

/*
 * Predict all pairs with one predictor, which shares the work that pairs have
 * in common. Returns -1 to continue, or the exit status.
 */
static int predict_pairs(struct cli_matrix *m)
{
	size_t n = m->n;
	const struct np_program **program = cli_calloc(n, sizeof(*program));
	struct np_predictor *predictor = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc;

	m->prediction = cli_calloc(n * n, sizeof(*m->prediction));
	m->rc = cli_calloc(n * n, sizeof(*m->rc));
	for (size_t i = 0; i < n; i++)
		program[i] = &m->known->app[m->app[i]]->summary.program;
	rc = cli_known_predictor(m->known, m->model, true, &predictor, &err);
	if (!rc)
		rc = np_predict_matrix(predictor, program, n, m->scope,
				       m->prediction, m->rc, &err);
	np_predictor_free(predictor);
	free(program);
	return rc ? cli_fail("%s", err.text) : -1;
}

int cli_matrix_make(const struct cli_known *known,
		    const struct cli_options *options, struct cli_matrix *out)
{
	struct cli_matrix m = { .known = known,
				.model = options->model,
				.scope = options->scope };
	int rc = -1;

	select_apps(&m, options->n_apps > 0);
	if (m.n)
		rc = predict_pairs(&m);
	if (rc >= 0)
		cli_matrix_free(&m);
	else
		*out = m;
	return rc;
}

void cli_matrix_free(struct cli_matrix *m)
{
	free(m->app);
	free(m->prediction);
	free(m->rc);
}

const char *cli_matrix_why(int rc)
{
	return rc == -ENODATA ? "not measured" : "no prediction";
}

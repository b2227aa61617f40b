/*
 * Predictions for every pair of applications.
 *
 * Applications are loaded first and judged by the caller (cli_predict_prepare()),
 * so that it decides what to do without a calibration; then all pairs are
 * predicted at once.
 */
#include "cli_matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *cli_matrix_name(const struct cli_matrix *m, size_t i)
{
	return m->k->app[m->at[i]]->r.runs.app;
}

#define CLI_KNOWN_RUNS 5000 /* limit of runs read, all applications together */

/* Is an application of this name in the list? The idle one always counts. */
static bool has_app(const struct cli_known *k, const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->app[i]->r.runs.app, name))
			return true;
	return !strcmp(name, NP_IDLE_APP);
}

/* Add all applications of one owner, up to CLI_KNOWN_RUNS runs. */
static int add_owner(struct cli_known *k, struct cli_store *s,
		     enum np_store_owner owner, uid_t uid)
{
	struct np_store_app *apps;
	size_t n;
	int rc = 0;

	/* Unreadable directories are treated as empty. */
	if (np_store_list_apps(s->store, owner, uid, &apps, &n, NULL))
		return 0;
	for (size_t i = 0; !rc && i < n; i++) {
		struct cli_runs r;

		if (has_app(k, apps[i].name))
			continue;
		if (k->n_runs >= CLI_KNOWN_RUNS) {
			k->cut = true;
			break;
		}
		rc = cli_runs_load_quiet(s, owner, uid, apps[i].name, &r);
		if (!rc) {
			k->n_runs += r.runs.n;
			rc = cli_known_add(k, &r, true);
		}
		rc = rc == -ENOENT ? 0 : rc;
	}
	free(apps);
	return rc;
}

/*
 * Add the user's applications, and the published ones with names that the user
 * does not have. Skips the idle runs, applications that are in the list, and,
 * silently, what cannot be read. Returns 0 or -ENOMEM.
 */
static int known_add_all(struct cli_known *k, struct cli_store *s,
			 const struct cli_options *o)
{
	int rc = o->published ? 0 : add_owner(k, s, NP_STORE_USER, o->uid);

	return rc ? rc : add_owner(k, s, NP_STORE_PUBLISHED, 0);
}

int cli_matrix_find(struct cli_known *k, struct cli_store *s,
		    const struct cli_options *o)
{
	int rc = cli_known_find(k, s, o);

	if (rc >= 0)
		return rc;
	if (!o->n_apps && known_add_all(k, s, o))
		return cli_fail("out of memory");
	if (!k->n)
		return cli_fail("no profiles yet: sbatch --netprofile=NAME "
				"job.sh makes one");
	if (k->cut)
		cli_fail("more than %d runs: some applications are excluded",
			 CLI_KNOWN_RUNS);
	return -1;
}

/* Without being asked for, it needs usable runs on this fabric. */
static bool takes_part(const struct cli_known_app *a, bool requested)
{
	return !a->unusable.text[0] &&
	       (requested ||
		(np_run_summary_has_data(&a->summary) && a->summary.n_used));
}

/* qsort_r() order of indices into the known applications. */
static int by_name(const void *a, const void *b, void *arg)
{
	const struct cli_known *k = arg;

	return strcmp(k->app[*(const size_t *)a]->r.runs.app,
		      k->app[*(const size_t *)b]->r.runs.app);
}

/*
 * Select rows and columns. Applications that were named keep their order;
 * otherwise they are sorted by name. Returns -1 to go on, or the exit status.
 */
static int choose(struct cli_matrix *m, bool requested)
{
	const struct cli_known *k = m->k;

	m->at = calloc(k->n + 1, sizeof(*m->at));
	if (!m->at)
		return cli_fail("out of memory");
	for (size_t i = 0; i < k->n; i++)
		if (takes_part(k->app[i], requested))
			m->at[m->n++] = i;
	if (!requested)
		qsort_r(m->at, m->n, sizeof(*m->at), by_name, (void *)k);
	return -1;
}

/*
 * Predict all pairs with one predictor, which shares the work that pairs have
 * in common. Returns -1 to go on, or the exit status.
 */
static int predict_pairs(struct cli_matrix *m)
{
	const struct np_program **app = calloc(m->n, sizeof(*app));
	struct np_predictor *models = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc;

	m->p = calloc(m->n * m->n, sizeof(*m->p));
	m->rc = calloc(m->n * m->n, sizeof(*m->rc));
	rc = app && m->p && m->rc ? 0 : np_errf(&err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < m->n; i++)
		app[i] = &m->k->app[m->at[i]]->summary.program;
	if (!rc)
		rc = cli_known_predictor(m->k, m->model, true, &models, &err);
	if (!rc)
		rc = np_predict_matrix(models, app, m->n, m->scope, m->p,
				       m->rc, &err);
	np_predictor_free(models);
	free(app);
	return rc ? cli_fail("%s", err.text) : -1;
}

int cli_matrix_make(const struct cli_known *k, const struct cli_options *o,
		    struct cli_matrix *out)
{
	struct cli_matrix m = { .k = k, .model = o->model, .scope = o->scope };
	int rc = choose(&m, o->n_apps > 0);

	if (rc < 0 && m.n)
		rc = predict_pairs(&m);
	if (rc >= 0)
		cli_matrix_free(&m);
	else
		*out = m;
	return rc;
}

void cli_matrix_free(struct cli_matrix *m)
{
	free(m->at);
	free(m->p);
	free(m->rc);
}

const char *cli_matrix_why(int rc)
{
	return rc == -ENODATA ? "not measured" : "no prediction";
}

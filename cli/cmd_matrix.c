/* netprof matrix: every application beside every other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli_matrix.h"

/* Find those that were asked for, or all; -1 to go on, or the exit status. */
static int find(struct cli_known *k, struct cli_store *s,
		const struct cli_options *o)
{
	struct cli_runs r;
	int rc;

	for (size_t i = 0; i < o->n_apps; i++) {
		rc = cli_runs_find(s, o, o->apps[i], &r);
		if (rc >= 0)
			return rc;
		if (cli_known_add(k, &r, true))
			return cli_fail("out of memory");
	}
	if (!o->n_apps && cli_known_add_all(k, s, o))
		return cli_fail("out of memory");
	if (!k->n)
		return cli_fail("no profile yet: sbatch --netprofile=NAME "
				"job.sh makes one");
	if (k->cut)
		cli_fail("more than %d runs: some applications are left out",
			 CLI_KNOWN_RUNS);
	rc = cli_known_judge(k, s, k->n, !o->n_apps);
	if (rc == -ENOENT)
		return cli_fail("%s; an administrator makes one by: %s",
				k->why.text, CLI_CALIBRATE);
	return rc ? cli_fail("%s", k->why.text) : -1;
}

/* Has any run of it something to say on this fabric? */
static bool takes_part(const struct cli_known_app *a, bool asked_for)
{
	return !a->unusable.text[0] &&
	       (asked_for ||
		(cli_known_has_data(a) && a->evidence.n_used));
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct cli_known *k = arg;

	return strcmp(k->app[*(const size_t *)a]->r.runs.app,
		      k->app[*(const size_t *)b]->r.runs.app);
}

static int choose(struct cli_matrix *m, bool asked_for)
{
	const struct cli_known *k = m->k;

	m->at = calloc(k->n + 1, sizeof(*m->at));
	if (!m->at)
		return cli_fail("out of memory");
	for (size_t i = 0; i < k->n; i++)
		if (takes_part(k->app[i], asked_for))
			m->at[m->n++] = i;
		else if (k->app[i]->unusable.text[0])
			cli_fail("%s", k->app[i]->unusable.text);
	if (!m->n)
		return cli_fail("no application was measured on cluster %s "
				"yet: sbatch --netprofile=NAME "
				"--netprofile-calibrate job.sh does that",
				k->cal.cluster);
	if (!asked_for)
		qsort_r(m->at, m->n, sizeof(*m->at), by_name, (void *)k);
	return -1;
}

static int ask(struct cli_matrix *m)
{
	const struct np_predict_opt opt = {
		.replicates = NP_PREDICT_REPLICATES, .seed = 1,
	};
	const struct np_program **app = calloc(m->n, sizeof(*app));
	struct np_predictor *models = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc;

	m->p = calloc(m->n * m->n, sizeof(*m->p));
	m->rc = calloc(m->n * m->n, sizeof(*m->rc));
	rc = app && m->p && m->rc ? 0 : np_errf(&err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < m->n; i++)
		app[i] = &m->k->app[m->at[i]]->evidence.program;
	if (!rc)
		rc = np_predictor_new(m->k->cal.fabric, m->model, &opt,
				      &models, &err);
	if (!rc)
		rc = np_predict_matrix(models, app, m->n, m->scope, m->p,
				       m->rc, &err);
	np_predictor_free(models);
	free(app);
	return rc ? cli_fail("%s", err.text) : -1;
}

static int matrix(const struct cli_known *k, const struct cli_options *o)
{
	struct cli_matrix m = { .k = k, .model = o->model, .scope = o->scope };
	int rc = choose(&m, o->n_apps > 0);

	if (rc < 0)
		rc = ask(&m);
	if (rc < 0)
		rc = o->format == CLI_JSON ? cli_matrix_json(&m) :
		     o->format == CLI_CSV ? cli_matrix_csv(&m) :
					    cli_matrix_text(&m);
	free(m.at);
	free(m.p);
	free(m.rc);
	return rc;
}

static int run_matrix(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_known k = { .n = 0 };
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, CLI_TAKES_JSON |
				   CLI_TAKES_CSV | CLI_TAKES_USER |
				   CLI_TAKES_MODEL | CLI_TAKES_APPS, &o);

	if (rc >= 0)
		return rc;
	rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = find(&k, &s, &o);
	cli_store_close(&s);
	if (rc < 0)
		rc = matrix(&k, &o);
	cli_known_free(&k);
	return rc;
}

const struct cli_cmd cmd_matrix = {
	.name = "matrix",
	.args = "[--json|--csv] [OPTION]... [APP]...",
	.help = "every application beside every other",
	.text =
"Predicts how much longer each application runs beside each other and beside\n"
"another one like itself: rows suffer, columns press.  Without APP: your own\n"
"applications and the published ones that were measured on this fabric.\n\n"
"  --scope=SCOPE   where the other is: node, leaf (as without) or uplink\n"
"  --model=M       another model than " NP_MODEL_DEFAULT "; see netprof accuracy\n"
"  --csv           one pair a line, with its 90 % interval\n"
"  --json          the same for programs\n"
"  --user=NAME, --published\n"
"                  whose profiles, as for netprof show",
	.run = run_matrix,
};

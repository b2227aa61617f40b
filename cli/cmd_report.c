/* netprof report: a page of all that is known, for a browser. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_output.h"
#include "cli_report.h"
#include "cli_state.h"
#include "cli_traced.h"

static int by_name(const void *a, const void *b)
{
	const struct cli_part *x = a, *y = b;

	return strcmp(x->app->r.runs.app, y->app->r.runs.app);
}

/* Without a calibration the page says so, and tells the rest. */
static int judge(struct cli_report *r, struct cli_store *s,
		 const struct cli_options *o)
{
	int rc = cli_known_judge(&r->k, s, r->k.n, !o->n_apps);

	r->limit = s->max_slowdown;
	if (rc == -ENOENT)
		np_errf(&r->m_why, rc, "%.400s; an administrator makes one by: "
			"%s", r->k.why.text, CLI_CALIBRATE);
	else if (rc)
		return cli_fail("%s", r->k.why.text);
	else if (cli_known_trace(&r->k, s, o->model))
		return cli_fail("out of memory");
	else
		np_errf(&r->m_why, 0, "No application was measured on cluster "
			"%s yet.", r->k.cal.cluster);
	for (int i = 0; i < 2; i++) /* none is fine */
		np_store_load(s->store, i ? NP_STORE_PUBLISHED : NP_STORE_USER,
			      o->uid, NP_IDLE_APP, NULL, NULL, &r->idle[i],
			      NULL);
	return -1;
}

static int make_part(struct cli_report *r, struct cli_part *part)
{
	bool published = part->app->r.owner == NP_STORE_PUBLISHED;
	const struct np_runs *const idle[] = {
		&r->idle[published], &r->idle[!published],
	};

	return np_profile_make(&part->app->r.runs, idle, 2, r->date,
			       &part->profile);
}

static int make_parts(struct cli_report *r)
{
	r->part = calloc(r->k.n + 1, sizeof(*r->part));
	if (!r->part)
		return -ENOMEM;
	for (size_t i = 0; i < r->k.n; i++)
		r->part[i].app = r->k.app[i];
	qsort(r->part, r->k.n, sizeof(*r->part), by_name);
	for (; r->n < r->k.n; r->n++)
		if (make_part(r, &r->part[r->n]))
			return -ENOMEM;
	return 0;
}

/* v beside c; other: which of them is not the one that the list is about. */
static void take_pair(const struct cli_matrix *m, size_t v, size_t c,
		      size_t other, struct cli_tie_list *list)
{
	struct cli_tie t = {
		.app = cli_matrix_name(m, other),
		.victim = m->at[v], .co = m->at[c], .p = m->p[v * m->n + c],
	};

	if (!m->rc[v * m->n + c])
		cli_tie_keep(list, &t);
}

/* Of the pairs: who slows it, and whom it slows. */
static void take_pairs(struct cli_report *r, struct cli_part *part)
{
	const struct cli_matrix *m = &r->m;

	for (size_t v = 0; v < m->n; v++) {
		if (m->k->app[m->at[v]] != part->app)
			continue;
		for (size_t c = 0; c < m->n; c++) {
			take_pair(m, v, c, c, &part->slowed_by);
			if (c != v)
				take_pair(m, c, v, c, &part->slows);
		}
	}
}

/* Pairs do not know what would narrow them: the worst one is asked again. */
static void advise(struct cli_report *r, struct cli_part *part,
		   struct np_predictor *models)
{
	struct cli_answer a = { .scope = r->m.scope, .n_co = 1 };
	struct cli_tie *worst = part->slowed_by.tie;

	if (part->slowed_by.n && models) {
		a.victim = worst->victim;
		a.co[0] = worst->co;
		cli_ask(models, &r->k, &a);
		if (!a.rc)
			worst->p = a.p;
	}
	cli_advise(&part->profile, &r->k, r->m.scope, &part->slowed_by, r->limit,
		   &part->advice);
}

static int predict(struct cli_report *r, const struct cli_options *o)
{
	struct np_predictor *models = NULL;
	int rc = -1;

	r->m.scope = o->scope;
	if (r->k.calibrated)
		rc = cli_matrix_make(&r->k, o, &r->m);
	if (rc >= 0)
		return rc;
	if (r->m.n)
		cli_known_predictor(&r->k, o->model, true, &models, NULL);
	for (size_t i = 0; i < r->n; i++) {
		take_pairs(r, &r->part[i]);
		advise(r, &r->part[i], models);
	}
	np_predictor_free(models);
	return rc;
}

/* Of a directory, index.html in it. */
static int put(const struct cli_report *r, const char *output)
{
	struct np_err err = NP_ERR_INIT;
	char path[PATH_MAX], *text;
	struct stat st;
	int rc = snprintf(path, sizeof(path), "%s%s", output,
			  !stat(output, &st) && S_ISDIR(st.st_mode) ?
			  "/index.html" : "");

	if (rc >= (int)sizeof(path))
		return cli_fail("%.64s...: path too long", output);
	text = cli_report_page(r);
	if (!text)
		return cli_fail("out of memory");
	rc = cli_write_file(path, text, 0, &err);
	free(text);
	if (rc)
		return cli_fail("%s", err.text);
	printf("wrote %s: %zu applications, %zu pairs\n", path, r->n,
	       r->m.n * r->m.n);
	return CLI_DONE;
}

static void release(struct cli_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		np_profile_free(&r->part[i].profile);
	free(r->part);
	cli_matrix_free(&r->m);
	np_runs_free(&r->idle[0]);
	np_runs_free(&r->idle[1]);
	cli_known_free(&r->k);
}

static int run_report(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_report r = { .date = cli_now() };
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc < 0 && !o.output)
		rc = cli_usage(self, "-o is missing: where the page goes");
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = cli_matrix_find(&r.k, &s, &o);
	if (rc < 0)
		rc = judge(&r, &s, &o);
	cli_store_close(&s);
	if (rc < 0 && make_parts(&r))
		rc = cli_fail("out of memory");
	if (rc < 0)
		rc = predict(&r, &o);
	if (rc < 0)
		rc = put(&r, o.output);
	release(&r);
	return rc;
}

const struct cli_cmd cmd_report = {
	.name = "report", .args = "[OPTION]... [APP]... -o FILE.html|DIR",
	.help = "a page of all that is known, for a browser",
	.text =
"Writes one page that needs no network: what applications do to the network,\n"
"in a list and in a part for each, with its verdict, advice and curve; and\n"
"every application beside every other, in a table that can be sorted.\n"
"Without APP: your own applications and the published ones.\n\n"
"  -o FILE, --output=FILE  where it goes; in a directory, index.html\n"
"  --scope=SCOPE, --model=M, --user=NAME, --published\n"
"                          as for netprof matrix",
	.examples =
"  netprof report -o page.html\n"
"  netprof report fft halo lammps -o /var/www/netprof\n",
	.takes = CLI_TAKES_OUTPUT | CLI_TAKES_USER | CLI_TAKES_MODEL,
	.most = CLI_ANY,
	.run = run_report,
};

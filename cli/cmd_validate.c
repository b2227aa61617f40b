/* netprof validate: how true are the predictions here? */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_matrix.h"
#include "cli_text.h"
#include "cli_validate.h"

#define MOST_REPEATS 20

struct ask {
	uint32_t repeats;
	bool fresh, dry_run;
};

/* ---- what was measured before ---- */

static int describe(struct cli_validate *v, struct np_err *err)
{
	size_t n = v->list.n;

	v->pairs.setup = np_validate_list_text(&v->list);
	v->pairs.program = calloc(n, sizeof(*v->pairs.program));
	if (!v->pairs.setup || !v->pairs.program)
		return np_errf(err, -ENOMEM, "out of memory");
	v->pairs.n_programs = n;
	for (size_t i = 0; i < n; i++) {
		const struct np_validate_program *p = &v->list.program[i];
		struct np_pairs_program *to = &v->pairs.program[i];
		size_t len;
		FILE *f = open_memstream(&to->command, &len);

		strcpy(to->name, p->name);
		to->nodes = p->nodes;
		to->tasks_per_node = p->per_node;
		for (size_t k = 0; f && k < p->run.n; k++)
			fprintf(f, "%s%s", k ? " " : "", p->run.word[k]);
		if (!f || fclose(f))
			return np_errf(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* Earlier runs are taken over if they were of the same programs. */
static int load(struct cli_validate *v, bool fresh, struct np_err *err)
{
	struct np_pairs old;
	int rc = fresh ? -ENOENT : np_pairs_load(v->path, &old, err);
	int made = !rc || rc == -ENOENT ? describe(v, err) : 0;

	if (rc == -ENOENT || made)
		return made;
	if (rc)
		return rc;
	if (strcmp(old.setup, v->pairs.setup)) {
		np_pairs_free(&old);
		return np_errf(err, -EEXIST, "%s is of other programs or other "
			       "commands: --fresh begins anew", v->path);
	}
	np_pairs_free(&v->pairs);
	v->pairs = old;
	return 0;
}

/* ---- measuring ---- */

static char *copy(const char *text)
{
	return text && *text ? strdup(text) : NULL;
}

static int same_place(const struct cli_validate *v,
		      const struct np_validate_sites *s, struct np_err *err)
{
	const struct np_pairs_place *p = &v->pairs.place;

	if (!v->pairs.n_runs || !p->leaf || !strcmp(p->leaf, s->leaf))
		return 0;
	return np_errf(err, -EEXIST, "%s was begun on leaf %s, and this is %s: "
		       "--fresh begins anew", v->path, p->leaf, s->leaf);
}

/* transport is taken over. */
static void note_place(struct cli_validate *v, const struct cli_alloc *at,
		       const struct np_validate_sites *s, char *transport)
{
	struct np_pairs_place *p = &v->pairs.place;

	free(p->cluster);
	free(p->leaf);
	free(p->transport);
	free(p->victim_nodes);
	free(p->corunner_nodes);
	free(p->apart_nodes);
	*p = (struct np_pairs_place){
		.cluster = copy(at->cluster), .leaf = copy(s->leaf),
		.transport = transport, .victim_nodes = copy(s->victim.list),
		.corunner_nodes = copy(s->corunner.list),
		.apart_nodes = copy(s->apart.list),
	};
}

static void say_plan(const struct cli_validate *v,
		     const struct np_validate_sites *s,
		     const struct np_validate_task *task, size_t n)
{
	char t[CLI_NUMBER];

	fprintf(stderr, "leaf %s: programs on %s are measured beside others on "
		"%s\n", *s->leaf ? s->leaf : "(no topology)", s->victim.list,
		s->corunner.list);
	if (s->apart.n)
		fprintf(stderr, "controls: the others on %s, under another "
			"leaf\n", s->apart.list);
	else
		fprintf(stderr, "no controls: the allocation has too few nodes "
			"under another leaf\n");
	fprintf(stderr, "%zu program%s, %u run%s of each pair; %zu runs%s, "
		"about %s\n", v->list.n, v->list.n == 1 ? "" : "s", v->repeats,
		v->repeats == 1 ? "" : "s", n,
		v->pairs.n_runs ? " are left" : "",
		cli_sec(cli_validate_left_sec(v, task, n), t));
}

static int measure_here(struct cli_validate *v, bool dry_run,
			struct cli_alloc *at, struct np_validate_sites *s,
			struct np_err *err)
{
	struct np_validate_task *task;
	size_t n;
	int rc;

	if (np_validate_plan(&v->list, v->repeats, s->apart.n > 0, &v->pairs,
			     &task, &n))
		return np_errf(err, -ENOMEM, "out of memory");
	say_plan(v, s, task, n);
	rc = dry_run ? 0 : cli_validate_run(v, at, s, task, n, err);
	free(task);
	if (rc && rc != -ENOMEM)
		fprintf(stderr, "%snetprof: what was measured is kept in %s; "
			"the same command goes on\n",
			isatty(STDERR_FILENO) ? "\n" : "", v->path);
	return rc;
}

static int measure(struct cli_validate *v, bool dry_run, struct np_err *err)
{
	static struct cli_alloc at; /* it refers to itself */
	struct np_validate_sites s = { .leaf = NULL };
	char *transport = NULL;
	int rc = cli_alloc_find(&at, 8, "validate FILE", err);

	cli_alloc_stop();
	if (!rc)
		rc = cli_alloc_env(&at, err);
	if (!rc)
		rc = cli_validate_survey(&at, &v->list, &s, &transport, err);
	if (!rc)
		rc = same_place(v, &s, err);
	if (!rc) {
		note_place(v, &at, &s, transport);
		rc = measure_here(v, dry_run, &at, &s, err);
	} else {
		free(transport);
	}
	np_validate_sites_free(&s);
	free(at.env);
	return rc;
}

/* Is anything left, on the nodes that it was begun on? */
static int is_complete(const struct cli_validate *v, bool *complete,
		       struct np_err *err)
{
	struct np_validate_task *task;
	size_t n;

	if (np_validate_plan(&v->list, v->repeats,
			     v->pairs.place.apart_nodes != NULL, &v->pairs,
			     &task, &n))
		return np_errf(err, -ENOMEM, "out of memory");
	free(task);
	*complete = n == 0;
	return 0;
}

/* ---- what is predicted ---- */

static size_t find(const struct cli_validate *v, const char *name)
{
	size_t i = 0;

	while (i < v->list.n && strcmp(v->list.program[i].name, name))
		i++;
	return i;
}

static void take_answers(struct cli_validate *v, const struct cli_matrix *m)
{
	size_t n = v->list.n;

	for (size_t i = 0; i < m->n * m->n; i++) {
		size_t victim = find(v, cli_matrix_name(m, i / m->n));
		size_t corunner = find(v, cli_matrix_name(m, i % m->n));

		if (victim == n || corunner == n)
			continue;
		v->rc[victim * n + corunner] = m->rc[i];
		v->prediction[victim * n + corunner] = m->p[i];
	}
}

/* The file gets what the models go by, for netprof accuracy. */
static int save(struct cli_validate *v, const struct cli_known *k,
		struct np_err *err)
{
	const struct np_program **app = calloc(v->list.n + 1, sizeof(*app));
	int rc;

	if (!app)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; k && i < k->n; i++) {
		size_t at = find(v, k->app[i]->r.runs.app);

		if (at < v->list.n)
			app[at] = &k->app[i]->evidence.program;
	}
	v->pairs.fabric = k && k->calibrated ? k->cal.fabric : NULL;
	v->pairs.app = v->pairs.fabric ? app : NULL;
	rc = np_pairs_save(v->path, &v->pairs, err);
	v->pairs.fabric = NULL;
	v->pairs.app = NULL;
	free(app);
	return rc;
}

static int ask_models(struct cli_validate *v, const struct cli_options *given,
		      struct cli_known *k, struct cli_store *s)
{
	struct cli_options o = *given;
	char *names[NP_VALIDATE_MAX_PROGRAMS + 1] = { NULL };
	struct cli_matrix m = { .n = 0 };
	int rc;

	for (size_t i = 0; i < v->list.n; i++)
		names[i] = v->list.program[i].name;
	o.apps = names;
	o.n_apps = v->list.n;
	o.app = names[0];
	o.scope = NP_SCOPE_LEAF; /* where the pairs ran */
	rc = cli_matrix_find(k, s, &o);
	if (rc < 0)
		rc = cli_ask_prepare(k, s, &o);
	if (rc < 0)
		rc = cli_matrix_make(k, &o, &m);
	if (rc < 0)
		take_answers(v, &m);
	cli_matrix_free(&m);
	return rc;
}

static struct np_scored scored(const struct cli_validate *v, size_t i)
{
	const struct np_mean *m = &v->result.pair[i].slowdown;
	const struct np_prediction *p = &v->prediction[i];
	bool answer = !v->rc[i];

	return (struct np_scored){
		.measured = m->n ? m->mean : NAN,
		.predicted = answer ? p->slowdown : NAN,
		.low = answer ? p->low : NAN, .high = answer ? p->high : NAN,
	};
}

static int score(struct cli_validate *v)
{
	size_t n = v->list.n * v->list.n;
	struct np_scored *s = calloc(n + 1, sizeof(*s));
	int rc = s ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < n; i++)
		s[i] = scored(v, i);
	if (!rc)
		rc = np_accuracy_score(s, n, &v->score);
	if (!rc)
		rc = np_accuracy_best_constant(s, n, &v->constant);
	for (size_t i = 0; !rc && i < n; i++) {
		s[i].predicted = v->constant;
		s[i].low = s[i].high = NAN;
	}
	if (!rc)
		rc = np_accuracy_score(s, n, &v->constant_score);
	free(s);
	return rc;
}

/* ---- the answer ---- */

static int make_result(struct cli_validate *v)
{
	size_t n = v->list.n * v->list.n;

	v->prediction = calloc(n + 1, sizeof(*v->prediction));
	v->rc = calloc(n + 1, sizeof(*v->rc));
	if (!v->prediction || !v->rc ||
	    np_validate_result_make(&v->pairs, &v->result) ||
	    np_validate_result_give(&v->result, &v->pairs))
		return cli_fail("out of memory");
	for (size_t i = 0; i < n; i++)
		v->rc[i] = -ENODATA;
	return -1;
}

/* Without predictions there still is what was measured. */
static int answer(struct cli_validate *v, const struct cli_options *o)
{
	struct cli_known k = { .n = 0 };
	struct np_err err = NP_ERR_INIT;
	struct cli_store s;
	int rc = make_result(v);

	if (rc >= 0)
		return rc;
	if (cli_store_open(&s) < 0) {
		ask_models(v, o, &k, &s); /* which says what is missing */
		cli_store_close(&s);
	}
	rc = save(v, &k, &err);
	cli_known_free(&k);
	if (rc)
		return cli_fail("%s", err.text);
	if (score(v))
		return cli_fail("out of memory");
	if (o->format == CLI_JSON)
		cli_validate_json(v);
	else
		cli_validate_text(v);
	if (o->plot)
		return cli_validate_plot(v, o->plot);
	return CLI_DONE;
}

static int validate(struct cli_validate *v, const struct ask *ask,
		    const struct cli_options *o)
{
	struct np_err err = NP_ERR_INIT;
	bool complete = false;
	int rc = np_validate_list_read(o->app, &v->list, &err);

	if (!rc)
		rc = load(v, ask->fresh, &err);
	if (!rc)
		rc = is_complete(v, &complete, &err);
	if (!rc && !complete)
		rc = measure(v, ask->dry_run, &err);
	if (rc)
		return cli_fail("%s", err.text);
	return ask->dry_run && !complete ? CLI_DONE : answer(v, o);
}

static const struct np_option own[] = {
	{ "repeats", NP_OPTION_COUNT, offsetof(struct ask, repeats), 1,
	  MOST_REPEATS },
	{ "fresh", NP_OPTION_FLAG, offsetof(struct ask, fresh) },
	{ "dry-run", NP_OPTION_FLAG, offsetof(struct ask, dry_run),
	  .letter = 'n' },
	{ NULL },
};

static int run_validate(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_validate v = { .constant = NAN };
	struct ask ask = { .repeats = 2 };
	struct cli_options o;
	char *path = NULL;
	int rc = cli_options_parse(self, argc, argv, &ask, &o);

	if (rc >= 0)
		return rc;
	if (!o.output && asprintf(&path, "%s.pairs.json", o.app) < 0)
		return cli_fail("out of memory");
	v.path = o.output ? o.output : path;
	v.repeats = ask.repeats;
	rc = validate(&v, &ask, &o);
	np_validate_result_free(&v.result);
	np_validate_list_free(&v.list);
	np_pairs_free(&v.pairs);
	free(v.prediction);
	free(v.rc);
	free(path);
	return rc;
}

const struct cli_cmd cmd_validate = {
	.name = "validate",
	.args = "[OPTION]... FILE",
	.help = "measure pairs of programs, and how true predictions are",
	.text =
"Inside an allocation of idle nodes (salloc -N8 --exclusive; better all nodes\n"
"of two leaf switches): runs the programs of FILE, netprof-validate(1), alone,\n"
"profiles each from one run, runs each beside each other on one leaf and, as a\n"
"control, under two, and compares with what netprof predicts.  It can be\n"
"stopped at any moment; the same command goes on.  When all is measured it\n"
"only prints the answer, anywhere.\n\n"
"  --repeats=N        runs of each pair (default 2)\n"
"  -o, --output=FILE  where results go, netprof-pairs(5); FILE.pairs.json\n"
"                     otherwise\n"
"  --plot=FILE        a picture of predicted over measured: .svg, .png or .pdf\n"
"  --model=M          another model than " NP_MODEL_DEFAULT "\n"
"  --fresh            do not go on with what was measured before\n"
"  --dry-run          say what would be done and how long it would take\n"
"  --json             the answer for programs",
	.examples =
"  salloc -N16 --exclusive netprof validate programs\n"
"  netprof validate --dry-run programs\n"
"  netprof validate --plot=pairs.svg programs\n",
	.takes = CLI_TAKES_JSON | CLI_TAKES_OUTPUT | CLI_TAKES_PLOT |
		 CLI_TAKES_MODEL,
	.own = own, .missing = "a file that lists programs, netprof-validate(1)", .most = 1,
	.run = run_validate,
};

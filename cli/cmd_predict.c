/* netprof predict: how much an application slows beside others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_ask.h"
#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_text.h"

#define LINE 1024

/* The victim beside all, then each co-runner beside the victim. */
struct prediction {
	const struct cli_known *k;
	const struct np_model *model; /* that was asked */
	enum np_scope scope;
	struct cli_answer answer[1 + CLI_ASK_MAX_CO];
	size_t n;
};

static void say_answer(const struct prediction *p,
		       const struct cli_answer *a)
{
	char co[LINE / 2], range[3 * CLI_NUMBER] = "no interval";
	char point[CLI_NUMBER], low[CLI_NUMBER], high[CLI_NUMBER];
	const char *victim = p->k->app[a->victim]->r.runs.app;

	cli_say_co(p->k, a, co, sizeof(co));
	if (!isnan(a->p.low))
		snprintf(range, sizeof(range), "90 %% interval %s to %s",
			 cli_change(a->p.low, low),
			 cli_change(a->p.high, high));
	if (a->rc)
		cli_say(CLI_PLAIN, 0, "%s beside %s: not known. %s", victim, co,
			a->why.text);
	else if (cli_say_doubt(&a->p))
		cli_say(CLI_YELLOW, 0, "%s beside %s: not known yet; %s is "
			"estimated (%s). %s", victim, co,
			cli_change(a->p.slowdown, point), range,
			cli_say_doubt(&a->p));
	else
		cli_say(CLI_PLAIN, 0, "%s %s beside %s: %s (%s).", victim,
			cli_say_slow(&a->p), co,
			cli_change(a->p.slowdown, point), range);
}

static void say_no_effect(const struct prediction *p)
{
	char line[LINE];

	if (cli_no_effect(p->k, p->scope))
		cli_say(CLI_GREEN, 0, "%s", cli_say_no_effect(p->k, p->scope,
							      line,
							      sizeof(line)));
}

static void say_model(const struct prediction *p)
{
	const struct cli_answer *a = &p->answer[0];

	if (a->p.flags & NP_PRED_FELL_BACK)
		cli_labelled(stdout, "Model", "%s, as %s lacks data (see "
			     "Narrower): %s", a->p.model->name, p->model->name,
			     a->p.model->help);
	else
		cli_labelled(stdout, "Model", "%s: %s", a->p.model->name,
			     a->p.model->help);
}

static const char *runs(size_t n)
{
	return n == 1 ? "run" : "runs";
}

/* Levels of which blocks inside runs say more than whole runs do. */
static const char *say_blocks(const struct np_evidence *s, char buf[80])
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_levels; i++)
		n += s->level && s->level[i].of_blocks;
	buf[0] = '\0';
	if (n)
		snprintf(buf, 80, "; %zu levels from blocks in %.0f s of %zu "
			 "%s", n, s->blocks.sec, s->blocks.n_runs,
			 runs(s->blocks.n_runs));
	return buf;
}

/* What of one application went into the first answer. */
static void say_used(const struct prediction *p, size_t app, bool first)
{
	const struct cli_answer *a = &p->answer[0];
	const struct np_evidence *s = &p->k->app[app]->evidence;
	const char *label = first ? "Data" : "", *name = s->program.name;
	size_t n = p->k->cal.fabric->n_levels, beside = s->count[NP_RUN_BESIDE];
	char blocks[80];

	if (app == a->victim && a->p.used & NP_NEED_TRACE)
		cli_labelled(stdout, label, "%s: its newest trace", name);
	else if (app == a->victim)
		cli_labelled(stdout, label, "%s: beside %zu of %zu levels "
			     "(%zu %s), alone %u %s%s", name, s->n_curve, n,
			     beside, runs(beside), s->alone_sec.n,
			     runs(s->alone_sec.n), say_blocks(s, blocks));
	else if (a->p.used & NP_NEED_LATENCY)
		cli_labelled(stdout, label, "%s: %llu probes in %zu %s alone",
			     name, (unsigned long long)s->program.latency.all.n,
			     s->latency.n_runs, runs(s->latency.n_runs));
	else
		cli_labelled(stdout, label, "%s: what it does to %zu of %zu "
			     "levels (%zu %s)", name, s->n_pressure, n, beside,
			     runs(beside));
}

static void say_left_out(const struct prediction *p)
{
	const char *label = "Left out";

	for (size_t i = 0; i < p->k->n; i++) {
		const struct np_evidence *s = &p->k->app[i]->evidence;
		char line[LINE];

		if (!cli_say_left_out(s, line, sizeof(line)))
			continue;
		cli_labelled(stdout, label, "%s: %s", s->program.name, line);
		label = "";
	}
}

static void say_fabric(const struct prediction *p)
{
	const struct np_calibration *c = &p->k->cal;
	char line[LINE], day[CLI_NUMBER];

	cli_labelled(stdout, "Fabric",
		     "%s%s%s, calibrated %s with %zu levels %s",
		     *c->cluster ? c->cluster : "cluster unknown",
		     *c->transport ? ", " : "", c->transport,
		     cli_day(c->date, day), c->fabric->n_levels,
		     cli_scope_words(c->scope));
	if (c->n_skipped)
		cli_labelled(stdout, "", "%zu newer cannot be used: %s",
			     c->n_skipped, c->skipped.text);
	cli_labelled(stdout, "Coupling", "%s",
		     cli_say_coupling(p->k, p->scope, line, sizeof(line)));
}

static int predict_text(const struct prediction *p)
{
	const struct cli_answer *a = &p->answer[0];
	const char *notes[CLI_ASK_NOTES];
	char command[LINE / 4], what[LINE / 4];
	size_t n;

	say_no_effect(p);
	for (size_t i = 0; i < p->n; i++)
		say_answer(p, &p->answer[i]);
	putchar('\n');
	say_model(p);
	for (size_t i = 0; a->p.used && i < p->k->n; i++)
		say_used(p, i, i == 0);
	say_left_out(p);
	say_fabric(p);
	n = cli_say_notes(p->k, a, notes);
	for (size_t i = 0; i < n; i++)
		cli_labelled(stdout, i ? "" : "Note", "%s", notes[i]);
	cli_say_narrower(p->k, a, command, what, sizeof(what));
	if (*command) {
		cli_labelled(stdout, "Narrower", "%s", command);
		cli_labelled(stdout, "", "(%s)", what);
	}
	return CLI_DONE;
}

static void put_used(json_object *list, const struct cli_known_app *a)
{
	const struct np_evidence *s = &a->evidence;
	json_object *j = cli_append_object(list), *left;

	cli_put_text(j, "app", s->program.name);
	cli_put_bool(j, "published", a->r.owner == NP_STORE_PUBLISHED);
	cli_put_text(j, "fingerprint", s->fingerprint);
	cli_put_count(j, "runs_alone", s->alone_sec.n);
	cli_put_count(j, "runs_beside_levels", s->count[NP_RUN_BESIDE]);
	cli_put_count(j, "curve_levels", s->n_curve);
	cli_put_count(j, "pressure_levels", s->n_pressure);
	cli_put_count(j, "probes", s->program.latency.all.n);
	left = cli_put_object(j, "left_out");
	for (int use = NP_RUN_FABRIC; use < NP_RUN_USES; use++)
		if (s->count[use])
			cli_put_count(left, np_run_use_words(
					      (enum np_run_use)use),
				      s->count[use]);
}

static void put_answer(json_object *list, const struct prediction *p,
		       const struct cli_answer *a)
{
	json_object *j = cli_append_object(list), *co;
	char command[256], what[256];

	cli_put_text(j, "victim", p->k->app[a->victim]->r.runs.app);
	co = cli_put_array(j, "corunners");
	for (size_t i = 0; i < a->n_co; i++)
		cli_append_text(co, p->k->app[a->co[i]]->r.runs.app);
	if (a->rc) {
		cli_put(j, "slowdown", NULL);
		cli_put_text(j, "why", a->why.text);
		return;
	}
	cli_put_interval(j, &a->p);
	cli_put_real(j, "coupling", a->p.coupling);
	cli_put_count(j, "curve_levels", a->p.n_curve);
	cli_put_count(j, "pressure_levels", a->p.n_pressure);
	cli_put_count(j, "probes", a->p.n_probes);
	cli_say_narrower(p->k, a, command, what, sizeof(what));
	cli_put_text(j, "narrower", *command ? command : NULL);
}

static const struct cli_table table = {
	"Victim|CoRunners|Scope|Slowdown|Low|High|Model|Flags|Levels|Pressures|"
	"Probes|Coupling|NoEffect|Narrower|Why",
	{ { "predictions", "victim|corunners|../scope|slowdown|low|high|model|"
			   "flags|curve_levels|pressure_levels|probes|coupling|"
			   "../coupling/no_effect|narrower|why" } },
};

static int predict_data(const struct prediction *p, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "scope", np_scope_name(p->scope));
	cli_put_text(j, "model", p->model->name);
	list = cli_put_array(j, "predictions");
	for (size_t i = 0; i < p->n; i++)
		put_answer(list, p, &p->answer[i]);
	cli_put_calibration(j, p->k, p->scope);
	list = cli_put_array(j, "applications");
	for (size_t i = 0; i < p->k->n; i++)
		put_used(list, p->k->app[i]);
	return cli_print_page(format, "predict", j, &table);
}

/* Find all; returns -1 to go on, or the exit status. */
static int find(struct cli_known *k, struct cli_store *s,
		const struct cli_options *o)
{
	int rc = cli_known_find(k, s, o);

	if (rc < 0)
		rc = cli_ask_prepare(k, s, o);
	if (rc >= 0)
		return rc;
	for (size_t i = 0; i < k->n; i++)
		if (k->app[i]->unusable.text[0])
			return cli_fail("%s", k->app[i]->unusable.text);
	return -1;
}

static void ask_all(struct prediction *p, struct np_predictor *models)
{
	size_t n_co = p->k->n - 1;

	p->n = 1 + n_co;
	for (size_t i = 0; i < p->n; i++) {
		struct cli_answer *a = &p->answer[i];

		*a = (struct cli_answer){ .victim = i, .scope = p->scope,
					  .n_co = i ? 1 : n_co };
		for (size_t c = 0; !i && c < n_co; c++)
			a->co[c] = c + 1;
		cli_ask(models, p->k, a);
	}
}

/* The one that was asked for has no answer. */
static int no_answer(const struct prediction *p)
{
	char command[256];

	if (p->model->needs & NP_NEED_TRACE)
		return cli_fail("%s", p->answer[0].why.text);
	cli_say_missing(p->k, &p->answer[0], command, sizeof(command));
	return cli_fail("%s%s%s", p->answer[0].why.text,
			*command ? "; this measures it: " : "", command);
}

static int predict(const struct cli_known *k, const struct cli_options *o)
{
	struct prediction p = { .k = k, .model = o->model,
				    .scope = o->scope };
	struct np_err err = NP_ERR_INIT;
	struct np_predictor *models;

	if (cli_known_predictor(k, o->model, true, &models, &err))
		return cli_fail("%s", err.text);
	ask_all(&p, models);
	np_predictor_free(models);
	if (p.answer[0].rc)
		return no_answer(&p);
	return o->format ? predict_data(&p, o->format) : predict_text(&p);
}

static int run_predict(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_known k = { .n = 0 };
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc >= 0)
		return rc;
	if (o.n_apps < 2)
		return cli_need_apps(self, &o, "at least one co-runner as well");
	if (o.n_apps > 1 + CLI_ASK_MAX_CO)
		return cli_usage(self, "%zu co-runners, expected at most %d",
				 o.n_apps - 1, CLI_ASK_MAX_CO);
	rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = find(&k, &s, &o);
	cli_store_close(&s);
	if (rc < 0)
		rc = predict(&k, &o);
	cli_known_free(&k);
	return rc;
}

const struct cli_cmd cmd_predict = {
	.name = "predict",
	.args = "[OPTION]... VICTIM CORUNNER...",
	.help = "how much an application slows beside others",
	.text =
"Predicts how much longer VICTIM runs beside all the CORUNNERs at once, and\n"
"each of them beside VICTIM, with a 90 % interval; says which model answered,\n"
"from which data, and which measurement would narrow the interval most.\n"
"The applications need never have run together.\n\n"
"  --scope=SCOPE       where the others are: on the same nodes (node), on\n"
"                      others of the same leaf (leaf, as without the option),\n"
"                      or across its uplink (uplink)\n"
"  --model=M           another model than " NP_MODEL_DEFAULT "; see netprof accuracy\n"
"  --json, --parsable  the same for programs; --parsable (-P) as in sacct\n"
"  --user=NAME, --published\n"
"                      whose profiles, as for netprof show",
	.examples =
"  netprof predict fft halo\n"
"  netprof predict --scope=node fft halo lammps\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER | CLI_TAKES_MODEL,
	.missing = "an application, and at least one co-runner", .most = CLI_ANY,
	.run = run_predict,
};

/* The pages of netprof predict, and what predictions have in common as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_predict.h"
#include "cli_text.h"

#define LINE 1024

static void say_answer(const struct cli_prediction *p,
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
	else
		cli_say(CLI_PLAIN, 0, "%s %s beside %s: %s (%s).", victim,
			cli_say_slow(&a->p), co,
			cli_change(a->p.slowdown, point), range);
}

static void say_no_effect(const struct cli_prediction *p)
{
	char line[LINE];

	if (cli_no_effect(p->k, p->scope))
		cli_say(CLI_GREEN, 0, "%s", cli_say_no_effect(p->k, p->scope,
							      line,
							      sizeof(line)));
}

static void say_model(const struct cli_prediction *p)
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
static void say_used(const struct cli_prediction *p, size_t app, bool first)
{
	const struct cli_answer *a = &p->answer[0];
	const struct np_evidence *s = &p->k->app[app]->evidence;
	const char *label = first ? "Data" : "", *name = s->program.name;
	size_t n = p->k->cal.fabric->n_levels, beside = s->count[NP_RUN_BESIDE];
	char blocks[80];

	if (a->p.used & NP_NEED_PLAY ||
	    (app == a->victim && a->p.used & NP_NEED_TRACE))
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

static void say_left_out(const struct cli_prediction *p)
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

static void say_fabric(const struct cli_prediction *p)
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

int cli_predict_text(const struct cli_prediction *p)
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

int cli_predict_parsable(const struct cli_prediction *p)
{
	char buf[LINE], command[LINE / 4], what[LINE / 4];

	puts("Victim|CoRunners|Scope|Slowdown|Low|High|Model|Flags|Levels|"
	     "Pressures|Probes|Coupling|NoEffect|Narrower|Why");
	for (size_t i = 0; i < p->n; i++) {
		const struct cli_answer *a = &p->answer[i];

		printf("%s|", p->k->app[a->victim]->r.runs.app);
		for (size_t c = 0; c < a->n_co; c++)
			printf("%s%c", p->k->app[a->co[c]]->r.runs.app,
			       c + 1 < a->n_co ? ',' : '|');
		printf("%s|", np_scope_name(a->scope));
		if (a->rc) {
			fputs("|||||||||||", stdout);
			cli_field(a->why.text, '\n');
			continue;
		}
		cli_field_real(a->p.slowdown, 6, '|');
		cli_field_real(a->p.low, 6, '|');
		cli_field_real(a->p.high, 6, '|');
		printf("%s|%s|%zu|%zu|%llu|", a->p.model->name,
		       cli_flag_names(a->p.flags, buf, sizeof(buf)),
		       a->p.n_curve, a->p.n_pressure,
		       (unsigned long long)a->p.n_probes);
		cli_field_real(a->p.coupling, 6, '|');
		printf("%s|", cli_no_effect(p->k, a->scope) ? "yes" : "no");
		cli_say_narrower(p->k, a, command, what, sizeof(what));
		cli_field(command, '|');
		putchar('\n');
	}
	return CLI_DONE;
}

void cli_put_interval(json_object *in, const struct np_prediction *p)
{
	char flags[256];

	cli_put_real(in, "slowdown", p->slowdown);
	cli_put_real(in, "low", p->low);
	cli_put_real(in, "high", p->high);
	cli_put_text(in, "model", p->model->name);
	cli_put_bool(in, "fell_back", !!(p->flags & NP_PRED_FELL_BACK));
	cli_put_text(in, "flags", cli_flag_names(p->flags, flags,
						 sizeof(flags)));
}

void cli_put_calibration(json_object *in, const struct cli_known *k,
			 enum np_scope scope)
{
	const struct np_calibration *c = &k->cal;
	const struct np_mean *m;
	json_object *j;
	double low, high;

	if (!k->calibrated) {
		cli_put(in, "calibration", NULL);
		cli_put(in, "coupling", NULL);
		return;
	}
	j = cli_put_object(in, "calibration");
	cli_put_text(j, "path", c->path);
	cli_put_time(j, "date", c->date);
	cli_put_text(j, "cluster", c->cluster);
	cli_put_text(j, "transport", c->transport);
	cli_put_text(j, "scope", np_scope_name(c->scope));
	cli_put_count(j, "levels", c->fabric->n_levels);
	m = &c->fabric->coupling[scope];
	j = cli_put_object(in, "coupling");
	cli_put_text(j, "scope", np_scope_name(scope));
	cli_put_count(j, "n", m->n);
	if (np_mean_known(m))
		cli_put_real(j, "mean", m->mean);
	if (np_coupling_interval(m, &low, &high)) {
		cli_put_real(j, "low", low);
		cli_put_real(j, "high", high);
	}
	cli_put_bool(j, "no_effect", cli_no_effect(k, scope));
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

static void put_answer(json_object *list, const struct cli_prediction *p,
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

int cli_predict_json(const struct cli_prediction *p)
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
	return cli_print_json("predict", j);
}

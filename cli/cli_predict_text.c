/* The page of `netprof predict`, and the same as fields. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_page.h"
#include "cli_predict.h"
#include "cli_text.h"

#define LINE 1024

static void say_answer(const struct cli_prediction *p,
		       const struct cli_answer *a)
{
	char co[LINE / 2], line[LINE], point[CLI_NUMBER];
	char low[CLI_NUMBER], high[CLI_NUMBER];
	const char *victim = p->k->app[a->victim]->r.runs.app;
	int len;

	cli_say_co(p->k, a, co, sizeof(co));
	if (a->rc) {
		snprintf(line, sizeof(line), "%s beside %s: not known. %s",
			 victim, co, a->why.text);
		cli_wrap(stdout, line, 0);
		return;
	}
	len = snprintf(line, sizeof(line), "%s %s beside %s: %s", victim,
		       cli_say_slow(&a->p), co,
		       cli_change(a->p.slowdown, point));
	if (isnan(a->p.low))
		snprintf(line + len, sizeof(line) - (size_t)len,
			 " (no interval).");
	else
		snprintf(line + len, sizeof(line) - (size_t)len,
			 " (90 %% interval %s to %s).",
			 cli_change(a->p.low, low),
			 cli_change(a->p.high, high));
	cli_wrap(stdout, line, 0);
}

static void say_no_effect(const struct cli_prediction *p)
{
	char line[LINE];

	if (!cli_no_effect(p->k, p->scope))
		return;
	printf("%s", cli_colour(CLI_GREEN));
	cli_say_no_effect(p->k, p->scope, line, sizeof(line));
	cli_wrap(stdout, line, 0);
	printf("%s", cli_colour(CLI_PLAIN));
}

static void say_model(const struct cli_prediction *p)
{
	const struct cli_answer *a = &p->answer[0];
	char line[LINE];

	if (a->p.flags & NP_PRED_FELL_BACK)
		snprintf(line, sizeof(line), "%s, as %s lacks data (see "
			 "Narrower): %s", a->p.model->name, p->model->name,
			 a->p.model->help);
	else
		snprintf(line, sizeof(line), "%s: %s", a->p.model->name,
			 a->p.model->help);
	cli_labelled(stdout, "Model", line);
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
	const char *name = s->program.name;
	size_t n = p->k->cal.fabric->n_levels;
	char line[LINE], blocks[80];

	if (a->p.used & NP_NEED_PLAY ||
	    (app == a->victim && a->p.used & NP_NEED_TRACE))
		snprintf(line, sizeof(line), "%s: its newest trace", name);
	else if (app == a->victim)
		snprintf(line, sizeof(line), "%s: beside %zu of %zu levels "
			 "(%zu %s), alone %u %s%s", name, s->n_curve, n,
			 s->count[NP_RUN_BESIDE],
			 runs(s->count[NP_RUN_BESIDE]), s->alone_sec.n,
			 runs(s->alone_sec.n), say_blocks(s, blocks));
	else if (a->p.used & NP_NEED_LATENCY)
		snprintf(line, sizeof(line), "%s: %llu probes in %zu %s alone",
			 name, (unsigned long long)s->program.latency.all.n,
			 s->latency.n_runs, runs(s->latency.n_runs));
	else
		snprintf(line, sizeof(line), "%s: what it does to %zu of %zu "
			 "levels (%zu %s)", name, s->n_pressure, n,
			 s->count[NP_RUN_BESIDE],
			 runs(s->count[NP_RUN_BESIDE]));
	cli_labelled(stdout, first ? "Data" : "", line);
}

static void say_left_out(const struct cli_prediction *p)
{
	bool first = true;

	for (size_t i = 0; i < p->k->n; i++) {
		const struct np_evidence *s = &p->k->app[i]->evidence;
		char line[LINE];

		if (cli_say_left_out(s, line, sizeof(line))) {
			char all[LINE + NP_APP_MAX + 4];

			snprintf(all, sizeof(all), "%s: %s", s->program.name,
				 line);
			cli_labelled(stdout, first ? "Left out" : "", all);
			first = false;
		}
	}
}

static void say_fabric(const struct cli_prediction *p)
{
	const struct np_calibration *c = &p->k->cal;
	char line[LINE], day[CLI_NUMBER];

	snprintf(line, sizeof(line), "%s%s%s, calibrated %s with %zu levels %s",
		 *c->cluster ? c->cluster : "cluster unknown",
		 *c->transport ? ", " : "", c->transport, cli_day(c->date, day),
		 c->fabric->n_levels, cli_scope_words(c->scope));
	cli_labelled(stdout, "Fabric", line);
	if (c->n_skipped) {
		snprintf(line, sizeof(line), "%zu newer cannot be used: %s",
			 c->n_skipped, c->skipped.text);
		cli_labelled(stdout, "", line);
	}
	cli_labelled(stdout, "Coupling",
		     cli_say_coupling(p->k, p->scope, line, sizeof(line)));
}

int cli_predict_text(const struct cli_prediction *p)
{
	const struct cli_answer *a = &p->answer[0];
	const char *notes[CLI_ASK_NOTES];
	char command[LINE / 4], what[LINE / 4], line[LINE];
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
		cli_labelled(stdout, i ? "" : "Note", notes[i]);
	cli_say_narrower(p->k, a, command, what, sizeof(what));
	if (*command) {
		cli_labelled(stdout, "Narrower", command);
		snprintf(line, sizeof(line), "(%s)", what);
		cli_labelled(stdout, "", line);
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

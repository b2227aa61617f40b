#include "cli_ask.h"
#include "cli_text.h"
#include "cli_traced.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CALIBRATE_APP "sbatch --netprofile=%s --netprofile-calibrate job.sh"
#define HARDLY 0.02 /* less is noise to most users */

int cli_ask_prepare(struct cli_known *k, struct cli_store *s,
		    const struct cli_options *o)
{
	int rc = cli_known_judge(k, s, k->n, !o->n_apps);

	if (rc == -ENOENT)
		return cli_fail("%s; an administrator makes one by: %s",
				k->why.text, CLI_CALIBRATE);
	if (!rc && cli_known_trace(k, s, o->model))
		return cli_fail("out of memory");
	return rc ? cli_fail("%s", k->why.text) : -1;
}

/* Where no run of an application can be used, that is what to say. */
static int check_runs(const struct cli_known *k, size_t app, struct np_err *err)
{
	const struct cli_known_app *a = k->app[app];
	char why[NP_ERR_LEN];

	if (a->evidence.n_used)
		return 0;
	cli_say_left_out(&a->evidence, why, sizeof(why));
	return np_errf(err, -ENODATA, "%s: no run can be compared on cluster "
		       "%s: %s", a->r.runs.app, k->cal.cluster, why);
}

void cli_ask(struct np_predictor *p, const struct cli_known *k,
	     struct cli_answer *a)
{
	const struct np_program *co[CLI_ASK_MAX_CO];

	a->why.text[0] = '\0';
	a->rc = check_runs(k, a->victim, &a->why);
	for (size_t i = 0; !a->rc && i < a->n_co; i++)
		a->rc = check_runs(k, a->co[i], &a->why);
	if (a->rc)
		return;
	for (size_t i = 0; i < a->n_co; i++)
		co[i] = &k->app[a->co[i]]->evidence.program;
	a->rc = np_predict(p, &k->app[a->victim]->evidence.program, co, a->n_co,
			   a->scope, &a->p, &a->why);
}

const char *cli_say_co(const struct cli_known *k, const struct cli_answer *a,
		       char *buf, size_t len)
{
	buf[0] = '\0';
	for (size_t i = 0; i < a->n_co; i++)
		cli_add(buf, len, "%s%s", i == 0 ? "" : i + 1 == a->n_co ?
			" and " : ", ", k->app[a->co[i]]->r.runs.app);
	return buf;
}

const char *cli_say_slow(const struct np_prediction *p)
{
	static const struct {
		double below;
		const char *words;
	} rows[] = {
		{ HARDLY, "hardly slows" }, { 0.10, "slows a little" },
		{ 0.30, "slows markedly" }, { INFINITY, "slows heavily" },
	};
	size_t i = 0;

	while (p->slowdown >= rows[i].below)
		i++;
	return rows[i].words;
}

const char *cli_say_doubt(const struct np_prediction *p)
{
	if (p->flags & NP_PRED_PAST_LEVELS)
		return "The co-runner slows a level more than any level of the "
		       "calibration does, so this lies outside of what was "
		       "measured.";
	if (p->flags & NP_PRED_ONE_LEVEL)
		return "It rests on a single level: without that, it would be "
		       "quite another.";
	return NULL;
}

static const struct {
	unsigned flag;
	const char *name;
	const char *words; /* NULL: said elsewhere */
} flags[] = {
	{ NP_PRED_CLAMPED, "clamped", "The answer was cut to what can be." },
	{ NP_PRED_BEYOND, "beyond",
	  "The co-runner is stronger or weaker than every level: the end of "
	  "the curve was taken." },
	{ NP_PRED_FELL_BACK, "fell-back", NULL },
	{ NP_PRED_NO_OVERLAP, "no-overlap",
	  "Its latencies are unlike those of any level: the nearest mean was "
	  "taken." },
	{ NP_PRED_NO_COUPLING, "no-coupling", NULL },
	{ NP_PRED_PARTIAL, "partial",
	  "Some levels were not measured, and are left out." },
	{ NP_PRED_ONE_PROBE, "one-probe",
	  "Some latencies come from a single probe." },
	{ NP_PRED_NO_INTERVAL, "no-interval", NULL },
	{ NP_PRED_NOISE_ONLY, "noise-only",
	  "The interval knows nothing of the model's own error." },
	{ NP_PRED_NO_PRESSURE, "no-pressure",
	  "What the co-runner takes of the bandwidth is not known, and left "
	  "out." },
	{ NP_PRED_ONE_LEVEL, "one-level", NULL },
	{ NP_PRED_PAST_LEVELS, "past-levels", NULL },
};

const char *cli_flag_names(unsigned set, char *buf, size_t len)
{
	buf[0] = '\0';
	for (size_t i = 0; i < NP_ARRAY_SIZE(flags); i++)
		if (set & flags[i].flag)
			cli_add(buf, len, "%s%s", *buf ? "," : "",
				flags[i].name);
	return buf;
}

size_t cli_say_notes(const struct cli_known *k, const struct cli_answer *a,
		     const char *notes[CLI_ASK_NOTES])
{
	bool latency = a->p.used & NP_NEED_LATENCY;
	size_t n = 0;

	for (size_t i = 0; i < NP_ARRAY_SIZE(flags); i++)
		if (flags[i].words && a->p.flags & flags[i].flag)
			notes[n++] = flags[i].words;
	for (size_t i = 0; latency && i < a->n_co; i++)
		if (k->app[a->co[i]]->evidence.latency.other_period) {
			notes[n++] = "The probes had another period than those "
				     "of the calibration.";
			break;
		}
	return n;
}

/* One more run beside a level; the one it needs most while there are few. */
static void beside_level(const struct cli_known *k, size_t app, size_t level,
			 char *command, char *what, size_t len)
{
	const struct cli_known_app *a = k->app[app];
	const char *name = a->r.runs.app;
	const char *at = k->cal.fabric->level[level].name;

	if (a->evidence.n_curve < 2 || a->evidence.n_pressure < 2) {
		snprintf(command, len, CALIBRATE_APP, name);
		snprintf(what, len, "runs of %s beside levels", name);
		return;
	}
	snprintf(command, len, "sbatch --netprofile=%s "
		 "--netprofile-compress=%s job.sh", name, at);
	snprintf(what, len, "%s beside level %s%s", name, at,
		 np_mean_known(&a->evidence.mean[level]) ? ", again" : "");
}

void cli_say_narrower(const struct cli_known *k, const struct cli_answer *a,
		      char *command, char *what, size_t len)
{
	const struct np_prediction *p = &a->p;

	*command = *what = '\0';
	if (a->rc || cli_no_effect(k, a->scope))
		return;
	switch (p->more) {
	case NP_MORE_NOTHING:
		if (!cli_say_doubt(p))
			return;
		snprintf(command, len, "%s", CLI_CALIBRATE);
		snprintf(what, len, "the levels beside each other again; for "
			 "an administrator");
		return;
	case NP_MORE_CURVE:
		beside_level(k, a->victim, p->more_level, command, what, len);
		return;
	case NP_MORE_PRESSURE:
		beside_level(k, a->co[p->more_co], p->more_level, command,
			     what, len);
		return;
	case NP_MORE_LATENCY:
		snprintf(command, len, "sbatch --netprofile=%s job.sh",
			 k->app[a->co[p->more_co]]->r.runs.app);
		snprintf(what, len, "more of %s alone",
			 k->app[a->co[p->more_co]]->r.runs.app);
		return;
	case NP_MORE_CALIBRATION:
		snprintf(command, len, "%s", CLI_CALIBRATE);
		snprintf(what, len, "the levels beside each other again; for "
			 "an administrator");
		return;
	case NP_MORE_LEVELS:
		snprintf(command, len, "%s --levels=all", CLI_CALIBRATE);
		snprintf(what, len, "further levels around %s; for an "
			 "administrator",
			 k->cal.fabric->level[p->more_level].name);
		return;
	case NP_MORE_COUPLING:
		snprintf(command, len, "%s", CLI_CALIBRATE);
		snprintf(what, len, "the coupling again; for an "
			 "administrator");
		return;
	}
}

void cli_say_missing(const struct cli_known *k, const struct cli_answer *a,
		     char *command, size_t len)
{
	const struct cli_known_app *v = k->app[a->victim];

	*command = '\0';
	if (v->unusable.text[0])
		return;
	if (v->evidence.n_curve < 2) {
		snprintf(command, len, CALIBRATE_APP, v->r.runs.app);
		return;
	}
	for (size_t i = 0; i < a->n_co; i++) {
		const struct cli_known_app *c = k->app[a->co[i]];

		if (!c->evidence.n_pressure && !c->unusable.text[0]) {
			snprintf(command, len, CALIBRATE_APP, c->r.runs.app);
			return;
		}
	}
	snprintf(command, len, "%s", CLI_CALIBRATE);
}

bool cli_no_effect(const struct cli_known *k, enum np_scope scope)
{
	return k->calibrated &&
	       np_coupling_none(&k->cal.fabric->coupling[scope]);
}

const char *cli_say_no_effect(const struct cli_known *k, enum np_scope scope,
			      char *buf, size_t len)
{
	static const char *const what[NP_N_SCOPES] = {
		[NP_SCOPE_NODE] = "these nodes", [NP_SCOPE_LEAF] = "this leaf",
		[NP_SCOPE_UPLINK] = "this uplink",
	};
	const struct np_mean *c = &k->cal.fabric->coupling[scope];
	double low, high = c->mean;

	np_coupling_interval(c, &low, &high);
	snprintf(buf, len, "Sharing %s makes no difference here: of what a "
		 "co-runner costs %s, at most %.0f %% is felt.", what[scope],
		 cli_scope_words(k->cal.scope), 100 * high);
	return buf;
}

const char *cli_scope_words(enum np_scope scope)
{
	static const char *const words[NP_N_SCOPES] = {
		[NP_SCOPE_NODE] = "on the same nodes",
		[NP_SCOPE_LEAF] = "on other nodes of the same leaf",
		[NP_SCOPE_UPLINK] = "across the uplink of the leaf",
	};

	return words[scope];
}

const char *cli_say_coupling(const struct cli_known *k, enum np_scope scope,
			     char *buf, size_t len)
{
	const struct np_mean *c = &k->cal.fabric->coupling[scope];
	double low, high;

	if (!np_mean_known(c))
		snprintf(buf, len, "not measured %s, taken as 1",
			 cli_scope_words(scope));
	else if (scope == k->cal.scope)
		snprintf(buf, len, "%.2f %s, where the levels ran", c->mean,
			 cli_scope_words(scope));
	else if (np_coupling_interval(c, &low, &high))
		snprintf(buf, len, "%.2f %s (95 %% interval %.2f to %.2f)",
			 c->mean, cli_scope_words(scope), low, high);
	else
		snprintf(buf, len, "%.2f %s (measured once)", c->mean,
			 cli_scope_words(scope));
	return buf;
}

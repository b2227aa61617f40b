#include "cli_advice.h"

#include <stdio.h>
#include <string.h>

#include "cli_text.h"

/* What the verdict of netprof show asks for, in the same order. */
static bool verdict_asks(const struct np_profile *p, struct cli_advice *a)
{
	const char *app = p->runs->app;

	if (p->verdict.doubt > NP_DOUBT_PROBES) {
		strcpy(a->command, CLI_MEASURE_IDLE);
		strcpy(a->what, "the idle network");
	} else if (p->verdict.use == NP_USE_UNKNOWN) {
		snprintf(a->command, sizeof(a->command), "sbatch --netprofile="
			 "%s --netprofile-period=20ms job.sh", app);
		snprintf(a->what, sizeof(a->what), "latencies of %s", app);
	} else if (!p->ev.n_levels) {
		snprintf(a->command, sizeof(a->command), "sbatch --netprofile="
			 "%s --netprofile-calibrate job.sh", app);
		snprintf(a->what, sizeof(a->what), "runs of %s beside levels", app);
	}
	return *a->command;
}

/* What would narrow the prediction of the worst neighbour. */
static void ask_narrower(const struct cli_known *k, enum np_scope scope,
			 struct cli_advice *a)
{
	struct cli_answer worst = {
		.victim = a->tie[0].victim, .n_co = 1, .co = { a->tie[0].co },
		.scope = scope, .p = a->tie[0].p,
	};

	cli_say_narrower(k, &worst, a->command, a->what, sizeof(a->what));
}

void cli_advise(const struct np_profile *p, const struct cli_known *k,
		enum np_scope scope, const struct cli_tie_list *ties,
		double limit, struct cli_advice *out)
{
	struct cli_advice a = {
		.limit = limit, .tie = ties->tie, .app = p->runs->app,
		.n_asked = cli_no_effect(k, scope) ? 0 : ties->n,
	};

	while (a.n_avoid < a.n_asked &&
	       a.tie[a.n_avoid].p.slowdown > limit &&
	       !cli_say_doubt(&a.tie[a.n_avoid].p))
		a.n_avoid++;
	if (!p->is_idle && !(a.told = verdict_asks(p, &a))) {
		if (a.n_asked) {
			ask_narrower(k, scope, &a);
		} else if (!k->calibrated) {
			strcpy(a.command, CLI_CALIBRATE);
			strcpy(a.what, "the levels of this fabric; for an "
			       "administrator");
		}
	}
	*out = a;
}

void cli_say_avoid(const struct cli_advice *a, char *buf, size_t len)
{
	buf[0] = '\0';
	if (!a->n_avoid && a->n_asked)
		cli_add(buf, len, "No application that is known costs it more "
			"than %.0f %%.", 100 * a->limit);
	for (size_t i = 0; i < a->n_avoid; i++)
		cli_add(buf, len, "%s%s%s", !i ? "Keep it off leaves of " :
			i + 1 < a->n_avoid ? ", " : " and ",
			strcmp(a->tie[i].app, a->app) ? "" : "another ",
			a->tie[i].app);
	if (a->n_avoid)
		cli_add(buf, len, ": over %.0f %%%s.", 100 * a->limit,
			a->n_avoid > 1 ? " each" : "");
}

void cli_say_measure(const struct cli_advice *a, char *buf, size_t len)
{
	buf[0] = '\0';
	if (*a->command && !a->told)
		snprintf(buf, len, "To know more: %s (%s)", a->command,
			 a->what);
}

/* Recommendations about an application; the rules behind them. */
#include "cli_recommend.h"

#include <stdio.h>
#include <string.h>

#include "cli_text.h"

/* Does a come before b?  The largest slowdown first, uncertain ones last. */
static bool is_before(const struct cli_pair *a, const struct cli_pair *b)
{
	bool doubt[] = { cli_doubt_text(&a->p), cli_doubt_text(&b->p) };

	return doubt[0] == doubt[1] ? a->p.slowdown > b->p.slowdown : doubt[1];
}

void cli_pair_insert(struct cli_pair_list *list, const struct cli_pair *pair)
{
	struct cli_pair *sorted = list->pair;
	size_t at = list->n;

	while (at && is_before(pair, &sorted[at - 1]))
		at--;
	if (at == CLI_PAIRS_MAX)
		return;
	list->n += list->n < CLI_PAIRS_MAX;
	memmove(sorted + at + 1, sorted + at,
		(list->n - 1 - at) * sizeof(*sorted));
	sorted[at] = *pair;
}

/*
 * The measurement that the verdict of netprof show asks for, by the same rules
 * in the same order. Returns false if it asks for none.
 */
static bool verdict_names_command(const struct np_profile *p, struct cli_recommendation *a)
{
	const char *app = p->runs->app;

	if (p->verdict.doubt > NP_DOUBT_PROBES) {
		strcpy(a->command, CLI_MEASURE_IDLE);
		strcpy(a->what, "the idle network");
	} else if (p->verdict.use == NP_USE_UNKNOWN) {
		/* Probes need two nodes under one leaf switch. */
		snprintf(a->command, sizeof(a->command),
			 "sbatch %s--netprofile=%s%s job.sh",
			 p->summary.latency.n_runs ? "" : "-N2 --switches=1 ",
			 app,
			 p->summary.latency.n_runs ?
				 " --netprofile-period=20ms" :
				 "");
		snprintf(a->what, sizeof(a->what), "latencies of %s", app);
	} else if (!p->summary.n_levels) {
		snprintf(a->command, sizeof(a->command), "sbatch --netprofile="
			 "%s --netprofile-calibrate job.sh", app);
		snprintf(a->what, sizeof(a->what), "runs of %s under load",
			 app);
	}
	return *a->command;
}

/* The measurement that would narrow the prediction for the worst co-runner. */
static void predict_narrower(const struct cli_known *k, enum np_scope scope,
			     struct cli_recommendation *a)
{
	struct cli_prediction worst = {
		.victim = a->pair[0].victim,
		.n_co = 1,
		.co = { a->pair[0].co },
		.scope = scope,
		.p = a->pair[0].p,
	};

	cli_best_measurement(k, &worst, a->command, a->what, sizeof(a->what));
}

/*
 * A prediction that is in doubt is no reason to avoid a neighbour. The list is
 * sorted, so the first neighbour that is acceptable ends it.
 */
void cli_recommend(const struct np_profile *p, const struct cli_known *k,
		   enum np_scope scope, const struct cli_pair_list *pairs,
		   double limit, struct cli_recommendation *out)
{
	struct cli_recommendation a = {
		.limit = limit,
		.pair = pairs->pair,
		.app = p->runs->app,
		.n_pairs = cli_no_effect(k, scope) ? 0 : pairs->n,
	};

	while (a.n_avoid < a.n_pairs && a.pair[a.n_avoid].p.slowdown > limit &&
	       !cli_doubt_text(&a.pair[a.n_avoid].p))
		a.n_avoid++;
	if (!p->is_idle && !(a.command_named = verdict_names_command(p, &a))) {
		if (a.n_pairs) {
			predict_narrower(k, scope, &a);
		} else if (!k->calibrated) {
			strcpy(a.command, CLI_CALIBRATE);
			strcpy(a.what, "a calibration of this fabric; for an "
			       "administrator");
		}
	}
	*out = a;
}

/*
 * Empty if no co-runner was asked about: then nothing is known, which is not
 * the same as nothing to avoid.
 */
void cli_avoid_text(const struct cli_recommendation *a, char *buf, size_t len)
{
	buf[0] = '\0';
	if (!a->n_avoid && a->n_pairs)
		cli_add(buf, len, "No application with a profile slows it by "
			"more than %.0f %%.", 100 * a->limit);
	for (size_t i = 0; i < a->n_avoid; i++) {
		bool same = !strcmp(a->pair[i].app, a->app);

		cli_add(buf, len, "%s%s%s%s",
			!i		   ? "Avoid sharing a leaf "
					     "switch with " :
			i + 1 < a->n_avoid ? ", " :
					     " or ",
			same ? "a second " : "", a->pair[i].app,
			same ? " job" : "");
	}
	if (a->n_avoid)
		cli_add(buf, len, "%s slows it by more than %.0f %%. By "
			"hand: sbatch --exclude=NODES.",
			a->n_avoid > 1 ? ": each" : ", which", 100 * a->limit);
}

void cli_measure_text(const struct cli_recommendation *a, char *buf, size_t len)
{
	buf[0] = '\0';
	if (*a->command && !a->command_named)
		snprintf(buf, len, "To improve this: %s (%s)", a->command,
			 a->what);
}

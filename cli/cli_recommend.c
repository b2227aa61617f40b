/*
 * Recommendations about an application: which others to avoid, and which one
 * measurement would improve the predictions most.
 *
 * netprof show and netprof report print the same ones. At most one measurement
 * is recommended, because each costs a run of a job.
 */
#include "cli_recommend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_text.h"

/* Whether a prediction is too uncertain to base a decision on. */
static bool is_uncertain(const struct cli_pair *pair)
{
	return cli_doubt_text(&pair->prediction) != NULL;
}

/*
 * Whether a pair precedes another: the largest slowdown is first, and uncertain
 * pairs are last.
 */
static bool comes_before(const struct cli_pair *pair,
			 const struct cli_pair *other)
{
	bool uncertain = is_uncertain(pair);
	bool other_uncertain = is_uncertain(other);

	if (uncertain != other_uncertain)
		return other_uncertain;
	return pair->prediction.slowdown > other->prediction.slowdown;
}

void cli_pair_list_insert(struct cli_pair_list *list, const char *app,
			  size_t victim, size_t corunner,
			  const struct np_prediction *prediction)
{
	const struct cli_pair pair = { app, victim, corunner, *prediction };
	struct cli_pair *sorted = list->pair;
	size_t position = list->n;

	while (position && comes_before(&pair, &sorted[position - 1]))
		position--;
	if (position == CLI_PAIRS_MAX)
		return;
	/* If the list is full, its last pair is overwritten. */
	list->n += list->n < CLI_PAIRS_MAX;
	memmove(sorted + position + 1, sorted + position,
		(list->n - 1 - position) * sizeof(*sorted));
	sorted[position] = pair;
}

void cli_pair_predict(struct np_predictor *predictor,
		      const struct cli_known *known, enum np_scope scope,
		      struct cli_pair *pair)
{
	struct cli_prediction prediction = {
		.victim = pair->victim,
		.n_corunners = 1,
		.corunner = { pair->corunner },
		.scope = scope,
	};

	cli_predict(predictor, known, &prediction);
	if (!prediction.rc)
		pair->prediction = prediction.result;
}

/* Whether a doubt is about the idle baseline, not the program's own data. */
static bool is_about_baseline(enum np_doubt doubt)
{
	return doubt == NP_DOUBT_BASELINE || doubt == NP_DOUBT_SILENT ||
	       doubt == NP_DOUBT_FULL;
}

/*
 * Recommend what the verdict of netprof show needs: an idle baseline, latencies
 * of the application, or runs under load. cli_verdict_text() names the same
 * command. (It also names commands that would only refine a verdict, which are
 * not recommended here.) Returns false if the verdict needs nothing.
 */
static bool recommend_from_verdict(const struct np_run_summary *profile,
				   struct cli_recommendation *out)
{
	const char *app = profile->runs->app;
	bool has_latency = profile->latency.n_runs;
	bool doubts_traffic = profile->verdict.doubt == NP_DOUBT_TRAFFIC;

	if (is_about_baseline(profile->verdict.doubt)) {
		strcpy(out->command, CLI_IDLE_COMMAND);
		strcpy(out->measurement, "the idle network");
	} else if (profile->verdict.use == NP_USE_UNKNOWN && !doubts_traffic) {
		/*
		 * Probes need two nodes under one leaf switch. If a run had
		 * latencies and its use of the network is still unknown, it had
		 * too few probes, so probe more often.
		 */
		snprintf(out->command, sizeof(out->command),
			 "sbatch %s--netprofile=%s%s job.sh",
			 has_latency ? "" : "-N2 --switches=1 ", app,
			 has_latency ? " --netprofile-period=20ms" : "");
		snprintf(out->measurement, sizeof(out->measurement),
			 "latencies of %s", app);
	} else if (!profile->n_levels) {
		snprintf(out->command, sizeof(out->command), CLI_CALIBRATE_APP,
			 app);
		snprintf(out->measurement, sizeof(out->measurement),
			 "runs of %s under load", app);
	}
	return *out->command;
}

/*
 * Recommend the measurement that would narrow the interval of the worst pair
 * most, if any would.
 */
static void recommend_for_worst_pair(const struct cli_known *known,
				     enum np_scope scope,
				     struct cli_recommendation *out)
{
	const struct cli_prediction worst = {
		.victim = out->pair[0].victim,
		.n_corunners = 1,
		.corunner = { out->pair[0].corunner },
		.scope = scope,
		.result = out->pair[0].prediction,
	};

	cli_best_measurement(known, &worst, out->command, out->measurement,
			     sizeof(out->measurement));
}

/* Find the most useful measurement; out->command stays "" if none would help. */
static void find_measurement(const struct np_run_summary *profile,
			     const struct cli_known *known, enum np_scope scope,
			     struct cli_recommendation *out)
{
	/* The idle baseline is not a program and has no predictions. */
	if (profile->is_idle)
		return;
	out->verdict_names_command = recommend_from_verdict(profile, out);
	if (out->verdict_names_command)
		return;
	if (out->n_pairs) {
		recommend_for_worst_pair(known, scope, out);
	} else if (!known->calibrated) {
		strcpy(out->command, CLI_CALIBRATE);
		strcpy(out->measurement,
		       "a calibration of this fabric; for an administrator");
	}
}

void cli_recommend(const struct np_run_summary *profile,
		   const struct cli_known *known, enum np_scope scope,
		   const struct cli_pair_list *pairs, double limit,
		   struct cli_recommendation *out)
{
	*out = (struct cli_recommendation){
		.limit = limit,
		.pair = pairs->pair,
		.app = profile->runs->app,
		.n_pairs = cli_has_no_effect(known, scope) ? 0 : pairs->n,
	};
	/*
	 * The list is sorted, so the pairs to avoid are at its beginning. An
	 * uncertain prediction does not justify avoiding an application.
	 */
	while (out->n_avoid < out->n_pairs &&
	       out->pair[out->n_avoid].prediction.slowdown > limit &&
	       !is_uncertain(&out->pair[out->n_avoid]))
		out->n_avoid++;
	find_measurement(profile, known, scope, out);
}

const char *cli_avoid_text(const struct cli_recommendation *recommendation)
{
	const char *separator = "sharing a leaf switch with ";
	size_t n = recommendation->n_avoid;
	const char *limit = cli_setting_percent(recommendation->limit);
	char *buf = cli_text_buffer();

	if (!n && recommendation->n_pairs)
		return cli_text("none: no application with a reliable "
				"prediction slows %s by more than %s.",
				recommendation->app, limit);
	for (size_t i = 0; i < n; i++) {
		const char *app = recommendation->pair[i].app;
		bool is_itself = !strcmp(app, recommendation->app);

		cli_appendf(buf, CLI_TEXT_BYTES, "%s%s%s%s", separator,
			    is_itself ? "a second " : "", app,
			    is_itself ? " job" : "");
		separator = i + 2 < n ? ", " : " or ";
	}
	if (n)
		cli_appendf(buf, CLI_TEXT_BYTES,
			    "%s slows %s by more than %s. To do so: "
			    "sbatch --exclude=NODES.",
			    n > 1 ? ": each" : ", which", recommendation->app,
			    limit);
	return buf;
}

const char *cli_improve_text(const struct cli_recommendation *recommendation)
{
	return *recommendation->command &&
			       !recommendation->verdict_names_command ?
		       cli_text("%s (%s)", recommendation->command,
				recommendation->measurement) :
		       "";
}

const char *cli_pair_text(const struct cli_pair *pair, const char *subject,
			  size_t columns)
{
	const struct np_prediction *prediction = &pair->prediction;
	bool is_itself = !strcmp(pair->app, subject);
	const char *slowdown = cli_text("%s%s%s %s%s",
					is_itself ? "a second " : "",
					cli_truncate(pair->app, columns),
					is_itself ? " job" : "",
					cli_change(prediction->slowdown),
					is_uncertain(pair) ? "?" : "");

	return isnan(prediction->low) ?
		       slowdown :
		       cli_text("%s (%.0f to %.0f)", slowdown,
				cli_whole_percent(prediction->low),
				cli_whole_percent(prediction->high));
}

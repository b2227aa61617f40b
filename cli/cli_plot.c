/*
 * Figures of one application: its latency distribution, its sensitivity curve,
 * and its utilisation over time.
 *
 * Each part is a panel of a figure. If a part has no data, no panel is added,
 * and the caller gets a line that says what is missing and how to measure it.
 *
 * When memory runs out, functions of np_figure.h return NULL, and all of them
 * accept NULL. The figure is marked as failed, and saving it reports the
 * error, so this file does not check for NULL.
 */
#include "cli_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_output.h"
#include "cli_text.h"
#include "np_queue.h"

#define MAX_TIME_POINTS 256 /* drawn; windows are merged to stay below */
#define CURVE_SEGMENTS 100  /* of the line for a fitted curve */

/* Styles of np_figure_add_shape(). */
enum { STYLE_MEASURED, STYLE_FIT };

const char *const cli_plot_part_names[CLI_PLOT_PARTS] = {
	[CLI_PLOT_LATENCY] = "latency",
	[CLI_PLOT_CURVE] = "curve",
	[CLI_PLOT_TIME] = "time",
};

/* ---- latency histogram ---- */

/*
 * Find the first and the last bin with samples of the application or of the
 * idle network. The outermost bins have no outer edge, so they cannot be drawn.
 */
static void find_used_bins(const struct np_run_summary *profile,
			   size_t *first_bin, size_t *last_bin)
{
	const struct np_hist *hist[] = { profile->latency.hist,
					 profile->idle.hist };

	*first_bin = NP_HIST_BINS - 1;
	*last_bin = 1;
	for (size_t i = 0; i < NP_ARRAY_SIZE(hist); i++)
		for (size_t bin = 1; hist[i] && bin < NP_HIST_BINS - 1; bin++) {
			if (!np_hist_count(hist[i], bin))
				continue;
			*first_bin = bin < *first_bin ? bin : *first_bin;
			*last_bin = bin > *last_bin ? bin : *last_bin;
		}
}

/*
 * Add a histogram as a stepped line, in percent of its own samples, because the
 * application and the idle network have different numbers of samples.
 */
static void add_histogram(struct np_figure *figure, struct np_panel *panel,
			  const struct np_sample *sample, const char *name,
			  unsigned style, size_t first_bin, size_t last_bin)
{
	double n_samples = (double)np_hist_total(sample->hist);
	const char *legend =
		cli_text("%s (median %s, p99 %s)", cli_truncate(name, 24),
			 cli_sec(np_sample_quantile(sample, 0.5)),
			 cli_sec(np_sample_quantile(sample, 0.99)));
	struct np_shape *shape = np_figure_add_shape(
		figure, panel, NP_SHAPE_STEP, style, legend);

	/* A stepped line needs one more point, at the end of its last step. */
	for (size_t bin = first_bin; bin <= last_bin + 1; bin++) {
		double percent = 0;

		if (bin <= last_bin)
			percent = 100 *
				  (double)np_hist_count(sample->hist, bin) /
				  n_samples;
		np_figure_add_datum(figure, shape, np_hist_edge(bin), percent,
				    NAN, NAN);
	}
}

/*
 * Add a panel with the latency distribution, drawn over that of the idle
 * network.
 */
static const char *add_latency_panel(struct np_figure *figure,
				     const struct np_run_summary *profile)
{
	struct np_panel *panel;
	size_t first_bin, last_bin;

	if (!profile->latency.hist)
		return cli_text(
			"no latencies; to measure them: sbatch --netprofile=%s "
			"job.sh, on two or more nodes of one leaf switch",
			profile->runs->app);
	panel = cli_figure_add_panel(figure, "Latency of probes",
				     NP_AXIS_SECONDS,
				     "Latency, half a round trip",
				     NP_AXIS_LINEAR, "Share of probes (%)");
	panel->y.lo = 0;
	find_used_bins(profile, &first_bin, &last_bin);
	if (profile->idle.hist && !profile->is_idle)
		add_histogram(figure, panel, &profile->idle, "idle",
			      NP_STYLE_GREY, first_bin, last_bin);
	add_histogram(figure, panel, &profile->latency, profile->runs->app,
		      STYLE_MEASURED, first_bin, last_bin);
	return NULL;
}

/* ---- sensitivity curve ---- */

/*
 * Add the curve that np_curve_fit() fits to n points, at most
 * NP_FABRIC_MAX_LEVELS. The fit ignores points near saturation, so the line
 * ends before them. Without a fit there is no line.
 */
static void add_fit(struct np_figure *figure, struct np_panel *panel,
		    const double *utilisation, const double *slowdown, size_t n)
{
	double curve[NP_CURVE_DIM(n)], lowest = INFINITY, highest = 0;
	struct np_shape *shape;

	if (np_curve_fit(NP_CURVE_ISOTONIC, utilisation, slowdown, n, curve,
			 NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		lowest = fmin(lowest, utilisation[i]);
		if (utilisation[i] < NP_CURVE_FIT_MAX)
			highest = fmax(highest, utilisation[i]);
	}
	shape = np_figure_add_shape(
		figure, panel, NP_SHAPE_LINE, STYLE_FIT,
		cli_text("non-decreasing fit, below %.0f %%",
			 100 * NP_CURVE_FIT_MAX));
	for (int i = 0; i <= CURVE_SEGMENTS; i++) {
		double x = lowest + (highest - lowest) * i / CURVE_SEGMENTS;

		np_figure_add_datum(figure, shape, 100 * x,
				    100 * np_curve_at(curve, x, NULL), NAN,
				    NAN);
	}
}

/*
 * Add the measured slowdown under each load level, with its interval. The
 * points are placed over the utilisation of the levels, as far as it is known,
 * or at the names of the levels.
 */
static void add_points(struct np_figure *figure, struct np_panel *panel,
		       const struct np_run_summary *profile,
		       bool over_utilisation)
{
	struct np_shape *shape =
		np_figure_add_shape(figure, panel, NP_SHAPE_POINTS,
				    STYLE_MEASURED, "measured, 95 % interval");
	size_t n_points = 0;

	for (size_t i = 0; i < profile->n_levels; i++) {
		const struct np_run_summary_level *level = &profile->level[i];

		if (!np_mean_known(&level->slowdown) ||
		    (over_utilisation && isnan(level->utilisation)))
			continue;
		if (!over_utilisation)
			np_figure_add_name(figure, &panel->x, level->name);
		np_figure_add_datum(figure, shape,
				    over_utilisation ?
					    100 * level->utilisation :
					    (double)n_points++,
				    100 * level->slowdown.mean,
				    100 * level->low, 100 * level->high);
	}
}

/*
 * Add the slowdown as a function of the utilisation that the calibration
 * measured under each level. Returns false, and adds nothing, if fewer than two
 * points are known.
 */
static bool add_points_over_utilisation(struct np_figure *figure,
					struct np_panel *panel,
					const struct np_run_summary *profile)
{
	/* The n levels whose utilisation and slowdown are both known. */
	double utilisation[profile->n_levels + 1];
	double slowdown[profile->n_levels + 1];
	size_t n = 0;

	for (size_t i = 0; i < profile->n_levels; i++) {
		const struct np_run_summary_level *level = &profile->level[i];

		if (isnan(level->utilisation) ||
		    !np_mean_known(&level->slowdown))
			continue;
		utilisation[n] = level->utilisation;
		slowdown[n++] = level->slowdown.mean;
	}
	if (n < 2)
		return false;
	np_figure_set_axis(
		figure, &panel->x, NP_AXIS_LINEAR,
		"Estimated utilisation under the synthetic load alone (%)");
	panel->x.lo = 0;
	panel->x.hi = 100;
	add_fit(figure, panel, utilisation, slowdown, n);
	add_points(figure, panel, profile, true);
	return true;
}

/*
 * Add a panel with the slowdown under each load level. The x axis shows the
 * utilisation of the levels if it is known for at least two, and their names
 * otherwise.
 */
static const char *add_curve_panel(struct np_figure *figure,
				   const struct np_run_summary *profile,
				   const struct np_run_summary *calibrated,
				   const struct np_fabric *fabric)
{
	struct np_panel *panel;

	if (profile->n_curve < 2)
		return cli_text("%s synthetic load; to measure it: sbatch "
				"--netprofile=%s --netprofile-calibrate job.sh",
				profile->n_curve ? "measured under only one" :
						   "not measured under",
				profile->runs->app);
	panel = cli_figure_add_panel(
		figure, "Slowdown under synthetic load", NP_AXIS_NAMES,
		fabric ? "Load level (utilisation unknown)" :
			 "Load level (this fabric is not calibrated)",
		NP_AXIS_LINEAR, "Slowdown (%)");
	if (fabric && add_points_over_utilisation(figure, panel, calibrated))
		return NULL;
	add_points(figure, panel, profile, false);
	return NULL;
}

/* ---- utilisation over time ---- */

/*
 * Find the longest run without synthetic load whose latencies were used for the
 * profile. Returns its time windows, which the caller frees, or NULL if there
 * is no such run.
 */
static struct np_series *
find_longest_series(const struct np_run_summary *profile)
{
	struct np_series *longest = NULL;

	for (size_t i = 0; i < profile->runs->n; i++) {
		struct np_series *series = NULL;

		if (profile->use[i] == NP_RUN_ALONE ||
		    profile->use[i] == NP_RUN_LATENCY)
			series = np_run_windows(profile->runs->run[i]);
		if (series && series->n > 1 &&
		    (!longest ||
		     (double)series->n * series->width_sec >
			     (double)longest->n * longest->width_sec)) {
			free(longest);
			longest = series;
		} else {
			free(series);
		}
	}
	return longest;
}

/*
 * What to draw for merged windows: the estimated utilisation in percent or, if
 * idle_service is NULL because there is no idle baseline, the mean latency in
 * microseconds; NaN if there were no probes.
 */
static double window_value(const struct np_moments *moments,
			   const struct np_service *idle_service)
{
	double utilisation = NAN;

	if (!moments->n)
		return NAN;
	if (!idle_service)
		return moments->mean * 1e6;
	np_queue_utilisation(idle_service, moments->mean, &utilisation, NULL);
	return 100 * utilisation;
}

/*
 * Draw the windows as estimated utilisation or latency. Adjacent windows are
 * merged so that at most MAX_TIME_POINTS points are drawn.
 */
static void add_windows(struct np_figure *figure, struct np_panel *panel,
			const struct np_series *series,
			const struct np_service *idle_service)
{
	struct np_shape *shape = np_figure_add_shape(
		figure, panel, NP_SHAPE_STEP, STYLE_MEASURED, NULL);
	size_t windows_per_point =
		(series->n + MAX_TIME_POINTS - 1) / MAX_TIME_POINTS;
	size_t end;

	for (size_t i = 0; i < series->n; i = end) {
		struct np_moments moments = { 0 };

		end = i + windows_per_point < series->n ?
			      i + windows_per_point :
			      series->n;
		for (size_t k = i; k < end; k++)
			np_moments_merge(&moments, &series->w[k]);
		np_figure_add_datum(figure, shape,
				    (double)i * series->width_sec,
				    window_value(&moments, idle_service), NAN,
				    NAN);
	}
	/* The end of the last step. */
	np_figure_add_datum(figure, shape,
			    (double)series->n * series->width_sec, 0, NAN, NAN);
}

/*
 * Add a panel with the estimated utilisation during the longest run, or with
 * its latency if there is no idle baseline.
 */
static const char *add_time_panel(struct np_figure *figure,
				  const struct np_run_summary *profile)
{
	struct np_series *series = find_longest_series(profile);
	struct np_moments idle_moments =
		np_hist_robust(profile->idle.hist, &profile->idle.moments);
	struct np_service idle;
	struct np_panel *panel;
	bool has_idle;

	if (!series)
		return cli_text("no latencies over time; to measure them: "
				"sbatch --netprofile=%s job.sh, on two or more "
				"nodes of one leaf switch",
				profile->runs->app);
	has_idle = profile->idle.n_runs &&
		   !np_queue_service(&idle_moments, &idle);
	panel = cli_figure_add_panel(
		figure,
		has_idle ? "Estimated utilisation over time" :
			   "Latency over time",
		NP_AXIS_LINEAR, "Time since the start of the longest run (s)",
		NP_AXIS_LINEAR,
		has_idle ? "Estimated utilisation (%)" :
			   "Mean latency (\302\265s)");
	panel->y.lo = 0;
	panel->y.hi = has_idle ? 100 : NAN;
	add_windows(figure, panel, series, has_idle ? &idle : NULL);
	free(series);
	return NULL;
}

const char *cli_plot_add(struct np_figure *figure, enum cli_plot_part part,
			 const struct np_run_summary *profile,
			 const struct np_run_summary *calibrated,
			 const struct np_fabric *fabric)
{
	return part == CLI_PLOT_LATENCY ?
		       add_latency_panel(figure, profile) :
	       part == CLI_PLOT_CURVE ?
		       add_curve_panel(figure, profile, calibrated, fabric) :
		       add_time_panel(figure, profile);
}

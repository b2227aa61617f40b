/*
 * Figures of one application: distribution of latencies, sensitivity curve, and
 * utilisation over time.
 *
 * Each part is a panel of a figure.  A part without data adds no panel and
 * returns a line that says what to measure.
 */
#include "cli_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_text.h"
#include "np_queue.h"

#define MAX_WINDOWS 256 /* time windows drawn; more are merged */
#define CURVE_POINTS 100

const char *const cli_plot_parts[CLI_PLOT_PARTS] = {
	[CLI_PLOT_LATENCY] = "latency", [CLI_PLOT_CURVE] = "curve",
	[CLI_PLOT_TIME] = "time",
};

/* ---- latency histogram ---- */

/* First and last bin with samples of the application or the idle network. */
static void bins_of(const struct np_profile *profile, size_t *from, size_t *to)
{
	const struct np_hist *hist[] = { profile->summary.latency.hist,
					 profile->idle.hist };

	*from = NP_HIST_BINS - 1;
	*to = 1;
	for (size_t k = 0; k < NP_ARRAY_SIZE(hist); k++)
		/* The first and last bin are open-ended and are not drawn. */
		for (size_t i = 1; hist[k] && i < NP_HIST_BINS - 1; i++) {
			if (!np_hist_count(hist[k], i))
				continue;
			*from = i < *from ? i : *from;
			*to = i > *to ? i : *to;
		}
}

/*
 * One histogram as a stepped line, in percent of its own samples. The legend
 * has the median and the 99th percentile.
 */
static void add_hist(struct np_figure *figure, struct np_panel *panel,
		     const struct np_sample *sample, const char *name,
		     unsigned style, size_t from, size_t to)
{
	char legend[256], median[CLI_NUMBER], tail[CLI_NUMBER], cut[64];
	double total = (double)np_hist_total(sample->hist);
	struct np_shape *shape;

	snprintf(legend, sizeof(legend), "%s (median %s, p99 %s)",
		 cli_cut(name, 24, cut, sizeof(cut)),
		 cli_sec(np_sample_quantile(sample, 0.5), median),
		 cli_sec(np_sample_quantile(sample, 0.99), tail));
	shape = np_figure_shape(figure, panel, NP_SHAPE_STEP, style, legend);
	for (size_t i = from; i <= to + 1; i++)
		np_figure_add(
			figure, shape, np_hist_edge(i),
			i > to ? 0 :
				 100 * (double)np_hist_count(sample->hist, i) /
					 total,
			NAN, NAN);
}

/* The distribution of latencies, drawn over that of the idle network. */
static int add_latency(struct np_figure *figure,
		       const struct np_profile *profile, char *missing,
		       size_t len)
{
	struct np_panel *panel;
	size_t from, to;

	if (!profile->summary.latency.hist) {
		snprintf(missing, len,
			 "no latencies; to measure them: sbatch "
			 "--netprofile=%s job.sh, on two nodes or more of a "
			 "leaf switch",
			 profile->runs->app);
		return -ENODATA;
	}
	panel = np_figure_panel(figure, "Latency of probes");
	if (!panel)
		return 0;
	np_figure_axis(figure, &panel->x, NP_AXIS_SECONDS,
		       "Latency, half a round trip");
	np_figure_axis(figure, &panel->y, NP_AXIS_LINEAR,
		       "Share of probes (%)");
	panel->y.lo = 0;
	bins_of(profile, &from, &to);
	if (profile->idle.hist && !profile->is_idle)
		add_hist(figure, panel, &profile->idle, "idle", NP_STYLE_GREY,
			 from, to);
	add_hist(figure, panel, &profile->summary.latency, profile->runs->app,
		 0, from, to);
	return 0;
}

/* ---- sensitivity curve ---- */

/* Estimated utilisation at this latency; NaN: not known. */
static double utilisation_of(const struct np_service *service,
			     double latency_sec)
{
	double utilisation = NAN;

	np_queue_utilisation(service, latency_sec, &utilisation, NULL);
	return utilisation;
}

/* The curve that np_queue.h fits to the levels below saturation. */
static void add_fit(struct np_figure *figure, struct np_panel *panel,
		    const double *utilisation, const double *slow, size_t n)
{
	double curve[NP_CURVE_DIM(n)], lo = INFINITY, hi = 0;
	struct np_shape *shape;

	/* Without a fit, the points are drawn alone. */
	if (np_curve_fit(NP_CURVE_ISOTONIC, utilisation, slow, n, curve, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		lo = fmin(lo, utilisation[i]);
		/*
		 * The fit ignores levels near saturation, so the line ends
		 * there.
		 */
		if (utilisation[i] < NP_CURVE_FIT_MAX)
			hi = fmax(hi, utilisation[i]);
	}
	shape = np_figure_shape(figure, panel, NP_SHAPE_LINE, 1,
				"isotonic fit, below 97 %");
	for (int i = 0; i <= CURVE_POINTS; i++) {
		double x = lo + (hi - lo) * i / CURVE_POINTS;

		np_figure_add(figure, shape, 100 * x,
			      100 * np_curve_at(curve, x, NULL), NAN, NAN);
	}
}

/* at: utilisation of each level, NaN if not known; NULL: no scale. */
static void add_points(struct np_figure *figure, struct np_panel *panel,
		       const struct np_run_summary *summary, const double *at)
{
	struct np_shape *shape = np_figure_shape(figure, panel, NP_SHAPE_POINTS,
						 0, "measured, 95 % interval");
	size_t named = 0;

	for (size_t i = 0; i < summary->n_levels; i++) {
		const struct np_run_summary_level *level = &summary->level[i];

		if (!np_mean_known(&level->slowdown) || (at && isnan(at[i])))
			continue;
		if (!at)
			np_figure_name(figure, &panel->x, level->name);
		np_figure_add(figure, shape, at ? 100 * at[i] : (double)named++,
			      100 * level->slowdown.mean, 100 * level->low,
			      100 * level->high);
	}
}

/*
 * Slowdown over the utilisation that the calibration measured for each level.
 * Returns false if fewer than two points are known.
 */
static bool add_curve_over_utilisation(struct np_figure *figure,
				       struct np_panel *panel,
				       const struct np_run_summary *summary,
				       const struct np_fabric *fabric)
{
	size_t n_levels = summary->n_levels, n = 0;
	double at[n_levels + 1], utilisation[n_levels + 1], slow[n_levels + 1];
	struct np_service idle;

	/* The summary must be on the levels of this calibration. */
	if (n_levels != fabric->n_levels ||
	    np_queue_service(&fabric->idle.all, &idle))
		return false;
	for (size_t i = 0; i < n_levels; i++) {
		at[i] = utilisation_of(
			&idle, fabric->level[i].latency.all.n ?
				       fabric->level[i].latency.all.mean :
				       0);
		if (isnan(at[i]) || !np_mean_known(&summary->level[i].slowdown))
			continue;
		utilisation[n] = at[i];
		slow[n++] = summary->level[i].slowdown.mean;
	}
	if (n < 2)
		return false;
	np_figure_axis(figure, &panel->x, NP_AXIS_LINEAR,
		       "Estimated utilisation "
		       "under the synthetic load alone (%)");
	panel->x.lo = 0;
	panel->x.hi = 100;
	add_fit(figure, panel, utilisation, slow, n);
	add_points(figure, panel, summary, at);
	return true;
}

/*
 * Slowdowns under each load level: over the utilisation of the level if the
 * fabric is calibrated, else side by side.
 */
static int add_curve(struct np_figure *figure, const struct np_profile *profile,
		     const struct np_run_summary *summary,
		     const struct np_fabric *fabric, char *missing, size_t len)
{
	struct np_panel *panel;

	if (profile->summary.n_curve < 2) {
		snprintf(missing, len,
			 "%s synthetic load; to measure it: "
			 "sbatch --netprofile=%s --netprofile-calibrate job.sh",
			 profile->summary.n_curve ? "measured under only one" :
						    "not measured under",
			 profile->runs->app);
		return -ENODATA;
	}
	panel = np_figure_panel(figure, "Slowdown under synthetic load");
	if (!panel)
		return 0;
	np_figure_axis(figure, &panel->y, NP_AXIS_LINEAR, "Slowdown (%)");
	if (fabric &&
	    add_curve_over_utilisation(figure, panel, summary, fabric))
		return 0;
	np_figure_axis(figure, &panel->x, NP_AXIS_NAMES,
		       "Level of the load (this fabric is not calibrated)");
	add_points(figure, panel, &profile->summary, NULL);
	return 0;
}

/* ---- utilisation over time ---- */

/*
 * Windows of the longest run whose latencies count; the caller frees them.
 * NULL: there is none.
 */
static struct np_series *longest_series(const struct np_profile *profile)
{
	const struct np_run_summary *summary = &profile->summary;
	struct np_series *best = NULL;

	for (size_t i = 0; i < profile->runs->n; i++) {
		struct np_series *series = NULL;

		if (summary->use[i] == NP_RUN_ALONE ||
		    summary->use[i] == NP_RUN_LATENCY)
			series = np_run_windows(profile->runs->run[i]);
		if (series && series->n > 1 &&
		    (!best || (double)series->n * series->width_sec >
				      (double)best->n * best->width_sec)) {
			free(best);
			best = series;
		} else {
			free(series);
		}
	}
	return best;
}

/* Draw the windows, merged so that there are at most MAX_WINDOWS. */
static void add_windows(struct np_figure *figure, struct np_panel *panel,
			const struct np_series *series,
			const struct np_service *idle)
{
	struct np_shape *shape =
		np_figure_shape(figure, panel, NP_SHAPE_STEP, 0, NULL);
	size_t merge = (series->n + MAX_WINDOWS - 1) / MAX_WINDOWS, to;

	for (size_t i = 0; i < series->n; i = to) {
		struct np_moments moments = { 0 };

		to = i + merge < series->n ? i + merge : series->n;
		for (size_t k = i; k < to; k++)
			np_moments_merge(&moments, &series->w[k]);
		np_figure_add(figure, shape, (double)i * series->width_sec,
			      !moments.n ? NAN :
			      idle ? 100 * utilisation_of(idle, moments.mean) :
				     moments.mean * 1e6,
			      NAN, NAN);
	}
	/* A stepped line needs the end of its last step. */
	np_figure_add(figure, shape, (double)series->n * series->width_sec, 0,
		      NAN, NAN);
}

/*
 * The estimated utilisation in the windows of the longest run, or the latency
 * if there is no idle baseline.
 */
static int add_time(struct np_figure *figure, const struct np_profile *profile,
		    char *missing, size_t len)
{
	struct np_series *series = longest_series(profile);
	struct np_service idle;
	struct np_panel *panel;
	bool known;

	if (!series) {
		snprintf(missing, len,
			 "no latencies over time; to measure "
			 "them: sbatch --netprofile=%s job.sh, on two nodes or "
			 "more of a leaf switch",
			 profile->runs->app);
		return -ENODATA;
	}
	known = profile->idle.n_runs &&
		!np_queue_service(&profile->idle.moments, &idle);
	panel = np_figure_panel(figure,
				known ? "Estimated utilisation over time" :
					"Latency over time");
	if (panel) {
		np_figure_axis(figure, &panel->x, NP_AXIS_LINEAR,
			       "Time since the start of the longest run (s)");
		np_figure_axis(figure, &panel->y, NP_AXIS_LINEAR,
			       known ? "Estimated utilisation (%)" :
				       "Mean latency (\302\265s)");
		panel->y.lo = 0;
		panel->y.hi = known ? 100 : NAN;
		add_windows(figure, panel, series, known ? &idle : NULL);
	}
	free(series);
	return 0;
}

int cli_plot_add(struct np_figure *figure, enum cli_plot_part part,
		 const struct np_profile *profile,
		 const struct np_run_summary *summary,
		 const struct np_fabric *fabric, char *missing, size_t len)
{
	switch (part) {
	case CLI_PLOT_LATENCY:
		return add_latency(figure, profile, missing, len);
	case CLI_PLOT_CURVE:
		return add_curve(figure, profile, summary, fabric, missing,
				 len);
	default:
		return add_time(figure, profile, missing, len);
	}
}

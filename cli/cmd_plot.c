/*
 * netprof plot APP: figures of one application.
 *
 * The figure is described once (np_figure.h, cli_plot.h) and then drawn on the
 * terminal, written as SVG, PNG or PDF, or printed as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_known.h"
#include "cli_output.h"
#include "cli_plot.h"
#include "cli_print.h"
#include "cli_text.h"

struct options {
	const char *only;
	bool ascii;
};

/* An axis of names also lists them; points then have indices into that list. */
static void put_axis(json_object *in, const char *key,
		     const struct np_axis *axis)
{
	static const char *const kind[] = {
		[NP_AXIS_LINEAR] = "linear",
		[NP_AXIS_LOG] = "log",
		[NP_AXIS_SECONDS] = "log",
		[NP_AXIS_NAMES] = "names",
	};
	json_object *j = cli_put_object(in, key), *names;

	cli_put_text(j, "label", axis->label);
	cli_put_text(j, "scale", kind[axis->kind]);
	if (axis->kind != NP_AXIS_NAMES)
		return;
	names = cli_put_array(j, "names");
	for (size_t i = 0; i < axis->n_names; i++)
		cli_append_text(names, axis->name[i]);
}

/* Members that this kind of shape does not have are omitted. */
static void put_point(json_object *list, const struct np_shape *shape, size_t i)
{
	const struct np_datum *datum = &shape->datum[i];
	json_object *j = cli_append_object(list);

	if (!isnan(datum->x))
		cli_put_real(j, "x", datum->x);
	if (!isnan(datum->y))
		cli_put_real(j, "y", datum->y);
	if (!isnan(datum->low))
		cli_put_real(j, shape->kind == NP_SHAPE_CELLS ? "value" : "low",
			     datum->low);
	if (!isnan(datum->high))
		cli_put_real(j, "high", datum->high);
	if (datum->text)
		cli_put_text(j, "text", datum->text);
}

/*
 * One shape with its points; the kinds are words of doc/json-schema/plot.json.
 */
static void put_shape(json_object *list, const struct np_shape *shape)
{
	static const char *const kind[] = {
		[NP_SHAPE_BAND] = "band",     [NP_SHAPE_REGION] = "region",
		[NP_SHAPE_STEP] = "step",     [NP_SHAPE_LINE] = "line",
		[NP_SHAPE_POINTS] = "points", [NP_SHAPE_BARS] = "bars",
		[NP_SHAPE_SPANS] = "spans",   [NP_SHAPE_CELLS] = "cells",
	};
	json_object *j = cli_append_object(list), *points;

	cli_put_text(j, "shape", kind[shape->kind]);
	cli_put_text(j, "name", shape->name);
	points = cli_put_array(j, "points");
	for (size_t i = 0; i < shape->n; i++)
		put_point(points, shape, i);
}

/* The numbers of the figure, for programs. Returns the exit status. */
static int figure_json(const struct np_figure *figure)
{
	json_object *j = json_object_new_object(), *panels, *panel, *shapes;

	if (figure->no_memory) {
		json_object_put(j);
		return cli_fail("out of memory");
	}
	cli_put_text(j, "title", figure->title);
	cli_put_text(j, "caption", figure->caption);
	panels = cli_put_array(j, "panels");
	for (size_t i = 0; i < figure->n_panels; i++) {
		const struct np_panel *p = figure->panel[i];

		panel = cli_append_object(panels);
		cli_put_text(panel, "title", p->title);
		put_axis(panel, "x", &p->x);
		put_axis(panel, "y", &p->y);
		shapes = cli_put_array(panel, "shapes");
		for (size_t k = 0; k < p->n_shapes; k++)
			put_shape(shapes, &p->shape[k]);
	}
	return cli_print_json("plot", j);
}

/* The parts that --only selects, as bits; 0: no such part. */
static unsigned wanted(const char *only)
{
	for (int i = 0; only && i < CLI_PLOT_PARTS; i++)
		if (!strcmp(only, cli_plot_part_names[i]))
			return 1u << i;
	return only ? 0 : (1u << CLI_PLOT_PARTS) - 1;
}

/* The caption: cluster, numbers of runs and probes, and dates. */
static void put_caption(struct np_figure *figure,
			const struct np_run_summary *profile)
{
	const struct np_record *record = profile->fabric;
	const char *first, *last, *idle = "";
	double from = INFINITY, to = 0;

	for (size_t i = 0; i < profile->runs->n; i++) {
		if (profile->use[i] >= NP_RUN_FABRIC)
			continue;
		from = fmin(from, profile->runs->run[i]->start);
		to = fmax(to, profile->runs->run[i]->end);
	}
	figure->date = to;
	first = cli_day(from);
	last = cli_day(to);
	if (profile->idle.n_runs && !profile->is_idle)
		idle = cli_text("; idle: n = %llu probes",
				(unsigned long long)profile->idle.moments.n);
	np_figure_set_caption(figure,
			      "%s on %s (%s), n = %zu runs without load and "
			      "%zu under load, %llu probes%s; %s%s%s.",
			      profile->runs->app,
			      record && record->cluster ? record->cluster :
							  "an unknown cluster",
			      record && record->probe.transport ?
				      record->probe.transport :
				      "transport unknown",
			      profile->latency.n_runs,
			      profile->count[NP_RUN_UNDER_LEVEL],
			      (unsigned long long)profile->latency.moments.n,
			      idle, first, strcmp(first, last) ? " to " : "",
			      strcmp(first, last) ? last : "");
}

/*
 * Add the parts for which there are data, and warn about the first one without.
 * Returns -1 to go on, or the exit status.
 */
static int add_parts(struct np_figure *figure, unsigned parts,
		     const struct np_run_summary *profile,
		     const struct cli_known *known)
{
	const struct np_run_summary *summary =
		known->calibrated ? &known->app[0]->summary : NULL;
	const struct np_fabric *fabric = summary ? known->cal.fabric : NULL;
	const char *missing = NULL;

	for (int i = 0; i < CLI_PLOT_PARTS; i++) {
		const char *reason =
			parts & 1u << i ?
				cli_plot_add(figure, (enum cli_plot_part)i,
					     profile, summary, fabric) :
				NULL;

		missing = missing ? missing : reason;
	}
	if (figure->no_memory)
		return cli_fail("out of memory");
	if (!figure->n_panels)
		return cli_fail("%s: %s", profile->runs->app, missing);
	if (missing)
		cli_fail("%s: a panel is missing: %s", profile->runs->app,
			 missing);
	put_caption(figure, profile);
	return -1;
}

/* Draw the figure into a file, as JSON, or on the terminal. */
static int plot(const struct cli_options *options, bool ascii, unsigned parts,
		const struct np_run_summary *profile,
		const struct cli_known *known)
{
	struct np_figure *figure = cli_figure_new(profile->runs->app);
	int rc = add_parts(figure, parts, profile, known);

	if (rc < 0 && options->output)
		return cli_figure_save_and_free(figure, options->output);
	if (rc < 0)
		rc = options->format == CLI_JSON ? figure_json(figure) :
		     np_figure_print(figure, stdout, cli_output_columns(),
				     cli_utf8() && !ascii) ?
						   cli_fail("out of memory") :
						   CLI_DONE;
	np_figure_free(figure);
	return rc;
}

static const struct np_option own[] = {
	{ "only", NP_OPTION_WORD, offsetof(struct options, only) },
	{ "ascii", NP_OPTION_FLAG, offsetof(struct options, ascii) },
	{ NULL },
};

/* Options are checked before the store is read. */
static int run_plot(const struct cli_cmd *self, int argc, char **argv)
{
	struct options opt = { .only = NULL };
	struct cli_known known = { .n = 0 };
	struct np_run_summary profile;
	struct cli_options options;
	const struct np_runs *runs;
	struct cli_store store;
	unsigned parts;
	int rc;

	rc = cli_options_parse(self, argc, argv, &opt, &options);
	if (rc >= 0)
		return rc;
	parts = wanted(opt.only);
	if (options.output && options.format == CLI_JSON)
		return cli_usage(self,
				 "expected only one of --json and --output");
	if (opt.ascii && (options.output || options.format))
		return cli_usage(self, "--ascii has no effect with %s",
				 options.output ? "--output" : "--json");
	if (!parts)
		return cli_usage(
			self, "--only=%.64s: expected latency, curve or time",
			opt.only);
	rc = options.output ?
		     cli_check_picture(self, "output", options.output) :
		     -1;
	if (rc < 0)
		rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	rc = cli_known_find(&known, &store, &options);
	if (rc < 0) {
		runs = &known.app[0]->runs;
		/* Without a calibration the curve only has no scale. */
		cli_known_load_calibration(&known, &store, 1, false);
		cli_profile_make(&store, runs, runs, &profile);
	}
	cli_store_close(&store);
	if (rc < 0) {
		if (profile.is_idle && !opt.only) /* idle has no slowdown */
			parts &= ~(1u << CLI_PLOT_CURVE);
		rc = plot(&options, opt.ascii, parts, &profile, &known);
		np_run_summary_free(&profile);
	}
	cli_known_free(&known);
	return rc;
}

const struct cli_cmd cmd_plot = {
	.name = "plot",
	.args = "[--json] [--only=PART] [-o FILE] APP",
	.help = "figures of an application: latency, slowdown, phases",
	.text = "Draws three figures of APP, on the terminal or into a file: the latency of\n"
		"probes, compared with the idle network; the slowdown of APP over the\n"
		"utilisation of the network, with intervals; and the estimated utilisation that\n"
		"APP itself causes over time.\n\n"
		"  -o, --output=FILE  write a file: .svg, .png or .pdf\n"
		"  --only=PART        latency, curve or time\n"
		"  --ascii            use only ASCII characters on the terminal\n"
		"  --json             output for programs: the numbers\n"
		"  --user=NAME, --published\n"
		"                     whose profile, as for netprof show",
	.examples = "  netprof plot lammps\n"
		    "  netprof plot --only=curve fft -o fft.svg\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_JSON | CLI_TAKES_USER |
		 CLI_TAKES_OUTPUT,
	.own = own,
	.required_arg = "an application",
	.max_args = 1,
	.run = run_plot,
};

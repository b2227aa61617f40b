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
static void put_axis(json_object *in, const char *key, const struct np_axis *a)
{
	static const char *const kind[] = {
		[NP_AXIS_LINEAR] = "linear", [NP_AXIS_LOG] = "log",
		[NP_AXIS_SECONDS] = "log", [NP_AXIS_NAMES] = "names",
	};
	json_object *j = cli_put_object(in, key), *names;

	cli_put_text(j, "label", a->label);
	cli_put_text(j, "scale", kind[a->kind]);
	if (a->kind != NP_AXIS_NAMES)
		return;
	names = cli_put_array(j, "names");
	for (size_t i = 0; i < a->n_names; i++)
		cli_append_text(names, a->name[i]);
}

/* Members that this kind of shape does not have are omitted. */
static void put_point(json_object *list, const struct np_shape *s, size_t i)
{
	const struct np_datum *d = &s->datum[i];
	json_object *j = cli_append_object(list);

	if (!isnan(d->x))
		cli_put_real(j, "x", d->x);
	if (!isnan(d->y))
		cli_put_real(j, "y", d->y);
	if (!isnan(d->low))
		cli_put_real(j, s->kind == NP_SHAPE_CELLS ? "value" : "low",
			     d->low);
	if (!isnan(d->high))
		cli_put_real(j, "high", d->high);
	if (d->text)
		cli_put_text(j, "text", d->text);
}

/*
 * One shape with its points; the kinds are words of doc/json-schema/plot.json.
 */
static void put_shape(json_object *list, const struct np_shape *s)
{
	static const char *const kind[] = {
		[NP_SHAPE_BAND] = "band",     [NP_SHAPE_REGION] = "region",
		[NP_SHAPE_STEP] = "step",     [NP_SHAPE_LINE] = "line",
		[NP_SHAPE_POINTS] = "points", [NP_SHAPE_BARS] = "bars",
		[NP_SHAPE_SPANS] = "spans",   [NP_SHAPE_CELLS] = "cells",
	};
	json_object *j = cli_append_object(list), *points;

	cli_put_text(j, "shape", kind[s->kind]);
	cli_put_text(j, "name", s->name);
	points = cli_put_array(j, "points");
	for (size_t i = 0; i < s->n; i++)
		put_point(points, s, i);
}

/* The numbers of the figure, for programs.  Returns the exit status. */
static int figure_json(const struct np_figure *f)
{
	json_object *j = json_object_new_object(), *panels, *panel, *shapes;

	if (f->no_memory) {
		json_object_put(j);
		return cli_fail("out of memory");
	}
	cli_put_text(j, "title", f->title);
	cli_put_text(j, "caption", f->caption);
	panels = cli_put_array(j, "panels");
	for (size_t i = 0; i < f->n_panels; i++) {
		const struct np_panel *p = f->panel[i];

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
		if (!strcmp(only, cli_plot_parts[i]))
			return 1u << i;
	return only ? 0 : (1u << CLI_PLOT_PARTS) - 1;
}

/* The caption: cluster, numbers of runs and probes, and dates. */
static void put_caption(struct np_figure *f, const struct np_profile *p)
{
	const struct np_record *r = p->summary.fabric;
	char first[CLI_NUMBER], last[CLI_NUMBER], idle[80] = "";
	double from = INFINITY, to = 0;

	for (size_t i = 0; i < p->runs->n; i++) {
		if (p->summary.use[i] >= NP_RUN_FABRIC)
			continue;
		from = fmin(from, p->runs->run[i]->start);
		to = fmax(to, p->runs->run[i]->end);
	}
	f->date = to;
	cli_day(from, first);
	cli_day(to, last);
	if (p->idle.n_runs && !p->is_idle)
		snprintf(idle, sizeof(idle), "; idle: n = %llu probes",
			 (unsigned long long)p->idle.moments.n);
	np_figure_caption(f,
			  "%s on %s (%s), n = %zu runs without load and %zu "
			  "under load, %llu probes%s; %s%s%s.",
			  p->runs->app,
			  r && r->cluster ? r->cluster : "an unknown cluster",
			  r && r->probe.transport ? r->probe.transport :
						    "transport unknown",
			  p->summary.latency.n_runs,
			  p->summary.count[NP_RUN_UNDER_LEVEL],
			  (unsigned long long)p->summary.latency.moments.n,
			  idle, first, strcmp(first, last) ? " to " : "",
			  strcmp(first, last) ? last : "");
}

/*
 * Add the parts for which there are data, and warn about the first one without.
 * Returns -1 to go on, or the exit status.
 */
static int add_parts(struct np_figure *f, unsigned parts,
		     const struct np_profile *p, const struct cli_known *k)
{
	const struct np_run_summary *e = k->calibrated ? &k->app[0]->summary :
							 NULL;
	const struct np_fabric *fabric = e ? k->cal.fabric : NULL;
	char missing[CLI_PLOT_PARTS + 1][256] = { "" };
	int n = 0;

	for (int i = 0; i < CLI_PLOT_PARTS; i++)
		if (parts & 1u << i)
			n += !!cli_plot_add(f, (enum cli_plot_part)i, p, e,
					    fabric, missing[n],
					    sizeof(missing[n]));
	if (f->no_memory)
		return cli_fail("out of memory");
	if (!f->n_panels)
		return cli_fail("%s: %s", p->runs->app, missing[0]);
	if (n)
		cli_fail("%s: a panel is missing: %s", p->runs->app,
			 missing[0]);
	put_caption(f, p);
	return -1;
}

/* Draw the figure into a file, as JSON, or on the terminal. */
static int plot(const struct cli_options *o, bool ascii, unsigned parts,
		const struct np_profile *p, const struct cli_known *k)
{
	struct np_figure *f = np_figure_new(p->runs->app);
	int rc = f ? add_parts(f, parts, p, k) : cli_fail("out of memory");

	if (rc < 0 && o->output)
		return cli_figure_save(f, o->output);
	if (rc < 0)
		rc = o->format == CLI_JSON ? figure_json(f) :
		     np_figure_print(f, stdout, cli_page_columns(),
				     cli_utf8() && !ascii) ?
			     cli_fail("out of memory") : CLI_DONE;
	np_figure_free(f);
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
	struct cli_known k = { .n = 0 };
	struct cli_profile p;
	struct cli_options o;
	struct cli_store s;
	unsigned parts;
	int rc;

	rc = cli_options_parse(self, argc, argv, &opt, &o);
	if (rc >= 0)
		return rc;
	parts = wanted(opt.only);
	if (o.output && o.format == CLI_JSON)
		return cli_usage(self, "expected only one of --json and --output");
	if (!parts)
		return cli_usage(self, "--only=%.64s: expected latency, curve "
				 "or time", opt.only);
	rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = cli_profile_find(&s, &o, o.app, &p);
	if (rc < 0) {
		/* Without a calibration the curve only has no scale. */
		if (!cli_known_add(&k, &p.r, false))
			cli_known_load_calibration(&k, &s, 1, false);
	}
	cli_store_close(&s);
	if (rc >= 0)
		return rc;
	if (p.profile.is_idle && !opt.only)
		parts &= ~(1u << CLI_PLOT_CURVE); /* idle has no slowdown */
	rc = plot(&o, opt.ascii, parts, &p.profile, &k);
	cli_known_free(&k);
	cli_profile_free(&p);
	return rc;
}

const struct cli_cmd cmd_plot = {
	.name = "plot",
	.args = "[--json] [--only=PART] [-o FILE] APP",
	.help = "figures of an application: latency, slowdown, phases",
	.text =
"Draws three figures of APP, on the terminal or into a file: the latency of\n"
"probes, compared with the idle network; the slowdown of APP over the\n"
"utilisation of the network, with intervals; and the estimated utilisation that\n"
"APP itself causes over time.\n\n"
"  -o, --output=FILE  write a file: .svg, .png or .pdf\n"
"  --only=PART        latency, curve or time\n"
"  --ascii            use only ASCII characters on the terminal\n"
"  --json             output for programs: the numbers\n"
"  --user=NAME, --published\n"
"                     whose profile, as for netprof show",
	.examples =
"  netprof plot lammps\n"
"  netprof plot --only=curve fft -o fft.svg\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_JSON | CLI_TAKES_USER | CLI_TAKES_OUTPUT,
	.own = own,
	.missing = "an application", .most = 1,
	.run = run_plot,
};

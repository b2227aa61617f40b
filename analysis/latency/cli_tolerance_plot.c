/* netprof tolerance --plot: run times over latency, and its zones. */
#include <math.h>
#include <stdio.h>

#include "cli_output.h"
#include "cli_text.h"
#include "cli_tolerance.h"
#include "np_figure.h"

/* From the zone before, or from no added latency at all. */
static void add_zone(struct np_figure *f, struct np_panel *p,
		     const struct cli_tolerance *t, int i)
{
	static const unsigned style[TOLERANCE_ZONES] = { 2, 5, 3 };
	const struct cli_tolerance_of *of = &t->of[NP_LOGGPS_L];
	double from = i ? of->zone[i - 1].limit - of->base : 0;
	double to = of->zone[i].limit - of->base;
	char legend[80], up_to[CLI_NUMBER];

	snprintf(legend, sizeof(legend), isfinite(to) ? "to %g %%: +%s" :
		 "to %g %%: any", 100 * of->zone[i].share,
		 cli_sec(1e-9 * to, up_to));
	np_figure_add(f, np_figure_shape(f, p, NP_SHAPE_ZONE, style[i],
					 legend), NAN, NAN, 1e-3 * from,
		      1e-3 * fmin(to, t->point[TOLERANCE_POINTS - 1].added_ns));
}

static void add_program(struct np_figure *f, const struct cli_tolerance *t,
			const struct cli_tolerance_ask *ask)
{
	struct np_panel *p = np_figure_panel(f, t->file);
	char label[80];
	struct np_shape *s;

	if (!p)
		return;
	snprintf(label, sizeof(label), "Added %s latency (\302\265s)",
		 ask->topology ? "wire" : "network");
	np_figure_axis(f, &p->x, NP_AXIS_LINEAR, label);
	np_figure_axis(f, &p->y, NP_AXIS_LINEAR, "Run time (% longer)");
	p->x.lo = 0;
	p->x.hi = 1e-3 * t->point[TOLERANCE_POINTS - 1].added_ns;
	for (int i = 0; i < TOLERANCE_ZONES; i++)
		add_zone(f, p, t, i);
	s = np_figure_shape(f, p, NP_SHAPE_LINE, 0, NULL);
	for (int i = 0; i < TOLERANCE_POINTS; i++)
		np_figure_add(f, s, 1e-3 * t->point[i].added_ns,
			      t->ns > 0 ? 100 * (t->point[i].run.ns / t->ns - 1)
					: NAN, NAN, NAN);
}

int cli_tolerance_plot(const struct cli_tolerance *t, size_t n,
		       const struct cli_tolerance_ask *ask, const char *path)
{
	struct np_figure *f = np_figure_new("Tolerance of latency");
	char o[CLI_NUMBER], L[CLI_NUMBER];
	size_t ops = 0;

	for (size_t i = 0; f && i < n; i++) {
		add_program(f, &t[i], ask);
		ops += t[i].ops;
	}
	if (f)
		np_figure_caption(f, "From execution graphs of n = %zu "
				  "operations, LogGPS with L = %s, o = %s, G = "
				  "%.4g ns per byte. Zones: how far the run "
				  "takes 1, 2 and 5 %% longer at most.", ops,
				  cli_setting_sec(1e-9 * ask->net.L_ns, L),
				  cli_setting_sec(1e-9 * ask->net.o_ns, o),
				  ask->net.G_ns);
	return cli_figure_save(f, path);
}

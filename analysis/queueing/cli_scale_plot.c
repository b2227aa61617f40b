/*
 * netprof scale --plot: stacked components of each run next to those predicted
 * from runs of other sizes, and all run times over the number of processes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_output.h"
#include "cli_scale.h"
#include "cli_text.h"
#include "np_figure.h"

enum { PARTS = 4 };

#define WIDE 10 /* ratio from which an axis is logarithmic */

/* A measured run, or a predicted one with an interval. */
struct bar {
	double processes;
	const struct np_four *four;
	const struct np_scaled_run *said; /* NULL: measured */
	double measured_sec;		  /* NaN: predicted */
};

/* Collects the runs, each followed by its prediction, then other sizes. */
static size_t collect_bars(const struct cli_scale *s, struct bar *bar)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_runs; i++) {
		const struct cli_scale_run *r = &s->run[i];
		struct bar b = { r->run.processes, &r->four, NULL,
				 r->run.app_sec };

		bar[n++] = b;
		if (isnan(r->others.four.wall_sec))
			continue;
		b.four = &r->others.four;
		b.said = &r->others;
		b.measured_sec = NAN;
		bar[n++] = b;
	}
	for (size_t i = 0; i < s->n_at; i++)
		bar[n++] = (struct bar){ s->at[i], &s->answer[i].four,
					 &s->answer[i], NAN };
	return n;
}

/* Sum of the first n components, from the bottom of the bar. */
static double sum_components(const struct np_four *f, int n)
{
	const double part[PARTS] = { f->compute_sec, f->active_sec,
				     f->contention_sec, f->switch_sec };
	double all = 0;

	for (int i = 0; i < n; i++)
		all += part[i];
	return all;
}

static void add_stacks(struct np_figure *f, const struct bar *bar, size_t n)
{
	static const char *const name[PARTS] = { "compute", "active in MPI",
						 "contention", "switch" };
	struct np_panel *p = np_figure_panel(f, "Where the time goes");
	struct np_shape *s;

	if (!p)
		return;
	np_figure_axis(f, &p->x, NP_AXIS_NAMES, "Processes");
	np_figure_axis(f, &p->y, NP_AXIS_LINEAR, "Time of a process (s)");
	p->y.lo = 0;
	for (size_t i = 0; i < n; i++) {
		char text[CLI_NUMBER];

		snprintf(text, sizeof(text), "%.0f%s", bar[i].processes,
			 bar[i].said ? "*" : "");
		np_figure_name(f, &p->x, text);
	}
	for (int part = 0; part < PARTS; part++) {
		s = np_figure_shape(f, p, NP_SHAPE_BARS, (unsigned)part,
				    name[part]);
		for (size_t i = 0; i < n; i++)
			np_figure_add(f, s, (double)i, NAN,
				      sum_components(bar[i].four, part),
				      sum_components(bar[i].four, part + 1));
	}
	s = np_figure_shape(f, p, NP_SHAPE_POINTS, 6,
			    "predicted, 90 % interval");
	for (size_t i = 0; i < n; i++)
		if (bar[i].said)
			np_figure_add(f, s, (double)i, bar[i].four->wall_sec,
				      bar[i].said->low_sec,
				      bar[i].said->high_sec);
}

static void add_points(struct np_figure *f, struct np_panel *p,
		       const struct bar *bar, size_t n, bool said,
		       const char *name)
{
	struct np_shape *s = np_figure_shape(f, p, said ? NP_SHAPE_POINTS :
					     NP_SHAPE_LINE, said ? 6 : 0, name);

	for (size_t i = 0; i < n; i++) {
		const struct bar *b = &bar[i];

		if (!b->said == !said)
			np_figure_add(f, s, b->processes, said ?
				      b->four->wall_sec : b->measured_sec,
				      said ? b->said->low_sec : NAN,
				      said ? b->said->high_sec : NAN);
	}
}

static void add_times(struct np_figure *f, const struct bar *bar, size_t n)
{
	struct np_panel *p = np_figure_panel(f, "Measured and predicted");
	double few = INFINITY, many = 0, low = INFINITY, high = 0;

	if (!p)
		return;
	for (size_t i = 0; i < n; i++) {
		double sec = bar[i].said ? bar[i].four->wall_sec :
					   bar[i].measured_sec;

		few = fmin(few, bar[i].processes);
		many = fmax(many, bar[i].processes);
		low = fmin(low, sec);
		high = fmax(high, sec);
	}
	np_figure_axis(f, &p->x, many >= WIDE * few ? NP_AXIS_LOG :
		       NP_AXIS_LINEAR, "Processes");
	np_figure_axis(f, &p->y, high >= WIDE * low && low > 0 ?
		       NP_AXIS_LOG : NP_AXIS_LINEAR, "Wall-clock time (s)");
	/* Margins, so that no point is on the frame. */
	p->x.lo = few / 1.1;
	p->x.hi = many * 1.1;
	p->y.lo = p->y.kind == NP_AXIS_LOG ? low / 1.3 : 0;
	p->y.hi = high * 1.15;
	add_points(f, p, bar, n, false, "measured");
	add_points(f, p, bar, n, true, "predicted, 90 % interval");
}

int cli_scale_plot(const struct cli_scale *s, const char *path)
{
	const struct cli_scale_run *first = &s->run[0];
	struct np_figure *f = np_figure_new(*first->report.program ?
					    first->report.program :
					    first->path);
	char latency[CLI_NUMBER], rate[CLI_NUMBER], speed[64] = "";
	struct bar *bar = calloc(2 * s->n_runs + s->n_at, sizeof(*bar));
	size_t n = bar ? collect_bars(s, bar) : 0;

	if (f && bar) {
		add_stacks(f, bar, n);
		add_times(f, bar, n);
	}
	if (s->speed != 1)
		snprintf(speed, sizeof(speed), " Other sizes: processors %g "
			 "times as fast.", s->speed);
	if (f)
		np_figure_caption(f, "n = %zu runs; link of %s and %s; variant "
				  "%s.%s%s", s->n_runs,
				  cli_setting_rate(s->link.bytes_per_sec, rate),
				  cli_setting_sec(s->link.latency_sec, latency),
				  s->variant == NP_FOUR_CONSISTENT ?
				  "consistent" : "published",
				  n > s->n_runs ? " *: predicted from runs of "
						  "other sizes." : "", speed);
	free(bar);
	return cli_figure_save(f, path);
}
